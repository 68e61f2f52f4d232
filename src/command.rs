//! One verb, one file.

mod after_change;
mod change_reporter;
mod check;
pub mod completions;
pub mod config;
mod context;
mod explain;
mod forget;
mod history;
mod hold;
pub mod man;
mod metrics;
mod profiles;
mod release;
mod reset;
mod run;
mod select;
mod status;
mod store_address;
mod trip;
mod watch;

use context::Context;

use crate::cli::{Cli, Verb};
use crate::env::Env;
use crate::error::Error;
use crate::exit::Exit;
use crate::name::Name;
use crate::output::say;
use crate::settings::check::first_fault;

/// Does what the command line says.
pub fn dispatch(cli: Cli, env: &Env) -> Result<Exit, Error> {
    let Cli { global, verb } = cli;
    let context = Context::new(global, env);
    let tolerates = verb.tolerates_bad_config();
    if tolerates {
        let fault = context.layers().map_or_else(Some, |layers| first_fault(layers, &verb.names()));
        fault.iter().for_each(|fault| say(&format!("warning: {fault}")));
    }
    if verb.needs_store() {
        context.find_store(tolerates)?;
    }
    match verb {
        Verb::Run(args) => run::run(*args, &context),
        Verb::Check(args) => check::run(&args, &context),
        Verb::Status(args) => status::run(&args, &context),
        Verb::History(args) => history::run(&args, &context),
        Verb::Explain(args) => explain::run(&args, &context),
        Verb::Metrics(args) => metrics::run(&args, &context),
        Verb::Reset(args) => reset::run(&args, &context),
        Verb::Trip(args) => trip::run(&args, &context),
        Verb::Hold(args) => hold::run(&args, &context),
        Verb::Release(args) => release::run(&args, &context),
        Verb::Forget(args) => forget::run(&args, &context),
        Verb::Config(args) => config::run(&args, &context),
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
    fn tolerates_bad_config(&self) -> bool {
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

    /// The breakers that a command is about, as far as its words are names.
    fn names(&self) -> Vec<Name> {
        let named = |words: &[String]| words.iter().filter_map(|word| word.parse().ok()).collect();
        match self {
            Verb::Run(args) => vec![args.name.clone()],
            Verb::Check(args) => vec![args.name.clone()],
            Verb::History(args) => vec![args.name.clone()],
            Verb::Explain(args) => vec![args.name.clone()],
            Verb::Trip(args) => vec![args.name.clone()],
            Verb::Hold(args) => vec![args.name.clone()],
            Verb::Status(args) => named(&args.names),
            Verb::Metrics(args) => named(&args.names),
            Verb::Reset(args) => named(&args.names),
            Verb::Release(args) => named(&args.names),
            Verb::Forget(args) => named(&args.names),
            Verb::Config(_) | Verb::Profiles(_) | Verb::Completions(_) | Verb::Man(_) => Vec::new(),
        }
    }
}
