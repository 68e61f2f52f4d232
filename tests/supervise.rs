//! The command behind `brk` is the same command: started with the same things, ended in the same way, and when its
//! time is up nothing of it is left.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::process::{
    Start, Sweeper, children, guarded, guarded_script, is_alive, is_root, left, parent, send_signal, stat,
    until_pid,
};
use crate::tools::needs;
use crate::util::{Done, Sandbox, brk, finish, until, until_file};

/// How the run ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Code(i32),
    Signal(i32),
}

use End::{Code, Signal};

#[track_caller]
fn check_end(done: &Done, expected: End) {
    match expected {
        Code(code) => done.code(code),
        Signal(signal) => done.signal(signal),
    };
}

// How it ends

#[test]
fn every_exit_status_arrives() {
    let sandbox = Sandbox::new();
    let done = sandbox.shell(
        r#"code=0
        while [ $code -le 255 ]; do
            brk run --name x --failures 0 -- sh -c "exit $code"
            got=$?
            [ $got -eq $code ] || echo "$got instead of $code"
            code=$((code + 1))
        done"#,
    );
    done.code(0).quiet();
}

#[test]
fn death_by_every_signal_arrives_without_a_second_core() {
    let sandbox = Sandbox::new();
    // CHLD, CONT, URG and WINCH end nothing; STOP, TSTP, TTIN and TTOU stop; 32 and 33 are the C library's.
    let deadly = (1..=31).filter(|signal| ![17, 18, 19, 20, 21, 22, 23, 28].contains(signal)).chain(34..=64);
    for signal in deadly {
        // The limit of brk allows a core, that of the command does not.
        let die = format!("ulimit -c 0; kill -{signal} $$");
        let words = ["-c", r#"ulimit -c unlimited; exec "$@""#, "sh", brk(), "run", "--name", "x"];
        let mut command = sandbox.command("sh");
        command.args(words).args(["--failures", "0", "--", "sh", "-c", &die]);
        let done = finish(command);
        done.signal(signal).quiet();
        assert!(!done.status().core_dumped(), "brk left a core\n{}", done.all());
    }
}

#[test]
fn what_cannot_be_started() {
    let sandbox = Sandbox::new();
    sandbox.write("text", "not executable\n");
    sandbox.script("no-interpreter", "#!/nowhere/to/be/found\n");
    let cases: [(&[&str], i32); 8] = [
        (&["no-such-command"], 127),
        (&["./no-such-file"], 127),
        (&["/etc/passwd/below"], 127),
        (&[""], 127),
        (&["./text"], 126),
        (&["."], 126),
        (&["/"], 126),
        (&["./no-interpreter"], 126),
    ];
    for (command, code) in cases {
        let done = finish(guarded(&sandbox, &["--timeout", "1000", "--failures", "1"], command));
        done.code(code).says(command[0]);
    }
    // Nothing of this says anything about a dependency.
    let status = sandbox.status("x");
    let totals = &status["totals"];
    assert_eq!(
        (&totals["ignored"], &totals["launched"], &totals["failure"]),
        (&8.into(), &0.into(), &0.into())
    );
    assert_eq!((&status["phase"], &status["last"]["ending"]), (&"closed".into(), &"not-started".into()));
}

#[test]
fn a_directory_of_path_that_may_not_be_searched_holds_nothing() {
    let sandbox = Sandbox::new();
    let other_user = if is_root() { "setpriv --reuid 65534 --clear-groups" } else { "" };
    let prepare =
        "chmod 755 . && mkdir -m 777 state locked && cp $(command -v brk) own-brk && echo text >text";
    sandbox.shell(&format!("{prepare} && chmod 0 locked")).code(0);
    for (name, code) in [("no-such-command", 127), ("text", 126)] {
        let path = "/nowhere:/etc/passwd:$PWD/locked:$PWD:$PATH";
        sandbox.shell(&format!("PATH={path} {other_user} ./own-brk run --name x -- {name}")).code(code);
    }
}

#[test]
fn a_script_without_interpreter_runs_by_the_shell() {
    let sandbox = Sandbox::new();
    sandbox.script("plain", "echo \"$0 $*\"; exit 3\n");
    finish(guarded(&sandbox, &[], &["./plain", "a b", "c"])).code(3).prints("./plain a b c\n");
    let mut by_path = guarded(&sandbox, &[], &["plain", "a"]);
    by_path.env("PATH", format!("{}:/bin:/usr/bin", sandbox.path().display()));
    finish(by_path).code(3).prints(&format!("{}/plain a\n", sandbox.path().display()));
    let mut in_this_directory = guarded(&sandbox, &[], &["plain", "a"]);
    in_this_directory.env("PATH", ":/bin:/usr/bin");
    finish(in_this_directory).code(3).prints("plain a\n");
}

// Time

#[test]
fn whatever_takes_too_long_ends_with_124_and_leaves_nobody() {
    let stubborn = "trap '' TERM";
    let cases: [(&[&str], &str, End); 20] = [
        (&[], "exec sleep 1000", Code(124)),
        (&[], "sleep 1000", Code(124)),
        (&[], "sleep 1000 & sleep 1000 & wait", Code(124)),
        (&[], "trap 'exit 0' TERM; sleep 1000 & wait", Code(124)),
        (&[], "trap 'exit 7' TERM; sleep 1000 & wait", Code(124)),
        (&["--preserve-status"], "trap 'exit 0' TERM; sleep 1000 & wait", Code(0)),
        (&["--preserve-status"], "trap 'exit 7' TERM; sleep 1000 & wait", Code(7)),
        (&["--preserve-status"], "exec sleep 1000", Signal(15)),
        (&["--signal", "INT", "--preserve-status"], "exec sleep 1000", Signal(2)),
        (&["--signal", "KILL"], "trap '' TERM; sleep 1000", Code(124)),
        (&["--signal", "KILL", "--preserve-status"], "exec sleep 1000", Signal(9)),
        (&["--kill-after", "0"], &format!("{stubborn}; sleep 1000"), Code(124)),
        (&["--kill-after", "100ms"], &format!("{stubborn}; sleep 1000"), Code(124)),
        (&["--kill-after", "100ms", "--preserve-status"], &format!("{stubborn}; sleep 1000; :"), Signal(9)),
        (&[], "kill -STOP $$", Code(124)),
        // Killed by nothing worse than the first signal.
        (&["--preserve-status"], "kill -STOP $$", Signal(15)),
        (&[], "sleep 1000 & kill -STOP $!; kill -STOP $$", Code(124)),
        (&["--kill-after", "100ms"], &format!("{stubborn}; kill -STOP $$; sleep 1000"), Code(124)),
        (
            &["--kill-after", "100ms"],
            &format!("{stubborn}; setsid sleep 1000 & (setsid sh -c 'setsid sleep 1000 &' &); sleep 1000"),
            Code(124),
        ),
        (
            &["--kill-after", "100ms"],
            &format!("{stubborn}; while :; do sh -c 'while :; do sleep 0.01; done' & sleep 0.05; done"),
            Code(124),
        ),
    ];
    for (flags, script, end) in cases {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let done = finish(guarded_script(&sandbox, &[&["--timeout", "300ms"], flags].concat(), script));
        check_end(&done, end);
        assert_eq!(left(&sandbox), [], "left by {script}\n{}", done.all());
        assert_eq!(sandbox.events("x"), ["failure"], "{script}");
        assert_eq!(sandbox.history("x")[0]["ending"], "timed-out", "{script}");
        assert_eq!(sandbox.status("x")["totals"]["timeout"], 1, "{script}");
    }
}

#[test]
fn timeouts_within_timeouts() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let brk_inside = [brk(), "run", "--name", "y", "--timeout", "1000", "--", "sh", "-c", "sleep 1000; :"];
    finish(guarded(&sandbox, &["--timeout", "300ms"], &brk_inside)).code(124);
    assert_eq!(left(&sandbox), []);
    assert_eq!(sandbox.events("y"), ["ignored"], "to be ended from outside says nothing");
    let timeout_inside = ["timeout", "1000", "sh", "-c", "sleep 1000; :"];
    finish(guarded(&sandbox, &["--timeout", "300ms"], &timeout_inside)).code(124);
    assert_eq!(left(&sandbox), []);
    let below_a_shell = ["sh", "-c", "timeout 1000 sleep 1000; :"];
    finish(guarded(&sandbox, &["--timeout", "300ms"], &below_a_shell)).code(124);
    assert_eq!(left(&sandbox), []);
    let mut timeout_outside = sandbox.command("timeout");
    timeout_outside.args(["0.5", brk(), "run", "--name", "z", "--", "sh", "-c", "sleep 1000; :"]);
    finish(timeout_outside).code(124);
    until("all are gone", || left(&sandbox).is_empty());
    assert_eq!(sandbox.events("z"), ["ignored"]);
}

#[test]
fn the_first_signal_reaches_each_process_once_wherever_it_has_gone() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let tell = sandbox.script(
        "tell",
        "#!/bin/sh\ntrap 'echo $1 >>told; exit 0' TERM\necho $1 >>ready\nwhile :; do sleep 0.01; done\n",
    );
    let tell = tell.display();
    let script = format!(
        "{tell} group & setsid {tell} session & (setsid sh -c '{tell} orphan &' &); {tell} self & wait; wait; wait"
    );
    let flags = ["--timeout", "2s", "--kill-after", "1000s"];
    let start = Instant::now();
    finish(guarded_script(&sandbox, &flags, &script)).code(124);
    assert!(start.elapsed() < Duration::from_secs(1000), "waited although nobody was left");
    let lines = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(sandbox.read("ready")), ["group", "orphan", "self", "session"]);
    assert_eq!(lines(sandbox.read("told")), ["group", "orphan", "self", "session"]);
}

#[test]
fn very_short_and_very_long_times() {
    let sandbox = Sandbox::new();
    for timeout in ["1ns", "0.0000001", "1us", "0.5ms"] {
        finish(guarded(&sandbox, &["--timeout", timeout], &["sleep", "1000"])).code(124);
    }
    for timeout in ["0", "0s", "36500d", "99999999999999999999", "1000y"] {
        let flags = ["--timeout", timeout, "--kill-after", timeout];
        finish(guarded(&sandbox, &flags, &["sh", "-c", "exit 9"])).code(9);
    }
}

#[test]
fn a_waiting_brk_uses_no_processor() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut command = guarded_script(&sandbox, &["--timeout", "1000"], "echo ready >sign; exec sleep 1000");
    let mut child = command.start();
    until_file(&sandbox.file("sign"));
    let turns = || -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a status");
        let counts = status.lines().filter(|line| line.contains("ctxt_switches"));
        counts.map(|line| line.rsplit_once('\t').expect("a count").1.parse::<u64>().expect("a number")).sum()
    };
    until("it sleeps", || stat(child.id(), 3).as_deref() == Some("S"));
    let before = turns();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(turns(), before, "it woke up");
    let memory = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a status");
    let resident = memory.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let resident: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert_eq!(std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("threads").count(), 1);
    // A debug build is about twice as large as what is released.
    assert!(resident < if cfg!(debug_assertions) { 16_384 } else { 4_096 }, "{resident} kB");
    child.signal("TERM");
    child.wait().expect("an end");
}

// What else is below and above

#[test]
fn leftovers_of_a_normal_end() {
    let script =
        "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 &' &); trap '' TERM; sleep 1000 & exit 3";
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let mut command = guarded_script(&sandbox, &[], script);
    // What stays behind would keep a pipe of the test's open.
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("brk");
    assert_eq!(status.code(), Some(3));
    assert!(left(&sandbox).len() >= 3, "{:?}", left(&sandbox));
    let sandbox = Sandbox::new();
    finish(guarded_script(&sandbox, &["--kill-leftovers", "--kill-after", "200ms"], script)).code(3);
    assert_eq!(left(&sandbox), []);
    assert_eq!(sandbox.history("x")[0]["ending"], "exited");
}

#[test]
fn a_child_from_before_is_not_the_commands() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let brk_run = "exec brk run --name x --failures 0 --kill-leftovers --kill-after 0";
    // One that stays, with a child of its own, and one that ends before the command does.
    sandbox
        .shell(&format!(
            "sh -c 'sleep 1000 & echo $! >below; echo $$ >old; wait' >/dev/null 2>&1 & sh -c 'exit 1' &
            until [ -s old ]; do sleep 0.01; done
            {brk_run} --timeout 500ms -- sh -c 'sleep 1000 & sleep 1000'"
        ))
        .code(124);
    let (old, below) = (until_pid(&sandbox.file("old")), until_pid(&sandbox.file("below")));
    assert!(is_alive(old) && is_alive(below), "touched what was there before");
    assert_eq!(left(&sandbox).len(), 2, "{:?}", left(&sandbox));
    send_signal(below, "KILL");
    // One that is hardly older than the command.
    for _ in 0..5 {
        sandbox
            .shell(&format!(
                "sleep 1000 >/dev/null 2>&1 & echo $! >old; {brk_run} --timeout 100ms -- sleep 1000"
            ))
            .code(124);
        let old = until_pid(&sandbox.file("old"));
        assert!(is_alive(old), "touched what was there before");
        send_signal(old, "KILL");
    }
    sandbox.shell(&format!("sleep 0.1 & {brk_run} -- sh -c 'sleep 0.5; exit 6'")).code(6);
}

#[test]
fn what_a_child_from_before_leaves_behind_is_not_the_commands() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    // While the command runs it starts one more, and ends.
    let old = "until [ -s begun ]; do sleep 0.01; done; sleep 1000 & echo $! >orphan";
    let command =
        "sleep 1000 & echo $! >own; echo >begun; until [ -s orphan ]; do sleep 0.01; done; sleep 1000";
    for flags in ["--timeout 3s --kill-after 0", "--timeout 3s --kill-after 200ms --kill-leftovers"] {
        let script = format!(
            "rm -f begun orphan own; sh -c '{old}' >/dev/null 2>&1 &
            exec {} run --name x {flags} -- sh -c '{command}'",
            brk()
        );
        // In a session of its own, and so without a terminal, wherever the tests run.
        let mut setsid = sandbox.command("setsid");
        setsid.args(["sh", "-c", &script]);
        finish(setsid).code(124);
        let orphan = until_pid(&sandbox.file("orphan"));
        assert!(is_alive(orphan), "touched what came from before, {flags}");
        let own = until_pid(&sandbox.file("own"));
        until("what is the command's is ended", || !is_alive(own));
        send_signal(orphan, "KILL");
    }
}

#[test]
fn orphans_fall_to_it_and_are_reaped() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script = "(sleep 1000 & echo $! >orphan)
        for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.01 &); done
        echo ready >sign; sleep 1000";
    let mut child = guarded_script(&sandbox, &[], script).start();
    until_file(&sandbox.file("sign"));
    let orphan = until_pid(&sandbox.file("orphan"));
    until("the orphan is adopted", || parent(orphan) == Some(child.id()));
    let dead = || children(child.id()).into_iter().filter(|pid| !is_alive(*pid)).count();
    until("only the command and one orphan are left", || children(child.id()).len() == 2 && dead() == 0);
    child.signal("TERM");
    assert_eq!(child.wait().expect("an end").signal(), Some(15));
}

#[test]
fn if_brk_dies_the_command_is_told() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script = "trap 'echo term >told; exit' TERM; echo ready >sign; sleep 1000 & wait";
    let child = guarded_script(&sandbox, &[], script).start();
    until_file(&sandbox.file("sign"));
    child.kill_9();
    assert_eq!(until_file(&sandbox.file("told")), "term\n");
}

#[test]
fn if_brk_dies_between_fork_and_exec_the_command_does_not_start() {
    needs!("strace");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    // The child asks for the signal of its parent's death two seconds after that.
    let mut strace = sandbox.command("strace");
    strace.args(["-f", "-o", "trace", "-e", "trace=prctl", "-e", "inject=prctl:delay_enter=2000000"]);
    strace.args([brk(), "run", "--name", "x", "--", "sh", "-c", "echo alive >ran"]);
    let mut strace = strace.start();
    let mut family = (0, 0);
    until("brk has forked", || {
        let brk = children(strace.id()).into_iter().find(|child| !children(*child).is_empty());
        family = brk.map_or((0, 0), |brk| (brk, children(brk)[0]));
        family.0 != 0
    });
    send_signal(family.0, "KILL");
    strace.wait().expect("an end");
    until("the child is gone", || !is_alive(family.1));
    assert!(sandbox.read("trace").contains("SIGKILL"), "{}", sandbox.read("trace"));
    assert!(!sandbox.file("ran").exists(), "the command ran without anybody to watch it");
}

#[test]
fn what_cannot_be_killed_does_not_hang_it() {
    needs!("root", "setpriv");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox
        .shell(&format!("chmod 755 . && mkdir -m 777 state && cp {} own-brk && cp $(command -v setpriv) up && chmod 4755 up", brk()))
        .code(0);
    let mut command = sandbox.command("setpriv");
    command.args(["--reuid", "65534", "--clear-groups", "./own-brk", "run", "--name", "x"]);
    command.args(["--timeout", "300ms", "--kill-after", "100ms", "--"]);
    command.args(["./up", "--reuid", "0", "--regid", "0", "--clear-groups", "sleep", "1000"]);
    let start = Instant::now();
    // What stays behind would keep a pipe of the test's open.
    let errors = std::fs::File::create(sandbox.file("errors")).expect("a file");
    let status = command.stdout(Stdio::null()).stderr(errors).status().expect("brk");
    assert_eq!(status.code(), Some(124), "{}", sandbox.read("errors"));
    assert!(start.elapsed() < Duration::from_secs(60), "took too long");
    assert!(sandbox.read("errors").contains("could not end"), "{}", sandbox.read("errors"));
    assert_eq!(left(&sandbox).len(), 1, "{:?}", left(&sandbox));
}

#[test]
fn a_full_table_of_processes_is_an_error_of_brk() {
    needs!("root", "setpriv");
    let sandbox = Sandbox::new();
    sandbox.shell(&format!("chmod 755 . && mkdir -m 777 state && cp {} own-brk", brk())).code(0);
    let mut command = sandbox.command("setpriv");
    command.args([
        "--reuid",
        "54321",
        "--clear-groups",
        "prlimit",
        "--nproc=1",
        "./own-brk",
        "run",
        "--name",
        "x",
    ]);
    command.args(["--", "true"]);
    finish(command).code(125).says("cannot start a process");
}
