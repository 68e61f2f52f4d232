//! `brk release`: the end of an override.

use super::{World, select};
use crate::cli::ReleaseArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{print, say};
use crate::store::{Store, Unknown};

pub fn run(args: &ReleaseArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let selection = select::matching(&args.names, &store)?;
    for name in selection.names {
        let mut held = false;
        let updated = store.update(&name, Unknown::Leave, &mut |breaker, now| held = breaker.release(now))?;
        if let Some(updated) = updated {
            updated.warnings.iter().for_each(|warning| say(&format!("{name}: {warning}")));
            let what = if held { "released" } else { "was not held" };
            print(&format!("{name}: {what}, {}\n", updated.breaker.phase.word()))?;
        }
    }
    Ok(selection.exit)
}
