//! The manual: clean for `mandoc`, complete, and what it shows is valid. Its examples are run in `examples`.

use std::path::{Path, PathBuf};

use crate::tools::{needs, run_python};
use crate::util::{Sandbox, brk, finish};

/// The sources of all pages.
pub fn pages() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let entries = std::fs::read_dir(dir).expect("man/").map(|entry| entry.expect("an entry").path());
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|section| ["1", "5", "7"].iter().any(|number| section == *number))
    };
    let mut pages: Vec<_> = entries.filter(is_page).collect();
    pages.sort();
    pages
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(name);
    std::fs::read_to_string(path).expect("a page")
}

/// The literal blocks of a page, each with the kind that the comment above it names.
fn blocks(name: &str) -> Vec<(String, String)> {
    let text = page(name);
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix(".\\\" ") else { continue };
        assert!(lines.next().is_some_and(|line| line.starts_with(".Bd -literal")), "{name}: below {line:?}");
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != ".Ed").collect();
        blocks.push((kind.to_owned(), block.join("\n").replace("\\e", "\\") + "\n"));
    }
    assert_eq!(blocks.len(), text.matches(".Bd -literal").count(), "each block of {name} is of some kind");
    blocks
}

/// A sandbox where the programs of the units exist.
fn kitchen() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.file("bin")).expect("bin");
    std::os::unix::fs::symlink(brk(), sandbox.file("bin/brk")).expect("brk");
    sandbox.script("bin/pg_dump", "#!/bin/sh\nexit 0\n");
    sandbox
}

#[test]
fn mandoc_finds_nothing() {
    needs!("mandoc");
    let sandbox = Sandbox::new();
    assert!(pages().len() > 15, "{:?}", pages());
    for page in pages() {
        let mut mandoc = sandbox.command("mandoc");
        mandoc.args(["-T", "lint"]).arg(&page);
        let done = finish(mandoc);
        // The pages are not installed here; that they exist is the next test's.
        let found: Vec<_> = done.stdout().lines().map(str::to_owned).collect();
        let found: Vec<_> =
            found.iter().filter(|line| !line.contains("referenced manual not found: Xr brk")).collect();
        assert!(found.is_empty(), "{found:#?}");
        assert!(done.stderr().is_empty(), "{}", done.all());
    }
}

#[test]
fn every_page_that_is_referred_to_is_there() {
    let names: Vec<_> =
        pages().iter().map(|page| page.file_name().expect("a name").to_string_lossy().into_owned()).collect();
    for name in &names {
        for line in page(name).lines() {
            let mut words = line.split(' ');
            if words.next() == Some(".Xr") {
                let page = format!("{}.{}", words.next().expect("a page"), words.next().expect("a section"));
                assert!(names.contains(&page), "{name} refers to {page}");
            }
        }
    }
}

#[test]
fn every_key_of_the_configuration_is_explained() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["run", "--help"]);
    let flags: Vec<_> = help
        .stdout()
        .lines()
        .filter_map(|line| {
            let line = line.trim_start();
            let flag = line.strip_prefix("--").or_else(|| line.get(4..)?.strip_prefix("--"))?;
            line.starts_with('-').then(|| flag.split(['[', '=', ' ']).next().unwrap_or(flag).to_owned())
        })
        .filter(|flag| !["color", "config", "state-dir", "help", "name"].contains(&flag.as_str()))
        .collect();
    assert!(flags.len() > 35, "{flags:?}");
    let text = page("brk-config.5");
    let mut keys: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(".It Li ")).collect();
    for flag in &flags {
        assert!(keys.contains(&flag.as_str()), "brk-config(5) does not explain {flag}");
    }
    keys.retain(|key| !flags.iter().any(|flag| flag == key));
    assert!(keys.is_empty(), "brk-config(5) explains {keys:?}, which are no flags");
}

#[test]
fn the_configuration_that_is_shown_is_valid() {
    let sandbox = Sandbox::new();
    for (kind, text) in blocks("brk-config.5") {
        assert_eq!(kind, "toml");
        sandbox.write("config.toml", text);
        sandbox.run(&["--config", "config.toml", "config", "--check"]).code(0);
        sandbox.run(&["--config", "config.toml", "config", "db-backup"]).code(0).prints("timeout = \"30m\"");
    }
}

/// Their commands are run in `examples`.
#[test]
fn the_recipes_are_valid_yaml_and_units() {
    needs!("python:yaml", "systemd-analyze");
    let sandbox = kitchen();
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for (kind, text) in blocks("brk-recipes.7") {
        let word = kind.split(' ').next().unwrap_or_default().to_owned();
        match word.as_str() {
            "shell" | "crontab" => {}
            "unit" => {
                sandbox.write(kind.trim_start_matches("unit "), text);
            }
            "yaml" => {
                let script = "import sys, yaml; print(list(yaml.safe_load(sys.stdin)))";
                run_python(&sandbox, "yaml", script, &[], &text).code(0);
            }
            other => panic!("what is a block of {other}?"),
        }
        *seen.entry(word).or_default() += 1;
    }
    assert!(seen["unit"] == 2 && seen["yaml"] == 3, "{seen:?}");
    verify_units(&sandbox, &["db-backup.service", "db-backup.timer"]);
}

#[test]
fn the_examples_of_the_package_are_accepted() {
    needs!("systemd-analyze");
    let sandbox = kitchen();
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging");
    let units = ["brk-example.service", "brk-example.timer"];
    for file in units.iter().chain(&["config.toml"]) {
        std::fs::copy(packaging.join(file), sandbox.file(file)).expect("a file of the package");
    }
    verify_units(&sandbox, &units);
    sandbox.run(&["--config", "config.toml", "config", "--check"]).code(0);
    // What stands there as a comment is meant to be uncommented.
    let keys = sandbox
        .read("config.toml")
        .lines()
        .skip(2)
        .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
        .collect::<String>();
    sandbox.write("config.toml", keys);
    sandbox.run(&["--config", "config.toml", "config", "--check"]).code(0);
    sandbox.run(&["--config", "config.toml", "config", "db-1"]).code(0).prints("profile = \"pg_dump\"");
}

/// Requires that systemd accepts these units, whose programs are taken from the sandbox.
#[track_caller]
pub fn verify_units(sandbox: &Sandbox, units: &[&str]) {
    for unit in units {
        let text = sandbox.read(unit).replace("/usr/bin/", &format!("{}/", sandbox.file("bin").display()));
        sandbox.write(unit, text);
    }
    let mut verify = sandbox.command("systemd-analyze");
    verify.args(["verify", "--man=no"]).args(units.iter().map(|unit| format!("./{unit}")));
    let done = finish(verify);
    // What it finds in units of this host is not ours.
    let ours: Vec<_> = done.stderr().lines().map(str::to_owned).collect();
    let ours: Vec<_> = ours.iter().filter(|line| units.iter().any(|unit| line.contains(unit))).collect();
    assert!(ours.is_empty(), "{}", done.all());
}
