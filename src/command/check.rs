//! `brk check`: would a run be admitted now?

use serde::Serialize;

use super::Context;
use crate::breaker::event::RefusedBy;
use crate::breaker::time::Millis;
use crate::breaker::{Admission, PermitKind, PhaseKind};
use crate::cli::CheckArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::name::Name;
use crate::output::{print_or_say, say};
use crate::render::{forecast, json, wall_time, words};
use crate::store::Store;

#[derive(Serialize)]
struct Object<'a> {
    version: u32,
    name: &'a Name,
    known: bool,
    admitted: bool,
    phase: PhaseKind,
    probe: bool,
    reason: Option<&'static str>,
    retry_at: Option<String>,
    retry_in_ms: Option<Millis>,
    retry_after_runs: Option<u32>,
}

pub fn run(args: &CheckArgs, context: &Context) -> Result<Exit, Error> {
    let name = &args.name;
    let mut object = Object {
        version: 1,
        name,
        known: false,
        admitted: true,
        phase: PhaseKind::Closed,
        probe: false,
        reason: None,
        retry_at: None,
        retry_in_ms: None,
        retry_after_runs: None,
    };
    let mut text = format!("{name}: closed (no runs recorded)\n");
    // State that is of no use keeps no run out.
    let found = context.store().and_then(|store| store.read(name)).unwrap_or_else(|error| {
        say(&format!("{name}: warning: {error}; a run would be admitted"));
        None
    });
    if let Some(snapshot) = found {
        let now = snapshot.now();
        object.known = true;
        object.phase = snapshot.breaker.phase.kind();
        match forecast::admission(&snapshot) {
            Admission::Granted(permit) => {
                object.probe = matches!(permit.kind, PermitKind::Probe(_));
                let role = match permit.kind {
                    PermitKind::Probe(_) => "; a run would be a probe",
                    PermitKind::Passthrough => "; held closed, a run would be admitted",
                    PermitKind::Normal => "",
                };
                text = format!("{name}: {}{role}\n", object.phase.as_str());
            }
            Admission::Refused(refusal) => {
                object.admitted = false;
                object.reason = Some(refusal.why.as_str());
                object.retry_at = refusal.retry_at.map(|at| wall_time(&snapshot.clock, at));
                object.retry_after_runs = (refusal.why == RefusedBy::Open).then_some(refusal.runs);
                object.retry_in_ms = refusal.retry_at.map(|at| at.since(now));
                text = format!(
                    "{name}: {}\n",
                    words::refusal(&snapshot.without_dead_probes(), &snapshot.alive, &refusal, now)
                );
            }
        }
    }
    let exit = Exit::Code(if object.admitted { exit::DONE } else { exit::REFUSED });
    match (args.quiet, args.json) {
        (true, _) => {}
        (false, true) => print_or_say(&json::document(&object)),
        (false, false) => print_or_say(&text),
    }
    Ok(exit)
}
