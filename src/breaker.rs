//! The circuit breaker: a value, and what a run or an operator does to it. It reads no clock, draws no random number
//! and knows no file; `now` and `random` come in as arguments.
//!
//! Invariants
//! - The generation only grows. Every phase change, reset, trip, hold and release raises it.
//! - A result whose permit is of another generation, or of another breaker that once had the name, moves nothing.
//! - While open, only an operator moves `retry_at`.
//! - `probes` lists every probe that is believed alive, those of past generations too; nobody is admitted as a
//!   probe while the list is as long as the policy allows.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod admission;
pub mod backoff;
mod complete;
pub mod event;
pub mod mirror;
mod news;
pub mod notice;
mod operator;
pub mod outcome;
mod phase;
pub mod policy;
#[cfg(test)]
mod tests;
pub mod time;
pub mod window;

use serde::{Deserialize, Serialize};

use event::{Event, EventKind, Hold, HoldAs, RefusedBy};
use mirror::Mirror;
use notice::{Notices, Notify};
use outcome::{Ending, Outcome};
use policy::Policy;
use time::{Millis, Timestamp};
use window::{Counts, Window};

pub use phase::{Opening, Outage, Phase, PhaseKind, RunPart};

pub use admission::{
    Admission, AdmissionRequest, Completion, CooldownParts, Mode, Permit, PermitKind, Refusal, Report, Task,
    TripFor,
};

/// How many lost probes are remembered, in case that one is heard of after all.
const MAX_LOST_PROBES_TRACKED: usize = 8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    /// Tells this breaker from another that had the name before it was forgotten.
    pub id: u64,
    pub generation: u64,
    pub phase: Phase,
    /// When the phase last changed.
    pub since: Timestamp,
    /// Failures in a row.
    pub streak: u32,
    pub window: Window,
    /// The back-off level of the last opening.
    pub level: u32,
    /// The wait chosen at the last opening, jitter included, as if no command had asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Millis>,
    /// When probes last closed it: the memory of flapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    pub totals: Totals,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_launch: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success: Option<Timestamp>,
    /// The probes that were counted as launched when they were lost, the newest last: one that is heard of after all
    /// is not launched twice.
    #[serde(default, rename = "counted", skip_serializing_if = "Vec::is_empty")]
    pub launched_lost_probes: Vec<u64>,
    /// The policy of the last run.
    pub policy: Policy,
    /// What people have been shown; absent where no run asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<Notices>,
    /// What it is to a shared breaker; absent where there never was one.
    #[serde(default, rename = "shadow", skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Mirror>,
    /// What happened since the store last took the events away.
    #[serde(skip)]
    events: Vec<Event>,
}

/// A probe in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Its place: a number below the policy's `probes`.
    pub place: u32,
    pub generation: u64,
    pub since: Timestamp,
    /// When nothing of it can rightly be alive any more; without a timeout there is no such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// The process id of its `brk`.
    pub pid: u32,
    /// Its number among all probes that this breaker has had.
    #[serde(default)]
    pub serial: u64,
    /// A cheap check in the command's place, and no launch of the command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
}

/// Lifetime counts. They never go down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub launched: u64,
    pub success: u64,
    pub failure: u64,
    pub ignored: u64,
    pub late: u64,
    pub refused: u64,
    pub timeout: u64,
    pub probes: u64,
    pub lost: u64,
    /// Openings of a closed breaker: one for each outage.
    pub opened: u64,
    /// Openings after a failed probe.
    #[serde(default)]
    pub reopened: u64,
}

/// The last ending, late or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    pub at: Timestamp,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    pub ending: Ending,
    pub duration: Millis,
    /// The base name of the program. Arguments may hold secrets and are never kept.
    pub program: String,
}

impl Probe {
    /// Whether nothing of it can rightly be alive any more.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }
}

impl Breaker {
    /// A closed breaker without a past.
    pub fn new(id: u64, policy: Policy, now: Timestamp) -> Breaker {
        Breaker {
            id,
            generation: 0,
            phase: Phase::Closed,
            since: now,
            streak: 0,
            window: Window::default(),
            level: 0,
            cooldown: None,
            closed_at: None,
            hold: None,
            probes: Vec::new(),
            totals: Totals::default(),
            last: None,
            last_launch: None,
            last_success: None,
            launched_lost_probes: Vec::new(),
            policy,
            notices: None,
            mirror: None,
            events: Vec::new(),
        }
    }

    /// Whether a run may start now, and as what.
    pub fn admit(&mut self, policy: &Policy, request: &AdmissionRequest, now: Timestamp) -> Admission {
        self.expire_hold(now);
        match self.decide(policy, request.cooldown, now) {
            Ok(PermitKind::Probe(place)) => {
                self.begin_probe(place, request, now);
                Admission::Granted(self.permit(PermitKind::Probe(place)))
            }
            Ok(kind) => Admission::Granted(self.permit(kind)),
            Err(refusal) => self.refuse(refusal, request.mode, request.notify, now),
        }
    }

    /// What a refusal means for a run; also one whose reason lies outside the breaker.
    pub fn refuse(
        &mut self,
        mut refusal: Refusal,
        mode: Mode,
        notify: Option<Notify>,
        now: Timestamp,
    ) -> Admission {
        if mode != Mode::Poll {
            self.totals.refused += 1;
            // A run that only observes is launched, and shows no refusal.
            if let Some(notify) = notify.filter(|_| mode == Mode::Enforce) {
                refusal.news = self.news_of_refusal(notify, refusal.why == RefusedBy::Busy, now);
            }
            if refusal.why == RefusedBy::Open {
                refusal.runs = refusal.runs.saturating_sub(1);
            } else if let Some(part) = self.phase.run_part_mut() {
                part.base += 1;
            }
            self.emit(EventKind::Refused { why: refusal.why, retry_at: refusal.retry_at, count: 1 });
        }
        match mode {
            Mode::Enforce | Mode::Poll => Admission::Refused(refusal),
            Mode::Observe => Admission::Granted(self.permit(PermitKind::Passthrough)),
        }
    }

    /// Frees the place of a probe whose `brk` is gone. That says nothing about the dependency.
    pub fn mark_probe_lost(&mut self, place: u32, generation: u64) {
        if let Some(probe) = self.remove_probe(place, generation) {
            self.push_lost_event(&probe);
        }
    }

    /// The same where its command was started, as far as can be known.
    pub fn mark_launched_probe_lost(&mut self, place: u32, generation: u64) {
        if let Some(probe) = self.remove_probe(place, generation) {
            self.record_released_probe(&probe);
        }
    }

    /// The same where an operator has freed the place already: of a run whose `brk` is gone nobody hears as late.
    pub fn record_released_probe(&mut self, probe: &Probe) {
        if !probe.check {
            self.totals.launched += 1;
            self.last_launch = Some(self.last_launch.map_or(probe.since, |last| last.max(probe.since)));
            let excess = (self.launched_lost_probes.len() + 1).saturating_sub(MAX_LOST_PROBES_TRACKED);
            self.launched_lost_probes.drain(..excess);
            self.launched_lost_probes.push(probe.serial);
        }
        self.push_lost_event(probe);
    }

    fn remove_probe(&mut self, place: u32, generation: u64) -> Option<Probe> {
        let is_it = |probe: &Probe| (probe.place, probe.generation) == (place, generation);
        self.probes.iter().position(is_it).map(|index| self.probes.remove(index))
    }

    fn push_lost_event(&mut self, probe: &Probe) {
        self.totals.lost += 1;
        let kind = EventKind::Lost { since: probe.since, pid: probe.pid };
        self.events.push(Event { generation: probe.generation, kind });
    }

    /// How long it waits at its opening, or waited at the last one.
    pub fn current_wait(&self) -> Option<Millis> {
        match self.phase.opening() {
            Some(opening) if opening.told.retry_after.is_some() => Some(opening.retry_at.since(opening.at)),
            _ => self.cooldown,
        }
    }

    pub fn counts(&self, now: Timestamp) -> Counts {
        self.window.counts(self.policy.window, now)
    }

    /// The events since they were last taken, oldest first.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// What a run would get now; changes nothing.
    fn decide(&self, policy: &Policy, parts: CooldownParts, now: Timestamp) -> Result<PermitKind, Refusal> {
        if let Some(hold) = &self.hold {
            return match hold.hold {
                HoldAs::Closed => Ok(PermitKind::Passthrough),
                HoldAs::Open => Err(Refusal::new(RefusedBy::Held, hold.until)),
            };
        }
        let Some(opening) = self.phase.opening() else {
            return Ok(PermitKind::Normal);
        };
        let forced_at = self.forced_at(policy);
        let runs = match (&self.phase, parts) {
            (Phase::Open(_), CooldownParts::Both) => opening.runs_left(self.totals.refused, now),
            (Phase::Closed | Phase::Open(_) | Phase::HalfOpen { .. }, _) => 0,
        };
        let is_due = now >= opening.retry_at && runs == 0;
        if !is_due && forced_at.is_none_or(|at| now < at) {
            let retry_at = forced_at.map_or(opening.retry_at, |at| at.min(opening.retry_at));
            return Err(Refusal { runs, ..Refusal::new(RefusedBy::Open, Some(retry_at)) });
        }
        // Alive are also probes of past generations: the promise is about processes.
        let taken = |place| self.probes.iter().any(|probe| probe.place == place);
        let places = policy.probes.get();
        if self.probes.len() >= places as usize {
            return Err(Refusal::new(RefusedBy::Probing, None));
        }
        let place = (0..places).find(|&place| !taken(place)).expect("fewer probes than places");
        Ok(PermitKind::Probe(place))
    }

    /// From when on a run is admitted although the wait is not over, because nothing was launched for so long. A start up to 5 % early is on time:
    /// a schedule of the same period must not be refused because cron started it a moment early.
    pub fn forced_at(&self, policy: &Policy) -> Option<Timestamp> {
        let every = policy.run_at_least_every?;
        let opening = self.phase.opening()?;
        let slack = Millis(every.0 / 20);
        Some(self.last_launch.unwrap_or(opening.at).saturating_add(Millis(every.0 - slack.0)))
    }

    fn begin_probe(&mut self, place: u32, request: &AdmissionRequest, now: Timestamp) {
        if let Phase::Open(opening) = &self.phase {
            let opening = opening.clone();
            self.change_phase(Phase::HalfOpen { opening, successes: 0, failures: 0 }, now);
            self.emit(EventKind::HalfOpen);
        }
        self.totals.probes += 1;
        if request.task == Task::Command {
            self.last_launch = Some(now);
        }
        self.probes.push(Probe {
            place,
            generation: self.generation,
            since: now,
            deadline: request.lifetime.map(|lifetime| now.saturating_add(lifetime)),
            pid: request.pid,
            serial: self.totals.probes,
            check: request.task == Task::Check,
        });
    }

    fn change_phase(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.since = now;
        self.generation += 1;
    }

    fn permit(&self, kind: PermitKind) -> Permit {
        Permit { id: self.id, generation: self.generation, kind, serial: self.totals.probes }
    }

    fn emit(&mut self, kind: EventKind) {
        self.events.push(Event { generation: self.generation, kind });
    }
}
