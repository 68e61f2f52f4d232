//! Clocks through the binary: a state that another boot wrote, with a wall clock that was before or behind.

use serde_json::Value;

use crate::util::Sandbox;

const HOUR: i64 = 3_600_000;

/// An open breaker with an hour to go, as if the machine had been booted again since, and its wall clock then had
/// said so many milliseconds more.
fn booted_again(ahead: i64) -> Sandbox {
    let sandbox = Sandbox::new();
    let words = ["run", "--name", "n", "--failures", "1", "--cooldown", "1h", "--jitter", "0", "--", "false"];
    sandbox.run(&words).code(1);
    let path = sandbox.state().join("n.journal");
    let text = std::fs::read_to_string(&path).expect("a journal");
    let mut record: Value = serde_json::from_str(text.lines().last().expect("a record")).expect("JSON");
    record.as_object_mut().expect("an object").remove("crc");
    let boot = record["clock"]["boot"].as_u64().expect("a boot");
    record["clock"]["boot"] = (boot ^ 1).into();
    for pointer in
        ["/clock/time", "/state/phase/at", "/state/phase/retry_at", "/state/since", "/state/last/at"]
    {
        let time = record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        *time = (time.as_i64().expect("a time") + ahead).into();
    }
    let mut line = record.to_string();
    line.pop();
    line = format!("{line},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(line.as_bytes()));
    std::fs::write(&path, line).expect("a journal");
    sandbox
}

#[test]
fn across_boots_a_clock_that_was_set_back_delays_by_one_cooldown_at_most() {
    for ahead in [1_000, 60_000, 2 * HOUR, 24 * HOUR, 10 * 365 * 24 * HOUR] {
        let sandbox = booted_again(ahead);
        let status = sandbox.status("n");
        let rest = status["retry_in_ms"].as_i64().expect("a wait");
        assert!(rest <= HOUR, "{ahead} ms ahead: {rest} ms to wait");
        // What this boot has lasted has passed for certain, and may be enough. The next writer moves the state to
        // this boot, and the wait goes on from there.
        let done = sandbox.run(&["run", "--name", "n", "--", "true"]);
        assert!(
            done.status().code() == Some(if rest == 0 { 0 } else { 75 }) || rest < 60_000,
            "{}",
            done.all()
        );
        let rest_now = sandbox.status("n")["retry_in_ms"].as_i64().unwrap_or(0);
        assert!(rest_now <= rest, "{ahead} ms ahead: {rest} ms have become {rest_now}");
    }
}

#[test]
fn across_boots_the_time_that_passed_counts() {
    for (ahead, code) in [(-HOUR / 2, 75), (-HOUR, 0), (-24 * HOUR, 0), (-10 * 365 * 24 * HOUR, 0)] {
        let sandbox = booted_again(ahead);
        sandbox.run(&["check", "n"]).code(code);
        sandbox.run(&["run", "--name", "n", "--", "true"]).code(code);
        let phase = if code == 0 { "closed" } else { "open" };
        assert_eq!(sandbox.status("n")["phase"], phase, "{ahead} ms ahead");
    }
}
