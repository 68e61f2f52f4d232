//! Which layer of the configuration a setting comes from. Key by key the strongest wins: what was given by hand, the
//! section of the exact name, the longest pattern, shorter ones, the defaults; within one rank, the later.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Command, FromArgMatches};
use glob::Pattern;

use super::Plan;
use super::file::{self, Key, Scope, Section};
use super::form;
use super::store::{self, Written};
use crate::cli::Settings;
use crate::cli::usage::one_line;
use crate::env::Env;
use crate::error::Error;
use crate::name::Name;

/// All configuration files, read but not yet understood.
#[derive(Debug, Default)]
pub struct Layers {
    sections: Vec<Section>,
}

/// Where the value of a key stands.
#[derive(Clone, Debug)]
pub struct Origin {
    pub rank: Rank,
    pub path: PathBuf,
    pub line: usize,
    /// The value as it stands there.
    pub source: String,
}

/// How strong a layer is, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Defaults,
    /// With the length of the pattern.
    Pattern(usize),
    Name,
    ByHand,
}

/// What a run is set to, and where each setting that is not a default was written.
#[derive(Debug, Default)]
pub struct Resolved {
    pub settings: Settings,
    pub origins: BTreeMap<String, Origin>,
}

impl Layers {
    /// Reads the files that there are; one that was named by hand must be there.
    pub fn read(env: &Env, flag: Option<&Path>) -> Result<Layers, Error> {
        let sections = match env.config(flag) {
            Some(named) => file::read(&named)?,
            None => {
                let read: Result<Vec<_>, _> =
                    env.config_files().iter().map(|path| file::read_if_there(path)).collect();
                read?.into_iter().flatten().collect()
            }
        };
        Ok(Layers { sections })
    }

    /// The settings of a breaker, those given by hand on top.
    pub fn resolve(&self, name: Option<&Name>, by_hand: Settings) -> Result<Resolved, Error> {
        let mut winners: BTreeMap<&str, (Rank, &Section, &Key)> = BTreeMap::new();
        for section in &self.sections {
            if let Scope::Broken(what) = &section.scope {
                return Err(section.fault(section.line, what));
            }
            let Some(rank) = section.rank(name) else {
                continue;
            };
            for key in &section.keys {
                if let Some(value) = store::understood(section, key) {
                    value?;
                    continue;
                }
                if by_hand.given.contains(&key.name) {
                    continue;
                }
                let stands = winners.get(key.name.as_str()).is_none_or(|(stronger, ..)| rank >= *stronger);
                if stands {
                    winners.insert(&key.name, (rank, section, key));
                }
            }
        }
        if winners.is_empty() {
            return Ok(Resolved { settings: by_hand, origins: BTreeMap::new() });
        }
        let mut keys: Vec<_> = winners.values().map(|(_, section, key)| (*section, *key)).collect();
        // Of several faults the first in the file is told.
        keys.sort_by_key(|(section, key)| (&section.path, key.line));
        let settings = understood(&keys, by_hand)?;
        let origin = |(rank, section, key): &(Rank, &Section, &Key)| Origin {
            rank: *rank,
            path: section.path.clone(),
            line: key.line,
            source: key.source.clone(),
        };
        let origins = winners.iter().map(|(key, winner)| ((*key).to_owned(), origin(winner))).collect();
        Ok(Resolved { settings, origins })
    }

    /// Which shared store the defaults name; what stands later is stronger.
    pub fn store(&self) -> Result<Written, Error> {
        let mut written = Written::default();
        for section in self.sections.iter().filter(|section| section.scope == Scope::Defaults) {
            for key in &section.keys {
                if let Some(value) = store::understood(section, key) {
                    let place =
                        if key.name == store::URL { &mut written.url } else { &mut written.password_file };
                    *place = Some(value?);
                }
            }
        }
        Ok(written)
    }

    /// Everything that is wrong anywhere, in the order of the files.
    pub fn faults(&self) -> Vec<Error> {
        let mut faults = Vec::new();
        for section in &self.sections {
            let before = faults.len();
            if let Scope::Broken(what) = &section.scope {
                faults.push(section.fault(section.line, what));
            }
            if let Scope::Breaker(pattern) = &section.scope
                && let Err(error) = Pattern::new(pattern)
            {
                faults.push(section.fault(section.line, &format!("{pattern:?} is no pattern: {error}")));
            }
            for key in &section.keys {
                faults.extend(match store::understood(section, key) {
                    Some(value) => value.err(),
                    None => understood(&[(section, key)], Settings::default()).err(),
                });
            }
            if faults.len() == before {
                faults.extend(section.contradiction(self).err());
            }
        }
        faults
    }
}

impl Resolved {
    /// An error, with the places in files that these keys come from.
    pub fn with_places(&self, what: String, keys: &[&str]) -> String {
        let place = |key: &&str| {
            let origin = self.origins.get(*key)?;
            Some(format!("{key}: {}:{}", origin.path.display(), origin.line))
        };
        let places: Vec<_> = keys.iter().filter_map(place).collect();
        if places.is_empty() { what } else { format!("{what} ({})", places.join(", ")) }
    }
}

impl Section {
    /// How strong this section is for a breaker; `None` where it does not speak of it.
    fn rank(&self, name: Option<&Name>) -> Option<Rank> {
        match (&self.scope, name) {
            (Scope::Defaults, _) => Some(Rank::Defaults),
            (Scope::Breaker(_), None) | (Scope::Broken(_), _) => None,
            (Scope::Breaker(scope), Some(name)) if scope == name.as_str() => Some(Rank::Name),
            (Scope::Breaker(scope), Some(name)) => {
                let matches = Pattern::new(scope).is_ok_and(|pattern| pattern.matches(name.as_str()));
                matches.then(|| Rank::Pattern(scope.chars().count()))
            }
        }
    }

    /// Whether what this section says agrees with itself and with the layers below it.
    fn contradiction(&self, layers: &Layers) -> Result<(), Error> {
        let name = match &self.scope {
            Scope::Defaults | Scope::Broken(_) => None,
            // A pattern is a name as well, and the sections that match it are the ones that will meet.
            Scope::Breaker(scope) => scope.parse::<Name>().ok(),
        };
        let Ok(resolved) = layers.resolve(name.as_ref(), Settings::default()) else {
            // Another section's fault, and told there.
            return Ok(());
        };
        Plan::new(&resolved).map(drop).map_err(|error| self.fault(self.line, &error.to_string()))
    }

    pub fn fault(&self, line: usize, what: &str) -> Error {
        Error::Usage(format!("{}:{line}: {what}", self.path.display()))
    }
}

/// The settings that these keys make, read as the flags of the same names.
fn understood(keys: &[(&Section, &Key)], by_hand: Settings) -> Result<Settings, Error> {
    let command = Settings::augment_args(Command::new("brk").no_binary_name(true));
    let mut words = Vec::new();
    for (section, key) in keys {
        let Some(flag) = command.get_arguments().find(|flag| flag.get_long() == Some(&key.name)) else {
            let known = command.get_arguments().filter_map(clap::Arg::get_long);
            let known: Vec<&str> = known.chain([store::URL, store::PASSWORD_FILE]).collect();
            return Err(section.fault(key.line, &unknown(&key.name, &known)));
        };
        let values =
            key.values.as_ref().map_err(|what| section.fault(key.line, &format!("{}: {what}", key.name)))?;
        let value_name = flag.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
        form::check(key, values, value_name).map_err(|what| section.fault(key.line, &what))?;
        words.extend(values.all.iter().map(|value| format!("--{}={}", key.name, value.text)));
    }
    let mut settings = by_hand;
    let read =
        command.try_get_matches_from(words).and_then(|matches| settings.update_from_arg_matches(&matches));
    match (read, keys) {
        (Ok(()), _) => Ok(settings),
        (Err(error), [(section, key)]) => Err(section.fault(key.line, &one_line(&error.to_string()))),
        // Each by itself, to find the one that is wrong.
        (Err(error), _) => {
            for key in keys {
                understood(&[*key], Settings::default())?;
            }
            Err(Error::Usage(one_line(&error.to_string())))
        }
    }
}

fn unknown(key: &str, known: &[&str]) -> String {
    let likeness = |known: &str| strsim::jaro(key, known);
    let nearest = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    format!("unknown key {key:?}; the nearest that there is: {}", nearest.copied().unwrap_or_default())
}
