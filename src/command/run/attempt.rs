//! The attempts of a run: entering, the probe's cheap check, the command, and once more where that is wanted.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::super::Context;
use super::guard::{Entry, Guard, Recorded, Ticket};
use super::report::Report;
use super::{Outcomes, REFUSED_NAME};
use crate::breaker::outcome::{Ending, Outcome, Verdict};
use crate::breaker::time::Millis;
use crate::breaker::{Completion, Mode, Phase, Task};
use crate::error::Error;
use crate::exit;
use crate::output::{Capture, say};
use crate::plan::Plan;
use crate::render::words;
use crate::settings::value::{OnStateError, Wait};
use crate::store::place::OccupancyLock;
use crate::supervise::{self, Finished, Limits};

pub struct Attempts<'a> {
    pub guard: &'a Guard<'a>,
    pub plan: &'a Plan,
    pub command: &'a [OsString],
    pub capture: Option<&'a Capture>,
    pub context: &'a Context<'a>,
}

/// How the last attempt went, and what all of them changed.
pub struct Ran {
    pub ending: Ending,
    pub verdict: Verdict,
    pub change: Change,
    /// The change in words.
    pub told: String,
}

/// What a run has changed, the most telling last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    None,
    FirstFailure,
    Phase,
    /// The run was not guarded.
    Unknown,
}

/// How often one that waits looks whether it would be admitted.
const LOOK: Millis = Millis(500);

impl Attempts<'_> {
    /// Makes as many attempts as it takes, or may be made.
    pub fn make(&self, report: &mut Report) -> Result<Outcomes, Error> {
        let (mut entry, mut slot) = self.enter(report)?;
        let mut change = Change::None;
        let mut last: Option<Ran> = None;
        let mut phase_before = None;
        for attempt in 1_u32.. {
            let ticket = match entry {
                Entry::Granted(ticket) => Some(ticket),
                Entry::Unguarded => None,
                // The breaker opened meanwhile: the last attempt is the run's end.
                Entry::Refused(refused) => return Ok(last.map_or(Outcomes::Refused(refused), Outcomes::Ran)),
                Entry::Stopped(exit) => return Ok(Outcomes::Stopped(exit)),
            };
            if let Some(ticket) = &ticket {
                phase_before.get_or_insert(report.phase_before().unwrap_or(ticket.phase_before));
            }
            let is_guarded = ticket.is_some();
            let (finished, verdict, recorded) = self.launch(ticket, slot.as_mut(), attempt, report)?;
            change = change.max(match &recorded {
                Some(recorded) if recorded.heard == Completion::FirstFailure => Change::FirstFailure,
                None if !is_guarded => Change::Unknown,
                _ => Change::None,
            });
            let phase = recorded.as_ref().map(|recorded| recorded.updated.breaker.phase.kind());
            let changed = phase.is_some() && phase != phase_before;
            let told = match (&recorded, phase_before) {
                (Some(recorded), Some(before)) if changed => {
                    words::change(before, &recorded.updated.breaker, recorded.updated.clock.time())
                }
                _ => words::ending(&finished.ending),
            };
            let change = if changed { change.max(Change::Phase) } else { change };
            let ran = Ran { ending: finished.ending, verdict, change, told };
            let is_open =
                recorded.is_some_and(|recorded| matches!(recorded.updated.breaker.phase, Phase::Open(_)));
            if ran.verdict.outcome() != Outcome::Failure || is_open || attempt > self.plan.retry.times {
                return Ok(Outcomes::Ran(ran));
            }
            self.pause(&finished, attempt);
            last = Some(ran);
            entry = self.guard.admit(Mode::Poll)?;
            entry = self.checked(entry, slot.as_ref(), Mode::Poll, report)?;
        }
        unreachable!("the attempts are bounded")
    }

    /// Takes a place among the runs of this name, if their number is bounded, and asks the breaker; waits where that
    /// is wanted.
    fn enter(&self, report: &mut Report) -> Result<(Entry, Option<OccupancyLock>), Error> {
        let clock = || Millis((self.context.env.machine.clocks)().up);
        let start = clock();
        loop {
            let waited = Millis(clock().0.saturating_sub(start.0));
            let left = match self.plan.wait {
                // Who only observes is never refused.
                _ if self.plan.mode == Mode::Observe => Millis::ZERO,
                Wait::No => Millis::ZERO,
                Wait::Forever => Millis::MAX,
                Wait::AtMost(most) => Millis(most.0.saturating_sub(waited.0)),
            };
            let mode = if left.is_zero() { self.plan.mode } else { Mode::Poll };
            let (entry, slot) = match self.guard.take_slot()? {
                super::guard::Slot::Free(slot) => (self.guard.admit(mode)?, slot),
                super::guard::Slot::Busy => (self.guard.busy(mode)?, None),
            };
            let entry = self.checked(entry, slot.as_ref(), mode, report)?;
            match entry {
                Entry::Refused(refused) if !left.is_zero() => {
                    drop(slot);
                    // A check may have run: from here on a signal ends brk at once again.
                    supervise::release_signals();
                    let until = refused.wait.unwrap_or(LOOK).min(LOOK).min(left).max(Millis(1));
                    std::thread::sleep(until.into());
                }
                entry => return Ok((entry, slot)),
            }
        }
    }

    /// Runs the cheap check as the probe, if there is one. Where it closes the breaker the run is admitted anew, as
    /// any other.
    fn checked(
        &self,
        entry: Entry,
        slot: Option<&OccupancyLock>,
        mode: Mode,
        report: &mut Report,
    ) -> Result<Entry, Error> {
        let (Some(check), Entry::Granted(ticket)) = (&self.plan.check, &entry) else {
            return Ok(entry);
        };
        if !ticket.is_probe() {
            return Ok(entry);
        }
        let Entry::Granted(mut ticket) = entry else {
            return Ok(entry);
        };
        let script = ["sh".into(), "-c".into(), check.script.clone()];
        let inherit = inherited([ticket.place.as_ref(), slot])?;
        // Both streams are the command's: a check may not eat its input, nor write into its output.
        let nothing = File::open("/dev/null")
            .map_err(|source| Error::System { doing: "open /dev/null".to_owned(), source })?;
        let stderr = io::stderr();
        let streams = Streams {
            stdin: Some(nothing.as_fd()),
            stdout: Some(self.capture.map_or(stderr.as_fd(), AsFd::as_fd)),
            stderr: self.capture.map(AsFd::as_fd),
        };
        let finished =
            supervised(&script, &check.limits, &[], streams, &inherit, &mut |pid| ticket.note_command(pid))?;
        let verdict = match finished.ending {
            Ending::Exited(0) => Verdict::Success,
            Ending::Interrupted(_) => Verdict::Ignored,
            _ => Verdict::Failure,
        };
        report.checked(&ticket);
        let recorded = self.guard.record(ticket, &finished, verdict, Task::Check);
        report.recorded(recorded.as_ref());
        if verdict == Verdict::Ignored {
            return Ok(Entry::Stopped(exit::of(&finished.ending, self.plan.on_timeout)));
        }
        self.guard.after_check(recorded.as_ref(), mode)
    }

    /// Runs the command under its permit, if it has one, and records how it ended.
    fn launch(
        &self,
        mut ticket: Option<Ticket>,
        mut slot: Option<&mut OccupancyLock>,
        attempt: u32,
        report: &mut Report,
    ) -> Result<(Finished, Verdict, Option<Recorded>), Error> {
        let number = [("BRK_ATTEMPT".into(), attempt.to_string().into())];
        let variables: &[_] = if self.plan.retry.times > 0 { &number } else { &[] };
        let output = self.capture.map(AsFd::as_fd);
        let streams = Streams { stdin: None, stdout: output, stderr: output };
        let inherit = inherited([ticket.as_ref().and_then(|ticket| ticket.place.as_ref()), slot.as_deref()]);
        let mut note = |pid| {
            if let Some(ticket) = &mut ticket {
                ticket.note_command(pid);
            }
            if let Some(slot) = &mut slot {
                slot.note_command(pid);
            }
        };
        let run = inherit.and_then(|inherit| {
            supervised(self.command, &self.plan.limits, variables, streams, &inherit, &mut note)
        });
        let finished = match run {
            Err(error)
                if error.is_short_of_files()
                    && attempt == 1
                    && self.plan.on_state_error == OnStateError::Run =>
            {
                self.replace(&error, variables)?
            }
            run => run?,
        };
        // Refused by a breaker of its own: that says nothing about what this one watches.
        let refused_inside = finished.last_name.as_deref() == REFUSED_NAME.to_str().ok();
        let verdict =
            if refused_inside { Verdict::Ignored } else { self.plan.rules.classify(&finished.ending) };
        report.launched(ticket.as_ref(), &finished, verdict);
        let recorded = ticket.and_then(|ticket| self.guard.record(ticket, &finished, verdict, Task::Command));
        report.recorded(recorded.as_ref());
        Ok((finished, verdict, recorded))
    }

    /// The command in the place of `brk`, where there are too few descriptors to stand beside it. Nobody is left who
    /// could give a place back when it ends, so it gets none.
    fn replace(&self, error: &Error, variables: &[(OsString, OsString)]) -> Result<Finished, Error> {
        self.guard.warn(&format!(
            "{error}; brk gives its own place to the command, which runs unguarded: no time limit, no record, no report"
        ));
        let task = supervise::Task {
            argv: self.command,
            variables,
            stdin: None,
            stdout: None,
            stderr: None,
            inherit: &[],
        };
        let finished = supervise::replace(&task)?;
        tell_trouble(&finished, &self.command[0]);
        Ok(finished)
    }

    /// Between two attempts: nothing of the last one may live on, and a signal ends `brk` at once.
    fn pause(&self, finished: &Finished, attempt: u32) {
        let left = finished.kill_leftovers();
        if !left.is_empty() {
            say(&format!("warning: could not end processes {left:?} of attempt {attempt}"));
        }
        supervise::release_signals();
        let retry = &self.plan.retry;
        let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
        let longest = retry.delay.times(retry.backoff.powi(exponent)).min(retry.max_delay);
        std::thread::sleep(Duration::from(longest.times(self.context.env.random())));
    }
}

/// What a task has for its streams; `None`: as `brk` got it.
struct Streams<'a> {
    stdin: Option<BorrowedFd<'a>>,
    stdout: Option<BorrowedFd<'a>>,
    stderr: Option<BorrowedFd<'a>>,
}

fn supervised(
    argv: &[OsString],
    limits: &Limits,
    variables: &[(OsString, OsString)],
    streams: Streams,
    inherit: &[OwnedFd],
    started: &mut dyn FnMut(u32),
) -> Result<Finished, Error> {
    let inherit: Vec<_> = inherit.iter().map(AsFd::as_fd).collect();
    let Streams { stdin, stdout, stderr } = streams;
    let task = supervise::Task { argv, variables, stdin, stdout, stderr, inherit: &inherit };
    let finished = supervise::run(&task, limits, started)?;
    tell_trouble(&finished, &argv[0]);
    Ok(finished)
}

/// Says what of a command could not be started, or not be ended.
fn tell_trouble(finished: &Finished, word: &OsString) {
    if let Some(error) = &finished.not_started {
        let is_path = word.as_encoded_bytes().contains(&b'/');
        match error.kind() {
            std::io::ErrorKind::NotFound if !is_path => say(&format!("{word:?}: not found in PATH")),
            _ => say(&format!("{word:?}: cannot be executed: {error}")),
        }
    }
    if !finished.unkilled.is_empty() {
        say(&format!("warning: could not end processes {:?}", finished.unkilled));
    }
}

/// Descriptors of these places for the command, so that the places themselves stay free to be written to.
fn inherited(places: [Option<&OccupancyLock>; 2]) -> Result<Vec<OwnedFd>, Error> {
    let clone = |place: &OccupancyLock| crate::store::place::duplicate(place);
    let cloned: Result<Vec<_>, _> = places.into_iter().flatten().map(clone).collect();
    cloned.map_err(|source| Error::System { doing: "hand a lock on to the command".to_owned(), source })
}
