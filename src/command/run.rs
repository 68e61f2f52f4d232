//! `brk run`: the whole story of a run, from top to bottom.

mod guard;
mod report;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;

use super::World;
use crate::breaker::outcome::{Ending, Verdict};
use crate::breaker::time::Millis;
use crate::breaker::{PermitKind, Task};
use crate::cli::RunArgs;
use crate::config::{Plan, Voice};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::say;
use crate::supervise::{self, Finished};
use guard::{Entry, Guard, Ticket};
use report::Report;

pub fn run(args: RunArgs, world: &World) -> Result<Exit, Error> {
    let plan = Plan::new(&args.settings)?;
    let program = program(&args.command);
    let guard = Guard::new(&args.name, &plan, &program, world);
    let mut report = Report::new(&args.name);

    let entry = match guard.admit(probe_task(&plan))? {
        Entry::Granted(ticket) if ticket.is_checked_first(&plan) => {
            check_first(&guard, &plan, ticket, &mut report)?
        }
        entry => entry,
    };
    let exit = match entry {
        Entry::Granted(ticket) => launch(&guard, &plan, &args.command, Some(ticket), &mut report)?,
        Entry::Unguarded => launch(&guard, &plan, &args.command, None, &mut report)?,
        Entry::Refused(refused) => {
            if plan.refusal.voice == Voice::Line {
                say(&format!("{}: {}", args.name, refused.text));
            }
            report.refused(&refused);
            Exit::Code(plan.refusal.exit)
        }
        Entry::Stopped(exit) => exit,
    };
    if let Some(path) = &plan.report {
        report.write(path);
    }
    Ok(exit)
}

/// The base name of the program: all that is ever kept of a command.
fn program(command: &[OsString]) -> String {
    let program = command.first().map(Path::new);
    let base = program.and_then(|path| path.file_name().or(Some(path.as_os_str())));
    base.unwrap_or_default().to_string_lossy().into_owned()
}

fn probe_task(plan: &Plan) -> Task {
    if plan.check.is_some() { Task::Check } else { Task::Command }
}

/// Runs the command under its permit, if it has one, and records how it ended.
fn launch(
    guard: &Guard,
    plan: &Plan,
    command: &[OsString],
    mut ticket: Option<Ticket>,
    report: &mut Report,
) -> Result<Exit, Error> {
    let finished = supervised(command, &plan.limits, ticket.as_mut())?;
    let verdict = plan.rules.classify(&finished.ending);
    report.launched(ticket.as_ref(), &finished, verdict);
    if let Some(ticket) = ticket {
        report.recorded(guard.record(ticket, &finished, verdict, Task::Command).as_ref());
    }
    Ok(exit::of(&finished.ending, plan.on_timeout))
}

/// Runs the cheap check as the probe. Where it closes the breaker the run is admitted anew, as any other.
fn check_first(guard: &Guard, plan: &Plan, mut ticket: Ticket, report: &mut Report) -> Result<Entry, Error> {
    let Some(check) = &plan.check else {
        return Ok(Entry::Granted(ticket));
    };
    let command = ["sh", "-c"].map(OsString::from);
    let command = [&command[..], std::slice::from_ref(&check.script)].concat();
    let finished = supervised(&command, &check.limits, Some(&mut ticket))?;
    let verdict = match finished.ending {
        Ending::Exited(0) => Verdict::Success,
        Ending::Interrupted(_) => Verdict::Ignored,
        _ => Verdict::Failure,
    };
    report.checked(&ticket);
    let recorded = guard.record(ticket, &finished, verdict, Task::Check);
    report.recorded(recorded.as_ref());
    if verdict == Verdict::Ignored {
        return Ok(Entry::Stopped(exit::of(&finished.ending, plan.on_timeout)));
    }
    guard.after_check(recorded)
}

/// Runs a command to its end, in the place of its ticket.
fn supervised(
    command: &[OsString],
    limits: &supervise::Limits,
    ticket: Option<&mut Ticket>,
) -> Result<Finished, Error> {
    let mut place = ticket.and_then(|ticket| ticket.place.as_mut());
    // The command inherits a description of its own number, so the place itself stays free to be written to.
    let inherited = place.as_ref().map(|place| place.as_fd().try_clone_to_owned()).transpose();
    let inherited =
        inherited.map_err(|source| Error::System { doing: "hand a place on".to_owned(), source })?;
    let inherit: Vec<_> = inherited.iter().map(AsFd::as_fd).collect();
    let task = supervise::Task {
        argv: command,
        variables: &[],
        stdin: None,
        stdout: None,
        stderr: None,
        inherit: &inherit,
    };
    let mut started = |pid| {
        if let Some(place) = &mut place {
            place.note_command(pid);
        }
    };
    let finished = supervise::run(&task, limits, &mut started)?;
    if let Some(error) = &finished.not_started {
        say(&format!("{}: {error}", command[0].display()));
    }
    if !finished.unkilled.is_empty() {
        say(&format!("could not end processes {:?}", finished.unkilled));
    }
    Ok(finished)
}

impl Ticket {
    fn is_checked_first(&self, plan: &Plan) -> bool {
        plan.check.is_some() && matches!(self.permit.kind, PermitKind::Probe(_))
    }
}

impl Finished {
    fn millis(&self) -> Millis {
        Millis::from(self.duration)
    }
}
