//! Reads the usual lines of `run` over the table of settings, without building a parser and its help: that would be half
//! of what a refusal costs. A line that is not fully understood here is left to clap, which says what is wrong with it.
//! Not here: anything that is said to a user.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::ValueEnum;

use super::{Global, RunArgs};
use crate::name::Name;
use crate::settings::types::Type;
use crate::settings::{Scope, Setting, Settings};

/// What an option is about.
enum Flag {
    Name,
    StateDir,
    Config,
    Store,
    StorePasswordFile,
    Color,
    Setting(&'static Setting),
}

/// Whether a value can stand in the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// In this word behind `=`, or in the next.
    Required,
    /// In this word behind `=`, or left out.
    Optional,
}

/// The words after `run`, or nothing if clap has to read them.
pub fn run(words: &[OsString], rows: &'static [Setting]) -> Option<(Global, RunArgs)> {
    let mut global = Global::default();
    let mut settings = Settings::default();
    let mut name = None;
    let mut words = words.iter();
    let command = loop {
        let rest = words.as_slice();
        let word = words.next()?;
        let bytes = word.as_bytes();
        match bytes {
            b"--" => break words.as_slice(),
            [] | b"-" => return None,
            [b'-', ..] => {}
            _ => break rest,
        }
        let (option, attached) = split(bytes, rows)?;
        let value = match (attached, option.value()) {
            (Some(value), _) => value,
            (None, Value::Optional) => OsStr::new("true"),
            (None, Value::Required) => words.next()?.as_os_str(),
        };
        if value.is_empty() || (attached.is_none() && value.as_bytes().starts_with(b"-")) {
            return None;
        }
        match option {
            Flag::Name => name = Some(value.to_str()?.parse::<Name>().ok()?),
            Flag::StateDir => global.state_dir = Some(value.into()),
            Flag::Config => global.config = Some(value.into()),
            Flag::Store => global.store = Some(value.to_str()?.to_owned()),
            Flag::StorePasswordFile => global.store_password_file = Some(value.into()),
            Flag::Color => global.color = clap::ColorChoice::from_str(value.to_str()?, false).ok()?,
            Flag::Setting(row) => set(row, value, &mut settings)?,
        }
    };
    if command.is_empty() {
        return None;
    }
    Some((global, RunArgs { name: name?, settings, command: command.to_vec() }))
}

impl Flag {
    fn value(&self) -> Value {
        match self {
            Flag::Setting(row) => match row.value {
                Type::Bool | Type::Wait => Value::Optional,
                Type::Duration
                | Type::Count
                | Type::PositiveCount
                | Type::Rate
                | Type::PositiveRate
                | Type::Factor
                | Type::Window
                | Type::Cooldown
                | Type::Specs
                | Type::Word(_)
                | Type::Words(_)
                | Type::Command
                | Type::Path
                | Type::Url
                | Type::Signal
                | Type::ExitCode
                | Type::Profile => Value::Required,
            },
            Flag::Name
            | Flag::StateDir
            | Flag::Config
            | Flag::Store
            | Flag::StorePasswordFile
            | Flag::Color => Value::Required,
        }
    }
}

/// An option, and what is attached to it. A cluster of short ones is left to clap.
fn split<'a>(word: &'a [u8], rows: &'static [Setting]) -> Option<(Flag, Option<&'a OsStr>)> {
    if let Some(long) = word.strip_prefix(b"--") {
        let end = long.iter().position(|&byte| byte == b'=');
        let (key, attached) = match end {
            Some(end) => (&long[..end], Some(OsStr::from_bytes(&long[end + 1..]))),
            None => (long, None),
        };
        return Some((long_option(std::str::from_utf8(key).ok()?, rows)?, attached));
    }
    let [b'-', short, attached @ ..] = word else { return None };
    let short = char::from(*short);
    let option = Flag::Setting(flags(rows).find(|row| row.short == Some(short))?);
    match (attached, option.value()) {
        ([], _) => Some((option, None)),
        ([b'=', ..], _) | (_, Value::Optional) => None,
        (attached, Value::Required) => Some((option, Some(OsStr::from_bytes(attached)))),
    }
}

fn long_option(key: &str, rows: &'static [Setting]) -> Option<Flag> {
    Some(match key {
        "name" => Flag::Name,
        "state-dir" => Flag::StateDir,
        "config" => Flag::Config,
        "store" => Flag::Store,
        "store-password-file" => Flag::StorePasswordFile,
        "color" => Flag::Color,
        key => Flag::Setting(flags(rows).find(|row| row.key == key || row.aliases.contains(&key))?),
    })
}

fn flags(rows: &'static [Setting]) -> impl Iterator<Item = &'static Setting> {
    rows.iter().filter(|row| row.scope == Scope::Anywhere)
}

fn set(row: &Setting, value: &OsStr, settings: &mut Settings) -> Option<()> {
    // Clap takes words of a list as they are, and a configuration trims them.
    let is_list = matches!(row.value, Type::Words(_));
    if is_list && value.as_bytes().iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    (row.field.set)(settings, value).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::{Config, TestRunner};

    use super::*;
    use crate::cli::Cli;
    use crate::settings::table::SETTINGS;
    use clap::{CommandFactory, FromArgMatches};

    /// Values that some types take and others refuse.
    const VALUES: &[&str] = &[
        "0",
        "1",
        "3",
        "20",
        "255",
        "256",
        "10m",
        "1.5",
        "50%",
        "0.5",
        "1m,1run",
        "3runs",
        "75,100-110",
        "10-5",
        "SIGSEGV",
        "TERM",
        "timeout",
        "true",
        "false",
        "run",
        "refuse",
        "local",
        "stream",
        "on-change",
        "refused",
        "refused,failure",
        "refused, failure",
        "refused,",
        "curl",
        "base",
        "no profile",
        "echo a b",
        "-5",
        "-x",
        "--",
        "-",
        "",
        " ",
        "x=y",
        "=",
        "redis://h",
        "always",
        "never",
        "nought",
        "é",
    ];

    const STRANGE: &[&str] = &[
        "-h",
        "--help",
        "--version",
        "-V",
        "-qk5",
        "-k5",
        "-k=5",
        "-t1m",
        "-t",
        "-q",
        "-q=true",
        "-sKILL",
        "--nam",
        "--",
        "-",
        "",
        "--=x",
        "-5",
        "true",
        "--name=x",
        "--name=-x",
        "--no-such=1",
        "---",
        "--wait=",
        "-é",
    ];

    /// What takes a value of this kind.
    fn fitting(value: Type) -> &'static [&'static str] {
        match value {
            Type::Duration => &["10m", "0", "1.5s", "1h 30m"],
            Type::Window => &["20", "10m"],
            Type::Cooldown => &["1m,1run", "3runs", "5"],
            Type::Count | Type::PositiveCount | Type::ExitCode => &["1", "75", "255"],
            Type::Rate | Type::PositiveRate => &["50%", "0.5"],
            Type::Factor => &["1.5", "2"],
            Type::Specs => &["75,100-110,SIGSEGV", "timeout"],
            Type::Word(words) => words,
            Type::Words(_) => &["refused", "refused,failure", "refused, failure", "timeout"],
            Type::Command | Type::Path => &["file", "echo a b", "a=b", "é"],
            Type::Url => &["redis://h"],
            Type::Bool => &["true", "false"],
            Type::Signal => &["TERM", "SIGINT", "9"],
            Type::Profile => &["curl", "base"],
            Type::Wait => &["true", "false", "5m"],
        }
    }

    /// A flag with a value that mostly fits, attached or in a word of its own.
    fn flag() -> impl Strategy<Value = Vec<String>> {
        let mut flags: Vec<(&str, &'static [&'static str])> = SETTINGS
            .iter()
            .flat_map(|row| {
                [row.key].into_iter().chain(row.aliases.iter().copied()).map(|key| (key, fitting(row.value)))
            })
            .collect();
        flags.extend([
            ("name", &["x", "y z", "é"] as &[_]),
            ("state-dir", &["d"]),
            ("config", &["c"]),
            ("color", &["always", "never", "auto"]),
        ]);
        (select(flags), any::<prop::sample::Index>(), select(VALUES), 0..40_u8).prop_map(
            |((key, fitting), index, other, choice)| {
                let value = if choice < 3 { other } else { fitting[index.index(fitting.len())] };
                match choice {
                    3 => vec![format!("--{key}")],
                    choice if choice % 2 == 0 => vec![format!("--{key}"), value.to_owned()],
                    _ => vec![format!("--{key}={value}")],
                }
            },
        )
    }

    fn line() -> impl Strategy<Value = Vec<String>> {
        let word = || select(STRANGE).prop_map(|word| vec![word.to_owned()]);
        let named = Just(vec!["--name".to_owned(), "x".to_owned()]);
        let part = prop_oneof![8 => flag(), 1 => word(), 2 => named.clone()];
        let tail = prop_oneof![
            6 => select(&[&["--", "true", "-a", "--", "--name", "b"] as &[&str], &["true", "-q"], &["--", "-x"]][..])
                .prop_map(|words| words.iter().map(|&word| word.to_owned()).collect()),
            1 => word(),
            1 => Just(Vec::new()),
        ];
        (named, prop::collection::vec(part, 0..5), tail).prop_map(|(named, parts, tail)| {
            let verb = ["brk", "run"].map(str::to_owned);
            verb.into_iter().chain(named).chain(parts.into_iter().flatten()).chain(tail).collect()
        })
    }

    #[test]
    fn ten_thousand_lines_are_read_as_clap_reads_them() {
        let config = Config { cases: 10_000, failure_persistence: None, ..Config::default() };
        // Building it is what takes long.
        let clap = std::cell::RefCell::new(Cli::command());
        let understood = std::cell::Cell::new(0);
        let outcome = TestRunner::new(config).run(&line(), |words| {
            let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
            if let Some((global, args)) = run(&words[2..], SETTINGS) {
                understood.set(understood.get() + 1);
                let matches = clap.borrow_mut().try_get_matches_from_mut(&words);
                let cli = matches.and_then(|matches| Cli::from_arg_matches(&matches));
                let cli = cli.map_err(|error| TestCaseError::fail(error.to_string()))?;
                let own = Cli { global, verb: super::super::Verb::Run(Box::new(args)) };
                prop_assert_eq!(format!("{own:?}"), format!("{cli:?}"));
            }
            Ok(())
        });
        outcome.expect("the same");
        assert!(understood.get() > 3_000, "only {} lines understood", understood.get());
    }

    #[test]
    fn what_is_not_sure_is_left_to_clap() {
        for line in [
            "--name x",
            "--name x --",
            "true",
            "-- true",
            "--help",
            "--name x -h true",
            "--name x --nam y true",
            "--name x --timeout -- true",
            "--name x --timeout never true",
            "--name x -qk5 true",
            "--name x - true",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(run(&words, SETTINGS).is_none(), "{line}");
        }
    }
}
