//! How an operator's verbs tell what they changed: a line at once for each breaker, or one JSON document at the end.

use crate::error::Error;
use crate::name::Name;
use crate::output::{print, say};
use crate::render::change::{self, Change};
use crate::store::Updated;

pub enum ChangeReporter {
    Lines,
    Json(Vec<Change>),
}

impl ChangeReporter {
    pub fn new(json: bool) -> ChangeReporter {
        if json { ChangeReporter::Json(Vec::new()) } else { ChangeReporter::Lines }
    }

    /// Tells what was amiss with a breaker, and has been dealt with.
    pub fn warnings(name: &Name, updated: &Updated) {
        updated.warnings.iter().for_each(|warning| say(&format!("{name}: warning: {warning}")));
    }

    pub fn change(&mut self, change: Change) -> Result<(), Error> {
        match self {
            ChangeReporter::Lines => print(&change.line()),
            ChangeReporter::Json(changes) => {
                changes.push(change);
                Ok(())
            }
        }
    }

    pub fn end(self) -> Result<(), Error> {
        match self {
            ChangeReporter::Lines => Ok(()),
            ChangeReporter::Json(changes) => print(&change::json(changes)),
        }
    }
}
