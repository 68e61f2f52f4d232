//! What ends a command early. The exit code depends on the verb and the kind, and `main` decides it.

use std::fmt;
use std::io;

use crate::name::Name;
use crate::store::StoreError;
use crate::supervise::{self, SuperviseError};

#[derive(Debug)]
pub enum Error {
    /// Invalid usage.
    Usage(String),
    /// The state cannot be used, and the user prefers an error to a run without it.
    Store(StoreError),
    /// No breaker has this name, or matches this pattern.
    NoSuchBreaker(String),
    /// The command cannot be supervised; it was not started.
    Supervise(SuperviseError),
    /// Another system call failed.
    System { doing: String, source: io::Error },
    /// The reader of standard output has closed it, so no message is needed.
    BrokenPipe,
}

impl Error {
    pub fn no_such(name: &Name) -> Error {
        Error::NoSuchBreaker(name.to_string())
    }

    /// Whether too few file descriptors were left to supervise a command.
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
