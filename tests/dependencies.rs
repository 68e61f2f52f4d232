//! What we depend on may be shipped with us: each licence is on the list in `deny.toml`, and each crate comes from the
//! registry that `Cargo.lock` has its checksum from.

use std::process::Command;

use serde_json::Value;

use crate::tools::needs;
use crate::util::finish;

/// The names of licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml")).expect("deny.toml");
    let table: toml::Table = text.parse().expect("TOML");
    let names = table["licenses"]["allow"].as_array().expect("a list").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// Whether an SPDX expression can be met by the licences allowed. A slash is the old word for OR.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = any(&words, allowed);
    assert!(rest.is_empty(), "{expression}: {rest:?} is left over");
    met
}

fn any<'a, 'b>(words: &'a [&'b str], allowed: &[String]) -> (bool, &'a [&'b str]) {
    let (mut met, mut rest) = all(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, after) = all(after, allowed);
        (met, rest) = (met || other, after);
    }
    (met, rest)
}

fn all<'a, 'b>(words: &'a [&'b str], allowed: &[String]) -> (bool, &'a [&'b str]) {
    let (mut met, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, after) = one(after, allowed);
        (met, rest) = (met && other, after);
    }
    (met, rest)
}

fn one<'a, 'b>(words: &'a [&'b str], allowed: &[String]) -> (bool, &'a [&'b str]) {
    let has = |name: &str| allowed.iter().any(|one| one == name);
    match words {
        ["(", inner @ ..] => match any(inner, allowed) {
            (met, [")", rest @ ..]) => (met, rest),
            (_, rest) => panic!("a parenthesis is missing before {rest:?}"),
        },
        [name, "WITH", exception, rest @ ..] => (has(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (has(name), rest),
        [] => panic!("a licence is missing"),
    }
}

#[test]
fn licences_and_sources_are_known_ones() {
    needs!("python3");
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let done = finish(command);
    done.code(0);
    let metadata: Value = serde_json::from_str(&done.stdout()).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let allowed = allowed();
    let mut used = Vec::new();
    for package in packages.iter().filter(|package| package["name"] != "brk") {
        let licence = package["license"].as_str().unwrap_or_else(|| panic!("no licence: {package}"));
        assert!(is_met(licence, &allowed), "{}: {licence} is not allowed by deny.toml", package["name"]);
        let source = package["source"].as_str().unwrap_or_default();
        assert!(source.starts_with("registry+"), "{} is from elsewhere: {source}", package["name"]);
        used.push(licence);
    }
    let stale: Vec<&String> =
        allowed.iter().filter(|name| !used.iter().any(|licence| licence.contains(*name))).collect();
    assert!(stale.is_empty(), "allowed, and nobody has it: {stale:?}");
    println!("proof: dependencies: the licences and sources of {}", used.len());
}

#[test]
fn a_licence_that_is_not_allowed_is_noticed() {
    let allowed = ["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned(), "ISC".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("ISC AND (GPL-3.0-only OR MIT)", true),
        ("(ISC AND GPL-3.0-only) OR (MIT AND AGPL-3.0)", false),
        ("ISC AND GPL-3.0-only OR MIT", true),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception AND MIT", true),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn the_documentation_says_why_each_dependency_is_there() {
    let read = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::fs::read_to_string(path).expect("a file of the project")
    };
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.iter().flat_map(|targets| targets.values().filter_map(toml::Value::as_table));
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let mut ours: Vec<&String> = std::iter::once(&manifest)
        .chain(targets)
        .flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()))
        .flat_map(toml::Table::keys)
        .collect();
    ours.sort();
    ours.dedup();
    let text = read("docs/dependencies.md");
    // The crates that are explained: those before the size in parentheses.
    let mut explained: Vec<&str> = text
        .split('`')
        .collect::<Vec<_>>()
        .windows(2)
        .filter(|pair| pair[1].starts_with(" ("))
        .map(|pair| pair[0])
        .collect();
    explained.sort_unstable();
    assert_eq!(explained, ours, "docs/dependencies.md explains the first, Cargo.toml has the second");
}
