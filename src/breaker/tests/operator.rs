//! The operator's words, observing, and a name that is given to another breaker.

use super::*;

#[test]
fn a_trip_opens_now() {
    check(
        &policy(|_| {}),
        &[
            ("trip ? @99 s @100 s", "o100 o100 no c0"),
            ("trip=7 @6 s @7 s", "o7 no c0"),
            ("trip=0 s", "o0 c0"),
            // On an open breaker it sets a new time, to either side, and no new level.
            ("t @10 trip=500", "o100 o510"),
            ("t @10 trip=5", "o100 o15"),
            ("t @10 trip", "o100 o110"),
            ("t @100 f @200 trip", "o100 o300 o400"),
            // In the middle of probing: the probe becomes late.
            ("t @100 +a trip=50 a:s ?", "o100 probe-0 o150 late o150"),
            ("+a trip a:f ?", "run o100 late o100"),
            // Soon after a closing it is flapping as any other opening.
            ("t @100 s @150 trip", "o100 c0 o350"),
        ],
    );
    let breaker = Bench::after(&policy(|_| {}), "trip @10 trip").breaker;
    assert_eq!((breaker.totals.opened, breaker.totals.reopened, breaker.generation), (1, 0, 2));
    let saturating = format!("trip={}", u64::MAX);
    let breaker = Bench::after(&policy(|_| {}), &format!("@9 {saturating}")).breaker;
    assert_eq!(breaker.phase.opening().map(|opening| opening.retry_at), Some(Timestamp(u64::MAX)));
}

#[test]
fn held_open_refuses_everything() {
    check(
        &policy(|_| {}),
        &[
            ("hold=open s f ?", "c0 no no c0"),
            ("t hold=open @100 s @5000 s release s", "o100 o100 no no o100 c0"),
            // What was in flight is late.
            ("+a hold=open a:f ?", "run c0 late c0"),
            ("t @100 +a hold=open a:s", "o100 probe-0 h0/0 late"),
        ],
    );
}

#[test]
fn held_closed_runs_everything_and_the_machine_stands_still() {
    check(
        &policy(|_| {}),
        &[
            ("hold=closed f f f f t ?", "c0 c0 c0 c0 c0 c0 c0"),
            ("t hold=closed s s @100 s release ?", "o100 o100 o100 o100 o100 o100 o100"),
            ("t @100 n hold=closed s f +a release a:s s", "o100 h0/0 h0/0 h0/0 h0/0 by h0/0 late c0"),
            ("f f hold=closed s release f", "c1 c2 c2 c2 c2 o100"),
        ],
    );
    let breaker = Bench::after(&policy(|_| {}), "hold=closed f s i").breaker;
    let totals = &breaker.totals;
    assert_eq!((totals.launched, totals.failure, totals.success, totals.ignored), (3, 1, 1, 1));
    assert_eq!(breaker.window, crate::breaker::window::Window::default());
}

#[test]
fn the_last_override_stands() {
    check(
        &policy(|_| {}),
        &[
            ("hold=open hold=closed s", "c0 c0 c0"),
            ("hold=closed hold=open s", "c0 c0 no"),
            ("hold=open/10 hold=open @10 s", "c0 c0 no"),
            ("hold=open hold=open/10 @10 s", "c0 c0 c0"),
        ],
    );
}

#[test]
fn an_override_ends_by_itself() {
    check(
        &policy(|_| {}),
        &[
            ("hold=open/10 @9 s @10 s", "c0 no c0"),
            ("hold=closed/10 @9 t ? @10 t", "c0 c0 c0 o110"),
            // A run admitted under it and ended after it still moves nothing, and does not end the override itself.
            ("hold=closed/10 +a @20 a:t ? s", "c0 by c0 c0 c0"),
            ("hold=open/0 s", "c0 c0"),
        ],
    );
    let bench = Bench::after(&policy(|_| {}), "hold=open/10 @10 s");
    let released = bench.events.iter().filter(|event| event.kind == EventKind::Released).count();
    assert_eq!((released, bench.breaker.generation), (1, 2), "recorded by the next run");
}

#[test]
fn a_release_of_nothing_says_so() {
    check(
        &policy(|_| {}),
        &[
            ("release", "none"),
            ("hold=open release release", "c0 c0 none"),
            ("hold=open/5 @5 release", "c0 none"),
        ],
    );
    let breaker = Bench::after(&policy(|_| {}), "release").breaker;
    assert_eq!(breaker.generation, 0, "nothing was released, and nothing became late");
}

#[test]
fn a_reset_clears_the_machine_and_keeps_the_totals() {
    check(
        &policy(|_| {}),
        &[
            ("f f reset f", "c1 c2 c0 c1"),
            ("t reset s", "o100 c0 c0"),
            ("t @100 f @300 f reset @301 t", "o100 o300 o700 c0 o401"),
            ("hold=open reset s", "c0 c0 c0"),
            // What runs becomes late, and a probe that will not end keeps nobody out.
            ("+a reset a:f ?", "run c0 late c0"),
            ("t @100 +a reset t @200 +b a:s ?", "o100 probe-0 c0 o200 probe-0 late h0/0"),
        ],
    );
    let before = Bench::after(&policy(|_| {}), "f f f s @100 +a").breaker;
    let after = Bench::after(&policy(|_| {}), "f f f s @100 +a reset").breaker;
    assert_eq!(after.totals, before.totals);
    assert_eq!((after.level, after.streak, after.cooldown), (0, 0, None));
    assert!(
        after.probes.is_empty()
            && after.window == crate::breaker::window::Window::default()
            && after.hold.is_none()
    );
    assert_eq!(after.generation, before.generation + 1);
}

#[test]
fn observing_launches_what_would_be_refused_and_moves_nothing() {
    check(
        &policy(|_| {}),
        &[
            ("of of of os of ?", "c1 c2 o100 o100 o100 o100"),
            ("t os @100 os", "o100 o100 c0"),
            ("hold=open of ?", "c0 c0 c0"),
            ("t @100 +a os ? a:s", "o100 probe-0 h0/0 h0/0 c0"),
        ],
    );
    let breaker = Bench::after(&policy(|_| {}), "of of of os of").breaker;
    let totals = &breaker.totals;
    assert_eq!((totals.refused, totals.launched, totals.success, totals.failure), (2, 5, 1, 4));
    assert_eq!((totals.opened, breaker.streak), (1, 3));
}

#[test]
fn a_result_for_a_forgotten_breaker_is_late_for_the_next_of_that_name() {
    check(
        &policy(|draft| draft.failures = Some(1)),
        &[
            ("+a forget a:f ?", "run c0 late c0"),
            ("t @100 +a forget a:f ? f", "o100 probe-0 c0 late c0 o200"),
            // The generations are equal, the breakers are not.
            ("t @100 +a forget t @200 +b a:s ?", "o100 probe-0 c0 o200 probe-0 late h0/0"),
        ],
    );
    let breaker = Bench::after(&policy(|_| {}), "+a forget a:s").breaker;
    assert_eq!((breaker.totals.late, breaker.totals.launched, breaker.totals.success), (1, 1, 0));
}

#[test]
fn a_generation_a_change() {
    for (script, generation) in [
        ("s f i", 0),
        ("t", 1),
        ("t s s", 1),
        ("t @100 +a", 2),
        ("t @100 s", 3),
        ("t @100 f", 3),
        ("t @100 n", 2),
        ("t @100 i", 3),
        ("reset", 1),
        ("trip trip", 2),
        ("hold=open release", 2),
    ] {
        let bench = Bench::after(&policy(|_| {}), script);
        assert_eq!(bench.breaker.generation, generation, "{script}");
    }
}

#[test]
fn totals_count_what_was_really_started() {
    let mut bench = Bench::after(&policy(|_| {}), "+a");
    let permit = bench.flying.remove(&'a').expect("a run");
    let report = Report {
        ending: Ending::NotStarted(super::outcome::Unstartable::NotFound),
        verdict: Verdict::Ignored,
        duration: Millis(0),
        program: String::new(),
        told: crate::breaker::event::Told::default(),
        least_wait: crate::breaker::time::Millis::ZERO,
        task: Task::Command,
        notify: None,
    };
    let policy = bench.policy.clone();
    bench.breaker.complete(&permit, report, &policy, Timestamp(0), 0.0);
    let totals = &bench.breaker.totals;
    assert_eq!((totals.launched, totals.ignored), (0, 1), "what did not start was not launched");
    let totals = Bench::after(&policy, "+a f f f a:s @100 cf t").breaker.totals;
    assert_eq!((totals.launched, totals.late, totals.probes), (4, 1, 1));
    assert_eq!((totals.opened, totals.reopened), (1, 1), "a failed probe prolongs an outage");
    let totals = Bench::after(&policy, "t").breaker.totals;
    assert_eq!(totals.timeout, 1);
}
