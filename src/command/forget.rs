//! `brk forget`: a breaker and its history, removed.

use super::change_reporter::ChangeReporter;
use super::{Context, select};
use crate::cli::ForgetArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::render::change::Summary;
use crate::store::Store;

pub fn run(args: &ForgetArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let mut selection = select::matching(&args.names, &store)?;
    let mut reporter = ChangeReporter::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        // One that cannot be read can be forgotten all the same.
        let before = store.read(&name).ok().flatten();
        let before = before.map(|snapshot| Summary::of(&snapshot.breaker, snapshot.now()));
        let forgotten = store.forget(&name).map(|there_was| there_was.then_some(()));
        if selection.done(&name, forgotten).is_some() {
            reporter.forgotten(&name, before);
        }
    }
    reporter.end();
    Ok(selection.exit)
}
