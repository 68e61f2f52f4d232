//! What follows a change of a breaker once it is stored, for runs and operators alike: warnings, then hooks. No lock is
//! held. Not here: how a run or an operator reports the change.

use crate::breaker::outcome::Ending;
use crate::env::Env;
use crate::hook::{self, Hooks};
use crate::name::Name;
use crate::output::say;
use crate::store::Updated;

/// What made a change.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// A run of this program that asked to be admitted.
    Admission {
        program: &'a str,
    },
    /// A run of this program that ended.
    Ended {
        program: &'a str,
        ending: Ending,
    },
    Operator,
}

/// Says what was wrong and has been dealt with, and runs the hooks that the change calls for.
pub fn after_change(name: &Name, updated: &Updated, hooks: &Hooks, cause: Cause, env: &Env) {
    updated.warnings.iter().for_each(|warning| say(&format!("{name}: warning: {warning}")));
    let (program, ending) = match cause {
        Cause::Admission { program } => (Some(program), None),
        Cause::Ended { program, ending } => (Some(program), Some(ending)),
        Cause::Operator => (None, None),
    };
    if updated.phase_before() != updated.breaker.phase.kind() {
        let host = env.host();
        hook::run(hooks, &hook::Change { name, updated, program, ending, host: &host });
    }
}
