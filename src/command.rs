//! One verb, one file.

mod check;
mod completions;
mod explain;
mod forget;
mod history;
mod hold;
mod man;
mod metrics;
mod profiles;
mod release;
mod reset;
mod run;
mod select;
mod status;
mod told;
mod trip;
mod watch;

use crate::cli::{Cli, Verb};
use crate::env::Env;
use crate::error::Error;
use crate::exit::Exit;
use crate::store::StoreError;
use crate::store::file::FileStore;

/// Does what the command line says.
pub fn dispatch(cli: Cli, env: &Env) -> Result<Exit, Error> {
    let Cli { global, verb } = cli;
    let world = World { global, env };
    match verb {
        Verb::Run(args) => run::run(*args, &world),
        Verb::Check(args) => check::run(&args, &world),
        Verb::Status(args) => status::run(&args, &world),
        Verb::History(args) => history::run(&args, &world),
        Verb::Explain(args) => explain::run(&args, &world),
        Verb::Metrics(args) => metrics::run(&args, &world),
        Verb::Reset(args) => reset::run(&args, &world),
        Verb::Trip(args) => trip::run(&args, &world),
        Verb::Hold(args) => hold::run(&args, &world),
        Verb::Release(args) => release::run(&args, &world),
        Verb::Forget(args) => forget::run(&args, &world),
        Verb::Profiles(args) => profiles::run(&args),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}

/// What every verb can ask for.
struct World<'a> {
    global: crate::cli::Global,
    env: &'a Env,
}

impl World<'_> {
    fn store(&self) -> Result<FileStore, StoreError> {
        let dir = self.env.state_dir(self.global.state_dir.as_deref()).ok_or(StoreError::NoDirectory)?;
        Ok(FileStore::new(dir, self.env.machine))
    }
}
