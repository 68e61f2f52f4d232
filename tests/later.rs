//! What a later version wrote is refused and left alone, also if it looks like this version's, and what stands before it is
//! never taken for the state. That a record names a later version is tested in `state`.

use std::fs;

use crate::server::Server;
use crate::util::Sandbox;

const NEWER: &str = "install a newer brk";

/// A whole line, sealed as the journal seals it.
fn sealed(mut body: String) -> String {
    body.truncate(body.rfind(",\"crc\":").unwrap_or(body.len() - 1));
    let sum = crc32fast::hash(body.as_bytes());
    format!("{body},\"crc\":\"{sum:08x}\"}}\n")
}

/// Records that are whole and say what this version cannot read: an unknown event, reason, phase, and a field's new form.
const STRANGE: &[(&str, &str)] = &[
    ("\"event\":\"refused\"", "\"event\":\"deferred\""),
    ("\"why\":\"open\"", "\"why\":\"budget-of-later\""),
    ("\"is\":\"open\"", "\"is\":\"ajar\""),
    ("\"level\":0", "\"level\":{\"of\":0}"),
];

#[test]
fn what_is_not_understood_is_left_alone() {
    let frozen = include_str!("data/0.1.0/streak.journal");
    let last = frozen.lines().last().expect("a record");
    assert_eq!(sealed(last.to_owned()).trim_end(), last.replace(' ', ""), "the seal");
    for (known, strange) in STRANGE {
        let (before, after) = (frozen.to_owned(), last.replace(known, strange));
        assert_ne!(after, last, "{known}");
        let journal = before + &sealed(after);
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.state()).expect("a directory");
        let path = sandbox.write("state/n.journal", &journal);
        let run = |words: &[&str]| sandbox.run(words);
        // The record before it is open, and not the state: the command runs unguarded.
        run(&["run", "--name", "n", "--", "true"]).code(0).says(NEWER).says("unguarded");
        run(&["run", "--name", "n", "--on-state-error", "refuse", "--", "true"]).code(125).says(NEWER);
        for words in [
            &["status", "n"][..],
            &["history", "n"],
            &["reset", "n"],
            &["trip", "n"],
            &["forget", "n"],
            &["hold", "n", "open"],
            &["release", "n"],
        ] {
            run(words).code(1).says(NEWER);
        }
        run(&["check", "n"]).says(NEWER);
        assert_eq!(fs::read_to_string(&path).expect("still there"), journal, "{strange} was written over");
        assert!(!sandbox.run(&["status"]).stdout().contains("open"), "an older record was shown");
    }
}

#[test]
fn what_is_not_understood_in_a_shared_store_is_left_alone() {
    let (server, sandbox) = (Server::start(), Sandbox::new());
    let host = server.host(&sandbox, "a");
    host.run(&["run", "--name", "n", "--failures", "1", "--", "false"]).code(1);
    let state = server.cli(&["HGET", "brk:{n}", "state"]);
    for (known, strange) in [("\"is\":\"open\"", "\"is\":\"ajar\""), ("\"level\":0", "\"level\":{\"of\":0}")]
    {
        let later = state.replace(known, strange);
        assert_ne!(later, state, "{known}");
        server.cli(&["HSET", "brk:{n}", "state", &later]);
        for words in [&["reset", "n"][..], &["trip", "n"], &["hold", "n", "open"]] {
            host.run(words).code(1).says(NEWER);
        }
        // Who asks is told, and sees what this host knows by itself.
        host.run(&["status", "n"]).code(0).says(NEWER);
        host.run(&["run", "--name", "n", "--on-store-error", "refuse", "--", "true"]).code(125).says(NEWER);
        assert_eq!(server.cli(&["HGET", "brk:{n}", "state"]), later, "it was written over");
    }
}
