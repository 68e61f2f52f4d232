//! Output that is held back.

use std::process::Stdio;

use super::run;
use crate::process::{Start, send_signal};
use crate::util::{Sandbox, brk, finish, until, until_file};

/// Runs `brk` with both streams in one place, as under cron, and gives what it shows there.
fn mailed(sandbox: &Sandbox, name: &str, flags: &[&str], command: &[&str], code: i32) -> String {
    let mut cron = sandbox.command("sh");
    cron.args(["-c", "exec \"$@\" 2>&1", "sh", brk(), "run", "--name", name])
        .args(flags)
        .arg("--")
        .args(command);
    let done = finish(cron);
    done.code(code);
    done.stdout()
}

#[test]
fn output_on_failure_shows_both_streams_in_their_order_and_only_then() {
    let sandbox = Sandbox::new();
    let quiet = ["--output", "on-failure"];
    assert_eq!(mailed(&sandbox, "o", &quiet, &["sh", "-c", "echo out; echo err >&2"], 0), "");
    let script = "echo 1; echo 2 >&2; echo 3; echo 4 >&2; exit 5";
    assert_eq!(mailed(&sandbox, "o", &quiet, &["sh", "-c", script], 5), "1\n2\n3\n4\n");
    let flags = ["--output", "on-failure", "--retries", "2", "--retry-delay", "0", "--failures", "99"];
    let shown = mailed(&sandbox, "o", &flags, &["sh", "-c", "echo try $BRK_ATTEMPT; exit 5"], 5);
    assert_eq!(
        shown,
        "try 1\nbrk: o: exit 5; attempt 2 of 3 in 0s\ntry 2\nbrk: o: exit 5; attempt 3 of 3 in 0s\ntry 3\n"
    );
}

#[test]
fn a_stream_that_is_opened_anew_loses_nothing() {
    let sandbox = Sandbox::new();
    let python =
        "import sys; print('cause', flush=True); print('fatal', file=open('/dev/stderr', 'w')); sys.exit(1)";
    for (command, shown) in [
        (&["sh", "-c", "echo cause; echo fatal >/dev/stderr; exit 1"][..], "cause\nfatal\n"),
        (&["sh", "-c", "echo cause; echo fatal | tee /dev/stderr; exit 1"], "cause\nfatal\nfatal\n"),
        (&["sh", "-c", "echo cause; echo fatal >f; cp f /dev/stdout; exit 1"], "cause\nfatal\n"),
        (&["python3", "-c", python], "cause\nfatal\n"),
    ] {
        let found = mailed(&sandbox, "o", &["--output", "on-failure", "--failures", "99"], command, 1);
        assert_eq!(found, shown, "{command:?}");
    }
}

#[test]
fn standard_output_that_goes_elsewhere_is_the_commands_product() {
    let sandbox = Sandbox::new();
    for mode in ["on-failure", "on-change"] {
        let done = run(&sandbox, "o", &["--output", mode], &["sh", "-c", "printf dump; echo note >&2"]);
        done.code(0);
        assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("dump", ""), "{mode}");
    }
    let done =
        run(&sandbox, "o", &["--output", "on-failure"], &["sh", "-c", "printf dump; echo why >&2; exit 3"]);
    assert_eq!((done.stdout().as_str(), done.stderr().as_str()), ("dump", "why\n"));
}

#[test]
fn a_disk_without_space_is_no_trouble_of_the_commands() {
    let sandbox = Sandbox::new();
    let script = "ulimit -f 10; exec \"$@\" 2>&1";
    for (command, code) in [("seq 400000", 0), ("seq 400000; exit 3", 3)] {
        let mut cron = sandbox.command("sh");
        cron.args([
            "-c",
            script,
            "sh",
            brk(),
            "run",
            "--name",
            "big",
            "--output",
            "on-failure",
            "--",
            "sh",
            "-c",
        ])
        .arg(command);
        let done = finish(cron);
        done.code(code);
        assert_eq!(done.stdout().is_empty(), code == 0, "{command}");
        if code != 0 {
            // The first and the last part, and how much is missing between them.
            done.prints("1\n2\n3\n").prints("bytes of output are left out here").prints("399999\n400000\n");
        }
    }
}

#[test]
fn a_failure_without_words_is_one_line() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-failure", "--timeout", "0.3", "--kill-after", "0"];
    let timed_out = mailed(&sandbox, "a", &flags, &["sleep", "1000"], 124);
    assert!(
        timed_out.starts_with("brk: a: timed out after ") && timed_out.lines().count() == 1,
        "{timed_out}"
    );
    assert_eq!(
        mailed(&sandbox, "b", &flags, &["sh", "-c", "exit 3"], 3),
        "brk: b: exit 3 (1 of 3 failures)\n"
    );
    let missing = mailed(&sandbox, "c", &flags, &["no-such-program"], 127);
    assert_eq!(missing, "brk: \"no-such-program\": not found in PATH\n");
}

#[test]
fn nothing_of_much_output_is_lost() {
    let sandbox = Sandbox::new();
    let script = "yes 0123456789abcdef | head -c 104857600 >&2; exit 1";
    let mut command = sandbox.brk();
    command.args(["run", "--name", "o", "--output", "on-failure", "--", "sh", "-c", script]);
    let file = std::fs::File::create(sandbox.file("shown")).expect("a file");
    command.stderr(file);
    finish(command).code(1);
    assert_eq!(std::fs::metadata(sandbox.file("shown")).expect("the file").len(), 104_857_600);
}

#[test]
fn a_background_child_with_the_output_open_holds_nobody_up() {
    let sandbox = Sandbox::new();
    let script = "sleep 1000 & echo $! > left; echo said; exit 4";
    let shown = mailed(&sandbox, "o", &["--output", "on-failure"], &["sh", "-c", script], 4);
    assert_eq!(shown, "said\n");
    let pid = until_file(&sandbox.file("left")).trim().parse().expect("a pid");
    send_signal(pid, "KILL");
}

#[test]
fn a_background_child_that_goes_on_writing_neither_hangs_nor_dies() {
    let sandbox = Sandbox::new();
    // More than a pipe holds, written once brk has ended.
    let script = "(until [ -e go ]; do sleep 0.05; done; head -c 1000000 /dev/zero; echo $? >wrote) & exit 0";
    let shown = mailed(&sandbox, "o", &["--output", "on-failure"], &["sh", "-c", script], 0);
    assert_eq!(shown, "");
    sandbox.write("go", "");
    assert_eq!(until_file(&sandbox.file("wrote")), "0\n");
}

#[test]
fn output_on_change_shows_what_is_new_and_says_what_it_means() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "2", "--jitter", "0"];
    let heard = |cooldown: &str, script: &str, code: i32| {
        mailed(&sandbox, "c", &[&flags[..], &["--cooldown", cooldown]].concat(), &["sh", "-c", script], code)
    };
    assert_eq!(heard("1h", "echo fine", 0), "");
    assert_eq!(heard("1h", "echo first; exit 1", 1), "brk: c: exit 1 (1 of 2 failures)\nfirst\n");
    assert_eq!(heard("1h", "echo fine", 0), "", "a single failure recovers in silence");
    assert_eq!(heard("1h", "echo again; exit 1", 1), "brk: c: exit 1 (1 of 2 failures)\nagain\n");
    let opens = "brk: c: closed -> open; next try now (after 2 failures (last: exit 1))\nopens\n";
    assert_eq!(heard("0", "echo opens; exit 1", 1), opens);
    assert_eq!(heard("0", "echo probe; exit 1", 1), "", "open before and after, and ended so before");
    assert_eq!(heard("0", "echo other; exit 9", 9), "brk: c: exit 9\nother\n", "it breaks differently");
    let recovered = heard("0", "echo recovered", 0);
    assert!(recovered.starts_with("brk: c: open -> closed after "), "{recovered}");
    assert!(recovered.ends_with("\nrecovered\n"), "{recovered}");
    assert_eq!(heard("1h", "echo fine", 0), "");
    sandbox.run(&["trip", "c", "--for", "1h"]).code(0);
    assert_eq!(heard("1h", "echo refused", 75), "", "a refusal is silent");
}

#[test]
fn on_change_shows_each_ending_once_ignored_ones_too() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "99"];
    let heard = |name: &str, program: &str, script: &str, code: i32| {
        mailed(&sandbox, name, &flags, &[program, "-c", script], code)
    };
    let ignored = "brk: x: exit 127 (ignored: it says nothing about the dependency)\n";
    assert_eq!(heard("x", "sh", "exit 127", 127), ignored);
    assert_eq!(heard("x", "sh", "exit 127", 127), "");
    assert_eq!(heard("x", "sh", "echo one; exit 1", 1), "brk: x: exit 1 (1 of 99 failures)\none\n");
    assert_eq!(heard("x", "sh", "echo two; exit 1", 1), "");
    assert_eq!(heard("x", "bash", "echo three; exit 1", 1), "brk: x: exit 1 (3 of 99 failures)\nthree\n");
}

#[test]
fn on_change_reminds_while_nothing_succeeds() {
    let sandbox = Sandbox::new();
    let flags = ["--output", "on-change", "--failures", "1", "--cooldown", "1h", "--remind-every", "1ms"];
    run(&sandbox, "r", &flags, &["true"]).code(0).quiet();
    run(&sandbox, "r", &flags, &["false"]).code(1).says("brk: r: closed -> open; next try in 1h");
    let reminder = run(&sandbox, "r", &flags, &["false"]);
    reminder
        .code(75)
        .says("brk: r: open after 1 failure (last: exit 1); next try in")
        .says("; no success for 0s\n");
    let never = ["--output", "on-change", "--failures", "1", "--cooldown", "1h", "--remind-every", "0"];
    run(&sandbox, "r", &never, &["false"]).code(75).quiet();
}

#[test]
fn the_first_refusal_as_busy_is_told_and_further_ones_are_not() {
    let sandbox = Sandbox::new();
    let flags = ["--max-concurrent", "1", "--output", "on-change"];
    let mut holder = sandbox.brk();
    holder.args(["run", "--name", "b"]).args(flags).args(["--", "sh", "-c", "echo >started; sleep 1000"]);
    let mut holder = holder.start();
    until_file(&sandbox.file("started"));
    run(&sandbox, "b", &flags, &["true"]).code(75).says("brk: b: busy; next try when a run has ended");
    run(&sandbox, "b", &flags, &["true"]).code(75).quiet();
    holder.signal("TERM");
    holder.wait().expect("an end");
}

#[test]
fn output_that_cannot_be_shown_does_not_change_the_exit() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    command.args(["run", "--name", "o", "--output", "on-failure", "--", "sh", "-c", "echo lost >&2; exit 3"]);
    command.stderr(std::fs::File::options().write(true).open("/dev/full").expect("a device"));
    // Its exit stands, though nothing can be shown, nor a warning of it.
    finish(command).code(3);
}

#[test]
fn who_waits_for_a_reader_after_the_commands_end_may_be_ended_by_a_signal() {
    // Nobody opens the report's pipe for reading; nobody reads what does not fit into the other.
    for (open, flags, to) in [("", "--report pipe", ""), ("exec 8<>pipe;", "--output on-failure", ">&8 2>&8")]
    {
        let sandbox = Sandbox::new();
        sandbox.shell("mkfifo pipe").code(0);
        let brk = brk();
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
