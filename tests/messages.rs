//! What is said about what cannot be done: one line, from `brk`, that names what is wrong and where to read on.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::util::{Done, Sandbox, finish};

#[track_caller]
fn one_line(done: &Done, code: i32, parts: &[&str]) {
    done.code(code);
    let said = done.stderr();
    assert!(done.stdout().is_empty(), "nothing belongs on standard output\n{}", done.all());
    assert!(said.starts_with("brk: ") && said.lines().count() == 1, "not one line of brk's\n{}", done.all());
    for part in parts {
        done.says(part);
    }
}

#[test]
fn a_command_line_that_cannot_be_meant_is_answered_by_one_line() {
    let sandbox = Sandbox::new();
    let rows: &[(&[&str], i32, &[&str])] = &[
        (&["rum"], 2, &["rum", "'run'", "see 'brk --help'"]),
        (&["--nope"], 2, &["--nope", "see 'brk --help'"]),
        (&["help", "nope"], 2, &["nope"]),
        (&["check"], 2, &["NAME", "see 'brk check --help'"]),
        (&["check", "a", "b"], 2, &["'b'"]),
        (&["status", "--jsn"], 2, &["--json", "see 'brk status --help'"]),
        (&["status", "nope"], 1, &["nope", "no such breaker"]),
        (&["history"], 2, &["NAME", "see 'brk history --help'"]),
        (&["history", "nope"], 1, &["nope", "no such breaker"]),
        (&["history", "x", "-n", "few"], 2, &["few", "whole number"]),
        (&["history", "x", "-n", "-1"], 2, &["-1", "whole number"]),
        (&["explain"], 2, &["NAME", "see 'brk explain --help'"]),
        (&["explain", "nope"], 1, &["nope", "no such breaker"]),
        (&["metrics", "--output", "/nope/file"], 1, &["/nope/file"]),
        (&["status", "--watch=0"], 2, &["--watch", "100ms"]),
        (&["history", "x", "--since", "-1"], 2, &["--since", "1h30m"]),
        (&["reset"], 2, &["--all"]),
        (&["reset", "nope"], 1, &["nope"]),
        (&["trip"], 2, &["NAME", "see 'brk trip --help'"]),
        (&["trip", "x", "--for", "soon"], 2, &["--for", "1h30m", "10m"]),
        (&["hold", "x"], 2, &["open|closed"]),
        (&["hold", "x", "ajar"], 2, &["ajar", "open, closed"]),
        (&["release", "nope"], 1, &["nope"]),
        (&["forget"], 2, &["NAME"]),
        (&["forget", "nope"], 1, &["nope"]),
        (&["profiles", "nope"], 2, &["nope", "curl"]),
        (&["config", "--chek"], 2, &["--check"]),
        (&["completions", "csh"], 2, &["csh", "bash"]),
        (&["man"], 2, &["DIR"]),
        (&["man", "/dev/null"], 1, &["/dev/null"]),
        (&["frobnicate"], 2, &["frobnicate"]),
        (&["statsu"], 2, &["statsu", "status"]),
        (&["history", "x", "-n", "-3"], 2, &["-3"]),
        (&["completions", "tcsh"], 2, &["tcsh", "bash"]),
        (&["run"], 125, &["--name", "CMD", "see 'brk run --help'"]),
        (&["run", "touch", "launched"], 125, &["--name"]),
        (&["run", "--name", "x"], 125, &["CMD"]),
        (&["run", "--nmae", "x", "touch", "launched"], 125, &["--nmae", "--name"]),
        (&["run", "--name", "a\nb", "touch", "launched"], 125, &["control characters", "--name"]),
        (
            &["run", "--name", "x", "--timeout", "soon", "touch", "launched"],
            125,
            &["--timeout", "soon", "10m"],
        ),
        (
            &["run", "--name", "x", "--failure-rate", "50", "touch", "launched"],
            125,
            &["--failure-rate", "50% or 0.5"],
        ),
        (&["run", "--name", "x", "--profile", "crul", "touch", "launched"], 125, &["crul", "curl"]),
        (&["--state-dir", "/x", "run"], 125, &["see 'brk run --help'"]),
        (&["run", "--", "touch", "launched"], 125, &["--name"]),
        (&["run", "--name", "", "touch", "launched"], 125, &["--name", "empty"]),
        (&["run", "--name", "x", "--bogus", "touch", "launched"], 125, &["--bogus"]),
        (&["run", "--name", "x", "--failure", "3", "touch", "launched"], 125, &["--failure", "--failures"]),
        (&["run", "--name", "x", "--failures", "-1", "touch", "launched"], 125, &["--failures", "3"]),
        (&["run", "--name", "x", "--failures", "three", "touch", "launched"], 125, &["--failures", "number"]),
        (&["run", "--name", "x", "--timeout", "-5", "touch", "launched"], 125, &["--timeout", "10m"]),
        (&["run", "--name", "x", "--timeout", "", "touch", "launched"], 125, &["--timeout"]),
        (&["run", "--name", "x", "--cooldown", "5x", "touch", "launched"], 125, &["--cooldown", "5m"]),
        (
            &["run", "--name", "x", "--failure-rate", "nan", "touch", "launched"],
            125,
            &["--failure-rate", "50%"],
        ),
        (
            &["run", "--name", "x", "--failure-rate", "-0.5", "touch", "launched"],
            125,
            &["--failure-rate", "50%"],
        ),
        (&["run", "--name", "x", "--jitter", "2", "touch", "launched"], 125, &["--jitter", "50%"]),
        (
            &["run", "--name", "x", "--slow-rate", "50%", "touch", "launched"],
            125,
            &["--slow-rate", "--slow-after"],
        ),
        (
            &["run", "--name", "x", "--min-calls", "30", "--window", "20", "touch", "launched"],
            125,
            &["--min-calls", "--window"],
        ),
        (
            &["run", "--name", "x", "--min-calls", "21", "touch", "launched"],
            125,
            &["--min-calls", "--window"],
        ),
        (
            &["run", "--name", "x", "--cooldown", "2m", "--max-cooldown", "1m", "touch", "launched"],
            125,
            &["--max-cooldown", "--cooldown"],
        ),
        (&["run", "--name", "x", "--backoff", "0.5", "touch", "launched"], 125, &["--backoff", "1"]),
        (&["run", "--name", "x", "--probes", "0", "touch", "launched"], 125, &["--probes", "1"]),
        (
            &["run", "--name", "x", "--probe-successes", "0", "touch", "launched"],
            125,
            &["--probe-successes", "1"],
        ),
        (
            &["run", "--name", "x", "--probe-failures", "0", "touch", "launched"],
            125,
            &["--probe-failures", "1"],
        ),
        (&["run", "--name", "x", "--window", "0", "touch", "launched"], 125, &["--window"]),
        (&["run", "--name", "x", "--min-calls", "0", "touch", "launched"], 125, &["--min-calls", "1"]),
        (
            &["run", "--name", "x", "--refused-exit", "256", "touch", "launched"],
            125,
            &["--refused-exit", "255"],
        ),
        (&["run", "--name", "x", "--signal", "NOPE", "touch", "launched"], 125, &["--signal", "TERM"]),
        (&["run", "--name", "x", "--profile", "nope", "touch", "launched"], 125, &["--profile", "curl"]),
        (&["run", "--name", "x", "--fail-on", "", "touch", "launched"], 125, &["--fail-on", "SPEC"]),
        (&["run", "--name", "x", "--fail-on", "256", "touch", "launched"], 125, &["--fail-on", "255"]),
        (&["run", "--name", "x", "--fail-on", "10-5", "touch", "launched"], 125, &["--fail-on", "5-10"]),
        (
            &["run", "--name", "x", "--success-on", "1-10", "--fail-on", "5", "touch", "launched"],
            125,
            &["--success-on", "--fail-on", "5"],
        ),
        (
            &["run", "--name", "x", "--trip-on", "timeout", "--ignore-on", "timeout", "touch", "launched"],
            125,
            &["--trip-on", "--ignore-on", "timeout"],
        ),
        (
            &["run", "--name", "x", "--on-state-error", "panic", "touch", "launched"],
            125,
            &["--on-state-error", "refuse"],
        ),
    ];
    for (words, code, parts) in rows {
        one_line(&sandbox.run(words), *code, parts);
    }
    let long = "n".repeat(129);
    one_line(&sandbox.run(&["run", "--name", &long, "touch", "launched"]), 125, &["128"]);
    // What is asked about a breaker that is not there is answered, and makes none.
    sandbox.run(&["check", "nope"]).code(0);
    assert!(!sandbox.file("launched").exists(), "a refused command line has launched something");
    assert!(!sandbox.state().exists(), "a refused command line has left something behind");
}

#[test]
fn a_name_that_is_no_utf8_is_shown() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    command.args(["run", "--name"]).arg(OsString::from_vec(b"a\xffb".to_vec())).args(["--", "true"]);
    one_line(&finish(command), 125, &[r#""a\xFFb""#, "UTF-8"]);
}

#[test]
fn a_command_that_is_not_there_is_named_and_not_obeyed() {
    let sandbox = Sandbox::new();
    one_line(&sandbox.run(&["run", "--name", "x", "nope"]), 127, &[r#""nope": not found in PATH"#]);
    one_line(&sandbox.run(&["run", "--name", "x", "./nope"]), 127, &[r#""./nope": cannot be executed"#]);
    one_line(&sandbox.run(&["run", "--name", "x", ""]), 127, &[r#""": not found"#]);
    one_line(&sandbox.run(&["run", "--name", "x", "no\n\x1b[2Jpe"]), 127, &[r"no\n", r"\u{1b}[2Jpe"]);
    sandbox.write("plain", "text");
    one_line(&sandbox.run(&["run", "--name", "x", "./plain"]), 126, &["cannot be executed", "denied"]);
}

#[test]
fn an_operators_reason_cannot_break_the_line() {
    let sandbox = Sandbox::new();
    sandbox.run(&["hold", "x", "open", "--reason", "line\nbrk: all is well\x1b[2J"]).code(0);
    one_line(&sandbox.run(&["run", "--name", "x", "true"]), 75, &[r"line\nbrk: all is well\u{1b}[2J"]);
}

#[test]
fn help_that_cannot_be_printed_is_an_error() {
    let sandbox = Sandbox::new();
    for (words, code) in [
        (&["run", "--help"][..], 125),
        (&["status", "--help"], 1),
        (&["help", "run"], 1),
        (&["--version"], 1),
        (&["profiles"], 1),
    ] {
        let mut command = sandbox.brk();
        command.args(words).stdout(std::fs::File::options().write(true).open("/dev/full").expect("a device"));
        finish(command).code(code).says("cannot write to standard output: No space left");
    }
    // Who has seen enough is no error.
    sandbox.shell("brk run --help 2>err | true; [ ! -s err ]").code(0);
}

#[test]
fn a_command_for_the_shell_is_answered_with_a_hint() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 5] = [
        (&["--", "pg_dump prod | gzip"], "not found in PATH; for a line of the shell write -- sh -c 'LINE'"),
        (&["--", "cd /tmp && ls"], "; for a line of the shell write -- sh -c 'LINE'"),
        (&["--", "ulimit", "-n", "1"], "it is a builtin of the shell: write -- sh -c 'LINE'"),
        (
            &["--wait", "10s", "--", "true"],
            "\"10s\": not found in PATH; for a limit of --wait write --wait=DURATION",
        ),
        (&["--", "no-such-program"], "\"no-such-program\": not found in PATH\n"),
    ];
    for (words, what) in cases {
        sandbox.run(&[&["run", "--name", "x"], words].concat()).code(127).says(what);
        sandbox.run(&["reset", "x"]);
    }
}
