//! What to do about each thing that happens while a command is supervised: pass it on, end the command, kill what is
//! left, give up. A pure function of what happened so far.
//!
//! Not here: clocks (whoever carries the actions out starts the timers and reports that they struck), and how a
//! process is found or signalled (`unix`, `tree`).

use std::time::Duration;

use crate::breaker::outcome::{Ending, Status};

/// How long a command may take, and how it is ended.
#[derive(Clone, Debug)]
pub struct Limits {
    /// None: as long as it wants.
    pub timeout: Option<Duration>,
    /// What a command is ended with, first.
    pub signal: i32,
    /// From that signal to KILL; zero: at once.
    pub kill_after: Duration,
    pub escalate_on_signal: Escalate,
    pub leftovers: Leftovers,
}

/// Whether a signal from another process, which asks `brk` to end, starts the clock of `kill_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escalate {
    Never,
    AfterKillAfter,
}

/// What becomes of background children when the command itself has ended normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    Leave,
    End,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The command's own process ended.
    Ended(Status),
    /// The command's own process was stopped, and only a stop of `brk` lets the shell above notice.
    Stopped(i32),
    /// Another process below `brk` ended.
    OrphanEnded,
    Signal {
        signal: i32,
        sender: Sender,
        reached: Reached,
    },
    TimeIsUp,
    GraceIsOver,
    PatienceIsOver,
    /// Answers `End`, `Kill` and `Look`: how many processes are alive below the command, itself included, and how
    /// many of them may not be signalled.
    Seen {
        alive: usize,
        out_of_reach: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Process,
    /// A key, a hangup, a background read: sent by the kernel to all of a terminal's foreground or background group.
    Terminal,
}

/// Who has got a signal without help of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    Brk,
    CommandToo,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// This signal, once, to the command and its own group.
    Pass(i32),
    /// This signal, then CONT, to the command and all its descendants. Answered by `Seen`.
    End(i32),
    /// KILL to all that is left. Answered by `Seen`.
    Kill,
    /// Nothing to anybody. Answered by `Seen`.
    Look,
    /// Report `GraceIsOver` after so long.
    StartGrace(Duration),
    /// Report `PatienceIsOver` after so long.
    StartPatience(Duration),
    /// Stop `brk` itself by this signal's default action.
    Stop(i32),
    Finish(Ending),
}

/// How long what was killed may take to be gone. A process in the middle of a device's or a network file system's
/// work dies when that is done, which may be never.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A process that forks and dies between two looks at the same directory of processes is seen by neither half of
/// one look, but by the next look.
pub const EMPTY_LOOKS: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Told to end; the clock of `kill_after` runs.
    Ending,
    Killing,
}

#[derive(Debug)]
pub struct Escalation {
    limits: Limits,
    phase: Phase,
    status: Option<Status>,
    timed_out: bool,
    told_to_stop: bool,
    hung_up: bool,
    /// KILL was sent while the command lived.
    killed: bool,
    empty_looks: u8,
}

impl Escalation {
    pub fn new(limits: &Limits) -> Escalation {
        Escalation {
            limits: limits.clone(),
            phase: Phase::Running,
            status: None,
            timed_out: false,
            told_to_stop: false,
            hung_up: false,
            killed: false,
            empty_looks: 0,
        }
    }

    /// What to do about an event, in this order.
    pub fn on(&mut self, event: Event) -> Vec<Action> {
        match event {
            Event::Ended(status) => self.ended(status),
            Event::OrphanEnded => self.look_again(),
            Event::Signal { signal, sender, reached } => self.signal(signal, sender, reached),
            // STOP would also stop a `brk` that nobody can continue; TSTP does not.
            Event::Stopped(libc::SIGSTOP) => vec![Action::Stop(libc::SIGTSTP)],
            Event::Stopped(signal) => vec![Action::Stop(signal)],
            Event::TimeIsUp => self.time_is_up(),
            Event::GraceIsOver if self.phase == Phase::Ending => self.kill(),
            Event::PatienceIsOver if self.phase == Phase::Killing => vec![self.finish()],
            Event::GraceIsOver | Event::PatienceIsOver => Vec::new(),
            Event::Seen { alive, out_of_reach } => self.seen(alive, out_of_reach),
        }
    }

    fn ended(&mut self, status: Status) -> Vec<Action> {
        self.status = Some(status);
        match (self.phase, self.limits.leftovers) {
            (Phase::Running, Leftovers::Leave) => vec![self.finish()],
            (Phase::Running, Leftovers::End) => self.end(),
            (Phase::Ending | Phase::Killing, _) => self.look_again(),
        }
    }

    fn look_again(&self) -> Vec<Action> {
        match self.phase {
            Phase::Ending if self.status.is_some() => vec![Action::Look],
            Phase::Killing => vec![Action::Kill],
            Phase::Running | Phase::Ending => Vec::new(),
        }
    }

    fn signal(&mut self, signal: i32, sender: Sender, reached: Reached) -> Vec<Action> {
        if self.status.is_none() {
            self.told_to_stop |= matches!(signal, libc::SIGINT | libc::SIGQUIT | libc::SIGTERM);
            self.hung_up |= signal == libc::SIGHUP;
        }
        let mut actions = Vec::new();
        if reached == Reached::Brk {
            actions.push(Action::Pass(signal));
        }
        if matches!(signal, libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
            actions.push(Action::Stop(signal));
        }
        let asks_to_end = matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM);
        let starts_clock =
            sender == Sender::Process && self.limits.escalate_on_signal == Escalate::AfterKillAfter;
        if asks_to_end && starts_clock && self.phase == Phase::Running {
            actions.extend(self.start_clock());
        }
        actions
    }

    fn time_is_up(&mut self) -> Vec<Action> {
        if self.status.is_some() {
            return Vec::new();
        }
        self.timed_out = true;
        match self.phase {
            Phase::Running => self.end(),
            Phase::Ending => vec![Action::End(self.limits.signal)],
            Phase::Killing => Vec::new(),
        }
    }

    fn end(&mut self) -> Vec<Action> {
        if self.limits.signal == libc::SIGKILL {
            return self.kill();
        }
        let mut actions = vec![Action::End(self.limits.signal)];
        actions.extend(self.start_clock());
        actions
    }

    fn start_clock(&mut self) -> Vec<Action> {
        if self.limits.kill_after.is_zero() {
            return self.kill();
        }
        self.phase = Phase::Ending;
        vec![Action::StartGrace(self.limits.kill_after)]
    }

    fn kill(&mut self) -> Vec<Action> {
        self.phase = Phase::Killing;
        self.killed = self.status.is_none();
        self.empty_looks = 0;
        vec![Action::StartPatience(PATIENCE), Action::Kill]
    }

    fn seen(&mut self, alive: usize, out_of_reach: usize) -> Vec<Action> {
        self.empty_looks = if alive == 0 { self.empty_looks.saturating_add(1) } else { 0 };
        let nobody = alive == 0 && self.status.is_some();
        match self.phase {
            Phase::Running => Vec::new(),
            Phase::Ending | Phase::Killing if nobody && self.empty_looks >= EMPTY_LOOKS => {
                vec![self.finish()]
            }
            Phase::Ending | Phase::Killing if nobody => self.look_again(),
            Phase::Killing if alive > 0 && alive == out_of_reach => vec![self.finish()],
            Phase::Ending | Phase::Killing => Vec::new(),
        }
    }

    fn finish(&self) -> Action {
        let ending = match self.status {
            status if self.timed_out => Ending::TimedOut(status),
            // Given up on: only a signal can have started the clock.
            None => Ending::Interrupted(None),
            Some(Status::Exited(0)) => Ending::Exited(0),
            status if self.told_to_stop => Ending::Interrupted(status),
            status @ Some(Status::Signaled(libc::SIGHUP)) if self.hung_up => Ending::Interrupted(status),
            status @ Some(Status::Signaled(libc::SIGKILL)) if self.hung_up && self.killed => {
                Ending::Interrupted(status)
            }
            Some(status) => status.into(),
        };
        Action::Finish(ending)
    }
}

#[cfg(test)]
mod tests;
