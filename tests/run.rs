//! `brk run` from outside: exit codes, what is said and what is not, bad input, reports, bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};

use crate::util::{Sandbox, finish};

/// Each command's own code comes through, and nothing is printed.
#[test]
fn the_commands_code_is_the_exit() {
    let sandbox = Sandbox::new();
    for code in [0, 1, 7, 75, 124, 125, 126, 127, 128, 255] {
        let name = format!("code-{code}");
        let done = sandbox.run(&["run", "--name", &name, "--", "sh", "-c", &format!("exit {code}")]);
        done.code(code).quiet();
    }
}

#[test]
fn the_commands_signal_is_the_end() {
    let sandbox = Sandbox::new();
    for (signal, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("HUP", 1), ("USR1", 10), ("PIPE", 13)]
    {
        let script = format!("ulimit -c 0; kill -{signal} $$");
        let done = sandbox.run(&["run", "--name", signal, "--", "sh", "-c", &script]);
        done.signal(number).quiet();
    }
}

#[test]
fn a_core_is_the_commands_and_not_ours() {
    let sandbox = Sandbox::new();
    let done = sandbox.run(&["run", "--name", "a", "--", "sh", "-c", "ulimit -c 0; kill -ABRT $$"]);
    done.signal(6);
    assert!(!done.status().core_dumped(), "brk itself dumped core\n{}", done.all());
}

#[test]
fn timed_out() {
    let sandbox = Sandbox::new();
    let run = |timeout: &str, kill_after: &str, words: &[&str]| {
        let flags =
            ["run", "--name", "t", "--failures", "0", "--timeout", timeout, "--kill-after", kill_after];
        sandbox.run(&[&flags, words].concat())
    };
    run("200ms", "30s", &["--", "sleep", "1000"]).code(124).quiet();
    run("200ms", "0", &["--", "sleep", "1000"]).code(124).quiet();
    run("200ms", "30s", &["--preserve-status", "--", "sleep", "1000"]).signal(15);
    // At once is TERM and KILL together, and either may be what it dies of.
    let preserved = run("200ms", "0", &["--preserve-status", "--", "sleep", "1000"]).status().signal();
    assert!(matches!(preserved, Some(9 | 15)), "{preserved:?}");
    // The time that a shell needs to set its trap is well below these two seconds.
    let exits_with_3 = "trap 'exit 3' TERM; while :; do sleep 0.01; done";
    let exits_with_0 = "trap 'exit 0' TERM; while :; do sleep 0.01; done";
    run("2s", "30s", &["--", "sh", "-c", exits_with_3]).code(124);
    run("2s", "30s", &["--", "sh", "-c", exits_with_0]).code(124);
    run("2s", "30s", &["--preserve-status", "--", "sh", "-c", exits_with_3]).code(3);
    run("2s", "30s", &["--preserve-status", "--", "sh", "-c", exits_with_0]).code(0);
    let is_deaf = "trap '' TERM; while :; do sleep 0.01; done";
    run("2s", "0", &["--preserve-status", "--", "sh", "-c", is_deaf]).signal(9);
    let status = sandbox.status("t");
    assert_eq!((&status["totals"]["timeout"], &status["totals"]["failure"]), (&9.into(), &9.into()));
    sandbox.run(&["run", "--name", "none", "--timeout", "0", "--", "sleep", "0.3"]).code(0);
}

#[test]
fn what_cannot_be_started() {
    let sandbox = Sandbox::new();
    let text = sandbox.write("text", "no program\n");
    let text = text.to_str().expect("UTF-8");
    let dir = sandbox.path().to_str().expect("UTF-8").to_owned();
    let run = |command: &str| sandbox.run(&["run", "--name", "n", "--failures", "1", "--", command]);
    run("no-such-program-anywhere").code(127).says("no-such-program-anywhere");
    run("./no/such/path").code(127).says("./no/such/path");
    run(text).code(126).says(text);
    run(&dir).code(126).says(&dir);
    // Nothing of this says anything about a dependency.
    let status = sandbox.status("n");
    let totals = &status["totals"];
    assert_eq!(
        (&totals["ignored"], &totals["launched"], &totals["failure"]),
        (&4.into(), &0.into(), &0.into())
    );
    assert_eq!(status["phase"], "closed");
    assert_eq!(status["last"]["ending"], "not-started");
}

#[test]
fn a_script_without_an_interpreter_runs_by_sh() {
    let sandbox = Sandbox::new();
    let script = sandbox.script("plain", "exit $1\n");
    sandbox.run(&["run", "--name", "s", "--", script.to_str().expect("UTF-8"), "9"]).code(9).quiet();
}

#[test]
fn a_refusal_says_why_and_when() {
    let sandbox = Sandbox::new();
    let fails = |flags: &[&str]| {
        let mut all = vec!["run", "--name", "db-backup", "--cooldown", "1h", "--jitter", "0"];
        all.extend(flags);
        all.extend(["--", "sh", "-c", "echo x >> launched; exit 7"]);
        sandbox.run(&all)
    };
    for _ in 0..3 {
        fails(&[]).code(7).quiet();
    }
    let done = fails(&[]);
    done.code(75);
    let said = done.stderr();
    assert_eq!(said.lines().count(), 1, "{}", done.all());
    assert!(
        said.starts_with("brk: db-backup: open after 3 failures (last: exit 7); next try in "),
        "{}",
        done.all()
    );
    assert!(said.contains("in 59m") || said.contains("in 1h"), "{}", done.all());
    assert_eq!(done.stdout(), "");
    fails(&["-q"]).code(75).quiet();
    fails(&["--quiet", "--refused-exit", "0"]).code(0).quiet();
    fails(&["--refused-exit", "255"]).code(255);
    assert_eq!(sandbox.read("launched").lines().count(), 3, "a refused command was launched");
    let status = sandbox.status("db-backup");
    assert_eq!(status["totals"]["refused"], 4);
    assert_eq!(status["totals"]["launched"], 3);
}

#[test]
fn options_end_at_the_first_operand() {
    let sandbox = Sandbox::new();
    let run = |words: &[&str]| sandbox.run(&[&["run", "--name", "o"], words].concat());
    run(&["echo", "--name", "y", "--version"]).code(0).prints("--name y --version\n");
    run(&["--", "echo", "--", "-q"]).code(0).prints("-- -q\n");
    run(&["echo", "--", "-q"]).code(0).prints("-- -q\n");
    run(&["--", "--help"]).code(127);
    run(&["printf", "%s|", "", " ", "a b", "*"]).code(0).prints("| |a b|*|");
}

#[test]
fn arguments_are_bytes() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (1..=255).collect();
    let mut command = sandbox.brk();
    command.args(["run", "--name", "b", "--", "sh", "-c", "printf %s \"$1\" > out", "sh"]);
    command.arg(OsStr::from_bytes(&bytes));
    finish(command).code(0).quiet();
    assert_eq!(std::fs::read(sandbox.file("out")).expect("its output"), bytes);
    let mut program = sandbox.path().as_os_str().as_bytes().to_vec();
    program.extend(b"/\xff\xfe");
    std::os::unix::fs::symlink("/bin/true", OsStr::from_bytes(&program)).expect("a link");
    let mut command = sandbox.brk();
    command.args(["run", "--name", "b", "--"]).arg(OsStr::from_bytes(&program));
    finish(command).code(0).quiet();
    assert_eq!(sandbox.status("b")["last"]["program"], "\u{fffd}\u{fffd}");
}

#[test]
fn the_environment_is_passed_on() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    command.env("ODD", OsStr::from_bytes(b"\xff\n=")).env("EMPTY", "");
    command.args(["run", "--name", "e", "--", "env", "-0"]);
    let inside = finish(command);
    inside.code(0);
    let mut plain = sandbox.command("env");
    plain.env("ODD", OsStr::from_bytes(b"\xff\n=")).env("EMPTY", "").arg("-0");
    assert_eq!(inside.stdout(), finish(plain).stdout());
}

#[test]
fn nothing_of_arguments_is_stored() {
    let sandbox = Sandbox::new();
    let secret = "hunter2-is-secret";
    for name in ["a", "b"] {
        let script = format!("exit 1 # {secret}");
        sandbox.run(&["run", "--name", name, "--failures", "1", "--", "sh", "-c", &script]).code(1);
        let probe = format!("exit 1 # {secret}");
        sandbox.run(&["trip", name, "--for", "0"]).code(0);
        sandbox.run(&["run", "--name", name, "--probe", &probe, "--", "true", secret]).code(75);
    }
    for entry in std::fs::read_dir(sandbox.state()).expect("a state directory") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file of state");
        assert!(!String::from_utf8_lossy(&bytes).contains(secret));
    }
}

#[test]
fn a_report_is_one_object() {
    let sandbox = Sandbox::new();
    let report = sandbox.file("report.json");
    let run = |words: &[&str]| {
        let path = report.to_str().expect("UTF-8");
        let head = ["run", "--name", "r", "--failures", "1", "--cooldown", "1h", "--report", path];
        sandbox.run(&[&head, words].concat());
        let text = std::fs::read_to_string(&report).expect("a report");
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let check = |words: &[&str], expected: serde_json::Value| {
        let found = run(words);
        for (key, value) in expected.as_object().expect("an object") {
            assert_eq!(&found[key], value, "{key} of {words:?}: {found}");
        }
        for key in ["reason", "duration_ms", "retry_at", "signal", "exit", "ending", "outcome"] {
            assert!(found.get(key).is_some(), "{key} is missing: {found}");
        }
    };
    check(
        &["--", "true"],
        serde_json::json!({"name": "r", "decision": "launched", "probe": false, "attempts": 1, "ending": "exited",
            "exit": 0, "signal": null, "outcome": "success", "phase_before": "closed", "phase_after": "closed",
            "retry_at": null, "reason": null}),
    );
    check(
        &["--", "sh", "-c", "kill -TERM $$"],
        serde_json::json!({"ending": "signaled", "exit": null, "signal": "SIGTERM", "outcome": "ignored"}),
    );
    check(
        &["--", "/nowhere"],
        serde_json::json!({"decision": "launched", "ending": "not-started", "outcome": "ignored", "exit": null}),
    );
    check(
        &["--timeout", "50ms", "--ignore-on", "timeout", "--", "sleep", "1000"],
        serde_json::json!({"ending": "timed-out", "outcome": "ignored", "exit": null, "phase_after": "closed"}),
    );
    check(
        &["--", "sh", "-c", "exit 7"],
        serde_json::json!({"exit": 7, "outcome": "failure", "phase_before": "closed", "phase_after": "open"}),
    );
    check(
        &["--", "true"],
        serde_json::json!({"decision": "refused", "reason": "open", "attempts": 0, "ending": null, "exit": null,
            "outcome": null, "duration_ms": null, "phase_before": "open", "phase_after": "open"}),
    );
    assert!(run(&["--", "true"])["retry_at"].is_string());
    sandbox.run(&["trip", "r", "--for", "0"]).code(0);
    check(
        &["--", "true"],
        serde_json::json!({"probe": true, "phase_before": "open", "phase_after": "closed", "retry_at": null}),
    );
    // A report that cannot be written is a warning, and the exit stands.
    let done = sandbox.run(&["run", "--name", "r", "--report", "no/such/dir/r", "--", "sh", "-c", "exit 0"]);
    done.code(0).says("warning").says("no/such/dir/r");
}

#[test]
fn a_report_through_a_link_or_pipe_goes_where_it_leads() {
    let sandbox = Sandbox::new();
    let done = sandbox.shell("brk run --name p --report /dev/fd/3 -- true 3>&1 | cat");
    done.code(0).prints("\"decision\":\"launched\"");
}

/// Each row: a command line that cannot be meant, and what its one line must say.
const BAD: &[(&[&str], &[&str])] = &[
    (&["run"], &["--name"]),
    (&["run", "--name", "x"], &["CMD"]),
    (&["run", "--", "touch", "launched"], &["--name"]),
    (&["run", "--name", "", "touch", "launched"], &["--name", "empty"]),
    (&["run", "--name", "a\nb", "touch", "launched"], &["--name", "control"]),
    (&["run", "--name", "x", "--bogus", "touch", "launched"], &["--bogus"]),
    (&["run", "--name", "x", "--failure", "3", "touch", "launched"], &["--failure", "--failures"]),
    (&["run", "--name", "x", "--failures", "-1", "touch", "launched"], &["--failures", "3"]),
    (&["run", "--name", "x", "--failures", "three", "touch", "launched"], &["--failures", "number"]),
    (&["run", "--name", "x", "--timeout", "soon", "touch", "launched"], &["--timeout", "10m"]),
    (&["run", "--name", "x", "--timeout", "-5", "touch", "launched"], &["--timeout", "10m"]),
    (&["run", "--name", "x", "--timeout", "", "touch", "launched"], &["--timeout"]),
    (&["run", "--name", "x", "--cooldown", "5x", "touch", "launched"], &["--cooldown", "10m"]),
    (&["run", "--name", "x", "--failure-rate", "50", "touch", "launched"], &["--failure-rate", "50%", "0.5"]),
    (&["run", "--name", "x", "--failure-rate", "nan", "touch", "launched"], &["--failure-rate", "50%"]),
    (&["run", "--name", "x", "--failure-rate", "-0.5", "touch", "launched"], &["--failure-rate", "50%"]),
    (&["run", "--name", "x", "--jitter", "2", "touch", "launched"], &["--jitter", "50%"]),
    (&["run", "--name", "x", "--slow-rate", "50%", "touch", "launched"], &["--slow-rate", "--slow-after"]),
    (
        &["run", "--name", "x", "--min-calls", "30", "--window", "20", "touch", "launched"],
        &["--min-calls", "--window"],
    ),
    (&["run", "--name", "x", "--min-calls", "21", "touch", "launched"], &["--min-calls", "--window"]),
    (
        &["run", "--name", "x", "--cooldown", "2m", "--max-cooldown", "1m", "touch", "launched"],
        &["--max-cooldown", "--cooldown"],
    ),
    (&["run", "--name", "x", "--backoff", "0.5", "touch", "launched"], &["--backoff", "1"]),
    (&["run", "--name", "x", "--probes", "0", "touch", "launched"], &["--probes", "1"]),
    (&["run", "--name", "x", "--probe-successes", "0", "touch", "launched"], &["--probe-successes", "1"]),
    (&["run", "--name", "x", "--probe-failures", "0", "touch", "launched"], &["--probe-failures", "1"]),
    (&["run", "--name", "x", "--window", "0", "touch", "launched"], &["--window"]),
    (&["run", "--name", "x", "--min-calls", "0", "touch", "launched"], &["--min-calls", "1"]),
    (&["run", "--name", "x", "--refused-exit", "256", "touch", "launched"], &["--refused-exit", "255"]),
    (&["run", "--name", "x", "--signal", "NOPE", "touch", "launched"], &["--signal", "TERM"]),
    (&["run", "--name", "x", "--profile", "nope", "touch", "launched"], &["--profile", "curl"]),
    (&["run", "--name", "x", "--fail-on", "", "touch", "launched"], &["--fail-on", "SPEC"]),
    (&["run", "--name", "x", "--fail-on", "256", "touch", "launched"], &["--fail-on", "255"]),
    (&["run", "--name", "x", "--fail-on", "10-5", "touch", "launched"], &["--fail-on", "5-10"]),
    (
        &["run", "--name", "x", "--success-on", "1-10", "--fail-on", "5", "touch", "launched"],
        &["--success-on", "--fail-on", "5"],
    ),
    (
        &["run", "--name", "x", "--trip-on", "timeout", "--ignore-on", "timeout", "touch", "launched"],
        &["--trip-on", "--ignore-on", "timeout"],
    ),
    (
        &["run", "--name", "x", "--on-state-error", "panic", "touch", "launched"],
        &["--on-state-error", "refuse"],
    ),
    (&["check"], &["NAME"]),
    (&["frobnicate"], &["frobnicate"]),
    (&["statsu"], &["statsu", "status"]),
    (&["trip", "x", "--for", "soon"], &["--for", "10m"]),
    (&["hold", "x", "ajar"], &["ajar", "open", "closed"]),
    (&["history", "x", "-n", "-3"], &["-3"]),
    (&["reset"], &["--all"]),
    (&["forget"], &["NAME"]),
    (&["completions", "tcsh"], &["tcsh", "bash"]),
];

#[test]
fn bad_input_is_one_clear_line() {
    let sandbox = Sandbox::new();
    for (words, hints) in BAD {
        let done = sandbox.run(words);
        let all = done.all();
        done.code(if words[0] == "run" { 125 } else { 2 });
        let said = done.stderr();
        assert_eq!(said.lines().count(), 1, "not one line\n{all}");
        assert!(said.starts_with("brk: "), "{all}");
        assert_eq!(done.stdout(), "", "{all}");
        for hint in *hints {
            assert!(said.contains(hint), "{hint:?} is not named\n{all}");
        }
    }
    assert!(!sandbox.file("launched").exists(), "something was launched");
    assert!(!sandbox.state().exists(), "something was stored");
}

#[test]
fn names_that_are_no_text_are_refused() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    command.args(["run", "--name"]).arg(OsStr::from_bytes(b"\xff")).args(["touch", "launched"]);
    let done = finish(command);
    done.code(125);
    assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    let long = "n".repeat(129);
    sandbox.run(&["run", "--name", &long, "touch", "launched"]).code(125).says("128");
    assert!(!sandbox.file("launched").exists());
}

#[test]
fn unknown_breakers_are_named() {
    let sandbox = Sandbox::new();
    for words in [&["status", "nope"][..], &["history", "nope"], &["reset", "nope"], &["release", "nope"]] {
        sandbox.run(words).code(1).says("nope");
    }
    sandbox.run(&["forget", "nope"]).code(1).says("nope");
    sandbox.run(&["check", "nope"]).code(0);
    assert!(!sandbox.state().exists(), "asking made something");
}

#[test]
fn ignored_signals_stay_ignored() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("sh");
    let script =
        format!("trap '' HUP; exec {} run --name i -- sh -c 'kill -HUP $$; exit 4'", crate::util::brk());
    command.args(["-c", &script]).process_group(0);
    finish(command).code(4).quiet();
}

/// As with `timeout`: of a flag that is given twice the last counts, and lists add up.
#[test]
fn the_last_of_a_flag_counts_and_lists_add_up() {
    let sandbox = Sandbox::new();
    let flags = ["run", "--name", "x", "--timeout", "1000", "--timeout", "100ms", "--", "sleep", "1000"];
    sandbox.run(&flags).code(124);
    for code in ["3", "4"] {
        let script = format!("exit {code}");
        sandbox.run(&[
            "run",
            "--name",
            "y",
            "--ignore-on",
            "3",
            "--ignore-on",
            "4",
            "--",
            "sh",
            "-c",
            &script,
        ]);
    }
    assert_eq!(sandbox.events("y"), ["ignored", "ignored"]);
}

/// When to come back is when a run would be admitted, whichever rule admits it.
#[test]
fn a_refusal_knows_of_run_at_least_every() {
    let sandbox = Sandbox::new();
    let flags =
        ["run", "--name", "x", "--failures", "1", "--cooldown", "1d", "--run-at-least-every", "2h", "--"];
    sandbox.run(&[&flags[..], &["false"]].concat()).code(1);
    sandbox.run(&[&flags[..], &["true"]].concat()).code(75).says("next try in 2h\n");
    sandbox.run(&["check", "x"]).code(75).prints("next try in 2h\n");
}

/// What stands in a run's way as state does not stand in the way of the run.
#[test]
fn a_check_of_damaged_state_says_that_a_run_would_be_admitted() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.state()).expect("a directory");
    sandbox.write("state/bad.journal", "junk\n");
    sandbox.run(&["check", "bad"]).code(0).says("warning: no record of");
    sandbox.run(&["reset", "bad"]).code(1).says("no record of");
    assert_eq!(sandbox.read("state/bad.journal"), "junk\n", "a reset sets nothing aside");
    sandbox.run(&["run", "--name", "bad", "--", "true"]).code(0).says("is set aside");
}

#[test]
fn what_a_newer_brk_wrote_is_not_forgotten() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.state()).expect("a directory");
    sandbox.write("state/new.journal", "{\"v\":99}\n");
    sandbox.run(&["forget", "new"]).code(1).says("version 99");
    assert_eq!(sandbox.read("state/new.journal"), "{\"v\":99}\n");
}
