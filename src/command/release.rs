//! `brk release`: the end of an override.

use super::change_reporter::ChangeReporter;
use super::{Context, select};
use crate::cli::ReleaseArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::change::{Change, OperatorAction, Summary};
use crate::store::{Store, Unknown};

pub fn run(args: &ReleaseArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let mut selection = select::matching(&args.names, &store)?;
    let mut reporter = ChangeReporter::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        let (mut before, mut held) = (None, false);
        let updated = store.update(&name, Unknown::Leave, &mut |breaker, now| {
            before = Some(Summary::of(breaker, now));
            held = breaker.release(now);
        });
        if let Some(updated) = selection.done(&name, updated) {
            ChangeReporter::warnings(&name, &updated);
            reporter.change(Change::new(&name, OperatorAction::Released, before, &updated, held))?;
        }
    }
    reporter.end()?;
    Ok(selection.exit)
}
