//! `brk config`: the settings that a run would have, and where each comes from. What it prints is TOML itself.

use clap::{Args, Command};

use super::Context;
use crate::breaker::outcome::{Ending, Outcome};
use crate::cli::{ConfigArgs, Settings};
use crate::config::layers::{Layers, Resolved};
use crate::config::{Plan, defaults, store};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{print, say};
use crate::profile;

pub fn run(args: &ConfigArgs, context: &Context) -> Result<Exit, Error> {
    let layers = context.layers()?;
    if args.check {
        let faults = layers.faults();
        faults.iter().for_each(|fault| say(&fault.to_string()));
        return Ok(Exit::Code(if faults.is_empty() { exit::DONE } else { exit::USAGE }));
    }
    let resolved = layers.resolve(args.name.as_ref(), Settings::default())?;
    let plan = Plan::new(&resolved)?;
    print(&(listing(&resolved, &plan) + &store(layers, context)?))?;
    Ok(Exit::Code(exit::DONE))
}

/// The same for the store, without its secrets.
fn store(layers: &Layers, context: &Context) -> Result<String, Error> {
    let written = store::effective(layers, &context.global, context.env)?;
    let url = written.url.map(|url| (store::URL, store::masked(&url.text), url.origin));
    let file = written.password_file.map(|file| (store::PASSWORD_FILE, file.text, file.origin));
    let lines = url.into_iter().chain(file);
    Ok(lines.map(|(key, value, origin)| format!("{key} = {value:?}  # {origin}\n")).collect())
}

/// `key = value  # where from`, in the order of the flags.
fn listing(resolved: &Resolved, plan: &Plan) -> String {
    let command = Settings::augment_args(Command::new("brk"));
    let defaults = defaults::values(plan);
    let mut text = String::new();
    for key in command.get_arguments().filter_map(clap::Arg::get_long) {
        let default = || defaults.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let of_profile = || codes(key, resolved, plan);
        let written = resolved.origins.get(key).map(|origin| {
            let value = origin.source.replace('\n', " ");
            (value, format!("{}:{}", origin.path.display(), origin.line))
        });
        let line = written.or_else(of_profile).or_else(|| Some((default()?, "default".to_owned())));
        if let Some((value, origin)) = line {
            text.push_str(&format!("{key} = {value}  # {origin}\n"));
        }
    }
    text
}

/// The exit codes of the profile that have this meaning still, under what was written by hand.
fn codes(key: &str, resolved: &Resolved, plan: &Plan) -> Option<(String, String)> {
    let (profile, origin) = match resolved.settings.profile {
        Some(profile) => (profile, format!("profile {}", profile.name)),
        None => (profile::find("base")?, "default".to_owned()),
    };
    let (codes, outcome) = match key {
        "success-on" => (&profile.success, Outcome::Success),
        "fail-on" => (&profile.failure, Outcome::Failure),
        "ignore-on" => (&profile.ignored, Outcome::Ignored),
        _ => return None,
    };
    let stands =
        |code: &u8| codes.contains(*code) && plan.rules.classify(&Ending::Exited(*code)).outcome() == outcome;
    let codes: Vec<u8> = (0..=u8::MAX).filter(stands).collect();
    let ranges = codes.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        single => single[0].to_string(),
    });
    Some((format!("{:?}", ranges.collect::<Vec<_>>().join(",")), origin)).filter(|_| !codes.is_empty())
}
