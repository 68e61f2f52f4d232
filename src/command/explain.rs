//! `brk explain`: in sentences, what would happen to a run now, and why.

use super::Context;
use crate::cli::ExplainArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::render::explain;
use crate::store::Store;

pub fn run(args: &ExplainArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let snapshot = store.read(&args.name)?.ok_or_else(|| Error::no_such(&args.name))?;
    // The end of the past only adds a sentence.
    let recent = store.recent(&args.name).unwrap_or_default();
    let sentences = explain::sentences(&args.name, &snapshot, &recent);
    let text =
        if args.json { explain::json(&args.name, &snapshot, &sentences) } else { explain::text(&sentences) };
    print(&text)?;
    Ok(Exit::Code(exit::DONE))
}
