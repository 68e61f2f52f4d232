//! `brk hold`: an operator's word stands above the machine.

use super::Context;
use super::change_reporter::ChangeReporter;
use crate::breaker::event::{Hold, HoldAs};
use crate::cli::{HoldArgs, HoldState};
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::plan::policy;
use crate::render::change::{Change, OperatorAction, Summary};
use crate::store::{Store, Unknown};

pub fn run(args: &HoldArgs, context: &Context) -> Result<Exit, Error> {
    let name = &args.name;
    // Only a breaker that is new takes its policy from here, until its first run.
    let policy = policy(&context.settings(name)).unwrap_or_default();
    let hold = match args.state {
        HoldState::Open => HoldAs::Open,
        HoldState::Closed => HoldAs::Closed,
    };
    let mut before = None;
    let updated = context.store()?.update(name, Unknown::Create(&policy), &mut |breaker, now| {
        before = Some(Summary::of(breaker, now));
        let until = args.length.map(|length| now.saturating_add(length));
        breaker.hold(Hold { hold, until, reason: args.reason.clone() }, now);
    })?;
    let mut reporter = ChangeReporter::new(args.json);
    if let Some(updated) = updated {
        ChangeReporter::warnings(name, &updated);
        reporter.change(Change::new(name, OperatorAction::Held, before, &updated, true))?;
    }
    reporter.end()?;
    Ok(Exit::Code(exit::DONE))
}
