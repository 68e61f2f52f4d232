//! What a request and a breaker say to each other: who asks, what is answered, how it ended.

use super::PhaseKind;
use super::event::{RefusedBy, Told};
use super::notice::{News, Notify};
use super::outcome::{Ending, Verdict};
use super::policy::Policy;
use super::time::{Millis, Timestamp};

/// Who asks to be admitted.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest {
    pub mode: Mode,
    /// The process id of its `brk`.
    pub pid: u32,
    /// The longest that a probe of this run can rightly live.
    pub lifetime: Option<Millis>,
    pub task: Task,
    pub cooldown: CooldownParts,
    /// Whether the run wants to know what of it is news.
    pub notify: Option<Notify>,
}

/// Which parts of a cooldown a run goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CooldownParts {
    Both,
    /// A run that waits is not refused again and again, so it cannot go by a number of refusals.
    TimeOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Enforce,
    /// A refusal is only an answer, and is not counted: the run waits, or has made an attempt before.
    Poll,
    /// What would be refused is counted as refused, and admitted all the same.
    Observe,
}

/// What a probe of this run would start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Command,
    /// A cheap check in the command's place.
    Check,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    Granted(Permit),
    Refused(Refusal),
}

/// The right to run, and what joins a result to the breaker that admitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    /// Which breaker admitted it.
    pub(super) id: u64,
    pub generation: u64,
    pub kind: PermitKind,
    /// How many probes there had been: the number of this one, where it is one.
    pub(super) serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitKind {
    Normal,
    /// With the number of its place.
    Probe(u32),
    /// Recorded, but moves nothing: held closed, or observing.
    Passthrough,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub why: RefusedBy,
    /// When to come back, if that is known.
    pub retry_at: Option<Timestamp>,
    /// How many more runs must be refused before one is admitted.
    pub runs: u32,
    /// What of it people have not seen yet, if the run wants to know.
    pub news: News,
}

impl Refusal {
    /// A refusal that no number of runs ends.
    pub fn new(why: RefusedBy, retry_at: Option<Timestamp>) -> Refusal {
        Refusal { why, retry_at, runs: 0, news: News::None }
    }
}

/// What is reported of a run that ended.
#[derive(Clone, Debug)]
pub struct Report {
    pub ending: Ending,
    pub verdict: Verdict,
    pub duration: Millis,
    pub program: String,
    pub task: Task,
    /// Whether the run wants to know what of it is news, and the phase that it found.
    pub notify: Option<(Notify, PhaseKind)>,
    /// What the command said.
    pub told: Told,
    /// What of the wait that it asked for is granted, if this is a failure; zero asks for nothing.
    pub least_wait: Millis,
}

impl Report {
    /// Whether the command itself was started.
    pub fn is_launch(&self) -> bool {
        self.task == Task::Command && self.ending.was_launched()
    }
}

/// What a result did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It counted, or was recorded without moving anything.
    Counted(News),
    Late(News),
}

impl Completion {
    /// What of the run people have not seen yet, if the run wanted to know.
    pub fn news(self) -> News {
        match self {
            Completion::Counted(news) | Completion::Late(news) => news,
        }
    }
}

/// How long a trip lasts.
#[derive(Clone, Copy, Debug)]
pub enum TripFor<'a> {
    Exactly(Millis),
    CooldownOf(&'a Policy),
}
