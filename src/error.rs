//! What ends a command early. The exit code depends on the verb and the kind, and `main` decides it.

use std::fmt;
use std::io;

use crate::name::Name;
use crate::store::StoreError;
use crate::supervise::{self, SuperviseError};

#[derive(Debug)]
pub enum Error {
    /// What was written cannot be meant.
    Usage(String),
    /// The state is of no use, and the user wants to know rather than to go on.
    Store(StoreError),
    /// There is no breaker of this name, or none that this pattern matches.
    NoSuchBreaker(String),
    /// The command cannot be supervised; it was not started.
    Supervise(SuperviseError),
    /// Something else of the system did not do what it was asked for.
    System { doing: String, source: io::Error },
    /// Standard output was closed by its reader. Nobody is left to be told.
    BrokenPipe,
}

impl Error {
    pub fn no_such(name: &Name) -> Error {
        Error::NoSuchBreaker(name.to_string())
    }

    /// Whether no more descriptors could be had, for what a command is supervised with.
    pub fn is_short_of_files(&self) -> bool {
        match self {
            Error::Supervise(error) => error.is_short_of_files(),
            Error::System { source, .. } => supervise::is_short_of_files(source),
            _ => false,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Store(error)
    }
}

impl From<SuperviseError> for Error {
    fn from(error: SuperviseError) -> Error {
        Error::Supervise(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(text) => f.write_str(text),
            Error::Store(error) => error.fmt(f),
            Error::NoSuchBreaker(name) => {
                write!(f, "{name:?}: no such breaker; 'brk status' lists those there are")
            }
            Error::Supervise(error) => error.fmt(f),
            Error::System { doing, source } => write!(f, "cannot {doing}: {source}"),
            Error::BrokenPipe => f.write_str("broken pipe"),
        }
    }
}

impl std::error::Error for Error {}
