//! `brk status`: what is open, since when, why, and when will it try again?

use super::{World, select};
use crate::cli::StatusArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::name::Name;
use crate::output::{print, say};
use crate::render::status;
use crate::store::{Snapshot, Store};

pub fn run(args: &StatusArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let (names, mut exit) = if args.names.is_empty() {
        (store.names()?, Exit::Code(exit::DONE))
    } else {
        let selection = select::matching(&args.names, &store)?;
        (selection.names, selection.exit)
    };
    let mut breakers: Vec<(Name, Snapshot)> = Vec::with_capacity(names.len());
    for name in names {
        match store.read(&name) {
            Ok(Some(snapshot)) => breakers.push((name, snapshot)),
            Ok(None) => {}
            // One that cannot be read does not hide the others.
            Err(error) => {
                say(&format!("{name}: {error}"));
                exit = Exit::Code(exit::NOT_POSSIBLE);
            }
        }
    }
    let place = store.place();
    let text = match breakers.as_slice() {
        _ if args.json => status::json(&breakers, &place),
        [(name, snapshot)] if args.names.len() == 1 => status::detail(name, snapshot, &place),
        [] if args.names.is_empty() => format!("no breakers in {place} yet\n"),
        [] => String::new(),
        all => status::table(all),
    };
    print(&text)?;
    Ok(exit)
}
