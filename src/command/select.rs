//! The breakers that the words of a command line mean.

use glob::Pattern;

use crate::error::Error;
use crate::exit::{self, Exit};
use crate::name::Name;
use crate::output::say;
use crate::store::Store;

/// What the words chose, and whether each of them chose something.
pub struct Selection {
    pub names: Vec<Name>,
    pub exit: Exit,
}

/// All breakers that these words name: each is the name of a breaker, to the letter, or else a pattern. What matches
/// nothing is named on standard error.
pub fn matching(words: &[String], store: &impl Store) -> Result<Selection, Error> {
    let known = store.names()?;
    let mut names: Vec<Name> = Vec::new();
    let mut exit = Exit::Code(exit::DONE);
    for word in words {
        let exact = known.iter().find(|name| name.as_str() == word);
        let found: Vec<&Name> = match exact {
            Some(name) => vec![name],
            None => {
                let pattern = Pattern::new(word)
                    .map_err(|error| Error::Usage(format!("{word:?} is no pattern: {error}")))?;
                known.iter().filter(|name| pattern.matches(name.as_str())).collect()
            }
        };
        if found.is_empty() {
            say(&Error::NoSuchBreaker(word.clone()).to_string());
            exit = Exit::Code(exit::NOT_POSSIBLE);
        }
        for name in found {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    Ok(Selection { names, exit })
}
