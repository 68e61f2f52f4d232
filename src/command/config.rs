//! `brk config`: the settings that a run would have, and where each comes from. What it prints is TOML itself.

use super::Context;
use super::store_address;
use crate::breaker::outcome::{Ending, Outcome};
use crate::cli::ConfigArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{print, say};
use crate::plan::Plan;
use crate::profile;
use crate::settings::resolve::Resolved;
use crate::settings::table::{SETTINGS, STORE, STORE_PASSWORD_FILE};
use crate::settings::types::Type;
use crate::settings::{Default, PolicyValue, Scope, Setting, Settings, check};

pub fn run(args: &ConfigArgs, context: &Context) -> Result<Exit, Error> {
    let layers = context.layers()?;
    if args.check {
        let faults = check::all_faults(layers);
        faults.iter().for_each(|fault| say(&fault.to_string()));
        return Ok(Exit::Code(if faults.is_empty() { exit::DONE } else { exit::USAGE }));
    }
    let resolved = layers.resolve(args.name.as_ref(), Settings::default())?;
    let plan = Plan::new(&resolved)?;
    print(&(listing(SETTINGS, &resolved, &plan) + &store(context)?))?;
    Ok(Exit::Code(exit::DONE))
}

/// The same for the store, without its secrets.
fn store(context: &Context) -> Result<String, Error> {
    let written = store_address::effective(context.layers()?, &context.global, context.env)?;
    let url = written.url.map(|url| (STORE.key, store_address::masked(&url.text), url.origin));
    let file = written.password_file.map(|file| (STORE_PASSWORD_FILE.key, file.text, file.origin));
    let lines = url.into_iter().chain(file);
    Ok(lines.map(|(key, value, origin)| format!("{key} = {value:?}  # {origin}\n")).collect())
}

/// `key = value  # where from`, in the order of the flags.
pub fn listing(rows: &[Setting], resolved: &Resolved, plan: &Plan) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| row.scope == Scope::Anywhere) {
        let written =
            resolved.origin(row.key).map(|origin| (origin.source.clone(), origin.place.to_string()));
        let line = written
            .or_else(|| codes(row.key, resolved, plan))
            .or_else(|| Some((unset(row, plan)?, "default".to_owned())));
        if let Some((value, origin)) = line {
            text.push_str(&format!("{} = {value}  # {origin}\n", row.key));
        }
    }
    text
}

/// What a setting is that nobody has set, if it is anything.
fn unset(row: &Setting, plan: &Plan) -> Option<String> {
    match (row.policy.map(|value| value(&plan.policy)), row.default) {
        (Some(PolicyValue::Off), _) if row.value == Type::Count => Some("0".to_owned()),
        (Some(PolicyValue::Off), _) => None,
        (Some(value), _) => Some(row.toml(&value.to_string())),
        (None, Default::Value(value)) => Some(row.toml(value)),
        (None, Default::Depends(_) | Default::None) => None,
    }
}

/// The exit codes of the profile that have this meaning still, under what was set explicitly.
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
