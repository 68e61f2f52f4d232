//! The loop that watches over a command: it waits for signals and deadlines, asks `escalate` what to do about each, and
//! does it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::deadlines::{Deadlines, wait};
use super::escalate::{Action, Escalation, Event, Limits, Reached, Sender};
use super::finished::{Finished, not_started};
use super::plan::Group;
use super::tree::{self, Member, Tree};
use super::unix::{self, Caught, Child, Pid, Source};
use crate::breaker::outcome::{Ending, Status};

/// Where the system does not say that a descendant has ended: how often to look, once the command is being ended.
const LOOK_EVERY: Option<Duration> =
    if cfg!(target_os = "linux") { None } else { Some(Duration::from_millis(50)) };

/// More looks than this are for the next event: whoever forks faster is not caught up with by looking.
const ROUNDS: usize = 16;

pub struct Watch<'a> {
    command: Child<'a>,
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

impl<'a> Watch<'a> {
    /// `start` is when the command was started, from which its time counts.
    pub fn new(command: Child<'a>, group: Group, tree: Tree, limits: &Limits, start: Instant) -> Watch<'a> {
        let time = limits.timeout.and_then(|timeout| start.checked_add(timeout));
        Watch {
            command,
            group,
            tree,
            escalation: Escalation::new(limits),
            deadlines: Deadlines { time, ..Deadlines::default() },
            start,
            stopped: Duration::ZERO,
            ended: None,
            signals: VecDeque::new(),
            left: Vec::new(),
        }
    }

    /// Comes back when the command has ended, or was given up.
    pub async fn run(mut self, pipe: &AsyncFd<BorrowedFd<'static>>) -> Finished {
        loop {
            wait(pipe, self.deadlines.next()).await;
            // Signals before the command's end, its end before deadlines: what was first is seen to first.
            self.signals.extend(unix::caught_signals());
            while let Some(caught) = self.signals.pop_front() {
                if let Some(ending) = self.signal(caught) {
                    self.signals.drain(..).for_each(unix::requeue);
                    return self.finished(ending);
                }
            }
            let struck = self.deadlines.take_expired(Instant::now());
            for event in struck {
                if let Some(ending) = self.handle(event) {
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
        if source == Source::Own {
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
        self.handle(Event::Signal { signal, sender, reached })
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
                return self.handle(Event::Ended(dead.status));
            } else {
                orphan_ended = true;
                break;
            }
        }
        if orphan_ended && let Some(ending) = self.handle(Event::OrphanEnded) {
            return Some(ending);
        }
        if self.ended.is_none()
            && self.group == Group::Shared
            && unix::has_shell_above()
            && let Some(signal) = unix::stopped(self.command.pid)
        {
            return self.handle(Event::Stopped(signal));
        }
        None
    }

    /// Carries out what is to be done about an event. Some: the run is over.
    fn handle(&mut self, event: Event) -> Option<Ending> {
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
            signals: None,
            tree: self.tree,
        }
    }
}
