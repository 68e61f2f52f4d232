//! What stands around one run: retries, waiting, places for runs at once, fallback, output that is held back, hooks,
//! reports, nesting; also in combination.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::util::{Done, Sandbox, brk, finish, until, until_file, wait};

/// A policy that opens at the first failure and lets a probe in at once.
const TOUCHY: [&str; 6] = ["--failures", "1", "--cooldown", "0", "--jitter", "0"];

fn run(sandbox: &Sandbox, name: &str, flags: &[&str], command: &[&str]) -> Done {
    sandbox.run(&[&["run", "--name", name], flags, &["--"], command].concat())
}

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read("report")).expect("a report")
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("a process to signal");
}

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
fn an_opening_ends_the_retrying_and_counts_no_refusal() {
    let sandbox = Sandbox::new();
    let flags = ["--retries", "9", "--retry-delay", "1ms", "--failures", "2", "--report", "report"];
    let script = ["sh", "-c", "exit $((BRK_ATTEMPT + 10))"];
    run(&sandbox, "r", &flags, &script).code(12).quiet();
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
    signal(pid, Signal::KILL);
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
    let child = command.spawn().expect("brk");
    let pid = child.id();
    until("the first attempt is recorded", || sandbox.run(&["check", "r"]).stdout().contains("closed\n"));
    until("the first failure", || sandbox.status("r")["totals"]["failure"].as_u64() >= Some(1));
    signal(pid, Signal::TERM);
    wait(child, "brk in the pause").signal(15);
}

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
    run(&sandbox, "w", &["--wait=200ms"], &["true"]).code(75).says("open after a trip by hand");
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
        let mut child = command.stdout(Stdio::piped()).spawn().expect("brk");
        // Asleep, so it has been refused.
        let stat = format!("/proc/{}/stat", child.id());
        until("brk waits", || std::fs::read_to_string(&stat).unwrap_or_default().contains(") S "));
        assert_eq!(child.try_wait().expect("a status"), None);
        sandbox.run(release).code(0);
        wait(child, "the run that waited").code(0).prints("ran\n");
    }
}

#[test]
fn a_signal_while_waiting_ends_brk_at_once_and_launches_nothing() {
    let sandbox = Sandbox::new();
    sandbox.run(&["hold", "w", "open"]).code(0);
    let mut command = sandbox.brk();
    let child =
        command.args(["run", "--name", "w", "--wait", "--", "touch", "launched"]).spawn().expect("brk");
    let stat = format!("/proc/{}/stat", child.id());
    until("brk waits", || std::fs::read_to_string(&stat).unwrap_or_default().contains(") S "));
    signal(child.id(), Signal::INT);
    wait(child, "brk that waits").signal(2);
    assert!(!sandbox.file("launched").exists());
}

/// Starts a run that is alive until `go` is there.
fn occupant(sandbox: &Sandbox, flags: &[&str], sign: &str) -> std::process::Child {
    let script = format!("echo $$ > {sign}; while [ ! -e go ]; do sleep 0.01; done");
    let mut command = sandbox.brk();
    command.args(["run", "--name", "s"]).args(flags).args(["--", "sh", "-c", &script]);
    let child = command.spawn().expect("brk");
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
    wait(first, "the first").code(0);
    wait(second, "the second").code(0);
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
    let second = command.spawn().expect("brk");
    sandbox.write("go", "");
    wait(first, "the first").code(0);
    wait(second, "the one that waited").code(0);
}

#[test]
fn a_killed_holder_frees_its_place_when_its_command_is_gone() {
    let sandbox = Sandbox::new();
    let one = ["--max-concurrent", "1"];
    // The command ignores the signal that it gets when brk dies.
    let script = "trap '' TERM; echo $$ > sign; while [ ! -e go ]; do sleep 0.01; done; echo > ended";
    let mut command = sandbox.brk();
    command.args(["run", "--name", "s"]).args(one).args(["--", "sh", "-c", script]);
    let child = command.spawn().expect("brk");
    until_file(&sandbox.file("sign"));
    signal(child.id(), Signal::KILL);
    wait(child, "the killed brk").signal(9);
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
    signal(pid, Signal::KILL);
}

#[test]
fn a_fallback_answers_in_the_commands_stead() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "f", "--for", "1h"]).code(0);
    let fallback = ["--fallback", "echo instead; exit 9", "--report", "report"];
    let done = run(&sandbox, "f", &fallback, &["echo", "command"]);
    done.code(9).says("open after a trip by hand");
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
    signal(pid, Signal::KILL);
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
fn hooks_get_the_change_in_variables_and_as_json() {
    let sandbox = Sandbox::new();
    let hook = "env | grep ^BRK_ | grep -v BRK_STATE_DIR | sort > variables; cat > json; echo heard";
    let flags = ["--failures", "1", "--cooldown", "1h", "--jitter", "0", "--on-open", hook];
    let done = run(&sandbox, "h", &flags, &["sh", "-c", "exit 7"]);
    done.code(7).says("heard");
    assert_eq!(done.stdout(), "", "a hook's output goes to standard error");
    let retry_at = sandbox.status("h")["retry_at"].as_str().expect("a time").to_owned();
    let expected = format!(
        "BRK_EXIT=7\nBRK_FROM=closed\nBRK_NAME=h\nBRK_REASON=1 failure (last: exit 7)\n\
         BRK_RETRY_AT={retry_at}\nBRK_SIGNAL=\nBRK_TO=open\n"
    );
    assert_eq!(sandbox.read("variables"), expected);
    let json: Value = serde_json::from_str(&sandbox.read("json")).expect("JSON");
    assert_eq!((&json["event"], &json["retry_at"]), (&json!("opened"), &json!(retry_at)));
}

#[test]
fn each_hook_hears_its_changes_once() {
    let sandbox = Sandbox::new();
    let hooks = [
        "--on-open",
        "echo open >> log",
        "--on-close",
        "echo close >> log",
        "--on-change",
        "echo $BRK_FROM-$BRK_TO >> log",
    ];
    let flags = [&TOUCHY[..], &hooks].concat();
    for (command, code) in [("true", 0), ("false", 1), ("false", 1), ("true", 0), ("true", 0)] {
        run(&sandbox, "h", &flags, &[command]).code(code).quiet();
    }
    let expected =
        "open\nclosed-open\nopen-half-open\nhalf-open-open\nopen-half-open\nclose\nhalf-open-closed\n";
    assert_eq!(sandbox.read("log"), expected);
}

#[test]
fn of_many_that_fail_at_once_one_runs_the_hook() {
    let sandbox = Sandbox::new();
    let script = "echo $$ >> started; while [ ! -e go ]; do sleep 0.01; done; exit 1";
    let children: Vec<_> = (0..8)
        .map(|_| {
            let mut command = sandbox.brk();
            command.args(["run", "--name", "h", "--failures", "3", "--on-change", "echo $BRK_TO >> log"]);
            command.args(["--", "sh", "-c", script]).spawn().expect("brk")
        })
        .collect();
    until("all have started", || sandbox.read("started").lines().count() == 8);
    sandbox.write("go", "");
    for child in children {
        wait(child, "one of many").code(1);
    }
    assert_eq!(sandbox.read("log"), "open\n");
}

#[test]
fn a_hook_that_fails_or_is_signalled_changes_nothing_of_the_run() {
    let sandbox = Sandbox::new();
    let flags = [&TOUCHY[..], &["--on-change", "exit 3"]].concat();
    run(&sandbox, "h", &flags, &["sh", "-c", "exit 7"]).code(7).says("hook: exit 3");
    let flags = [&TOUCHY[..], &["--on-change", "kill -9 $$"]].concat();
    run(&sandbox, "g", &flags, &["sh", "-c", "kill -6 $$"]).signal(6);
}

#[test]
fn a_hook_runs_under_no_lock() {
    let sandbox = Sandbox::new();
    let hook = format!("{0} run --name h --observe -- echo nested; {0} status h >/dev/null", brk());
    let flags = ["--failures", "1", "--on-open", &hook];
    run(&sandbox, "h", &flags, &["false"]).code(1).says("nested");
}

#[test]
fn trip_and_reset_run_the_hooks_of_the_configuration() {
    let sandbox = Sandbox::new();
    let config = sandbox
        .write("c.toml", "[defaults]\non-change = \"echo $BRK_FROM-$BRK_TO-${BRK_EXIT:-none} >> log\"\n");
    let config = config.to_str().expect("a path");
    sandbox.run(&["trip", "h", "--config", config]).code(0);
    sandbox.run(&["reset", "h", "--config", config]).code(0);
    sandbox.run(&["reset", "h", "--config", config]).code(0);
    assert_eq!(sandbox.read("log"), "closed-open-none\nopen-closed-none\n");
}

#[test]
fn what_changes_for_the_eye_changes_for_the_hook() {
    let sandbox = Sandbox::new();
    let flags =
        ["--output", "on-change", "--failures", "1", "--cooldown", "0", "--on-change", "echo $BRK_TO >> log"];
    run(&sandbox, "h", &flags, &["sh", "-c", "echo broke; exit 1"]).code(1).prints("broke\n");
    run(&sandbox, "h", &flags, &["echo", "back"]).code(0).prints("back\n");
    run(&sandbox, "h", &flags, &["echo", "fine"]).code(0).quiet();
    assert_eq!(sandbox.read("log"), "open\nhalf-open\nclosed\n");
}

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
    assert_eq!(sandbox.status("outer")["phase"], "half-open");
    sandbox.run(&["reset", "inner"]).code(0);
    nested("true").code(0);
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

#[test]
fn a_signal_during_the_check_ends_the_run_and_frees_the_place() {
    let sandbox = Sandbox::new();
    run(&sandbox, "p", &TOUCHY, &["false"]).code(1);
    let mut command = sandbox.brk();
    command.args(["run", "--name", "p"]).args(TOUCHY);
    command.args(["--probe", "echo > checking; exec sleep 1000", "--", "touch", "launched"]);
    let child = command.spawn().expect("brk");
    until_file(&sandbox.file("checking"));
    signal(child.id(), Signal::TERM);
    let status = wait(child, "brk at its check").status();
    assert_eq!(status.signal(), Some(15));
    assert!(!sandbox.file("launched").exists());
    run(&sandbox, "p", &TOUCHY, &["true"]).code(0);
    assert_eq!(sandbox.status("p")["totals"]["lost"], 0);
}
