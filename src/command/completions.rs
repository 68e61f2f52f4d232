//! `brk completions`: a script for a shell, which also offers the names of breakers.

use clap::CommandFactory;
use clap_complete::generate;

use crate::cli::{Cli, CompletionsArgs};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;

pub fn run(args: &CompletionsArgs) -> Result<Exit, Error> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "brk", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Code(exit::DONE))
}
