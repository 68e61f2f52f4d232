//! What holds of every input: windows against a reference that forgets nothing, waits that never overflow, and any
//! script at all against the invariants.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::window::{Call, Window};
use super::*;

/// A run that ended: after how long, failed, slow.
type Run = (u64, bool, bool);

fn size() -> impl Strategy<Value = WindowSize> {
    prop_oneof![
        (1_u32..8).prop_map(|count| WindowSize::Count(NonZeroU32::new(count).expect("not zero"))),
        (1_u64..40).prop_map(|span| WindowSize::Span(Millis(span))),
    ]
}

/// Counts over everything that ever ended.
fn reference(runs: &[Call], size: WindowSize, now: u64) -> Counts {
    let last: Vec<&Call> = match size {
        WindowSize::Count(count) => runs.iter().rev().take(count.get() as usize).collect(),
        WindowSize::Span(span) => runs.iter().filter(|run| run.at.0 + span.0 >= now).collect(),
    };
    let count = |of: fn(&Call) -> bool| last.iter().filter(|run| of(run)).count() as u32;
    Counts { total: last.len() as u32, failures: count(|run| run.failed), slow: count(|run| run.slow) }
}

fn words() -> impl Strategy<Value = String> {
    let letters = "[sfintSFI]|c[sf]|o[sfi]|\\+[abc]|trip|trip=[0-9]{1,3}|reset|release|hold=(open|closed)(/[0-9]{1,2})?|@[0-9]{1,4}|random=0\\.[0-9]";
    proptest::collection::vec(proptest::string::string_regex(letters).expect("a pattern"), 0..40)
        .prop_map(|words| words.join(" "))
}

fn policies() -> impl Strategy<Value = Policy> {
    let rates = (proptest::option::of(0.0..=1.0), proptest::option::of(0.0..=1.0), 1_u32..5);
    (
        (0_u32..4, 0_u32..3),
        rates,
        size(),
        1_u32..4,
        1_u32..4,
        1_u32..4,
        proptest::option::of(0_u64..50),
        0.0..=1.0,
    )
        .prop_map(
            |((failures, runs), (failed, slow, min_calls), window, probes, successes, bad, every, jitter)| {
                policy(|draft| {
                    draft.failures = Some(failures);
                    draft.cooldown = Some(Cooldown { time: Millis(100), runs });
                    draft.failure_rate = failed.and_then(rate);
                    draft.slow_rate = slow.and_then(rate);
                    draft.slow_after = Some(Millis(5));
                    draft.window = Some(window);
                    draft.min_calls = match window {
                        WindowSize::Count(count) => number(min_calls.min(count.get())),
                        WindowSize::Span(_) => number(min_calls),
                    };
                    draft.probes = number(probes);
                    draft.probe_successes = number(successes);
                    draft.probe_failures = number(bad);
                    draft.run_at_least_every = every.map(Millis);
                    draft.jitter = rate(jitter);
                })
            },
        )
}

/// Everything that a window is asked in one case: its size, the runs, and how long after the last it is looked at.
fn lives() -> impl Strategy<Value = (WindowSize, Vec<Run>, u64)> {
    (size(), proptest::collection::vec((0_u64..15, any::<bool>(), any::<bool>()), 0..40), 0_u64..50)
}

/// Compares a window, which is told each run and its size by `push`, with the reference.
fn agrees(
    (size, runs, later): (WindowSize, Vec<Run>, u64),
    push: impl Fn(&mut Window, Call, WindowSize),
) -> Result<(), TestCaseError> {
    let mut window = Window::default();
    let mut all = Vec::new();
    let mut now = 1_000;
    for (wait, failed, slow) in runs {
        now += wait;
        let call = Call { at: Timestamp(now), failed, slow };
        push(&mut window, call, size);
        all.push(call);
        prop_assert_eq!(window.counts(size, Timestamp(now)), reference(&all, size, now));
    }
    let now = now + later;
    prop_assert_eq!(window.counts(size, Timestamp(now)), reference(&all, size, now));
    let text = serde_json::to_string(&window).expect("text");
    prop_assert_eq!(serde_json::from_str::<Window>(&text).expect("a window"), window);
    Ok(())
}

/// Whether `cooldown` gives waits that never exceed the cap and never shrink.
fn is_bounded(
    policy: &Policy,
    level: u32,
    cooldown: impl Fn(&Policy, u32) -> Millis,
) -> Result<(), TestCaseError> {
    let wait = cooldown(policy, level);
    prop_assert!(wait <= policy.max_cooldown);
    prop_assert!(wait >= cooldown(policy, level.saturating_sub(1)));
    Ok(())
}

fn waits() -> impl Strategy<Value = Policy> {
    (any::<u64>(), any::<u64>(), 1.0_f64..1e300, 0.0_f64..=1.0).prop_map(|(cooldown, more, factor, share)| {
        policy(|draft| {
            draft.cooldown = Some(Millis(cooldown).into());
            draft.max_cooldown = Some(Millis(cooldown.saturating_add(more)));
            draft.backoff = Some(factor);
            draft.jitter = rate(share);
        })
    })
}

/// Tries always the same cases, and takes no note of those that fail.
fn deterministic() -> TestRunner {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn the_properties_notice_a_break() {
    let pushes: [fn(&mut Window, Call, WindowSize); 3] = [
        // One that forgets a failure, one that takes each run for slow, and one that loses what came before.
        |window, call, size| window.push(Call { failed: false, ..call }, size),
        |window, call, size| window.push(Call { slow: true, ..call }, size),
        |window, call, size| {
            *window = Window::default();
            window.push(call, size);
        },
    ];
    for (number, push) in pushes.into_iter().enumerate() {
        let found = deterministic().run(&lives(), |life| agrees(life, push));
        assert!(found.is_err(), "a broken window went unnoticed: {number}");
    }
    let cooldowns: [fn(&Policy, u32) -> Millis; 2] = [
        // One without its cap, and one that wraps around instead of saturating.
        |policy, level| policy.cooldown.times(f64::from(level).exp2()),
        |policy, level| Millis(policy.cooldown.0.wrapping_shl(level).min(policy.max_cooldown.0)),
    ];
    for (number, cooldown) in cooldowns.into_iter().enumerate() {
        let cases = (waits(), any::<u32>());
        let found = deterministic().run(&cases, |(policy, level)| is_bounded(&policy, level, cooldown));
        assert!(found.is_err(), "a broken back-off went unnoticed: {number}");
    }
    println!("proof: breaks: properties: 5 of 5 noticed");
}

proptest! {
    #[test]
    fn a_window_agrees_with_one_that_forgets_nothing(life in lives()) {
        agrees(life, Window::push)?;
    }

    #[test]
    fn no_text_makes_a_window_panic(text in "[0-9sSfF\\-x ]{0,60}") {
        let _ = serde_json::from_str::<Window>(&format!("{text:?}"));
    }

    #[test]
    fn a_wait_never_exceeds_its_cap_and_never_shrinks(
        policy in waits(), level in any::<u32>(), random in any::<f64>(),
    ) {
        is_bounded(&policy, level, backoff::cooldown)?;
        let wait = backoff::cooldown(&policy, level);
        let jittered = backoff::jittered(&policy, wait, random);
        prop_assert!(jittered >= wait);
        // A number has 53 bits, and the sum may be off by what it cannot hold.
        let most = wait.0 as f64 * (1.0 + policy.jitter.share());
        prop_assert!(jittered.0 as f64 <= most * (1.0 + 1e-12) + 1.0);
    }

    /// The invariants are checked after every word, and the state survives being written and read.
    #[test]
    fn any_script_keeps_the_invariants(policy in policies(), script in words()) {
        let mut bench = Bench::new(&policy);
        for word in script.split_whitespace() {
            bench.step(word);
            prop_assert!(bench.breaker.probes.len() <= policy.probes.get() as usize);
            let text = serde_json::to_string(&bench.breaker).expect("text");
            let read: Breaker = serde_json::from_str(&text).expect("a breaker");
            prop_assert_eq!(&read, &bench.breaker);
        }
        // Whatever has happened, it is open only until a known time, and nobody but an operator holds it.
        bench.step("release");
        if let Some(opening) = bench.breaker.phase.opening() {
            let until = opening.runs.as_ref().map_or(0, |part| part.until.0);
            bench.now = bench.now.max(opening.retry_at.0).max(until);
        }
        bench.breaker.probes.clear();
        prop_assert!(matches!(bench.admit(Mode::Enforce, Task::Command), Admission::Granted(_)));
    }
}
