//! The README is true: its sessions give the output that it shows, up to times and sizes. Its other examples are run in
//! `examples`.

use std::fmt::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::tools::needs;
use crate::util::{Sandbox, finish};

/// The port that the README's server listens on; a free one takes its place here.
const PORT: &str = "8137";

/// What the README calls a `brk` that is still to be built.
const BUILT: &str = "cargo run --release --quiet -- ";

/// Ends the output of one step. No command prints this.
const MARK: char = '\u{1e}';

/// A fenced block: the word after its fence, the heading above it, its lines and where they start.
struct Block {
    word: String,
    heading: String,
    lines: Vec<String>,
}

/// A command of a session, and the output shown under it.
struct Step {
    command: String,
    output: Vec<String>,
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(repository().join("README.md")).expect("README.md")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut heading, mut inside) = (String::new(), false);
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(word) => {
                inside = true;
                blocks.push(Block { word: word.to_owned(), heading: heading.clone(), lines: Vec::new() });
            }
            None if inside => blocks.last_mut().expect("a block").lines.push(line.to_owned()),
            None => {
                if let Some(title) = line.strip_prefix("## ") {
                    title.clone_into(&mut heading);
                }
            }
        }
    }
    blocks
}

fn steps<'a>(lines: impl Iterator<Item = &'a String>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: Vec::new() });
        } else {
            steps.last_mut().expect("a session begins with a command").output.push(line.clone());
        }
    }
    steps
}

/// Runs the steps in one shell, and gives what each printed, on both streams.
fn outputs(sandbox: &Sandbox, steps: &[Step], port: &str) -> Vec<Vec<String>> {
    let mut script = String::from("exec >output 2>&1\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n");
    for step in steps {
        let command = step.command.replace(PORT, port);
        writeln!(script, "{command}").expect("a string");
        if command.ends_with('&') {
            // Where the reader needs a second to go on, this waits until the server can be asked.
            writeln!(script, "until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do sleep 0.05; done")
                .expect("a string");
        }
        writeln!(script, "printf '{MARK}'").expect("a string");
    }
    sandbox.shell(&format!("exec timeout 120 bash -c '{}'", script.replace('\'', r"'\''"))).code(0);
    let output = sandbox.read("output").replace(port, PORT);
    let parts: Vec<_> = output.split(MARK).collect();
    assert_eq!(parts.len(), steps.len() + 1, "not every step has ended:\n{output}");
    parts[..steps.len()].iter().map(|part| part.lines().map(str::to_owned).collect()).collect()
}

/// A line without what differs from run to run: times, durations, and how wide a column had to be.
fn shape(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let bare = word.trim_matches(|c: char| "(),;".contains(c));
        let varies =
            bare.starts_with(|c: char| c.is_ascii_digit()) && !bare.bytes().all(|b| b.is_ascii_digit());
        let word = if varies { word.replace(bare, "#") } else { word.to_owned() };
        // `1m 2s` is a duration as `59s` is.
        if !(word.starts_with('#') && words.last().is_some_and(|last| last == "#")) {
            words.push(word);
        } else if let Some(last) = words.last_mut() {
            *last = word;
        }
    }
    words.join(" ")
}

/// The README with the outputs that its commands really have, for the one who has to mend it.
fn mended(text: &str, heading: &str, real: &mut dyn Iterator<Item = Vec<String>>) -> String {
    let mut mended = String::new();
    let (mut here, mut inside) = (false, false);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            here = title == heading;
        }
        match line.strip_prefix("```") {
            Some(word) => inside = here && word == "console" && !inside,
            None if inside && !line.starts_with("$ ") => continue,
            None => {}
        }
        mended += &format!("{line}\n");
        if inside && line.starts_with("$ ") {
            for line in real.next().expect("an output for each command") {
                mended += &format!("{line}\n");
            }
        }
    }
    mended
}

#[track_caller]
fn check_session(heading: &str) {
    let text = readme();
    let blocks = blocks(&text);
    let session = blocks.iter().filter(|block| block.heading == heading && block.word == "console");
    let steps = steps(session.flat_map(|block| &block.lines));
    assert!(steps.len() > 5, "README.md has no session under {heading:?}");
    let sandbox = Sandbox::new();
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.expect("a free port").port().to_string();
    let real = outputs(&sandbox, &steps, &port);
    let mut wrong = String::new();
    for (step, real) in steps.iter().zip(&real) {
        let shapes = |lines: &[String]| lines.iter().map(|line| shape(line)).collect::<Vec<_>>();
        if shapes(&step.output) != shapes(real) {
            let (shown, real) = (step.output.join("\n"), real.join("\n"));
            writeln!(wrong, "$ {}\n--- shown:\n{shown}\n--- real:\n{real}", step.command).expect("a string");
        }
    }
    if !wrong.is_empty() {
        let name = format!("README with {heading}.md");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, mended(&text, heading, &mut real.into_iter())).expect("a file");
        panic!(
            "README.md shows under {heading:?} what is not so; {:?} has the real output\n{wrong}",
            path.display()
        );
    }
}

#[test]
fn the_tour_is_true() {
    needs!("bash");
    check_session("Quick tour");
}

#[test]
fn the_outage_is_true() {
    needs!("bash");
    check_session("A real outage");
}

#[test]
fn the_two_commands_of_the_start_are_there() {
    let text = readme();
    let start = blocks(&text)
        .into_iter()
        .find(|block| block.heading == "Getting started")
        .expect("a block under Getting started");
    let [first, second] = start.lines.as_slice() else { panic!("not two commands: {:?}", start.lines) };
    let first = first.strip_prefix(BUILT).expect("the first command builds brk and runs it");
    let sandbox = Sandbox::new();
    sandbox.shell(&format!("brk {first}")).code(0).prints("%");
    assert_eq!(sandbox.status("disks")["totals"]["success"], 1);
    let mut syntax = sandbox.command("sh");
    syntax.arg("-n").arg(repository().join(second));
    finish(syntax).code(0).quiet();
    let mut executable = sandbox.command("test");
    executable.arg("-x").arg(repository().join(second));
    finish(executable).code(0);
}

#[test]
fn the_configuration_is_one_that_brk_accepts() {
    let blocks: Vec<_> = blocks(&readme()).into_iter().filter(|block| block.word == "toml").collect();
    assert!(!blocks.is_empty(), "README.md shows no configuration");
    for block in blocks {
        let sandbox = Sandbox::new();
        let path = sandbox.write("config.toml", block.lines.join("\n")).display().to_string();
        sandbox.run(&["--config", &path, "config", "--check"]).code(0).quiet();
        sandbox.run(&["--config", &path, "config", "db-backup"]).code(0).prints("timeout = \"30m\"  # ");
    }
}

#[test]
fn every_link_of_a_document_leads_to_a_file() {
    let documents = |dir: PathBuf| {
        let entries =
            std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect::<Vec<_>>()
    };
    let mut count = 0;
    for document in documents(repository().into()).into_iter().chain(documents(repository().join("docs"))) {
        let text = std::fs::read_to_string(&document).expect("a document");
        for target in text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)) {
            if !target.contains("://") && !target.starts_with('#') {
                let file = document.with_file_name(target.split('#').next().unwrap_or(target));
                assert!(file.exists(), "{} refers to {target}", document.display());
                count += 1;
            }
        }
    }
    assert!(count > 5, "only {count} links found");
}

#[test]
fn the_map_has_every_module_and_the_guide_every_test_file() {
    let stems = |dir: &str| -> Vec<String> {
        let entries = std::fs::read_dir(repository().join(dir)).expect("a directory");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        sources.map(|path| path.file_name().expect("a name").to_string_lossy().into_owned()).collect()
    };
    let read = |name: &str| std::fs::read_to_string(repository().join(name)).expect("a document");
    let (map, guide) = (read("ARCHITECTURE.md"), read("CONTRIBUTING.md"));
    let (_, map) = map.split_once("## Modules\n").expect("the map");
    let (map, _) = map.split_once("## ").expect("the map's end");
    for file in stems("src") {
        assert!(map.contains(&file), "ARCHITECTURE.md has no {file}");
    }
    let mut described: Vec<_> =
        guide.lines().filter_map(|line| Some(line.strip_prefix("- `")?.split_once(".rs`: ")?.0)).collect();
    described.sort_unstable();
    let mut files = stems("tests");
    files.retain(|file| file != "tests.rs");
    files.iter_mut().for_each(|file| file.truncate(file.len() - ".rs".len()));
    files.sort();
    assert_eq!(described, files, "CONTRIBUTING.md describes the first, tests/ has the second");
}

#[test]
fn the_shape_of_a_line_leaves_out_what_varies() {
    let shapes = [
        ("mail  open   9ms ago  in 2s", "mail open # ago in #"),
        ("next try in 1m 59s", "next try in #"),
        ("2026-11-30T01:45:55.036Z  failure    exit 69 after 3ms", "# failure exit 69 after #"),
        ("2 requests (3.5s)", "2 requests (#)"),
    ];
    for (line, expected) in shapes {
        assert_eq!(shape(line), expected);
    }
    assert_ne!(shape("exit 7 after 3ms"), shape("exit 8 after 3ms"));
}
