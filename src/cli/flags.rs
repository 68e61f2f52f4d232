//! The flags that clap makes of the table of settings, and back. Clap stays the parser, and the author of help and
//! errors.

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint, value_parser};

use crate::settings::table::SETTINGS;
use crate::settings::types::Type;
use crate::settings::{Default, Occurrence, Scope, Setting, Settings};

/// Adds the flags of these settings to a command.
pub fn add(command: Command, rows: &'static [Setting]) -> Command {
    command.args(rows.iter().filter(|row| row.scope == Scope::Anywhere).map(flag))
}

/// The settings that the flags on a line give.
pub fn read(matches: &ArgMatches, rows: &'static [Setting]) -> Result<Settings, clap::Error> {
    let mut settings = Settings::default();
    for id in matches.ids() {
        let Some(row) = rows.iter().find(|row| row.scope == Scope::Anywhere && row.key == id.as_str()) else {
            continue;
        };
        for value in matches.get_many::<OsString>(row.key).into_iter().flatten() {
            // Clap has read it once already, to say in its own way what is wrong.
            (row.field.set)(&mut settings, value).map_err(|what| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, row.invalid(value, &what))
            })?;
        }
    }
    Ok(settings)
}

impl Args for Settings {
    fn augment_args(command: Command) -> Command {
        add(command, SETTINGS)
    }

    fn augment_args_for_update(command: Command) -> Command {
        add(command, SETTINGS)
    }
}

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Settings, clap::Error> {
        read(matches, SETTINGS)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = read(matches, SETTINGS)?;
        Ok(())
    }
}

pub fn flag(row: &'static Setting) -> Arg {
    let flag = Arg::new(row.key)
        .long(row.key)
        .visible_aliases(row.aliases)
        .value_name(row.value.name())
        .help_heading(row.heading.as_str())
        .value_parser(parser(row))
        .action(match row.field.occurrence {
            Occurrence::Single => ArgAction::Set,
            Occurrence::Repeatable => ArgAction::Append,
        });
    let flag = match row.short {
        Some(short) => flag.short(short),
        None => flag,
    };
    described(shaped(flag, row.value), row)
}

/// The help of a flag, with its default.
fn described(flag: Arg, row: &Setting) -> Arg {
    let default = match (row.default, row.value) {
        (Default::None, _) | (Default::Value(_), Type::Bool | Type::Wait) => String::new(),
        (Default::Value(text) | Default::Depends(text), _) => format!(" [default: {text}]"),
    };
    let help = format!("{}{default}", row.help);
    if row.details.is_empty() {
        flag.help(help)
    } else {
        flag.long_help(format!("{help}\n\n{}", row.details)).help(help)
    }
}

/// What a value looks like on a line.
fn shaped(flag: Arg, value: Type) -> Arg {
    match value {
        Type::Bool | Type::Wait => {
            flag.num_args(0..=1).require_equals(true).default_missing_value("true").hide_possible_values(true)
        }
        Type::Words(_) => flag.value_delimiter(',').hide_possible_values(true),
        Type::Word(_) => flag.hide_possible_values(true),
        Type::Command => flag.value_hint(ValueHint::CommandString).allow_hyphen_values(true),
        Type::Path => flag.value_hint(ValueHint::FilePath),
        Type::Url => flag.value_hint(ValueHint::Url),
        Type::Signal | Type::Profile => flag,
        Type::Duration
        | Type::Count
        | Type::PositiveCount
        | Type::Rate
        | Type::PositiveRate
        | Type::Factor
        | Type::Window
        | Type::Cooldown
        | Type::Specs
        | Type::ExitCode => flag.allow_hyphen_values(true),
    }
}

fn parser(row: &'static Setting) -> ValueParser {
    match row.value {
        Type::Word(words) | Type::Words(words) => PossibleValuesParser::new(words).map(OsString::from).into(),
        Type::Bool => PossibleValuesParser::new(["true", "false"]).map(OsString::from).into(),
        Type::Command | Type::Path => value_parser!(OsString),
        Type::Duration
        | Type::Count
        | Type::PositiveCount
        | Type::Rate
        | Type::PositiveRate
        | Type::Factor
        | Type::Window
        | Type::Cooldown
        | Type::Specs
        | Type::Url
        | Type::Signal
        | Type::ExitCode
        | Type::Profile
        | Type::Wait => {
            let read = move |text: &str| {
                (row.field.set)(&mut Settings::default(), text.as_ref()).map(|()| OsString::from(text))
            };
            ValueParser::new(read)
        }
    }
}
