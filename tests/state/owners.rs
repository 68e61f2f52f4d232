//! Files and directories of somebody else, and a directory that two users share on purpose. As root the tests are
//! several users; as anybody else, a file that must not be opened stands for a file of another.

use super::*;
use std::process::Stdio;

use crate::process::{Running, Start, is_root};

const STRANGER: u32 = 1002;

/// A directory of the user that `as_user` is, with a breaker that is open, one that is due and one that is closed.
fn own() -> Sandbox {
    let sandbox = Sandbox::new();
    set_mode(sandbox.path(), 0o777);
    as_user(&sandbox, &["run", "--name", "open", "--failures", "1", "--cooldown", "1h", "--", "false"])
        .code(1);
    as_user(&sandbox, &["trip", "due", "--for", "0"]).code(0);
    as_user(&sandbox, &["run", "--name", "closed", "--max-concurrent", "1", "--", "true"]).code(0);
    sandbox
}

/// As `sudo brk` might leave it.
fn give_away(path: &Path) {
    set_mode(path, if is_root() { 0o600 } else { 0 });
    if is_root() {
        std::os::unix::fs::chown(path, Some(STRANGER), Some(STRANGER)).expect("chown");
    }
}

fn bytes(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if !is_root() {
        return Vec::new();
    }
    photograph(dir).into_iter().map(|(path, bytes, ..)| (path, bytes)).collect()
}

/// One warning that names the file, and the command runs; or it does not, where that was asked for.
#[track_caller]
fn is_unguarded(sandbox: &Sandbox, name: &str, file: &str) {
    let done = as_user(sandbox, &["run", "--name", name, "--", "sh", "-c", "exit 3"]);
    done.code(3).says("warning").says("unguarded").says(file);
    assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    let words = ["run", "--name", name, "--on-state-error", "refuse", "--", "touch", "launched"];
    let done = as_user(sandbox, &words);
    done.code(125).says(file);
    assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
    assert!(!sandbox.file("launched").exists());
}

#[test]
fn a_journal_of_another_is_left_alone() {
    let sandbox = own();
    for name in ["open", "closed", "due"] {
        give_away(&sandbox.state().join(format!("{name}.journal")));
    }
    let before = bytes(&sandbox.state());
    for name in ["open", "closed", "due"] {
        let file = format!("{name}.journal");
        is_unguarded(&sandbox, name, &file);
        for verb in ["reset", "trip", "forget"] {
            as_user(&sandbox, &[verb, name]).code(1).says(&file);
        }
        // Not to know is no reason to keep the command from running.
        as_user(&sandbox, &["check", name]).code(0).says(&file);
    }
    assert_eq!(bytes(&sandbox.state()), before, "set aside or removed");
    as_user(&sandbox, &["status"]).code(1);
}

#[test]
fn a_lock_of_another_keeps_writers_out_and_readers_not() {
    let sandbox = own();
    for name in ["open", "closed", "due"] {
        give_away(&sandbox.state().join(format!("{name}.lock")));
    }
    let before = bytes(&sandbox.state());
    for name in ["closed", "due"] {
        is_unguarded(&sandbox, name, &format!("{name}.lock"));
    }
    // What can be read still counts.
    as_user(&sandbox, &["run", "--name", "open", "--", "touch", "launched"]).code(75).says("open after");
    as_user(&sandbox, &["check", "open"]).code(75);
    as_user(&sandbox, &["status"]).code(0).prints("open").prints("closed");
    as_user(&sandbox, &["reset", "open"]).code(1).says("open.lock");
    assert!(!sandbox.file("launched").exists());
    assert_eq!(bytes(&sandbox.state()), before);
}

#[test]
fn a_place_of_another_wedges_nothing() {
    let sandbox = own();
    // What a probe of another left behind is moved out of the way: the directory is the user's.
    fs::write(sandbox.state().join("due.probe-0"), "{}\n").expect("a file");
    give_away(&sandbox.state().join("due.probe-0"));
    as_user(&sandbox, &["run", "--name", "due", "--", "true"]).code(0).quiet();
    assert_eq!(sandbox.status("due")["phase"], "closed");
    // A slot may be held by whoever made it, and is not.
    give_away(&sandbox.state().join("closed.slot-0"));
    let limited = ["run", "--name", "closed", "--max-concurrent", "1", "--", "sh", "-c", "exit 3"];
    as_user(&sandbox, &limited).code(3).says("warning").says("closed.slot-0");
}

#[test]
fn a_directory_of_another_is_no_place_to_write_to() {
    let sandbox = own();
    let state = sandbox.state();
    let before = bytes(&state);
    for mode in [0o700, 0o711] {
        if is_root() {
            std::os::unix::fs::chown(&state, Some(STRANGER), Some(STRANGER)).expect("chown");
        }
        // In the second one files can be found by their names, and those are this user's: to read and to append to.
        set_mode(&state, if is_root() { mode } else { mode & 0o100 });
        as_user(&sandbox, &["status"]).code(1).says("state");
        let done = as_user(&sandbox, &["run", "--name", "new", "--", "sh", "-c", "exit 3"]);
        done.code(3).says("warning").says("unguarded").says("new");
        let words = ["run", "--name", "new", "--on-state-error", "refuse", "--", "touch", "launched"];
        as_user(&sandbox, &words).code(125);
    }
    as_user(&sandbox, &["check", "open"]).code(75);
    set_mode(&state, 0o700);
    assert_eq!(bytes(&state), before);
    assert!(!sandbox.file("launched").exists());
}

/// `brk` as one of two users of one group.
fn as_member(sandbox: &Sandbox, user: u32, words: &[&str]) -> Command {
    if !is_root() {
        let mut command = sandbox.brk();
        command.args(words);
        return command;
    }
    let mut command = sandbox.command("setpriv");
    let uid = user.to_string();
    command.args(["--reuid", &uid, "--regid", &uid, "--groups", "65534", brk()]).args(words);
    command
}

/// A directory that the group shares, and is the group's.
fn shared() -> Sandbox {
    let sandbox = Sandbox::new();
    set_mode(sandbox.path(), 0o777);
    fs::create_dir(sandbox.state()).expect("a directory");
    if is_root() {
        std::os::unix::fs::chown(sandbox.state(), Some(STRANGER), Some(65534)).expect("chown");
    }
    set_mode(&sandbox.state(), 0o2770);
    sandbox
}

const USERS: [u32; 2] = [1001, STRANGER];

#[test]
fn two_users_share_breakers() {
    let sandbox = shared();
    let run = |user: usize, words: &[&str]| finish(as_member(&sandbox, USERS[user], words));
    let fails = ["run", "--name", "n", "--failures", "2", "--cooldown", "1h", "--", "sh", "-c", "exit 7"];
    run(0, &fails).code(7).quiet();
    run(1, &fails).code(7).quiet();
    run(0, &fails).code(75);
    run(1, &["trip", "n", "--for", "0"]).code(0);
    run(0, &["run", "--name", "n", "--max-concurrent", "1", "--", "true"]).code(0).quiet();
    run(1, &["trip", "n", "--for", "0"]).code(0);
    run(1, &["run", "--name", "n", "--max-concurrent", "1", "--", "true"]).code(0).quiet();
    let done = run(0, &["history", "n"]);
    done.code(0);
    assert_eq!(done.stdout().matches("closed").count(), 2, "{}", done.all());
    let owners: Vec<u32> = photograph(&sandbox.state())
        .iter()
        .map(|(path, ..)| fs::metadata(path).expect("metadata").uid())
        .collect();
    assert!(!is_root() || owners.contains(&USERS[0]) && owners.contains(&USERS[1]), "{owners:?}");
    run(1, &["forget", "n"]).code(0);
    run(0, &["run", "--name", "n", "--", "true"]).code(0).quiet();
}

/// A probe of the first user, until its command is killed.
fn probe(sandbox: &Sandbox) -> (Running, u32) {
    let script = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.02; done";
    let mut command = as_member(sandbox, USERS[0], &["run", "--name", "n", "--", "sh", "-c", script]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).start();
    (child, crate::process::until_pid(&sandbox.file("pid")))
}

#[test]
fn a_user_sees_and_survives_the_probe_of_another() {
    let sandbox = shared();
    let run = |user: usize, words: &[&str]| finish(as_member(&sandbox, USERS[user], words));
    run(1, &["trip", "n", "--for", "0"]).code(0);
    let (child, command) = probe(&sandbox);
    run(1, &["run", "--name", "n", "--", "touch", "second"]).code(75).says("being probed");
    child.kill_9();
    // The other user may not look into the survivor, but its lock is seen.
    run(1, &["run", "--name", "n", "--", "touch", "second"]).code(75).says("being probed");
    assert!(!sandbox.file("second").exists());
    crate::process::send_signal(command, "KILL");
    until("nobody is left", || run(1, &["check", "n"]).status().code() == Some(0));
    run(1, &["run", "--name", "n", "--", "true"]).code(0).quiet();
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["totals"]["lost"]), (&"closed".into(), &1.into()));
}
