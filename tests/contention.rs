//! Many at once: nothing is lost, and a half-open breaker lets exactly as many in as it may.

use std::time::{Duration, Instant};

use crate::process::{Running, Start};
use crate::tools::needs;
use crate::util::{Done, Sandbox, brk, until, until_file};

fn all(children: Vec<Running>) -> Vec<Done> {
    children.into_iter().map(Running::finish).collect()
}

/// Twenty runs that fail together: each ends when the gate is there, and none before all have started.
fn twenty_failures(threshold: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let script = "echo $$ >> started; while [ ! -e gate ]; do sleep 0.02; done; exit 7";
    let words = ["run", "--name", "n", "--failures", threshold, "--cooldown", "1h", "--", "sh", "-c", script];
    let children: Vec<Running> = (0..20).map(|_| sandbox.spawn(&words)).collect();
    until("twenty have started", || sandbox.read("started").lines().count() == 20);
    sandbox.write("gate", "");
    for done in all(children) {
        done.code(7);
    }
    sandbox
}

#[test]
fn twenty_parallel_failures_count_twenty() {
    let sandbox = twenty_failures("20");
    let status = sandbox.status("n");
    let totals = &status["totals"];
    assert_eq!(
        (&totals["launched"], &totals["failure"], &totals["late"]),
        (&20.into(), &20.into(), &0.into())
    );
    assert_eq!(
        (&status["phase"], &totals["opened"], &status["generation"]),
        (&"open".into(), &1.into(), &1.into())
    );
    assert_eq!(sandbox.events("n"), [vec!["failure"; 20], vec!["opened"]].concat());
}

#[test]
fn what_ends_after_the_opening_is_late() {
    let sandbox = twenty_failures("3");
    let status = sandbox.status("n");
    let totals = &status["totals"];
    assert_eq!(
        (&totals["failure"], &totals["late"], &totals["launched"]),
        (&3.into(), &17.into(), &20.into())
    );
    assert_eq!((&totals["opened"], &status["level"], &status["streak"]), (&1.into(), &0.into(), &3.into()));
}

#[test]
fn refusals_are_counted_one_by_one() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "1h"]).code(0);
    let words = ["run", "--name", "n", "--", "touch", "launched"];
    for done in all((0..20).map(|_| sandbox.spawn(&words)).collect()) {
        done.code(75);
    }
    assert_eq!(sandbox.status("n")["totals"]["refused"], 20);
    let history = sandbox.history("n");
    assert_eq!(history.len(), 2, "{history:?}");
    assert_eq!(history[1]["count"], 20);
    assert!(!sandbox.file("launched").exists());
}

/// Candidates race for the places; those who get one wait for the gate, all others are refused at once.
fn race(places: usize, candidates: usize) {
    let sandbox = Sandbox::new();
    let places_text = places.to_string();
    sandbox.run(&["run", "--name", "other", "--failures", "1", "--", "true"]).code(0);
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let script = "echo $$ >> started; while [ ! -e gate ]; do sleep 0.02; done";
    let flags = ["run", "--name", "n", "--probes", &places_text, "--probe-successes", &places_text];
    let words = [&flags[..], &["--", "sh", "-c", script]].concat();
    let mut children: Vec<Running> = (0..candidates).map(|_| sandbox.spawn(&words)).collect();
    let mut refused = 0;
    until("all but the probes have ended", || {
        children.retain_mut(|child| match child.try_wait().expect("a child") {
            Some(status) => {
                assert_eq!(status.code(), Some(75));
                refused += 1;
                false
            }
            None => true,
        });
        children.len() == places
    });
    until("the probes have started", || sandbox.read("started").lines().count() == places);
    let status = sandbox.status("n");
    assert_eq!(status["phase"], "half-open");
    assert_eq!(status["probes"].as_array().map(Vec::len), Some(places), "{status}");
    for probe in status["probes"].as_array().expect("probes") {
        let is_child = children.iter().any(|child| probe["pid"] == child.id());
        assert!(is_child && probe["command_pid"].is_u64(), "{probe}");
    }
    // Another dependency does not notice.
    sandbox.run(&["run", "--name", "other", "--", "true"]).code(0).quiet();
    let late_comer = sandbox.run(&["run", "--name", "n", "--probes", &places_text, "--", "true"]);
    late_comer.code(75).says("being probed");
    sandbox.run(&["check", "n"]).code(75);
    sandbox.write("gate", "");
    for done in all(children) {
        done.code(0);
    }
    assert_eq!(refused, candidates - places);
    let status = sandbox.status("n");
    assert_eq!(status["phase"], "closed", "{status}");
    assert_eq!(status["totals"]["probes"], places);
    assert_eq!(status["totals"]["refused"], candidates - places + 1);
    assert_eq!(sandbox.read("started").lines().count(), places);
}

#[test]
fn eight_candidates_one_probe() {
    race(1, 8);
}

#[test]
fn twelve_candidates_three_probes() {
    race(3, 12);
}

#[test]
fn two_names_never_wait_for_each_other() {
    let sandbox = Sandbox::new();
    let script = "echo up > started; while [ ! -e gate ]; do sleep 0.02; done";
    let child = sandbox.spawn(&["run", "--name", "a", "--", "sh", "-c", script]);
    until_file(&sandbox.file("started"));
    // The first runs and holds no lock: its own breaker can be read, written and run as well.
    sandbox.run(&["run", "--name", "a", "--", "true"]).code(0);
    sandbox.run(&["run", "--name", "b", "--", "true"]).code(0);
    sandbox.run(&["reset", "a"]).code(0);
    sandbox.write("gate", "");
    child.finish().code(0);
    assert_eq!(sandbox.events("a"), ["success", "reset", "late"]);
}

/// A disk that takes its time over a change of phase delays the run that made the change, and no other.
#[test]
fn a_slow_sync_delays_its_own_run_alone() {
    needs!("strace");
    let sandbox = Sandbox::new();
    let mut slow = sandbox.command("strace");
    slow.args(["-f", "-qq", "-o", "trace", "-e", "inject=fdatasync:delay_enter=7000000", brk()]);
    slow.args(["run", "--name", "n", "--failures", "1", "--cooldown", "1h", "--", "false"]);
    let slow = slow.start();
    let is_open = || sandbox.run(&["check", "n"]).status().code() == Some(75);
    until("the change is written", is_open);
    let begun = Instant::now();
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75).lacks("locked").lacks("warning");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "a run waited {took:?} for another's disk");
    slow.finish().code(1);
    assert_eq!(sandbox.status("n")["totals"]["refused"], 1);
}

/// A `brk` that was stopped keeps the lock of a breaker that is due. One of the others probes, and no more.
#[test]
fn a_lock_that_is_never_given_back_lets_one_probe_through() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let mut holder = sandbox.command("sh");
    holder.args(["-c", "exec 9>> state/n.lock; flock 9; echo > held; exec sleep 600"]);
    let holder = holder.start();
    until_file(&sandbox.file("held"));
    let script = "echo $$ >> launched; while [ ! -e gate ]; do sleep 0.02; done";
    let mut runs: Vec<Running> =
        (0..5).map(|_| sandbox.spawn(&["run", "--name", "n", "--", "sh", "-c", script])).collect();
    until("all but one are refused", || {
        let is_over = |run: &mut Running| run.try_wait().expect("a child").is_some();
        runs.iter_mut().filter_map(|run| is_over(run).then_some(())).count() == 4
    });
    sandbox.write("gate", "");
    let mut codes: Vec<_> = all(runs).iter().map(|done| done.status().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(75), Some(75), Some(75), Some(75)]);
    assert_eq!(sandbox.read("launched").lines().count(), 1);
    holder.kill_9();
}
