//! Signals that reach `brk`: passed on once, waited for, and answered by the same end. No terminal here.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use crate::process::{
    Running, Start, Sweeper, children, guarded, guarded_script, is_alive, is_stopped, left, parent,
    send_signal, stat, until_gone, until_pid,
};
use crate::tools::needs;
use crate::util::{Sandbox, brk, until, until_file};

/// Notes each signal that it gets, and ends at the last real-time one. Blocks all, so that none is lost and none does
/// anything else.
const LISTENER: &str = r#"
import os, signal, sys
everything = set(range(1, 65)) - {32, 33}
signal.pthread_sigmask(signal.SIG_SETMASK, everything)
log = open(sys.argv[1], 'a', buffering=1)
log.write('ready\n')
while True:
    number = signal.sigwaitinfo(everything).si_signo
    if number != signal.SIGCHLD: log.write('%d\n' % number)
    if number == 64: sys.exit(0)
"#;

fn log(sandbox: &Sandbox, name: &str) -> Vec<String> {
    sandbox.read(name).lines().map(str::to_owned).collect()
}

#[track_caller]
fn until_logged(sandbox: &Sandbox, name: &str, line: &str) {
    until(&format!("{line} in {name}"), || log(sandbox, name).iter().any(|logged| logged == line));
}

#[track_caller]
fn code(mut child: Running) -> Option<i32> {
    child.wait().expect("an end").code()
}

#[test]
fn each_signal_is_passed_on_once_to_the_command_and_its_group() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox.write("listener.py", LISTENER);
    let script = "python3 -I listener.py background & exec python3 -I listener.py command";
    let child = guarded_script(&sandbox, &[], script).start();
    let brk = child.id();
    until_logged(&sandbox, "command", "ready");
    until_logged(&sandbox, "background", "ready");
    let mut expected = vec!["ready".to_owned()];
    // KILL and STOP cannot be caught, TSTP, TTIN and TTOU stop, CHLD is about children.
    for number in (1..=31).filter(|number| ![9, 17, 19, 20, 21, 22].contains(number)).chain(34..=64) {
        send_signal(brk, &number.to_string());
        let line = number.to_string();
        until_logged(&sandbox, "command", &line);
        until_logged(&sandbox, "background", &line);
        expected.push(line);
    }
    assert_eq!(code(child), Some(0), "brk outlives the signals, and ends as the command did");
    assert_eq!(log(&sandbox, "command"), expected);
    assert_eq!(log(&sandbox, "background"), expected);
}

#[test]
fn a_signal_that_was_ignored_at_start_stays_ignored() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox.write("listener.py", LISTENER);
    let mut nohup = sandbox.command("env");
    nohup.arg("--ignore-signal=HUP,INT,QUIT,TERM,USR1,ALRM,PIPE");
    nohup.args([brk(), "run", "--name", "x", "--", "python3", "-I", "listener.py", "command"]);
    let child = nohup.start();
    until_logged(&sandbox, "command", "ready");
    for signal in ["HUP", "INT", "QUIT", "TERM", "USR1", "ALRM", "PIPE", "USR2", "64"] {
        child.signal(signal);
    }
    assert_eq!(code(child), Some(0));
    assert_eq!(log(&sandbox, "command"), ["ready", "12", "64"]);
}

#[test]
fn how_a_signal_ends_a_run() {
    let plain = "echo ready >sign; exec sleep 1000";
    let trap = |signal: &str, code: u8| {
        format!("trap 'exit {code}' {signal}; echo ready >sign; while :; do sleep 0.01; done")
    };
    let died = |signal: i32| (None, Some(signal));
    let exited = |code: i32| (Some(code), None);
    let cases = [
        ("TERM", plain.to_owned(), died(15), "ignored", "interrupted"),
        ("INT", plain.to_owned(), died(2), "ignored", "interrupted"),
        ("QUIT", plain.to_owned(), died(3), "ignored", "interrupted"),
        ("HUP", plain.to_owned(), died(1), "ignored", "interrupted"),
        ("USR1", plain.to_owned(), died(10), "failure", "signaled"),
        ("ALRM", plain.to_owned(), died(14), "failure", "signaled"),
        ("TERM", trap("TERM", 0), exited(0), "success", "exited"),
        ("TERM", trap("TERM", 9), exited(9), "ignored", "interrupted"),
        ("INT", trap("INT", 9), exited(9), "ignored", "interrupted"),
        ("HUP", trap("HUP", 9), exited(9), "failure", "exited"),
        ("HUP", trap("HUP", 0), exited(0), "success", "exited"),
        ("USR2", trap("USR2", 9), exited(9), "failure", "exited"),
    ];
    for (signal, script, end, outcome, ending) in cases {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let mut child = guarded_script(&sandbox, &[], &script).stderr(Stdio::null()).start();
        until_file(&sandbox.file("sign"));
        child.signal(signal);
        let status = child.wait().expect("an end");
        assert_eq!((status.code(), status.signal()), end, "{signal} to {script}");
        let history = sandbox.history("x");
        assert_eq!(history.len(), 1, "{history:?}");
        assert_eq!(
            (&history[0]["event"], &history[0]["ending"]),
            (&outcome.into(), &ending.into()),
            "{signal} to {script}"
        );
    }
}

#[test]
fn brk_is_not_gone_before_its_command() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script = "trap 'echo told >told; until [ -e go ]; do sleep 0.01; done; exit 3' TERM
        echo $$ >pid; while :; do sleep 0.01; done";
    let mut child = guarded_script(&sandbox, &[], script).stderr(Stdio::null()).start();
    let command = until_pid(&sandbox.file("pid"));
    child.signal("TERM");
    until_file(&sandbox.file("told"));
    // Longer than the default of --kill-after: nobody has asked for escalation.
    std::thread::sleep(Duration::from_millis(5_500));
    assert_eq!(child.try_wait().expect("a look"), None, "brk went before its command");
    assert!(is_alive(command), "escalating is the sender's business");
    sandbox.write("go", "");
    assert_eq!(code(child), Some(3));
}

#[test]
fn with_kill_after_given_a_signal_starts_the_clock() {
    for signal in ["TERM", "INT", "QUIT", "HUP"] {
        for grace in ["0", "200ms"] {
            let sandbox = Sandbox::new();
            let _sweeper = Sweeper(&sandbox);
            let script = "trap '' TERM INT QUIT HUP; setsid sleep 1000 & echo ready >sign; while :; do sleep 1000; done";
            let mut child = guarded_script(&sandbox, &["--kill-after", grace], script).start();
            until_file(&sandbox.file("sign"));
            child.signal(signal);
            assert_eq!(child.wait().expect("an end").signal(), Some(9), "{signal}, {grace}");
            assert_eq!(left(&sandbox), [], "{signal}, {grace}");
            assert_eq!(sandbox.history("x")[0]["ending"], "interrupted", "{signal}, {grace}");
        }
    }
}

#[test]
fn with_kill_after_given_a_signal_that_asks_for_no_end_starts_no_clock() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script =
        "trap 'echo told >told' USR1; echo ready >sign; until [ -e go ]; do sleep 0.01; done; exit 4";
    let child = guarded_script(&sandbox, &["--kill-after", "0"], script).stderr(Stdio::null()).start();
    until_file(&sandbox.file("sign"));
    child.signal("USR1");
    until_file(&sandbox.file("told"));
    sandbox.write("go", "");
    assert_eq!(code(child), Some(4));
}

#[test]
fn between_retries_a_signal_ends_it_at_once() {
    for (signal, number) in [("HUP", 1), ("INT", 2), ("QUIT", 3), ("TERM", 15), ("USR1", 10), ("ALRM", 14)] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let flags = ["--retries", "5", "--retry-delay", "3650d", "--retry-max-delay", "3650d"];
        let mut child = guarded_script(&sandbox, &flags, "echo $BRK_ATTEMPT >>ran; exit 1").start();
        until("the first attempt is recorded", || {
            sandbox.run(&["history", "x"]).stdout().contains("failure")
        });
        child.signal(signal);
        assert_eq!(child.wait().expect("an end").signal(), Some(number));
        assert_eq!(sandbox.read("ran"), "1\n", "more was launched after {signal}");
    }
}

#[test]
fn while_it_waits_to_be_admitted_a_signal_ends_it_at_once() {
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        sandbox.run(&["trip", "x", "--for", "1h"]).code(0);
        let mut child = guarded_script(&sandbox, &["--wait"], "echo ran >ran").start();
        until("it waits", || stat(child.id(), 3).as_deref() == Some("S"));
        child.signal(signal);
        assert_eq!(child.wait().expect("an end").signal(), Some(number));
        assert!(!sandbox.file("ran").exists());
    }
}

/// Somebody who holds the lock of a breaker until dropped.
struct Holder(#[expect(dead_code, reason = "it lives as long as this")] Running);

impl Holder {
    fn new(sandbox: &Sandbox) -> Holder {
        let script = "echo held >held; read line";
        let mut flock = sandbox.command("flock");
        flock.args(["--no-fork", "state/x.lock", "sh", "-c", script]).stdin(Stdio::piped());
        let flock = flock.start();
        until_file(&sandbox.file("held"));
        Holder(flock)
    }

    /// Waits until a process waits, too.
    #[track_caller]
    fn until_waited_for_by(&self, sandbox: &Sandbox, pid: u32) {
        let lock = sandbox.file("state/x.lock");
        until("it has the lock's file open and sleeps", || {
            let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
            let has = fds.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|link| link == lock));
            has && stat(pid, 3).as_deref() == Some("S")
        });
    }
}

#[test]
fn while_it_waits_for_a_lock_a_signal_ends_it_at_once() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox.run(&["trip", "x"]).code(0);
    let holder = Holder::new(&sandbox);
    let mut child = guarded_script(&sandbox, &[], "echo ran >ran").start();
    holder.until_waited_for_by(&sandbox, child.id());
    child.signal("TERM");
    assert_eq!(child.wait().expect("an end").signal(), Some(15));
    assert!(!sandbox.file("ran").exists());
}

#[test]
fn while_it_records_a_result_a_signal_does_not_end_it() {
    for (flags, end) in [
        (&[][..], (Some(4), None)),
        // Nothing more is launched, and the signal is not forgotten.
        (&["--retries", "5", "--retry-delay", "0"], (None, Some(15))),
    ] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let script = "echo $$ >pid; read line <go; echo ran >>ran; exit 4";
        sandbox.shell("mkfifo go").code(0);
        let mut child = guarded_script(&sandbox, flags, script).start();
        let command = until_pid(&sandbox.file("pid"));
        let holder = Holder::new(&sandbox);
        sandbox.shell("echo >go").code(0);
        until_gone(command);
        holder.until_waited_for_by(&sandbox, child.id());
        child.signal("TERM");
        drop(holder);
        let status = child.wait().expect("an end");
        assert_eq!((status.code(), status.signal()), end, "{flags:?}");
        assert_eq!(sandbox.events("x"), ["failure"], "{flags:?}");
        assert_eq!(sandbox.read("ran"), "ran\n", "{flags:?}");
    }
}

/// What a shell with job control is to its job, without a terminal: of the same session and another group, so that
/// somebody could continue what is stopped.
const PARENT: &str = r#"
import os, subprocess, sys
job = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp)
print(job.pid, file=open('brk', 'w'))
job.wait()
"#;

fn as_a_job(sandbox: &Sandbox, flags: &[&str], script: &str) -> (Running, u32, u32) {
    let mut parent = sandbox.command("setsid");
    parent.args(["python3", "-I", "-c", PARENT, brk(), "run", "--name", "x"]).args(flags);
    let parent = parent.args(["--", "sh", "-c", script]).start();
    (parent, until_pid(&sandbox.file("brk")), until_pid(&sandbox.file("pid")))
}

#[test]
fn stopping_and_continuing_are_passed_on() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let (mut job, brk, command) = as_a_job(&sandbox, &[], "echo $$ >pid; exec sleep 1000");
    assert_eq!(parent(command), Some(brk));
    for signal in ["TSTP", "TTIN", "TTOU"] {
        send_signal(brk, signal);
        until(&format!("{signal} stops both"), || is_stopped(brk) && is_stopped(command));
        send_signal(brk, "CONT");
        until("CONT continues both", || !is_stopped(brk) && !is_stopped(command));
    }
    send_signal(brk, "TERM");
    until_gone(command);
    until_gone(brk);
    assert_eq!(sandbox.history("x")[0]["ending"], "interrupted");
    job.wait().expect("an end");
}

#[test]
fn the_timer_stands_still_while_brk_is_stopped() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    // A shell that forks all the time cannot be stopped in the middle of a fork; this command never forks.
    let script = "exec python3 -c 'import os, sys, time
print(os.getpid(), file=open(\"pid\", \"w\"), flush=True)
while not os.path.exists(\"go\"): time.sleep(0.01)
sys.exit(5)'";
    let (mut job, brk, command) = as_a_job(&sandbox, &["--timeout", "6s"], script);
    send_signal(brk, "TSTP");
    until("both are stopped", || is_stopped(brk) && is_stopped(command));
    // Longer than the whole timeout, which is long enough for a slow machine to come this far and back.
    std::thread::sleep(Duration::from_millis(6_500));
    sandbox.write("go", "");
    send_signal(brk, "CONT");
    until_gone(brk);
    let run = &sandbox.history("x")[0];
    assert_eq!((&run["ending"], &run["exit"]), (&"exited".into(), &5.into()), "{run}");
    assert!(run["duration_ms"].as_u64() < Some(6_000), "{run}");
    job.wait().expect("an end");
}

#[test]
fn a_signal_during_the_grace_is_passed_on_too() {
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script = "trap 'echo term >term' TERM; trap 'exit 8' USR1; while :; do sleep 0.01; done";
    let flags = ["--timeout", "200ms", "--kill-after", "1000s", "--preserve-status"];
    let child = guarded_script(&sandbox, &flags, script).stderr(Stdio::null()).start();
    until_file(&sandbox.file("term"));
    child.signal("USR1");
    assert_eq!(code(child), Some(8));
    assert_eq!(sandbox.history("x")[0]["ending"], "timed-out");
}

#[test]
fn many_signals_at_once() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    sandbox.write("listener.py", LISTENER);
    let child = guarded(&sandbox, &[], &["python3", "-I", "listener.py", "command"]).start();
    until_logged(&sandbox, "command", "ready");
    let command = children(child.id())[0];
    // Real-time signals are counted, not merged.
    let burst = format!(
        "i=0; while [ $i -lt 300 ]; do kill -40 {}; i=$((i + 1)); done; kill -64 {}",
        child.id(),
        child.id()
    );
    sandbox.shell(&burst).code(0);
    assert_eq!(code(child), Some(0));
    assert_eq!(log(&sandbox, "command").iter().filter(|line| *line == "40").count(), 300);
    until_gone(command);
}
