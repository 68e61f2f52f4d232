//! How a run of the command went, and the end of what it has left running.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::escalate::{EMPTY_LOOKS, PATIENCE};
use super::tree::Tree;
use super::unix::{HeldSignals, Refusal};
use crate::breaker::outcome::{Ending, Unstartable};

/// How it went.
#[derive(Debug)]
pub struct Finished {
    pub ending: Ending,
    /// From the start to the command's end, without the time for which `brk` was stopped.
    pub duration: Duration,
    /// What could not be ended.
    pub unkilled: Vec<u32>,
    /// Why the command could not be executed, where `ending` says that it was not started.
    pub not_started: Option<io::Error>,
    /// The name that its process had at its end, where that was an exit with another code than 0.
    pub last_name: Option<String>,
    /// Held back so that the result can be recorded first. `None`: the command was never started.
    pub signals: Option<HeldSignals>,
    pub(super) tree: Tree,
}

pub(super) fn not_started(refusal: Refusal) -> Ending {
    Ending::NotStarted(if refusal.found { Unstartable::NotExecutable } else { Unstartable::NotFound })
}

impl Finished {
    pub(super) fn not_started(refusal: Refusal) -> Finished {
        Finished {
            ending: not_started(refusal),
            duration: Duration::ZERO,
            unkilled: Vec::new(),
            not_started: Some(io::Error::from_raw_os_error(refusal.errno)),
            last_name: None,
            signals: None,
            tree: Tree::default(),
        }
    }

    /// Kills what the command has left running, and waits until it is gone. Gives what could not be ended.
    pub fn kill_leftovers(&self) -> Vec<u32> {
        let start = Instant::now();
        let mut empty_looks = 0;
        loop {
            let left = self.tree.members();
            empty_looks = if left.is_empty() { empty_looks + 1 } else { 0 };
            if empty_looks == EMPTY_LOOKS || start.elapsed() > PATIENCE {
                return left.iter().map(|member| member.pid.cast_unsigned()).collect();
            }
            // Errors say that it has just ended, or is another user's; the next look tells.
            left.iter().for_each(|member| drop(self.tree.send(member, libc::SIGKILL)));
            if !left.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
