//! What happened to a breaker, an event a line.

use anstyle::Style;
use serde::Serialize;

use super::strip::Mark;
use super::style::{DIM, GREEN, MAGENTA, PLAIN, RED, YELLOW, paint};
use super::{wall_time, words};
use crate::breaker::event::{Event, EventKind, Run};
use crate::breaker::outcome::Outcome;
use crate::breaker::time::{Clock, Millis, Timestamp};
use crate::signal;

/// One event, as machines read it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Object<'a> {
    at: String,
    event: &'static str,
    generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_retry_after_ms: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_runs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// An event as a JSON line, newline included.
pub fn json(clock: &Clock, event: &Event) -> String {
    let mut line = serde_json::to_string(&object(clock, event)).expect("plain data becomes JSON");
    line.push('\n');
    line
}

/// An event as machines read it, to be a part of something else.
pub fn object<'a>(clock: &Clock, event: &'a Event) -> Object<'a> {
    let time = |at: Timestamp| wall_time(clock, at);
    let mut object = Object {
        at: time(clock.time()),
        event: word(&event.kind),
        generation: event.generation,
        outcome: None,
        ending: None,
        exit: None,
        signal: None,
        duration_ms: None,
        probe: None,
        slow: None,
        reason: None,
        told_retry_after_ms: None,
        count: None,
        retry_at: None,
        retry_after_runs: None,
        hold: None,
        until: None,
    };
    match &event.kind {
        EventKind::Ended { outcome, run } | EventKind::Late { outcome, run } => {
            if matches!(event.kind, EventKind::Late { .. }) {
                object.outcome = Some(outcome.as_str());
            }
            object.ending = Some(run.ending.as_str());
            object.exit = run.ending.exit();
            object.signal = run.ending.signal().map(|number| signal::name(number).into_owned());
            object.duration_ms = Some(run.duration);
            object.probe = Some(run.probe);
            object.slow = Some(run.slow);
            object.reason.clone_from(&run.told.reason);
            object.told_retry_after_ms = run.told.retry_after;
        }
        EventKind::Refused { why, retry_at, count } => {
            object.reason = Some(why.as_str().to_owned());
            object.retry_at = retry_at.map(time);
            object.count = Some(*count);
        }
        EventKind::Opened { why, retry_at, runs, told } => {
            object.told_retry_after_ms = told.retry_after;
            object.retry_after_runs = Some(*runs);
            object.reason = Some(words::opened_by(why, told));
            object.retry_at = Some(time(*retry_at));
        }
        EventKind::Inconclusive { retry_at, runs } => {
            object.retry_at = Some(time(*retry_at));
            object.retry_after_runs = Some(*runs);
        }
        EventKind::Tripped { reason, retry_at } => {
            object.reason.clone_from(reason);
            object.retry_at = Some(time(*retry_at));
        }
        EventKind::Held { hold } => {
            object.hold = Some(hold.hold.as_str());
            object.until = hold.until.map(time);
            object.reason.clone_from(&hold.reason);
        }
        EventKind::Lost { .. } => object.probe = Some(true),
        EventKind::StoreLost { why } => object.reason = Some(why.clone()),
        EventKind::HalfOpen
        | EventKind::Closed { .. }
        | EventKind::Reset
        | EventKind::Released
        | EventKind::StoreBack => {}
    }
    object
}

/// The word that machines read.
pub fn word(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Ended { outcome: Outcome::Success, .. } => "success",
        EventKind::Ended { outcome: Outcome::Failure, .. } => "failure",
        EventKind::Ended { outcome: Outcome::Ignored, .. } => "ignored",
        EventKind::Late { .. } => "late",
        EventKind::Refused { .. } => "refused",
        EventKind::Lost { .. } => "lost",
        EventKind::Opened { .. } => "opened",
        EventKind::HalfOpen => "half-open",
        EventKind::Inconclusive { .. } => "inconclusive",
        EventKind::Closed { .. } => "closed",
        EventKind::Reset => "reset",
        EventKind::Tripped { .. } => "tripped",
        EventKind::Held { .. } => "held",
        EventKind::Released => "released",
        EventKind::StoreLost { .. } => "store-lost",
        EventKind::StoreBack => "store-back",
    }
}

/// An event as a line for people, newline included.
pub fn line(clock: &Clock, event: &Event) -> String {
    let at = wall_time(clock, clock.time());
    let (word, told) = (word(&event.kind), told(clock, event));
    let gap = if told.is_empty() { 0 } else { 11_usize.saturating_sub(word.len()) };
    format!("{}  {}{:gap$}{told}\n", paint(DIM, &at), paint(style(&event.kind), word), "")
}

fn style(kind: &EventKind) -> Style {
    match kind {
        EventKind::Opened { .. } | EventKind::Tripped { .. } => RED.bold(),
        EventKind::HalfOpen | EventKind::Inconclusive { .. } => YELLOW.bold(),
        EventKind::Closed { .. } | EventKind::Reset => GREEN.bold(),
        EventKind::Held { .. } | EventKind::Released => MAGENTA.bold(),
        EventKind::Refused { .. } => DIM,
        EventKind::Ended { .. }
        | EventKind::Late { .. }
        | EventKind::Lost { .. }
        | EventKind::StoreLost { .. }
        | EventKind::StoreBack => Mark::of(kind).map_or(PLAIN, Mark::style),
    }
}

fn told(clock: &Clock, event: &Event) -> String {
    let now = clock.time();
    let because = |reason: &Option<String>| {
        reason.as_ref().map(|reason| format!(" ({})", words::escape_control(reason))).unwrap_or_default()
    };
    match &event.kind {
        EventKind::Ended { run, .. } => facts(run),
        EventKind::Late { outcome, run } => {
            format!("{}; {outcome}, of generation {}", facts(run), event.generation)
        }
        EventKind::Refused { why, count, .. } => format!("{}: {}", words::format_count(*count), why.as_str()),
        EventKind::Lost { since, pid } => {
            format!("brk {pid}, probing for {}, is gone", words::format_elapsed(now.since(*since)))
        }
        EventKind::Opened { why, retry_at, runs, told } => {
            format!(
                "after {}; next try {}",
                words::opened_by(why, told),
                words::both_parts(retry_at.since(now), *runs)
            )
        }
        EventKind::Inconclusive { retry_at, runs } => {
            format!("nothing was learned; next try {}", words::both_parts(retry_at.since(now), *runs))
        }
        EventKind::Tripped { reason, retry_at } => {
            format!("for {}{}", words::wait(retry_at.since(now)), because(reason))
        }
        EventKind::Held { hold } => {
            let until =
                hold.until.map(|until| format!(" for {}", words::wait(until.since(now)))).unwrap_or_default();
            format!("{}{until}{}", hold.hold.as_str(), because(&hold.reason))
        }
        EventKind::StoreLost { why } => format!("{why}; what follows stays on this host"),
        EventKind::StoreBack => "the shared store is used again".to_owned(),
        EventKind::Closed { outage, refused } => words::ended_outage(*outage, *refused),
        EventKind::HalfOpen | EventKind::Reset | EventKind::Released => String::new(),
    }
}

fn facts(run: &Run) -> String {
    let mut text = format!("{} after {}", words::ending(&run.ending), words::format_elapsed(run.duration));
    for (holds, word) in
        [(run.slow, "slow"), (run.probe && !run.check, "probe"), (run.check, "probe's check")]
    {
        if holds {
            text.push_str(", ");
            text.push_str(word);
        }
    }
    text + &words::told(&run.told)
}
