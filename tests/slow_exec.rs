//! A command whose file cannot be read yet: a dead network disk, or a scanner that takes its time. A stand-in holds up
//! every execution of one file, as a scanner may. Timeouts and signals work all the same.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::process::{Running, Start, children, send_signal, stat, until_gone};
use crate::tools::needs;
use crate::util::{Sandbox, brk, until, until_file};

/// Answers nothing to those who execute the file of its argument, for 45 seconds or as long as it lives.
const SCANNER: &str = r#"
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
CLASS_CONTENT, MARK_ADD, OPEN_EXEC_PERM = 4, 1, 0x40000
fd = check(libc.fanotify_init(CLASS_CONTENT, os.O_RDONLY))
check(libc.fanotify_mark(fd, MARK_ADD, ctypes.c_uint64(OPEN_EXEC_PERM), -100, os.fsencode(sys.argv[1])))
print('scans', file=open('scans', 'w'))
time.sleep(45)
"#;

/// A copy of a program that nothing can execute while the scanner lives, which is until it is dropped.
fn scanned(sandbox: &Sandbox) -> Running {
    sandbox.shell("cp $(command -v sleep) held").code(0);
    let mut python = sandbox.command("python3");
    python.args(["-I", "-c", SCANNER, "held"]);
    let scanner = python.start();
    until_file(&sandbox.file("scans"));
    scanner
}

fn start(sandbox: &Sandbox, flags: &[&str]) -> Running {
    // In a session of its own: without a terminal, wherever the tests run.
    let mut command = sandbox.command("setsid");
    command.args([brk(), "run", "--name", "n", "--failures", "1"]).args(flags).args(["--", "./held", "600"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).start()
}

/// The process of a `brk` that waits for the scanner: it is there, and still has the name of `brk`.
fn held_up(parent: &Running) -> u32 {
    let mut found = None;
    until("the command is held up", || {
        found = children(parent.id()).first().copied();
        found.is_some()
    });
    found.expect("a child")
}

#[test]
fn a_timeout_ends_what_was_never_executed() {
    needs!("root", "python3");
    let sandbox = Sandbox::new();
    let _scanner = scanned(&sandbox);
    let begun = Instant::now();
    let child = start(&sandbox, &["--timeout", "300ms", "--kill-after", "300ms"]);
    let command = held_up(&child);
    child.finish().code(124);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    until_gone(command);
    let last = sandbox.status("n")["last"].clone();
    assert_eq!(last["ending"], "timed-out", "{last}");
}

#[test]
fn a_signal_ends_what_was_never_executed() {
    needs!("root", "python3");
    for signal in ["TERM", "INT", "HUP"] {
        let sandbox = Sandbox::new();
        let _scanner = scanned(&sandbox);
        let child = start(&sandbox, &[]);
        let command = held_up(&child);
        child.signal(signal);
        let done = child.finish();
        assert!(done.status().code().is_none(), "{signal}: {}", done.all());
        until_gone(command);
        let last = sandbox.status("n")["last"].clone();
        assert_eq!((&last["outcome"], &last["ending"]), (&"ignored".into(), &"interrupted".into()), "{last}");
    }
}

#[test]
fn a_brk_that_is_killed_takes_with_it_what_was_never_executed() {
    needs!("root", "python3");
    let sandbox = Sandbox::new();
    let _scanner = scanned(&sandbox);
    let child = start(&sandbox, &[]);
    let command = held_up(&child);
    child.kill_9();
    until_gone(command);
}

#[test]
fn what_is_held_up_runs_in_the_end_as_any_other() {
    needs!("root", "python3");
    let sandbox = Sandbox::new();
    let scanner = scanned(&sandbox);
    let child = start(&sandbox, &["--timeout", "60s"]);
    let command = held_up(&child);
    assert_ne!(stat(command, 3).as_deref(), Some("Z"));
    drop(scanner);
    until("the command runs", || {
        let line = std::fs::read(format!("/proc/{command}/cmdline")).unwrap_or_default();
        line == b"./held\x00600\x00"
    });
    send_signal(command, "TERM");
    child.finish().signal(15);
}
