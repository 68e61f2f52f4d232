//! What is wrong with a configuration: everything, for `config --check`, or the first fault that applies to some
//! breakers, for the warning of commands that go on without a policy.

use glob::Pattern;

use super::Settings;
use super::file::{Scope, Section};
use super::resolve::Layers;
use crate::error::Error;
use crate::name::Name;
use crate::plan::Plan;

/// Everything that is wrong anywhere, in the order of the files.
pub fn all_faults(layers: &Layers) -> Vec<Error> {
    let mut faults = Vec::new();
    for section in layers.sections() {
        let before = faults.len();
        match &section.scope {
            Scope::Broken(what) => faults.push(section.place.fault(what)),
            Scope::Breaker(pattern) => {
                if let Err(error) = Pattern::new(pattern) {
                    faults.push(section.place.fault(&format!("{pattern:?} is not a pattern: {error}")));
                }
            }
            Scope::Defaults => {}
        }
        match section.keys_in_order() {
            Ok(keys) => faults.extend(keys.iter().filter_map(|key| layers.check_key(section, key).err())),
            Err(fault) => faults.push(fault),
        }
        if faults.len() == before {
            faults.extend(contradiction(section, layers));
        }
    }
    faults
}

/// The first fault that applies to one of these breakers; without any, to all.
pub fn first_fault(layers: &Layers, names: &[Name]) -> Option<Error> {
    let of = |name: Option<&Name>| {
        let resolved = layers.resolve(name, Settings::default());
        resolved.and_then(|resolved| Plan::new(&resolved)).err()
    };
    match names {
        [] => of(None),
        names => names.iter().find_map(|name| of(Some(name))),
    }
}

/// What contradicts itself in a section, with the layers below it.
fn contradiction(section: &Section, layers: &Layers) -> Option<Error> {
    let name = match &section.scope {
        Scope::Defaults | Scope::Broken(_) => None,
        // A pattern is a name as well, and the sections that match it are the ones that will meet.
        Scope::Breaker(scope) => scope.parse::<Name>().ok(),
    };
    // Another section's fault is reported there.
    let resolved = layers.resolve(name.as_ref(), Settings::default()).ok()?;
    let error = Plan::new(&resolved).err()?;
    Some(section.place.fault(&error.to_string()))
}
