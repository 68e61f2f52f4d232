//! `brk config`: the settings that a run would have, and where each comes from. What it prints is TOML itself.

use clap::{Args, Command};

use super::World;
use crate::cli::{ConfigArgs, Settings};
use crate::config::layers::{Layers, Resolved};
use crate::config::{Plan, defaults, store};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{print, say};

pub fn run(args: &ConfigArgs, world: &World) -> Result<Exit, Error> {
    let layers = world.layers()?;
    if args.check {
        let faults = layers.faults();
        faults.iter().for_each(|fault| say(&fault.to_string()));
        return Ok(Exit::Code(if faults.is_empty() { exit::DONE } else { exit::USAGE }));
    }
    let resolved = layers.resolve(args.name.as_ref(), Settings::default())?;
    let plan = Plan::new(&resolved)?;
    print(&(listing(&resolved, &plan) + &store(layers, world)?))?;
    Ok(Exit::Code(exit::DONE))
}

/// The same for the store, without its secrets.
fn store(layers: &Layers, world: &World) -> Result<String, Error> {
    let written = store::effective(layers, &world.global, world.env)?;
    let url = written.url.map(|url| (store::URL, store::masked(&url.text), url.origin));
    let file = written.password_file.map(|file| (store::PASSWORD_FILE, file.text, file.origin));
    let lines = url.into_iter().chain(file);
    Ok(lines.map(|(key, value, origin)| format!("{key} = {value:?}  # {origin}\n")).collect())
}

/// `key = value  # where from`, in the order of the flags.
fn listing(resolved: &Resolved, plan: &Plan) -> String {
    let command = Settings::augment_args(Command::new("brk"));
    let defaults = defaults::values(plan);
    let profile = resolved.settings.profile;
    let mut text = String::new();
    for key in command.get_arguments().filter_map(clap::Arg::get_long) {
        let default = || defaults.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let of_profile = || {
            let profile = profile?;
            let codes = match key {
                "success-on" => &profile.success,
                "fail-on" => &profile.failure,
                "ignore-on" => &profile.ignored,
                _ => return None,
            };
            Some((format!("{:?}", codes.text), format!("profile {}", profile.name)))
        };
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
