//! The two short visits to the breaker that a run makes: to be admitted, and to tell how it ended. Where the state is
//! of no use, this decides what that means for the run.

use super::super::World;
use crate::breaker::event::RefusedBy;
use crate::breaker::outcome::Verdict;
use crate::breaker::time::Timestamp;
use crate::breaker::{Admission, Breaker, Heard, Mode, Permit, Phase, Refusal, Report, Task, Visitor};
use crate::cli::OnStateError;
use crate::config::Plan;
use crate::error::Error;
use crate::exit::Exit;
use crate::name::Name;
use crate::output::say;
use crate::render::{wall_time, words};
use crate::store::file::FileStore;
use crate::store::place::Place;
use crate::store::{Store, StoreError, Unknown, Updated};
use crate::supervise::Finished;

pub struct Guard<'a> {
    name: &'a Name,
    plan: &'a Plan,
    program: &'a str,
    world: &'a World<'a>,
    store: Result<FileStore, StoreError>,
}

/// What became of asking to run.
pub enum Entry {
    Granted(Ticket),
    /// The state is of no use; the run goes on without it.
    Unguarded,
    Refused(Refused),
    /// Nothing is to be launched any more, and `brk` ends like this.
    Stopped(Exit),
}

/// A permit, and the place that goes with it.
pub struct Ticket {
    pub permit: Permit,
    pub place: Option<Place>,
    /// The phase as it was found.
    pub phase_before: &'static str,
}

pub struct Refused {
    pub why: RefusedBy,
    /// For people: why, and when to come back.
    pub text: String,
    pub phase: &'static str,
    pub retry_at: Option<String>,
}

/// What a record did to the breaker.
pub struct Recorded {
    pub breaker: Breaker,
    pub heard: Heard,
    pub now: Timestamp,
    pub retry_at: Option<String>,
}

impl<'a> Guard<'a> {
    pub fn new(name: &'a Name, plan: &'a Plan, program: &'a str, world: &'a World) -> Guard<'a> {
        Guard { name, plan, program, world, store: world.store() }
    }

    /// Asks to run, as a probe with this task if it comes to that.
    pub fn admit(&self, task: Task) -> Result<Entry, Error> {
        let visitor =
            Visitor { mode: self.plan.mode, pid: std::process::id(), lifetime: self.plan.lifetime(), task };
        let mut phase_before = Phase::Closed.word();
        let mut answer = None;
        let updated = self.update(&mut |breaker, now| {
            phase_before = breaker.phase.word();
            answer = Some(breaker.admit(&self.plan.policy, &visitor, now));
        });
        match (updated, answer) {
            (Ok(updated), Some(Admission::Granted(permit))) => {
                Ok(Entry::Granted(Ticket { permit, place: updated.place, phase_before }))
            }
            (Ok(updated), Some(Admission::Refused(refusal))) => {
                Ok(Entry::Refused(refused(&updated, &refusal)))
            }
            (Ok(_), None) => Ok(Entry::Unguarded),
            (Err(error), _) => self.without_state(error, &visitor),
        }
    }

    /// Tells how a run ended, and gives its place back. Trouble is a warning: the run is over.
    pub fn record(
        &self,
        ticket: Ticket,
        finished: &Finished,
        verdict: Verdict,
        task: Task,
    ) -> Option<Recorded> {
        let report = Report {
            ending: finished.ending,
            verdict,
            duration: finished.millis(),
            program: self.program.to_owned(),
            task,
        };
        let dice = self.world.env.dice();
        let mut heard = Heard::Late;
        let updated = self.update(&mut |breaker, now| {
            heard = breaker.complete(&ticket.permit, report.clone(), &self.plan.policy, now, dice);
        });
        match updated {
            Ok(updated) => {
                let retry_at = retry_at(&updated);
                Some(Recorded { now: updated.clock.time(), retry_at, breaker: updated.breaker, heard })
            }
            Err(error) => {
                self.warn(&format!("{error}; this run is not recorded"));
                None
            }
        }
    }

    /// Where a check has left the breaker: closed again, and the run may go on; or not, and it is refused.
    pub fn after_check(&self, recorded: Option<Recorded>) -> Result<Entry, Error> {
        if recorded.is_none_or(|recorded| recorded.breaker.phase == Phase::Closed) {
            return self.admit(Task::Check);
        }
        let mut refusal = Refusal { why: RefusedBy::Open, retry_at: None };
        let mut permit = None;
        let updated = self.update(&mut |breaker, _| {
            refusal = match &breaker.phase {
                Phase::Open(opening) => Refusal { why: RefusedBy::Open, retry_at: Some(opening.retry_at) },
                _ => Refusal { why: RefusedBy::Probing, retry_at: None },
            };
            breaker.refused(&refusal);
            permit = Some(breaker.bystander());
        });
        match updated {
            Ok(updated) if self.plan.mode == Mode::Enforce => Ok(Entry::Refused(refused(&updated, &refusal))),
            Ok(updated) => Ok(permit.map_or(Entry::Unguarded, |permit| {
                Entry::Granted(Ticket { permit, place: None, phase_before: updated.breaker.phase.word() })
            })),
            Err(error) => Err(error.into()),
        }
    }

    fn update(&self, step: &mut dyn FnMut(&mut Breaker, Timestamp)) -> Result<Updated, StoreError> {
        let store = self.store.as_ref().map_err(StoreError::clone)?;
        let updated = store.update(self.name, Unknown::Create(&self.plan.policy), step)?;
        let updated = updated.ok_or(StoreError::NoDirectory)?;
        updated.warnings.iter().for_each(|warning| self.warn(warning));
        Ok(updated)
    }

    /// The state cannot be written. What can be read of it still counts.
    fn without_state(&self, error: StoreError, visitor: &Visitor) -> Result<Entry, Error> {
        if self.plan.on_state_error == OnStateError::Refuse {
            return Err(Error::Store(error));
        }
        if self.plan.mode == Mode::Enforce
            && let Ok(store) = &self.store
            && let Ok(Some(snapshot)) = store.read(self.name)
        {
            let mut breaker = snapshot.settled();
            let now = snapshot.now();
            if let Admission::Refused(refusal) = breaker.admit(&self.plan.policy, visitor, now) {
                self.warn(&format!("{error}; this refusal is not counted"));
                let updated = Updated { breaker, clock: snapshot.clock, place: None, warnings: Vec::new() };
                return Ok(Entry::Refused(refused(&updated, &refusal)));
            }
        }
        self.warn(&format!("{error}; running unguarded"));
        Ok(Entry::Unguarded)
    }

    fn warn(&self, text: &str) {
        say(&format!("{}: warning: {text}", self.name));
    }
}

fn refused(updated: &Updated, refusal: &Refusal) -> Refused {
    Refused {
        why: refusal.why,
        text: words::refusal(&updated.breaker, refusal, updated.clock.time()),
        phase: updated.breaker.phase.word(),
        retry_at: refusal.retry_at.map(|at| wall_time(&updated.clock, at)),
    }
}

fn retry_at(updated: &Updated) -> Option<String> {
    match &updated.breaker.phase {
        Phase::Open(opening) => Some(wall_time(&updated.clock, opening.retry_at)),
        _ => None,
    }
}
