//! `brk reset`: closed again, whatever was in the way.

use super::{World, select};
use crate::cli::ResetArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::store::{Store, Unknown};

pub fn run(args: &ResetArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let (names, exit) = if args.all {
        (store.names()?, Exit::Code(exit::DONE))
    } else if args.names.is_empty() {
        let names: Vec<_> = store.names()?.iter().take(10).map(ToString::to_string).collect();
        let known = if names.is_empty() {
            "there is none yet".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        return Err(Error::Usage(format!("which breaker? name it, or give --all; {known}")));
    } else {
        let selection = select::matching(&args.names, &store)?;
        (selection.names, selection.exit)
    };
    for name in names {
        let mut before = "";
        let updated = store.update(&name, Unknown::Leave, &mut |breaker, now| {
            before = breaker.phase.word();
            breaker.reset(now);
        })?;
        if let Some(updated) = updated {
            world.conclude(&name, before, &updated, &world.settings(&name).settings);
            print(&format!("{name}: {before} -> closed\n"))?;
        }
    }
    Ok(exit)
}
