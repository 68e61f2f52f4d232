//! `brk completions`: a script for a shell, which also offers the names of breakers.
//!
//! What the command line's own declarations give is generated; the names, which only the state knows, come from calling
//! `brk status --names`, by what is added here for bash, zsh and fish.

use clap::{Arg, Command, CommandFactory};
use clap_complete::{Shell, generate};

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;

const BASH: &str = include_str!("completions/names.bash");
const ZSH: &str = include_str!("completions/names.zsh");
const FISH: &str = include_str!("completions/names.fish");

pub fn run(args: &CompletionsArgs) -> Result<Exit, Error> {
    print(&script(args.shell, Cli::command()))?;
    Ok(Exit::Code(exit::DONE))
}

/// The script for a shell that completes this command.
pub fn script(shell: Shell, mut command: Command) -> String {
    let mut script = Vec::new();
    generate(shell, &mut command, "brk", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => bash(&script, &command),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script, &command),
        _ => script.into_owned(),
    }
}

/// Registers the function that knows names in the place of the generated one, which it calls for all else.
fn bash(script: &str, command: &Command) -> String {
    let functions = script.split("\nif [[ \"${BASH_VERSINFO[0]}\" -eq 4").next().unwrap_or(script);
    let global = value_flags(command);
    let mut others: Vec<String> = command.get_subcommands().flat_map(value_flags).collect();
    others.retain(|flag| !["--name", "--profile"].contains(&flag.as_str()));
    others.extend(global.clone());
    others.sort();
    others.dedup();
    let others: Vec<String> = others.iter().map(|flag| format!("*,{flag}")).collect();
    let names = BASH
        .replace("@GLOBAL_VALUE_FLAGS@", &global.join(" | "))
        .replace("@VALUE_FLAGS@", &others.join(" | "));
    format!("{}\n{names}", functions.trim_end())
}

/// The flags of a command that take the next word as their value.
fn value_flags(command: &Command) -> Vec<String> {
    let takes_word = |arg: &&Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
    let flags = command.get_arguments().filter(takes_word).flat_map(|arg| {
        let long = arg.get_long_and_visible_aliases().unwrap_or_default().into_iter();
        let short = arg.get_short_and_visible_aliases().unwrap_or_default().into_iter();
        long.map(|long| format!("--{long}")).chain(short.map(|short| format!("-{short}")))
    });
    flags.collect()
}

/// All of them, of any command.
fn all_value_flags(command: &Command) -> String {
    let mut flags: Vec<String> = command.get_subcommands().chain([command]).flat_map(value_flags).collect();
    flags.sort();
    flags.dedup();
    flags.join(" ")
}

/// Lets names be completed where the generated script would offer files.
fn zsh(script: &str) -> String {
    const FILES: &str = ":_default' \\";
    let is_name = |line: &str| {
        ["':name -- ", "'::name -- ", "'*::names -- "].iter().any(|start| line.starts_with(start))
            || line.ends_with(&format!(":NAME{FILES}"))
    };
    let is_profile =
        |line: &str| line.starts_with("'::profile -- ") || line.ends_with(&format!(":PROFILE{FILES}"));
    let mut named = String::with_capacity(script.len() + ZSH.len());
    for line in script.lines() {
        if line.starts_with("if [ \"$funcstack[1]\"") {
            named.push_str(ZSH);
        }
        match line.strip_suffix(FILES) {
            Some(start) if is_name(line) => named.push_str(&format!("{start}:_brk_names' \\")),
            Some(start) if is_profile(line) => named.push_str(&format!("{start}:_brk_profiles' \\")),
            _ => named.push_str(line),
        }
        named.push('\n');
    }
    named
}

fn fish(script: &str, command: &Command) -> String {
    let mut named = String::with_capacity(script.len() + FISH.len());
    for line in script.lines() {
        let source = [(" -l name -d ", "status --names"), (" -l profile -d ", "profiles --names")]
            .into_iter()
            .find(|(option, _)| line.contains(option) && line.ends_with(" -r"));
        match source {
            Some((_, words)) => {
                let start = line.trim_end_matches(" -r");
                named.push_str(&format!("{start} -x -a \"(__brk_list {words})\""));
            }
            None => named.push_str(line),
        }
        named.push('\n');
    }
    named + &FISH.replace("@VALUE_FLAGS@", &all_value_flags(command))
}
