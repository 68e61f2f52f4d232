//! What a run leaves behind: a record of each process that ran for it, from which its report and its exit are made.

use crate::breaker::notice::News;
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

    /// What it means, in words; `found` is the phase that the whole run has found.
    pub fn describe(&self, found: Option<PhaseKind>, news: News) -> String {
        let Some(Recorded { updated, .. }) = &self.recorded else {
            return match self.ending {
                Ending::TimedOut(_) => format!("timed out after {}", words::format_elapsed(self.duration)),
                ending => words::ending(&ending),
            };
        };
        let (breaker, now) = (&updated.breaker, updated.clock.time());
        let result = words::result(&self.ending, self.verdict.outcome(), self.duration, breaker);
        match (news, found) {
            (News::Phase, Some(found)) => words::change(found, breaker, &updated.events, now),
            (News::Reminder, _) => match breaker.last_success {
                Some(at) => format!("{result}; no success for {}", words::format_age(now.since(at))),
                None => format!("{result}; no success yet"),
            },
            (News::New | News::Phase | News::None, _) => result,
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

/// What of the attempts people have not seen yet. An ending that a later attempt made good is none.
pub fn news(results: &[RunResult]) -> News {
    let of_one = |result: &RunResult| match &result.recorded {
        Some(recorded) => recorded.completion.news(),
        // No state remembers what was shown: better twice than not at all.
        None if result.verdict.outcome() == Outcome::Success => News::None,
        None => News::New,
    };
    let last = launches(results).next_back();
    if last.is_some_and(|last| last.verdict.outcome() == Outcome::Success) {
        return last.map_or(News::None, of_one);
    }
    launches(results).map(of_one).max().unwrap_or_default()
}
