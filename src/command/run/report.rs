//! `--report`: a run as one JSON object, for the script around it.

use std::path::Path;

use serde::Serialize;

use super::guard::{Recorded, Refused, Ticket};
use crate::breaker::PhaseKind;
use crate::breaker::outcome::Verdict;
use crate::breaker::time::Millis;
use crate::name::Name;
use crate::output::say;
use crate::render::wall_time;
use crate::signal;
use crate::store::Updated;
use crate::supervise::Finished;

#[derive(Debug, Serialize)]
pub struct Report<'a> {
    name: &'a Name,
    decision: &'static str,
    reason: Option<&'static str>,
    probe: bool,
    attempts: u32,
    ending: Option<&'static str>,
    exit: Option<u8>,
    signal: Option<String>,
    outcome: Option<&'static str>,
    duration_ms: Option<Millis>,
    phase_before: Option<PhaseKind>,
    phase_after: Option<PhaseKind>,
    retry_at: Option<String>,
}

impl<'a> Report<'a> {
    pub fn new(name: &'a Name) -> Report<'a> {
        Report {
            name,
            decision: "refused",
            reason: None,
            probe: false,
            attempts: 0,
            ending: None,
            exit: None,
            signal: None,
            outcome: None,
            duration_ms: None,
            phase_before: None,
            phase_after: None,
            retry_at: None,
        }
    }

    pub fn refused(&mut self, refused: &Refused) {
        self.reason = Some(refused.why.as_str());
        self.phase_before.get_or_insert(refused.phase);
        self.phase_after = Some(refused.phase);
        self.retry_at.clone_from(&refused.retry_at);
    }

    pub fn phase_before(&self) -> Option<PhaseKind> {
        self.phase_before
    }

    /// The cheap check of a probe has run; the command has not.
    pub fn checked(&mut self, ticket: &Ticket) {
        self.probe = true;
        self.phase_before = Some(ticket.phase_before);
    }

    pub fn launched(&mut self, ticket: Option<&Ticket>, finished: &Finished, verdict: Verdict) {
        self.decision = "launched";
        self.reason = None;
        self.attempts += 1;
        self.ending = Some(finished.ending.as_str());
        self.exit = finished.ending.exit();
        self.signal = finished.ending.signal().map(|number| signal::name(number).into_owned());
        self.outcome = Some(verdict.outcome().as_str());
        self.duration_ms = Some(Millis::from(finished.duration));
        if let Some(ticket) = ticket {
            self.probe |= ticket.is_probe();
            self.phase_before.get_or_insert(ticket.phase_before);
        }
    }

    pub fn recorded(&mut self, recorded: Option<&Recorded>) {
        self.phase_after = recorded.map(|recorded| recorded.updated.breaker.phase.kind());
        self.retry_at = recorded.and_then(|recorded| {
            let Updated { breaker, clock, .. } = &recorded.updated;
            breaker.phase.retry_at().map(|at| wall_time(clock, at))
        });
    }

    pub fn write(&self, path: &Path) {
        let mut text = serde_json::to_string(self).expect("plain data becomes JSON");
        text.push('\n');
        if let Err(error) = std::fs::write(path, text) {
            say(&format!("{}: warning: cannot write the report to {}: {error}", self.name, path.display()));
        }
    }
}
