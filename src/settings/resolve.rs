//! Which value of a setting counts. Setting by setting the strongest wins: the command line, the section of the exact
//! name, the longest pattern, shorter ones, the defaults; on a tie, the later one. What does not apply to the breaker is
//! not looked at. Not here: what the values come to (`plan`), and the search for every fault (`check`).

use std::path::Path;

use glob::Pattern;

use super::file::{self, Found, Key, Place, Scope, Section, Values};
use super::types::Arrays;
use super::{Scope as Where, Setting, Settings, find};
use crate::env::Env;
use crate::error::Error;
use crate::name::Name;

/// All configuration files, read but not yet understood.
#[derive(Debug)]
pub struct Layers {
    /// The settings that there are.
    rows: &'static [Setting],
    sections: Vec<Section>,
    /// Default files that could not be reached.
    pub warnings: Vec<String>,
}

/// Where the value of a setting is written.
#[derive(Clone, Debug)]
pub struct Origin {
    pub rank: Rank,
    pub place: Place,
    /// The value as it is written there.
    pub source: String,
}

/// How strong a layer is, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Defaults,
    /// With the length of the pattern.
    Pattern(usize),
    Name,
    CommandLine,
}

/// What a run is set to, and where each setting from a file was written.
#[derive(Debug, Default)]
pub struct Resolved {
    pub settings: Settings,
    origins: Vec<(&'static str, Origin)>,
}

impl Resolved {
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.iter().find(|(name, _)| *name == key).map(|(_, origin)| origin)
    }

    pub fn rank(&self, key: &str) -> Rank {
        self.origin(key).map_or(Rank::CommandLine, |origin| origin.rank)
    }

    /// An error, with the places in files that these keys come from.
    pub fn with_places(&self, what: String, keys: &[&str]) -> String {
        let place = |key: &&str| Some(format!("{key}: {}", self.origin(key)?.place));
        let places: Vec<_> = keys.iter().filter_map(place).collect();
        if places.is_empty() { what } else { format!("{what} ({})", places.join(", ")) }
    }
}

impl Layers {
    pub fn none(rows: &'static [Setting]) -> Layers {
        Layers::of(rows, Vec::new())
    }

    pub fn of(rows: &'static [Setting], sections: Vec<Section>) -> Layers {
        Layers { rows, sections, warnings: Vec::new() }
    }

    /// Reads the files that there are; one that was named explicitly must be there.
    pub fn read(rows: &'static [Setting], env: &Env, flag: Option<&Path>) -> Result<Layers, Error> {
        let mut layers = Layers::none(rows);
        if let Some(named) = env.config(flag) {
            layers.sections = file::read(&named)?;
            return Ok(layers);
        }
        for path in env.config_files() {
            match file::find(&path)? {
                Found::Sections(sections) => layers.sections.extend(sections),
                Found::Nothing => {}
                Found::Closed(error) => {
                    layers
                        .warnings
                        .push(format!("cannot read the configuration {}: {error}", path.display()));
                }
            }
        }
        Ok(layers)
    }

    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The settings of a breaker, those of the command line on top.
    pub fn resolve(&self, name: Option<&Name>, explicit: Settings) -> Result<Resolved, Error> {
        let mut winners: Vec<Winner> = Vec::new();
        for section in &self.sections {
            if let Scope::Broken(what) = &section.scope {
                return Err(section.place.fault(what));
            }
            let Some(rank) = rank(section, name) else { continue };
            for key in section.keys()? {
                let winner = Winner { rank, section, key };
                match winners.iter_mut().find(|other| other.key.name == key.name) {
                    Some(other) if other.rank <= rank => *other = winner,
                    Some(_) => {}
                    None => winners.push(winner),
                }
            }
        }
        // Of several faults the first in the file is reported.
        winners.sort_by_key(|winner| winner.key.place.order());
        let mut resolved = Resolved { settings: explicit.clone(), origins: Vec::new() };
        for Winner { rank, section, key } in winners {
            let row = self.row(section, &key)?;
            if (row.field.is_set)(&explicit) {
                continue;
            }
            apply(row, &key, &mut resolved.settings)?;
            resolved.origins.push((row.key, Origin { rank, place: key.place, source: key.source() }));
        }
        Ok(resolved)
    }

    /// The settings that are one for all breakers, such as the store.
    pub fn for_all_breakers(&self) -> Result<Resolved, Error> {
        let mut resolved = Resolved::default();
        for section in self.sections.iter().filter(|section| section.scope == Scope::Defaults) {
            for key in section.keys()? {
                let Some(row) = find(self.rows, key.name).filter(|row| row.scope == Where::DefaultsOnly)
                else {
                    continue;
                };
                apply(row, &key, &mut resolved.settings)?;
                let origin = Origin { rank: Rank::Defaults, place: key.place, source: key.source() };
                resolved.origins.retain(|(name, _)| *name != row.key);
                resolved.origins.push((row.key, origin));
            }
        }
        Ok(resolved)
    }

    /// What is wrong with one key, whatever the others say.
    pub fn check_key(&self, section: &Section, key: &Key) -> Result<(), Error> {
        apply(self.row(section, key)?, key, &mut Settings::default())
    }

    /// The setting that a key is, if it may be written in this section.
    fn row(&self, section: &Section, key: &Key) -> Result<&'static Setting, Error> {
        let row = find(self.rows, key.name).ok_or_else(|| key.place.fault(&unknown(key.name, self.rows)))?;
        match (row.scope, &section.scope) {
            (Where::DefaultsOnly, Scope::Breaker(_) | Scope::Broken(_)) => {
                let what = "all breakers of a host are in one store; write it below [defaults]";
                Err(key.place.fault(&format!("{}: {what}", row.key)))
            }
            (Where::DefaultsOnly, Scope::Defaults) | (Where::Anywhere, _) => Ok(row),
        }
    }
}

/// The strongest place of a key so far.
struct Winner<'a> {
    rank: Rank,
    section: &'a Section,
    key: Key<'a>,
}

/// How strong a section is for a breaker; `None` if it is not about it.
fn rank(section: &Section, name: Option<&Name>) -> Option<Rank> {
    match (&section.scope, name) {
        (Scope::Defaults, _) => Some(Rank::Defaults),
        (Scope::Breaker(_), None) | (Scope::Broken(_), _) => None,
        (Scope::Breaker(scope), Some(name)) if *scope == name.as_str() => Some(Rank::Name),
        (Scope::Breaker(scope), Some(name)) => {
            if !(scope.contains('*') || scope.contains('?') || scope.contains('[')) {
                return None;
            }
            let matches = Pattern::new(scope).is_ok_and(|pattern| pattern.matches(name.as_str()));
            matches.then(|| Rank::Pattern(scope.chars().count()))
        }
    }
}

/// Sets what a key says.
fn apply(row: &Setting, key: &Key, settings: &mut Settings) -> Result<(), Error> {
    let values = key.values().map_err(|what| key.place.fault(&format!("{}: {what}", row.key)))?;
    let (kinds, arrays) = row.value.kinds();
    let is_allowed = match (&values, arrays) {
        (Values::Array(_), Arrays::Refused) => false,
        (Values::Array(_), Arrays::Allowed) | (Values::One(_), _) => true,
    };
    if !is_allowed || !values.all().iter().all(|value| kinds.contains(&value.kind)) {
        let source = key.source();
        let found = row.value.shown(&source).map(|source| format!(", found {source}")).unwrap_or_default();
        return Err(key.place.fault(&format!("{}: expected {}{found}", row.key, row.value.expected())));
    }
    for value in values.all() {
        let text = value.text.as_ref();
        (row.field.set)(settings, text).map_err(|what| key.place.fault(&row.invalid(text, &what)))?;
    }
    Ok(())
}

fn unknown(key: &str, rows: &[Setting]) -> String {
    let likeness = |row: &&Setting| strsim::jaro(key, row.key);
    let nearest = rows.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let nearest = nearest.map(|row| format!("; did you mean `{}`?", row.key)).unwrap_or_default();
    format!("unknown key `{}`{nearest}", file::shown(key))
}
