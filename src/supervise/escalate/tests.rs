//! Each row: what happened, and what is to be done about it.

use super::*;
use Action::*;

const GRACE: Duration = Duration::from_secs(5);
const TERM: i32 = libc::SIGTERM;
const EXITED: fn(u8) -> Event = |code| Event::Ended(Status::Exited(code));
const DIED: fn(i32) -> Event = |signal| Event::Ended(Status::Signaled(signal));
const SEEN: fn(usize) -> Event = |alive| Event::Seen { alive, out_of_reach: 0 };

type Step<'a> = (Event, &'a [Action]);

/// Sent by another process, to `brk` alone.
const SENT: fn(i32) -> Event =
    |signal| Event::Signal { signal, sender: Sender::Process, reached: Reached::Brk };
/// A key on the terminal that both share.
const KEY: fn(i32) -> Event =
    |signal| Event::Signal { signal, sender: Sender::Terminal, reached: Reached::CommandToo };

fn limits() -> Limits {
    Limits {
        timeout: None,
        signal: TERM,
        kill_after: GRACE,
        escalate_on_signal: Escalate::Never,
        leftovers: Leftovers::Leave,
    }
}

/// The events, one after the other, are answered by these actions.
#[track_caller]
fn check(limits: &Limits, story: &[Step<'_>]) {
    let mut escalation = Escalation::new(limits);
    for (step, (event, expected)) in story.iter().enumerate() {
        let actions = escalation.on(*event);
        assert_eq!(&actions, expected, "step {step}, {event:?}, of {story:?} with {limits:?}");
    }
}

#[test]
fn a_command_that_ends_by_itself() {
    check(&limits(), &[(EXITED(0), &[Finish(Ending::Exited(0))])]);
    check(&limits(), &[(EXITED(7), &[Finish(Ending::Exited(7))])]);
    check(&limits(), &[(DIED(11), &[Finish(Ending::Signaled(11))])]);
    check(&limits(), &[(Event::OrphanEnded, &[]), (EXITED(1), &[Finish(Ending::Exited(1))])]);
}

#[test]
fn time_is_up_and_the_command_obeys() {
    let ending = Ending::TimedOut(Some(Status::Signaled(TERM)));
    check(
        &limits(),
        &[
            (Event::TimeIsUp, &[End(TERM), StartGrace(GRACE)]),
            (SEEN(1), &[]),
            (DIED(TERM), &[Look]),
            (SEEN(0), &[Look]),
            (SEEN(0), &[Finish(ending)]),
        ],
    );
}

#[test]
fn time_is_up_and_a_descendant_stays() {
    let ending = Ending::TimedOut(Some(Status::Exited(0)));
    check(
        &limits(),
        &[
            (Event::TimeIsUp, &[End(TERM), StartGrace(GRACE)]),
            (SEEN(3), &[]),
            (EXITED(0), &[Look]),
            (SEEN(2), &[]),
            (Event::OrphanEnded, &[Look]),
            (SEEN(1), &[]),
            (Event::GraceIsOver, &[StartPatience(PATIENCE), Kill]),
            (SEEN(1), &[]),
            (Event::OrphanEnded, &[Kill]),
            (SEEN(0), &[Kill]),
            (SEEN(1), &[]),
            (Event::OrphanEnded, &[Kill]),
            (SEEN(0), &[Kill]),
            (SEEN(0), &[Finish(ending)]),
        ],
    );
}

#[test]
fn time_is_up_and_nothing_helps() {
    let killed: &[Step<'_>] = &[
        (Event::TimeIsUp, &[End(TERM), StartGrace(GRACE)]),
        (SEEN(1), &[]),
        (Event::GraceIsOver, &[StartPatience(PATIENCE), Kill]),
    ];
    let patience: &[Step<'_>] = &[(SEEN(1), &[]), (Event::PatienceIsOver, &[Finish(Ending::TimedOut(None))])];
    check(&limits(), &[killed, patience].concat());
    let refused: &[Step<'_>] =
        &[(Event::Seen { alive: 2, out_of_reach: 2 }, &[Finish(Ending::TimedOut(None))])];
    check(&limits(), &[killed, refused].concat());
    let partly: &[Step<'_>] = &[
        (Event::Seen { alive: 2, out_of_reach: 1 }, &[]),
        (DIED(9), &[Kill]),
        (Event::Seen { alive: 1, out_of_reach: 1 }, &[Finish(Ending::TimedOut(Some(Status::Signaled(9))))]),
    ];
    check(&limits(), &[killed, partly].concat());
}

#[test]
fn kill_at_once() {
    let ending = Finish(Ending::TimedOut(Some(Status::Signaled(9))));
    let rest: &[Step<'_>] = &[(SEEN(1), &[]), (DIED(9), &[Kill]), (SEEN(0), &[Kill]), (SEEN(0), &[ending])];
    let no_grace = Limits { kill_after: Duration::ZERO, ..limits() };
    let first: &[Step<'_>] =
        &[(Event::TimeIsUp, &[End(TERM), StartPatience(PATIENCE), Kill]), (SEEN(1), &[])];
    check(&no_grace, &[first, rest].concat());
    let by_kill = Limits { signal: libc::SIGKILL, ..limits() };
    let first: &[Step<'_>] = &[(Event::TimeIsUp, &[StartPatience(PATIENCE), Kill])];
    check(&by_kill, &[first, rest].concat());
}

#[test]
fn a_deadline_after_the_end_is_none() {
    let leftovers = Limits { leftovers: Leftovers::End, ..limits() };
    check(
        &leftovers,
        &[
            (EXITED(0), &[End(TERM), StartGrace(GRACE)]),
            (SEEN(1), &[]),
            (Event::TimeIsUp, &[]),
            (SENT(TERM), &[Pass(TERM)]),
            (Event::OrphanEnded, &[Look]),
            (SEEN(0), &[Look]),
            (SEEN(0), &[Finish(Ending::Exited(0))]),
        ],
    );
}

#[test]
fn signals_are_passed_on_once_and_waited_for() {
    for signal in [1, 2, 3, 10, 12, 14, 15, 34, 64] {
        let expected = match signal {
            2 | 3 | 15 => Ending::Interrupted(Some(Status::Exited(1))),
            _ => Ending::Exited(1),
        };
        check(&limits(), &[(SENT(signal), &[Pass(signal)]), (EXITED(1), &[Finish(expected)])]);
        check(&limits(), &[(KEY(signal), &[]), (EXITED(1), &[Finish(expected)])]);
    }
}

#[test]
fn what_counts_as_interrupted() {
    let cases = [
        (TERM, EXITED(0), Ending::Exited(0)),
        (TERM, EXITED(1), Ending::Interrupted(Some(Status::Exited(1)))),
        (TERM, DIED(11), Ending::Interrupted(Some(Status::Signaled(11)))),
        (libc::SIGHUP, EXITED(1), Ending::Exited(1)),
        (libc::SIGHUP, DIED(1), Ending::Interrupted(Some(Status::Signaled(1)))),
        (libc::SIGHUP, DIED(9), Ending::Signaled(9)),
        (libc::SIGUSR1, DIED(10), Ending::Signaled(10)),
    ];
    for (signal, end, ending) in cases {
        check(&limits(), &[(SENT(signal), &[Pass(signal)]), (end, &[Finish(ending)])]);
    }
}

#[test]
fn signals_of_processes_start_the_clock_where_asked_to() {
    let limits = Limits { escalate_on_signal: Escalate::AfterKillAfter, ..limits() };
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, TERM] {
        let killed = Ending::Interrupted(Some(Status::Signaled(9)));
        check(
            &limits,
            &[
                (SENT(signal), &[Pass(signal), StartGrace(GRACE)]),
                (SENT(signal), &[Pass(signal)]),
                (Event::GraceIsOver, &[StartPatience(PATIENCE), Kill]),
                (SEEN(1), &[]),
                (DIED(9), &[Kill]),
                (SEEN(0), &[Kill]),
                (SEEN(0), &[Finish(killed)]),
            ],
        );
        check(&limits, &[(KEY(signal), &[])]);
    }
    check(&limits, &[(SENT(libc::SIGUSR1), &[Pass(libc::SIGUSR1)])]);
    let at_once = Limits { kill_after: Duration::ZERO, ..limits };
    check(&at_once, &[(SENT(TERM), &[Pass(TERM), StartPatience(PATIENCE), Kill])]);
}

#[test]
fn a_timeout_wins_over_a_signal() {
    let limits = Limits { escalate_on_signal: Escalate::AfterKillAfter, ..limits() };
    check(
        &limits,
        &[
            (SENT(TERM), &[Pass(TERM), StartGrace(GRACE)]),
            (Event::TimeIsUp, &[End(TERM)]),
            (SEEN(1), &[]),
            (EXITED(0), &[Look]),
            (SEEN(0), &[Look]),
            (SEEN(0), &[Finish(Ending::TimedOut(Some(Status::Exited(0))))]),
        ],
    );
}

#[test]
fn stopping() {
    let (tstp, cont) = (libc::SIGTSTP, libc::SIGCONT);
    check(&limits(), &[(KEY(tstp), &[Stop(tstp)]), (KEY(cont), &[])]);
    check(&limits(), &[(SENT(tstp), &[Pass(tstp), Stop(tstp)]), (SENT(cont), &[Pass(cont)])]);
    check(&limits(), &[(KEY(libc::SIGTTIN), &[Stop(libc::SIGTTIN)])]);
    check(&limits(), &[(Event::Stopped(libc::SIGTTOU), &[Stop(libc::SIGTTOU)])]);
    check(&limits(), &[(Event::Stopped(libc::SIGSTOP), &[Stop(tstp)])]);
}
