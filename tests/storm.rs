//! A storm: runs and SIGKILLs without order on one name. The probes themselves notice company, the counts are exact
//! where nothing was killed, and afterwards it still closes.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::process::{Running, Start};
use crate::util::{Sandbox, scale, until};

/// Numbers that look random and are the same each time.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Half-open for ever, or open for a moment: every run that is admitted is a probe.
const FLAGS: [&str; 13] = [
    "run",
    "--name",
    "n",
    "--probe-successes",
    "1000000",
    "--probe-failures",
    "2",
    "--cooldown",
    "1ms",
    "--backoff",
    "1",
    "--jitter",
    "0",
];

fn start(sandbox: &Sandbox, script: &str) -> Running {
    let mut command = sandbox.brk();
    command.args(FLAGS).args(["--", "sh", "-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
    command.start()
}

/// A probe that looks whether another is alive, lasts for a moment, and may be deaf to its parent's death.
fn script(numbers: &mut Numbers) -> String {
    let deaf = if numbers.below(3) == 0 { "trap '' TERM; " } else { "" };
    let rest = ["", "sleep 0.01; ", "sleep 0.03; "][numbers.below(3) as usize];
    let exit = [0, 0, 7, 143][numbers.below(4) as usize];
    format!("{deaf}exec 9>>gate; flock -n 9 || echo x >> company; echo x >> launched; {rest}exit {exit}")
}

#[test]
fn counts_are_exact_where_nothing_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let (refused, launched) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 1..=4_u64 {
            let (sandbox, refused, launched) = (&sandbox, &refused, &launched);
            scope.spawn(move || {
                let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                for _ in 0..scale(25, 250) {
                    let status = start(sandbox, &script(&mut numbers)).wait().expect("an end");
                    let count = if status.code() == Some(75) { refused } else { launched };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (refused, launched) = (refused.into_inner(), launched.into_inner());
    exact(&sandbox, launched, refused).unwrap_or_else(|error| panic!("{error}"));
    println!("proof: storm: {} runs, {launched} of them launched, none killed", launched + refused);
}

/// Whether so many launches and refusals, and nothing else, were counted, and no two probes met.
fn exact(sandbox: &Sandbox, launched: usize, refused: usize) -> Result<(), String> {
    let status = sandbox.status("n");
    let total = |key: &str| status["totals"][key].as_u64().expect("a count") as usize;
    let ended = total("success") + total("failure") + total("ignored") + total("late");
    let pairs = [
        ("launched", total("launched"), launched),
        ("refused", total("refused"), refused),
        ("probes", total("probes"), launched),
        ("ended", ended, launched),
        ("lost", total("lost"), 0),
        ("late", total("late"), 0),
        ("launched by its own word", sandbox.read("launched").lines().count(), launched),
        ("in company", sandbox.read("company").lines().count(), 0),
    ];
    let wrong = pairs.iter().find(|(_, found, expected)| found != expected);
    wrong.map_or(Ok(()), |(what, found, expected)| Err(format!("{what}: {found}, not {expected}: {status}")))
}

#[test]
fn a_storm_of_kills_leaves_it_whole() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "0"]).code(0);
    let end = Instant::now() + scale(Duration::from_secs(8), Duration::from_secs(60));
    let (runs, kills) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 1..=4_u64 {
            let (sandbox, runs, kills) = (&sandbox, &runs, &kills);
            scope.spawn(move || {
                let mut numbers = Numbers(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
                while Instant::now() < end {
                    let mut child = start(sandbox, &script(&mut numbers));
                    runs.fetch_add(1, Ordering::Relaxed);
                    if numbers.below(2) == 0 {
                        std::thread::sleep(Duration::from_millis(numbers.below(40)));
                        // One that has ended already is not hit.
                        if child.try_wait().expect("a child").is_none() {
                            child.kill().expect("SIGKILL");
                            kills.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    child.wait().expect("an end");
                }
            });
        }
    });
    assert_eq!(sandbox.read("company"), "", "two probes were alive together");
    let (runs, kills) = (runs.into_inner(), kills.into_inner());
    assert!(kills >= 10, "only {kills} kills in {runs} runs");
    let mut closings = 0;
    until("it closes", || {
        sandbox.run(&["run", "--name", "n", "--", "true"]);
        closings += 1;
        sandbox.status("n")["phase"] == "closed"
    });
    let status = sandbox.status("n");
    let total = |key: &str| status["totals"][key].as_u64().expect("a count") as usize;
    assert_eq!(status["probes"].as_array().map(Vec::len), Some(0));
    assert!(total("launched") + total("refused") <= runs + closings, "counted more than there was: {status}");
    assert!(total("lost") <= kills, "{} lost of {kills} kills", total("lost"));
    let heard = total("success") + total("failure") + total("ignored") + total("late");
    assert_eq!(total("probes"), heard + total("lost"), "each probe was heard or lost");
    // A lost one was launched, unless it was killed before it came to that.
    assert!((heard..=heard + total("lost")).contains(&total("launched")), "{status}");
    let done = sandbox.run(&["run", "--name", "n", "--", "true"]);
    done.code(0).quiet();
    println!("proof: storm: {runs} runs, {kills} killed, {} probes lost, closed in the end", total("lost"));
}

#[test]
fn the_storm_notices_a_break() {
    let script = "echo x >> launched; exit 7";
    let breaks: [fn(&Sandbox); 5] = [
        // A result that is forgotten, a run that nobody started, one that was counted without being launched, a probe
        // that is killed, and two without a breaker between them.
        |sandbox| {
            let path = sandbox.state().join("n.journal");
            let text = std::fs::read_to_string(&path).expect("a journal");
            let kept = text.trim_end().rfind('\n').expect("a line before the last") + 1;
            std::fs::write(&path, &text[..kept]).expect("a journal");
        },
        |sandbox| drop(start(sandbox, "echo x >> launched").wait()),
        |sandbox| drop(sandbox.write("launched", "")),
        |sandbox| {
            let child = start(sandbox, "echo x >> launched; echo up > up; exec sleep 600");
            crate::util::until_file(&sandbox.file("up"));
            child.kill_9();
            until("the place is free", || sandbox.run(&["check", "n"]).status().code() == Some(0));
            start(sandbox, "exit 0").wait().expect("an end");
        },
        |sandbox| {
            let meet = "exec 9>>gate; flock -n 9 || echo x >> company; sleep 1";
            let start = || sandbox.command("sh").args(["-c", meet]).start();
            let children = [start(), start()];
            for mut child in children {
                child.wait().expect("an end");
            }
        },
    ];
    for (number, break_it) in breaks.iter().enumerate() {
        let sandbox = Sandbox::new();
        sandbox.run(&["trip", "n", "--for", "0"]).code(0);
        assert_eq!(start(&sandbox, script).wait().expect("an end").code(), Some(7));
        assert_eq!(exact(&sandbox, 1, 0), Ok(()));
        break_it(&sandbox);
        assert!(exact(&sandbox, 1, 0).is_err(), "break {number} went unnoticed");
    }
    println!("proof: breaks: storm: {0} of {0} noticed", breaks.len());
}
