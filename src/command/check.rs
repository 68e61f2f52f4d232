//! `brk check`: would a run be admitted now?

use super::World;
use crate::breaker::{Admission, Mode, Task, Visitor};
use crate::cli::CheckArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::render::words;
use crate::store::Store;

pub fn run(args: &CheckArgs, world: &World) -> Result<Exit, Error> {
    let name = &args.name;
    let Some(snapshot) = world.store()?.read(name)? else {
        say(args, &format!("{name}: closed; unknown so far\n"))?;
        return Ok(Exit::Code(exit::DONE));
    };
    let mut breaker = snapshot.settled();
    let now = snapshot.now();
    let visitor = Visitor { mode: Mode::Enforce, pid: 0, lifetime: None, task: Task::Command };
    let policy = breaker.policy.clone();
    let found = breaker.phase.word();
    match breaker.admit(&policy, &visitor, now) {
        Admission::Granted(permit) => {
            let role = match permit.kind {
                crate::breaker::PermitKind::Probe(_) => "; a run would be a probe",
                crate::breaker::PermitKind::Bystander => "; held closed, a run would be admitted",
                crate::breaker::PermitKind::Normal => "",
            };
            say(args, &format!("{name}: {found}{role}\n"))?;
            Ok(Exit::Code(exit::DONE))
        }
        Admission::Refused(refusal) => {
            say(args, &format!("{name}: {}\n", words::refusal(&breaker, &refusal, now)))?;
            Ok(Exit::Code(exit::REFUSED))
        }
    }
}

fn say(args: &CheckArgs, text: &str) -> Result<(), Error> {
    if args.quiet { Ok(()) } else { print(text) }
}
