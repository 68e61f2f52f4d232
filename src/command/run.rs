//! `brk run`: the whole story of a run, from top to bottom.

mod attempt;
mod guard;
mod report;

use std::ffi::OsString;
use std::path::Path;

use super::Context;
use crate::breaker::outcome::{Ending, Outcome};
use crate::cli::RunArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::name::Name;
use crate::output::{Capture, say};
use crate::plan::{Plan, Quiet};
use crate::settings::value::{FallbackOn, Show};
use crate::supervise;
use attempt::{Attempts, Ran};
use guard::{Guard, Refused};
use report::Report;

/// What a process that ends because it was refused calls itself. A process's name outlives it until its parent has
/// looked, so a `brk` that supervises another can tell a refusal from a failure, whatever the exit code, and through
/// whatever has called the inner one by `exec`.
const REFUSED_NAME: &std::ffi::CStr = c"brk:refused";

/// How the attempts of a run ended.
enum Outcomes {
    Refused(Refused),
    Ran(Ran),
    /// Told to stop before anything was launched.
    Stopped(Exit),
}

pub fn run(args: RunArgs, context: &Context) -> Result<Exit, Error> {
    let resolved = context.layers()?.resolve(Some(&args.name), args.settings)?;
    let plan = Plan::new(&resolved)?;
    let program = program(&args.command);
    let guard = Guard::new(&args.name, &plan, &program, context);
    let mut report = Report::new(&args.name);
    let capture = capture(&plan, &args.name, context);

    let attempts =
        Attempts { guard: &guard, plan: &plan, command: &args.command, capture: capture.as_ref(), context };
    let outcome = attempts.make(&mut report)?;
    let exit = match outcome {
        Outcomes::Refused(refused) => {
            report.refused(&refused);
            if plan.refusal.quiet == Quiet::No && plan.show != Show::OnChange {
                say(&format!("{}: {}", args.name, refused.text));
            }
            match fallback(&plan, &[FallbackOn::Refused])? {
                Some(exit) => exit,
                None => {
                    // Best effort: without it an outer brk takes this for the command's own exit code.
                    #[cfg(target_os = "linux")]
                    let _ = rustix::thread::set_name(REFUSED_NAME);
                    Exit::Code(plan.refusal.exit)
                }
            }
        }
        Outcomes::Ran(ran) => {
            if let Some(capture) = capture
                && is_shown(&plan, &ran)
            {
                // The command is gone and the run recorded: who waits for a reader may be ended by a signal.
                supervise::release_signals();
                show(capture, &plan, &ran, &args.name);
            }
            let failed = ran.verdict.outcome() == Outcome::Failure;
            let reasons: &[FallbackOn] = match ran.ending {
                _ if !failed => &[],
                Ending::TimedOut(_) => &[FallbackOn::Failure, FallbackOn::Timeout],
                _ => &[FallbackOn::Failure],
            };
            fallback(&plan, reasons)?.unwrap_or_else(|| exit::of(&ran.ending, plan.on_timeout))
        }
        Outcomes::Stopped(exit) => exit,
    };
    if let Some(path) = &plan.report {
        supervise::release_signals();
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

fn capture(plan: &Plan, name: &Name, context: &Context) -> Option<Capture> {
    if plan.show == Show::Stream {
        return None;
    }
    let dir = context.env.temporary_dir();
    let capture = Capture::new(&dir);
    capture
        .inspect_err(|error| {
            say(&format!(
                "{name}: warning: cannot hold output back in {}: {error}; it is shown as it comes",
                dir.display()
            ));
        })
        .ok()
}

/// Whether output that was held back is to be seen.
fn is_shown(plan: &Plan, ran: &Ran) -> bool {
    match plan.show {
        Show::Stream => false,
        Show::OnFailure => ran.verdict.outcome() != Outcome::Success,
        Show::OnChange => match ran.change {
            // Nobody knows the phase: rather too much than too little.
            attempt::Change::Unknown => ran.verdict.outcome() != Outcome::Success,
            attempt::Change::Phase => true,
            attempt::Change::FirstFailure => ran.verdict.outcome() == Outcome::Failure,
            attempt::Change::None => false,
        },
    }
}

/// Shows output that was held back. Whoever waits for a change hears of it also from a command that says nothing.
fn show(capture: Capture, plan: &Plan, ran: &Ran, name: &Name) {
    match capture.show() {
        Ok(0) if plan.show == Show::OnChange => say(&format!("{name}: {}", ran.told)),
        Ok(_) => {}
        // The run is over, and its exit stands.
        Err(error) => say(&format!("{name}: warning: {error}")),
    }
}

/// Runs the fallback if it is wanted for one of these reasons; its exit is that of `brk`.
fn fallback(plan: &Plan, reasons: &[FallbackOn]) -> Result<Option<Exit>, Error> {
    let Some(fallback) =
        plan.fallback.as_ref().filter(|fallback| fallback.on.iter().any(|on| reasons.contains(on)))
    else {
        return Ok(None);
    };
    let argv = ["sh".into(), "-c".into(), fallback.script.clone()];
    let task = supervise::Task {
        argv: &argv,
        variables: &[],
        stdin: None,
        stdout: None,
        stderr: None,
        inherit: &[],
    };
    let finished = supervise::run(&task, &plan.limits, &mut |_| ())?;
    Ok(Some(exit::of(&finished.ending, plan.on_timeout)))
}
