//! Reading the command line, and saying in one line what is wrong with it.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches};

use super::{Cli, Line, Verb, fast};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output;
use crate::settings::table::SETTINGS;

/// Who is to be told of a failure, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitPolicy {
    /// Its exit codes leave room for the command's.
    Run,
    Other,
}

impl ExitPolicy {
    pub fn of(cli: &Cli) -> ExitPolicy {
        match cli.verb {
            Verb::Run(_) => ExitPolicy::Run,
            _ => ExitPolicy::Other,
        }
    }
}

/// The command line, or the exit after its error, its help or its version has been printed.
pub fn parse(args: &[OsString]) -> Result<Cli, Exit> {
    read(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let verbs = if verb(args) == Some("run") { ExitPolicy::Run } else { ExitPolicy::Other };
            match output::printed(error.print()) {
                Ok(()) => Exit::Code(exit::DONE),
                Err(error) => fail(verbs, &error),
            }
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
    match parse_fast(args) {
        Some(cli) => Ok(cli),
        None => parse_full(args),
    }
}

fn parse_full(args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&Cli::command().try_get_matches_from(args)?)
}

/// The lines that scripts have in their loops, read without the parser that knows all verbs: to build that, and to take it
/// down, would be half of what a refusal does. What this cannot read is read by the other, which knows what to say.
fn parse_fast(args: &[OsString]) -> Option<Cli> {
    let (_, line @ [verb, words @ ..]) = args.split_first()? else { return None };
    let (global, verb) = match verb.to_str()? {
        "run" => {
            let (global, args) = fast::run(words, SETTINGS)?;
            (global, Verb::Run(Box::new(args)))
        }
        "check" => {
            let Line { global, args } = read_line(line)?;
            (global, Verb::Check(args))
        }
        _ => return None,
    };
    Some(Cli { global, verb })
}

/// A line from its verb on.
fn read_line<A: Args>(line: &[OsString]) -> Option<Line<A>> {
    // Never taken down: that would cost 50,000 instructions more, and the process ends soon or waits for long.
    let mut parser = ManuallyDrop::new(Line::<A>::command());
    let mut matches = ManuallyDrop::new(parser.try_get_matches_from_mut(line).ok()?);
    Line::from_arg_matches_mut(&mut matches).ok()
}

/// Tells what ended a command, and gives its exit.
pub fn fail(verb: ExitPolicy, error: &Error) -> Exit {
    if !matches!(error, Error::BrokenPipe) {
        output::say(&error.to_string());
    }
    Exit::Code(match (verb, error) {
        (_, Error::BrokenPipe) => exit::DONE,
        (ExitPolicy::Run, _) => exit::FAILED,
        (ExitPolicy::Other, Error::Usage(_)) => exit::USAGE,
        (ExitPolicy::Other, _) => exit::NOT_POSSIBLE,
    })
}

/// The verb of a command line that could not be read: its first word that is no option, nor the value of one.
fn verb(args: &[OsString]) -> Option<&str> {
    let command = Cli::command();
    let takes_value = |option: &str| {
        let flag = option.strip_prefix("--");
        let arg = command.get_arguments().find(|arg| flag.is_some() && arg.get_long() == flag);
        arg.is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut words = args.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str()? {
            option if takes_value(option) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the fast parser reads, the other reads in the same way.
    #[track_caller]
    fn agree(line: &str) {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        if let Some(frequent) = parse_fast(&args) {
            let any = parse_full(&args).unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(format!("{frequent:?}"), format!("{any:?}"), "{line}");
        }
    }

    #[test]
    fn a_frequent_line_is_read_as_any_other() {
        for line in [
            "brk run --name x -- true",
            "brk run --name x true --name y",
            "brk run --name x --name y -q --timeout=5 -t 1m -k0 -s KILL -- a -b --c",
            "brk run --state-dir a --store redis://h --name -x --config c --color never -- true",
            "brk run --name x --wait --retries 3 --fail-on 1-3,SIGTERM --fail-on 7 true",
            "brk run --name x --wait=5 --preserve-status --kill-leftovers=false true",
            "brk run --name x --timeout",
            "brk run --name x",
            "brk run --nam x true",
            "brk run --help",
            "brk run --version",
            "brk run -V",
            "brk run",
            "brk check x",
            "brk check --json x --state-dir b",
            "brk check -q -- -x",
            "brk check -q --json x",
            "brk check",
            "brk check x y",
            "brk check --help",
        ] {
            agree(line);
        }
    }

    #[test]
    fn the_usual_line_does_not_need_the_whole_parser() {
        for line in
            ["brk run --name x --timeout 5 -- true", "brk run --name x -q -k0 --wait=5 true", "brk check x"]
        {
            let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(parse_fast(&args).is_some(), "{line}");
        }
    }
}
