//! Output that is held back.

use std::process::Stdio;

use super::run;
use crate::process::{Start, send_signal};
use crate::util::{Sandbox, finish, until, until_file};

#[test]
fn output_on_failure_shows_both_streams_in_their_order_and_only_then() {
    let sandbox = Sandbox::new();
    let quiet = ["--output", "on-failure"];
    run(&sandbox, "o", &quiet, &["sh", "-c", "echo out; echo err >&2"]).code(0).quiet();
    let done = run(&sandbox, "o", &quiet, &["sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2; exit 5"]);
    done.code(5);
    assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("1\n2\n3\n4\n", ""));
    let flags = ["--output", "on-failure", "--retries", "2", "--retry-delay", "0", "--failures", "99"];
    let done = run(&sandbox, "o", &flags, &["sh", "-c", "echo try $BRK_ATTEMPT; exit 5"]);
    done.code(5).prints("try 1\ntry 2\ntry 3\n");
}

#[test]
fn nothing_of_much_output_is_lost() {
    let sandbox = Sandbox::new();
    let script = "yes 0123456789abcdef | head -c 104857600; exit 1";
    let mut command = sandbox.brk();
    command.args(["run", "--name", "o", "--output", "on-failure", "--", "sh", "-c", script]);
    let file = std::fs::File::create(sandbox.file("shown")).expect("a file");
    command.stdout(file);
    finish(command).code(1);
    assert_eq!(std::fs::metadata(sandbox.file("shown")).expect("the file").len(), 104_857_600);
}

#[test]
fn a_background_child_with_the_output_open_holds_nobody_up() {
    let sandbox = Sandbox::new();
    let script = "sleep 1000 & echo $! > left; echo said; exit 4";
    run(&sandbox, "o", &["--output", "on-failure"], &["sh", "-c", script]).code(4).prints("said\n");
    let pid = until_file(&sandbox.file("left")).trim().parse().expect("a pid");
    send_signal(pid, "KILL");
}

#[test]
fn output_on_change_speaks_when_it_breaks_opens_and_recovers() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "2", "--jitter", "0"];
    let heard = |cooldown: &str, script: &str, code: i32| {
        let done =
            run(&sandbox, "c", &[&flags[..], &["--cooldown", cooldown]].concat(), &["sh", "-c", script]);
        done.code(code);
        assert_eq!(done.stderr(), "", "{}", done.all());
        done.stdout()
    };
    assert_eq!(heard("1h", "echo fine", 0), "");
    assert_eq!(heard("1h", "echo first; exit 1", 1), "first\n");
    assert_eq!(heard("1h", "echo fine", 0), "");
    assert_eq!(heard("1h", "echo again; exit 1", 1), "again\n");
    assert_eq!(heard("0", "echo opens; exit 1", 1), "opens\n");
    assert_eq!(heard("0", "echo probe; exit 1", 1), "", "open before and after");
    assert_eq!(heard("0", "echo recovered", 0), "recovered\n");
    assert_eq!(heard("1h", "echo fine", 0), "");
    sandbox.run(&["trip", "c", "--for", "1h"]).code(0);
    assert_eq!(heard("1h", "echo refused", 75), "", "a refusal is silent");
}

#[test]
fn the_first_failure_of_a_new_breaker_is_shown_and_the_second_is_not() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "9"];
    run(&sandbox, "c", &flags, &["sh", "-c", "echo one; exit 1"]).prints("one\n");
    run(&sandbox, "c", &flags, &["sh", "-c", "echo two; exit 1"]).code(1).quiet();
}

#[test]
fn a_change_is_told_also_where_the_command_says_nothing() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "2", "--cooldown", "0", "--timeout", "100ms"];
    run(&sandbox, "c", &flags, &["sleep", "1000"]).code(124).says("brk: c: timed out\n");
    run(&sandbox, "c", &flags, &["sh", "-c", "exit 3"])
        .code(3)
        .says("brk: c: closed -> open after 2 failures (last: exit 3)");
    run(&sandbox, "c", &flags, &["false"]).code(1).quiet();
    run(&sandbox, "c", &flags, &["true"]).code(0).says("brk: c: open -> closed\n");
    run(&sandbox, "c", &flags, &["true"]).code(0).quiet();
}

#[test]
fn output_that_cannot_be_shown_is_a_warning() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    command.args(["run", "--name", "o", "--output", "on-failure", "--", "sh", "-c", "echo lost; exit 3"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").expect("a device"));
    finish(command).code(3).says("warning: cannot show the command's output");
}

#[test]
fn who_waits_for_a_reader_after_the_commands_end_may_be_ended_by_a_signal() {
    // Nobody opens the report's pipe for reading; nobody reads what does not fit into the other.
    for (open, flags, to) in [("", "--report pipe", ""), ("exec 8<>pipe;", "--output on-failure", ">&8")] {
        let sandbox = Sandbox::new();
        sandbox.shell("mkfifo pipe").code(0);
        let brk = crate::util::brk();
        let command = "head -c 200000 /dev/zero; exit 3";
        let script = format!("{open} exec {brk} run --name x {flags} -- sh -c '{command}' {to}");
        let mut shell = sandbox.command("sh");
        shell.args(["-c", &script]).stdout(Stdio::null());
        let mut child = shell.start();
        until("the run is recorded", || {
            let done = sandbox.run(&["status", "x", "--json"]);
            done.stdout().contains("\"failure\": 1")
        });
        child.signal("TERM");
        until("it has ended", || child.try_wait().expect("a child").is_some());
        let status = child.wait().expect("an end");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15), "{flags}: {status}");
    }
}
