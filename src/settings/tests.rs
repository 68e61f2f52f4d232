//! The table as a whole: each row is coherent, and a row that is made up is seen wherever settings are seen.

use std::ffi::OsStr;

use clap::Command;
use serde::Serialize;

use super::file;
use super::resolve::{Layers, Resolved};
use super::table::SETTINGS;
use super::types::Type;
use super::{Default, Field, Heading, Occurrence, PolicyValue, Setting, Settings, setting};
use crate::breaker::policy::Policy;
use crate::cli::flags;
use crate::command;
use crate::plan::Plan;
use crate::render::{detail, json};

/// A policy setting that does not exist, kept where `min-calls` is kept.
static MADE_UP: &[Setting] = &[setting(
    Heading::Cooldown,
    "made-up",
    Type::PositiveCount,
    Field {
        set: |settings, given| {
            let text = super::value::text(given)?;
            settings.min_calls = Some(super::value::positive_count(text)?);
            Ok(())
        },
        is_set: |settings| settings.min_calls.is_some(),
        occurrence: Occurrence::Single,
    },
    "How many made-up things there are",
)
.short('m')
.aliases(&["invented"])
.default("10")
.policy(|policy| PolicyValue::Count(policy.min_calls.get()))];

fn command() -> Command {
    flags::add(Command::new("brk"), MADE_UP)
}

#[test]
fn a_made_up_row_is_a_flag() {
    let help = command().render_long_help().to_string();
    for part in [
        "-m, --made-up <N>",
        "How many made-up things there are [default: 10]",
        "--invented",
        "How long it stays open:",
    ] {
        assert!(help.contains(part), "no {part:?} in {help}");
    }
    for line in [["brk", "--made-up", "7"], ["brk", "-m", "7"], ["brk", "--invented", "7"]] {
        let matches = command().try_get_matches_from(line).expect("a line");
        let settings = flags::read(&matches, MADE_UP).expect("settings");
        assert_eq!(settings.min_calls.map(u32::from), Some(7), "{line:?}");
    }
    let error =
        command().try_get_matches_from(["brk", "--made-up", "0"]).expect_err("not a count").to_string();
    assert!(error.contains("invalid value '0' for '--made-up <N>': must be 1 or more"), "{error}");
}

/// What a configuration with this text gives a breaker.
fn resolved(text: &str) -> Result<Resolved, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("a configuration");
    let sections = file::read(file.path()).map_err(|error| error.to_string())?;
    let layers = Layers::of(MADE_UP, sections);
    let name = "x".parse().expect("a name");
    layers.resolve(Some(&name), Settings::default()).map_err(|error| error.to_string())
}

#[test]
fn a_made_up_row_is_a_key() {
    let found = resolved("[breaker.x]\nmade-up = 7\n").expect("settings");
    assert_eq!(found.settings.min_calls.map(u32::from), Some(7));
    let plan = Plan::new(&found).expect("a plan");
    let listing = command::config::listing(MADE_UP, &found, &plan);
    assert!(listing.starts_with("made-up = 7  # ") && listing.ends_with(":2\n"), "{listing}");
    let unset = Resolved::default();
    let plan = Plan::new(&unset).expect("a plan");
    assert_eq!(command::config::listing(MADE_UP, &unset, &plan), "made-up = 10  # default\n");
    for (text, what) in [
        ("[defaults]\nmad-up = 7\n", ":2: unknown key `mad-up`; did you mean `made-up`?"),
        ("[defaults]\nmade-up = \"7\"\n", ":2: made-up: expected an integer such as 3, found \"7\""),
        ("[defaults]\nfailures = 7\n", ":2: unknown key `failures`"),
    ] {
        let error = resolved(text).expect_err(text);
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_made_up_row_is_shown() {
    let policy = Policy::default();
    let lines = detail::policy_lines(MADE_UP, &policy, |row, value, _| format!("{} is {value}", row.key));
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(
        (line.key, line.value, line.origin.as_str()),
        ("made-up", PolicyValue::Count(10), "made-up is 10")
    );
    let object = json::PolicyObject { rows: MADE_UP, policy: &policy };
    let text = object.serialize(serde_json::value::Serializer).expect("JSON").to_string();
    assert_eq!(text, "{\"made_up\":10}");
}

#[test]
fn a_made_up_row_is_in_the_manual_and_completed() {
    let page = command::man::keys::page(MADE_UP);
    let entry = ".Ss How long it stays open\n.Bl -tag -width indent\n.It Li made-up\n.Pq count, 1 or more\n\
                 How many made-up things there are.\nDefault: 10.\n.El\n";
    assert!(page.contains(entry) && page.contains(".Sh EXAMPLES"), "{page}");
    let run = Command::new("brk").subcommand(flags::add(Command::new("run"), MADE_UP));
    for (shell, part) in [
        (clap_complete::Shell::Bash, "*,--made-up"),
        (clap_complete::Shell::Zsh, "'--made-up=[How many made-up things there are"),
        (
            clap_complete::Shell::Fish,
            " -l made-up -l invented -d 'How many made-up things there are [default: 10]' -r",
        ),
    ] {
        let script = command::completions::script(shell, run.clone());
        assert!(script.contains(part), "no {part:?} for {shell} in {script}");
    }
    let fish = command::completions::script(clap_complete::Shell::Fish, run);
    let values =
        fish.lines().find(|line| line.contains("contains -- $word")).expect("the flags with a value");
    assert!(values.contains(" --made-up ") || values.ends_with(" --made-up"), "{values}");
}

#[test]
fn every_row_takes_its_default_and_what_its_type_names() {
    for row in SETTINGS {
        let set = |text: &str| {
            let mut settings = Settings::default();
            (row.field.set)(&mut settings, OsStr::new(text)).map(|()| (row.field.is_set)(&settings))
        };
        let example = match row.value {
            Type::Duration | Type::Window => "10m",
            Type::Cooldown => "1m,1run",
            Type::Count | Type::PositiveCount | Type::ExitCode => "3",
            Type::Rate | Type::PositiveRate => "50%",
            Type::Factor => "1.5",
            Type::Specs => "75,100-110,SIGSEGV",
            Type::Word(words) | Type::Words(words) => words.last().expect("a word"),
            Type::Command => "echo",
            Type::Path => "file",
            Type::Url => "",
            Type::Bool | Type::Wait => "true",
            Type::Signal => "TERM",
            Type::Profile => "curl",
        };
        assert_eq!(set(example), Ok(true), "--{} {example}", row.key);
        if let Default::Value(value) = row.default {
            assert_eq!(set(value), Ok(true), "the default of --{}", row.key);
        }
        let takes_anything = matches!(row.value, Type::Command | Type::Path);
        assert_eq!(set("\u{1}").is_ok(), takes_anything, "--{} takes what is nothing", row.key);
        assert_eq!(SETTINGS.iter().filter(|other| other.key == row.key).count(), 1, "{} twice", row.key);
    }
}
