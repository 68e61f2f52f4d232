//! One verb, one file.

mod change_reporter;
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
mod trip;
mod watch;

use std::cell::OnceCell;

use crate::breaker::PhaseKind;
use crate::cli::{Cli, Settings, Verb};
use crate::config::layers::{Layers, Resolved};
use crate::config::store;
use crate::env::Env;
use crate::error::Error;
use crate::exit::Exit;
use crate::hook;
use crate::name::Name;
use crate::output::say;
use crate::render::style::Charset;
use crate::store::file::FileStore;
use crate::store::{Address, AnyStore, StoreError, Updated};

/// Does what the command line says.
pub fn dispatch(cli: Cli, env: &Env) -> Result<Exit, Error> {
    let Cli { global, verb } = cli;
    let world = World { global, env, layers: OnceCell::new(), address: OnceCell::new() };
    if verb.needs_no_policy()
        && let Some(fault) = world.layers().map_or_else(Some, |layers| layers.faults().into_iter().next())
    {
        say(&format!("warning: {fault}"));
    }
    if verb.needs_store() {
        world.find_store(verb.needs_no_policy())?;
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
    fn needs_store(&self) -> bool {
        !matches!(self, Verb::Config(_) | Verb::Profiles(_) | Verb::Completions(_) | Verb::Man(_))
    }

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
    layers: OnceCell<Layers>,
    /// Of the shared store, where there is one.
    address: OnceCell<Address>,
}

impl World<'_> {
    /// The store that is configured: the one place that chooses.
    fn store(&self) -> Result<AnyStore, StoreError> {
        let dir = self.env.state_dir(self.global.state_dir.as_deref()).ok_or(StoreError::NoDirectory);
        let files = dir.map(|dir| FileStore::new(dir, self.env.machine));
        match self.address.get() {
            None => Ok(AnyStore::Files(files?)),
            Some(address) => Ok(AnyStore::shared(address.clone(), files, self.env.machine, warn)),
        }
    }

    /// Reads where the shared store is. A file that is wrong has been told of already where it does not matter.
    fn find_store(&self, files_may_be_wrong: bool) -> Result<(), Error> {
        let none = Layers::default();
        let layers = match self.layers() {
            Err(_) if files_may_be_wrong => &none,
            layers => layers?,
        };
        if let Some(address) = store::address(layers, &self.global, self.env)? {
            self.address.get_or_init(|| address);
        }
        Ok(())
    }

    /// The characters that can be shown.
    fn charset(&self) -> Charset {
        if self.env.has_unicode() { Charset::Unicode } else { Charset::Ascii }
    }

    /// The configuration files.
    fn layers(&self) -> Result<&Layers, Error> {
        if self.layers.get().is_none() {
            let layers = Layers::read(self.env, self.global.config.as_deref())?;
            return Ok(self.layers.get_or_init(|| layers));
        }
        Ok(self.layers.get_or_init(Layers::default))
    }

    /// The settings of a breaker, as far as they can be read: for what needs no policy.
    fn settings(&self, name: &Name) -> Resolved {
        let resolved = self.layers().and_then(|layers| layers.resolve(Some(name), Settings::default()));
        resolved.unwrap_or_default()
    }

    /// Says what an operator's update met, and runs the hooks of the configuration that it calls for.
    fn conclude(&self, name: &Name, from: PhaseKind, updated: &Updated, settings: &Settings) {
        updated.warnings.iter().for_each(|warning| say(&format!("{name}: warning: {warning}")));
        hook::run(&crate::config::hooks(settings), &hook::Change { name, from, updated, ending: None });
    }
}

fn warn(name: Option<&Name>, text: &str) {
    match name {
        Some(name) => say(&format!("{name}: warning: {text}")),
        None => say(&format!("warning: {text}")),
    }
}
