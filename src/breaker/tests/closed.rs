//! Closed: the streak, the window, the two rates, minimum calls, endings that open at once.

use super::*;

#[test]
fn the_streak_opens_at_its_limit() {
    check(
        &policy(|_| {}),
        &[
            ("f f", "c1 c2"),
            ("f f f", "c1 c2 o100"),
            ("f f s f f f", "c1 c2 c0 c1 c2 o100"),
            ("f f i f", "c1 c2 c2 o100"),
            ("i i i i", "c0 c0 c0 c0"),
            ("s f", "c0 c1"),
        ],
    );
    check(&policy(|draft| draft.failures = Some(1)), &[("s f", "c0 o100")]);
    check(&policy(|draft| draft.failures = Some(0)), &[("f f f f f", "c1 c2 c3 c4 c5")]);
}

#[test]
fn a_rate_rule_alone_switches_the_streak_off() {
    let half = |draft: &mut Draft| {
        draft.failure_rate = rate(0.5);
        draft.window = last(10);
        draft.min_calls = number(10);
    };
    check(
        &policy(half),
        &[
            ("f f f f f f f f f", "c1 c2 c3 c4 c5 c6 c7 c8 c9"),
            ("f f f f f f f f f f", "c1 c2 c3 c4 c5 c6 c7 c8 c9 o100"),
            // The tenth run, a success, completes a window that is half failures.
            ("f f f f f s s s s s", "c1 c2 c3 c4 c5 c0 c0 c0 c0 o100"),
            ("f f f f s s s s s s", "c1 c2 c3 c4 c0 c0 c0 c0 c0 c0"),
            // An ignored run is no call.
            ("f f f f f f f f f i", "c1 c2 c3 c4 c5 c6 c7 c8 c9 c9"),
        ],
    );
    let both = |draft: &mut Draft| {
        half(draft);
        draft.failures = Some(5);
    };
    check(&policy(both), &[("f f f f f", "c1 c2 c3 c4 o100")]);
}

#[test]
fn minimum_calls_hold_the_rates_back_and_not_the_streak() {
    let with = |min_calls| {
        policy(|draft| {
            draft.failure_rate = rate(0.1);
            draft.window = last(5);
            draft.min_calls = number(min_calls);
        })
    };
    check(&with(1), &[("f", "o100")]);
    check(&with(3), &[("f f", "c1 c2"), ("f f f", "c1 c2 o100"), ("f s s", "c1 c0 o100")]);
    // By default ten, and never more than the window.
    let small = policy(|draft| {
        draft.failure_rate = rate(1.0);
        draft.window = last(2);
    });
    check(&small, &[("f f", "c1 o100")]);
}

#[test]
fn a_count_window_forgets_the_oldest() {
    let of_four = policy(|draft| {
        draft.failure_rate = rate(0.5);
        draft.window = last(4);
        draft.min_calls = number(4);
    });
    check(
        &of_four,
        &[
            ("f s s s f", "c1 c0 c0 c0 c1"),
            ("f s s s s f f", "c1 c0 c0 c0 c0 c1 o100"),
            ("s s s s s s f s f", "c0 c0 c0 c0 c0 c0 c1 c0 o100"),
        ],
    );
}

#[test]
fn a_time_window_forgets_what_ended_too_long_ago() {
    let of_ten = policy(|draft| {
        draft.failure_rate = rate(1.0);
        draft.window = within(10);
        draft.min_calls = number(2);
    });
    check(
        &of_ten,
        &[
            ("@0 f @10 f", "c1 o110"),
            ("@0 f @11 f", "c1 c2"),
            ("@0 f @11 f @21 f", "c1 c2 o121"),
            ("@0 s @10 f @11 f", "c0 c1 o111"),
            ("@0 s @10 f @10 f", "c0 c1 c2"),
        ],
    );
}

#[test]
fn a_clock_that_runs_backwards_saturates() {
    let of_ten = policy(|draft| {
        draft.failure_rate = rate(1.0);
        draft.window = within(10);
        draft.min_calls = number(2);
    });
    check(&of_ten, &[("@50 f @0 f", "c1 o100"), ("@50 f @0 i @61 f", "c1 c1 c2")]);
    check(&policy(|_| {}), &[("@500 f f f @0 s @599 s @600 s", "c1 c2 o600 no no c0")]);
}

#[test]
fn a_rate_is_reached_and_not_passed() {
    for (share, failures) in [(0.01, 1), (0.3, 3), (0.31, 4), (0.5, 5), (0.999, 10), (1.0, 10)] {
        let policy = policy(|draft| {
            draft.failure_rate = rate(share);
            draft.window = last(10);
            draft.min_calls = number(10);
        });
        for bad in 0..=10 {
            let script = "f ".repeat(bad) + &"s ".repeat(10 - bad);
            let bench = Bench::after(&policy, &script);
            let opened = matches!(bench.breaker.phase, Phase::Open(_));
            assert_eq!(opened, bad >= failures, "{bad} of 10 at {share}");
        }
    }
}

#[test]
fn slow_runs_open_whatever_their_outcome() {
    let slow = policy(|draft| {
        draft.slow_rate = rate(0.5);
        draft.slow_after = Some(Millis(30));
        draft.window = last(4);
        draft.min_calls = number(2);
    });
    check(
        &slow,
        &[
            ("s s s s", "c0 c0 c0 c0"),
            ("s S", "c0 o100"),
            ("S", "c0"),
            ("S s", "c0 o100"),
            ("F s", "c1 o100"),
            // Slow and ignored is still no call.
            ("I I s", "c0 c0 c0"),
            ("f f f f", "c1 c2 c3 c4"),
            ("s s s S s", "c0 c0 c0 c0 c0"),
            ("s s s S S", "c0 c0 c0 c0 o100"),
        ],
    );
    // Without a rate a slow run is marked, and opens nothing.
    let marked = policy(|draft| draft.slow_after = Some(Millis(30)));
    check(&marked, &[("S S S S S S S S S S S", "c0 c0 c0 c0 c0 c0 c0 c0 c0 c0 c0")]);
    let bench = Bench::after(&marked, "s S");
    let slow: Vec<bool> = bench
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Ended { run, .. } => Some(run.slow),
            _ => None,
        })
        .collect();
    assert_eq!(slow, [false, true]);
}

#[test]
fn some_endings_open_at_once() {
    check(&policy(|_| {}), &[("t", "o100"), ("s t", "c0 o100")]);
    check(&policy(|draft| draft.failures = Some(0)), &[("f t", "c1 o100")]);
}

#[test]
fn why_it_opened_is_kept() {
    let why = |policy: &Policy, script: &str| {
        let bench = Bench::after(policy, script);
        bench.breaker.phase.opening().map(|opening| opening.why.clone())
    };
    let exit = Ending::Exited(7);
    assert_eq!(why(&policy(|_| {}), "f f f"), Some(OpenedBy::Streak { failures: 3, last: exit }));
    let ending = Ending::TimedOut(Some(Status::Signaled(15)));
    assert_eq!(why(&policy(|_| {}), "f f t"), Some(OpenedBy::TripOn { last: ending }));
    let rated = policy(|draft| {
        draft.failure_rate = rate(0.5);
        draft.min_calls = number(2);
    });
    assert_eq!(why(&rated, "s f"), Some(OpenedBy::FailureRate { failures: 1, total: 2 }));
    assert_eq!(why(&policy(|_| {}), "f f f @100 f"), Some(OpenedBy::Probe { failures: 1, last: exit }));
    assert_eq!(why(&policy(|_| {}), "trip=5"), Some(OpenedBy::Operator { reason: Some("works".into()) }));
}

#[test]
fn runs_in_flight_count_when_they_end() {
    check(
        &policy(|_| {}),
        &[
            ("+a +b +c a:f b:f c:f", "run run run c1 c2 o100"),
            // A fourth result comes after the opening, and is late: one outage is one opening.
            ("+a +b +c +d a:f b:f c:f @50 d:f @99 ? s", "run run run run c1 c2 o100 late o100 no"),
            ("+a f f f @100 s a:f", "run c1 c2 o100 c0 late"),
            ("+a f f f a:s ?", "run c1 c2 o100 late o100"),
        ],
    );
}
