//! `brk hold`: an operator's word stands above the machine.

use super::World;
use crate::breaker::event::{Hold, HoldAs};
use crate::cli::{HoldArgs, HoldState};
use crate::config::policy;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{print, say};
use crate::render::words;
use crate::store::{Store, Unknown};

pub fn run(args: &HoldArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    // Only a breaker that is new takes its policy from here, until its first run.
    let policy = policy(&world.settings(name)).unwrap_or_default();
    let hold = match args.state {
        HoldState::Open => HoldAs::Open,
        HoldState::Closed => HoldAs::Closed,
    };
    let updated = world.store()?.update(name, Unknown::Create(&policy), &mut |breaker, now| {
        let until = args.length.map(|length| now.after(length));
        breaker.hold(Hold { hold, until, reason: args.reason.clone() }, now);
    })?;
    if let Some(updated) = updated {
        updated.warnings.iter().for_each(|warning| say(&format!("{name}: {warning}")));
        let until = args.length.map_or_else(
            || "until 'brk release'".to_owned(),
            |length| format!("for {}", words::wait(length)),
        );
        print(&format!("{name}: {}, {} {until}\n", updated.breaker.phase.word(), words::hold(hold)))?;
    }
    Ok(Exit::Code(exit::DONE))
}
