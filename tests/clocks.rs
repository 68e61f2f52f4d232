//! Clocks through the binary. The boot clock is a time namespace's, the number of the boot is a file mounted over the
//! kernel's, and the wall clock is what a tracer (`clocks.c`) makes of the kernel's answers: `brk` itself is the one
//! that is shipped, and nothing of its state is made up.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::process::{Start, is_root};
use crate::tools::needs;
use crate::util::{Done, Sandbox, brk, finish, until_file};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEARS: i64 = 10 * 365 * DAY;

/// What the clocks say: seconds that the wall clock is ahead, seconds that the boot clock is ahead, and which boot it
/// is, 0 for the machine's own.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    wall: i64,
    up: i64,
    boot: u32,
}

const TRUE: Clocks = Clocks { wall: 0, up: 0, boot: 0 };

/// A boot that is 100 seconds old.
fn next_boot(wall: i64) -> Clocks {
    let uptime = std::fs::read_to_string("/proc/uptime").expect("an uptime");
    let seconds = uptime.split('.').next().expect("seconds").parse::<i64>().expect("a number");
    Clocks { wall, up: 100 - seconds, boot: 1 }
}

/// A sandbox with the tracer in it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut compile = Command::new("cc");
    compile.arg("-o").arg(sandbox.file("clocks")).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clocks.c"));
    finish(compile).code(0);
    sandbox
}

/// `brk` under these clocks.
fn under(sandbox: &Sandbox, clocks: Clocks, words: &[&str]) -> Command {
    sandbox.write("wall", clocks.wall.to_string());
    sandbox.write("boot", format!("{:08}-0000-4000-8000-000000000000\n", clocks.boot));
    let mount = "mount --bind boot /proc/sys/kernel/random/boot_id &&";
    let script = format!("{} exec ./clocks wall \"$@\"", if clocks.boot == 0 { "" } else { mount });
    let mut command = sandbox.command("unshare");
    if !is_root() {
        command.arg("--map-root-user");
    }
    let up = format!("--boottime={}", clocks.up);
    command.args(["--mount", "--time", &up, "--fork", "sh", "-c", &script, "sh", brk()]).args(words);
    command
}

fn at(sandbox: &Sandbox, clocks: Clocks, words: &[&str]) -> Done {
    finish(under(sandbox, clocks, words))
}

/// A breaker that has just opened for an hour.
fn open() -> Sandbox {
    let sandbox = sandbox();
    let words = ["run", "--name", "n", "--failures", "1", "--cooldown", "1h", "--jitter", "0", "--", "false"];
    at(&sandbox, TRUE, &words).code(1);
    sandbox
}

/// Seconds that the next run has to wait under these clocks. What is shown as the time of its end must agree with the
/// wall clock, wherever that is.
#[track_caller]
fn rest(sandbox: &Sandbox, clocks: Clocks) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
    let done = at(sandbox, clocks, &["status", "n", "--json"]);
    done.code(0);
    let status: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let breaker = &status["breakers"][0];
    let rest = breaker["retry_in_ms"].as_i64().expect("a wait") / 1000;
    if rest > 0 {
        let shown = breaker["retry_at"].as_str().expect("a time");
        let shown = humantime::parse_rfc3339(shown).expect("RFC 3339");
        let shown = shown.duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs();
        let expected = now.cast_signed() + clocks.wall + rest;
        let tolerance = MINUTE + MINUTE / 2;
        assert!((shown.cast_signed() - expected).abs() <= tolerance, "{clocks:?}, now {now}: {breaker}");
    }
    rest
}

#[track_caller]
fn is_refused(sandbox: &Sandbox, clocks: Clocks) {
    at(sandbox, clocks, &["check", "n"]).code(75);
    at(sandbox, clocks, &["run", "--name", "n", "--", "touch", "launched"]).code(75).says("open after");
    assert!(!sandbox.file("launched").exists(), "{clocks:?}");
}

#[track_caller]
fn is_admitted(sandbox: &Sandbox, clocks: Clocks) {
    at(sandbox, clocks, &["check", "n"]).code(0);
    at(sandbox, clocks, &["run", "--name", "n", "--", "true"]).code(0).quiet();
    assert_eq!(sandbox.status("n")["phase"], "closed", "{clocks:?}");
}

#[test]
fn within_a_boot_a_wall_clock_that_is_set_moves_no_gate() {
    needs!("namespaces");
    let sandbox = open();
    for wall in [MINUTE, -MINUTE, HOUR, -HOUR, DAY, YEARS, -YEARS, 0] {
        let clocks = Clocks { wall, ..TRUE };
        let rest = rest(&sandbox, clocks);
        // It waits for what is left of the hour on a machine that may be slow.
        assert!(rest > HOUR / 2 && rest <= HOUR, "{clocks:?}: {rest} s to wait");
        is_refused(&sandbox, clocks);
    }
}

/// Each of the clocks is really moved: what opens no gate together with the others as they are, does with another.
#[test]
fn a_brk_that_went_by_the_wrong_clock_would_be_noticed() {
    needs!("namespaces", "mount");
    let sandbox = open();
    for (clocks, code) in [
        (Clocks { wall: HOUR, up: 0, boot: 0 }, 75),
        (Clocks { wall: HOUR, up: 0, boot: 1 }, 0),
        (Clocks { wall: 0, up: HOUR, boot: 1 }, 75),
        (Clocks { wall: 0, up: HOUR, boot: 0 }, 0),
    ] {
        at(&sandbox, clocks, &["check", "n"]).code(code);
    }
    println!("proof: breaks: clocks: 2 of 2 noticed");
}

#[test]
fn within_a_boot_suspend_counts_whatever_the_wall_clock_says() {
    needs!("namespaces");
    for wall in [HOUR, 0, -YEARS, YEARS] {
        let sandbox = open();
        is_refused(&sandbox, Clocks { wall, up: HOUR / 2, boot: 0 });
        is_admitted(&sandbox, Clocks { wall, up: HOUR, boot: 0 });
    }
}

#[test]
fn across_boots_the_time_that_passed_counts() {
    needs!("namespaces", "mount");
    for wall in [HOUR, DAY, YEARS] {
        is_admitted(&open(), next_boot(wall));
    }
    let sandbox = open();
    let boot = next_boot(HOUR / 2);
    is_refused(&sandbox, boot);
    // The refusal moves the state into this boot: from here on its wall clock decides nothing.
    is_refused(&sandbox, Clocks { wall: YEARS, ..boot });
    is_admitted(&sandbox, Clocks { up: boot.up + HOUR / 2, ..boot });
}

#[test]
fn across_boots_a_clock_that_was_set_back_delays_by_one_cooldown_at_most() {
    needs!("namespaces", "mount");
    for wall in [-MINUTE, -2 * HOUR, -DAY, -YEARS] {
        let sandbox = open();
        let boot = next_boot(wall);
        let rest = rest(&sandbox, boot);
        assert!(rest > HOUR / 2 && rest <= HOUR, "{boot:?}: {rest} s to wait");
        is_refused(&sandbox, boot);
        is_admitted(&sandbox, Clocks { up: boot.up + HOUR, ..boot });
    }
}

#[test]
fn a_wall_clock_that_is_set_while_the_command_runs() {
    needs!("namespaces");
    for wall in [YEARS, -YEARS] {
        let sandbox = sandbox();
        let script = format!("echo {wall} > wall; exit 7");
        let words = ["run", "--name", "n", "--failures", "1", "--cooldown", "1h", "--jitter", "0"];
        let words = [&words[..], &["--timeout", "1h", "--", "sh", "-c", &script]].concat();
        at(&sandbox, TRUE, &words).code(7);
        let run = &sandbox.history("n")[0];
        assert_eq!(run["ending"], "exited");
        assert!(run["duration_ms"].as_u64().is_some_and(|ms| ms < 600_000), "{run}");
        is_refused(&sandbox, Clocks { wall, ..TRUE });
        is_refused(&sandbox, TRUE);
        is_admitted(&sandbox, Clocks { wall, up: HOUR, boot: 0 });
    }
}

#[test]
fn a_wall_clock_that_is_set_back_while_a_run_waits() {
    needs!("namespaces");
    let sandbox = sandbox();
    sandbox.run(&["trip", "n", "--for", "2s"]).code(0);
    let words = ["run", "--name", "n", "--wait=1h", "--", "sh", "-c", "echo ran > ran"];
    let mut waiting = under(&sandbox, TRUE, &words);
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).start();
    // Any moment will do; most likely it waits already.
    std::thread::sleep(Duration::from_millis(500));
    sandbox.write("wall", (-YEARS).to_string());
    assert_eq!(until_file(&sandbox.file("ran")), "ran\n");
    waiting.finish().code(0);
}
