//! Documentation that runs: each example of the README, the manual, the help texts and the package is run as it is
//! written, against a dependency that works, fails, recovers and hangs. `examples/expected.txt` says for each what its
//! runs exit with, and which of them print something, which is what cron would mail.
//!
//! Not as written are: paths outside of the sandbox, the address of a shared store, and, for a dependency that hangs,
//! how long a timeout is. The programs are stand-ins (`stage`). What a session of the README prints is compared word by
//! word in `readme`.

mod source;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use source::Block;

use crate::tools::needs;

const EXPECTED: &str = include_str!("examples/expected.txt");

/// What `expected.txt` says of one source: example and runs, each once.
fn expected(source: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let section =
        EXPECTED.split("\n== ").find_map(|section| section.strip_prefix(source)?.strip_prefix('\n'));
    for entry in section.unwrap_or_default().split("\n\n").filter(|entry| !entry.trim().is_empty()) {
        let (example, runs) = entry.trim().rsplit_once('\n').unwrap_or_else(|| panic!("no runs: {entry:?}"));
        let twice = found.insert(example.to_owned(), runs.trim().to_owned());
        assert!(twice.is_none(), "expected.txt has this twice under {source}: {example}");
    }
    found
}

#[track_caller]
fn check(source: &str, blocks: &[Block], at_least: usize) {
    let mut expected = expected(source);
    let (mut real, mut wrong) = (String::new(), String::new());
    let mut seen = BTreeSet::new();
    for block in blocks {
        for (example, runs) in block.units.iter().zip(stage::play(block)) {
            // What stands in several places is the same each time.
            if !seen.insert(example.clone()) {
                continue;
            }
            writeln!(real, "{example}\n    {runs}\n").expect("a string");
            match expected.remove(example) {
                Some(said) if said == runs => {}
                Some(said) => {
                    writeln!(wrong, "{example}\n    expected {said}\n    ended as {runs}").expect("a string")
                }
                None => writeln!(wrong, "{example}\n    is not in expected.txt; ended as {runs}")
                    .expect("a string"),
            }
        }
    }
    for example in expected.keys() {
        writeln!(wrong, "{example}\n    is in expected.txt, and not in {source}").expect("a string");
    }
    assert!(wrong.is_empty(), "{wrong}\nReal, to be read before it is copied:\n\n== {source}\n{real}");
    assert!(seen.len() >= at_least, "only {} examples found in {source}", seen.len());
}

#[test]
fn of_the_readme() {
    needs!("redis-server", "redis-cli");
    check("README.md", &source::readme(), 15);
}

#[test]
fn of_the_recipes() {
    check("brk-recipes(7)", &source::page("brk-recipes.7"), 15);
}

#[test]
fn of_the_other_pages() {
    for name in source::pages_by_hand().iter().filter(|name| *name != "brk-recipes.7") {
        let (title, section) = name.rsplit_once('.').expect("a section");
        check(&format!("{title}({section})"), &source::page(name), 0);
    }
}

#[test]
fn of_the_help() {
    needs!("jq");
    check("help", &source::help(), 12);
}

#[test]
fn of_the_package() {
    check("packaging", &source::package(), 2);
}
