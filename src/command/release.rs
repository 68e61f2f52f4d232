//! `brk release`: the end of an override.

use super::told::Told;
use super::{World, select};
use crate::cli::ReleaseArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::change::{Change, Deed, Standing};
use crate::store::{Store, Unknown};

pub fn run(args: &ReleaseArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let mut selection = select::matching(&args.names, &store)?;
    let mut told = Told::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        let (mut before, mut held) = (None, false);
        let updated = store.update(&name, Unknown::Leave, &mut |breaker, now| {
            before = Some(Standing::of(breaker, now));
            held = breaker.release(now);
        });
        if let Some(updated) = selection.done(&name, updated) {
            Told::warnings(&name, &updated);
            told.change(Change::new(&name, Deed::Released, before, &updated, held))?;
        }
    }
    told.end()?;
    Ok(selection.exit)
}
