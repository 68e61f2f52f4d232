//! What a run leaves behind: a record of each process that ran for it, from which its report and its exit are made.

use crate::breaker::outcome::{Ending, Outcome, Verdict};
use crate::breaker::time::Millis;
use crate::breaker::{Completion, Phase, PhaseKind, Task};
use crate::render::words;
use crate::store::Updated;

/// An attempt of the command, or a health check before one, and what it did to the breaker.
pub struct RunResult {
    pub task: Task,
    pub is_probe: bool,
    /// The phase as admission found it; `None`: the run was not guarded.
    pub phase_before: Option<PhaseKind>,
    pub ending: Ending,
    pub duration: Millis,
    pub verdict: Verdict,
    /// `None`: it was not guarded, or could not be recorded.
    pub recorded: Option<Recorded>,
}

/// What recording a result did to the breaker.
pub struct Recorded {
    pub updated: Updated,
    pub completion: Completion,
}

/// What a run has changed, the most important last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Significance {
    None,
    FirstFailure,
    Phase,
    /// The run was not guarded.
    Unknown,
}

impl Recorded {
    pub fn phase(&self) -> PhaseKind {
        self.updated.breaker.phase.kind()
    }
}

impl RunResult {
    pub fn has_failed(&self) -> bool {
        self.verdict.outcome() == Outcome::Failure
    }

    /// Whether it has left the breaker open.
    pub fn has_left_open(&self) -> bool {
        let recorded = self.recorded.as_ref();
        recorded.is_some_and(|recorded| matches!(recorded.updated.breaker.phase, Phase::Open(_)))
    }

    fn changes_phase_from(&self, before: Option<PhaseKind>) -> bool {
        self.recorded.as_ref().is_some_and(|recorded| Some(recorded.phase()) != before)
    }

    /// What it means, in words; `before` is the phase that the whole run has found.
    pub fn describe(&self, before: Option<PhaseKind>) -> String {
        match (&self.recorded, before) {
            (Some(Recorded { updated, .. }), Some(before)) if self.changes_phase_from(Some(before)) => {
                words::change(before, &updated.breaker, updated.clock.time())
            }
            _ => words::ending(&self.ending),
        }
    }
}

/// The phase as the run has found it.
pub fn phase_before(results: &[RunResult]) -> Option<PhaseKind> {
    results.iter().find_map(|result| result.phase_before)
}

/// The attempts of the command.
pub fn launches(results: &[RunResult]) -> impl DoubleEndedIterator<Item = &RunResult> {
    results.iter().filter(|result| result.task == Task::Command)
}

/// What the attempts have changed, all in all.
pub fn significance(results: &[RunResult]) -> Significance {
    let before = phase_before(results);
    let of_one = |result: &RunResult| match &result.recorded {
        _ if result.phase_before.is_none() => Significance::Unknown,
        Some(_) if result.changes_phase_from(before) => Significance::Phase,
        Some(recorded) if recorded.completion == Completion::FirstFailure => Significance::FirstFailure,
        Some(_) | None => Significance::None,
    };
    launches(results).map(of_one).max().unwrap_or(Significance::None)
}
