//! `brk man`: the manual pages that are generated from the command line's own declarations.

use clap::CommandFactory;

use crate::cli::{Cli, ManArgs};
use crate::error::Error;
use crate::exit::{self, Exit};

pub fn run(args: &ManArgs) -> Result<Exit, Error> {
    let doing = || format!("write manual pages into {}", args.dir.display());
    std::fs::create_dir_all(&args.dir).map_err(|source| Error::System { doing: doing(), source })?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, &args.dir)
        .map_err(|source| Error::System { doing: doing(), source })?;
    Ok(Exit::Code(exit::DONE))
}
