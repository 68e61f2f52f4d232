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
        (&["run"], 125, &["--name", "CMD", "see 'brk run --help'"]),
        (&["run", "true"], 125, &["--name"]),
        (&["run", "--name", "x"], 125, &["CMD"]),
        (&["run", "--nmae", "x", "true"], 125, &["--nmae", "--name"]),
        (&["run", "--name", "a\nb", "true"], 125, &["control characters"]),
        (&["run", "--name", "x", "--timeout", "soon", "true"], 125, &["--timeout", "soon", "10m"]),
        (&["run", "--name", "x", "--failure-rate", "50", "true"], 125, &["--failure-rate", "50% or 0.5"]),
        (&["run", "--name", "x", "--profile", "crul", "true"], 125, &["crul", "curl"]),
        (&["--state-dir", "/x", "run"], 125, &["see 'brk run --help'"]),
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
        (&["trip", "x", "--for", "soon"], 2, &["--for", "1h30m"]),
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
    ];
    for (words, code, parts) in rows {
        one_line(&sandbox.run(words), *code, parts);
    }
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
