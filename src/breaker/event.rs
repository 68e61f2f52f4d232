//! What a breaker tells of itself: the entries of its history.

use serde::{Deserialize, Serialize};

use super::outcome::{Ending, Outcome};
use super::time::{Millis, Timestamp};

/// One entry. Entries of one record happened in one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// For an ending, the generation that the run was admitted in; otherwise the one that holds after the event.
    pub generation: u64,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// A run ended and was heard.
    Ended {
        outcome: Outcome,
        #[serde(flatten)]
        run: Run,
    },
    /// A run ended whose generation had passed.
    Late {
        outcome: Outcome,
        #[serde(flatten)]
        run: Run,
    },
    Refused {
        why: RefusedBy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        count: u64,
    },
    /// A probe whose `brk` died without a word.
    Lost {
        since: Timestamp,
        pid: u32,
    },
    Opened {
        why: OpenedBy,
        retry_at: Timestamp,
        /// How many runs must be refused, too, before a probe is due.
        #[serde(default, skip_serializing_if = "is_zero")]
        runs: u32,
        #[serde(default, skip_serializing_if = "Told::is_silent")]
        told: Told,
    },
    HalfOpen,
    /// A probe ended without saying anything about the dependency; the breaker waits again.
    Inconclusive {
        retry_at: Timestamp,
        runs: u32,
    },
    Closed {
        /// How long the outage was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outage: Option<Millis>,
        /// How many runs were refused in it.
        #[serde(default, skip_serializing_if = "is_zero_count")]
        refused: u64,
    },
    Reset,
    Tripped {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        retry_at: Timestamp,
    },
    Held {
        #[serde(flatten)]
        hold: Hold,
    },
    Released,
    /// A shared store could not be used; what follows is this host's own.
    StoreLost {
        why: String,
    },
    /// The shared store is used again.
    StoreBack,
}

/// The facts of a run that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub ending: Ending,
    pub duration: Millis,
    #[serde(default, skip_serializing_if = "is_false")]
    pub probe: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub slow: bool,
    /// The cheap check of a probe, in the place of the command.
    #[serde(default, skip_serializing_if = "is_false")]
    pub check: bool,
    #[serde(default, skip_serializing_if = "Told::is_silent")]
    pub told: Told,
}

/// What a command said of its own run, beside its outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// How long it was asked to wait, without any bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why a run was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusedBy {
    Open,
    /// All places for probes are taken.
    Probing,
    Held,
    /// All places for concurrent runs are taken.
    Busy,
}

/// Why the breaker opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenedBy {
    Streak {
        failures: u32,
        last: Ending,
    },
    FailureRate {
        failures: u32,
        total: u32,
    },
    SlowRate {
        slow: u32,
        total: u32,
    },
    /// The ending was one that opens at once.
    TripOn {
        last: Ending,
    },
    /// A probe failed, or as many as it takes.
    Probe {
        failures: u32,
        last: Ending,
    },
    Operator {
        reason: Option<String>,
    },
}

/// An operator's override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub hold: HoldAs,
    /// `None`: until an operator releases it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldAs {
    /// Refuse every run.
    Open,
    /// Admit every run.
    Closed,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero_count(value: &u64) -> bool {
    *value == 0
}

impl Told {
    /// Whether nothing was said.
    pub fn is_silent(&self) -> bool {
        *self == Told::default()
    }
}

impl RefusedBy {
    /// The word that machines read.
    pub fn as_str(self) -> &'static str {
        match self {
            RefusedBy::Open => "open",
            RefusedBy::Probing => "probing",
            RefusedBy::Held => "held",
            RefusedBy::Busy => "busy",
        }
    }
}

impl HoldAs {
    pub fn as_str(self) -> &'static str {
        match self {
            HoldAs::Open => "open",
            HoldAs::Closed => "closed",
        }
    }
}

impl EventKind {
    /// Whether it tells of a phase that was entered.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            EventKind::Opened { .. }
                | EventKind::HalfOpen
                | EventKind::Inconclusive { .. }
                | EventKind::Closed { .. }
                | EventKind::Reset
                | EventKind::Tripped { .. }
        )
    }
}
