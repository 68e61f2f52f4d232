//! The rules of the house, checked on the text of the sources: who may know whom, what the pure rooms must not touch,
//! and how long a file may be.

mod circles;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// In lines.
const LONGEST: usize = 450;

/// What each room may know beside itself. `*`: everything but `main`.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("breaker", &[]),
    ("name", &[]),
    ("procfs", &[]),
    ("lookup", &[]),
    ("signal", &[]),
    ("profile", &["breaker"]),
    ("exit", &["breaker"]),
    ("supervise", &["breaker::outcome", "signal"]),
    ("store", &["breaker", "lookup", "name", "procfs"]),
    (
        "render",
        &[
            "breaker",
            "name",
            "settings",
            "signal",
            "store::Snapshot",
            "store::LiveProbe",
            "store::Slot",
            "store::Updated",
            "store::journal::Entry",
        ],
    ),
    ("error", &["name", "store", "supervise"]),
    ("output", &["error"]),
    ("env", &["breaker", "lookup", "store", "supervise"]),
    ("hook", &["breaker", "name", "output", "render", "signal", "store", "supervise"]),
    ("tell", &["breaker", "settings::value"]),
    ("settings", &["breaker", "env", "error", "name", "plan", "profile", "signal", "store::Address"]),
    ("plan", &["breaker", "error", "exit", "hook", "settings", "signal", "supervise"]),
    ("cli", &["breaker", "error", "exit", "name", "output", "profile", "settings"]),
    ("command", &["*"]),
    ("main", &["*"]),
];

/// Rooms that are a function of their arguments.
const PURE: &[&str] = &["breaker", "supervise::escalate"];

const IMPURE: &[&str] = &[
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::env",
    "std::path",
    "std::time::Instant",
    "std::time::SystemTime",
    "Instant::now",
    "SystemTime",
    "clap",
    "humantime",
    "rand",
    "rustix",
    "tokio",
    "println!",
    "eprintln!",
    "dbg!",
];

/// A source file: its module path (`store::file`), and its code without comments, texts and tests.
struct Source {
    room: String,
    code: String,
}

impl Source {
    fn top(&self) -> &str {
        self.room.split("::").next().unwrap_or_default()
    }

    fn is_pure(&self) -> bool {
        PURE.iter().any(|pure| {
            self.room.strip_prefix(pure).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
    }

    /// The absolute module paths that the code names, each starting with a room.
    fn known(&self) -> Vec<String> {
        let mut known = Vec::new();
        for (prefix, depth) in [("crate::", 0), ("super::super::", 2), ("super::", 1)] {
            for (at, _) in self.code.match_indices(prefix) {
                let before = self.code[..at].chars().next_back().unwrap_or(' ');
                if before.is_alphanumeric() || before == '_' || before == ':' {
                    continue;
                }
                let base = match depth {
                    0 => String::new(),
                    depth => {
                        let parts: Vec<_> = self.room.split("::").collect();
                        let kept = parts.len().saturating_sub(depth);
                        parts[..kept].iter().map(|part| format!("{part}::")).collect()
                    }
                };
                let rest = &self.code[at + prefix.len()..];
                known.extend(paths(rest).into_iter().map(|path| format!("{base}{path}")));
            }
        }
        known
    }

    fn slips(&self) -> Vec<String> {
        let mut slips = Vec::new();
        let Some((_, allowed)) = MAY_KNOW.iter().find(|(room, _)| *room == self.top()) else {
            return vec![format!("{}: a new room; say in tests/tidy.rs what it may know", self.room)];
        };
        for path in self.known() {
            let is_own = path.split("::").next() == Some(self.top());
            let is_allowed = is_own
                || allowed.iter().any(|room| *room == "*" || starts_with_path(&path, room))
                || !MAY_KNOW.iter().any(|(room, _)| starts_with_path(&path, room));
            if !is_allowed {
                slips.push(format!("{} must not know {path}", self.room));
            }
            if self.is_pure() && !PURE.iter().any(|room| starts_with_path(&path, room)) {
                slips.push(format!("{} is pure, and names {path}", self.room));
            }
        }
        if self.is_pure() {
            let named = IMPURE.iter().filter(|word| has_word(&self.code, word));
            slips.extend(named.map(|word| format!("{} is pure, and names {word}", self.room)));
            // The numbers of signals are constants; a call begins with a small letter.
            let mut calls = self.code.split("libc::").skip(1);
            if calls.any(|name| name.starts_with(|c: char| c.is_ascii_lowercase() && !name.starts_with("c_")))
            {
                slips.push(format!("{} is pure, and calls libc", self.room));
            }
        }
        if !["supervise::unix"].iter().any(|room| starts_with_path(&self.room, room))
            && has_word(&self.code, "unsafe")
        {
            slips.push(format!("{}: unsafe outside supervise/unix", self.room));
        }
        slips
    }
}

fn starts_with_path(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        !is_part(code[..at].chars().next_back()) && !is_part(code[at + word.len()..].chars().next())
    })
}

/// The paths at the start of a text: `a::b` gives one, `a::{b, c::{d}}` gives `a::b` and `a::c::d`.
fn paths(text: &str) -> Vec<String> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::")) else {
        return vec![path.trim_end_matches(':').to_owned()];
    };
    let mut found = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let inner = group[start..at].trim();
                if !inner.is_empty() {
                    let inner = paths(inner).into_iter();
                    found.extend(inner.map(|inner| format!("{path}{}", inner.trim_start_matches("self"))));
                }
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found.into_iter().map(|path| path.trim_end_matches(':').to_owned()).collect()
}

/// Code without comments, without the contents of texts, and without what is compiled for tests alone.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let text = text.find("#[cfg(test)]\nmod tests {").map_or(text, |tests| &text[..tests]);
    for line in text.lines() {
        let mut in_text = false;
        let mut escaped = false;
        let mut kept = String::new();
        let chars: Vec<char> = line.chars().collect();
        for (at, &c) in chars.iter().enumerate() {
            if !in_text && c == '/' && chars.get(at + 1) == Some(&'/') {
                break;
            }
            let is_quoted_char = at > 0 && chars[at - 1] == '\'';
            if c == '"' && !escaped && !is_quoted_char {
                in_text = !in_text;
            } else if !in_text {
                kept.push(c);
            }
            escaped = c == '\\' && !escaped;
        }
        code.push_str(&kept);
        code.push('\n');
    }
    code
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

pub fn project(dir: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source");
        let name = path.strip_prefix(&root).expect("below").with_extension("");
        (name.to_string_lossy().replace('/', "::"), text)
    };
    paths.into_iter().map(read).collect()
}

fn source(room: &str, text: &str) -> Source {
    Source { room: room.to_owned(), code: code(text) }
}

/// The modules of the program, without those of tests.
fn modules() -> Vec<Source> {
    let is_test = |room: &str| room.split("::").any(|part| part == "tests");
    let sources = project("src").into_iter().filter(|(room, _)| !is_test(room));
    sources.map(|(room, text)| source(&room, &text)).collect()
}

#[test]
fn every_room_knows_only_what_it_may() {
    let sources = modules();
    assert!(sources.len() > 30, "only {} files found", sources.len());
    let slips: Vec<String> = sources.iter().flat_map(Source::slips).collect();
    assert!(slips.is_empty(), "{}", slips.join("\n"));
}

#[test]
fn every_permission_is_used() {
    let unused = unused(MAY_KNOW, &modules());
    assert!(unused.is_empty(), "take these out of the table: {unused:?}");
}

/// The permissions that no source makes use of: who may know, and whom.
fn unused<'a>(table: &[(&'a str, &[&'a str])], sources: &[Source]) -> Vec<(&'a str, &'a str)> {
    let permissions =
        table.iter().flat_map(|(room, allowed)| allowed.iter().map(move |known| (*room, *known)));
    let is_used = |(room, known): &(&str, &str)| {
        let mut paths = sources.iter().filter(|source| source.top() == *room).flat_map(Source::known);
        // Not even a source of that name: the row is unused as a whole.
        let is_there = || sources.iter().any(|source| source.top() == *room);
        if *known == "*" { is_there() } else { paths.any(|path| starts_with_path(&path, known)) }
    };
    permissions.filter(|permission| !is_used(permission)).collect()
}

#[test]
fn no_file_outgrows_itself() {
    let long: BTreeMap<String, usize> = ["src", "tests"]
        .iter()
        .flat_map(|dir| project(dir))
        .map(|(room, text)| (room, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .collect();
    assert!(long.is_empty(), "more than {LONGEST} lines; make two rooms of: {long:?}");
}

#[test]
fn the_rules_notice_a_break() {
    let slips = |room: &str, text: &str| source(room, text).slips();
    for (room, text) in [
        ("breaker::window", "use crate::name::Name;"),
        ("breaker::window", "use crate::{breaker::time::Millis, store::Snapshot};"),
        ("breaker::policy", "fn now() { std::time::Instant::now(); }"),
        ("breaker", "use rustix::fs;"),
        ("supervise::escalate", "libc::kill(1, 2);"),
        ("supervise::escalate", "use super::unix::Pid;"),
        ("supervise", "use crate::breaker::Breaker;"),
        ("supervise::plan", "let store = crate::store::file::open();"),
        ("store::file", "use crate::cli::Settings;"),
        ("store", "use crate::breaker::Breaker;\nuse crate::render;"),
        ("render::status", "use crate::store::{Snapshot, file::FileStore};"),
        ("output", "use crate::cli::RunArgs;"),
        ("name", "unsafe { hint() }"),
        ("attic", "fn nothing() {}"),
    ] {
        assert!(!slips(room, text).is_empty(), "{room} with {text:?}");
    }
    for (room, text) in [
        ("breaker::window", "use super::time::Timestamp;\nuse crate::breaker::policy::Policy;"),
        ("breaker", "// crate::store is another room, \"std::fs\"\nfn f() { g(\"std::fs\") }"),
        ("breaker", "fn f() {}\n#[cfg(test)]\nmod tests {\nuse crate::store::Store;\n}"),
        ("supervise::escalate", "use crate::breaker::outcome::Ending;\nlibc::SIGTERM;"),
        ("render::status", "use crate::store::{Snapshot, journal::Entry};"),
        ("command::run::guard", "use super::super::Context;\nuse crate::{cli::Cli, store};"),
    ] {
        assert_eq!(slips(room, text), Vec::<String>::new(), "{room} with {text:?}");
    }
}

#[test]
fn an_unused_permission_is_noticed() {
    let table: &[(&str, &[&str])] = &[("a", &["b", "c::D", "e"]), ("x", &["*"])];
    let sources = [source("a", "use crate::b::B;"), source("a::f", "use crate::c::{D, E};"), source("e", "")];
    assert_eq!(unused(table, &sources), [("a", "e"), ("x", "*")]);
}

/// Elsewhere a failed test could leave a process behind, and say nothing of what it was.
#[test]
fn tests_start_and_signal_processes_in_one_place() {
    for (file, text) in project("tests") {
        let found = [".spawn()", "Command::new(\"kill\")", "kill_process("]
            .into_iter()
            .find(|call| text.contains(call));
        let is_home = ["process", "tidy"].contains(&file.as_str());
        assert!(
            is_home || found.is_none(),
            "tests/{file}.rs: {found:?}; tests/process.rs has start() and signal()"
        );
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<String> = ["src", "tests"]
        .into_iter()
        .flat_map(|dir| project(dir).into_iter().map(move |(module, text)| (format!("{dir}/{module}"), text)))
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(file, _)| file)
        .collect();
    assert!(silent.is_empty(), "these begin with no line of what they are for: {silent:?}");
}
