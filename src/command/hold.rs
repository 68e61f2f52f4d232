//! `brk hold`: an operator's word stands above the machine.

use super::Context;
use super::change_reporter::ChangeReporter;
use crate::breaker::event::{Hold, HoldAs};
use crate::cli::{HoldArgs, HoldState};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::plan::policy;
use crate::render::change::OperatorAction;
use crate::store::Store;

pub fn run(args: &HoldArgs, context: &Context) -> Result<Exit, Error> {
    let name = &args.name;
    // Only a breaker that is new takes its policy from here, until its first run.
    let policy = policy(&context.settings(name)).unwrap_or_default();
    let hold = match args.state {
        HoldState::Open => HoldAs::Open,
        HoldState::Closed => HoldAs::Closed,
    };
    let (changed, updated) = context.store()?.update(name, &policy, &mut |breaker, now| {
        let until = args.length.map(|length| now.saturating_add(length));
        breaker.hold(Hold { hold, until, reason: args.reason.clone() }, now)
    })?;
    let mut reporter = ChangeReporter::new(args.json);
    reporter.stored(name, OperatorAction::Held, &updated, changed, &context.hooks(name), context);
    reporter.end();
    Ok(Exit::Code(exit::DONE))
}
