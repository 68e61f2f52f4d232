//! What a run and a refusal cost, in what does not depend on the machine's mood: instructions and system calls. The
//! bounds are generous, for the binary under test is not optimised; what they catch is work that nobody asked for, such
//! as a parser that knows all verbs, a second read, or a step that grows with the history. Time and memory are
//! measured by `benches/cost`.

use std::collections::BTreeMap;

use crate::tools::needs;
use crate::util::{Sandbox, brk, finish};

const RUN: [&str; 7] = ["run", "--name", "closed", "--timeout", "60", "--", "/bin/true"];
const REFUSAL: [&str; 5] = ["run", "--name", "open", "--", "/bin/true"];

/// A breaker that runs and one that refuses, both not new.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&RUN).code(0);
    sandbox.run(&["trip", "open", "--for", "1d"]).code(0);
    sandbox.run(&REFUSAL).code(75);
    sandbox
}

/// How often `brk` itself, without its command, makes each system call.
fn calls(sandbox: &Sandbox, words: &[&str], code: i32) -> BTreeMap<String, usize> {
    let mut strace = sandbox.command("strace");
    strace.args(["-o", "calls"]).arg(brk()).args(words);
    finish(strace).code(code);
    let mut calls = BTreeMap::new();
    for line in sandbox.read("calls").lines() {
        // A signal, an exit, or the second half of a call that was told of already.
        if !line.starts_with(['-', '+', '<'])
            && let Some((name, _)) = line.split_once('(')
        {
            *calls.entry(name.to_owned()).or_insert(0) += 1;
        }
    }
    calls
}

fn total(calls: &BTreeMap<String, usize>) -> usize {
    calls.values().sum()
}

#[track_caller]
fn are(calls: &BTreeMap<String, usize>, names: &[&str], expected: usize) {
    let found: usize = names.iter().filter_map(|name| calls.get(*name)).sum();
    assert_eq!(found, expected, "{names:?} in {calls:#?}");
}

#[track_caller]
fn at_most(found: usize, bound: usize, what: &str, calls: &BTreeMap<String, usize>) {
    assert!(found <= bound, "{found} {what}, more than {bound}: {calls:#?}");
}

#[test]
fn a_refusal_makes_few_system_calls() {
    needs!("strace");
    let sandbox = sandbox();
    let calls = calls(&sandbox, &REFUSAL, 75);
    at_most(total(&calls), 60, "system calls", &calls);
    are(&calls, &["pread64"], 1);
    are(&calls, &["pwrite64"], 1);
    are(&calls, &["flock"], 1);
    // Two configuration files, the boot's number, lock and journal.
    at_most(calls.get("openat").copied().unwrap_or(0), 6, "files opened", &calls);
    // No process, no runtime, no directory, and nothing that waits for the disk.
    are(&calls, &["clone", "clone3", "fork", "vfork", "epoll_create1", "eventfd2"], 0);
    are(&calls, &["mkdir", "mkdirat", "fsync", "fdatasync", "rename", "unlink", "unlinkat"], 0);
}

#[test]
fn a_run_makes_few_system_calls() {
    needs!("strace");
    let sandbox = sandbox();
    let calls = calls(&sandbox, &RUN, 0);
    // Sixty of them say what is to be done about a signal.
    at_most(total(&calls), 185, "system calls", &calls);
    are(&calls, &["pread64"], 2);
    are(&calls, &["pwrite64"], 1);
    are(&calls, &["flock"], 2);
    are(&calls, &["clone", "clone3", "fork", "vfork"], 1);
    are(&calls, &["mkdir", "mkdirat", "fsync", "fdatasync", "rename", "unlink", "unlinkat"], 0);
}

#[test]
fn neither_grows_with_the_history_or_with_the_number_of_breakers() {
    needs!("strace", "valgrind");
    let sandbox = sandbox();
    let before = (calls(&sandbox, &RUN, 0), calls(&sandbox, &REFUSAL, 75));
    for _ in 0..200 {
        sandbox.run(&RUN).code(0);
    }
    for n in 0..100 {
        sandbox.run(&["run", "--name", &format!("neighbour {n}"), "--", "true"]).code(0);
    }
    let after = (calls(&sandbox, &RUN, 0), calls(&sandbox, &REFUSAL, 75));
    for (before, after) in [(before.0, after.0), (before.1, after.1)] {
        // Memory that the allocator asks for, and signals that come while a call waits.
        let (few, many) = (total(&before), total(&after));
        assert!(many <= few + 12, "{few} system calls, and {many} later: {before:#?}\n{after:#?}");
    }
}

/// What valgrind counts, which is the same on each machine.
fn instructions(sandbox: &Sandbox, words: &[&str], code: i32) -> u64 {
    let mut valgrind = sandbox.command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=count"]);
    valgrind.arg(brk()).args(words);
    let done = finish(valgrind);
    done.code(code);
    let log = sandbox.read("count");
    let count = log.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no count in {log}\n{}", done.all()))
}

#[test]
fn both_take_few_instructions() {
    needs!("valgrind");
    let sandbox = sandbox();
    let refusal = instructions(&sandbox, &REFUSAL, 75);
    let run = instructions(&sandbox, &RUN, 0);
    // Measured: 0.7 and 1.3 million, and 2.5 million more if clap builds a parser. Optimised, they are 0.15 and 0.26.
    assert!(refusal < 1_200_000, "a refusal: {refusal} instructions");
    assert!(run < 2_000_000, "a run: {run} instructions");
    assert!(refusal > 100_000 && run > refusal, "a refusal: {refusal}, a run: {run}");
}

/// A configuration of 100 keys: some for all, most for breakers that are not asked about.
fn hundred_keys() -> String {
    let mut config = String::from(
        "[defaults]\ncooldown = \"2m\"\noutput = \"stream\"\n[breaker.\"db-*\"]\nretries = 2\njitter = 0\n\n",
    );
    for n in 0..16 {
        config += &format!(
            "[breaker.job-{n}]\ntimeout = \"30m\"\nfailures = 5\nfail-on = [1, \"100-110\"]\nwindow = \"10m\"\n\
             kill-after = 5\nquiet = true\n\n"
        );
    }
    config
}

#[test]
fn a_long_configuration_costs_little() {
    needs!("valgrind");
    let sandbox = sandbox();
    let config = hundred_keys();
    assert_eq!(config.matches(" = ").count(), 100);
    sandbox.write("none.toml", "");
    sandbox.write("long.toml", &config);
    let check = |file: &str| instructions(&sandbox, &["check", "--config", file, "closed"], 0);
    let (without, with) = (check("none.toml"), check("long.toml"));
    // Optimised, it is 1.19 times, and is to stay below 1.2. To parse the whole file would make it 4.6 times.
    assert!(
        with as f64 <= without as f64 * 1.5,
        "{without} instructions without keys, {with} with a hundred"
    );
}
