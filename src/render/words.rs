//! Words for people: what happened, and when.

use crate::breaker::event::{Event, EventKind, HoldAs, OpenedBy, RefusedBy, Told};
use crate::breaker::outcome::{Ending, Outcome, Status, Unstartable};
use crate::breaker::time::{Millis, Timestamp};
use crate::breaker::{Breaker, PhaseKind, Refusal};
use crate::signal;
use crate::store::LiveProbe;

/// `exit 7`, `SIGKILL`, `timed out`.
pub fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit {code}"),
        Ending::Signaled(number) => signal::name(*number).into_owned(),
        Ending::TimedOut(_) => "timed out".to_owned(),
        Ending::Interrupted(None) => "interrupted".to_owned(),
        Ending::Interrupted(Some(Status::Exited(code))) => format!("interrupted, exit {code}"),
        Ending::Interrupted(Some(Status::Signaled(number))) => {
            format!("interrupted, {}", signal::name(*number))
        }
        Ending::NotStarted(Unstartable::NotFound) => "not found".to_owned(),
        Ending::NotStarted(Unstartable::NotExecutable) => "not executable".to_owned(),
    }
}

/// Why it opened, to be read after "open after"; with what the command said itself.
pub fn opened_by(why: &OpenedBy, said: &Told) -> String {
    let rule = match (why, said.retry_after) {
        (OpenedBy::TripOn { last }, Some(_)) => ending(last),
        (why, _) => broken_rule(why),
    };
    format!("{rule}{}", told(said))
}

/// What a command said, to be read after something else.
pub fn told(told: &Told) -> String {
    let asked = told.retry_after.map(|asked| format!(", asked to wait {}", wait(asked)));
    let reason = told.reason.as_ref().map(|reason| format!(": {}", escape_control(reason)));
    asked.unwrap_or_default() + &reason.unwrap_or_default()
}

fn broken_rule(why: &OpenedBy) -> String {
    match why {
        OpenedBy::Streak { failures, last } => {
            format!("{} (last: {})", pluralize(*failures, "failure"), ending(last))
        }
        OpenedBy::FailureRate { failures, total } => {
            format!("{} in {}", pluralize(*failures, "failure"), pluralize(*total, "run"))
        }
        OpenedBy::SlowRate { slow, total } => format!("{} in {total}", pluralize(*slow, "slow run")),
        OpenedBy::TripOn { last } => format!("{}, which trips immediately", ending(last)),
        OpenedBy::Probe { failures: 1, last } => format!("a failed probe (last: {})", ending(last)),
        OpenedBy::Probe { failures, last } => format!("{failures} failed probes (last: {})", ending(last)),
        OpenedBy::Operator { reason: None } => "a manual trip".to_owned(),
        OpenedBy::Operator { reason: Some(reason) } => format!("a manual trip ({})", escape_control(reason)),
    }
}

/// A change of phase, from this one to that of the breaker, and what comes next.
pub fn change(from: PhaseKind, breaker: &Breaker, events: &[Event], now: Timestamp) -> String {
    let (from, to) = (from.as_str(), breaker.phase.kind().as_str());
    let closed = events.iter().rev().find_map(|event| {
        let EventKind::Closed { outage, refused } = event.kind else { return None };
        Some(ended_outage(outage, refused))
    });
    match (breaker.phase.opening(), breaker.phase.retry_at(), closed) {
        (Some(opening), Some(at), _) => {
            let runs = opening.runs_left(breaker.totals.refused, now);
            let next = both_parts(at.since(now), runs);
            format!("{from} -> {to}; next try {next} (after {})", opened_by(&opening.why, &opening.told))
        }
        (None, None, Some(closed)) => format!("{from} -> {to} {closed}").trim_end().to_owned(),
        _ => format!("{from} -> {to}"),
    }
}

/// How long an outage was and what it refused: `after 14m, 9 runs refused`.
pub fn ended_outage(length: Option<Millis>, refused: u64) -> String {
    let refused = u32::try_from(refused).unwrap_or(u32::MAX);
    match length {
        Some(length) if refused > 0 => {
            format!("after {}, {} refused", format_elapsed(length), pluralize(refused, "run"))
        }
        Some(length) => format!("after {}", format_elapsed(length)),
        None => String::new(),
    }
}

/// An ending with what it means: `timed out after 30m (2 of 3 failures)`.
pub fn result(last: &Ending, outcome: Outcome, length: Millis, breaker: &Breaker) -> String {
    let mut what = ending(last);
    if matches!(last, Ending::TimedOut(_)) {
        what = format!("{what} after {}", format_elapsed(length));
    }
    match (outcome, breaker.policy.failures) {
        (Outcome::Failure, Some(limit)) if breaker.phase.kind() == PhaseKind::Closed => {
            format!("{what} ({} of {limit} failures)", breaker.streak)
        }
        (Outcome::Failure | Outcome::Success, _) => what,
        (Outcome::Ignored, _) => format!("{what} (ignored: it says nothing about the dependency)"),
    }
}

/// What still occupies the slot of a probe whose `brk` is dead.
pub fn describe_survivors(live: &LiveProbe) -> Option<String> {
    let pids: Vec<_> = live.survivors.iter().map(ToString::to_string).collect();
    live.is_orphaned().then(|| {
        format!("brk {} was killed; processes left from its probe: {}", live.probe.pid, pids.join(", "))
    })
}

/// The probes of a breaker: which `brk` makes them, and what is left of others. `alive` has this for some of them.
pub fn probers(breaker: &Breaker, alive: &[LiveProbe]) -> (Vec<String>, Vec<String>) {
    let (mut by, mut dead) = (Vec::new(), Vec::new());
    for probe in &breaker.probes {
        match alive.iter().find(|live| live.probe == *probe).and_then(describe_survivors) {
            Some(text) => dead.push(text),
            None => by.push(format!("brk {}", probe.pid)),
        }
    }
    (by, dead)
}

/// Why a run is refused and when to come back. `alive` may know of probes whose `brk` is dead.
pub fn refusal(breaker: &Breaker, alive: &[LiveProbe], refusal: &Refusal, now: Timestamp) -> String {
    let why = match refusal.why {
        RefusedBy::Open => {
            let why = breaker
                .phase
                .opening()
                .map_or_else(|| "open".to_owned(), |opening| opened_by(&opening.why, &opening.told));
            format!("open after {why}")
        }
        RefusedBy::Probing if breaker.probes.is_empty() => {
            "half-open, and more probes have to succeed".to_owned()
        }
        RefusedBy::Probing => {
            let (by, dead) = probers(breaker, alive);
            let by = (!by.is_empty()).then(|| format!("by {}", by.join(", ")));
            let who: Vec<_> = by.into_iter().chain(dead).collect();
            format!("half-open, and being probed ({})", who.join("; "))
        }
        RefusedBy::Held => {
            let reason = breaker.hold.as_ref().and_then(|hold| hold.reason.as_deref());
            reason.map_or_else(
                || "held open".to_owned(),
                |reason| format!("held open ({})", escape_control(reason)),
            )
        }
        RefusedBy::Busy => "busy".to_owned(),
    };
    match (refusal.why, refusal.retry_at) {
        (RefusedBy::Held, Some(at)) => format!("{why}; released in {}", wait(at.since(now))),
        _ => format!("{why}; next try {}", next_try(breaker, refusal, now)),
    }
}

/// When to try again, to be read after "next try".
pub fn next_try(breaker: &Breaker, refusal: &Refusal, now: Timestamp) -> String {
    match (refusal.why, refusal.retry_at) {
        (RefusedBy::Open, Some(at)) => both_parts(at.since(now), refusal.runs),
        (RefusedBy::Held, Some(at)) => format!("in {}, when the hold ends", wait(at.since(now))),
        (RefusedBy::Held, None) => "after 'brk release'".to_owned(),
        (RefusedBy::Probing, _) if breaker.probes.is_empty() => "now".to_owned(),
        (RefusedBy::Probing, _) => "when the probe has ended".to_owned(),
        (RefusedBy::Busy | RefusedBy::Open, _) => "when a run has ended".to_owned(),
    }
}

/// Both parts of a wait: `in 45s and after 1 more run`.
pub fn both_parts(time: Millis, runs: u32) -> String {
    let after = || format!("after {}", pluralize(runs, "more run"));
    match (time, runs) {
        (Millis::ZERO, 0) => "now".to_owned(),
        (Millis::ZERO, _) => after(),
        (time, 0) => format!("in {}", wait(time)),
        (time, _) => format!("in {} and {}", wait(time), after()),
    }
}

/// A wait as people count it: whole seconds, rounded up, and milliseconds only below one.
pub fn wait(length: Millis) -> String {
    if length < Millis(1_000) {
        length.to_string()
    } else {
        Millis(length.0.div_ceil(1_000).saturating_mul(1_000)).to_string()
    }
}

/// How long something took.
pub fn format_elapsed(length: Millis) -> String {
    match length.0 {
        0..1_000 => format!("{}ms", length.0),
        1_000..60_000 => format!("{:.1}s", length.0 as f64 / 1_000.0),
        _ => Millis(length.0 / 1_000 * 1_000).to_string(),
    }
}

/// How long ago, or for how long, in at most two units.
pub fn format_age(length: Millis) -> String {
    let seconds = length.0 / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m{:02}s", seconds % 60),
        3_600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        _ if days < 100 => format!("{days}d{:02}h", hours % 24),
        _ => format!("{days}d"),
    }
}

/// A text from outside, without characters that would move a terminal's cursor or break a line.
pub fn escape_control(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

pub fn hold(hold: HoldAs) -> &'static str {
    match hold {
        HoldAs::Open => "held open",
        HoldAs::Closed => "held closed",
    }
}

pub fn pluralize(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `never`, `once`, `3 times`.
pub fn format_count(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}
