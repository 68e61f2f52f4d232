//! Places as others can meddle with them: a command that unlocks or writes to what it inherits, a look at the wrong
//! moment, a name that is forgotten meanwhile, and neighbours who can write the state directory. There is never a
//! second probe, and nothing is signalled that is not proven to be the probe's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{Running, Start, group, is_alive, send_signal, stat, until_gone, until_pid};
use crate::tools::needs;
use crate::util::{Sandbox, brk, until, until_file};

const STUBBORN: &str = "trap '' TERM; echo $$ > begun; exec sleep 600";

fn start(sandbox: &Sandbox, flags: &[&str], script: &str) -> Running {
    let mut command = sandbox.command("setsid");
    command.args([brk(), "run", "--name", "n"]).args(flags).args(["--", "sh", "-c", script]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).start()
}

/// A killed probe, of which nothing is left, and whose deadline has passed; gives its owner record.
fn lost_probe(sandbox: &Sandbox) -> Value {
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    // Stopped in time, brk does not end the command itself.
    let script =
        "until grep -q '\"command\":[0-9]' state/n.probe-0; do sleep 0.01; done; kill -STOP $PPID; sleep 600";
    let child = start(sandbox, &["--timeout", "1s", "--kill-after", "1ms"], script);
    let record = || serde_json::from_str::<Value>(&sandbox.read("state/n.probe-0")).unwrap_or_default();
    until("the command is noted", || record()["command"].is_u64());
    until("brk is stopped", || crate::process::is_stopped(child.id()));
    let record = record();
    let command = record["command"].as_u64().expect("a number") as u32;
    child.kill_9();
    send_signal(command, "KILL");
    until_gone(command);
    std::thread::sleep(Duration::from_millis(1100));
    record
}

/// A process that leads a group and has nothing to do with any probe.
struct Stranger {
    pid: u32,
    /// Ends it with the test.
    _process: Running,
}

impl Stranger {
    fn new(sandbox: &Sandbox) -> Stranger {
        let mut command = sandbox.command("setsid");
        command.args(["sh", "-c", "echo $$ > stranger; exec sleep 600"]);
        let child = command.start();
        let pid = until_pid(&sandbox.file("stranger"));
        until("it sleeps", || fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"sleep\n"));
        Stranger { pid, _process: child }
    }
}

fn started(pid: u32) -> u64 {
    stat(pid, 22).expect("a process").parse().expect("a number")
}

/// Puts a record of a stranger into a lost probe's place; the next run is admitted, and the stranger lives.
#[track_caller]
fn check_spared(what: &str, owner: u32, mode: u32, edit: fn(&mut Value, u32)) {
    let sandbox = Sandbox::new();
    let mut record = lost_probe(&sandbox);
    let stranger = Stranger::new(&sandbox);
    edit(&mut record, stranger.pid);
    let path = sandbox.state().join("n.probe-0");
    fs::remove_file(&path).expect("a place");
    fs::write(&path, record.to_string()).expect("a place");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
    chown(&path, Some(owner), None).expect("chown");
    let done = sandbox.run(&["run", "--name", "n", "--", "true"]);
    assert!(is_alive(stranger.pid), "{what}: a stranger was ended\n{}", done.all());
    done.code(0);
}

fn name(record: &mut Value, pid: u32) {
    record["command"] = json!(pid);
    record["command_started"] = json!(started(pid));
    record["session"] = json!(pid);
}

#[test]
fn what_others_could_have_written_ends_nothing() {
    needs!("root");
    check_spared("another user's file", 65534, 0o644, name);
    check_spared("a file that a group may write", 0, 0o660, name);
    check_spared("a file that all may write", 0, 0o606, name);
}

#[test]
fn another_boots_numbers_mean_nobody() {
    needs!("root");
    check_spared("another boot", 0, 0o600, |record, pid| {
        name(record, pid);
        record["boot"] = json!(12345);
    });
    check_spared("version 0.1.0, which notes no boot", 0, 0o600, |record, pid| {
        name(record, pid);
        record.as_object_mut().expect("a record").remove("boot");
    });
}

#[test]
fn numbers_that_are_used_again_mean_nobody() {
    needs!("root");
    check_spared("a later process of this number", 0, 0o600, |record, pid| {
        name(record, pid);
        record["command_started"] = json!(1);
    });
}

/// The leader has ended, and a stranger's group has its number: it is in another session.
#[test]
fn a_group_number_that_is_used_again_means_nobody() {
    let sandbox = Sandbox::new();
    let mut record = lost_probe(&sandbox);
    // The leader of this group ends, and its member lives on.
    let mut leader = sandbox.command("setsid");
    leader.args(["sh", "-c", "sleep 600 & echo $! > member"]).stdout(Stdio::null()).stderr(Stdio::null());
    leader.start().finish();
    let member = until_pid(&sandbox.file("member"));
    record["command"] = json!(group(member).expect("a group"));
    record["command_started"] = json!(1);
    fs::write(sandbox.state().join("n.probe-0"), record.to_string()).expect("a place");
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(0).quiet();
    assert!(is_alive(member));
    send_signal(member, "KILL");
}

/// Unlocks and writes to whatever is inherited above the standard streams.
const MEDDLE: &str = "for path in /proc/$$/fd/*; do fd=${path##*/}; [ $fd -gt 2 ] || continue
    flock -u $fd; eval \"echo garbage >&$fd\"; done 2> /dev/null; echo";

#[test]
fn a_command_that_meddles_with_what_it_inherits_stays_the_only_probe() {
    needs!("bash");
    for flags in [&[][..], &["--max-concurrent", "1"]] {
        let sandbox = Sandbox::new();
        sandbox.run(&["trip", "n", "--for", "0"]).code(0);
        sandbox.write("meddle", MEDDLE);
        let child = start(&sandbox, flags, &format!("bash meddle; {STUBBORN}"));
        let command = until_pid(&sandbox.file("begun"));
        let second = [&["run", "--name", "n"], flags, &["--", "touch", "second"]].concat();
        sandbox.run(&second).code(75).lacks("was killed");
        assert!(!sandbox.file("second").exists());
        let status = sandbox.status("n");
        assert_eq!(status["probes"][0]["survivors"], json!([]), "{status}");
        // It keeps the place for its group even without the lock.
        child.kill_9();
        sandbox.run(&second).code(75);
        send_signal(command, "KILL");
    }
}

#[test]
fn a_forgotten_name_keeps_its_occupied_places() {
    let sandbox = Sandbox::new();
    let script = "echo > begun; while [ ! -e gate ]; do sleep 0.02; done";
    let limited = ["--max-concurrent", "1"];
    let child = start(&sandbox, &limited, script);
    until_file(&sandbox.file("begun"));
    sandbox.run(&["forget", "n"]).code(0);
    let second = ["run", "--name", "n", "--max-concurrent", "1", "--", "true"];
    sandbox.run(&second).code(75).says("busy");
    sandbox.write("gate", "");
    child.finish();
    sandbox.run(&second).code(0).quiet();
}

#[test]
fn a_name_that_is_being_probed_is_not_forgotten() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let child = start(&sandbox, &[], STUBBORN);
    let command = until_pid(&sandbox.file("begun"));
    sandbox.run(&["forget", "n"]).code(1).says("is being probed").says("reset it first");
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75);
    sandbox.run(&["reset", "n"]).code(0);
    sandbox.run(&["forget", "n"]).code(0);
    child.kill_9();
    send_signal(command, "KILL");
}

/// A place is claimed slowly, and looked at meanwhile by one who is slow to look away.
#[test]
fn a_look_never_hinders_a_claim() {
    needs!("strace");
    let sandbox = Sandbox::new();
    lost_probe(&sandbox);
    // The second lock of a run is that of the place (the first is the breaker's).
    let slow = "inject=flock:delay_enter=700000:when=2+";
    let run = format!(
        "strace -f -qq -o trace -e {slow} brk run --name n -- sh -c 'echo ran > ran' 2> said & run=$!"
    );
    let look = "strace -f -qq -o look -e inject=flock:delay_exit=1500000 brk status n > /dev/null";
    let looks = format!("for turn in $(seq 25); do sleep 0.1; {look} & done");
    sandbox.shell(&format!("{run}; {looks}; wait $run; code=$?; wait; exit $code")).code(0);
    assert_eq!((sandbox.read("ran"), sandbox.read("said")), ("ran\n".to_owned(), String::new()));
    assert_eq!(sandbox.status("n")["phase"], "closed");
}
