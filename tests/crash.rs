//! What a killed `brk` leaves behind: its place is free when the last of its processes is gone, and never before.

use crate::process::{Running, Start, is_alive, send_signal};
use crate::tools::needs;
use crate::util::{Sandbox, until, until_file};

/// An open breaker that is due, with a wait of an hour behind its next opening.
fn due(sandbox: &Sandbox, name: &str) {
    sandbox.run(&["run", "--name", name, "--cooldown", "1h", "--", "true"]).code(0);
    sandbox.run(&["trip", name, "--for", "0"]).code(0);
}

/// Starts a probe; gives it when its command has said its process id.
fn probe(sandbox: &Sandbox, flags: &[&str], script: &str) -> (Running, u32) {
    let script =
        format!("{script}\necho $$ > started.new; mv started.new started; while :; do sleep 0.02; done");
    let head = ["run", "--name", "n", "--cooldown", "1h"];
    let child = sandbox.spawn(&[&head, flags, &["--", "sh", "-c", &script]].concat());
    let pid = until_file(&sandbox.file("started")).trim().parse().expect("a process id");
    (child, pid)
}

#[test]
fn kill_9_of_the_prober_frees_its_place() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let (child, command) = probe(&sandbox, &[], "");
    sandbox.run(&["check", "n"]).code(75);
    child.kill_9();
    until("the command of a dead brk has ended", || !is_alive(command));
    // What the command itself was waiting for may outlive it by a moment.
    until("nobody is left", || sandbox.run(&["check", "n"]).status().code() == Some(0));
    let status = sandbox.status("n");
    assert_eq!(status["probes"].as_array().map(Vec::len), Some(0));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["totals"]["lost"]), (&"closed".into(), &1.into()));
    assert_eq!(status["totals"]["failure"], 0, "lost is not failed");
    let events = sandbox.events("n");
    assert_eq!(events, ["success", "tripped", "half-open", "lost", "success", "closed"]);
}

#[test]
fn survivors_keep_the_place() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let (child, command) = probe(&sandbox, &[], "trap '' TERM");
    child.kill_9();
    for _ in 0..3 {
        sandbox.run(&["run", "--name", "n", "--", "touch", "second"]).code(75).says("being probed");
    }
    let status = sandbox.status("n");
    let survivors = status["probes"][0]["survivors"].as_array().expect("survivors").clone();
    assert!(survivors.contains(&command.into()), "{command} is not in {status}");
    assert!(sandbox.run(&["status", "n"]).stdout().contains(&command.to_string()));
    assert!(!sandbox.file("second").exists(), "a second probe while the first is alive");
    send_signal(command, "KILL");
    until("nobody is left", || sandbox.run(&["check", "n"]).status().code() == Some(0));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    assert_eq!(sandbox.status("n")["totals"]["lost"], 1);
}

/// Where a survivor's place is taken away, a second probe starts: what the tests here look for can happen.
#[test]
fn a_place_that_is_gone_would_be_noticed() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let (child, command) = probe(&sandbox, &[], "trap '' TERM");
    child.kill_9();
    sandbox.run(&["run", "--name", "n", "--", "touch", "second"]).code(75);
    std::fs::remove_file(sandbox.state().join("n.probe-0")).expect("removed");
    sandbox.run(&["run", "--name", "n", "--", "touch", "second"]).code(0);
    assert!(sandbox.file("second").exists() && is_alive(command));
    send_signal(command, "KILL");
    println!("proof: breaks: survivors: 1 of 1 noticed");
}

#[test]
fn the_smallest_survivor_keeps_the_place() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    // A process in a session of its own, without any of the command's streams.
    let (child, command) =
        probe(&sandbox, &[], "setsid sh -c 'echo $$ > leaf; exec sleep 1000' > /dev/null 2>&1 < /dev/null &");
    let leaf: u32 = until_file(&sandbox.file("leaf")).trim().parse().expect("a process id");
    child.kill_9();
    until("the command itself has ended", || !is_alive(command));
    assert!(is_alive(leaf));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75);
    send_signal(leaf, "KILL");
    until("nobody is left", || sandbox.run(&["check", "n"]).status().code() == Some(0));
}

#[test]
fn a_reset_frees_the_place_at_once() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let (child, command) = probe(&sandbox, &[], "trap '' TERM");
    child.kill_9();
    sandbox.run(&["reset", "n"]).code(0);
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    // The next probe takes a place of its own, whoever still holds the old one.
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    assert!(is_alive(command));
    send_signal(command, "KILL");
}

#[test]
fn the_deadline_ends_what_is_left() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let (child, command) = probe(
        &sandbox,
        &["--timeout", "2s", "--kill-after", "0"],
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > leaf; while :; do sleep 1000; done' &",
    );
    let leaf: u32 = until_file(&sandbox.file("leaf")).trim().parse().expect("a process id");
    assert!(sandbox.status("n")["probes"][0]["deadline"].is_string());
    child.kill_9();
    let mut ran = false;
    until("the deadline has passed and a run is admitted", || {
        assert!(ran || !sandbox.file("second").exists());
        let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 0"]);
        ran = done.status().code() == Some(0);
        if !ran {
            done.code(75);
            assert!(is_alive(command), "refused, and nothing is left");
        }
        ran
    });
    assert!(!is_alive(command) && !is_alive(leaf), "what is left was ended before the next probe");
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["totals"]["lost"]), (&"closed".into(), &1.into()));
}

#[test]
fn a_daemon_after_a_normal_end_keeps_nothing() {
    let sandbox = Sandbox::new();
    due(&sandbox, "n");
    let daemon = "setsid sh -c 'echo $$ > leaf; exec sleep 1000' > /dev/null 2>&1 < /dev/null & \
                  while [ ! -s leaf ]; do sleep 0.01; done; exit 7";
    sandbox
        .run(&["run", "--name", "n", "--cooldown", "0", "--jitter", "0", "--", "sh", "-c", daemon])
        .code(7);
    let leaf: u32 = until_file(&sandbox.file("leaf")).trim().parse().expect("a process id");
    assert!(is_alive(leaf));
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["probes"]), (&"open".into(), &serde_json::json!([])));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    assert!(is_alive(leaf), "a daemon that was left on purpose was ended");
    assert_eq!(sandbox.status("n")["phase"], "closed");
    send_signal(leaf, "KILL");
}

#[test]
fn a_signal_frees_the_place_too() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let sandbox = Sandbox::new();
        due(&sandbox, "n");
        let (child, command) = probe(&sandbox, &[], "");
        child.signal(signal);
        child.finish().signal(number);
        assert!(!is_alive(command));
        let status = sandbox.status("n");
        assert_eq!((&status["phase"], &status["probes"]), (&"half-open".into(), &serde_json::json!([])));
        assert_eq!((&status["totals"]["ignored"], &status["totals"]["lost"]), (&1.into(), &0.into()));
        sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
        assert_eq!(sandbox.status("n")["phase"], "closed");
    }
}

#[test]
fn a_killed_run_that_was_no_probe_leaves_nothing() {
    let sandbox = Sandbox::new();
    let (child, command) = probe(&sandbox, &[], "");
    child.kill_9();
    until("the command of a dead brk has ended", || !is_alive(command));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0);
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["totals"]["launched"]), (&"closed".into(), &1.into()));
}

/// A child that has closed what it inherited, as many launchers have it, is known by its group.
#[test]
fn a_survivor_that_closed_its_descriptors_keeps_the_place_too() {
    needs!("python3");
    let sandbox = Sandbox::new();
    let child = "echo $$ > child.new; mv child.new child; while :; do sleep 0.02; done";
    let script = format!("import subprocess; subprocess.run(['sh', '-c', '{child}'])");
    for (name, flags, held) in [("n", &[][..], "half-open"), ("s", &["--max-concurrent", "1"], "busy")] {
        due(&sandbox, name);
        let mut command = sandbox.brk();
        command.args(["run", "--name", name]).args(flags).args(["--", "python3", "-c", &script]);
        let brk = command.start();
        let pid: u32 = until_file(&sandbox.file("child")).trim().parse().expect("a process id");
        brk.kill_9();
        let next = |word: &str| sandbox.run(&[&["run", "--name", name][..], flags, &["--", word]].concat());
        next("true").code(75).says(held);
        if name == "n" {
            let survivors = sandbox.status("n")["probes"][0]["survivors"].clone();
            assert!(survivors.as_array().expect("a list").contains(&pid.into()), "{survivors}");
        }
        send_signal(pid, "KILL");
        until("the place is free", || next("true").status().code() == Some(0));
        std::fs::remove_file(sandbox.file("child")).expect("the child's sign");
    }
}
