//! `brk` as process 1 of a container: signals have no default action there, orphans are its own, and nobody can die of
//! a signal.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{Start, Sweeper, children, is_alive, is_root, left, parent, send_signal, stat};
use crate::tools::needs;
use crate::util::{Sandbox, brk, finish, until, until_file};

/// `brk` in a namespace of its own, which goes when `unshare` does.
fn contained(sandbox: &Sandbox, flags: &[&str], script: &str) -> Command {
    let mut unshare = sandbox.command("unshare");
    unshare.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    if !is_root() {
        unshare.arg("--map-root-user");
    }
    unshare
        .args([brk(), "run", "--name", "x", "--failures", "0"])
        .args(flags)
        .args(["--", "sh", "-c", script]);
    unshare
}

#[test]
fn statuses_of_process_1() {
    needs!("namespaces");
    let cases: [(&[&str], &str, i32); 8] = [
        (&[], "[ $PPID -eq 1 ] && exit 7", 7),
        (&[], "kill -TERM $$", 143),
        (&[], "kill -INT $$", 130),
        (&[], "kill -KILL $$", 137),
        (&[], "ulimit -c 0; kill -SEGV $$", 139),
        (&["--timeout", "300ms"], "sleep 1000; :", 124),
        (
            &["--timeout", "300ms", "--kill-after", "100ms"],
            "trap '' TERM; setsid sleep 1000 & sleep 1000; :",
            124,
        ),
        (&["--timeout", "300ms", "--preserve-status"], "exec sleep 1000", 143),
    ];
    for (flags, script, code) in cases {
        let sandbox = Sandbox::new();
        let done = finish(contained(&sandbox, flags, script));
        done.code(code);
        assert_eq!(left(&sandbox), [], "{script}");
    }
}

/// Process 1 of the namespace, by its number outside.
#[track_caller]
fn until_inside(unshare: u32) -> u32 {
    let mut inside = 0;
    until("process 1", || {
        inside = children(unshare).first().copied().unwrap_or(0);
        inside != 0
    });
    inside
}

#[test]
fn signals_to_process_1_are_passed_on() {
    needs!("namespaces");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    for (signal, script, code) in [
        ("TERM", "echo ready >sign; exec sleep 1000", 143),
        ("INT", "trap 'exit 9' INT; echo ready >sign; while :; do sleep 0.01; done", 9),
        ("USR1", "trap 'exit 0' USR1; echo ready >sign; while :; do sleep 0.01; done", 0),
    ] {
        sandbox.write("sign", "");
        let mut unshare = contained(&sandbox, &[], script).stderr(Stdio::null()).start();
        until_file(&sandbox.file("sign"));
        send_signal(until_inside(unshare.id()), signal);
        assert_eq!(unshare.wait().expect("an end").code(), Some(code), "{signal}");
    }
}

#[test]
fn process_1_ends_of_signals_between_retries() {
    needs!("namespaces");
    for (signal, code) in [("HUP", 129), ("INT", 130), ("TERM", 143)] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        let flags = ["--retries", "5", "--retry-delay", "3650d", "--retry-max-delay", "3650d"];
        let mut unshare = contained(&sandbox, &flags, "echo $BRK_ATTEMPT >>ran; exit 1").start();
        until("the first attempt is recorded", || {
            sandbox.run(&["history", "x"]).stdout().contains("failure")
        });
        send_signal(until_inside(unshare.id()), signal);
        assert_eq!(unshare.wait().expect("an end").code(), Some(code), "{signal}");
        assert_eq!(sandbox.read("ran"), "1\n");
    }
}

#[test]
fn process_1_ends_of_signals_while_it_waits_to_be_admitted() {
    needs!("namespaces");
    for (signal, code) in [("HUP", 129), ("INT", 130), ("QUIT", 131), ("TERM", 143)] {
        let sandbox = Sandbox::new();
        let _sweeper = Sweeper(&sandbox);
        sandbox.run(&["trip", "x", "--for", "1h"]).code(0);
        let mut unshare = contained(&sandbox, &["--wait"], "echo ran >ran").start();
        let inside = until_inside(unshare.id());
        until("brk waits", || {
            let program = std::fs::read_link(format!("/proc/{inside}/exe"));
            program.is_ok_and(|program| program == Path::new(brk()))
                && stat(inside, 3).as_deref() == Some("S")
        });
        send_signal(inside, signal);
        assert_eq!(unshare.wait().expect("an end").code(), Some(code), "{signal}");
        assert!(!sandbox.file("ran").exists());
    }
}

#[test]
fn orphans_of_process_1_are_reaped() {
    needs!("namespaces");
    let sandbox = Sandbox::new();
    let _sweeper = Sweeper(&sandbox);
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sleep 0.01 &); done; echo ready >sign; sleep 1000";
    let mut unshare = contained(&sandbox, &[], script).start();
    until_file(&sandbox.file("sign"));
    let inside = until_inside(unshare.id());
    until("only the command is left", || {
        let children = children(inside);
        children.len() == 1 && is_alive(children[0]) && parent(children[0]) == Some(inside)
    });
    send_signal(inside, "TERM");
    assert_eq!(unshare.wait().expect("an end").code(), Some(143));
}
