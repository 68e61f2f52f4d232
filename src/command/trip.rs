//! `brk trip`: open now, by hand.

use super::World;
use crate::breaker::{Breaker, TripFor};
use crate::cli::{Settings, TripArgs};
use crate::config::Plan;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::render::words;
use crate::store::{Store, Unknown};

pub fn run(args: &TripArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    let resolved = world.layers()?.resolve(Some(name), Settings::default())?;
    let configured = Plan::new(&resolved)?.policy;
    let dice = world.env.dice();
    let mut before = "";
    let updated =
        world.store()?.update(name, Unknown::Create(&configured), &mut |breaker: &mut Breaker, now| {
            before = breaker.phase.word();
            let policy = breaker.policy.clone();
            let length = args.length.map_or(TripFor::CooldownOf(&policy), TripFor::Exactly);
            breaker.trip(length, args.reason.clone(), now, dice);
        })?;
    if let Some(updated) = updated {
        world.conclude(name, before, &updated, &resolved.settings);
        let wait = updated.breaker.cooldown.unwrap_or_default();
        print(&format!("{name}: {before} -> open, for {}\n", words::wait(wait)))?;
    }
    Ok(Exit::Code(exit::DONE))
}
