//! `brk`: a circuit breaker for shell commands.

#![cfg_attr(not(test), no_main)]
#![cfg_attr(test, expect(clippy::print_stdout, reason = "tests print the figures that tests/proof collects"))]
#![cfg_attr(
    not(feature = "redis"),
    expect(dead_code, unreachable_code, reason = "parts of every module are only for the shared store")
)]

mod breaker;
mod cli;
mod command;
mod env;
mod error;
mod exit;
mod hook;
mod lookup;
mod name;
mod output;
mod plan;
mod procfs;
mod profile;
mod render;
mod settings;
mod signal;
mod store;
mod supervise;
mod tell;

use std::ffi::OsString;

supervise::entry!(run);

/// From the command line to the exit code.
fn run(args: Vec<OsString>) -> u8 {
    let told = cli::usage::parse(&args).map(|cli| {
        let verb = cli::usage::ExitPolicy::of(&cli);
        command::dispatch(cli, &env::Env::read()).unwrap_or_else(|error| cli::usage::fail(verb, &error))
    });
    match told.unwrap_or_else(|exit| exit) {
        exit::Exit::Code(code) => code,
        exit::Exit::Signal(signal) => supervise::die_of(signal),
    }
}
