//! What is generated from the binary is committed, and is what the binary writes now.

use std::collections::BTreeMap;
use std::path::Path;

use crate::util::{Sandbox, brk, finish};

const RENEW: &str = "renew it with .ci/renew, and commit what that writes";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The generated files under a root, with their texts.
fn generated(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (dir, is_generated) in [
        ("completions", (|_| true) as fn(&str) -> bool),
        ("man", |name| name.ends_with(".1") || name == "brk-config.5"),
    ] {
        for entry in std::fs::read_dir(root.join(dir)).expect("a directory of generated files") {
            let entry = entry.expect("a directory entry");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            if is_generated(&name) {
                let text = std::fs::read_to_string(entry.path()).expect("a generated file");
                files.insert(format!("{dir}/{name}"), text);
            }
        }
    }
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    files.insert("README.md".to_owned(), readme);
    files
}

/// Where two texts part, for people.
fn difference(found: &str, expected: &str) -> Option<String> {
    let mut lines =
        (1..).zip(found.lines().map(Some).chain([None]).zip(expected.lines().map(Some).chain([None])));
    let (number, (found, expected)) = lines.find(|(_, (found, expected))| found != expected)?;
    let shown = |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("{line:?}"));
    Some(format!("line {number} is {}, and should be {}", shown(found), shown(expected)))
}

#[test]
fn completions_manual_pages_and_tables_are_current() {
    let sandbox = Sandbox::new();
    let root = sandbox.file("root");
    std::fs::create_dir(&root).expect("a directory");
    std::fs::copy(repository().join("README.md"), root.join("README.md")).expect("README.md");
    let mut renew = sandbox.command(repository().join(".ci/renew"));
    renew.arg(brk()).arg(&root);
    finish(renew).code(0).quiet();

    let (committed, current) = (generated(repository()), generated(&root));
    for (name, text) in &current {
        let Some(found) = committed.get(name) else { panic!("{name} is missing; {RENEW}") };
        assert!(found == text, "{name} is stale: {}; {RENEW}", difference(found, text).unwrap_or_default());
    }
    let gone: Vec<_> = committed.keys().filter(|name| !current.contains_key(*name)).collect();
    assert!(gone.is_empty(), "nothing generates {gone:?} any more; {RENEW}");
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new();
    let done = sandbox.run(&["--help"]);
    done.code(0);
    let help = done.stdout();
    let commands: Vec<_> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.strip_prefix("  ")?.split_whitespace().next().filter(|_| !line.starts_with("   "))
        })
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"run") && commands.len() > 5, "{}", done.all());
    for command in commands {
        let page = repository().join(format!("man/brk-{command}.1"));
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(text.contains(".SH SYNOPSIS"), "{} is no manual page; {RENEW}", page.display());
    }
}

#[test]
fn a_difference_is_named() {
    assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    let named = difference("a\n", "a\nb\n").expect("a difference");
    assert_eq!(named, "line 2 is the end, and should be \"b\"");
}
