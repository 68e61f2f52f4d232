//! The state machine from outside, rule by rule: the same table on a host's own files and on a shared store.

use crate::server::{Host, Server};
use crate::tools::needs;
use crate::util::Sandbox;

/// A rule, the flags of every run, and what is done and expected, word by word: `ok`, `fail`, `skip`, `slow` and `nine`
/// are runs that are admitted and end so, `refused` is one that is not; `due` waits for the end of the cooldown; a
/// phase or a level is required; the rest is an operator's.
const TABLE: &[(&str, &str, &str)] = &[
    ("a streak opens", "--failures 3", "fail fail closed fail open refused refused"),
    ("a success ends a streak", "--failures 3", "fail fail ok fail fail closed fail open"),
    ("what is ignored changes nothing", "--failures 3", "fail fail skip closed fail open"),
    (
        "a share of failures opens",
        "--failure-rate 50% --min-calls 4 --window 4",
        "fail ok ok closed fail open refused",
    ),
    ("a share says nothing over few runs", "--failure-rate 50% --min-calls 3", "fail fail closed fail open"),
    ("a count window forgets", "--failure-rate 100% --min-calls 2 --window 2", "ok fail closed fail open"),
    ("a rate switches the streak off", "--failure-rate 90% --min-calls 10", "fail fail fail fail closed"),
    ("a window of time", "--failure-rate 50% --min-calls 2 --window 10m", "fail closed fail open"),
    ("a share of slow runs opens", "--slow-rate 50% --slow-after 1ms --min-calls 2", "slow closed slow open"),
    ("one ending opens at once", "--trip-on 9", "ok nine open refused"),
    ("nothing is admitted before its time", "--failures 1 --cooldown 1h", "fail refused refused open"),
    ("a probe that succeeds closes", "--failures 1 --cooldown 50ms --jitter 0", "fail open due ok closed ok"),
    (
        "a probe that fails opens for longer",
        "--failures 1 --cooldown 50ms --jitter 0",
        "fail level=0 due fail open level=1 due fail level=2",
    ),
    (
        "an ignored probe learns nothing, and the breaker waits again",
        "--failures 1 --cooldown 50ms --jitter 0",
        "fail due skip open level=0 refused due ok closed",
    ),
    ("a cooldown of runs", "--failures 1 --cooldown 2runs", "fail refused refused ok closed"),
    (
        "a cooldown of both, and its back-off",
        "--failures 1 --cooldown 50ms,1run --jitter 0",
        "fail due refused fail level=1 due refused refused ok closed",
    ),
    (
        "as many successes as it takes",
        "--failures 1 --cooldown 50ms --jitter 0 --probe-successes 3",
        "fail due ok half-open ok half-open ok closed",
    ),
    (
        "as many failures as it takes",
        "--failures 1 --cooldown 50ms --jitter 0 --probe-failures 2",
        "fail due fail half-open fail open",
    ),
    (
        "closing clears the streak",
        "--failures 2 --cooldown 50ms --jitter 0",
        "fail fail due ok fail closed fail open",
    ),
    (
        "flapping is punished",
        "--failures 1 --cooldown 3s --jitter 0",
        "fail level=0 due ok fail open level=1",
    ),
    (
        "a run at least every so often",
        "--failures 1 --cooldown 1h --run-at-least-every 1ms",
        "fail open ok closed",
    ),
    ("a reset closes", "--failures 1 --cooldown 1h", "fail refused reset closed ok fail open level=0"),
    ("a trip opens", "--failures 3", "ok trip open refused"),
    ("held open, nothing runs", "--failures 3", "hold-open refused release ok closed"),
    (
        "held closed, everything runs and moves nothing",
        "--failures 1 --cooldown 1h",
        "hold-closed fail fail closed release fail open hold-closed ok open release refused",
    ),
    ("watching refuses nothing", "--failures 1 --cooldown 1h --observe", "fail open ok fail open"),
];

#[test]
fn on_own_files() {
    let sandbox = Sandbox::new();
    check(&Host::new(&sandbox, "alone", ""));
}

#[test]
fn on_a_shared_store() {
    needs!("redis-server", "redis-cli");
    let (sandbox, server) = (Sandbox::new(), Server::start());
    check(&server.host(&sandbox, "one"));
}

fn check(host: &Host) {
    for (rule, flags, steps) in TABLE {
        let run = |code: i32, script: &str| {
            let words =
                ["run", "--name", rule].into_iter().chain(flags.split(' ')).chain(["--", "sh", "-c", script]);
            let done = host.run(&words.collect::<Vec<_>>());
            assert_eq!(done.status().code(), Some(code), "{rule}\n{}", done.all());
        };
        let operate = |words: &[&str]| {
            host.run(words).code(0);
        };
        for (index, step) in steps.split(' ').enumerate() {
            match step {
                "ok" => run(0, "exit 0"),
                "fail" => run(7, "exit 7"),
                "skip" => run(130, "exit 130"),
                "nine" => run(9, "exit 9"),
                "slow" => run(0, "sleep 0.05"),
                "refused" => run(75, "exit 0"),
                "due" => host.until_due(rule),
                "reset" => operate(&["reset", rule]),
                "trip" => operate(&["trip", rule]),
                "hold-open" => operate(&["hold", rule, "open"]),
                "hold-closed" => operate(&["hold", rule, "closed"]),
                "release" => operate(&["release", rule]),
                _ => {
                    let status = host.status(rule);
                    let found = match step.strip_prefix("level=") {
                        Some(level) => {
                            status["level"].as_u64().map(|level| level.to_string()).as_deref() == Some(level)
                        }
                        None => status["phase"] == step,
                    };
                    assert!(found, "{rule}: step {index} ({step}) of {steps}\n{status:#}");
                }
            }
        }
    }
}
