//! `brk trip`: open now, by hand.

use super::World;
use super::told::Told;
use crate::breaker::{Breaker, TripFor};
use crate::cli::{Settings, TripArgs};
use crate::config::Plan;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::render::change::{Change, Deed, Standing};
use crate::store::{Store, Unknown};

pub fn run(args: &TripArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    let resolved = world.layers()?.resolve(Some(name), Settings::default())?;
    let configured = Plan::new(&resolved)?.policy;
    let random = world.env.random();
    let (mut before, mut phase) = (None, "");
    let updated =
        world.store()?.update(name, Unknown::Create(&configured), &mut |breaker: &mut Breaker, now| {
            phase = breaker.phase.kind().as_str();
            before = Some(Standing::of(breaker, now));
            let policy = breaker.policy.clone();
            let length = args.length.map_or(TripFor::CooldownOf(&policy), TripFor::Exactly);
            breaker.trip(length, args.reason.clone(), now, random);
        })?;
    let mut told = Told::new(args.json);
    if let Some(updated) = updated {
        world.conclude(name, phase, &updated, &resolved.settings);
        told.change(Change::new(name, Deed::Tripped, before, &updated, true))?;
    }
    told.end()?;
    Ok(Exit::Code(exit::DONE))
}
