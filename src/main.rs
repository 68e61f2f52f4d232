//! `brk`: a circuit breaker for shell commands.

#![cfg_attr(
    not(feature = "redis"),
    expect(dead_code, unreachable_code, reason = "some of every room is there for the shared store alone")
)]

mod breaker;
mod cli;
mod command;
mod config;
mod env;
mod error;
mod exit;
mod hook;
mod name;
mod output;
mod procfs;
mod profile;
mod render;
mod signal;
mod store;
mod supervise;

use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match cli::usage::parse(std::env::args_os()) {
        Ok(cli) => {
            let verb = cli::usage::Verbs::of(&cli);
            command::dispatch(cli, &env::Env::read()).unwrap_or_else(|error| cli::usage::fail(verb, &error))
        }
        Err(exit) => exit,
    };
    match exit {
        exit::Exit::Code(code) => ExitCode::from(code),
        exit::Exit::Signal(signal) => ExitCode::from(supervise::die_of(signal)),
    }
}
