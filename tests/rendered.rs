//! The manual as its readers see it: every page through man-db and through mandoc, and looked at for what a formatter
//! makes of a source that is wrong: words that were taken for macros, quotes in the wrong place, examples in pieces.
//! What the pages promise, and whether their examples work, is tested elsewhere (`manual`, `examples`).

use std::path::Path;

use crate::tools::{feed, needs};
use crate::util::Sandbox;

/// Macros that are no word of any page. One that is seen was not called, or was called by a word that it is not.
const MACROS: &[&str] = &[
    "Ar", "Bd", "Bl", "Cm", "Dl", "Dq", "Dv", "Ed", "El", "Ev", "Fl", "Fn", "Ic", "Li", "Nm", "Oo", "Pa",
    "Pc", "Po", "Pp", "Pq", "Ql", "Qq", "Sh", "Sq", "Ss", "Sx", "Sy", "Xr", "PP", "RE", "RS", "SH", "TP",
];

#[derive(Clone, Copy, Debug)]
enum Formatter {
    ManDb,
    Mandoc,
}

const FORMATTERS: [Formatter; 2] = [Formatter::ManDb, Formatter::Mandoc];

impl Formatter {
    /// What a page looks like on a terminal that is wide enough for every example, without bold and underlined text.
    #[track_caller]
    fn render(self, sandbox: &Sandbox, source: &str) -> String {
        let mut command = match self {
            Self::ManDb => sandbox.command("man"),
            Self::Mandoc => sandbox.command("mandoc"),
        };
        match self {
            Self::ManDb => command.args(["--warnings=w", "-P", "cat", "-l", "-"]).env("MANWIDTH", "120"),
            Self::Mandoc => command.args(["-T", "utf8", "-O", "width=120"]),
        };
        command.env("LC_ALL", "C.UTF-8");
        let done = feed(command, source);
        done.code(0);
        assert!(done.stderr().is_empty(), "{}", done.all());
        without_overstriking(&done.stdout())
    }
}

/// Text without what makes it bold or underlined: a character, a backspace, and the character that is to be seen.
fn without_overstriking(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{8}' => drop(seen.pop()),
            _ => seen.push(character),
        }
    }
    seen
}

/// Words that are separated by one space each, with the plain form of those characters that formatters make nicer.
fn squeezed(text: &str) -> String {
    let plain = text.replace(['\u{2010}', '\u{2212}'], "-").replace(['\u{2018}', '\u{2019}'], "'");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a heading, from its line in the source.
fn heading(line: &str) -> Option<String> {
    let words = [".Sh ", ".Ss ", ".SH ", ".SS "].iter().find_map(|request| line.strip_prefix(request))?;
    Some(words.trim_matches('"').replace("\\&", "").replace("\\-", "-"))
}

/// The lines of a source that are shown as they are.
fn literal_lines(source: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_literal = false;
    for line in source.lines() {
        match line {
            ".nf" => is_literal = true,
            ".fi" | ".Ed" => is_literal = false,
            _ if line.starts_with(".Bd -literal") => is_literal = true,
            _ if is_literal => {
                lines.push(
                    line.replace("\\e", "\\").replace("\\-", "-").replace("\\(aq", "'").replace("\\&", ""),
                );
            }
            _ => {}
        }
    }
    lines
}

/// What is wrong with a page as it was rendered.
fn faults(source: &str, rendered: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines: Vec<String> = rendered.lines().map(squeezed).collect();
    for heading in source.lines().filter_map(heading).filter(|heading| !lines.contains(heading)) {
        faults.push(format!("no heading says {heading:?}"));
    }
    let literal: Vec<String> = literal_lines(source).iter().map(|line| squeezed(line)).collect();
    for line in literal.iter().filter(|line| !lines.contains(line)) {
        faults.push(format!("no line is {line:?}"));
    }
    for line in lines.iter().filter(|line| !literal.contains(line)) {
        let is_macro = |word: &&str| MACROS.contains(&word.trim_start_matches('.'));
        faults.extend(line.split(' ').find(is_macro).map(|word| format!("{word} is left over in {line:?}")));
        let escapes = ["\\(", "\\f", "\\&", "\\-", "\\e", "\\*"];
        faults.extend(
            escapes
                .iter()
                .find(|escape| line.contains(**escape))
                .map(|escape| format!("{escape} in {line:?}")),
        );
    }
    let is_prose = |line: &&str| !literal.contains(&squeezed(line));
    for block in rendered.split("\n\n") {
        let prose: Vec<&str> = block.lines().filter(is_prose).collect();
        faults.extend(misquoted(&prose.join("\n")).map(|why| format!("{why} in {block:?}")));
    }
    faults
}

/// What is wrong with the quotation marks of a paragraph.
fn misquoted(text: &str) -> Option<&'static str> {
    if text.matches('"').count() % 2 == 1 || text.matches('“').count() != text.matches('”').count() {
        return Some("a quotation mark without its other half");
    }
    (text.contains("\"\"") || text.contains("““") || text.contains("””"))
        .then_some("two quotation marks in a row")
}

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(name);
    std::fs::read_to_string(path).expect("a page")
}

#[test]
fn every_page_reads_as_it_was_written() {
    needs!("man", "mandoc");
    let sandbox = Sandbox::new();
    let pages = crate::manual::pages();
    for formatter in FORMATTERS {
        for page in &pages {
            let source = std::fs::read_to_string(page).expect("a page");
            let faults = faults(&source, &formatter.render(&sandbox, &source));
            assert!(faults.is_empty(), "{} by {formatter:?}: {faults:#?}", page.display());
        }
    }
}

#[test]
fn examples_and_limits_of_the_help_are_whole_in_the_manual() {
    needs!("man", "mandoc");
    let sandbox = Sandbox::new();
    let mut compared = 0;
    for page in crate::manual::pages() {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(verb) = name.strip_prefix("brk-").and_then(|name| name.strip_suffix(".1")) else { continue };
        let done = sandbox.run(&["help", verb]);
        done.code(0);
        let help = done.stdout().to_owned();
        for formatter in FORMATTERS {
            let rendered = formatter.render(&sandbox, &source(&name));
            let text = squeezed(&rendered);
            let lines: Vec<String> = rendered.lines().map(squeezed).collect();
            let below = |title: &str| {
                let (_, below) = help.split_once(&format!("\n{title}:\n"))?;
                Some(below.split("\n\n").next().unwrap_or(below).to_owned())
            };
            for line in below("Examples").iter().flat_map(|examples| examples.lines()) {
                compared += 1;
                let is_command = line.starts_with("      ");
                let found =
                    if is_command { lines.contains(&squeezed(line)) } else { text.contains(&squeezed(line)) };
                assert!(found, "{name} by {formatter:?} lacks {line:?}:\n{rendered}");
            }
            // Each limit is an item of a list; its words are the same, wherever its lines end.
            for limit in below("Limits").iter().flat_map(|limits| limits.split_inclusive(".\n")) {
                compared += 1;
                assert!(
                    text.contains(&squeezed(limit)),
                    "{name} by {formatter:?} lacks {limit:?}:\n{rendered}"
                );
            }
        }
    }
    assert!(compared > 40, "only {compared} lines compared");
}

/// The faults that pages once had, so that what looks for them is known to see them.
#[test]
fn a_page_that_is_wrong_is_noticed() {
    needs!("man", "mandoc");
    let sandbox = Sandbox::new();
    let head =
        ".Dd November 30, 2026\n.Dt BRK-WRONG 7\n.Os\n.Sh NAME\n.Nm brk-wrong\n.Nd a page\n.Sh DESCRIPTION\n";
    let wrong = [
        ("Words.\n.Ss No parallel run is lost\nWords.\n", "no heading says \"No parallel run is lost\""),
        ("A string\n.Pq Qq 1h30m , Qq 300ms , Qq 2d\nor more.\n", "quotation mark"),
        ("A flag, as in Fl observe, is one.\n", "Fl is left over"),
        ("A dash, as in \\e-, is one.\n", "\\- in"),
    ];
    for formatter in FORMATTERS {
        for (text, expected) in wrong {
            let source = format!("{head}{text}");
            let faults = faults(&source, &formatter.render(&sandbox, &source));
            assert!(
                faults.iter().any(|fault| fault.contains(expected)),
                "{formatter:?}, {text:?}: {faults:?}"
            );
        }
        let source = format!("{head}All is\n.Qq well .\n");
        assert_eq!(faults(&source, &formatter.render(&sandbox, &source)), Vec::<String>::new());
    }
    let scrambled = ".SH EXAMPLES\n.nf\nbrk run \\-\\-name db \\-\\- \\e\n    ./job\n.fi\n";
    let faults = faults(scrambled, "EXAMPLES\n   brk run --name db -- \\ ./job\n");
    assert_eq!(faults.len(), 2, "{faults:?}");
}
