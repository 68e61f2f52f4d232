//! `--report`: a run as one JSON object, for the script around it. It is made from the run's records, at the end.

use std::path::Path;

use serde::Serialize;

use super::guard::Refused;
use super::record::{self, RunResult};
use crate::breaker::PhaseKind;
use crate::breaker::time::Millis;
use crate::name::Name;
use crate::output::say;
use crate::render::wall_time;
use crate::signal;
use crate::store::Updated;

#[derive(Debug, Serialize)]
pub struct Report<'a> {
    name: &'a Name,
    decision: &'static str,
    reason: Option<&'static str>,
    probe: bool,
    attempts: usize,
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
    /// `refused`: the refusal that the run ended with.
    pub fn new(name: &'a Name, results: &[RunResult], refused: Option<&Refused>) -> Report<'a> {
        let launched = record::launches(results).next_back();
        let ending = launched.map(|launched| launched.ending);
        let after = results.last().and_then(|last| last.recorded.as_ref());
        let report = Report {
            name,
            decision: if launched.is_some() { "launched" } else { "refused" },
            reason: None,
            probe: results.iter().any(|result| result.is_probe),
            attempts: record::launches(results).count(),
            ending: ending.map(|ending| ending.as_str()),
            exit: ending.and_then(|ending| ending.exit()),
            signal: ending.and_then(|ending| ending.signal()).map(|number| signal::name(number).into_owned()),
            outcome: launched.map(|launched| launched.verdict.outcome().as_str()),
            duration_ms: launched.map(|launched| launched.duration),
            phase_before: record::phase_before(results),
            phase_after: after.map(|after| after.phase()),
            retry_at: after.and_then(|after| {
                let Updated { breaker, clock, .. } = &after.updated;
                breaker.phase.retry_at().map(|at| wall_time(clock, at))
            }),
        };
        let Some(refused) = refused else {
            return report;
        };
        Report {
            reason: Some(refused.why.as_str()),
            phase_before: report.phase_before.or(Some(refused.phase)),
            phase_after: Some(refused.phase),
            retry_at: refused.retry_at.clone(),
            ..report
        }
    }

    pub fn write(&self, path: &Path) {
        let mut text = serde_json::to_string(self).expect("plain data becomes JSON");
        text.push('\n');
        if let Err(error) = std::fs::write(path, text) {
            say(&format!("{}: warning: cannot write the report to {}: {error}", self.name, path.display()));
        }
    }
}
