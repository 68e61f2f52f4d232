//! Half-open: how many probes, how many successes and failures decide, and probes that never answer.

use super::*;

#[test]
fn one_probe_decides_by_default() {
    check(
        &policy(|_| {}),
        &[
            ("t @100 +a +b +c ? a:s", "o100 probe-0 no no h0/0 c0"),
            ("t @100 +a a:f", "o100 probe-0 o300"),
            ("t @100 +a @500 +b a:f @700 s", "o100 probe-0 no o700 c0"),
        ],
    );
}

#[test]
fn three_must_all_succeed() {
    let three = policy(|draft| {
        draft.probes = number(3);
        draft.probe_successes = number(3);
    });
    check(
        &three,
        &[
            ("t @100 +a +b +c +d", "o100 probe-0 probe-1 probe-2 no"),
            ("t @100 +a +b +c a:s b:s c:s", "o100 probe-0 probe-1 probe-2 h1/0 h2/0 c0"),
            // The first failure opens; what the others say then is late.
            ("t @100 +a +b +c a:s b:f c:s @299 s", "o100 probe-0 probe-1 probe-2 h1/0 o300 late no"),
            // They need not be together.
            ("t @100 s @101 s @102 s", "o100 h1/0 h2/0 c0"),
            ("t @100 s s f", "o100 h1/0 h2/0 o300"),
            // A place that is free again is used again, the lowest first.
            ("t @100 +a +b +c b:s +d a:s +e", "o100 probe-0 probe-1 probe-2 h1/0 probe-1 h2/0 probe-0"),
        ],
    );
}

#[test]
fn as_many_successes_and_failures_as_it_takes() {
    let with = |successes, failures| {
        policy(|draft| {
            draft.probe_successes = number(successes);
            draft.probe_failures = number(failures);
        })
    };
    check(&with(2, 1), &[("t @100 s s", "o100 h1/0 c0"), ("t @100 s f", "o100 h1/0 o300")]);
    check(
        &with(1, 2),
        &[
            ("t @100 f f", "o100 h0/1 o300"),
            ("t @100 f s", "o100 h0/1 c0"),
            // An ending that opens at once does so here too.
            ("t @100 t", "o100 o300"),
        ],
    );
    check(&with(2, 2), &[("t @100 s f s", "o100 h1/0 h1/1 c0"), ("t @100 f s f", "o100 h0/1 h1/1 o300")]);
}

#[test]
fn the_counts_start_anew_with_every_half_opening() {
    let two = policy(|draft| {
        draft.probe_successes = number(2);
        draft.probe_failures = number(2);
    });
    check(&two, &[("t @100 s f f @300 s f s", "o100 h1/0 h1/1 o300 h1/0 h1/1 c0")]);
}

#[test]
fn rates_and_streaks_have_no_say() {
    let rated = policy(|draft| {
        draft.failure_rate = rate(0.1);
        draft.failures = Some(1);
        draft.min_calls = number(1);
        draft.probe_failures = number(3);
    });
    check(&rated, &[("f @100 f f ? f", "o100 h0/1 h0/2 h0/2 o300")]);
    let slow = policy(|draft| {
        draft.slow_rate = rate(0.1);
        draft.slow_after = Some(Millis(5));
        draft.min_calls = number(1);
        draft.probe_successes = number(2);
    });
    check(&slow, &[("S @100 S S", "o100 h1/0 c0")]);
}

#[test]
fn an_interrupted_probe_decides_nothing() {
    check(
        &policy(|_| {}),
        &[
            ("t @100 n ? n s", "o100 h0/0 h0/0 h0/0 c0"),
            ("t @100 +a +b a:n +c", "o100 probe-0 no h0/0 probe-0"),
            ("t @100 n f", "o100 h0/0 o300"),
        ],
    );
}

#[test]
fn an_inconclusive_probe_makes_the_breaker_wait_again() {
    check(
        &policy(|_| {}),
        &[
            // For the wait of level 0, and for one refused run at least.
            ("t @100 i s @200 s", "o100 o200 no c0"),
            ("t @100 i @200 s s", "o100 o200 no c0"),
            // At the level that it had: the next failure takes the one above.
            ("t @100 f @300 i @400 s f", "o100 o300 o400 no o800"),
            // What probes beside it say is late, and their places are taken until they end.
            ("t @100 +a i", "o100 probe-0 no"),
        ],
    );
    let two = policy(|draft| {
        draft.probes = number(2);
        draft.probe_successes = number(2);
    });
    check(&two, &[("t @100 +a +b a:i b:s @200 s s", "o100 probe-0 probe-1 o200 late no h1/0")]);
    let runs = policy(|draft| draft.cooldown = Some(Cooldown { time: Millis(0), runs: 3 }));
    check(&runs, &[("t s s s i s s s s", "o0 no no no o0 no no no c0")]);
}

#[test]
fn probes_that_learn_nothing_launch_once_a_cooldown() {
    let daily = policy(|draft| draft.cooldown = Some(Cooldown { time: Millis(100), runs: 1 }));
    let mut bench = Bench::after(&daily, "t");
    let mut launched = 0;
    for now in (0..10_000).step_by(10) {
        bench.now = now;
        launched += u32::from(bench.step("i").as_deref() != Some("no"));
    }
    assert_eq!(launched, 99, "one in each wait of 100");
    assert_eq!((bench.breaker.totals.opened, bench.breaker.level), (1, 0), "one outage, one level");
    assert_eq!(bench.breaker.phase.opening().map(Opening::outage_since), Some(Timestamp(0)));
}

#[test]
fn a_lost_probe_frees_its_place_and_is_no_failure() {
    check(
        &policy(|_| {}),
        &[
            ("t @100 +a a:x +b b:s", "o100 probe-0 h0/0 probe-0 c0"),
            ("t @100 +a a:x +b b:x +c c:f", "o100 probe-0 h0/0 probe-0 h0/0 probe-0 o300"),
        ],
    );
    let bench = Bench::after(&policy(|_| {}), "t @100 +a a:x");
    let totals = &bench.breaker.totals;
    assert_eq!((totals.probes, totals.lost, totals.failure, totals.launched), (1, 1, 1, 1));
    // To lose what is not there says nothing.
    let mut bench = Bench::after(&policy(|_| {}), "t @100 +a");
    bench.breaker.mark_probe_lost(1, bench.breaker.generation);
    bench.breaker.mark_probe_lost(0, bench.breaker.generation - 1);
    assert_eq!((bench.breaker.probes.len(), bench.breaker.totals.lost), (1, 0));
}

#[test]
fn a_probe_of_a_past_generation_still_takes_up_room() {
    let two = policy(|draft| {
        draft.probes = number(2);
        draft.probe_successes = number(2);
    });
    check(
        &two,
        &[
            // b outlives the opening that a's failure caused: of two places one is left.
            ("t @100 +a +b a:f @300 +c +d", "o100 probe-0 probe-1 o300 probe-0 no"),
            ("t @100 +a +b a:f @300 +c b:s +d", "o100 probe-0 probe-1 o300 probe-0 late probe-1"),
            // b outlives a closing, an opening, and is still alive.
            (
                "t @100 +a a:s +b +c b:s @150 t @350 +d +e c:f +e",
                "o100 probe-0 h1/0 probe-0 probe-1 c0 o350 probe-0 no late probe-1",
            ),
        ],
    );
    // A policy with fewer places than probes alive refuses, and takes no place that is taken.
    let mut bench = Bench::after(&two, "t @100 +a +b");
    bench.policy = policy(|draft| draft.probes = number(1));
    assert_eq!(bench.step("+c").as_deref(), Some("no"));
    bench.policy = policy(|draft| draft.probes = number(3));
    assert_eq!(bench.step("+c").as_deref(), Some("probe-2"));
}

#[test]
fn a_closing_clears_streak_and_window() {
    let rated = policy(|draft| {
        draft.failures = Some(3);
        draft.failure_rate = rate(0.5);
        draft.window = last(4);
        draft.min_calls = number(4);
    });
    check(&rated, &[("f f f @100 s f f s", "c1 c2 o100 c0 c1 c2 c0")]);
    let bench = Bench::after(&rated, "f f f @100 s");
    assert_eq!(bench.breaker.window, crate::breaker::window::Window::default());
    // The probe's success is no call of the new window.
    assert_eq!(bench.breaker.counts(Timestamp(100)), Counts::default());
}

#[test]
fn a_late_success_of_an_older_generation_does_not_close() {
    check(
        &policy(|draft| draft.failures = Some(2)),
        &[
            ("+a f f a:s ?", "run c1 o100 late o100"),
            ("+a f f @100 +b a:s ? b:f", "run c1 o100 probe-0 late h0/0 o300"),
            ("t @100 +a a:f @300 +b b:s", "o100 probe-0 o300 probe-0 c0"),
        ],
    );
}

#[test]
fn a_probe_carries_its_deadline() {
    let bench = Bench::after(&policy(|_| {}), "t @100 +a");
    let probe = &bench.breaker.probes[0];
    assert_eq!((probe.since, probe.deadline, probe.pid), (Timestamp(100), Some(Timestamp(150)), 7));
    assert_eq!(probe.generation, bench.breaker.generation);
}

/// The machine of the fifth seed as a table: from each phase, by each event, to where.
#[test]
fn transitions() {
    let three = policy(|draft| {
        draft.cooldown = Some(Millis(30).into());
        draft.max_cooldown = Some(Millis(120));
        draft.failures = Some(1);
        draft.probes = number(3);
        draft.probe_successes = number(3);
    });
    check(
        &three,
        &[
            ("s", "c0"),
            ("f", "o30"),
            ("t", "o30"),
            ("+a", "run"),
            ("f @29 +a ?", "o30 no o30"),
            ("f @30 +a ?", "o30 probe-0 h0/0"),
            ("f @30 s s s", "o30 h1/0 h2/0 c0"),
            ("f @30 s s f", "o30 h1/0 h2/0 o90"),
            ("f @30 t", "o30 o90"),
            ("f @30 +a +b +c +d", "o30 probe-0 probe-1 probe-2 no"),
            ("f @30 f @90 f @210 f @330 f", "o30 o90 o210 o330 o450"),
        ],
    );
}
