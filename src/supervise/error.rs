//! Why nothing was started.

use std::fmt;
use std::io;

/// Nothing was started: the system refused what `brk` itself needs.
#[derive(Debug)]
pub enum SuperviseError {
    Arguments(io::Error),
    Signals(io::Error),
    Runtime(io::Error),
    Fork(io::Error),
}

impl fmt::Display for SuperviseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SuperviseError::Arguments(error) => write!(f, "cannot pass the command's arguments: {error}"),
            SuperviseError::Signals(error) => write!(f, "cannot catch signals: {error}"),
            SuperviseError::Runtime(error) => write!(f, "cannot wait for events: {error}"),
            SuperviseError::Fork(error) => write!(f, "cannot start a process: {error}"),
        }
    }
}

impl std::error::Error for SuperviseError {}

impl SuperviseError {
    /// Whether no more descriptors could be had.
    pub fn is_short_of_files(&self) -> bool {
        let (SuperviseError::Arguments(error)
        | SuperviseError::Signals(error)
        | SuperviseError::Runtime(error)
        | SuperviseError::Fork(error)) = self;
        is_short_of_files(error)
    }
}

pub fn is_short_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
