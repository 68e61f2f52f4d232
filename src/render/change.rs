//! What an operator's command changed: the state before and after it.

use serde::Serialize;

use super::{json, style, wall_time, words};
use crate::breaker::event::HoldAs;
use crate::breaker::time::{Clock, Millis, Timestamp};
use crate::breaker::{Breaker, PhaseKind};
use crate::name::Name;
use crate::store::Updated;

/// What an operator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorAction {
    Reset,
    Tripped,
    Held,
    Released,
    Forgotten,
}

/// The part of a breaker's state that an operator can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    phase: PhaseKind,
    word: &'static str,
    hold: Option<HoldAs>,
    streak: u32,
}

#[derive(Debug)]
pub struct Change {
    name: Name,
    action: OperatorAction,
    /// `None`: there was no such breaker.
    before: Option<Summary>,
    /// `None`: the breaker does not exist any more.
    after: Option<After>,
    /// Whether anything changed.
    changed: bool,
}

#[derive(Debug)]
struct After {
    standing: Summary,
    generation: u64,
    clock: Clock,
    retry_at: Option<Timestamp>,
    until: Option<Timestamp>,
}

#[derive(Serialize)]
struct Document {
    version: u32,
    changes: Vec<Object>,
}

#[derive(Serialize)]
struct Object {
    name: Name,
    event: &'static str,
    changed: bool,
    phase_before: Option<PhaseKind>,
    phase_after: Option<PhaseKind>,
    hold_before: Option<&'static str>,
    hold_after: Option<&'static str>,
    generation: Option<u64>,
    retry_at: Option<String>,
    until: Option<String>,
}

impl Summary {
    pub fn of(breaker: &Breaker, now: Timestamp) -> Summary {
        Summary {
            phase: breaker.phase.kind(),
            word: style::standing(breaker, now),
            hold: breaker.active_hold(now).map(|hold| hold.hold),
            streak: breaker.streak,
        }
    }
}

impl Change {
    /// The change of a breaker that still exists, and that an update has just read and written.
    pub fn new(name: &Name, action: OperatorAction, updated: &Updated, changed: bool) -> Change {
        let (breaker, now) = (&updated.breaker, updated.clock.time());
        let after = After {
            standing: Summary::of(breaker, now),
            generation: breaker.generation,
            clock: updated.clock,
            retry_at: breaker.phase.retry_at(),
            until: breaker.active_hold(now).and_then(|hold| hold.until),
        };
        let before = Some(Summary::of(&updated.before, now));
        Change { name: name.clone(), action, before, after: Some(after), changed }
    }

    pub fn forgotten(name: &Name, before: Option<Summary>) -> Change {
        Change { name: name.clone(), action: OperatorAction::Forgotten, before, after: None, changed: true }
    }

    /// A line for people.
    pub fn line(&self) -> String {
        let before = self.before.as_ref().map_or_else(|| "unknown".to_owned(), |before| self.from(before));
        let Some(after) = &self.after else {
            return format!("{}: {before} -> forgotten, with its history\n", self.name);
        };
        if !self.changed {
            return match after.standing.hold {
                Some(hold) => format!("{}: {} as before\n", self.name, words::hold(hold)),
                None => format!("{}: was not held; {} as before\n", self.name, after.standing.word),
            };
        }
        let now = after.clock.time();
        let to = match (self.action, after.standing.hold, after.retry_at) {
            (OperatorAction::Held, Some(hold), _) => {
                let until = after.until.map_or_else(
                    || "until 'brk release'".to_owned(),
                    |until| format!("for {}", words::wait(until.since(now))),
                );
                format!("{} {until}", words::hold(hold))
            }
            (_, hold, Some(retry_at)) => {
                let held = hold.map(|hold| format!(" (but {})", words::hold(hold))).unwrap_or_default();
                let wait = retry_at.since(now);
                if wait == Millis::ZERO {
                    format!("open, the next run is a probe{held}")
                } else {
                    format!("open for {}{held}", words::wait(wait))
                }
            }
            (_, Some(hold), None) => format!("{} (but {})", after.standing.phase.as_str(), words::hold(hold)),
            (OperatorAction::Reset, None, None) => "closed, counters cleared".to_owned(),
            (_, None, None) => after.standing.phase.as_str().to_owned(),
        };
        format!("{}: {before} -> {to}\n", self.name)
    }

    fn from(&self, before: &Summary) -> String {
        let mut text = before.word.to_owned();
        if before.hold.is_some() {
            text.push_str(&format!(" (phase {})", before.phase.as_str()));
        }
        if self.action == OperatorAction::Reset && before.streak > 0 {
            text.push_str(&format!(" with {} in a row", words::pluralize(before.streak, "failure")));
        }
        text
    }

    fn object(self) -> Object {
        let event = match self.action {
            OperatorAction::Reset => "reset",
            OperatorAction::Tripped => "tripped",
            OperatorAction::Held => "held",
            OperatorAction::Released => "released",
            OperatorAction::Forgotten => "forgotten",
        };
        let time = |at: Option<Timestamp>| Some(wall_time(&self.after.as_ref()?.clock, at?));
        Object {
            event,
            changed: self.changed,
            phase_before: self.before.as_ref().map(|before| before.phase),
            phase_after: self.after.as_ref().map(|after| after.standing.phase),
            hold_before: self.before.as_ref().and_then(|before| Some(before.hold?.as_str())),
            hold_after: self.after.as_ref().and_then(|after| Some(after.standing.hold?.as_str())),
            generation: self.after.as_ref().map(|after| after.generation),
            retry_at: time(self.after.as_ref().and_then(|after| after.retry_at)),
            until: time(self.after.as_ref().and_then(|after| after.until)),
            name: self.name,
        }
    }
}

/// The document of a verb's `--json`.
pub fn json(changes: Vec<Change>) -> String {
    json::document(&Document { version: 1, changes: changes.into_iter().map(Change::object).collect() })
}
