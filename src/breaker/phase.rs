//! The phases of a breaker, and what an opening keeps: when a probe is due, why it opened, and the outage it is part of.

use serde::{Deserialize, Serialize};

use super::event::{OpenedBy, Told};
use super::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Phase {
    Closed,
    Open(Opening),
    HalfOpen {
        /// The opening that is being probed.
        #[serde(flatten)]
        opening: Opening,
        successes: u32,
        failures: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    pub at: Timestamp,
    /// The time part of the wait.
    pub retry_at: Timestamp,
    pub why: OpenedBy,
    /// The outage that this opening belongs to; version 0.1.0 kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// The run part of the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<RunPart>,
    /// What the command said whose end opened it.
    #[serde(default, skip_serializing_if = "Told::is_silent")]
    pub told: Told,
}

/// From the opening of a closed breaker until it closes again, whatever probes say meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    pub since: Timestamp,
    /// `Totals::refused` when it began.
    pub refused: u64,
}

/// How many runs must be refused as open before a probe is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPart {
    pub needed: u32,
    /// The part of `Totals::refused` that does not count: what was refused before the opening, or for another reason.
    /// The refusals that count are the rest, so that one more of them changes nothing but a total: a shared store adds
    /// it without comparing.
    pub base: u64,
    /// From then on the number of runs does not matter any more.
    pub until: Timestamp,
}

/// A phase without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    Closed,
    Open,
    HalfOpen,
}

impl PhaseKind {
    /// Every phase, in the order in which people list them.
    pub const ALL: [PhaseKind; 3] = [PhaseKind::Closed, PhaseKind::Open, PhaseKind::HalfOpen];

    /// The name in JSON, in metrics and in `BRK_FROM` and `BRK_TO`.
    pub fn as_str(self) -> &'static str {
        match self {
            PhaseKind::Closed => "closed",
            PhaseKind::Open => "open",
            PhaseKind::HalfOpen => "half-open",
        }
    }
}

impl Phase {
    pub fn kind(&self) -> PhaseKind {
        match self {
            Phase::Closed => PhaseKind::Closed,
            Phase::Open(_) => PhaseKind::Open,
            Phase::HalfOpen { .. } => PhaseKind::HalfOpen,
        }
    }

    /// When an open breaker lets the next probe in.
    pub fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Phase::Open(opening) => Some(opening.retry_at),
            Phase::Closed | Phase::HalfOpen { .. } => None,
        }
    }

    pub(super) fn run_part_mut(&mut self) -> Option<&mut RunPart> {
        match self {
            Phase::Closed => None,
            Phase::Open(opening) | Phase::HalfOpen { opening, .. } => opening.runs.as_mut(),
        }
    }

    pub fn opening(&self) -> Option<&Opening> {
        match self {
            Phase::Closed => None,
            Phase::Open(opening) | Phase::HalfOpen { opening, .. } => Some(opening),
        }
    }
}

impl Opening {
    /// When the outage began.
    pub fn outage_since(&self) -> Timestamp {
        self.outage.map_or(self.at, |outage| outage.since)
    }

    /// How many more runs must be refused. `refused` is the breaker's total.
    pub fn runs_left(&self, refused: u64, now: Timestamp) -> u32 {
        let part = self.runs.as_ref().filter(|part| now < part.until);
        part.map_or(0, |part| {
            let counted = refused.saturating_sub(part.base);
            part.needed.saturating_sub(u32::try_from(counted).unwrap_or(u32::MAX))
        })
    }
}
