//! Waiting to be admitted, and places for runs at once.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use super::{TOUCHY, report, run};
use crate::process::{Running, Start, send_signal};
use crate::util::{Sandbox, until, until_file};

#[test]
fn waits_until_the_probe_may_run() {
    let sandbox = Sandbox::new();
    run(&sandbox, "w", &["--failures", "1", "--cooldown", "1s", "--jitter", "0"], &["false"]).code(1);
    run(&sandbox, "w", &["--wait"], &["echo", "ran"]).code(0).prints("ran\n");
    assert_eq!(sandbox.events("w"), ["failure", "opened", "half-open", "success", "closed"]);
    assert_eq!(sandbox.status("w")["totals"]["refused"], 0);
}

#[test]
fn waits_no_longer_than_it_may() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "w", "--for", "1h"]).code(0);
    run(&sandbox, "w", &["--wait=200ms"], &["true"]).code(75).says("open after a manual trip");
    assert_eq!(sandbox.status("w")["totals"]["refused"], 1);
}

#[test]
fn an_operators_word_reaches_who_waits() {
    for (hold, release) in [
        (&["trip", "w", "--for", "1h"][..], &["reset", "w"][..]),
        (&["hold", "w", "open"], &["release", "w"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.run(hold).code(0);
        let mut command = sandbox.brk();
        command.args(["run", "--name", "w", "--wait", "--", "echo", "ran"]);
        let mut child = command.stdout(Stdio::piped()).start();
        // Asleep, so it has been refused.
        let stat = format!("/proc/{}/stat", child.id());
        until("brk waits", || std::fs::read_to_string(&stat).unwrap_or_default().contains(") S "));
        assert_eq!(child.try_wait().expect("a status"), None);
        sandbox.run(release).code(0);
        child.finish().code(0).prints("ran\n");
    }
}

#[test]
fn a_signal_while_waiting_ends_brk_at_once_and_launches_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run(&["hold", "w", "open"]).code(0);
    let mut command = sandbox.brk();
    let child = command.args(["run", "--name", "w", "--wait", "--", "touch", "launched"]).start();
    let stat = format!("/proc/{}/stat", child.id());
    until("brk waits", || std::fs::read_to_string(&stat).unwrap_or_default().contains(") S "));
    child.signal("INT");
    child.finish().signal(2);
    assert!(!sandbox.file("launched").exists());
}

/// Starts a run that is alive until `go` is there.
fn occupant(sandbox: &Sandbox, flags: &[&str], sign: &str) -> Running {
    let script = format!("echo $$ > {sign}; while [ ! -e go ]; do sleep 0.01; done");
    let mut command = sandbox.brk();
    command.args(["run", "--name", "s"]).args(flags).args(["--", "sh", "-c", &script]);
    let child = command.start();
    until_file(&sandbox.file(sign));
    child
}

#[test]
fn at_most_so_many_run_at_once() {
    let sandbox = Sandbox::new();
    let two = ["--max-concurrent", "2"];
    let first = occupant(&sandbox, &two, "first");
    let second = occupant(&sandbox, &two, "second");
    run(&sandbox, "s", &two, &["true"]).code(75).says("brk: s: busy");
    run(&sandbox, "s", &["--max-concurrent", "2", "--report", "report"], &["true"]).code(75);
    assert_eq!(report(&sandbox)["reason"], "busy");
    // Another name, and a run without the flag, have nothing to do with it.
    run(&sandbox, "other", &two, &["true"]).code(0);
    run(&sandbox, "s", &[], &["true"]).code(0);
    assert_eq!(sandbox.status("s")["totals"]["refused"], 2);
    sandbox.write("go", "");
    first.finish().code(0);
    second.finish().code(0);
    run(&sandbox, "s", &two, &["true"]).code(0);
}

#[test]
fn a_place_is_waited_for() {
    let sandbox = Sandbox::new();
    let one = ["--max-concurrent", "1"];
    let first = occupant(&sandbox, &one, "first");
    run(&sandbox, "s", &["--max-concurrent", "1", "--wait=100ms"], &["true"]).code(75).says("busy");
    let mut command = sandbox.brk();
    command.args(["run", "--name", "s", "--max-concurrent", "1", "--wait", "--", "true"]);
    let second = command.start();
    sandbox.write("go", "");
    first.finish().code(0);
    second.finish().code(0);
}

#[test]
fn a_killed_holder_frees_its_place_when_its_command_is_gone() {
    let sandbox = Sandbox::new();
    let one = ["--max-concurrent", "1"];
    // The command ignores the signal that it gets when brk dies.
    let script = "trap '' TERM; echo $$ > sign; while [ ! -e go ]; do sleep 0.01; done; echo > ended";
    let mut command = sandbox.brk();
    command.args(["run", "--name", "s"]).args(one).args(["--", "sh", "-c", script]);
    let child = command.start();
    until_file(&sandbox.file("sign"));
    child.signal("KILL");
    child.finish().signal(9);
    run(&sandbox, "s", &one, &["true"]).code(75).says("busy");
    sandbox.write("go", "");
    until_file(&sandbox.file("ended"));
    until("the place is free", || run(&sandbox, "s", &one, &["true"]).status().code() == Some(0));
}

#[test]
fn a_daemon_that_is_left_behind_keeps_no_place() {
    let sandbox = Sandbox::new();
    let one = ["--max-concurrent", "1"];
    let script = "setsid sleep 1000 >/dev/null 2>&1 & echo $! > daemon";
    run(&sandbox, "s", &one, &["sh", "-c", script]).code(0);
    run(&sandbox, "s", &one, &["true"]).code(0);
    let pid = until_file(&sandbox.file("daemon")).trim().parse().expect("a pid");
    send_signal(pid, "KILL");
}

#[test]
fn a_signal_during_the_check_ends_the_run_and_frees_the_place() {
    let sandbox = Sandbox::new();
    run(&sandbox, "p", &TOUCHY, &["false"]).code(1);
    let mut command = sandbox.brk();
    command.args(["run", "--name", "p"]).args(TOUCHY);
    command.args(["--probe", "echo > checking; exec sleep 1000", "--", "touch", "launched"]);
    let child = command.start();
    until_file(&sandbox.file("checking"));
    child.signal("TERM");
    let status = child.finish().status();
    assert_eq!(status.signal(), Some(15));
    assert!(!sandbox.file("launched").exists());
    run(&sandbox, "p", &TOUCHY, &["true"]).code(0);
    assert_eq!(sandbox.status("p")["totals"]["lost"], 0);
}

#[test]
fn a_check_that_fails_or_does_not_close_yet_is_waited_out_too() {
    let sandbox = Sandbox::new();
    let flags = ["--cooldown", "100ms", "--jitter", "0", "--backoff", "1"];
    sandbox.run(&["trip", "p", "--for", "1ms"]).code(0);
    // The first check fails, and so does the run that may not wait for a second.
    let check = ["--probe", "echo >> checks; test $(wc -l < checks) -ge 3"];
    run(&sandbox, "p", &[&flags[..], &check, &["--wait"]].concat(), &["echo", "ran"]).code(0).prints("ran\n");
    assert_eq!(sandbox.read("checks").lines().count(), 3);
    assert_eq!(sandbox.status("p")["totals"]["refused"], 0);
    sandbox.run(&["trip", "q", "--for", "1ms"]).code(0);
    let twice = ["--probe", "true", "--probe-successes", "2"];
    run(&sandbox, "q", &[&flags[..], &twice].concat(), &["true"]).code(75).says("half-open, and more probes");
    run(&sandbox, "q", &[&flags[..], &twice, &["--wait"]].concat(), &["echo", "ran"]).code(0).prints("ran\n");
    sandbox.run(&["trip", "r", "--for", "1ms"]).code(0);
    let in_vain = ["--probe", "false", "--wait=300ms"];
    run(&sandbox, "r", &[&flags[..], &in_vain].concat(), &["true"])
        .code(75)
        .says("open after a failed probe");
}
