//! What machines read is what the schema in the manual says, for every state that a breaker can be in.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::process::Start;
use crate::tools::{needs, valid};
use crate::util::{Sandbox, until, until_file};

/// A sandbox whose breakers have seen every event there is.
pub fn eventful() -> Sandbox {
    let sandbox = Sandbox::new();
    let brk = |words: &[&str], code: i32| {
        sandbox.run(words).code(code);
    };
    brk(&["run", "--name", "calm", "--", "true"], 0);
    brk(&["run", "--name", "calm", "--", "sh", "-c", "exit 130"], 130);
    brk(&["run", "--name", "calm", "--timeout", "50ms", "--kill-after", "0", "--", "sleep", "1000"], 124);
    sandbox.run(&["run", "--name", "calm", "--", "sh", "-c", "kill -SEGV $$"]).signal(11);
    brk(&["run", "--name", "calm", "--failure-rate", "50%", "--window", "10m", "--", "true"], 0);

    let broken = ["run", "--name", "broken", "--failures", "1", "--", "sh", "-c", "exit 7"];
    brk(&broken, 7);
    brk(&broken, 75);
    brk(&broken, 75);

    // In flight while an operator resets, and so late.
    let mut command = sandbox.brk();
    command.args(["run", "--name", "moved", "--", "sh", "-c", "echo started > sign; read line"]);
    let mut child = command.stdin(Stdio::piped()).start();
    until_file(&sandbox.file("sign"));
    brk(&["reset", "moved"], 0);
    drop(child.stdin.take());
    child.wait().expect("an end");
    brk(&["trip", "moved", "--for", "0", "--reason", "trying \"it\" out"], 0);
    brk(&["run", "--name", "moved", "--", "true"], 0);
    brk(&["hold", "moved", "open", "--for", "1h"], 0);
    brk(&["release", "moved"], 0);
    brk(&["hold", "moved", "closed", "--reason", "line\nand \u{1b}[31mred"], 0);

    // A probe whose brk is killed, and one that is alive: until the sandbox goes, its command waits for nothing.
    brk(&["trip", "lost", "--for", "0"], 0);
    let mut command = sandbox.brk();
    command.args(["run", "--name", "lost", "--", "sh", "-c", "echo started > probing; read line"]);
    let mut child = command.stdin(Stdio::piped()).start();
    until_file(&sandbox.file("probing"));
    // Its command ends when the pipe does.
    let pipe = child.stdin.take();
    child.kill_9();
    drop(pipe);
    // Asked and not tried, because what is refused is counted.
    until("the place is free", || sandbox.run(&["check", "lost"]).status().success());
    brk(&["run", "--name", "lost", "--", "true"], 0);
    sandbox
}

#[test]
fn status_is_what_the_schema_says() {
    needs!("python:jsonschema");
    let sandbox = eventful();
    let done = sandbox.run(&["status", "--json"]);
    done.code(0);
    valid(&sandbox, "status", &done.stdout());
    let [calm, broken, moved, lost] = ["calm", "broken", "moved", "lost"].map(|name| sandbox.status(name));
    assert_eq!(calm["phase"], "closed");
    assert_eq!(calm["window"]["total"], 4, "{calm:#}");
    assert_eq!(calm["policy"]["window_ms"], 600_000);
    assert_eq!(calm["policy"]["failure_rate"], 0.5);
    assert_eq!(calm["totals"]["timeout"], 1);
    assert_eq!(calm["totals"]["ignored"], 1);
    assert_eq!(broken["phase"], "open");
    assert_eq!(broken["streak"], 1);
    assert_eq!(broken["totals"]["refused"], 2);
    assert_eq!(broken["last"]["exit"], 7);
    assert_eq!(broken["last"]["program"], "sh");
    assert!(broken["retry_in_ms"].as_u64().is_some_and(|wait| wait > 0), "{broken:#}");
    assert_eq!(moved["override"]["hold"], "closed");
    assert_eq!(moved["totals"]["late"], 1);
    assert_eq!(lost["totals"]["lost"], 1);
    assert_eq!(lost["store"], format!("file:{}", sandbox.state().display()));
}

#[test]
fn a_live_probe_and_a_taken_slot_are_named() {
    needs!("python:jsonschema");
    let sandbox = Sandbox::new();
    sandbox.run(&["trip", "db", "--for", "0"]).code(0);
    let mut command = sandbox.brk();
    let words = ["run", "--name", "db", "--max-concurrent", "1", "--timeout", "1h", "--"];
    command.args(words).args(["sh", "-c", "echo $$ > sign; read line"]).stdin(Stdio::piped());
    let mut child = command.start();
    let pid: u32 = until_file(&sandbox.file("sign")).trim().parse().expect("a number");
    let mut status = Value::Null;
    until("both places", || {
        status = sandbox.status("db");
        status["probes"][0]["command_pid"] == pid && status["slots"][0]["command_pid"] == pid
    });
    assert_eq!(status["probes"][0]["pid"], child.id());
    assert_eq!(status["slots"][0]["pid"], child.id());
    assert_eq!(status["phase"], "half-open");
    assert_eq!(status["probes"][0]["survivors"], serde_json::json!([]));
    valid(&sandbox, "status", &sandbox.run(&["status", "--json"]).stdout());
    let detail = sandbox.run(&["status", "db"]);
    detail.code(0).prints(&format!("probe     brk {}, command {pid}", child.id()));
    detail.prints(&format!("running   brk {}, command {pid}", child.id()));
    sandbox.run(&["explain", "db"]).code(0).prints(&format!("because brk {} is probing", child.id()));
    drop(child.stdin.take());
    child.wait().expect("an end");
    let status = sandbox.status("db");
    assert_eq!((&status["probes"], &status["slots"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn history_is_what_the_schema_says() {
    needs!("python:jsonschema");
    let sandbox = eventful();
    let mut seen = BTreeSet::new();
    for name in ["calm", "broken", "moved", "lost"] {
        let done = sandbox.run(&["history", name, "--json"]);
        done.code(0);
        valid(&sandbox, "event", &done.stdout());
        seen.extend(sandbox.events(name));
    }
    let all = [
        "closed",
        "failure",
        "half-open",
        "held",
        "ignored",
        "late",
        "lost",
        "opened",
        "refused",
        "released",
        "reset",
        "success",
        "tripped",
    ];
    assert!(seen.iter().eq(&all), "{seen:?}");
}

#[test]
fn every_other_json_is_what_the_schema_says() {
    needs!("python:jsonschema");
    let sandbox = eventful();
    let check = |definition: &str, words: &[&str], code: i32| {
        let done = sandbox.run(words);
        done.code(code);
        valid(&sandbox, definition, &done.stdout());
        serde_json::from_str::<Value>(&done.stdout()).expect("JSON")
    };
    for (name, code) in [("calm", 0), ("broken", 75), ("moved", 0), ("unknown", 0)] {
        let object = check("check", &["check", name, "--json"], code);
        assert_eq!(object["admitted"], code == 0);
    }
    assert_eq!(check("explain", &["explain", "broken", "--json"], 0)["decision"], "refused");
    assert_eq!(check("explain", &["explain", "calm", "--json"], 0)["decision"], "run");
    check("profiles", &["profiles", "--json"], 0);
    let one = check("profiles", &["profiles", "curl", "--json"], 0);
    assert_eq!(one["profiles"].as_array().map(Vec::len), Some(1));

    let trip = check("changes", &["trip", "calm", "--json", "--for", "1h"], 0);
    assert_eq!(trip["changes"][0]["phase_before"], "closed");
    assert_eq!(trip["changes"][0]["phase_after"], "open");
    let hold = check("changes", &["hold", "calm", "open", "--json", "--for", "1h"], 0);
    assert_eq!(hold["changes"][0]["hold_after"], "open");
    let release = check("changes", &["release", "*", "--json"], 0);
    let changed = |name: &str| {
        let changes = release["changes"].as_array().expect("a list");
        changes.iter().find(|change| change["name"] == name).expect("a change")["changed"].clone()
    };
    assert_eq!((changed("calm"), changed("broken")), (true.into(), false.into()));
    let reset = check("changes", &["reset", "--all", "--json"], 0);
    assert_eq!(reset["changes"].as_array().map(Vec::len), Some(4));
    let forget = check("changes", &["forget", "calm", "nothing", "--json"], 1);
    assert_eq!(forget["changes"].as_array().map(Vec::len), Some(1));

    for (words, code) in [(["--name", "report"], 0), (["--name", "broken"], 0)] {
        let words = [&["run", "--report", "report.json"], &words[..], &["--", "true"]].concat();
        sandbox.run(&words).code(code);
        valid(&sandbox, "report", &sandbox.read("report.json"));
    }
    sandbox.run(&["trip", "report"]).code(0);
    sandbox.run(&["run", "--report", "report.json", "--name", "report", "--", "true"]).code(75);
    valid(&sandbox, "report", &sandbox.read("report.json"));
}

/// Requires that the schema describes each key of `found`, and requires those that are always printed.
#[track_caller]
fn described(schema: &Value, found: &Value, always: Always) {
    let keys: BTreeSet<&str> = found.as_object().expect("an object").keys().map(String::as_str).collect();
    let required = schema["required"].as_array().expect("required keys").iter();
    let required: BTreeSet<&str> = required.map(|key| key.as_str().expect("a key")).collect();
    // Where all values are of one kind, only the keys are listed.
    let properties = schema["properties"].as_object();
    let described = properties.map_or(required.clone(), |keys| keys.keys().map(String::as_str).collect());
    let missing: Vec<_> = keys.difference(&described).collect();
    assert!(missing.is_empty(), "man/brk.schema.json lacks {missing:?}, which are printed: {found:#}");
    match always {
        Always::All => {
            assert_eq!(required, keys, "man/brk.schema.json requires what is always printed: {found:#}")
        }
        Always::Required => assert!(required.is_subset(&keys), "{required:?} are required: {found:#}"),
    }
}

#[derive(Clone, Copy)]
enum Always {
    /// Every key is printed always.
    All,
    /// Only those that the schema requires.
    Required,
}

/// A validator allows what it does not know, so a key or an event that was added would go unnoticed there.
#[test]
fn the_schema_describes_every_event_and_key() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = std::fs::read_to_string(root.join("man/brk.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let schema = &schema["$defs"];

    // The journals of 0.1.0 have every event of that version.
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.state()).expect("a directory");
    let mut names = vec!["unsure".to_owned()];
    for file in std::fs::read_dir(root.join("tests/data/0.1.0")).expect("frozen files") {
        let file = file.expect("a file");
        if let Some(name) = file.file_name().to_str().and_then(|name| name.strip_suffix(".journal")) {
            std::fs::copy(file.path(), sandbox.state().join(file.file_name())).expect("a copy");
            names.push(name.to_owned());
        }
    }
    let run = |script: &str| {
        sandbox.run(&[
            "run",
            "--name",
            "unsure",
            "--failures",
            "1",
            "--cooldown",
            "0",
            "--",
            "sh",
            "-c",
            script,
        ])
    };
    run("exit 1").code(1);
    run("exit 127").code(127);

    let mut seen = BTreeSet::new();
    for name in &names {
        for event in sandbox.history(name) {
            described(&schema["event"], &event, Always::Required);
            seen.insert(event["event"].as_str().expect("a word").to_owned());
        }
        let status = sandbox.status(name);
        let breaker = &schema["breaker"];
        described(breaker, &status, Always::All);
        for part in ["window", "totals", "policy"] {
            described(&breaker["properties"][part], &status[part], Always::All);
        }
        for part in ["last", "override"] {
            if status[part].is_object() {
                described(&breaker["properties"][part], &status[part], Always::All);
            }
        }
        let check = sandbox.run(&["check", "--json", name]).stdout();
        described(&schema["check"], &serde_json::from_str(&check).expect("JSON"), Always::All);
        let explain = sandbox.run(&["explain", "--json", name]).stdout();
        described(&schema["explain"], &serde_json::from_str(&explain).expect("JSON"), Always::All);
    }
    let listed = schema["event"]["properties"]["event"]["enum"].as_array().expect("events").iter();
    let listed: BTreeSet<String> = listed.map(|word| word.as_str().expect("a word").to_owned()).collect();
    assert_eq!(listed, seen, "the events of man/brk.schema.json and those that are printed");
}
