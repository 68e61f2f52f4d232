//! How an operator's verbs tell what they changed: a line at once for each breaker, or one JSON document at the end.

use crate::error::Error;
use crate::name::Name;
use crate::output::{print, say};
use crate::render::change::{self, Change};
use crate::store::Updated;

pub enum Told {
    Lines,
    Json(Vec<Change>),
}

impl Told {
    pub fn new(json: bool) -> Told {
        if json { Told::Json(Vec::new()) } else { Told::Lines }
    }

    /// Tells what was amiss with a breaker, and has been dealt with.
    pub fn warnings(name: &Name, updated: &Updated) {
        updated.warnings.iter().for_each(|warning| say(&format!("{name}: warning: {warning}")));
    }

    pub fn change(&mut self, change: Change) -> Result<(), Error> {
        match self {
            Told::Lines => print(&change.line()),
            Told::Json(changes) => {
                changes.push(change);
                Ok(())
            }
        }
    }

    pub fn end(self) -> Result<(), Error> {
        match self {
            Told::Lines => Ok(()),
            Told::Json(changes) => print(&change::json(changes)),
        }
    }
}
