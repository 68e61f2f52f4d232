//! The two short visits to the breaker that a run makes: to be admitted, and to tell how it ended. Where the state is
//! of no use, this decides what that means for the run.

use std::cell::Cell;

use super::super::Context;
use crate::breaker::event::RefusedBy;
use crate::breaker::outcome::{Ending, Verdict};
use crate::breaker::time::{Clock, Millis, Timestamp};
use crate::breaker::{
    Admission, AdmissionRequest, Breaker, Completion, Mode, Permit, PermitKind, Phase, PhaseKind, Refusal,
    Report, Task,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::hook;
use crate::name::Name;
use crate::output::say;
use crate::plan::Plan;
use crate::render::{wall_time, words};
use crate::settings::value::{OnStateError, OnStoreError};
use crate::store::place::OccupancyLock;
use crate::store::{AnyStore, Lease, LiveProbe, Origin, Store, StoreError, Unknown, Updated};
use crate::supervise::Finished;

pub struct Guard<'a> {
    name: &'a Name,
    plan: &'a Plan,
    program: &'a str,
    context: &'a Context<'a>,
    store: Result<AnyStore, StoreError>,
    warned: Cell<bool>,
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
    pub place: Option<OccupancyLock>,
    /// The same on a shared store.
    lease: Option<Lease>,
    /// Who admitted it, and hears how it ended.
    origin: Origin,
    /// The phase as it was found.
    pub phase_before: PhaseKind,
}

pub struct Refused {
    pub why: RefusedBy,
    /// For people: why, and when to come back.
    pub text: String,
    pub phase: PhaseKind,
    pub retry_at: Option<String>,
    /// For how long it is known to be of no use to ask again.
    pub wait: Option<Millis>,
}

/// What a record did to the breaker.
pub struct Recorded {
    pub updated: Updated,
    pub heard: Completion,
}

/// A place among the runs of one name.
pub enum Slot {
    /// Taken now, or not needed.
    Free(Option<OccupancyLock>),
    Busy,
}

impl Ticket {
    pub fn is_probe(&self) -> bool {
        matches!(self.permit.kind, PermitKind::Probe(_))
    }

    pub fn note_command(&mut self, pid: u32) {
        if let Some(place) = &mut self.place {
            place.note_command(pid);
        }
    }
}

impl<'a> Guard<'a> {
    pub fn new(name: &'a Name, plan: &'a Plan, program: &'a str, context: &'a Context) -> Guard<'a> {
        Guard { name, plan, program, context, store: context.store(), warned: Cell::new(false) }
    }

    /// Asks to run.
    pub fn admit(&self, mode: Mode) -> Result<Entry, Error> {
        let task = if self.plan.check.is_some() { Task::Check } else { Task::Command };
        let request = AdmissionRequest {
            mode,
            pid: std::process::id(),
            lifetime: self.plan.lifetime(),
            task,
            cooldown: self.plan.cooldown_parts(),
        };
        self.ask(mode, &mut |breaker, now| breaker.admit(&self.plan.policy, &request, now))
    }

    /// Is refused because as many runs as may be are alive.
    pub fn busy(&self, mode: Mode) -> Result<Entry, Error> {
        self.ask(mode, &mut |breaker, _| breaker.refuse(Refusal::new(RefusedBy::Busy, None), mode))
    }

    /// Takes a place among the runs of this name, if their number is bounded.
    pub fn take_slot(&self) -> Result<Slot, Error> {
        let Some(count) = self.plan.max_concurrent else {
            return Ok(Slot::Free(None));
        };
        let slot = self.store.as_ref().map_err(StoreError::clone);
        match slot.and_then(AnyStore::files).and_then(|files| files.take_slot(self.name, count.get())) {
            Ok(Some(slot)) => Ok(Slot::Free(Some(slot))),
            Ok(None) => Ok(Slot::Busy),
            Err(error) if self.plan.on_state_error == OnStateError::Refuse => Err(error.into()),
            Err(error) => {
                self.warn_once(&format!("{error}; how many run at once is not bounded"));
                Ok(Slot::Free(None))
            }
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
            duration: Millis::from(finished.duration),
            program: if task == Task::Check { "sh" } else { self.program }.to_owned(),
            task,
        };
        let random = self.context.env.random();
        let mut heard = Completion::Late;
        let _kept_until_recorded = ticket.lease;
        let updated = self.update(Some(finished.ending), ticket.origin, &mut |breaker, now| {
            // The shared store has gone since it admitted the run.
            let elsewhere = ticket.origin == Origin::Configured && breaker.is_falling_back();
            let permit = if elsewhere { breaker.fallback_permit() } else { ticket.permit.clone() };
            heard = breaker.complete(&permit, report.clone(), &self.plan.policy, now, random);
        });
        let updated = updated.inspect_err(|error| self.warn(&format!("{error}; this run is not recorded")));
        Some(Recorded { updated: updated.ok()?, heard })
    }

    /// Where a check has left the breaker: closed again, and the run may go on; or not, and it is refused.
    pub fn after_check(&self, recorded: Option<&Recorded>, mode: Mode) -> Result<Entry, Error> {
        if recorded.is_none_or(|recorded| recorded.updated.breaker.phase == Phase::Closed) {
            return self.admit(mode);
        }
        self.ask(mode, &mut |breaker, _| {
            let retry_at = breaker.phase.retry_at();
            let why = if retry_at.is_some() { RefusedBy::Open } else { RefusedBy::Probing };
            breaker.refuse(Refusal::new(why, retry_at), mode)
        })
    }

    fn ask(
        &self,
        mode: Mode,
        question: &mut dyn FnMut(&mut Breaker, Timestamp) -> Admission,
    ) -> Result<Entry, Error> {
        let mut phase_before = PhaseKind::Closed;
        let mut answer = None;
        let updated = self.update(None, Origin::Configured, &mut |breaker, now| {
            phase_before = breaker.phase.kind();
            answer = Some(question(breaker, now));
        });
        match (updated, answer) {
            (Ok(updated), Some(Admission::Granted(permit))) => Ok(Entry::Granted(Ticket {
                permit,
                place: updated.place,
                lease: updated.lease,
                origin: updated.origin,
                phase_before,
            })),
            (Ok(updated), Some(Admission::Refused(refusal))) => {
                Ok(Entry::Refused(refused(&updated.breaker, &updated.left, &updated.clock, &refusal)))
            }
            (Ok(_), None) => Ok(Entry::Unguarded),
            (Err(error), _) => self.without_state(error, mode, question),
        }
    }

    /// One visit to the breaker, and the hooks of what it changed.
    fn update(
        &self,
        ending: Option<Ending>,
        origin: Origin,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Updated, StoreError> {
        let store = self.store.as_ref().map_err(StoreError::clone)?;
        let mut from = PhaseKind::Closed;
        let unknown = Unknown::Create(&self.plan.policy);
        let mut step = |breaker: &mut Breaker, now| {
            from = breaker.phase.kind();
            step(breaker, now);
        };
        let updated = match (self.plan.on_store_error, origin) {
            (OnStoreError::Run | OnStoreError::Refuse, Origin::Configured) => {
                store.update(self.name, unknown, &mut step)?
            }
            _ => store.update_or_fall_back(self.name, unknown, origin, &mut step)?,
        };
        let updated = updated.ok_or(StoreError::NoDirectory)?;
        updated.warnings.iter().for_each(|warning| self.warn(warning));
        hook::run(&self.plan.hooks, &hook::Change { name: self.name, from, updated: &updated, ending });
        Ok(updated)
    }

    /// The state cannot be written. What can be read of it still counts.
    fn without_state(
        &self,
        error: StoreError,
        mode: Mode,
        question: &mut dyn FnMut(&mut Breaker, Timestamp) -> Admission,
    ) -> Result<Entry, Error> {
        if let StoreError::Away { .. } = error {
            match self.plan.on_store_error {
                OnStoreError::Refuse => return Err(Error::Store(error)),
                OnStoreError::Run => {
                    self.warn_once(&format!("{error}; running unguarded"));
                    return Ok(Entry::Unguarded);
                }
                // There are no files either.
                OnStoreError::Local => {}
            }
        }
        if self.plan.on_state_error == OnStateError::Refuse {
            return Err(Error::Store(error));
        }
        if mode != Mode::Observe
            && let Ok(store) = &self.store
            && let Ok(Some(snapshot)) = store.read(self.name)
        {
            let mut breaker = snapshot.without_dead_probes();
            if let Admission::Refused(refusal) = question(&mut breaker, snapshot.now()) {
                self.warn_once(&format!("{error}; this refusal is not counted"));
                return Ok(Entry::Refused(refused(&breaker, &snapshot.alive, &snapshot.clock, &refusal)));
            }
        }
        self.warn_once(&format!("{error}; running unguarded"));
        Ok(Entry::Unguarded)
    }

    /// The state is asked again and again while a run waits or makes attempts; one warning is enough.
    fn warn_once(&self, text: &str) {
        if !self.warned.replace(true) {
            self.warn(text);
        }
    }

    pub fn warn(&self, text: &str) {
        say(&format!("{}: warning: {text}", self.name));
    }
}

fn refused(breaker: &Breaker, alive: &[LiveProbe], clock: &Clock, refusal: &Refusal) -> Refused {
    let now = clock.time();
    Refused {
        why: refusal.why,
        text: words::refusal(breaker, alive, refusal, now),
        phase: breaker.phase.kind(),
        retry_at: refusal.retry_at.map(|at| wall_time(clock, at)),
        wait: refusal.retry_at.map(|at| at.since(now)),
    }
}
