//! What earlier versions wrote is read as they meant it, and what this version writes changes only on purpose.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::Server;
use crate::util::Sandbox;

/// Reasons that were reworded since, as 0.1.0 said them and as they are said now. A reason that is reworded again
/// changes here; the files of 0.1.0 stay as they are.
const REWORDED: [(&str, &str); 2] = [
    ("a trip by hand", "a manual trip"),
    ("an ending that opens at once (exit 5)", "exit 5, which trips immediately"),
];

fn data(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data")).join(name)
}

fn text(name: &str) -> String {
    let path = data(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the journals of 0.1.0.
fn journals() -> Vec<String> {
    let files = std::fs::read_dir(data("0.1.0")).expect("the files of 0.1.0");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name in UTF-8"));
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".journal")?.to_owned())).collect();
    names.sort();
    assert_eq!(names.len(), 17, "journals are missing: {names:?}");
    names
}

/// A sandbox with a copy of this journal as its only breaker.
fn with(name: &str) -> Sandbox {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.state()).expect("a state directory");
    std::fs::set_permissions(sandbox.state(), std::fs::Permissions::from_mode(0o700)).expect("chmod");
    let file = format!("{name}.journal");
    std::fs::copy(data("0.1.0").join(&file), sandbox.state().join(&file)).expect("a copy");
    sandbox
}

/// Requires that all that is expected is there; there may be more.
fn compare(what: &str, expected: &Value, found: &Value) {
    match (expected, found) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                compare(&format!("{what}: {key}"), value, &found[key]);
            }
        }
        (Value::String(old), Value::String(new)) => {
            let now = REWORDED.iter().fold(old.clone(), |text, (before, after)| text.replace(before, after));
            assert_eq!(new, &now, "{what}; a text that was reworded belongs in REWORDED");
        }
        (expected, found) => assert_eq!(found, expected, "{what}"),
    }
}

#[test]
fn journals_of_0_1_0_are_read_as_they_were_written() {
    for name in journals() {
        let expected: Value = serde_json::from_str(&text(&format!("0.1.0/{name}.json"))).expect("JSON");
        let sandbox = with(&name);

        let status = sandbox.run(&["status", "--json", &name]);
        assert_eq!(status.stderr(), "", "{name}");
        compare(&name, &expected["status"], &status.breaker());

        let history = sandbox.run(&["history", "--json", "-n", "1000000", &name]);
        assert_eq!(history.stderr(), "", "{name}");
        let (entries, wanted) = (history.entries(), expected["history"].as_array().expect("a list"));
        assert_eq!(entries.len(), wanted.len(), "{name}\n{}", history.all());
        for (number, (entry, wanted)) in entries.iter().zip(wanted).enumerate() {
            for key in ["event", "generation", "exit", "signal", "ending", "reason", "count"] {
                compare(&format!("{name}: entry {number}: {key}"), &wanted[key], &entry[key]);
            }
        }

        let check = sandbox.run(&["check", &name]);
        assert!(matches!(check.status().code(), Some(0 | 75)), "{}", check.all());
        check.lacks("warning");
        let explain = sandbox.run(&["explain", &name]);
        assert_eq!(explain.code(0).stderr(), "", "{name}");
        explain.prints(&name);
    }
}

#[test]
fn journals_of_0_1_0_are_written_on() {
    for name in journals() {
        let sandbox = with(&name);
        let before = sandbox.history(&name);
        let run = sandbox.run(&["run", "--name", &name, "--", "true"]);
        assert!(matches!(run.status().code(), Some(0 | 75)), "{}", run.all());
        run.lacks("warning");
        sandbox.run(&["release", &name]).code(0).lacks("warning");
        sandbox.run(&["reset", &name]).code(0).lacks("warning");
        let run = sandbox.run(&["run", "--name", &name, "--", "true"]);
        run.code(0).quiet();
        let (phase, streak) = (&sandbox.status(&name)["phase"], &sandbox.status(&name)["streak"]);
        assert_eq!((phase.as_str(), streak.as_u64()), (Some("closed"), Some(0)), "{name}");
        let after = sandbox.history(&name);
        assert_eq!(after.last().expect("an entry")["event"], "success", "{name}");
        assert!(after.len() > before.len(), "the history of {name} was lost");
        assert_eq!(after.first(), before.first(), "{name}");
        for file in std::fs::read_dir(sandbox.state()).expect("a state directory") {
            let file = file.expect("a file").file_name();
            assert!(!file.to_string_lossy().contains(".corrupt-"), "{name} was set aside: {file:?}");
        }
    }
}

#[test]
fn a_shared_store_of_0_1_0_means_the_same() {
    let (server, sandbox) = (Server::start(), Sandbox::new());
    let host = server.host(&sandbox, "a");
    let pairs = |list: &Value| -> Vec<String> {
        let pairs = list.as_array().expect("fields").iter();
        pairs
            .flat_map(|pair| ["field", "value"].map(|key| pair[key].as_str().expect("text").to_owned()))
            .collect()
    };
    let load = |words: &[&str], fields: &[String]| {
        let fields = fields.iter().map(String::as_str);
        server.cli(&words.iter().copied().chain(fields).collect::<Vec<_>>());
    };
    for stored in json("0.1.0/redis.json").as_array().expect("keys") {
        let key = stored["key"].as_str().expect("a key");
        if stored["hash"].is_array() {
            load(&["HSET", key], &pairs(&stored["hash"]));
        }
        for entry in stored["stream"].as_array().into_iter().flatten() {
            load(&["XADD", key, entry["id"].as_str().expect("an id")], &pairs(&entry["fields"]));
        }
    }
    let show = || {
        let status = host.run(&["status", "--json", "shared"]).breaker();
        (status, host.run(&["history", "--json", "-n", "1000", "shared"]).entries())
    };
    let (status, history) = show();
    let shown = json("0.1.0/redis-shown.json");
    compare("status", &shown["status"], &status);
    let wanted = shown["history"].as_array().expect("a list");
    assert_eq!(history.len(), wanted.len(), "{history:#?}");
    for (number, (wanted, found)) in wanted.iter().zip(&history).enumerate() {
        compare(&format!("entry {number}"), wanted, found);
    }

    // The lease has ended long since; renewed by its holder it keeps others out, and without it the probe is lost.
    let hash = json("0.1.0/redis.json");
    let fields =
        hash.as_array().expect("keys").iter().find_map(|key| key["hash"].as_array()).expect("a hash");
    let lease =
        fields.iter().filter_map(|pair| pair["field"].as_str()).find(|field| field.starts_with("lease:"));
    let lease = lease.expect("a lease");
    let seconds: u64 =
        server.cli(&["TIME"]).lines().next().and_then(|time| time.parse().ok()).expect("a time");
    server.cli(&["HSET", "brk:{shared}", lease, &(seconds * 1000 + 14_000).to_string()]);
    host.run(&["run", "--name", "shared", "--", "true"]).code(75);
    server.cli(&["HDEL", "brk:{shared}", lease]);
    host.run(&["run", "--name", "shared", "--", "true"]).code(0).quiet();
    let (status, history) = show();
    assert_eq!((&status["phase"], &status["totals"]["lost"]), (&"closed".into(), &1.into()), "{status:#}");
    assert_eq!(status["totals"]["refused"], 3, "{status:#}");
    assert_eq!(history.last().expect("an event")["event"], "closed");
    host.run(&["reset", "shared"]).code(0);
}

#[test]
fn a_configuration_of_0_1_0_has_the_same_values() {
    let sandbox = Sandbox::new();
    sandbox.write("config.toml", text("0.1.0/config.toml"));
    let done = sandbox.run(&["--config", "config.toml", "config", "db-main"]);
    assert_eq!(done.code(0).stderr(), "");
    let shown = done.stdout();
    let lines: Vec<&str> =
        shown.lines().map(|line| line.split_once("  # ").map_or(line, |(value, _)| value)).collect();
    for expected in text("0.1.0/config.txt").lines() {
        assert!(lines.contains(&expected), "no line {expected:?}\n{}", done.all());
    }
}

/// Puts a word in the place of every number that follows one of these keys, and in the place of checksums.
fn without_what_varies(journal: &str) -> String {
    let mut text = journal.to_owned();
    for key in ["time", "boot", "up", "id", "since", "at", "duration", "last_launch", "last_success"] {
        text = replaced(&text, &format!("\"{key}\":"), |c| c.is_ascii_digit());
    }
    text = replaced(&text, "\"window\":\"", |c| c.is_ascii_digit());
    replaced(&text, "\"crc\":\"", |c| c.is_ascii_hexdigit())
}

/// Puts `N` in the place of the characters of this kind behind each occurrence of `before`.
fn replaced(text: &str, before: &str, varies: fn(char) -> bool) -> String {
    let mut parts = text.split(before);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let rest = part.trim_start_matches(varies);
        let word = if rest.len() < part.len() { "N" } else { "" };
        format!("{done}{before}{word}{rest}")
    })
}

#[test]
fn the_journal_of_a_new_breaker_is_the_sample() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--name", "new", "--", "true"]).code(0);
    let journal = without_what_varies(&sandbox.read("state/new.journal"));
    assert_eq!(
        journal,
        text("new.journal"),
        "the format of the state changed. Read the comment beside VERSION in src/store/journal.rs: a field with a \
         default that an older brk may drop is added to its list; all else takes a new version. Then write what is on \
         the left into tests/data/new.journal, and leave the files of earlier versions as they are."
    );
}
