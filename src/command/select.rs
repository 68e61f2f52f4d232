//! The breakers that the words of a command line mean.

use std::collections::HashSet;

use glob::Pattern;

use crate::error::Error;
use crate::exit::{self, Exit};
use crate::name::Name;
use crate::output::say;
use crate::render::Shown;
use crate::store::{Store, StoreError};

/// What the words chose, and whether each of them chose something.
pub struct Selection {
    pub names: Vec<Name>,
    pub exit: Exit,
}

impl Selection {
    /// What was done to one of the breakers, or `None` where it could not be done or there was nothing left to do it
    /// to. One breaker's trouble is told of and does not spare the others.
    pub fn done<T>(&mut self, name: &Name, result: Result<Option<T>, StoreError>) -> Option<T> {
        result.unwrap_or_else(|error| {
            say(&format!("{name}: {error}"));
            self.exit = Exit::Code(exit::NOT_POSSIBLE);
            None
        })
    }
}

/// All breakers that these words name: each is the name of a breaker, to the letter, or else a pattern. What matches
/// nothing is named on standard error.
pub fn matching(words: &[String], store: &impl Store) -> Result<Selection, Error> {
    let known = store.names()?;
    let mut names: Vec<Name> = Vec::new();
    let mut chosen: HashSet<&Name> = HashSet::new();
    let mut exit = Exit::Code(exit::DONE);
    for word in words {
        let exact = known.iter().find(|name| name.as_str() == word);
        let found: Vec<&Name> = match (exact, Pattern::new(word)) {
            (Some(name), _) => vec![name],
            (None, Ok(pattern)) => known.iter().filter(|name| pattern.matches(name.as_str())).collect(),
            // It could still have been a name.
            (None, Err(_)) => Vec::new(),
        };
        if found.is_empty() {
            say(&Error::NoSuchBreaker(word.clone()).to_string());
            exit = Exit::Code(exit::NOT_POSSIBLE);
        }
        for name in found {
            if chosen.insert(name) {
                names.push(name.clone());
            }
        }
    }
    Ok(Selection { names, exit })
}

/// The same, where no word means all.
pub fn or_all(words: &[String], store: &impl Store) -> Result<Selection, Error> {
    if words.is_empty() {
        Ok(Selection { names: store.names()?, exit: Exit::Code(exit::DONE) })
    } else {
        matching(words, store)
    }
}

/// Reads the breakers of a selection; one that cannot be read is told of and does not hide the others. `more` adds to
/// each what else is to be shown.
pub fn read<S: Store>(
    store: &S,
    mut selection: Selection,
    mut more: impl FnMut(&S, &mut Shown),
) -> (Vec<Shown>, Exit) {
    let mut breakers = Vec::with_capacity(selection.names.len());
    for name in std::mem::take(&mut selection.names) {
        let read = store.read(&name);
        if let Some(snapshot) = selection.done(&name, read) {
            let mut shown = Shown { name, snapshot, recent: Vec::new(), slots: Vec::new() };
            more(store, &mut shown);
            breakers.push(shown);
        }
    }
    (breakers, selection.exit)
}
