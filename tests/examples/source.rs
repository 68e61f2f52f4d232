//! Where examples stand, and how they are read out of there.

use std::path::{Path, PathBuf};

use crate::util::Sandbox;

/// Examples that belong together: they are run one after the other in one place.
#[derive(Debug)]
pub struct Block {
    /// Each a command of a shell, with what prepares it.
    pub units: Vec<String>,
    /// The configuration under which they are run.
    pub config: Option<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks but for sessions, which `readme` runs, and what is set apart by four spaces.
pub fn readme() -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut word, mut lines): (Option<String>, Vec<String>) = (None, Vec::new());
    for line in read("README.md").lines() {
        match (line.strip_prefix("```"), &word) {
            (Some(_), Some(kind)) => {
                blocks.extend(block(kind, &lines.join("\n")));
                (word, lines) = (None, Vec::new());
            }
            (Some(kind), None) => word = Some(kind.to_owned()),
            (None, Some(_)) => lines.push(line.to_owned()),
            (None, None) => blocks.extend(line.strip_prefix("    ").and_then(|line| block("sh", line))),
        }
    }
    // The first block of all builds brk; `readme` has its test.
    blocks.retain(|block| !block.units.iter().any(|unit| unit.contains("cargo ")));
    blocks
}

/// The pages that are not generated.
pub fn pages_by_hand() -> Vec<String> {
    let entries = std::fs::read_dir(repository().join("man")).expect("man/");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".5") || name.ends_with(".7")).collect();
    names.sort();
    names
}

/// The literal blocks of a page, and its lines that are displayed. What follows a configuration is run under it.
pub fn page(name: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut config = None;
    let text = read(&format!("man/{name}"));
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(shown) = line.strip_prefix(".Dl ") {
            blocks.extend(block("sh", &plain(shown)).map(|block| Block { config: config.clone(), ..block }));
        }
        let Some(kind) = line.strip_prefix(".\\\" ") else { continue };
        let is_literal = lines.next().is_some_and(|line| line.starts_with(".Bd -literal"));
        assert!(is_literal, "{name}: no block below {line:?}");
        let text: Vec<_> = lines.by_ref().take_while(|line| *line != ".Ed").map(plain).collect();
        let block = block(kind.split(' ').next().unwrap_or_default(), &text.join("\n"));
        if let Some(read) = block.as_ref().and_then(|block| block.config.clone()) {
            config = Some(read);
        }
        blocks.extend(block);
    }
    blocks
}

/// Roff's text without its escapes.
fn plain(text: &str) -> String {
    text.replace("\\e", "\\").replace("\\-", "-").replace("\\&", "")
}

/// The examples below the help of each command.
pub fn help() -> Vec<Block> {
    let sandbox = Sandbox::new();
    let help = |words: &[&str]| sandbox.run(&[words, &["--help"]].concat()).code(0).stdout();
    let overview = help(&[]);
    let commands = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<_> =
        commands.map_while(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(commands.len() > 10, "{commands:?}");
    let mut blocks: Vec<_> =
        std::iter::once(overview.clone()).chain(commands.iter().map(|name| help(&[name]))).collect();
    for text in &mut blocks {
        *text = of_help(text, &commands);
    }
    blocks.iter().filter_map(|text| block("sh", text)).collect()
}

/// An example begins with `brk` and a command, indented; what is indented more belongs to it.
fn of_help(text: &str, commands: &[&str]) -> String {
    let is_example = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("brk") && words.next().is_some_and(|word| commands.contains(&word))
    };
    let mut found = String::new();
    let mut at = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if indent > 0 && is_example(line) {
            at = Some(indent);
        } else if at.is_none_or(|at| indent <= at) {
            at = None;
        }
        if at.is_some() {
            found += &format!("{}\n", line.trim_start());
        }
    }
    found
}

/// The units, and the configuration with what is a comment in it.
pub fn package() -> Vec<Block> {
    let mut blocks = Vec::new();
    let entries = std::fs::read_dir(repository().join("packaging")).expect("packaging/");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    for name in names.iter().map(|name| name.to_string_lossy()) {
        let text = read(&format!("packaging/{name}"));
        if name.ends_with(".service") {
            blocks.extend(block("unit", &text));
        } else if name.ends_with(".toml") {
            let text: Vec<_> = text.lines().skip(2).map(|line| line.trim_start_matches("# ")).collect();
            blocks.extend(block("toml", &text.join("\n")));
        } else {
            assert!(name.ends_with(".timer") || name == "test", "what is packaging/{name}?");
        }
    }
    blocks
}

/// The examples in a block of this kind; `None` if there is nothing to run.
fn block(kind: &str, text: &str) -> Option<Block> {
    let mut config = None;
    let joined: Vec<_> = text.split("\\\n").map(str::trim).collect();
    let joined = joined.join(" ");
    let lines = joined.lines().map(str::trim);
    let units = match kind {
        "sh" | "shell" => units(text),
        "crontab" => lines.filter(|line| !is_assignment(line) && !line.is_empty()).map(crontab).collect(),
        "ini" | "unit" => {
            lines.filter_map(|line| line.strip_prefix("ExecStart=")).map(str::to_owned).collect()
        }
        "yaml" | "yml" => {
            let run = |line: &str| line.trim_start_matches("- ").trim_start_matches("run: ").to_owned();
            lines.map(run).filter(|line| line.starts_with("brk ")).collect()
        }
        "toml" => {
            config = Some(text.to_owned());
            vec![format!("brk run --name {} -- pg_dump -f prod.sql prod", section(text))]
        }
        // A session is run where its output is compared.
        "console" => Vec::new(),
        other => {
            panic!("what is a block of {other:?}? Say in tests/examples/source.rs how it is run:\n{text}")
        }
    };
    (!units.is_empty()).then_some(Block { units, config })
}

/// The last breaker that a configuration names.
fn section(text: &str) -> String {
    let mut sections =
        text.lines().filter_map(|line| line.trim().strip_prefix("[breaker.")?.strip_suffix(']'));
    sections.next_back().map_or("any".to_owned(), |name| name.trim_matches('"').replace('*', "1"))
}

/// The command of a line of a crontab.
fn crontab(line: &str) -> String {
    let mut rest = line;
    let fields = if line.starts_with('@') { 1 } else { 5 };
    for _ in 0..fields {
        rest = rest.trim_start();
        rest =
            rest.split_once(char::is_whitespace).unwrap_or_else(|| panic!("no line of a crontab: {line}")).1;
    }
    assert!(!rest.replace("\\%", "").contains('%'), "a per cent sign is a new line in a crontab: {line}");
    rest.trim().replace("\\%", "%")
}

fn is_assignment(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or_default();
    line.contains('=')
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The commands of a script. Lines that a shell does not take alone belong together, and what does not start `brk`
/// belongs to what does.
fn units(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut open = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        open += &format!("{line}\n");
        if open.trim_end().ends_with('\\') || !is_complete(&open) || !has_brk(&open) {
            continue;
        }
        units.push(std::mem::take(&mut open).trim_end().to_owned());
    }
    match units.last_mut() {
        Some(last) if !open.trim().is_empty() => *last += &format!("\n{}", open.trim_end()),
        _ => {}
    }
    units
}

fn has_brk(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && !"-_./".contains(c)).any(|word| word == "brk")
}

fn is_complete(script: &str) -> bool {
    Sandbox::new()
        .shell(&format!("cat >script <<'END OF SCRIPT'\n{script}END OF SCRIPT\nsh -n script"))
        .status()
        .success()
}
