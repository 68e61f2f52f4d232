//! Further attempts, and what runs in the stead of a command.

use serde_json::json;

use super::{report, run};
use crate::process::{Start, send_signal};
use crate::util::{Sandbox, brk, until, until_file};

#[test]
fn retries_go_on_until_success_and_count_each_attempt() {
    let sandbox = Sandbox::new();
    let script = "echo attempt $BRK_ATTEMPT; test $BRK_ATTEMPT = 3";
    let flags = ["--retries", "5", "--retry-delay", "1ms", "--failures", "9", "--report", "report"];
    let done = run(&sandbox, "r", &flags, &["sh", "-c", script]);
    done.code(0).prints("attempt 1\nattempt 2\nattempt 3\n");
    assert_eq!(sandbox.events("r"), ["failure", "failure", "success"]);
    assert_eq!(sandbox.status("r")["totals"]["launched"], 3);
    let report = report(&sandbox);
    assert_eq!((&report["attempts"], &report["outcome"]), (&json!(3), &json!("success")));
}

#[test]
fn the_attempts_number_is_there_with_retries_alone() {
    let sandbox = Sandbox::new();
    let script = ["sh", "-c", "echo ${BRK_ATTEMPT-none}"];
    run(&sandbox, "r", &[], &script).code(0).prints("none\n");
    run(&sandbox, "r", &["--retries", "1"], &script).code(0).prints("1\n");
}

#[test]
fn each_further_attempt_is_announced_and_jitter_0_makes_the_pause_exact() {
    let sandbox = Sandbox::new();
    let flags = ["--retries", "2", "--retry-delay", "10ms", "--retry-jitter", "0", "--failures", "99"];
    let done = run(&sandbox, "a", &flags, &["false"]);
    let lines = "brk: a: exit 1; attempt 2 of 3 in 10ms\nbrk: a: exit 1; attempt 3 of 3 in 20ms\n";
    assert_eq!(done.code(1).stderr(), lines);
    run(&sandbox, "a", &[&flags[..], &["-q"]].concat(), &["false"]).code(1).quiet();
}

#[test]
fn an_opening_ends_the_retrying_and_counts_no_refusal() {
    let sandbox = Sandbox::new();
    let flags = ["--retries", "9", "--retry-delay", "0", "--failures", "2", "--report", "report"];
    let script = ["sh", "-c", "exit $((BRK_ATTEMPT + 10))"];
    let done = run(&sandbox, "r", &flags, &script);
    assert_eq!(done.code(12).stderr(), "brk: r: exit 11; attempt 2 of 10 in 0s\n");
    assert_eq!(sandbox.events("r"), ["failure", "failure", "opened"]);
    let status = sandbox.status("r");
    assert_eq!((&status["totals"]["refused"], &status["totals"]["launched"]), (&json!(0), &json!(2)));
    assert_eq!(report(&sandbox)["attempts"], 2);
    // Refused at once, the first attempt is a refusal as any other.
    run(&sandbox, "r", &flags, &script).code(75).says("open after 2 failures (last: exit 12)");
    assert_eq!(report(&sandbox)["attempts"], 0);
}

#[test]
fn what_opens_the_breaker_in_the_pause_ends_the_retrying_too() {
    let sandbox = Sandbox::new();
    let trip = format!("{} trip r; exit 3", brk());
    let flags = ["--retries", "3", "--retry-delay", "1ms", "--failures", "9"];
    run(&sandbox, "r", &flags, &["sh", "-c", &trip]).code(3);
    assert_eq!(sandbox.events("r"), ["tripped", "late"]);
    assert_eq!(sandbox.status("r")["totals"]["refused"], 0);
}

#[test]
fn what_is_ignored_is_not_tried_again() {
    let sandbox = Sandbox::new();
    let flags = ["--retries", "3", "--retry-delay", "1ms", "--ignore-on", "5"];
    run(&sandbox, "r", &flags, &["sh", "-c", "exit 5"]).code(5);
    run(&sandbox, "r", &flags, &["no-such-program"]).code(127);
    assert_eq!(sandbox.events("r"), ["ignored", "ignored"]);
}

#[test]
fn a_timeout_is_tried_again_and_each_attempt_has_the_whole_time() {
    let sandbox = Sandbox::new();
    let flags = ["--retries", "1", "--retry-delay", "0", "--timeout", "100ms", "--failures", "9"];
    run(&sandbox, "r", &flags, &["sleep", "1000"]).code(124);
    assert_eq!(sandbox.status("r")["totals"]["timeout"], 2);
}

#[test]
fn nothing_of_an_attempt_is_alive_when_the_next_begins() {
    let sandbox = Sandbox::new();
    // The first attempt leaves a child that is out of its session, and says when that is ready.
    let script = "if [ $BRK_ATTEMPT = 1 ]; then
            setsid sh -c 'echo $$ > left; exec sleep 1000' &
            while [ ! -s left ]; do sleep 0.01; done; exit 1
        fi
        if kill -0 $(cat left) 2>/dev/null; then echo alive; else echo gone; fi";
    let flags = ["--retries", "1", "--retry-delay", "0", "--failures", "9"];
    run(&sandbox, "r", &flags, &["sh", "-c", script]).code(0).prints("gone\n");
}

#[test]
fn a_background_child_of_the_last_attempt_is_left_alone() {
    let sandbox = Sandbox::new();
    let script = "sleep 1000 >/dev/null 2>&1 & echo $! > left; exit 0";
    run(&sandbox, "r", &["--retries", "1"], &["sh", "-c", script]).code(0);
    let pid = until_file(&sandbox.file("left")).trim().parse().expect("a pid");
    send_signal(pid, "KILL");
}

#[test]
fn a_signal_in_the_pause_ends_brk_at_once() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    let script = "echo $$ > started; exit 1";
    // Full jitter may make a pause short, though not each of twenty times.
    let flags =
        ["--retries", "20", "--retry-delay", "1000s", "--retry-max-delay", "1000s", "--failures", "99"];
    command.args(["run", "--name", "r"]).args(flags).args(["--", "sh", "-c", script]);
    let child = command.start();
    let pid = child.id();
    until("the first attempt is recorded", || sandbox.run(&["check", "r"]).stdout().contains("closed\n"));
    until("the first failure", || sandbox.status("r")["totals"]["failure"].as_u64() >= Some(1));
    send_signal(pid, "TERM");
    child.finish().signal(15);
}

#[test]
fn a_fallback_answers_in_the_commands_stead() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "f", "--for", "1h"]).code(0);
    let fallback = ["--fallback", "echo instead; exit 9", "--report", "report"];
    let done = run(&sandbox, "f", &fallback, &["echo", "command"]);
    done.code(9).says("open after a manual trip");
    assert_eq!(done.stdout(), "instead\n");
    let report = report(&sandbox);
    assert_eq!((&report["decision"], &report["attempts"]), (&json!("refused"), &json!(0)));
    run(&sandbox, "f", &["-q", "--fallback", "kill -9 $$"], &["true"]).signal(9);
}

#[test]
fn when_the_fallback_runs() {
    let timeout = ["--timeout", "100ms"];
    let rows: [(&str, &[&str], &[&str], i32); 8] = [
        ("refused", &[], &["sh", "-c", "exit 3"], 3),
        ("failure", &[], &["sh", "-c", "exit 3"], 9),
        ("failure", &[], &["true"], 0),
        ("failure", &["--ignore-on", "3"], &["sh", "-c", "exit 3"], 3),
        ("failure", &timeout, &["sleep", "1000"], 9),
        ("timeout", &timeout, &["sleep", "1000"], 9),
        ("timeout", &[], &["sh", "-c", "exit 3"], 3),
        ("refused,timeout", &timeout, &["sleep", "1000"], 9),
    ];
    for (on, flags, command, code) in rows {
        let sandbox = Sandbox::new();
        let flags = [&["--fallback", "exit 9", "--fallback-on", on], flags].concat();
        run(&sandbox, "f", &flags, command).code(code);
    }
}

#[test]
fn retries_opening_fallback_and_report_together() {
    let sandbox = Sandbox::new();
    let flags = [
        "--retries",
        "5",
        "--retry-delay",
        "1ms",
        "--failures",
        "3",
        "--fallback",
        "echo cached; exit 0",
        "--fallback-on",
        "refused,failure",
        "--report",
        "report",
    ];
    let done = run(&sandbox, "api", &flags, &["sh", "-c", "echo try $BRK_ATTEMPT; exit 22"]);
    done.code(0).prints("try 1\ntry 2\ntry 3\ncached\n");
    let first = report(&sandbox);
    assert_eq!(
        (&first["attempts"], &first["exit"], &first["phase_after"]),
        (&json!(3), &json!(22), &json!("open"))
    );
    let done = run(&sandbox, "api", &flags, &["sh", "-c", "echo try"]);
    done.code(0).says("next try in");
    assert_eq!(done.stdout(), "cached\n");
    assert_eq!(report(&sandbox)["decision"], "refused");
}
