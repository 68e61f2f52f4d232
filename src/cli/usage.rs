//! Reading the command line, and saying in one line what is wrong with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use super::{Cli, RunLine, Verb};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output;

/// Who is to be told of a failure, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbs {
    /// Its exit codes leave room for the command's.
    Run,
    Other,
}

impl Verbs {
    pub fn of(cli: &Cli) -> Verbs {
        match cli.verb {
            Verb::Run(_) => Verbs::Run,
            _ => Verbs::Other,
        }
    }
}

/// The command line, or the exit after its error, its help or its version has been printed.
pub fn parse(args: &[OsString]) -> Result<Cli, Exit> {
    read(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            Exit::Code(exit::DONE)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Code(exit::USAGE)
        }
        _ => {
            let verb = verb(args);
            let known = verb.filter(|verb| Cli::command().find_subcommand(verb).is_some());
            let asked = known.map(|verb| format!("{verb} --help")).unwrap_or("--help".to_owned());
            output::say(&format!("{}; see 'brk {asked}'", told(&error, args)));
            Exit::Code(if verb == Some("run") { exit::FAILED } else { exit::USAGE })
        }
    })
}

fn read(args: &[OsString]) -> Result<Cli, clap::Error> {
    if let Some(cli) = read_run(args) {
        return Ok(cli);
    }
    let matches = Cli::command().try_get_matches_from(args)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Verb::Run(run), Some((_, matches))) = (&mut cli.verb, matches.subcommand()) {
        run.settings.given = given(matches);
    }
    Ok(cli)
}

/// The usual line, `brk run …`, read by a parser that knows nothing else: to build what knows all verbs, and to take it
/// down, is more than half of what a refusal does (310,000 of 590,000 instructions). A line that this cannot read is
/// read by the other, which knows what to say.
fn read_run(args: &[OsString]) -> Option<Cli> {
    let (_, line @ [verb, ..]) = args.split_first()? else { return None };
    if verb != "run" {
        return None;
    }
    // Whoever is about to run a command takes nothing down.
    let mut parser = ManuallyDrop::new(RunLine::command());
    let mut matches = ManuallyDrop::new(parser.try_get_matches_from_mut(line).ok()?);
    let given = given(&matches);
    let RunLine { global, mut run } = RunLine::from_arg_matches_mut(&mut matches).ok()?;
    run.settings.given = given;
    Some(Cli { global, verb: Verb::Run(Box::new(run)) })
}

/// The keys of the settings that were given by hand.
fn given(matches: &ArgMatches) -> BTreeSet<String> {
    let by_hand = |id: &&clap::Id| {
        // These are no settings, so no configuration has keys of their names.
        !["name", "command", "config", "state_dir", "color"].contains(&id.as_str())
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    };
    // An id is the name of a field; the key is the long flag.
    matches.ids().filter(by_hand).map(|id| id.as_str().replace('_', "-")).collect()
}

/// Tells what ended a command, and gives its exit.
pub fn fail(verb: Verbs, error: &Error) -> Exit {
    if !matches!(error, Error::BrokenPipe) {
        output::say(&error.to_string());
    }
    Exit::Code(match (verb, error) {
        (Verbs::Run, _) => exit::FAILED,
        (Verbs::Other, Error::Usage(_)) => exit::USAGE,
        (Verbs::Other, Error::BrokenPipe) => exit::DONE,
        (Verbs::Other, _) => exit::NOT_POSSIBLE,
    })
}

/// The verb of a command line that could not be read: its first word that is no option, nor the value of one.
fn verb(args: &[OsString]) -> Option<&str> {
    let mut words = args.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--state-dir" | "--config" | "--store" | "--store-password-file" | "--color" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            word => return Some(word),
        }
    }
    None
}

fn told(error: &clap::Error, args: &[OsString]) -> String {
    let odd = args.iter().find(|word| word.to_str().is_none());
    match odd.filter(|_| error.kind() == ErrorKind::InvalidUtf8) {
        Some(word) => format!("{word:?} is not UTF-8, as names and the values of options must be"),
        None => one_line(&error.to_string()),
    }
}

/// What clap says in a paragraph: the error and its hint without the usage.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for part in text.lines().map(str::trim).take_while(|part| !part.starts_with("Usage:")) {
        let (separator, part) = match part.strip_prefix("tip: ") {
            Some(tip) => ("; ", tip),
            None => (" ", part.strip_prefix("error: ").unwrap_or(part)),
        };
        if !part.is_empty() && !part.starts_with("For more information") {
            if !line.is_empty() {
                line.push_str(separator);
            }
            line.push_str(part);
        }
    }
    line
}
