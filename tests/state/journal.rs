//! The journal through the binary: cut off anywhere, damaged, of a newer version, full of history.

use crate::process::Start;
use std::collections::HashMap;

use super::*;

/// A state directory with one breaker that has been through everything, and its journal.
fn lived() -> (Sandbox, Vec<u8>) {
    let sandbox = Sandbox::new();
    let run = |flags: &[&str], script: &str| {
        sandbox.run(&[&["run", "--name", "n"], flags, &["--", "sh", "-c", script]].concat());
    };
    run(&["--failures", "2", "--cooldown", "0"], "exit 0");
    run(&["--failures", "2", "--cooldown", "0"], "exit 7");
    run(&["--failures", "2", "--cooldown", "0"], "exit 7");
    run(&[], "exit 3");
    run(&[], "exit 0");
    sandbox.run(&["hold", "n", "open", "--reason", "works"]).code(0);
    run(&[], "exit 0");
    run(&[], "exit 0");
    sandbox.run(&["release", "n"]).code(0);
    sandbox.run(&["trip", "n", "--for", "1h"]).code(0);
    run(&[], "exit 0");
    let journal = fs::read(sandbox.state().join("n.journal")).expect("a journal");
    (sandbox, journal)
}

fn status(sandbox: &Sandbox, dir: &str) -> (Done, Vec<serde_json::Value>) {
    let dir = sandbox.file(dir);
    let done = sandbox.run(&["status", "--json", "--state-dir", dir.to_str().expect("UTF-8")]);
    let status: serde_json::Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let breakers = status["breakers"].as_array().expect("breakers").clone();
    (done, breakers)
}

/// A journal of every length loads as the last whole record before the cut says.
#[test]
fn cut_off_anywhere() {
    let (sandbox, journal) = lived();
    let ends: Vec<usize> =
        journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert!(ends.len() >= 9, "{} records", ends.len());
    fs::create_dir(sandbox.file("cut")).expect("a directory");
    for length in 0..=journal.len() {
        fs::write(sandbox.file(&format!("cut/c{length}.journal")), &journal[..length]).expect("a file");
    }
    let (done, breakers) = status(&sandbox, "cut");
    done.code(0);
    // With less than one record there is no breaker yet.
    assert_eq!(breakers.len(), journal.len() + 1 - ends[0], "{}", done.stderr());
    let state = |breaker: &serde_json::Value| {
        (breaker["generation"].clone(), breaker["totals"].clone(), breaker["phase"].clone())
    };
    let states: HashMap<&str, _> =
        breakers.iter().map(|breaker| (breaker["name"].as_str().expect("a name"), state(breaker))).collect();
    let at = |length: usize| states.get(format!("c{length}").as_str());
    for length in 0..=journal.len() {
        let end = ends.iter().rev().find(|end| **end <= length);
        assert_eq!(at(length), end.and_then(|end| at(*end)), "cut at {length}");
    }
    // And a run goes on from there, without a word.
    let dir = sandbox.file("cut");
    let cuts =
        ends.iter().flat_map(|end| [end - 1, *end, end + 1, end + 100]).filter(|cut| *cut <= journal.len());
    for cut in cuts.chain([0, 1, 7, 8, 9, 100]) {
        let name = format!("c{cut}");
        let done =
            sandbox.run(&["run", "--name", &name, "--state-dir", dir.to_str().expect("UTF-8"), "--", "true"]);
        let is_refused = done.status().code() == Some(75);
        assert!(is_refused || done.status().code() == Some(0), "cut at {cut}\n{}", done.all());
        assert!(is_refused || done.stderr().is_empty(), "cut at {cut}\n{}", done.all());
        // Refusals are counted in place; whatever is appended next cuts the torn end off.
        sandbox.run(&["reset", &name, "--state-dir", dir.to_str().expect("UTF-8")]).code(0).says("");
        let text = fs::read(dir.join(format!("{name}.journal"))).expect("a journal");
        assert!(text.ends_with(b"}\n"), "cut at {cut}: the torn end is still there");
        let whole = text.split_inclusive(|byte| *byte == b'\n').all(|line| {
            serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|record| record["crc"].is_string())
        });
        assert!(whole, "cut at {cut}: a line that is no record");
    }
}

#[test]
fn garbage_is_set_aside() {
    for garbage in
        [&b"garbage\n"[..], b"\0\0\0\0\0\0\0\0", b"{}\n", b"[1]\n{\"v\":0}\n", &[0xff; 20_000], b"\n"]
    {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.state()).expect("a directory");
        let journal = sandbox.state().join("n.journal");
        fs::write(&journal, garbage).expect("a file");
        let done = sandbox.run(&["status", "n"]);
        done.code(1).says("n.journal");
        sandbox.run(&["check", "n"]);
        assert_eq!(fs::read(&journal).expect("still there"), garbage, "asking changed it");
        let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 7"]);
        done.code(7).says("warning").says("set aside").says("n.corrupt-");
        assert_eq!(done.stderr().lines().count(), 1, "{}", done.all());
        let files = photograph(&sandbox.state());
        let aside = files.iter().find(|(path, ..)| path.to_string_lossy().contains("n.corrupt-"));
        assert_eq!(aside.expect("set aside").1, garbage);
        let status = sandbox.status("n");
        assert_eq!((&status["phase"], &status["totals"]["failure"]), (&"closed".into(), &1.into()));
        // It is gone with the breaker.
        sandbox.run(&["forget", "n"]).code(0);
        let left = photograph(&sandbox.state());
        assert!(
            left.iter().all(|(path, ..)| path.extension().is_some_and(|kind| kind == "lock")),
            "{left:?}"
        );
    }
}

#[test]
fn a_newer_version_is_refused_and_never_overwritten() {
    let (sandbox, mut journal) = lived();
    journal.extend(b"{\"v\":3,\"what\":\"a later brk knows\"}\n");
    let path = sandbox.state().join("n.journal");
    fs::write(&path, &journal).expect("a file");
    let done = sandbox.run(&["run", "--name", "n", "--", "sh", "-c", "exit 3"]);
    done.code(3).says("warning").says("version 3").says("unguarded");
    sandbox.run(&["run", "--name", "n", "--on-state-error", "refuse", "--", "touch", "launched"]).code(125);
    for words in
        [&["status", "n"][..], &["forget", "n"], &["reset", "n"], &["trip", "n"], &["hold", "n", "open"]]
    {
        sandbox.run(words).code(1).says("version 3");
    }
    sandbox.run(&["check", "n"]).code(0).says("version 3");
    sandbox.run(&["history", "n"]).code(1).says("version 3");
    sandbox.write("state/later.journal", "{\"v\":3,\"what\":\"a later brk knows\"}\n");
    sandbox.run(&["history", "later"]).code(1).says("version 3");
    sandbox.write("state/bad.journal", "nothing that was ever written by brk\n");
    sandbox.run(&["history", "bad"]).code(1).says("no record of");
    assert!(!sandbox.file("launched").exists());
    assert_eq!(fs::read(&path).expect("a journal"), journal);
}

#[test]
fn refusals_are_one_record_that_counts() {
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "n", "--for", "1h"]).code(0);
    let size = || fs::metadata(sandbox.state().join("n.journal")).expect("a journal").len();
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75);
    let first = size();
    for _ in 0..120 {
        sandbox.run(&["run", "--name", "n", "-q", "--", "true"]).code(75);
    }
    assert!(size() < first + 32, "{first} bytes have become {}", size());
    assert_eq!(sandbox.status("n")["totals"]["refused"], 121);
    // Torn while it is rewritten, it costs that count alone.
    let journal = fs::read(sandbox.state().join("n.journal")).expect("a journal");
    let mut torn = journal.clone();
    let at = torn.len() - 40;
    torn[at] ^= 1;
    fs::write(sandbox.state().join("n.journal"), torn).expect("a file");
    let status = sandbox.status("n");
    assert_eq!((&status["totals"]["refused"], &status["phase"]), (&0.into(), &"open".into()));
    sandbox.run(&["run", "--name", "n", "--", "true"]).code(75);
    assert_eq!(sandbox.status("n")["totals"]["refused"], 1);
}

#[test]
fn a_long_history_is_compacted() {
    const BOUND: usize = 1 << 20;
    let sandbox = Sandbox::new();
    let fail = || sandbox.run(&["run", "--name", "n", "--failures", "0", "--", "false"]);
    let path = sandbox.state().join("n.journal");
    for _ in 0..3 {
        fail().code(1);
    }
    let lines = fs::read(&path).expect("a journal");
    let line = lines.split_inclusive(|byte| *byte == b'\n').next_back().expect("a line");
    // How much the next record may take before the bound: from nothing, over about what it takes, to plenty.
    let rest = (line.len() - 30..line.len() + 60).step_by(6);
    for rest in [0, 1].into_iter().chain(rest).chain([2 * line.len()]) {
        let mut long = line.repeat((BOUND - rest) / line.len());
        // Blanks at the end of a line are no part of its record.
        long.pop();
        long.resize(BOUND - rest - 1, b' ');
        long.push(b'\n');
        fs::write(&path, &long).expect("a file");
        fail().code(1).quiet();
        let len = fs::read(&path).expect("a journal").len();
        assert!(len <= BOUND, "{len} bytes, with {rest} left before");
        let is_compacted = len < 600 << 10;
        assert!(is_compacted || len > long.len(), "{len} bytes, with {rest} left before");
        assert!(is_compacted || rest > line.len() - 30, "not compacted, with {rest} left before");
        assert!(!is_compacted || rest < line.len() + 60, "compacted, with {rest} left before");
    }
    fail().code(1).quiet();
    assert_eq!(sandbox.status("n")["totals"]["failure"], 5);
    assert!(sandbox.history("n").len() > 100);
    assert_eq!(photograph(&sandbox.state()).len(), 2, "lock and journal, and nothing left of the work");
}

#[test]
fn a_forgotten_breaker_is_gone_and_its_runs_are_late() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.brk();
    let script = "echo up > started; while [ ! -e gate ]; do sleep 0.02; done; exit 7";
    command.args(["run", "--name", "n", "--failures", "1", "--", "sh", "-c", script]);
    let child = command.start();
    crate::util::until_file(&sandbox.file("started"));
    sandbox.run(&["forget", "n"]).code(0);
    sandbox.run(&["status", "n"]).code(1);
    sandbox.run(&["run", "--name", "n", "--failures", "1", "--", "true"]).code(0);
    sandbox.write("gate", "");
    child.finish().code(7);
    let status = sandbox.status("n");
    assert_eq!((&status["phase"], &status["totals"]["late"]), (&"closed".into(), &1.into()));
}
