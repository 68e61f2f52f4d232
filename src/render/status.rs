//! Breakers as they are now.

use serde::Serialize;

use super::{wall_time, words};
use crate::breaker::Totals;
use crate::breaker::event::Hold;
use crate::breaker::policy::{Policy, WindowSize};
use crate::breaker::time::{Millis, Timestamp};
use crate::name::Name;
use crate::signal;
use crate::store::Snapshot;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    breakers: Vec<Object<'a>>,
}

/// One breaker, as machines read it. Keys are a promise; new ones may be added.
#[derive(Serialize)]
struct Object<'a> {
    name: &'a Name,
    phase: &'static str,
    generation: u64,
    since: String,
    reason: Option<String>,
    retry_at: Option<String>,
    retry_in_ms: Option<Millis>,
    streak: u32,
    level: u32,
    cooldown_ms: Option<Millis>,
    r#override: Option<Override<'a>>,
    window: WindowObject,
    totals: &'a Totals,
    last: Option<LastObject<'a>>,
    probes: Vec<ProbeObject<'a>>,
    policy: PolicyObject,
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
    /// Processes that are left of a probe whose `brk` is dead.
    survivors: &'a [u32],
}

#[derive(Serialize)]
struct PolicyObject {
    failures: Option<u32>,
    failure_rate: Option<f64>,
    slow_rate: Option<f64>,
    slow_after_ms: Option<Millis>,
    window: Option<u32>,
    window_ms: Option<Millis>,
    min_calls: u32,
    cooldown_ms: Millis,
    backoff: f64,
    max_cooldown_ms: Millis,
    jitter: f64,
    probes: u32,
    probe_successes: u32,
    probe_failures: u32,
    run_at_least_every_ms: Option<Millis>,
}

/// The document of `brk status --json`.
pub fn json(breakers: &[(Name, Snapshot)], store: &str) -> String {
    let breakers = breakers.iter().map(|(name, snapshot)| object(name, snapshot, store)).collect();
    let document = Document { version: 1, breakers };
    let mut text = serde_json::to_string_pretty(&document).expect("plain data becomes JSON");
    text.push('\n');
    text
}

fn object<'a>(name: &'a Name, snapshot: &'a Snapshot, store: &'a str) -> Object<'a> {
    let Snapshot { breaker, clock, alive } = snapshot;
    let now = snapshot.now();
    let time = |at: Timestamp| wall_time(clock, at);
    let opening = breaker.phase.opening();
    let retry_at = match &breaker.phase {
        crate::breaker::Phase::Open(opening) => Some(opening.retry_at),
        _ => None,
    };
    let counts = breaker.counts(now);
    let share = |part: u32| (counts.total > 0).then(|| f64::from(part) / f64::from(counts.total));
    let hold = |hold: &'a Hold| Override {
        hold: hold.hold.word(),
        until: hold.until.map(time),
        reason: hold.reason.as_deref(),
    };
    Object {
        name,
        phase: breaker.phase.word(),
        generation: breaker.generation,
        since: time(breaker.since),
        reason: opening.map(|opening| words::opened_by(&opening.why)),
        retry_at: retry_at.map(time),
        retry_in_ms: retry_at.map(|at| at.since(now)),
        streak: breaker.streak,
        level: breaker.level,
        cooldown_ms: breaker.cooldown,
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
            outcome: if last.late { "late" } else { last.outcome.word() },
            ending: last.ending.word(),
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
        policy: policy(&breaker.policy),
        store,
    }
}

fn policy(policy: &Policy) -> PolicyObject {
    let (window, window_ms) = match policy.window {
        WindowSize::Count(count) => (Some(count.get()), None),
        WindowSize::Span(span) => (None, Some(span)),
    };
    PolicyObject {
        failures: policy.failures.map(Into::into),
        failure_rate: policy.failure_rate.map(|rate| rate.share()),
        slow_rate: policy.slow_rate.map(|rate| rate.share()),
        slow_after_ms: policy.slow_after,
        window,
        window_ms,
        min_calls: policy.min_calls.into(),
        cooldown_ms: policy.cooldown,
        backoff: policy.backoff,
        max_cooldown_ms: policy.max_cooldown,
        jitter: policy.jitter.share(),
        probes: policy.probes.into(),
        probe_successes: policy.probe_successes.into(),
        probe_failures: policy.probe_failures.into(),
        run_at_least_every_ms: policy.run_at_least_every,
    }
}

/// All breakers, a line each.
pub fn table(breakers: &[(Name, Snapshot)]) -> String {
    let header = ["NAME", "PHASE", "SINCE", "NEXT TRY", "STREAK", "LAST"].map(str::to_owned);
    let rows: Vec<_> =
        std::iter::once(header).chain(breakers.iter().map(|(name, snapshot)| row(name, snapshot))).collect();
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn row(name: &Name, snapshot: &Snapshot) -> [String; 6] {
    let breaker = &snapshot.breaker;
    let now = snapshot.now();
    let hold = breaker.active_hold(now);
    let phase = hold.map_or_else(
        || breaker.phase.word().to_owned(),
        |hold| format!("{} ({})", words::hold(hold.hold), breaker.phase.word()),
    );
    let next = match &breaker.phase {
        _ if hold.is_some() => "-".to_owned(),
        crate::breaker::Phase::Closed => "now".to_owned(),
        crate::breaker::Phase::Open(opening) if opening.retry_at <= now => "now".to_owned(),
        crate::breaker::Phase::Open(opening) => format!("in {}", words::wait(opening.retry_at.since(now))),
        crate::breaker::Phase::HalfOpen { .. } if snapshot.alive.is_empty() => "now".to_owned(),
        crate::breaker::Phase::HalfOpen { .. } => "probing".to_owned(),
    };
    let last = breaker.last.as_ref().map_or_else(
        || "-".to_owned(),
        |last| format!("{}, {} ago", words::ending(&last.ending), words::took(now.since(last.at))),
    );
    let since = format!("{} ago", words::took(now.since(breaker.since)));
    [name.to_string(), phase, since, next, breaker.streak.to_string(), last]
}

/// One breaker in full.
pub fn detail(name: &Name, snapshot: &Snapshot, store: &str) -> String {
    let breaker = &snapshot.breaker;
    let now = snapshot.now();
    let time =
        |at: Timestamp| format!("{} ({} ago)", wall_time(&snapshot.clock, at), words::took(now.since(at)));
    let mut lines = vec![
        ("name", name.to_string()),
        ("phase", breaker.phase.word().to_owned()),
        ("since", time(breaker.since)),
    ];
    if let Some(hold) = breaker.active_hold(now) {
        let until = hold.until.map_or_else(
            || "until released".to_owned(),
            |at| format!("for another {}", words::wait(at.since(now))),
        );
        let reason = hold.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(("override", format!("{}, {until}{reason}", words::hold(hold.hold))));
    }
    if let Some(opening) = breaker.phase.opening() {
        lines.push(("reason", words::opened_by(&opening.why)));
        let next = if opening.retry_at <= now {
            "now".to_owned()
        } else {
            format!("in {}", words::wait(opening.retry_at.since(now)))
        };
        lines.push(("next try", format!("{next} ({})", wall_time(&snapshot.clock, opening.retry_at))));
    }
    let counts = breaker.counts(now);
    lines.push(("streak", words::counted(breaker.streak, "failure")));
    lines.push((
        "window",
        format!(
            "{} of {}, {} failed, {} slow",
            words::counted(counts.total, "run"),
            breaker.policy.window,
            counts.failures,
            counts.slow
        ),
    ));
    if let Some(last) = &breaker.last {
        let late = if last.late { ", late" } else { "" };
        lines.push((
            "last run",
            format!(
                "{}: {} after {}{late}, {}",
                last.program,
                words::ending(&last.ending),
                words::took(last.duration),
                time(last.at)
            ),
        ));
    }
    for live in &snapshot.alive {
        let command = live.command_pid.map(|pid| format!(", command {pid}")).unwrap_or_default();
        let survivors = if live.survivors.is_empty() {
            String::new()
        } else {
            format!(", killed; left of it: {:?}", live.survivors)
        };
        lines.push((
            "probe",
            format!("brk {}{command}{survivors}, since {}", live.probe.pid, time(live.probe.since)),
        ));
    }
    let totals = &breaker.totals;
    lines.push((
        "totals",
        format!(
            "{} launched, {} success, {} failure, {} ignored, {} late, {} timed out",
            totals.launched, totals.success, totals.failure, totals.ignored, totals.late, totals.timeout
        ),
    ));
    lines.push((
        "",
        format!(
            "{} refused, {} opened, {} probes, {} lost",
            totals.refused, totals.opened, totals.probes, totals.lost
        ),
    ));
    lines.push(("store", store.to_owned()));
    lines.into_iter().map(|(key, value)| format!("{key:9} {value}\n")).collect()
}
