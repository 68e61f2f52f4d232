//! `brk forget`: a breaker and its history, removed.

use super::told::Told;
use super::{World, select};
use crate::cli::ForgetArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::change::{Change, Standing};
use crate::store::Store;

pub fn run(args: &ForgetArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let mut selection = select::matching(&args.names, &store)?;
    let mut told = Told::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        // One that cannot be read can be forgotten all the same.
        let before = store.read(&name).ok().flatten();
        let before = before.map(|snapshot| Standing::of(&snapshot.breaker, snapshot.now()));
        let forgotten = store.forget(&name).map(|there_was| there_was.then_some(()));
        if selection.done(&name, forgotten).is_some() {
            told.change(Change::forgotten(&name, before))?;
        }
    }
    told.end()?;
    Ok(selection.exit)
}
