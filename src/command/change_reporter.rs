//! How an operator's verbs report what they changed: a line at once for each breaker, or one JSON document at the end.
//! The change is made by then, so an output that cannot be written is only a message.

use super::Context;
use super::after_change::{Cause, after_change};
use crate::hook::Hooks;
use crate::name::Name;
use crate::output::print_or_say;
use crate::render::change::{self, Change, OperatorAction, Summary};
use crate::store::Updated;

pub enum ChangeReporter {
    Lines,
    Json(Vec<Change>),
}

impl ChangeReporter {
    pub fn new(json: bool) -> ChangeReporter {
        if json { ChangeReporter::Json(Vec::new()) } else { ChangeReporter::Lines }
    }

    /// An operator's change that has been stored: what follows it, and its report. It may
    /// not have `changed` anything.
    pub fn stored(
        &mut self,
        name: &Name,
        action: OperatorAction,
        updated: &Updated,
        changed: bool,
        hooks: &Hooks,
        context: &Context,
    ) {
        after_change(name, updated, hooks, Cause::Operator, context.env);
        self.report(Change::new(name, action, updated, changed));
    }

    /// A breaker that has been removed.
    pub fn forgotten(&mut self, name: &Name, before: Option<Summary>) {
        self.report(Change::forgotten(name, before));
    }

    fn report(&mut self, change: Change) {
        match self {
            ChangeReporter::Lines => print_or_say(&change.line()),
            ChangeReporter::Json(changes) => changes.push(change),
        }
    }

    pub fn end(self) {
        match self {
            ChangeReporter::Lines => {}
            ChangeReporter::Json(changes) => print_or_say(&change::json(changes)),
        }
    }
}
