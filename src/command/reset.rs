//! `brk reset`: closed again, whatever was in the way.

use super::Context;
use super::change_reporter::ChangeReporter;
use super::select::{self, Selection};
use crate::cli::ResetArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::render::change::OperatorAction;
use crate::store::Store;

pub fn run(args: &ResetArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let mut selection = if args.all {
        Selection { names: store.names()?, exit: Exit::Code(exit::DONE) }
    } else if args.names.is_empty() {
        return Err(Error::Usage(format!(
            "no breaker given: pass a NAME or --all ({})",
            candidates(&store)?
        )));
    } else {
        select::matching(&args.names, &store)?
    };
    let mut reporter = ChangeReporter::new(args.json);
    for name in std::mem::take(&mut selection.names) {
        let done = store.update_existing(&name, &mut |breaker, now| breaker.reset(now));
        if let Some(((), updated)) = selection.done(&name, done) {
            reporter.stored(&name, OperatorAction::Reset, &updated, true, &context.hooks(&name), context);
        }
    }
    reporter.end();
    Ok(selection.exit)
}

/// The names there are, those first that a reset would change most.
fn candidates(store: &impl Store) -> Result<String, Error> {
    const SHOWN: usize = 10;
    let mut names = store.names()?;
    names.sort_by_key(|name| match store.read(name) {
        Ok(Some(snapshot)) => snapshot.breaker.phase == crate::breaker::Phase::Closed,
        _ => true,
    });
    let total = names.len();
    let names: Vec<_> = names.iter().take(SHOWN).map(ToString::to_string).collect();
    Ok(match total {
        0 => "there are no breakers yet".to_owned(),
        1 => format!("known: {}", names[0]),
        _ if total > SHOWN => format!("known: {} and {} more", names.join(", "), total - SHOWN),
        _ => format!("known: {}", names.join(", ")),
    })
}
