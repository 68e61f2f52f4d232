//! Open: who is refused until when, back-off, cap, jitter, and the memory of flapping.

use super::*;

#[test]
fn refused_until_retry_at_and_not_longer() {
    check(
        &policy(|_| {}),
        &[
            ("f f f @99 s @99 s @100 s", "c1 c2 o100 no no c0"),
            ("f f f @100 +a ?", "c1 c2 o100 probe-0 h0/0"),
            ("@7 f f f @106 +a @107 +a", "c1 c2 o107 no probe-0"),
        ],
    );
}

#[test]
fn a_refusal_is_counted_and_moves_nothing() {
    let bench = Bench::after(&policy(|_| {}), "f f f @50 s s s s s s s s s s");
    let breaker = &bench.breaker;
    assert_eq!((breaker.totals.refused, breaker.totals.launched, breaker.totals.success), (10, 3, 0));
    assert_eq!((breaker.counts(Timestamp(50)).total, breaker.streak), (3, 3));
    assert_eq!(breaker.last.as_ref().map(|last| last.at), Some(Timestamp(0)));
}

#[test]
fn failed_probes_double_the_wait_up_to_the_cap() {
    check(
        &policy(|_| {}),
        &[(
            "f f f @100 f @299 f @300 f @700 f @1500 f @2500 f @3500 f",
            "c1 c2 o100 o300 no o700 o1500 o2500 o3500 o4500",
        )],
    );
    let by = |factor| policy(|draft| draft.backoff = Some(factor));
    check(&by(1.0), &[("f f f @100 f @200 f", "c1 c2 o100 o200 o300")]);
    check(&by(1.5), &[("f f f @100 f @250 f", "c1 c2 o100 o250 o475")]);
    check(&by(1e300), &[("f f f @100 f @1100 f", "c1 c2 o100 o1100 o2100")]);
    let seed = policy(|draft| {
        draft.cooldown = Some(Millis(30).into());
        draft.max_cooldown = Some(Millis(120));
    });
    check(&seed, &[("f f f @30 f @90 f @210 f", "c1 c2 o30 o90 o210 o330")]);
}

#[test]
fn times_saturate() {
    let long = policy(|draft| {
        draft.cooldown = Some(Millis::MAX.into());
        draft.max_cooldown = Some(Millis::MAX);
    });
    check(&long, &[("@5 t @6 s", &format!("o{} no", u64::MAX))]);
    let none = policy(|draft| draft.cooldown = Some(Millis(0).into()));
    check(&none, &[("t s", "o0 c0"), ("t f", "o0 o0")]);
}

#[test]
fn jitter_is_drawn_once_and_only_lengthens() {
    let jittery = policy(|draft| draft.jitter = rate(0.5));
    check(
        &jittery,
        &[
            ("random=0 t", "o100"),
            ("random=1 t", "o150"),
            ("random=0.5 t @50 s random=1 s @124 s ? @125 s", "o125 no no no o125 c0"),
            // On a failed probe it is drawn anew, on the next level's wait.
            ("random=1 t @150 f", "o150 o450"),
        ],
    );
    let bench = Bench::after(&jittery, "random=1 t");
    assert_eq!(bench.breaker.cooldown, Some(Millis(150)), "the wait that was chosen, jitter included");
}

#[test]
fn one_outage_is_one_level() {
    let bench = |script| Bench::after(&policy(|_| {}), script).breaker;
    let breaker = bench("+a +b +c +d +e a:f b:f c:f @10 d:f @20 e:f");
    assert_eq!((breaker.level, breaker.totals.opened, breaker.totals.late), (0, 1, 2));
    assert_eq!(bench("f f f @100 f").level, 1);
    assert_eq!(bench("f f f @100 f @300 f").level, 2);
}

#[test]
fn a_flapping_service_waits_longer() {
    check(
        &policy(|_| {}),
        &[
            // Closed at 100 after a wait of 100: an opening at 200 takes the next level, one at 201 the first.
            ("t @100 s @200 t", "o100 c0 o400"),
            ("t @100 s @201 t", "o100 c0 o301"),
            ("t @100 s @150 t @350 s @550 t", "o100 c0 o350 c0 o950"),
            ("t @100 s @150 t @350 s @551 t", "o100 c0 o350 c0 o651"),
            ("t @100 s @100 f f f", "o100 c0 c1 c2 o300"),
            // The level that a failed probe reached counts as well.
            ("t @100 f @300 s @500 t", "o100 o300 c0 o900"),
            // A reset forgets.
            ("t @100 s @110 reset @120 t", "o100 c0 c0 o220"),
            // Without a closing there is nothing to remember.
            ("@5 t", "o105"),
        ],
    );
    let jittery = policy(|draft| draft.jitter = rate(0.5));
    // The last wait was 150 long, jitter included.
    check(
        &jittery,
        &[
            ("random=1 t random=0 @150 s @300 t", "o150 c0 o500"),
            ("random=1 t random=0 @150 s @301 t", "o150 c0 o401"),
        ],
    );
}

#[test]
fn a_level_at_its_end_stays_there() {
    let mut bench = Bench::after(&policy(|_| {}), "t");
    bench.breaker.level = u32::MAX;
    bench.now = 100;
    assert_eq!(bench.step("f").as_deref(), Some("o1100"));
    assert_eq!(bench.breaker.level, u32::MAX);
}

#[test]
fn some_runs_must_not_wait_for_ever() {
    let daily = policy(|draft| draft.run_at_least_every = Some(Millis(30)));
    check(
        &daily,
        &[
            // The last launch was at 0, one unit before the end that was reported. A start 5 % early, at 29, is on time.
            ("@1 t @28 s @29 s", "o101 no c0"),
            // The early probe fails, and its own start is the last launch.
            ("@1 t @30 f @58 s @59 s", "o101 o230 no c0"),
            // Not past the number of probes, nor against an override.
            ("@1 t @30 +a @60 +b", "o101 probe-0 no"),
            ("@1 t hold=open @30 s", "o101 o101 no"),
            // An ignored early probe: the next comes when it is due again, whatever the number of refusals.
            ("@1 t @31 i @59 s @60 s", "o101 o131 no c0"),
        ],
    );
    // If nothing was ever launched, the opening counts.
    check(&daily, &[("@5 trip=1000 @33 s @34 s", "o1005 no c0")]);
    // A health check is no launch of the real command.
    check(&daily, &[("@1 t @30 cf @31 cf", "o101 o230 o431")]);
}

#[test]
fn a_cooldown_in_runs() {
    let with = |time, runs| {
        policy(|draft| {
            draft.cooldown = Some(Cooldown { time: Millis(time), runs });
            draft.max_cooldown = Some(Millis(1_000));
        })
    };
    // Both parts must be met, in either order.
    check(
        &with(100, 2),
        &[
            ("t s s s @100 s", "o100 no no no c0"),
            ("t @500 s s s", "o100 no no c0"),
            ("t @50 s @100 s s", "o100 no no c0"),
        ],
    );
    // Runs alone have no time part, and grow with the level as the time does.
    check(&with(0, 1), &[("t s f s s f s s s s s", "o0 no o0 no no o0 no no no no c0")]);
    // Once the longest cooldown has passed the number does not matter.
    check(&with(0, 99), &[("t @999 s @1000 s", "o0 no c0")]);
    // A trip is for a time; what is refused for another reason does not count.
    check(&with(100, 2), &[("trip @100 s", "o100 c0")]);
    check(&with(0, 1), &[("t hold=open s s release s s", "o0 o0 no no o0 no c0")]);
    // Under --observe what would be refused counts, for it would have been refused.
    check(&with(0, 1), &[("t os os", "o0 o0 c0")]);
    // One at a time by the clock, however early the last refusal was.
    check(&with(100, 1), &[("t s @100 +a +b", "o100 no probe-0 no")]);
}

#[test]
fn a_run_that_waits_goes_by_the_time_part() {
    let runs = policy(|draft| draft.cooldown = Some(Cooldown { time: Millis(100), runs: 5 }));
    let mut bench = Bench::after(&runs, "t");
    let mut ask = |now, mode| {
        bench.now = now;
        let request = AdmissionRequest {
            mode,
            pid: 7,
            lifetime: None,
            task: Task::Command,
            cooldown: CooldownParts::TimeOnly,
            notify: None,
        };
        bench.breaker.admit(&bench.policy, &request, Timestamp(now))
    };
    assert!(matches!(ask(99, Mode::Poll), Admission::Refused(_)));
    assert!(matches!(ask(100, Mode::Poll), Admission::Granted(_)));
}

/// What a job launches that starts every `gap` minutes, while its dependency is down for `outage` minutes from its first
/// start on, and how many starts after the outage are refused. Each run takes a moment, and jitter is at its mean.
fn launches(policy: &Policy, gap: u64, outage: u64) -> (u32, u32) {
    const MINUTE: u64 = 60_000;
    let mut bench = Bench::new(policy);
    bench.step("random=0.5");
    let (mut launched, mut refused_after) = (0, 0);
    for start in (0..).step_by(usize::try_from(gap * MINUTE).expect("a gap")) {
        let is_down = start <= outage * MINUTE;
        bench.now = start;
        let is_admitted = bench.step("+a").as_deref() != Some("no");
        if is_admitted {
            bench.now = start + 100;
            bench.step(if is_down { "a:f" } else { "a:s" });
        }
        launched += u32::from(is_down && is_admitted);
        refused_after += u32::from(!is_down && !is_admitted);
        if !is_down && bench.breaker.phase == Phase::Closed {
            break;
        }
    }
    (launched, refused_after)
}

#[test]
fn the_defaults_protect_a_job_that_starts_every_ten_minutes() {
    let default = Policy::default();
    for (outage, most) in [(60, 4), (120, 6), (360, 10)] {
        let (launched, _) = launches(&default, 10, outage);
        assert!(launched <= most, "{launched} launches in an outage of {outage} minutes");
    }
    let (_, refused) = launches(&default, 10, 30);
    assert!(refused <= 2, "{refused} good runs were refused after half an hour's outage");
    // A daily job never loses a day: each day of an outage is tried, and the first good day runs.
    for days in 1..10 {
        let (launched, refused) = launches(&default, 24 * 60, days * 24 * 60);
        assert_eq!((u64::from(launched), refused), (days + 1, 0), "an outage of {days} days");
    }
}

/// The table in docs/cooldown.md, from the machine itself.
#[test]
fn the_table_of_launches_is_current() {
    let old = Policy::new(Draft { cooldown: Some(Millis(60_000).into()), ..Draft::default() });
    let policies = [("1m", old.expect("a policy")), ("1m,1run", Policy::default())];
    let outages = [30, 60, 120, 360, 1_440];
    let mut table =
        String::from("| a run every | cooldown | 30m | 1h | 2h | 6h | 1d |\n|---|---|---|---|---|---|---|\n");
    for (name, gap) in
        [("1m", 1), ("5m", 5), ("10m", 10), ("15m", 15), ("30m", 30), ("1h", 60), ("1d", 1_440)]
    {
        for (cooldown, policy) in &policies {
            table.push_str(&format!("| {name} | {cooldown} |"));
            for outage in outages {
                let (launched, refused) = launches(policy, gap, outage);
                table.push_str(&format!(" {launched} of {}, {refused} |", outage / gap + 1));
            }
            table.push('\n');
        }
    }
    let page = include_str!("../../../docs/cooldown.md");
    assert!(page.contains(&table), "put this table into docs/cooldown.md:\n{table}");
}
