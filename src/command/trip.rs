//! `brk trip`: open a breaker now.

use super::Context;
use super::change_reporter::ChangeReporter;
use crate::breaker::TripFor;
use crate::cli::TripArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::plan::Plan;
use crate::render::change::OperatorAction;
use crate::settings::Settings;
use crate::store::Store;

pub fn run(args: &TripArgs, context: &Context) -> Result<Exit, Error> {
    let name = &args.name;
    let resolved = context.layers()?.resolve(Some(name), Settings::default())?;
    let configured = Plan::new(&resolved)?.policy;
    let random = context.env.random();
    let ((), updated) = context.store()?.update(name, &configured, &mut |breaker, now| {
        let policy = breaker.policy.clone();
        let length = args.length.map_or(TripFor::CooldownOf(&policy), TripFor::Exactly);
        breaker.trip(length, args.reason.clone(), now, random);
    })?;
    let mut reporter = ChangeReporter::new(args.json);
    reporter.stored(name, OperatorAction::Tripped, &updated, true, &context.hooks(name), context);
    reporter.end();
    Ok(Exit::Code(exit::DONE))
}
