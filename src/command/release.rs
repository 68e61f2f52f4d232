//! `brk release`: the end of an override.

use super::change_reporter::ChangeReporter;
use super::{Context, select};
use crate::cli::ReleaseArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::change::OperatorAction;
use crate::store::Store;

pub fn run(args: &ReleaseArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let mut selection = select::matching(&args.names, &store)?;
    let mut reporter = ChangeReporter::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        let done = store.update_existing(&name, &mut |breaker, now| breaker.release(now));
        if let Some((changed, updated)) = selection.done(&name, done) {
            reporter.stored(
                &name,
                OperatorAction::Released,
                &updated,
                changed,
                &context.hooks(&name),
                context,
            );
        }
    }
    reporter.end();
    Ok(selection.exit)
}
