//! One verb, one file.

mod check;
mod completions;
mod config;
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

use crate::cli::{Cli, Settings, Verb};
use crate::config::layers::{Layers, Resolved};
use crate::env::Env;
use crate::error::Error;
use crate::exit::Exit;
use crate::hook;
use crate::name::Name;
use crate::output::say;
use crate::render::style::Charset;
use crate::store::file::FileStore;
use crate::store::{StoreError, Updated};

/// Does what the command line says.
pub fn dispatch(cli: Cli, env: &Env) -> Result<Exit, Error> {
    let Cli { global, verb } = cli;
    let world = World { global, env };
    if verb.needs_no_policy()
        && let Some(fault) = world.layers().map_or_else(Some, |layers| layers.faults().into_iter().next())
    {
        say(&format!("warning: {fault}"));
    }
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
        Verb::Config(args) => config::run(&args, &world),
        Verb::Profiles(args) => profiles::run(&args),
        Verb::Completions(args) => completions::run(&args),
        Verb::Man(args) => man::run(&args),
    }
}

impl Verb {
    /// Whether an error of the configuration is only a warning.
    fn needs_no_policy(&self) -> bool {
        match self {
            Verb::Check(_)
            | Verb::Status(_)
            | Verb::History(_)
            | Verb::Explain(_)
            | Verb::Metrics(_)
            | Verb::Reset(_)
            | Verb::Hold(_)
            | Verb::Release(_)
            | Verb::Forget(_) => true,
            Verb::Run(_)
            | Verb::Trip(_)
            | Verb::Config(_)
            | Verb::Profiles(_)
            | Verb::Completions(_)
            | Verb::Man(_) => false,
        }
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

    /// The characters that can be shown.
    fn charset(&self) -> Charset {
        if self.env.has_unicode() { Charset::Unicode } else { Charset::Ascii }
    }

    /// The configuration files.
    fn layers(&self) -> Result<Layers, Error> {
        Layers::read(self.env, self.global.config.as_deref())
    }

    /// The settings of a breaker, as far as they can be read: for what needs no policy.
    fn settings(&self, name: &Name) -> Resolved {
        let resolved = self.layers().and_then(|layers| layers.resolve(Some(name), Settings::default()));
        resolved.unwrap_or_default()
    }

    /// Says what an operator's update met, and runs the hooks of the configuration that it calls for.
    fn conclude(&self, name: &Name, from: &'static str, updated: &Updated, settings: &Settings) {
        updated.warnings.iter().for_each(|warning| say(&format!("{name}: warning: {warning}")));
        hook::run(&crate::config::hooks(settings), &hook::Change { name, from, updated, ending: None });
    }
}
