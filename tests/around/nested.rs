//! A run inside a run, and a check before it.

use super::{TOUCHY, run};
use crate::util::{Sandbox, brk, finish, until};

#[test]
fn an_inner_refusal_says_nothing_about_the_outer_dependency() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "inner", "--for", "1h"]).code(0);
    let inner = format!("exec {} run --name inner -- true", brk());
    let odd = format!("exec {} run --name inner --refused-exit 3 -- true", brk());
    let rows: [(&[&str], i32); 4] = [
        (&[brk(), "run", "--name", "inner", "--", "true"], 75),
        (&["sh", "-c", &inner], 75),
        (&["env", "A=1", brk(), "run", "--name", "inner", "--", "true"], 75),
        (&["sh", "-c", &odd], 3),
    ];
    for (command, code) in rows {
        run(&sandbox, "outer", &["--failures", "1"], command).code(code);
    }
    assert_eq!(sandbox.events("outer"), ["ignored"; 4]);
    // The same code from anything else is a failure.
    run(&sandbox, "outer", &["--failures", "1"], &["sh", "-c", "exit 75"]).code(75);
    assert_eq!(sandbox.status("outer")["phase"], "open");
}

#[test]
fn a_command_that_calls_itself_refused_is_timed_out_or_killed_all_the_same() {
    let sandbox = Sandbox::new();
    let check = |name: &str, end: &str, ending: &str, outcome: &str| {
        let script = format!("printf brk:refused > /proc/self/comm; {end}");
        // A builtin alone: the shell itself must have the name.
        let shell = format!("exec 3</dev/null; {script}");
        let report = sandbox.file(name);
        let report = report.to_str().expect("a path");
        run(&sandbox, name, &["--timeout", "500ms", "--report", report], &["sh", "-c", &shell]);
        let report: serde_json::Value = serde_json::from_str(&sandbox.read(name)).expect("JSON");
        assert_eq!((&report["ending"], &report["outcome"]), (&ending.into(), &outcome.into()), "{end}");
    };
    check("timeout", "while :; do :; done", "timed-out", "failure");
    check("signal", "kill -9 $$", "signaled", "failure");
    check("trap", "trap 'exit 75' TERM; while :; do :; done", "timed-out", "failure");
    check("exit", "exit 75", "exited", "ignored");
}

#[test]
fn two_names_are_joined_by_nesting() {
    let sandbox = Sandbox::new();
    let nested = |command: &str| {
        run(&sandbox, "outer", &TOUCHY, &[brk(), "run", "--name", "inner", "--failures", "1", "--", command])
    };
    nested("true").code(0);
    nested("false").code(1);
    assert_eq!(sandbox.status("outer")["phase"], "open");
    // The outer probes; the inner refuses; the outer is none the wiser.
    nested("true").code(75).says("brk: inner: open");
    assert_eq!(sandbox.status("outer")["phase"], "open", "its probe learned nothing");
    assert_eq!(sandbox.status("outer")["totals"]["failure"], 1);
    sandbox.run(&["reset", "inner"]).code(0);
    until("a probe of the outer one succeeds", || nested("true").status().success());
    assert_eq!(sandbox.status("outer")["phase"], "closed");
}

#[test]
fn a_cheap_check_leaves_the_commands_streams_alone() {
    let sandbox = Sandbox::new();
    run(&sandbox, "p", &TOUCHY, &["false"]).code(1);
    sandbox.write("input", "for the command\n");
    let mut command = sandbox.brk();
    command.args(["run", "--name", "p"]).args(TOUCHY).args(["--probe", "cat; echo checked", "--", "cat"]);
    command.stdin(std::fs::File::open(sandbox.file("input")).expect("the file"));
    let done = finish(command);
    done.code(0).says("checked");
    assert_eq!(done.stdout(), "for the command\n");
}
