//! `brk man`: the manual pages that are generated from the command line's own declarations, a page a command, and the
//! page of the configuration with the keys that there are.

pub mod keys;

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, ManArgs};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::settings::table::SETTINGS;

/// The day of the last change to the pages' text. A page must have a date.
const DATE: &str = "2026-11-30";

/// The longest line of a source that `mandoc -T lint` is content with.
const LONGEST: usize = 78;

const RUN_EXIT: &[(&str, &str)] = &[
    ("the command's own", "The command exited. If a signal killed it, brk dies of the same signal."),
    ("124", "It timed out."),
    ("75", "It was refused and not launched; --refused-exit sets another code."),
    ("125", "brk itself failed, or a usage error; nothing was launched."),
    ("126", "The command was found and could not be executed."),
    ("127", "The command was not found."),
];

const CHECK_EXIT: &[(&str, &str)] = &[
    ("0", "A run would be admitted."),
    ("75", "A run would be refused."),
    ("1", "The state cannot be read."),
    ("2", "Usage error."),
];

const OTHER_EXIT: &[(&str, &str)] =
    &[("0", "Done."), ("1", "Failure, e.g. no such breaker."), ("2", "Usage error.")];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("BRK_STATE_DIR", "Where breakers are remembered; overridden by --state-dir."),
    ("BRK_CONFIG", "The only configuration file to read; overridden by --config."),
    ("BRK_STORE", "The address of a shared store; overridden by --store."),
    (
        "STATE_DIRECTORY",
        "Like BRK_STATE_DIR, which takes precedence; systemd sets it for a unit with StateDirectory=.",
    ),
    ("XDG_STATE_HOME", "Breakers are remembered in its directory brk; the default is ~/.local/state."),
    ("NO_COLOR", "If set, nothing is coloured unless --color=always asks for it."),
];

const FILES: &[(&str, &str)] = &[
    ("/etc/brk/config.toml", "The configuration of the host; see brk-config(5)."),
    ("~/.config/brk/config.toml", "The configuration of the user, which takes precedence."),
    ("~/.local/state/brk", "The breakers and their histories, a few files for each."),
];

pub fn run(args: &ManArgs) -> Result<Exit, Error> {
    let failed =
        |source| Error::System { doing: format!("write manual pages into {}", args.dir.display()), source };
    std::fs::create_dir_all(&args.dir).map_err(failed)?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let names: Vec<String> = command.get_subcommands().map(page_name).collect();
    for command in std::iter::once(&command).chain(command.get_subcommands()) {
        let path = args.dir.join(format!("{}.1", page_name(command)));
        let page = page(command, &names).map_err(failed)?;
        std::fs::write(path, page).map_err(failed)?;
    }
    std::fs::write(args.dir.join("brk-config.5"), keys::page(SETTINGS)).map_err(failed)?;
    Ok(Exit::Code(exit::DONE))
}

fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command, names: &[String]) -> io::Result<String> {
    let name = page_name(command);
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .section("1")
        .date(DATE)
        .source(format!("brk {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut bytes = Vec::new();
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    synopsis(command, &mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut bytes)?;
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    examples(&after, &mut text);
    let long = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    limits(&long, &mut text);
    let exit = match name.as_str() {
        "brk-run" => RUN_EXIT,
        "brk-check" => CHECK_EXIT,
        _ => OTHER_EXIT,
    };
    list("EXIT STATUS", exit, &mut text);
    list("ENVIRONMENT", ENVIRONMENT, &mut text);
    list("FILES", FILES, &mut text);
    see_also(&name, names, &mut text);
    Ok(tidy(&text))
}

fn synopsis(command: &Command, bytes: &mut Vec<u8>) -> io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").replace('\n', " ");
    io::Write::write_all(bytes, format!(".SH SYNOPSIS\n{}\n", escaped(&usage)).as_bytes())
}

/// The examples below the help of a command. Lines of a shell are indented, further ones of the same command still more;
/// the others are sentences.
fn examples(after: &str, text: &mut String) {
    const SHELL: &str = "      ";
    let mut literal = false;
    let examples = after.split_once("Examples:\n").map_or(after, |(_, examples)| examples);
    for (index, line) in examples.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        if index == 0 {
            text.push_str(".SH EXAMPLES\n");
        }
        let shell =
            line.strip_prefix(SHELL).or(line.strip_prefix("  ").filter(|line| line.starts_with("brk ")));
        if shell.is_some() != literal {
            text.push_str(if shell.is_some() { ".RS 4\n.nf\n" } else { ".fi\n.RE\n.PP\n" });
            literal = shell.is_some();
        }
        text.push_str(&escaped(shell.unwrap_or(line.trim())));
        text.push('\n');
    }
    if literal {
        text.push_str(".fi\n.RE\n");
    }
}

/// The limits that only the long help has, one item for each sentence. A sentence may take several lines of the help; it
/// ends at a full stop that is the last character of its line.
fn limits(long: &str, text: &mut String) {
    let Some((_, limits)) = long.split_once("Limits:\n") else { return };
    text.push_str(".SH LIMITS\n");
    let mut starts = true;
    for line in limits.lines().map(str::trim) {
        if starts {
            text.push_str(".IP \\(bu 2\n");
        }
        text.push_str(&escaped(line));
        text.push('\n');
        starts = line.ends_with('.');
    }
}

fn list(heading: &str, items: &[(&str, &str)], text: &mut String) {
    text.push_str(&format!(".SH {heading}\n"));
    for (term, meaning) in items {
        text.push_str(&format!(".TP\n{}\n{}\n", escaped(term), escaped(meaning)));
    }
}

fn see_also(name: &str, names: &[String], text: &mut String) {
    let pages = std::iter::once("brk").chain(names.iter().map(String::as_str));
    let others = pages.filter(|page| *page != name).map(|page| (page, 1));
    let mut all: Vec<_> =
        others.chain([("brk-config", 5), ("brk-guarantees", 7), ("brk-recipes", 7)]).collect();
    all.sort_by_key(|(page, section)| (*section, *page));
    let all: Vec<_> = all.iter().map(|(page, section)| format!("{}({section})", escaped(page))).collect();
    text.push_str(&format!(".SH SEE ALSO\n{}\n", all.join(",\n")));
}

/// Text as roff takes it.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

/// The same page, with lines that are not too long, and without what `mandoc` finds superfluous.
fn tidy(text: &str) -> String {
    let text = text.replace(".br\n\n.br\n", ".sp\n");
    let mut tidy = String::with_capacity(text.len());
    let mut literal = false;
    for line in text.lines().map(str::trim_end) {
        match line {
            ".nf" => literal = true,
            ".fi" => literal = false,
            _ => {}
        }
        if literal || line.starts_with('.') {
            tidy.push_str(line);
        } else {
            tidy.push_str(&wrapped(line));
        }
        tidy.push('\n');
    }
    tidy
}

fn wrapped(line: &str) -> String {
    let mut wrapped = String::with_capacity(line.len() + 8);
    let mut used = 0;
    for (index, word) in line.split(' ').enumerate() {
        // A word that starts with a point would be taken for a request at the start of a line.
        let breaks = index > 0 && used + word.len() >= LONGEST && !word.starts_with(['.', '\'']);
        if index > 0 {
            wrapped.push(if breaks { '\n' } else { ' ' });
        }
        used = if breaks { word.len() } else { used + word.len() + 1 };
        wrapped.push_str(word);
    }
    wrapped
}
