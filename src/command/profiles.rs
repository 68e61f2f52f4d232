//! `brk profiles`: what known programs mean by their exit codes.

use crate::breaker::outcome::Outcome;
use crate::cli::ProfilesArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::profile::{self, Profile};

pub fn run(args: &ProfilesArgs) -> Result<Exit, Error> {
    match args.name {
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
    outcome.word()
}
