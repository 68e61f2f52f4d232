//! `brk trip`: open now, by hand.

use super::Context;
use super::change_reporter::ChangeReporter;
use crate::breaker::{Breaker, PhaseKind, TripFor};
use crate::cli::TripArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::plan::Plan;
use crate::render::change::{Change, OperatorAction, Summary};
use crate::settings::Settings;
use crate::store::{Store, Unknown};

pub fn run(args: &TripArgs, context: &Context) -> Result<Exit, Error> {
    let name = &args.name;
    let resolved = context.layers()?.resolve(Some(name), Settings::default())?;
    let configured = Plan::new(&resolved)?.policy;
    let random = context.env.random();
    let (mut before, mut phase) = (None, PhaseKind::Closed);
    let updated =
        context.store()?.update(name, Unknown::Create(&configured), &mut |breaker: &mut Breaker, now| {
            phase = breaker.phase.kind();
            before = Some(Summary::of(breaker, now));
            let policy = breaker.policy.clone();
            let length = args.length.map_or(TripFor::CooldownOf(&policy), TripFor::Exactly);
            breaker.trip(length, args.reason.clone(), now, random);
        })?;
    let mut reporter = ChangeReporter::new(args.json);
    if let Some(updated) = updated {
        context.conclude(name, phase, &updated, &resolved.settings);
        reporter.change(Change::new(name, OperatorAction::Tripped, before, &updated, true))?;
    }
    reporter.end()?;
    Ok(Exit::Code(exit::DONE))
}
