//! Starting the processes of a run: the command, the health check of a probe, and the pause between two attempts.
//! Not here: whether anything may start, and what its ending means.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use super::super::Context;
use crate::error::Error;
use crate::name::Name;
use crate::output::{Held, say};
use crate::plan::{Check, Plan, Quiet, Tell};
use crate::render::words;
use crate::settings::value::OnStateError;
use crate::store::ActivePermit;
use crate::store::file::FileStore;
use crate::store::file::tell::TellFile;
use crate::store::place::OccupancyLock;
use crate::supervise::{self, Finished, Limits};
use crate::tell::{self, Statement};

pub struct Launcher<'a> {
    pub name: &'a Name,
    pub plan: &'a Plan,
    pub command: &'a [OsString],
    pub held: Option<&'a Held>,
    pub context: &'a Context<'a>,
    /// For the files of `--tell`; `None`: there is no state directory.
    pub files: Option<&'a FileStore>,
}

/// A process that ended, and what it said.
pub type Said = (Finished, Statement);

impl Launcher<'_> {
    /// Runs the health check of a probe and waits for its end.
    pub fn run_health_check(
        &self,
        check: &Check,
        permit: &mut ActivePermit,
        slot: Option<&OccupancyLock>,
    ) -> Result<Said, Error> {
        let script = ["sh".into(), "-c".into(), check.script.clone()];
        let inherit = inherited([permit.place.as_ref(), slot])?;
        // Both streams are the command's: a check may not eat its input, nor write into its output.
        let nothing = File::open("/dev/null")
            .map_err(|source| Error::System { doing: "open /dev/null".to_owned(), source })?;
        let stderr = io::stderr();
        let streams = Streams {
            stdin: Some(nothing.as_fd()),
            stdout: Some(self.held.map_or(stderr.as_fd(), Held::stderr)),
            stderr: self.held.map(Held::stderr),
        };
        let tell = self.tell_file();
        let variables: Vec<_> = tell.as_ref().map(variable).into_iter().collect();
        let mut note = |pid| permit.note_command(pid);
        let finished = self.supervised(&script, &check.limits, &variables, streams, &inherit, &mut note)?;
        Ok((finished, self.statement(tell)))
    }

    /// Runs the command and waits for its end.
    pub fn run_command(
        &self,
        mut permit: Option<&mut ActivePermit>,
        mut slot: Option<&mut OccupancyLock>,
        attempt: u32,
    ) -> Result<Said, Error> {
        let number = [("BRK_ATTEMPT".into(), attempt.to_string().into())];
        let number = number.into_iter().filter(|_| self.plan.retry.times > 0);
        let tell = self.tell_file();
        let variables: Vec<_> = number.chain(tell.as_ref().map(variable)).collect();
        let stdout = self.held.and_then(Held::stdout);
        let streams = Streams { stdin: None, stdout, stderr: self.held.map(Held::stderr) };
        let inherit = inherited([permit.as_ref().and_then(|permit| permit.place.as_ref()), slot.as_deref()]);
        let mut note = |pid| {
            if let Some(permit) = &mut permit {
                permit.note_command(pid);
            }
            if let Some(slot) = &mut slot {
                slot.note_command(pid);
            }
        };
        let run = inherit.and_then(|inherit| {
            self.supervised(self.command, &self.plan.limits, &variables, streams, &inherit, &mut note)
        });
        let finished = match run {
            Err(error)
                if error.is_short_of_files()
                    && attempt == 1
                    && self.plan.on_state_error == OnStateError::Run =>
            {
                self.replace(&error, &variables)
            }
            run => run,
        };
        Ok((finished?, self.statement(tell)))
    }

    /// A file in which one process says what its run means, if it may. `/dev/null` takes its place if none can be made.
    fn tell_file(&self) -> Option<Option<TellFile>> {
        match self.plan.tell {
            Tell::No => None,
            Tell::UpTo(_) => Some(self.files.and_then(|files| files.tell_file(self.name).ok())),
        }
    }

    /// What was said. What cannot be understood is a warning.
    fn statement(&self, tell: Option<Option<TellFile>>) -> Statement {
        let Some(file) = tell.flatten() else { return Statement::default() };
        let now = (self.context.env.platform.clocks)().wall;
        let statement = match file.read(tell::MOST_HEADERS) {
            Ok(None) => Statement::default(),
            Ok(Some(bytes)) => Statement::parse(&bytes, now),
            Err(why) => Statement::unreadable(why),
        };
        for warning in &statement.warnings {
            say(&format!("{}: warning: what the command said in BRK_TELL: {warning}", self.name));
        }
        statement
    }

    /// The command in the place of `brk`, if there are too few descriptors to run it beside `brk`. Nobody is left who
    /// could give a place back when it ends, so it gets none.
    fn replace(&self, error: &Error, variables: &[(OsString, OsString)]) -> Result<Finished, Error> {
        say(&format!(
            "{}: warning: {error}; out of file descriptors: exec'ing the command directly; no timeout, record or report",
            self.name
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
        self.report_trouble(&finished, &self.command[0]);
        Ok(finished)
    }

    /// Between two attempts: nothing of the last one may live on, and a signal ends `brk` at once.
    pub fn pause(&self, finished: Finished, attempt: u32) {
        let left = finished.kill_leftovers();
        if !left.is_empty() {
            self.say(&format!("warning: could not end processes {left:?} of attempt {attempt}"));
        }
        drop(finished.signals);
        let retry = &self.plan.retry;
        let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
        let longest = retry.delay.times(retry.backoff.powi(exponent)).min(retry.max_delay);
        let delay = longest.times(1.0 - retry.jitter.share() * self.context.env.random());
        if self.plan.refusal.quiet == Quiet::No {
            self.say(&format!(
                "{}: {}; attempt {} of {} in {}",
                self.name,
                words::ending(&finished.ending),
                attempt + 1,
                u64::from(retry.times) + 1,
                words::wait(delay)
            ));
        }
        std::thread::sleep(Duration::from(delay));
    }

    /// A line among the command's output, which is shown only if that is.
    fn say(&self, text: &str) {
        self.held.map_or_else(|| say(text), |held| held.say(text));
    }

    fn supervised(
        &self,
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
        self.report_trouble(&finished, &argv[0]);
        Ok(finished)
    }

    /// Says what of a command could not be started, or not be ended.
    fn report_trouble(&self, finished: &Finished, word: &OsString) {
        if let Some(error) = &finished.not_started {
            let is_path = word.as_encoded_bytes().contains(&b'/');
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let hint = if is_missing { super::hint::for_missing(word) } else { "" };
            match error.kind() {
                std::io::ErrorKind::NotFound if !is_path => {
                    self.say(&format!("{word:?}: not found in PATH{hint}"));
                }
                _ => self.say(&format!("{word:?}: cannot be executed: {error}{hint}")),
            }
        }
        if !finished.unkilled.is_empty() {
            self.say(&format!("warning: could not end processes {:?}", finished.unkilled));
        }
    }
}

fn variable(file: &Option<TellFile>) -> (OsString, OsString) {
    let path = file.as_ref().map_or_else(|| Path::new("/dev/null"), TellFile::path);
    ("BRK_TELL".into(), path.into())
}

/// What a task has for its streams; `None`: as `brk` got it.
struct Streams<'a> {
    stdin: Option<BorrowedFd<'a>>,
    stdout: Option<BorrowedFd<'a>>,
    stderr: Option<BorrowedFd<'a>>,
}

/// Descriptors of these places for the command, so that the places themselves stay free to be written to.
fn inherited(places: [Option<&OccupancyLock>; 2]) -> Result<Vec<OwnedFd>, Error> {
    let clone = |place: &OccupancyLock| crate::store::place::duplicate(place);
    let cloned: Result<Vec<_>, _> = places.into_iter().flatten().map(clone).collect();
    cloned.map_err(|source| Error::System { doing: "hand a lock on to the command".to_owned(), source })
}
