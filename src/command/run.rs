//! `brk run`: the whole story of a run, from top to bottom.
//!
//!     admit -> (health check) -> supervise -> classify -> record -> hooks -> retry?
//!
//! Each process that ran leaves a record; output, fallback, exit and report are made from the records.

mod attempt;
mod guard;
mod hint;
mod record;
mod report;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::Context;
use super::after_change::{Cause, after_change};
use crate::breaker::event::{RefusedBy, Told};
use crate::breaker::notice::News;
use crate::breaker::outcome::{Ending, Outcome, Verdict};
use crate::breaker::time::Millis;
use crate::breaker::{Mode, PhaseKind, Task};
use crate::cli::RunArgs;
use crate::error::Error;
use crate::exit::{self, Exit, OnSuccess};
use crate::name::Name;
use crate::output::{Drained, Held, say};
use crate::plan::{Check, Plan, Quiet};
use crate::render::words;
use crate::settings::value::{FallbackOn, Show, Wait};
use crate::store::place::OccupancyLock;
use crate::store::{ActivePermit, Updated};
use crate::supervise::{self, Finished, HeldSignals};
use attempt::Launcher;
use guard::{Asked, Decision, Guard, Refused, Slot};
use record::RunResult;
use report::Report;

/// What a process that ends because it was refused calls itself. A process's name outlives it until its parent has
/// looked, so a `brk` that supervises another can tell a refusal from a failure, whatever the exit code, and through
/// whatever has called the inner one by `exec`.
const REFUSED_NAME: &std::ffi::CStr = c"brk:refused";

/// How often a run that waits asks whether it would be admitted.
const POLL_INTERVAL: Millis = Millis(500);

/// How the attempts of a run ended.
enum End {
    /// No command was launched.
    Refused(Refused),
    Ran {
        ending: Ending,
        verdict: Verdict,
        /// `None`: they act again.
        signals: Option<HeldSignals>,
    },
    /// Asked to stop before anything was launched.
    Stopped(Exit),
}

struct Story<'a> {
    name: &'a Name,
    program: &'a str,
    plan: &'a Plan,
    guard: &'a Guard<'a>,
    launcher: Launcher<'a>,
    context: &'a Context<'a>,
}

pub fn run(args: RunArgs, context: &Context) -> Result<Exit, Error> {
    let resolved = context.layers()?.resolve(Some(&args.name), args.settings)?;
    let (plan, name) = (Plan::new(&resolved)?, &args.name);
    let program = program(&args.command);
    let guard = Guard::new(name, &plan, &program, context);
    let held = hold_back(&plan, name, context);
    let launcher = Launcher {
        name,
        plan: &plan,
        command: &args.command,
        held: held.as_ref(),
        context,
        files: guard.files(),
    };
    let story = Story { name, program: &program, plan: &plan, guard: &guard, launcher, context };

    let mut results = Vec::new();
    let mut end = story.attempts(&mut results)?;
    let mut signals = end.take_signals();
    if let Some((line, output)) = held.and_then(|held| seen(held, &end, &plan, &results, name)) {
        // The command is gone and the run recorded: a signal may end `brk` while it waits for a reader.
        drop(signals.take());
        show(line, output, name);
    }
    let exit = conclude(&end, &plan, name)?;
    if let Some(path) = &plan.report {
        drop(signals.take());
        let refused = match &end {
            End::Refused(refused) => Some(refused),
            End::Ran { .. } | End::Stopped(_) => None,
        };
        Report::new(name, &results, refused).write(path);
    }
    // A signal that came after the command's end changes nothing: `brk` ends as the command did.
    if let Some(signals) = signals {
        signals.keep_until_exit();
    }
    Ok(exit)
}

impl End {
    fn take_signals(&mut self) -> Option<HeldSignals> {
        match self {
            End::Ran { signals, .. } => signals.take(),
            End::Refused(_) | End::Stopped(_) => None,
        }
    }
}

impl<'a> Story<'a> {
    /// Makes as many attempts as it takes, or may be made.
    fn attempts(&self, results: &mut Vec<RunResult>) -> Result<End, Error> {
        let (mut decision, mut slot) = self.admit_or_wait(results)?;
        let mut last = None;
        for attempt in 1_u32.. {
            let mut permit = match (decision, last) {
                (Decision::Granted(permit), _) => Some(permit),
                (Decision::Unguarded, _) => None,
                // The breaker opened meanwhile: the last attempt is the run's end.
                (Decision::Refused(_), Some((ending, verdict))) => {
                    return Ok(End::Ran { ending, verdict, signals: None });
                }
                (Decision::Refused(refused), None) => return Ok(End::Refused(refused)),
                (Decision::Stopped(exit), _) => return Ok(End::Stopped(exit)),
            };
            let (finished, statement) = self.launcher.run_command(permit.as_mut(), slot.as_mut(), attempt)?;
            let (verdict, told) = statement.applied(&finished.ending, self.classify(&finished));
            let result = self.record(permit, &finished, verdict, told, Task::Command, results);
            self.follow_up_result(&result);
            let is_retried =
                result.has_failed() && !result.has_left_open() && attempt <= self.plan.retry.times;
            results.push(result);
            if !is_retried {
                return Ok(End::Ran { ending: finished.ending, verdict, signals: finished.signals });
            }
            last = Some((finished.ending, verdict));
            self.launcher.pause(finished, attempt);
            decision = self.admit(Mode::Poll, slot.as_ref(), results)?;
        }
        unreachable!("the attempts are bounded")
    }

    /// Takes a place among the runs of this name, if their number is bounded, and asks to be admitted; waits if that
    /// is wanted.
    fn admit_or_wait(
        &self,
        results: &mut Vec<RunResult>,
    ) -> Result<(Decision<'a>, Option<OccupancyLock>), Error> {
        let clock = || Millis((self.context.env.platform.clocks)().up);
        let start = clock();
        loop {
            let waited = Millis(clock().0.saturating_sub(start.0));
            let left = match self.plan.wait {
                // A run that only observes is never refused.
                _ if self.plan.mode == Mode::Observe => Millis::ZERO,
                Wait::No => Millis::ZERO,
                Wait::Forever => Millis::MAX,
                Wait::AtMost(most) => Millis(most.0.saturating_sub(waited.0)),
            };
            let mode = if left.is_zero() { self.plan.mode } else { Mode::Poll };
            let (decision, slot) = match self.guard.take_slot()? {
                Slot::Free(slot) => (self.admit(mode, slot.as_ref(), results)?, slot),
                Slot::Busy => (self.follow_up_asked(self.guard.refuse(RefusedBy::Busy, mode)?), None),
            };
            match decision {
                Decision::Refused(refused) if !left.is_zero() => {
                    drop(slot);
                    let until = refused.wait.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
                    std::thread::sleep(until.min(left).max(Millis(1)).into());
                }
                decision => return Ok((decision, slot)),
            }
        }
    }

    /// Asks to be admitted. A probe with a health check runs that first; if it closes the breaker, the run is admitted
    /// anew, as any other.
    fn admit(
        &self,
        mode: Mode,
        slot: Option<&OccupancyLock>,
        results: &mut Vec<RunResult>,
    ) -> Result<Decision<'a>, Error> {
        let decision = self.follow_up_asked(self.guard.admit(mode)?);
        let (check, mut permit) = match (&self.plan.check, decision) {
            (Some(check), Decision::Granted(permit)) if permit.is_probe() => (check, permit),
            (_, decision) => return Ok(decision),
        };
        let (finished, statement) = self.launcher.run_health_check(check, &mut permit, slot)?;
        let (verdict, told) = statement.applied(&finished.ending, Check::classify(&finished.ending));
        let result = self.record(Some(permit), &finished, verdict, told, Task::Check, results);
        self.follow_up_result(&result);
        let is_closed = guard::is_closed_after_check(result.recorded.as_ref());
        results.push(result);
        if matches!(finished.ending, Ending::Interrupted(_)) {
            return Ok(Decision::Stopped(exit::of(&finished.ending, self.plan.on_timeout)));
        }
        let asked = if is_closed { self.guard.admit(mode)? } else { self.guard.refuse_after_check(mode)? };
        Ok(self.follow_up_asked(asked))
    }

    /// What an ending means for the breaker.
    fn classify(&self, finished: &Finished) -> Verdict {
        // Refused by a breaker of its own: that says nothing about what this one watches. A timeout or a signal is what
        // it is, whatever the process called itself.
        let was_refused_inside = matches!(finished.ending, Ending::Exited(_))
            && finished.last_name.as_deref() == REFUSED_NAME.to_str().ok();
        if was_refused_inside { Verdict::Ignored } else { self.plan.rules.classify(&finished.ending) }
    }

    fn record(
        &self,
        permit: Option<ActivePermit>,
        finished: &Finished,
        verdict: Verdict,
        told: Told,
        task: Task,
        before: &[RunResult],
    ) -> RunResult {
        let phase_before = permit.as_ref().map(|permit| permit.phase_before);
        let found = record::phase_before(before).or(phase_before).unwrap_or(PhaseKind::Closed);
        RunResult {
            task,
            is_probe: permit.as_ref().is_some_and(ActivePermit::is_probe),
            phase_before,
            ending: finished.ending,
            duration: Millis::from(finished.duration),
            verdict,
            recorded: permit
                .and_then(|permit| self.guard.record(permit, finished, verdict, told, task, found)),
        }
    }

    fn follow_up_asked(&self, asked: Asked<'a>) -> Decision<'a> {
        if let Some(updated) = &asked.updated {
            self.follow_up(updated, Cause::Admission { program: self.program });
        }
        asked.decision
    }

    fn follow_up_result(&self, result: &RunResult) {
        if let Some(recorded) = &result.recorded {
            let program = match result.task {
                Task::Check => "sh",
                Task::Command => self.program,
            };
            let cause = Cause::Ended { program, ending: result.ending };
            self.follow_up(&recorded.updated, cause);
        }
    }

    fn follow_up(&self, updated: &Updated, cause: Cause) {
        after_change(self.name, updated, &self.plan.hooks, cause, self.context.env);
    }
}

/// The exit of `brk`: that of the command, of its fallback, or of a refusal.
fn conclude(end: &End, plan: &Plan, name: &Name) -> Result<Exit, Error> {
    match end {
        End::Refused(refused) => {
            if plan.refusal.quiet == Quiet::No {
                say_refused(refused, plan, name);
            }
            if let Some(exit) = fallback(plan, &[FallbackOn::Refused])? {
                return Ok(exit);
            }
            // Best effort: without it an outer brk takes this for the command's own exit code.
            #[cfg(target_os = "linux")]
            let _ = rustix::thread::set_name(REFUSED_NAME);
            Ok(Exit::Code(plan.refusal.exit))
        }
        End::Ran { ending, verdict, .. } => {
            let reasons: &[FallbackOn] = match ending {
                _ if verdict.outcome() != Outcome::Failure => &[],
                Ending::TimedOut(_) => &[FallbackOn::Failure, FallbackOn::Timeout],
                _ => &[FallbackOn::Failure],
            };
            Ok(fallback(plan, reasons)?.unwrap_or_else(|| match (plan.on_success, verdict) {
                (OnSuccess::Zero, Verdict::Success) => Exit::Code(exit::DONE),
                _ => exit::of(ending, plan.on_timeout),
            }))
        }
        End::Stopped(exit) => Ok(*exit),
    }
}

/// The base name of the program: all that is ever kept of a command.
fn program(command: &[OsString]) -> String {
    let program = command.first().map(Path::new);
    let base = program.and_then(|path| path.file_name().or(Some(path.as_os_str())));
    base.unwrap_or_default().to_string_lossy().into_owned()
}

fn hold_back(plan: &Plan, name: &Name, context: &Context) -> Option<Held> {
    if plan.show == Show::Stream {
        return None;
    }
    let held = Held::new(&context.env.temporary_dir(), context.env.platform.thread);
    held.inspect_err(|error| {
        say(&format!("{name}: warning: cannot hold output back: {error}; it is shown as it comes"));
    })
    .ok()
}

/// Says that the run was refused. A run that shows only news says it if it is news.
fn say_refused(refused: &Refused, plan: &Plan, name: &Name) {
    match (plan.show, refused.news) {
        (Show::OnChange, News::None) => {}
        (Show::OnChange, News::Reminder | News::New | News::Phase) => {
            let since = match refused.without_success {
                Some(length) => format!("no success for {}", words::format_age(length)),
                None => "no success yet".to_owned(),
            };
            say(&format!("{name}: {}; {since}", refused.text));
        }
        (Show::Stream | Show::OnFailure, _) => say(&format!("{name}: {}", refused.text)),
    }
}

/// What of held-back output is to be seen, and a line that says what it means.
fn seen(
    held: Held,
    end: &End,
    plan: &Plan,
    results: &[RunResult],
    name: &Name,
) -> Option<(Option<String>, Drained)> {
    let mut drained = held.finish().inspect_err(|error| say(&format!("{name}: warning: {error}"))).ok()?;
    if let Some(pipe) = drained.still_open.take() {
        supervise::leave_reader(pipe);
    }
    let End::Ran { verdict, .. } = end else { return None };
    let last = record::launches(results).next_back()?;
    let found = record::phase_before(results);
    match (plan.show, record::news(results)) {
        (Show::Stream, _) | (Show::OnChange, News::None) => None,
        (Show::OnFailure, _) if verdict.outcome() == Outcome::Success => None,
        // The command's own words say it, if it has any.
        (Show::OnFailure, _) => Some((drained.is_empty().then(|| last.describe(found, News::None)), drained)),
        (Show::OnChange, news) => Some((Some(last.describe(found, news)), drained)),
    }
}

/// What it means comes first: a mail begins with it.
fn show(line: Option<String>, mut output: Drained, name: &Name) {
    if let Some(line) = line {
        say(&format!("{name}: {line}"));
    }
    if let Err(error) = output.show(&mut io::stderr().lock())
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        say(&format!("{name}: warning: cannot show the command's output: {error}"));
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
