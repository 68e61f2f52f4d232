//! Starts a command, waits for it, passes signals on, ends it when its time is up, and says how it ended. Stands
//! between whoever called `brk` and the command, and changes nothing that either can see.
//!
//! The only place with async: one thread waits for signals and deadlines, and uses no processor meanwhile. What to do
//! about each is decided in `escalate`.
//!
//! Not here: what an ending means (`breaker::outcome`), retries, and the store.

mod error;
mod escalate;
mod plan;
mod tree;
mod unix;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use crate::breaker::outcome::{Ending, Status, Unstartable};
use escalate::{Action, Escalation, Event, Reached, Sender};
use plan::{Group, Plan};
use tree::{Member, Tree};
use unix::{Born, Caught, Pid, Refusal, Source};

pub use error::{SuperviseError, is_short_of_files};
pub use escalate::{Escalate, Leftovers, Limits};
pub(crate) use unix::entry;
pub use unix::{begin, die_of, quiet_thread, release_signals};

/// What to start.
pub struct Task<'a> {
    /// Never empty. The first word is looked up in PATH, as a shell does.
    pub argv: &'a [OsString],
    /// Added to, or replaced in, the command's environment. None: the environment is passed on byte for byte.
    pub variables: &'a [(OsString, OsString)],
    /// None: as it was given to `brk`, also where that is closed.
    pub stdin: Option<BorrowedFd<'a>>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
    /// What the command's processes hold open, under the same numbers.
    pub inherit: &'a [BorrowedFd<'a>],
}

/// How it went.
#[derive(Debug)]
pub struct Finished {
    pub ending: Ending,
    /// From the start to the command's end, without the time for which `brk` was stopped.
    pub duration: Duration,
    /// What could not be ended.
    pub unkilled: Vec<u32>,
    /// Why the command could not be executed, where `ending` says that it was not started.
    pub not_started: Option<io::Error>,
    /// The name that its process had at its end, where that was an exit with another code than 0.
    pub last_name: Option<String>,
    tree: Tree,
}

/// Far enough for a wait that has no end; what is further away overflows inside timers.
const FAR: Duration = Duration::from_secs(365 * 86_400);

/// Where the system does not say that a descendant has ended: how often to look, once the command is being ended.
const LOOK_EVERY: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(50)) };

/// More looks than this are for the next event: whoever forks faster is not caught up with by looking.
const ROUNDS: usize = 16;

/// Starts the command and comes back when it has ended, or was given up. `started` is told its number before it is
/// known whether it can be executed.
///
/// After that, signals are held back until `release_signals`, so that the result can be recorded.
pub fn run(
    task: &Task<'_>,
    limits: &Limits,
    started: &mut dyn FnMut(u32),
) -> Result<Finished, SuperviseError> {
    let group = if unix::has_terminal() { Group::Shared } else { Group::Own };
    let plan = Plan::new(task, group).map_err(SuperviseError::Arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(SuperviseError::Runtime)?;
    let context = runtime.enter();
    let pipe = unix::catch_signals().map_err(SuperviseError::Signals)?;
    drop(context);
    unix::adopt_orphans();
    let mut tree = Tree::new(group);
    let start = Instant::now();
    let command = unix::start(plan).map_err(SuperviseError::Fork)?;
    tree.has_command(command.pid);
    started(command.pid.cast_unsigned());
    let watch = Watch {
        command,
        group,
        tree,
        escalation: Escalation::new(limits),
        deadlines: Deadlines {
            time: limits.timeout.and_then(|timeout| start.checked_add(timeout)),
            ..Deadlines::default()
        },
        start,
        stopped: Duration::ZERO,
        ended: None,
        signals: VecDeque::new(),
        left: Vec::new(),
    };
    Ok(runtime.block_on(watch.run(&pipe)))
}

/// Becomes the command, in the place of `brk` and without any of its care, with the streams that `brk` has. Comes back
/// only where the command cannot be executed.
pub fn replace(task: &Task<'_>) -> Result<Finished, SuperviseError> {
    let plan = Plan::new(task, Group::Shared).map_err(SuperviseError::Arguments)?;
    Ok(Finished::not_started(unix::replace(plan)))
}

/// Absent ones never come.
#[derive(Default)]
struct Deadlines {
    time: Option<Instant>,
    grace: Option<Instant>,
    patience: Option<Instant>,
    look: Option<Instant>,
}

struct Watch {
    command: Born,
    group: Group,
    tree: Tree,
    escalation: Escalation,
    deadlines: Deadlines,
    start: Instant,
    /// For how long `brk` was stopped.
    stopped: Duration,
    /// When the command was seen to have ended, and how.
    ended: Option<(Instant, Status)>,
    /// Caught, and not seen to yet.
    signals: VecDeque<Caught>,
    /// Who was alive at the last look.
    left: Vec<Member>,
}

impl Watch {
    async fn run(mut self, pipe: &AsyncFd<BorrowedFd<'static>>) -> Finished {
        loop {
            wait(pipe, self.deadlines.next()).await;
            // Signals before the command's end, its end before deadlines: what was first is seen to first.
            self.signals.extend(unix::caught_signals());
            while let Some(caught) = self.signals.pop_front() {
                if let Some(ending) = self.signal(caught) {
                    self.signals.drain(..).for_each(unix::put_back);
                    return self.finished(ending);
                }
            }
            let struck = self.deadlines.strike(Instant::now());
            for event in struck {
                if let Some(ending) = self.see_to(event) {
                    return self.finished(ending);
                }
            }
        }
    }

    /// Sees to a caught signal. Some: the run is over.
    fn signal(&mut self, caught: Caught) -> Option<Ending> {
        let Caught { signal, source } = caught;
        if signal == libc::SIGCHLD {
            return self.children();
        }
        if source == Source::Oneself {
            return None;
        }
        let shares_group = unix::shares_group(self.command.pid);
        let is_terminals = matches!(
            signal,
            libc::SIGHUP
                | libc::SIGINT
                | libc::SIGQUIT
                | libc::SIGCONT
                | libc::SIGTSTP
                | libc::SIGTTIN
                | libc::SIGTTOU
                | libc::SIGWINCH
        );
        let sender =
            if source == Source::Kernel && is_terminals { Sender::Terminal } else { Sender::Process };
        // A hangup tells the leader of the session, and nobody else.
        let leader_alone = matches!(signal, libc::SIGHUP | libc::SIGCONT) && unix::leads_session();
        let reached = match sender {
            Sender::Terminal if source == Source::Kernel && shares_group && !leader_alone => {
                Reached::CommandToo
            }
            // A shell continues all of a job at once.
            Sender::Process if signal == libc::SIGCONT && shares_group && self.is_continued() => {
                Reached::CommandToo
            }
            Sender::Process | Sender::Terminal => Reached::Brk,
        };
        self.see_to(Event::Signal { signal, sender, reached })
    }

    /// Whether the command was continued as `brk` was; it may have been stopped again since, by a key that we have
    /// not seen to yet.
    fn is_continued(&mut self) -> bool {
        let is_stopped = tree::is_stopped(self.command.pid);
        self.signals.extend(unix::caught_signals());
        let stops = |caught: &Caught| matches!(caught.signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
        !is_stopped || self.signals.iter().any(stops)
    }

    /// Looks at what children have done. Some: the run is over.
    fn children(&mut self) -> Option<Ending> {
        let mut orphan_ended = false;
        while let Some(dead) = unix::ended_child() {
            if dead.pid != self.command.pid {
                unix::reap(dead.pid);
                orphan_ended = true;
            } else if self.ended.is_none() {
                // Not reaped yet: its number, and its group's, must not become another's while we signal.
                self.ended = Some((Instant::now(), dead.status));
                return self.see_to(Event::Ended(dead.status));
            } else {
                orphan_ended = true;
                break;
            }
        }
        if orphan_ended && let Some(ending) = self.see_to(Event::OrphanEnded) {
            return Some(ending);
        }
        if self.ended.is_none()
            && self.group == Group::Shared
            && unix::has_shell_above()
            && let Some(signal) = unix::stopped(self.command.pid)
        {
            return self.see_to(Event::Stopped(signal));
        }
        None
    }

    /// Carries out what is to be done about an event. Some: the run is over.
    fn see_to(&mut self, event: Event) -> Option<Ending> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            for action in self.escalation.on(event) {
                match action {
                    Action::Pass(signal) => self.pass(signal),
                    Action::End(signal) => events.push_back(self.end(signal)),
                    Action::Kill => events.push_back(self.kill()),
                    Action::Look => {
                        self.left = self.tree.members();
                        events.push_back(Event::Seen { alive: self.left.len(), out_of_reach: 0 });
                    }
                    Action::StartGrace(time) => self.deadlines.grace = Instant::now().checked_add(time),
                    Action::StartPatience(time) => self.deadlines.patience = Instant::now().checked_add(time),
                    Action::Stop(signal) => self.stop(signal),
                    Action::Finish(ending) => return Some(ending),
                }
            }
            self.deadlines.look = self.ended.and(LOOK_EVERY).map(|pause| Instant::now() + pause);
        }
        None
    }

    /// To the command and, where that leads one, its group. Errors say that nobody is there, or may not be signalled;
    /// neither is for us to mend.
    fn pass(&self, signal: i32) {
        let command = self.command.pid;
        match self.group {
            Group::Own if unix::group_of(command) == command => drop(unix::send_to_group(command, signal)),
            Group::Own => {
                drop(unix::send(command, signal));
                drop(unix::send_to_group(command, signal));
            }
            Group::Shared => drop(unix::send(command, signal)),
        }
    }

    /// Everybody gets the signal once, and CONT behind it, which also wakes the stopped.
    fn end(&mut self, signal: i32) -> Event {
        let command = self.command.pid;
        let group_told = self.group == Group::Own && unix::send_to_group(command, signal).is_ok();
        if group_told {
            drop(unix::send_to_group(command, libc::SIGCONT));
        } else {
            drop(unix::send(command, signal));
            drop(unix::send(command, libc::SIGCONT));
        }
        let mut told: Vec<Pid> = if group_told { Vec::new() } else { vec![command] };
        for _ in 0..ROUNDS {
            self.left = self.tree.members();
            let is_new =
                |member: &&Member| !told.contains(&member.pid) && (!group_told || member.group != command);
            let new: Vec<Member> = self.left.iter().filter(is_new).copied().collect();
            if new.is_empty() {
                break;
            }
            for member in new {
                drop(self.tree.send(&member, signal));
                drop(self.tree.send(&member, libc::SIGCONT));
                told.push(member.pid);
            }
        }
        Event::Seen { alive: self.left.len(), out_of_reach: 0 }
    }

    fn kill(&mut self) -> Event {
        if self.group == Group::Own {
            drop(unix::send_to_group(self.command.pid, libc::SIGKILL));
        }
        self.left = self.tree.members();
        let refuses = |member: &&Member| {
            let sent = self.tree.send(member, libc::SIGKILL);
            sent.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
        };
        let out_of_reach = self.left.iter().filter(refuses).count();
        Event::Seen { alive: self.left.len(), out_of_reach }
    }

    /// Stops `brk`. The time until it is continued counts for nothing.
    fn stop(&mut self, signal: i32) {
        self.signals.extend(unix::caught_signals());
        if self.signals.iter().any(|later| later.signal == libc::SIGCONT) {
            // Continued before it was stopped.
            return;
        }
        let before = Instant::now();
        unix::stop(signal);
        let time = before.elapsed();
        self.stopped += time;
        self.deadlines.shift(time);
        // The command was stopped meanwhile, and is continued as we are: that is no news.
        unix::stopped(self.command.pid);
    }

    fn finished(mut self, ending: Ending) -> Finished {
        let end = self.ended.map_or_else(Instant::now, |(end, _)| end);
        let duration = end.duration_since(self.start).saturating_sub(self.stopped);
        let failed = matches!(self.ended, Some((_, Status::Exited(1..))));
        let last_name = failed.then(|| tree::name(self.command.pid)).flatten();
        unix::reap(self.command.pid);
        let refusal = self.command.refusal();
        let ending = refusal.map_or(ending, not_started);
        let left = std::mem::take(&mut self.left);
        Finished {
            ending,
            duration,
            unkilled: left.into_iter().map(|member| member.pid.cast_unsigned()).collect(),
            not_started: refusal.map(|refusal| io::Error::from_raw_os_error(refusal.errno)),
            last_name,
            tree: self.tree,
        }
    }
}

fn not_started(refusal: Refusal) -> Ending {
    Ending::NotStarted(if refusal.found { Unstartable::NotExecutable } else { Unstartable::NotFound })
}

impl Finished {
    fn not_started(refusal: Refusal) -> Finished {
        Finished {
            ending: not_started(refusal),
            duration: Duration::ZERO,
            unkilled: Vec::new(),
            not_started: Some(io::Error::from_raw_os_error(refusal.errno)),
            last_name: None,
            tree: Tree::default(),
        }
    }

    /// Kills what the command has left running, and waits until it is gone. Gives what could not be ended.
    pub fn kill_leftovers(&self) -> Vec<u32> {
        let start = Instant::now();
        let mut empty_looks = 0;
        loop {
            let left = self.tree.members();
            empty_looks = if left.is_empty() { empty_looks + 1 } else { 0 };
            if empty_looks == escalate::EMPTY_LOOKS || start.elapsed() > escalate::PATIENCE {
                return left.iter().map(|member| member.pid.cast_unsigned()).collect();
            }
            // Errors say that it has just ended, or is another user's; the next look tells.
            left.iter().for_each(|member| drop(self.tree.send(member, libc::SIGKILL)));
            if !left.is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Deadlines {
    fn next(&self) -> Option<Instant> {
        [self.time, self.grace, self.patience, self.look].into_iter().flatten().min()
    }

    /// Those that have come, each once, in the order that they stand for.
    fn strike(&mut self, now: Instant) -> Vec<Event> {
        let all = [
            (&mut self.time, Event::TimeIsUp),
            (&mut self.grace, Event::GraceIsOver),
            (&mut self.patience, Event::PatienceIsOver),
            (&mut self.look, Event::OrphanEnded),
        ];
        let has_come = |deadline: &mut Instant| *deadline <= now;
        all.into_iter().filter_map(|(deadline, event)| deadline.take_if(has_come).map(|_| event)).collect()
    }

    fn shift(&mut self, time: Duration) {
        for deadline in [&mut self.time, &mut self.grace, &mut self.patience] {
            *deadline = deadline.and_then(|deadline| deadline.checked_add(time));
        }
    }
}

/// Comes back when a signal came or the deadline has passed, or a year has.
async fn wait(pipe: &AsyncFd<BorrowedFd<'static>>, deadline: Option<Instant>) {
    let now = Instant::now();
    let far = now + FAR;
    let deadline = deadline.map_or(far, |deadline| deadline.min(far));
    if let Ok(Ok(mut guard)) = tokio::time::timeout_at(deadline, pipe.readable()).await {
        guard.clear_ready();
    }
}
