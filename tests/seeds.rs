//! Five breakers that people have built by hand, each reproduced by flags alone. Times are scaled, ratios kept.

use crate::process::Running;
use crate::util::{Done, Sandbox, until, until_file};

/// One breaker under its flags.
struct Seed<'a> {
    sandbox: &'a Sandbox,
    flags: &'a [&'a str],
}

impl Seed<'_> {
    fn run(&self, script: &str) -> Done {
        let head = ["run", "--name", "seed", "--jitter", "0"];
        self.sandbox.run(&[&head, self.flags, &["--", "sh", "-c", script]].concat())
    }

    fn start(&self, script: &str) -> Running {
        let head = ["run", "--name", "seed", "--jitter", "0"];
        self.sandbox.spawn(&[&head, self.flags, &["--", "sh", "-c", script]].concat())
    }

    /// Fails and succeeds as the letters say: `s`, `f`, or `t` for a timeout.
    fn play(&self, letters: &str) {
        for letter in letters.chars() {
            match letter {
                's' => self.run("exit 0").code(0),
                'f' => self.run("exit 7").code(7),
                't' => self.run("exec sleep 1000").code(124),
                other => panic!("no such letter: {other}"),
            };
        }
    }

    #[track_caller]
    fn stands(&self, phase: &str, cooldown: Option<u64>) {
        let status = self.sandbox.status("seed");
        assert_eq!(status["phase"], phase, "{status}");
        if let Some(cooldown) = cooldown {
            assert_eq!(status["cooldown_ms"], cooldown, "{status}");
        }
    }

    fn until_due(&self) {
        until("the cooldown is over", || self.sandbox.run(&["check", "seed"]).status().code() == Some(0));
    }

    fn total(&self, key: &str) -> u64 {
        self.sandbox.status("seed")["totals"][key].as_u64().expect("a count")
    }
}

const GATED: &str = "echo $$ >> started; while [ ! -e gate ]; do sleep 0.02; done";

/// Two failures in a row, one probe; eight race for it; an old success does not close; others do not notice.
#[test]
fn two_failures_and_one_probe() {
    let sandbox = Sandbox::new();
    let seed = Seed { sandbox: &sandbox, flags: &["--failures", "2", "--cooldown", "3s"] };
    let old = seed.start("echo up > old; while [ ! -e gate ]; do sleep 0.02; done");
    until_file(&sandbox.file("old"));
    seed.play("ff");
    seed.stands("open", Some(3_000));
    seed.run("touch launched").code(75).says("open after 2 failures");
    sandbox.run(&["run", "--name", "second", "--failures", "2", "--", "true"]).code(0).quiet();
    sandbox.write("gate", "");
    old.finish().code(0);
    seed.stands("open", Some(3_000));
    assert_eq!((seed.total("late"), seed.total("success")), (1, 0));
    seed.until_due();
    std::fs::remove_file(sandbox.file("gate")).expect("the gate");
    let mut candidates: Vec<Running> = (0..8).map(|_| seed.start(GATED)).collect();
    until("seven are refused", || {
        candidates.retain_mut(|child| {
            let status = child.try_wait().expect("a child");
            status.inspect(|status| assert_eq!(status.code(), Some(75))).is_none()
        });
        candidates.len() == 1
    });
    sandbox.write("gate", "");
    candidates.remove(0).finish().code(0);
    seed.stands("closed", None);
    assert_eq!((sandbox.read("started").lines().count(), seed.total("probes")), (1, 1));
    assert_eq!(sandbox.status("second")["phase"], "closed");
    assert!(!sandbox.file("launched").exists());
}

/// Five in a row or half of at least ten; three probes that must all succeed; a cooldown that doubles up to a
/// maximum; another answer while open.
#[test]
fn five_in_a_row_or_half_of_ten() {
    let rules = ["--failures", "5", "--failure-rate", "50%", "--window", "20", "--min-calls", "10"];
    let probing =
        ["--probes", "3", "--probe-successes", "3", "--max-cooldown", "400ms", "--cooldown", "100ms"];
    let flags = [&rules[..], &probing].concat();
    for (letters, opens) in [("ffff", false), ("fffff", true), ("sfsfsfsfs", false), ("sfsfsfsfsf", true)] {
        let sandbox = Sandbox::new();
        let seed = Seed { sandbox: &sandbox, flags: &flags };
        seed.play(letters);
        seed.stands(if opens { "open" } else { "closed" }, None);
    }
    let sandbox = Sandbox::new();
    let seed = Seed { sandbox: &sandbox, flags: &flags };
    seed.play("fffff");
    for cooldown in [100, 200, 400, 400] {
        seed.stands("open", Some(cooldown));
        seed.until_due();
        // Of three probes at once two succeed; it takes all three.
        let _ = std::fs::remove_file(sandbox.file("gate"));
        let _ = std::fs::remove_file(sandbox.file("started"));
        let good: Vec<Running> = (0..2).map(|_| seed.start(GATED)).collect();
        until("two have started", || sandbox.read("started").lines().count() == 2);
        sandbox.write("gate", "");
        for probe in good {
            probe.finish().code(0);
        }
        seed.stands("half-open", None);
        seed.play("f");
    }
    seed.until_due();
    seed.play("ss");
    seed.stands("half-open", None);
    seed.play("s");
    seed.stands("closed", None);

    let answer = ["--failures", "1", "--cooldown", "1h", "--fallback", "echo from the cache"];
    let sandbox = Sandbox::new();
    let seed = Seed { sandbox: &sandbox, flags: &answer };
    seed.run("echo fresh").code(0).prints("fresh");
    seed.play("f");
    let done = seed.run("echo fresh");
    done.code(0).says("open after 1 failure");
    assert_eq!(done.stdout(), "from the cache\n");
}

/// Fifty failures and a sleep; rates of errors and of slow calls over a window with a minimum; retries that respect
/// the open state.
#[test]
fn fifty_failures_rates_and_retries() {
    let sandbox = Sandbox::new();
    let fifty =
        Seed { sandbox: &sandbox, flags: &["--failures", "50", "--cooldown", "10s", "--backoff", "1"] };
    fifty.play(&"f".repeat(49));
    fifty.stands("closed", None);
    fifty.play("f");
    fifty.stands("open", Some(10_000));
    fifty.run("touch launched").code(75);

    let sandbox = Sandbox::new();
    let errors = ["--failure-rate", "25%", "--window", "8", "--min-calls", "4"];
    let errors = Seed { sandbox: &sandbox, flags: &errors };
    errors.play("fss");
    errors.stands("closed", None);
    errors.play("s");
    errors.stands("open", None);

    let sandbox = Sandbox::new();
    let slow = ["--slow-rate", "0.5", "--slow-after", "1500ms", "--window", "1m", "--min-calls", "2"];
    let slow = Seed { sandbox: &sandbox, flags: &slow };
    slow.run("sleep 1.6").code(0);
    slow.stands("closed", None);
    slow.play("s");
    slow.stands("open", None);
    assert!(sandbox.status("seed")["reason"].as_str().is_some_and(|why| why.contains("1 slow run in 2")));

    let sandbox = Sandbox::new();
    let flags = ["--failures", "3", "--cooldown", "1h", "--retries", "10", "--retry-delay", "1ms"];
    let retried = Seed { sandbox: &sandbox, flags: &flags };
    retried.run("echo $BRK_ATTEMPT >> attempts; exit 9").code(9);
    assert_eq!(sandbox.read("attempts"), "1\n2\n3\n", "no attempt after the opening");
    assert_eq!((retried.total("launched"), retried.total("refused")), (3, 0));
    retried.run("echo $BRK_ATTEMPT >> attempts").code(75);
    assert_eq!(sandbox.read("attempts").lines().count(), 3);
    let flags = ["--failures", "3", "--retries", "10", "--retry-delay", "1ms"];
    let recovers = Seed { sandbox: &Sandbox::new(), flags: &flags };
    recovers.run("[ $BRK_ATTEMPT = 2 ]").code(0);
    assert_eq!((recovers.total("failure"), recovers.total("success")), (1, 1));
}

/// Two failures, a short cooldown, one trial; what is rejected is never recorded as a result.
#[test]
fn rejected_calls_are_no_results() {
    let sandbox = Sandbox::new();
    let seed = Seed { sandbox: &sandbox, flags: &["--failures", "2", "--cooldown", "1h"] };
    seed.play("ff");
    let before = sandbox.status("seed");
    for _ in 0..5 {
        seed.run("exit 0").code(75);
    }
    let after = sandbox.status("seed");
    for key in ["phase", "generation", "streak", "window", "last", "retry_at", "since"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!((seed.total("refused"), seed.total("success"), seed.total("failure")), (5, 0, 2));

    let sandbox = Sandbox::new();
    let seed =
        Seed { sandbox: &sandbox, flags: &["--failures", "2", "--cooldown", "50ms", "--backoff", "1"] };
    seed.play("ff");
    seed.until_due();
    seed.play("f");
    seed.stands("open", Some(50));
    seed.until_due();
    seed.play("s");
    seed.stands("closed", None);
    assert_eq!((seed.total("probes"), seed.total("opened"), seed.total("reopened")), (2, 1, 1));
}

/// A table of transitions; three requests while half-open; waits of 30, 60, 120.
#[test]
fn a_table_of_transitions() {
    let probing = ["--probes", "3", "--probe-successes", "3"];
    let waits = ["--failures", "1", "--cooldown", "30ms", "--max-cooldown", "120ms"];
    let flags = [&probing[..], &waits, &["--timeout", "10s"]].concat();
    let quick = [&probing[..], &waits, &["--timeout", "50ms"]].concat();
    for (event, phase) in [("s", "closed"), ("f", "open"), ("t", "open")] {
        let sandbox = Sandbox::new();
        let flags = if event == "t" { &quick } else { &flags };
        Seed { sandbox: &sandbox, flags }.play(event);
        let seed = Seed { sandbox: &sandbox, flags };
        seed.stands(phase, None);
    }
    let sandbox = Sandbox::new();
    let seed = Seed { sandbox: &sandbox, flags: &flags };
    let timed = Seed { sandbox: &sandbox, flags: &quick };
    seed.play("f");
    for (event, cooldown) in [("f", 30), ("t", 60), ("f", 120), ("f", 120)] {
        seed.stands("open", Some(cooldown));
        seed.until_due();
        if event == "t" { timed.play(event) } else { seed.play(event) }
    }
    seed.until_due();
    for (event, phase) in [("s", "half-open"), ("s", "half-open"), ("s", "closed")] {
        seed.play(event);
        seed.stands(phase, None);
    }
    let held = Seed { sandbox: &Sandbox::new(), flags: &["--failures", "1", "--cooldown", "1h"] };
    held.play("f");
    held.run("exit 0").code(75);
    held.stands("open", Some(3_600_000));
}
