//! `brk forget`: a breaker and its history, removed.

use super::{World, select};
use crate::cli::ForgetArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::print;
use crate::store::Store;

pub fn run(args: &ForgetArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let selection = select::matching(&args.names, &store)?;
    for name in selection.names {
        if store.forget(&name)? {
            print(&format!("{name}: forgotten\n"))?;
        }
    }
    Ok(selection.exit)
}
