//! What is said and counted of probes whose `brk` was killed.

use std::process::Stdio;

use crate::process::{Running, Start, send_signal};
use crate::util::{Sandbox, until, until_file};

/// An open breaker that is due, and a killed probe of it, whose command has begun and lives on if it takes no notice.
fn killed(sandbox: &Sandbox, flags: &[&str], command: &[&str]) -> u32 {
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let _ = std::fs::remove_file(sandbox.file("begun"));
    let mut brk = sandbox.brk();
    brk.args(["run", "--name", "n"]).args(flags).arg("--").args(command);
    let child = brk.stdout(Stdio::null()).stderr(Stdio::null()).start();
    dead(child, sandbox)
}

/// Kills a `brk` once its command has said its number, which it gives.
fn dead(child: Running, sandbox: &Sandbox) -> u32 {
    let command = until_file(&sandbox.file("begun")).trim().parse().expect("a number");
    // The command may be there before brk has noted that it is.
    until("the command is noted", || {
        let owner = sandbox.read("state/n.probe-0");
        owner.contains("\"command\":") && !owner.contains("\"command\":null")
    });
    child.kill_9();
    command
}

const SCRIPT: &str = "echo $$ > begun; exec sleep 600";
const STUBBORN: &str = "trap '' TERM; echo $$ > begun; exec sleep 600";

fn is_free(sandbox: &Sandbox) {
    until("the place is free", || sandbox.run(&["check", "n"]).status().code() == Some(0));
}

#[test]
fn a_lost_probe_was_launched() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    killed(&sandbox, &[], &["sh", "-c", SCRIPT]);
    is_free(&sandbox);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    let totals = sandbox.status("n")["totals"].clone();
    assert_eq!((&totals["launched"], &totals["lost"]), (&3.into(), &1.into()), "{totals}");
}

#[test]
fn a_lost_check_was_no_launch_of_the_command() {
    let sandbox = Sandbox::new();
    killed(&sandbox, &["--probe", SCRIPT], &["true"]);
    is_free(&sandbox);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    let totals = sandbox.status("n")["totals"].clone();
    assert_eq!((&totals["launched"], &totals["lost"]), (&1.into(), &1.into()), "{totals}");
}

#[test]
fn everyone_says_that_only_survivors_are_left() {
    let sandbox = Sandbox::new();
    let command = killed(&sandbox, &[], &["sh", "-c", STUBBORN]);
    let left = format!("was killed; processes left from its probe: {command}");
    sandbox.run(&["status", "n"]).prints(&left);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75).says(&left).lacks("by brk");
    sandbox.run(&["check", "n"]).code(75).prints(&left);
    let explained = sandbox.run(&["explain", "n"]);
    explained.prints(&left).prints("probing now is what is left of the killed brk").lacks("is probing.");
    send_signal(command, "KILL");
}

#[test]
fn what_is_left_of_a_probe_is_lost_by_a_reset() {
    let sandbox = Sandbox::new();
    let command = killed(&sandbox, &[], &["sh", "-c", STUBBORN]);
    sandbox.run(&["reset", "n"]).code(0);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    send_signal(command, "KILL");
    let totals = sandbox.status("n")["totals"].clone();
    assert_eq!((&totals["launched"], &totals["lost"]), (&2.into(), &1.into()), "{totals}");
    assert_eq!(sandbox.events("n"), ["tripped", "half-open", "reset", "lost", "success"]);
}
