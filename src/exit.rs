//! Every exit code, once. Not here: which codes of a command are failures (`profile`, `breaker::outcome`).

use crate::breaker::outcome::{Ending, Status, Unstartable};

/// Of `brk run`: the command was not launched, because its breaker refused it. `EX_TEMPFAIL` of sysexits.h.
pub const REFUSED: u8 = 75;
/// Of `brk run`: the command timed out.
pub const TIMED_OUT: u8 = 124;
/// Of `brk run`: brk itself failed, and nothing was launched.
pub const FAILED: u8 = 125;
/// Of `brk run`: the command was found and could not be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// Of `brk run`: the command was not found.
pub const NOT_FOUND: u8 = 127;

/// Of all other commands.
pub const DONE: u8 = 0;
/// Failure, e.g. no such breaker.
pub const NOT_POSSIBLE: u8 = 1;
/// Bad usage.
pub const USAGE: u8 = 2;

/// How `brk` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(u8),
    /// Killed by this signal, which it sends to itself.
    Signal(i32),
}

/// What an exit shows of an ending that is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSuccess {
    AsTheCommand,
    /// So that `set -e` and units see what the breaker sees.
    Zero,
}

/// Whether the exit code shows a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    Say124,
    PreserveStatus,
}

/// How `brk run` ends after a command that ended like this.
pub fn of(ending: &Ending, on_timeout: OnTimeout) -> Exit {
    match *ending {
        Ending::TimedOut(None) => Exit::Code(TIMED_OUT),
        Ending::TimedOut(Some(_)) if on_timeout == OnTimeout::Say124 => Exit::Code(TIMED_OUT),
        Ending::Exited(code) => Exit::Code(code),
        Ending::Signaled(signal) => Exit::Signal(signal),
        Ending::TimedOut(Some(status)) | Ending::Interrupted(Some(status)) => match status {
            Status::Exited(code) => Exit::Code(code),
            Status::Signaled(signal) => Exit::Signal(signal),
        },
        Ending::Interrupted(None) => Exit::Code(FAILED),
        Ending::NotStarted(Unstartable::NotExecutable) => Exit::Code(NOT_EXECUTABLE),
        Ending::NotStarted(Unstartable::NotFound) => Exit::Code(NOT_FOUND),
    }
}
