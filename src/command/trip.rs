//! `brk trip`: open now, by hand.

use super::World;
use super::told::Told;
use crate::breaker::{Breaker, TripFor};
use crate::cli::TripArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::render::change::{Change, Deed, Standing};
use crate::store::{Store, Unknown};

pub fn run(args: &TripArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    let policy = crate::config::policy(&crate::cli::Settings::default())?;
    let dice = world.env.dice();
    let mut before = None;
    let updated =
        world.store()?.update(name, Unknown::Create(&policy), &mut |breaker: &mut Breaker, now| {
            before = Some(Standing::of(breaker, now));
            let policy = breaker.policy.clone();
            let length = args.length.map_or(TripFor::CooldownOf(&policy), TripFor::Exactly);
            breaker.trip(length, args.reason.clone(), now, dice);
        })?;
    let mut told = Told::new(args.json);
    if let Some(updated) = updated {
        Told::warnings(name, &updated);
        told.change(Change::new(name, Deed::Tripped, before, &updated, true))?;
    }
    told.end()?;
    Ok(Exit::Code(exit::DONE))
}
