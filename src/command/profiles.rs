//! `brk profiles`: what known programs mean by their exit codes.

use serde::Serialize;

use crate::breaker::outcome::Outcome;
use crate::cli::ProfilesArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::profile::{self, Profile};
use crate::render::json;

#[derive(Serialize)]
struct Document {
    version: u32,
    profiles: Vec<Object>,
}

#[derive(Serialize)]
struct Object {
    name: &'static str,
    aliases: &'static [String],
    success: &'static str,
    failure: &'static str,
    ignored: &'static str,
    unlisted: &'static str,
    source: &'static str,
    tested_version: &'static str,
    meaning: &'static str,
}

pub fn run(args: &ProfilesArgs) -> Result<Exit, Error> {
    if args.only_names {
        print(&profile::all().iter().map(|profile| format!("{}\n", profile.name)).collect::<String>())?;
        return Ok(Exit::Code(exit::DONE));
    }
    if args.json {
        let chosen = args.profile.map_or_else(profile::all, std::slice::from_ref);
        let profiles = chosen.iter().map(object).collect();
        print(&json::document(&Document { version: 1, profiles }))?;
        return Ok(Exit::Code(exit::DONE));
    }
    match args.profile {
        Some(profile) => print(&in_full(profile))?,
        None => print(&profile::all().iter().map(in_short).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Code(exit::DONE))
}

fn in_short(profile: &Profile) -> String {
    let also = if profile.aliases.is_empty() {
        String::new()
    } else {
        format!(" (also {})", profile.aliases.join(", "))
    };
    format!(
        "{}{also}\n  success   {}\n  failure   {}\n  ignored   {}\n  unlisted  {}\n  source    {}\n",
        profile.name,
        profile.success.text,
        profile.failure.text,
        profile.ignored.text,
        word(profile.unlisted),
        profile.source
    )
}

fn in_full(profile: &Profile) -> String {
    format!("{}  version   {}\n\n{}\n", in_short(profile), profile.version, profile.meaning.trim_end())
}

fn word(outcome: Outcome) -> &'static str {
    outcome.as_str()
}

fn object(profile: &'static Profile) -> Object {
    Object {
        name: &profile.name,
        aliases: &profile.aliases,
        success: &profile.success.text,
        failure: &profile.failure.text,
        ignored: &profile.ignored.text,
        unlisted: word(profile.unlisted),
        source: &profile.source,
        tested_version: &profile.version,
        meaning: profile.meaning.trim_end(),
    }
}
