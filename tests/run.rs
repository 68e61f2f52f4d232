//! `brk run` from outside: refusals, reports, operands, and what is never stored. Not here: how a command starts and ends
//! (`supervise`), what it inherits (`inherited`), and what is said about bad input (`messages`).

use crate::util::Sandbox;

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

/// When to come back is when a run would be admitted, whichever rule admits it: a start 5 % early is on time.
#[test]
fn a_refusal_knows_of_run_at_least_every() {
    let sandbox = Sandbox::new();
    let flags =
        ["run", "--name", "x", "--failures", "1", "--cooldown", "1d", "--run-at-least-every", "2h", "--"];
    sandbox.run(&[&flags[..], &["false"]].concat()).code(1);
    sandbox.run(&[&flags[..], &["true"]].concat()).code(75).says("next try in 1h54m\n");
    sandbox.run(&["check", "x"]).code(75).prints("next try in 1h54m\n");
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
