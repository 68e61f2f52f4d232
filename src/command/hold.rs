//! `brk hold`: an operator's word stands above the machine.

use super::World;
use super::told::Told;
use crate::breaker::event::{Hold, HoldAs};
use crate::cli::{HoldArgs, HoldState};
use crate::config::policy;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::render::change::{Change, Deed, Standing};
use crate::store::{Store, Unknown};

pub fn run(args: &HoldArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    // Only a breaker that is new takes its policy from here, until its first run.
    let policy = policy(&world.settings(name)).unwrap_or_default();
    let hold = match args.state {
        HoldState::Open => HoldAs::Open,
        HoldState::Closed => HoldAs::Closed,
    };
    let mut before = None;
    let updated = world.store()?.update(name, Unknown::Create(&policy), &mut |breaker, now| {
        before = Some(Standing::of(breaker, now));
        let until = args.length.map(|length| now.saturating_add(length));
        breaker.hold(Hold { hold, until, reason: args.reason.clone() }, now);
    })?;
    let mut told = Told::new(args.json);
    if let Some(updated) = updated {
        Told::warnings(name, &updated);
        told.change(Change::new(name, Deed::Held, before, &updated, true))?;
    }
    told.end()?;
    Ok(Exit::Code(exit::DONE))
}
