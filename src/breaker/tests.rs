//! The machine, by tables. A row is a policy, a script of what happens, and the trace that it must leave; times are
//! numbers, and nothing sleeps.
//!
//! A script is words: `@N` moves the clock; `s f i t` is a run that is admitted and ends at once (success, failure,
//! ignored, an ending of `--trip-on`), `n` one that is interrupted, `S F I` the same and slow, `cs cf` the same where a probe is a cheap check,
//! `os of` the same under `--observe`; `+a` admits a run, `a:s` ends it, `a:x` loses it; `trip trip=N hold=open hold=closed hold=open/N release reset
//! forget` are the operator's; `?` looks at the machine; `random=X` chooses the jitter of what comes after it.
//!
//! A trace has a word for each of these but `@N` and `random`: how a run was admitted (`+a` alone: `run probe-K by no`), else where the
//! machine then stands (`c1`: closed, a streak of 1; `o500`: open until 500; `h0/1`: half-open after 0 successes
//! and 1 failure), with `no`, `late` and `none` for what was refused, late, or moved nothing.

mod closed;
mod half_open;
mod model;
mod open;
mod operator;
mod properties;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::event::{EventKind, Hold, HoldAs, OpenedBy};
use super::outcome::{Ending, Status, Verdict};
use super::policy::{Cooldown, Draft, Policy, Rate, WindowSize};
use super::time::{Millis, Timestamp};
use super::*;

/// A policy without jitter, cooldown 100, and what a row says beside that.
pub(super) fn policy(change: impl FnOnce(&mut Draft)) -> Policy {
    let mut draft = Draft {
        cooldown: Some(Millis(100).into()),
        max_cooldown: Some(Millis(1_000)),
        jitter: Rate::from_share(0.0),
        ..Draft::default()
    };
    change(&mut draft);
    Policy::new(draft).expect("a policy without contradictions")
}

pub(super) fn number(value: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(value)
}

pub(super) fn rate(share: f64) -> Option<Rate> {
    Rate::from_share(share)
}

pub(super) fn last(count: u32) -> Option<WindowSize> {
    number(count).map(WindowSize::Count)
}

pub(super) fn within(millis: u64) -> Option<WindowSize> {
    Some(WindowSize::Span(Millis(millis)))
}

/// How much to do: the first in an ordinary test run, the second where `BRK_PROOF=long` asks for more.
pub(super) fn scale<T>(ordinary: T, long: T) -> T {
    #[expect(clippy::disallowed_methods, reason = "a test may be told how long to go on")]
    let is_long = std::env::var("BRK_PROOF").is_ok_and(|word| word == "long");
    if is_long { long } else { ordinary }
}

/// Plays the script of each row and compares the traces.
#[track_caller]
pub(super) fn check(policy: &Policy, rows: &[(&str, &str)]) {
    for (script, trace) in rows {
        let mut bench = Bench::new(policy);
        let found: Vec<String> = script.split_whitespace().filter_map(|word| bench.step(word)).collect();
        let expected: Vec<&str> = trace.split_whitespace().collect();
        assert_eq!(found, expected, "\nscript {script}\n{policy:?}\n{:?}", bench.breaker);
    }
}

/// A breaker on the bench, its clock, and the runs in flight.
pub(super) struct Bench {
    pub breaker: Breaker,
    pub policy: Policy,
    pub now: u64,
    pub events: Vec<Event>,
    random: f64,
    flying: BTreeMap<char, Permit>,
}

impl Bench {
    pub fn new(policy: &Policy) -> Bench {
        Bench {
            breaker: Breaker::new(1, policy.clone(), Timestamp(0)),
            policy: policy.clone(),
            now: 0,
            events: Vec::new(),
            random: 0.0,
            flying: BTreeMap::new(),
        }
    }

    /// After this script.
    pub fn after(policy: &Policy, script: &str) -> Bench {
        let mut bench = Bench::new(policy);
        for word in script.split_whitespace() {
            bench.step(word);
        }
        bench
    }

    pub fn step(&mut self, word: &str) -> Option<String> {
        let before = self.breaker.clone();
        let trace = self.act(word);
        let told = self.breaker.take_events();
        invariants(&before, &self.breaker, &told);
        self.events.extend(told);
        trace
    }

    fn act(&mut self, word: &str) -> Option<String> {
        let now = Timestamp(self.now);
        if let Some(at) = word.strip_prefix('@') {
            self.now = at.parse().expect("a time");
            return None;
        }
        if let Some(random) = word.strip_prefix("random=") {
            self.random = random.parse().expect("a number");
            return None;
        }
        if let Some(name) = word.strip_prefix('+') {
            return Some(match self.admit(Mode::Enforce, Task::Command) {
                Admission::Refused(_) => "no".to_owned(),
                Admission::Granted(permit) => {
                    let word = match permit.kind {
                        PermitKind::Normal => "run".to_owned(),
                        PermitKind::Probe(place) => format!("probe-{place}"),
                        PermitKind::Passthrough => "by".to_owned(),
                    };
                    self.flying.insert(name.chars().next().expect("a name"), permit);
                    word
                }
            });
        }
        if let Some((name, end)) = word.split_once(':') {
            let permit = self.flying.remove(&name.chars().next().expect("a name")).expect("a run in flight");
            if end != "x" {
                return Some(self.end(&permit, end, Task::Command));
            }
            if let PermitKind::Probe(place) = permit.kind {
                self.breaker.mark_probe_lost(place, permit.generation);
            }
            return Some(self.state());
        }
        match word.split_once('=').unwrap_or((word, "")) {
            ("?", _) => {}
            ("reset", _) => self.breaker.reset(now),
            ("release", _) if !self.breaker.release(now) => return Some("none".to_owned()),
            ("release", _) => {}
            ("forget", _) => self.breaker = Breaker::new(self.breaker.id + 1, self.policy.clone(), now),
            ("trip", "") => {
                self.breaker.trip(TripFor::CooldownOf(&self.policy), None, now, self.random);
            }
            ("trip", wait) => {
                let wait = Millis(wait.parse().expect("a length"));
                self.breaker.trip(TripFor::Exactly(wait), Some("works".to_owned()), now, self.random);
            }
            ("hold", how) => {
                let (how, wait) = how.split_once('/').unwrap_or((how, ""));
                let hold = if how == "open" { HoldAs::Open } else { HoldAs::Closed };
                let until = wait.parse().ok().map(|wait| now.saturating_add(Millis(wait)));
                self.breaker.hold(Hold { hold, until, reason: None }, now);
            }
            (run, _) => {
                let (mode, task, end) = match run.as_bytes() {
                    [b'o', end @ ..] => (Mode::Observe, Task::Command, end),
                    [b'c', end @ ..] => (Mode::Enforce, Task::Check, end),
                    end => (Mode::Enforce, Task::Command, end),
                };
                let end = std::str::from_utf8(end).expect("ASCII");
                return Some(match self.admit(mode, task) {
                    Admission::Refused(_) => "no".to_owned(),
                    Admission::Granted(permit) => self.end(&permit, end, task),
                });
            }
        }
        Some(self.state())
    }

    pub fn admit(&mut self, mode: Mode, task: Task) -> Admission {
        let request = AdmissionRequest {
            mode,
            pid: 7,
            lifetime: Some(Millis(50)),
            task,
            cooldown: CooldownParts::Both,
            notify: None,
        };
        self.breaker.admit(&self.policy, &request, Timestamp(self.now))
    }

    fn end(&mut self, permit: &Permit, end: &str, task: Task) -> String {
        let (verdict, ending) = match end {
            "s" | "S" => (Verdict::Success, Ending::Exited(0)),
            "f" | "F" => (Verdict::Failure, Ending::Exited(7)),
            "i" | "I" => (Verdict::Ignored, Ending::Signaled(15)),
            "n" => (Verdict::Ignored, Ending::Interrupted(Some(Status::Signaled(15)))),
            "t" => (Verdict::Trip, Ending::TimedOut(Some(Status::Signaled(15)))),
            other => panic!("no such word: {other:?}"),
        };
        // Slow is more than `slow_after`, and as long as that is not slow.
        let limit = self.policy.slow_after.unwrap_or(Millis(1));
        let duration = if end.starts_with(char::is_uppercase) { limit.plus(Millis(1)) } else { limit };
        let report = Report {
            ending,
            verdict,
            duration,
            program: "prog".to_owned(),
            task,
            told: event::Told::default(),
            least_wait: Millis::ZERO,
            notify: None,
        };
        let before = self.breaker.clone();
        match self.breaker.complete(permit, report, &self.policy, Timestamp(self.now), self.random) {
            Completion::Late(_) => {
                assert_eq!(
                    machine(&before, Some(permit)),
                    machine(&self.breaker, None),
                    "late moves nothing"
                );
                "late".to_owned()
            }
            Completion::Counted(_) => self.state(),
        }
    }

    fn state(&self) -> String {
        match &self.breaker.phase {
            Phase::Closed => format!("c{}", self.breaker.streak),
            Phase::Open(opening) => format!("o{}", opening.retry_at.0),
            Phase::HalfOpen { successes, failures, .. } => format!("h{successes}/{failures}"),
        }
    }
}

/// What a late result must leave as it was; its own place apart.
pub(super) fn machine(breaker: &Breaker, without: Option<&Permit>) -> Breaker {
    let mut machine = breaker.clone();
    if let Some(Permit { kind: PermitKind::Probe(place), generation, .. }) = without {
        machine.probes.retain(|probe| (probe.place, probe.generation) != (*place, *generation));
    }
    machine.totals = Totals::default();
    machine.last = None;
    machine.last_launch = None;
    machine.events.clear();
    machine
}

/// What holds of any two states with one step between them, whatever the step.
pub(super) fn invariants(before: &Breaker, after: &Breaker, told: &[Event]) {
    if before.id != after.id {
        return;
    }
    assert!(after.generation >= before.generation, "the generation only grows");
    let is_raising = |kind: &EventKind| {
        use EventKind::*;
        matches!(
            kind,
            Opened { .. }
                | HalfOpen
                | Inconclusive { .. }
                | Closed { .. }
                | Reset
                | Tripped { .. }
                | Held { .. }
                | Released
        )
    };
    let raised = told.iter().filter(|event| is_raising(&event.kind)).count() as u64;
    assert_eq!(after.generation - before.generation, raised, "one generation a change: {told:?}");
    if before.phase.kind().as_str() != after.phase.kind().as_str() {
        assert!(raised > 0, "a change of phase is told and raises the generation");
    }
    if let (Phase::Open(old), Phase::Open(new)) = (&before.phase, &after.phase)
        && old != new
    {
        let moved =
            told.iter().any(|event| matches!(event.kind, EventKind::Tripped { .. } | EventKind::HalfOpen));
        let counted = told.iter().any(|event| matches!(event.kind, EventKind::Refused { .. }))
            && (old.at, old.retry_at) == (new.at, new.retry_at);
        assert!(moved || counted, "while open, only an operator moves retry_at: {told:?}");
    }
    let count = |totals: &Totals| {
        let Totals {
            launched,
            success,
            failure,
            ignored,
            late,
            refused,
            timeout,
            probes,
            lost,
            opened,
            reopened,
        } = *totals;
        [launched, success, failure, ignored, late, refused, timeout, probes, lost, opened, reopened]
    };
    let pairs = count(&before.totals).into_iter().zip(count(&after.totals));
    assert!(pairs.into_iter().all(|(before, after)| before <= after), "totals never go down");
}
