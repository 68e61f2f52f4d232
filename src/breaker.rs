//! The circuit breaker: a value, and what a run or an operator does to it. It reads no clock, draws no random number
//! and knows no file; `now` and `dice` come in as arguments.
//!
//! Invariants
//! - The generation only grows. Every phase change, reset, trip, hold and release raises it.
//! - A result whose permit is of another generation, or of another breaker that once had the name, moves nothing.
//! - While open, only an operator moves `retry_at`.
//! - `probes` lists every probe that is believed alive, those of past generations too; nobody is admitted as a
//!   probe while the list is as long as the policy allows.

pub mod backoff;
pub mod event;
pub mod outcome;
pub mod policy;
pub mod time;
pub mod window;

use serde::{Deserialize, Serialize};

use event::{Event, EventKind, Hold, HoldAs, OpenedBy, RefusedBy, Run};
use outcome::{Ending, Outcome, Verdict};
use policy::Policy;
use time::{Millis, Timestamp};
use window::{Call, Counts, Window};

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
    /// The wait chosen at the last opening, jitter included.
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
    /// The last outcome that was success or failure, and not late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heard: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_launch: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success: Option<Timestamp>,
    /// The policy of the last run.
    pub policy: Policy,
    /// What happened since the store last took the events away.
    #[serde(skip)]
    events: Vec<Event>,
}

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
    pub retry_at: Timestamp,
    pub why: OpenedBy,
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
    pub opened: u64,
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

/// Who asks to be admitted.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    pub mode: Mode,
    /// The process id of its `brk`.
    pub pid: u32,
    /// The longest that a probe of this run can rightly live.
    pub lifetime: Option<Millis>,
    pub task: Task,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Enforce,
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
    id: u64,
    pub generation: u64,
    pub kind: PermitKind,
    /// How many probes there had been: the number of this one, where it is one.
    serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitKind {
    Normal,
    /// With the number of its place.
    Probe(u32),
    /// Recorded, but moves nothing: held closed, or observing.
    Bystander,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub why: RefusedBy,
    /// When to come back, where that is known.
    pub retry_at: Option<Timestamp>,
}

/// What is reported of a run that ended.
#[derive(Clone, Debug)]
pub struct Report {
    pub ending: Ending,
    pub verdict: Verdict,
    pub duration: Millis,
    pub program: String,
    pub task: Task,
}

/// What a result did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It counted, or was recorded without moving anything.
    InTime,
    /// The first failure after a success, or of a new breaker.
    FirstFailure,
    Late,
}

/// How long a trip lasts.
#[derive(Clone, Copy, Debug)]
pub enum TripFor<'a> {
    Exactly(Millis),
    CooldownOf(&'a Policy),
}

impl Phase {
    /// The word that machines read.
    pub fn word(&self) -> &'static str {
        match self {
            Phase::Closed => "closed",
            Phase::Open(_) => "open",
            Phase::HalfOpen { .. } => "half-open",
        }
    }

    pub fn opening(&self) -> Option<&Opening> {
        match self {
            Phase::Closed => None,
            Phase::Open(opening) | Phase::HalfOpen { opening, .. } => Some(opening),
        }
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
            last_heard: None,
            last_launch: None,
            last_success: None,
            policy,
            events: Vec::new(),
        }
    }

    /// Whether a run may start now, and as what.
    pub fn admit(&mut self, policy: &Policy, visitor: &Visitor, now: Timestamp) -> Admission {
        self.settle(now);
        match self.judge(policy, now) {
            Ok(PermitKind::Probe(place)) => {
                self.begin_probe(place, visitor, now);
                Admission::Granted(self.permit(PermitKind::Probe(place)))
            }
            Ok(kind) => Admission::Granted(self.permit(kind)),
            Err(refusal) => {
                self.refused(&refusal);
                match visitor.mode {
                    Mode::Enforce => Admission::Refused(refusal),
                    Mode::Observe => Admission::Granted(self.permit(PermitKind::Bystander)),
                }
            }
        }
    }

    /// Counts a run that was refused for a reason that lies outside the breaker.
    pub fn refused(&mut self, refusal: &Refusal) {
        self.totals.refused += 1;
        self.tell(EventKind::Refused { why: refusal.why, retry_at: refusal.retry_at, count: 1 });
    }

    /// A permit for a run that is recorded and moves nothing.
    pub fn bystander(&self) -> Permit {
        self.permit(PermitKind::Bystander)
    }

    /// Hears how a run ended. `dice`, from 0 to 1, chooses the jitter of a wait.
    pub fn complete(
        &mut self,
        permit: &Permit,
        report: Report,
        policy: &Policy,
        now: Timestamp,
        dice: f64,
    ) -> Heard {
        // An override that ended by time meanwhile is for the next run to record: it must not make this one late.
        let probe = matches!(permit.kind, PermitKind::Probe(_));
        let listed = self.probes.len();
        self.probes
            .retain(|other| !probe || (other.serial, other.generation) != (permit.serial, permit.generation));
        // A probe that was given up for lost no longer has a place to speak from: another may have it by now.
        let lost = probe && self.probes.len() == listed;
        let outcome = report.verdict.outcome();
        let slow = policy.is_slow(report.duration);
        let run = Run {
            ending: report.ending,
            duration: report.duration,
            probe,
            slow,
            check: report.task == Task::Check,
        };
        let late = permit.id != self.id || permit.generation != self.generation || lost;
        self.note(&report, late, now);
        if late {
            self.totals.late += 1;
            self.events.push(Event { generation: permit.generation, kind: EventKind::Late { outcome, run } });
            return Heard::Late;
        }
        self.policy.clone_from(policy);
        match outcome {
            Outcome::Success => self.totals.success += 1,
            Outcome::Failure => self.totals.failure += 1,
            Outcome::Ignored => self.totals.ignored += 1,
        }
        self.tell(EventKind::Ended { outcome, run });
        let first = outcome == Outcome::Failure && self.last_heard != Some(Outcome::Failure);
        if outcome != Outcome::Ignored {
            self.last_heard = Some(outcome);
        }
        if outcome == Outcome::Success {
            self.last_success = Some(now);
        }
        match permit.kind {
            PermitKind::Bystander => {}
            PermitKind::Normal => self.heard_closed(&report, slow, policy, now, dice),
            PermitKind::Probe(_) => self.heard_probe(&report, policy, now, dice),
        }
        if first { Heard::FirstFailure } else { Heard::InTime }
    }

    /// Frees the place of a probe whose `brk` is gone. That says nothing about the dependency.
    pub fn lose(&mut self, place: u32, generation: u64) {
        let Some(index) =
            self.probes.iter().position(|probe| (probe.place, probe.generation) == (place, generation))
        else {
            return;
        };
        let probe = self.probes.remove(index);
        self.totals.lost += 1;
        self.events.push(Event { generation, kind: EventKind::Lost { since: probe.since, pid: probe.pid } });
    }

    /// Closed, and everything that could keep it from running is forgotten. The totals stay.
    pub fn reset(&mut self, now: Timestamp) {
        self.settle(now);
        self.phase = Phase::Closed;
        self.since = now;
        self.streak = 0;
        self.window.clear();
        self.level = 0;
        self.cooldown = None;
        self.closed_at = None;
        self.hold = None;
        self.probes.clear();
        self.generation += 1;
        self.tell(EventKind::Reset);
    }

    /// Opens by hand; on an open breaker, chooses a new `retry_at`.
    pub fn trip(&mut self, length: TripFor, reason: Option<String>, now: Timestamp, dice: f64) {
        self.settle(now);
        let level = match self.phase {
            Phase::Closed => self.next_level(now),
            Phase::Open(_) | Phase::HalfOpen { .. } => self.level,
        };
        let wait = match length {
            TripFor::Exactly(wait) => wait,
            TripFor::CooldownOf(policy) => backoff::jittered(policy, backoff::cooldown(policy, level), dice),
        };
        let retry_at = self.open(OpenedBy::Operator { reason: reason.clone() }, level, wait, now);
        self.tell(EventKind::Tripped { reason, retry_at });
    }

    /// The operator's override; the last one given stands.
    pub fn hold(&mut self, hold: Hold, now: Timestamp) {
        self.settle(now);
        self.hold = Some(hold.clone());
        self.generation += 1;
        self.tell(EventKind::Held { hold });
    }

    /// Ends an override; says whether there was one.
    pub fn release(&mut self, now: Timestamp) -> bool {
        let held = self.active_hold(now).is_some();
        if held {
            self.drop_hold();
        } else {
            self.settle(now);
        }
        held
    }

    /// The override that holds at this time.
    pub fn active_hold(&self, now: Timestamp) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.until.is_none_or(|until| now < until))
    }

    pub fn counts(&self, now: Timestamp) -> Counts {
        self.window.counts(self.policy.window, now)
    }

    /// The events since they were last taken, oldest first.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// What a run would get now; changes nothing.
    fn judge(&self, policy: &Policy, now: Timestamp) -> Result<PermitKind, Refusal> {
        if let Some(hold) = &self.hold {
            return match hold.hold {
                HoldAs::Closed => Ok(PermitKind::Bystander),
                HoldAs::Open => Err(Refusal { why: RefusedBy::Held, retry_at: hold.until }),
            };
        }
        let Some(opening) = self.phase.opening() else {
            return Ok(PermitKind::Normal);
        };
        if !self.is_due(opening, policy, now) {
            return Err(Refusal { why: RefusedBy::Open, retry_at: Some(opening.retry_at) });
        }
        // Alive are also probes of past generations: the promise is about processes.
        let taken = |place| self.probes.iter().any(|probe| probe.place == place);
        let places = policy.probes.get();
        if self.probes.len() >= places as usize {
            return Err(Refusal { why: RefusedBy::Probing, retry_at: None });
        }
        let place = (0..places).find(|&place| !taken(place)).expect("fewer probes than places");
        Ok(PermitKind::Probe(place))
    }

    fn is_due(&self, opening: &Opening, policy: &Policy, now: Timestamp) -> bool {
        let last_launch = self.last_launch.unwrap_or(opening.at);
        now >= opening.retry_at
            || policy.run_at_least_every.is_some_and(|every| now.since(last_launch) >= every)
    }

    fn begin_probe(&mut self, place: u32, visitor: &Visitor, now: Timestamp) {
        if let Phase::Open(opening) = &self.phase {
            let opening = opening.clone();
            self.change_phase(Phase::HalfOpen { opening, successes: 0, failures: 0 }, now);
            self.tell(EventKind::HalfOpen);
        }
        self.totals.probes += 1;
        if visitor.task == Task::Command {
            self.last_launch = Some(now);
        }
        self.probes.push(Probe {
            place,
            generation: self.generation,
            since: now,
            deadline: visitor.lifetime.map(|lifetime| now.after(lifetime)),
            pid: visitor.pid,
            serial: self.totals.probes,
        });
    }

    fn note(&mut self, report: &Report, late: bool, now: Timestamp) {
        if report.task == Task::Command && report.ending.was_launched() {
            self.totals.launched += 1;
            let launched = now.before(report.duration);
            self.last_launch = Some(self.last_launch.map_or(launched, |last| last.max(launched)));
        }
        if matches!(report.ending, Ending::TimedOut(_)) {
            self.totals.timeout += 1;
        }
        self.last = Some(Last {
            at: now,
            outcome: report.verdict.outcome(),
            late,
            ending: report.ending,
            duration: report.duration,
            program: report.program.clone(),
        });
    }

    fn heard_closed(&mut self, report: &Report, slow: bool, policy: &Policy, now: Timestamp, dice: f64) {
        let failed = match report.verdict.outcome() {
            Outcome::Ignored => return,
            Outcome::Success => false,
            Outcome::Failure => true,
        };
        self.streak = if failed { self.streak.saturating_add(1) } else { 0 };
        self.window.push(Call { at: now, failed, slow }, policy.window);
        if let Some(why) = self.broken_rule(report, policy, now) {
            let level = self.next_level(now);
            self.open_for(why, level, policy, now, dice);
        }
    }

    fn broken_rule(&self, report: &Report, policy: &Policy, now: Timestamp) -> Option<OpenedBy> {
        let last = report.ending;
        if report.verdict == Verdict::Trip {
            return Some(OpenedBy::TripOn { last });
        }
        if policy.failures.is_some_and(|limit| self.streak >= limit.get()) {
            return Some(OpenedBy::Streak { failures: self.streak, last });
        }
        let Counts { total, failures, slow } = self.window.counts(policy.window, now);
        if total < policy.min_calls.get() {
            return None;
        }
        if policy.failure_rate.is_some_and(|rate| rate.is_reached(failures, total)) {
            return Some(OpenedBy::FailureRate { failures, total });
        }
        if policy.slow_rate.is_some_and(|rate| rate.is_reached(slow, total)) {
            return Some(OpenedBy::SlowRate { slow, total });
        }
        None
    }

    fn heard_probe(&mut self, report: &Report, policy: &Policy, now: Timestamp, dice: f64) {
        let Phase::HalfOpen { successes, failures, .. } = &mut self.phase else {
            return;
        };
        match report.verdict {
            Verdict::Ignored => {}
            Verdict::Success => {
                *successes += 1;
                if *successes >= policy.probe_successes.get() {
                    self.close(now);
                }
            }
            Verdict::Failure | Verdict::Trip => {
                *failures += 1;
                let failures = *failures;
                if failures >= policy.probe_failures.get() || report.verdict == Verdict::Trip {
                    let why = OpenedBy::Probe { failures, last: report.ending };
                    self.open_for(why, self.level.saturating_add(1), policy, now, dice);
                }
            }
        }
    }

    fn close(&mut self, now: Timestamp) {
        self.change_phase(Phase::Closed, now);
        self.streak = 0;
        self.window.clear();
        self.closed_at = Some(now);
        self.tell(EventKind::Closed);
    }

    fn open_for(&mut self, why: OpenedBy, level: u32, policy: &Policy, now: Timestamp, dice: f64) {
        let wait = backoff::jittered(policy, backoff::cooldown(policy, level), dice);
        let retry_at = self.open(why.clone(), level, wait, now);
        self.tell(EventKind::Opened { why, retry_at });
    }

    fn open(&mut self, why: OpenedBy, level: u32, wait: Millis, now: Timestamp) -> Timestamp {
        let retry_at = now.after(wait);
        self.change_phase(Phase::Open(Opening { at: now, retry_at, why }), now);
        self.level = level;
        self.cooldown = Some(wait);
        self.totals.opened += 1;
        retry_at
    }

    /// The level of an opening now: the next one where the last closing was no longer ago than the last wait was
    /// long, so that a flapping service is left alone longer each time.
    fn next_level(&self, now: Timestamp) -> u32 {
        match (self.closed_at, self.cooldown) {
            (Some(closed_at), Some(cooldown)) if now.since(closed_at) <= cooldown => {
                self.level.saturating_add(1)
            }
            _ => 0,
        }
    }

    fn change_phase(&mut self, phase: Phase, now: Timestamp) {
        self.phase = phase;
        self.since = now;
        self.generation += 1;
    }

    /// Ends an override whose time has come.
    fn settle(&mut self, now: Timestamp) {
        if self.hold.is_some() && self.active_hold(now).is_none() {
            self.drop_hold();
        }
    }

    fn drop_hold(&mut self) {
        self.hold = None;
        self.generation += 1;
        self.tell(EventKind::Released);
    }

    fn permit(&self, kind: PermitKind) -> Permit {
        Permit { id: self.id, generation: self.generation, kind, serial: self.totals.probes }
    }

    fn tell(&mut self, kind: EventKind) {
        self.events.push(Event { generation: self.generation, kind });
    }
}
