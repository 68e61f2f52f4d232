//! Breakers as machines read them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Shown, millis_time, wall_time, words};
use crate::breaker::event::Hold;
use crate::breaker::policy::{Cooldown, Policy, WindowSize};
use crate::breaker::time::{Millis, Timestamp};
use crate::breaker::{Phase, PhaseKind, Totals};
use crate::name::Name;
use crate::settings::table::SETTINGS;
use crate::settings::types::Type;
use crate::settings::{PolicyValue, Setting};
use crate::signal;
use crate::store::{Slot, Snapshot};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    breakers: Vec<Object<'a>>,
}

/// One breaker, as machines read it. Keys are a promise; new ones may be added.
#[derive(Serialize)]
struct Object<'a> {
    name: &'a Name,
    phase: PhaseKind,
    generation: u64,
    since: String,
    reason: Option<String>,
    /// How long the command whose end opened it was asked to wait.
    told_retry_after_ms: Option<Millis>,
    retry_at: Option<String>,
    retry_in_ms: Option<Millis>,
    /// How many more runs must be refused before a probe is due.
    retry_after_runs: Option<u32>,
    outage_since: Option<String>,
    streak: u32,
    level: u32,
    cooldown_ms: Option<Millis>,
    r#override: Option<Override<'a>>,
    window: WindowObject,
    totals: &'a Totals,
    last: Option<LastObject<'a>>,
    probes: Vec<ProbeObject<'a>>,
    slots: Vec<SlotObject>,
    policy: PolicyObject<'a>,
    store: &'a str,
}

#[derive(Serialize)]
struct Override<'a> {
    hold: &'static str,
    until: Option<String>,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct WindowObject {
    total: u32,
    failures: u32,
    slow: u32,
    failure_rate: Option<f64>,
    slow_rate: Option<f64>,
}

#[derive(Serialize)]
struct LastObject<'a> {
    at: String,
    outcome: &'static str,
    ending: &'static str,
    exit: Option<u8>,
    signal: Option<String>,
    duration_ms: Millis,
    program: &'a str,
}

#[derive(Serialize)]
struct ProbeObject<'a> {
    pid: u32,
    command_pid: Option<u32>,
    since: String,
    deadline: Option<String>,
    /// Processes left from a probe whose `brk` is dead.
    survivors: &'a [u32],
}

/// A slot of `--max-concurrent` that is taken.
#[derive(Serialize)]
struct SlotObject {
    pid: u32,
    command_pid: Option<u32>,
    since: Option<String>,
}

/// The document of `brk status --json`.
pub fn status(breakers: &[Shown], store: &str) -> String {
    let breakers = breakers.iter().map(|shown| object(shown, store)).collect();
    document(&Document { version: 1, breakers })
}

/// Any document, newline included.
pub fn document(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("plain data becomes JSON");
    text.push('\n');
    text
}

fn object<'a>(shown: &'a Shown, store: &'a str) -> Object<'a> {
    let Shown { name, snapshot, slots, recent: _ } = shown;
    let Snapshot { breaker, clock, alive } = snapshot;
    let now = snapshot.now();
    let time = |at: Timestamp| wall_time(clock, at);
    let opening = breaker.phase.opening();
    let (retry_at, runs) = match &breaker.phase {
        Phase::Open(opening) => {
            (Some(opening.retry_at), Some(opening.runs_left(breaker.totals.refused, now)))
        }
        Phase::Closed | Phase::HalfOpen { .. } => (None, None),
    };
    let counts = breaker.counts(now);
    let share = |part: u32| (counts.total > 0).then(|| f64::from(part) / f64::from(counts.total));
    let hold = |hold: &'a Hold| Override {
        hold: hold.hold.as_str(),
        until: hold.until.map(time),
        reason: hold.reason.as_deref(),
    };
    Object {
        name,
        phase: breaker.phase.kind(),
        generation: breaker.generation,
        since: time(breaker.since),
        told_retry_after_ms: opening.and_then(|opening| opening.told.retry_after),
        reason: opening.map(|opening| words::opened_by(&opening.why, &opening.told)),
        retry_at: retry_at.map(time),
        retry_in_ms: retry_at.map(|at| at.since(now)),
        retry_after_runs: runs,
        outage_since: opening.map(|opening| time(opening.outage_since())),
        streak: breaker.streak,
        level: breaker.level,
        cooldown_ms: breaker.current_wait(),
        r#override: breaker.active_hold(now).map(hold),
        window: WindowObject {
            total: counts.total,
            failures: counts.failures,
            slow: counts.slow,
            failure_rate: share(counts.failures),
            slow_rate: share(counts.slow),
        },
        totals: &breaker.totals,
        last: breaker.last.as_ref().map(|last| LastObject {
            at: time(last.at),
            outcome: if last.late { "late" } else { last.outcome.as_str() },
            ending: last.ending.as_str(),
            exit: last.ending.exit(),
            signal: last.ending.signal().map(|number| signal::name(number).into_owned()),
            duration_ms: last.duration,
            program: &last.program,
        }),
        probes: alive
            .iter()
            .map(|live| ProbeObject {
                pid: live.probe.pid,
                command_pid: live.command_pid,
                since: time(live.probe.since),
                deadline: live.probe.deadline.map(time),
                survivors: &live.survivors,
            })
            .collect(),
        slots: slots.iter().map(slot).collect(),
        policy: PolicyObject { rows: SETTINGS, policy: &breaker.policy },
        store,
    }
}

fn slot(slot: &Slot) -> SlotObject {
    SlotObject { pid: slot.holder.pid, command_pid: slot.holder.command, since: slot.since.map(millis_time) }
}

/// The settings of a policy, named as their keys, with the unit if they have one.
#[derive(Clone, Copy)]
pub struct PolicyObject<'a> {
    pub rows: &'static [Setting],
    pub policy: &'a Policy,
}

impl Serialize for PolicyObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for row in self.rows {
            let Some(of) = row.policy else { continue };
            let name = row.key.replace('-', "_");
            let in_ms = format!("{name}_ms");
            match of(self.policy) {
                PolicyValue::Off => {
                    let name = if row.value == Type::Duration { &in_ms } else { &name };
                    map.serialize_entry(name, &None::<u32>)?;
                }
                PolicyValue::Count(count) => map.serialize_entry(&name, &count)?,
                PolicyValue::Rate(rate) => map.serialize_entry(&name, &rate.share())?,
                PolicyValue::Duration(length) => map.serialize_entry(&in_ms, &length)?,
                PolicyValue::Cooldown(Cooldown { time, runs }) => {
                    map.serialize_entry(&in_ms, &time)?;
                    map.serialize_entry(&format!("{name}_runs"), &runs)?;
                }
                PolicyValue::Factor(factor) => map.serialize_entry(&name, &factor)?,
                PolicyValue::Window(window) => {
                    let (count, span) = match window {
                        WindowSize::Count(count) => (Some(count), None),
                        WindowSize::Span(span) => (None, Some(span)),
                    };
                    map.serialize_entry(&name, &count)?;
                    map.serialize_entry(&in_ms, &span)?;
                }
            }
        }
        map.end()
    }
}
