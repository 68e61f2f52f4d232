//! The two short visits to the breaker that a run makes: to be admitted, and to record how it ended. If the state is
//! unusable, this decides what that means for the run. Not here: what follows a change, and running anything.

use std::cell::{Cell, OnceCell};

use super::super::Context;
use super::record::Recorded;
use crate::breaker::event::{RefusedBy, Told};
use crate::breaker::notice::News;
use crate::breaker::outcome::{Outcome, Verdict};
use crate::breaker::time::{Clock, Millis, Timestamp};
use crate::breaker::{
    Admission, AdmissionRequest, Breaker, Mode, PermitKind, Phase, PhaseKind, Refusal, Report, Task,
};
use crate::error::Error;
use crate::exit::Exit;
use crate::name::Name;
use crate::output::say;
use crate::plan::{Plan, Tell};
use crate::render::{wall_time, words};
use crate::settings::value::{OnStateError, OnStoreError};
use crate::store::file::FileStore;
use crate::store::place::{OccupancyLock, ProbeTurn};
use crate::store::{ActivePermit, Answer, AnyStore, FailOver, LiveProbe, Store, StoreError, Updated};
use crate::supervise::Finished;

pub struct Guard<'a> {
    name: &'a Name,
    plan: &'a Plan,
    program: &'a str,
    context: &'a Context<'a>,
    store: Result<AnyStore, StoreError>,
    warned: Cell<bool>,
    /// Held while this run probes although the state cannot be written.
    turn: OnceCell<ProbeTurn>,
}

/// What is decided about a run that asks to be admitted.
pub enum Decision<'a> {
    Granted(ActivePermit<'a>),
    /// The state is unusable; the run goes on without it.
    Unguarded,
    Refused(Refused),
    /// Nothing is to be launched any more, and `brk` ends like this.
    Stopped(Exit),
}

/// A decision, and the change that it made to the breaker if it was stored.
pub struct Asked<'a> {
    pub decision: Decision<'a>,
    pub updated: Option<Updated>,
}

pub struct Refused {
    pub why: RefusedBy,
    /// For people: why, and when to come back.
    pub text: String,
    pub phase: PhaseKind,
    pub retry_at: Option<String>,
    /// What of it people have not seen yet.
    pub news: News,
    /// For how long no run has succeeded, if one ever has.
    pub without_success: Option<Millis>,
    /// How long to wait before the earliest retry that can be useful.
    pub wait: Option<Millis>,
}

/// One of the places for runs at once of one name.
pub enum Slot {
    /// Taken now, or not needed.
    Free(Option<OccupancyLock>),
    Busy,
}

type Question<'a> = &'a dyn Fn(&mut Breaker, Timestamp) -> Admission;

impl<'a> Guard<'a> {
    pub fn new(name: &'a Name, plan: &'a Plan, program: &'a str, context: &'a Context) -> Guard<'a> {
        Guard {
            name,
            plan,
            program,
            context,
            store: context.store(),
            warned: Cell::new(false),
            turn: OnceCell::new(),
        }
    }

    /// Asks to run.
    pub fn admit(&self, mode: Mode) -> Result<Asked<'_>, Error> {
        let task = if self.plan.check.is_some() { Task::Check } else { Task::Command };
        let request = AdmissionRequest {
            mode,
            pid: std::process::id(),
            lifetime: self.plan.lifetime(),
            task,
            cooldown: self.plan.cooldown_parts(),
            notify: self.plan.notify,
        };
        self.ask(mode, &|breaker, now| breaker.admit(&self.plan.policy, &request, now))
    }

    /// Is refused for a reason outside the breaker.
    pub fn refuse(&self, why: RefusedBy, mode: Mode) -> Result<Asked<'_>, Error> {
        let notify = self.plan.notify;
        self.ask(mode, &|breaker, now| breaker.refuse(Refusal::new(why, None), mode, notify, now))
    }

    /// Is refused because the health check of its probe did not close the breaker.
    pub fn refuse_after_check(&self, mode: Mode) -> Result<Asked<'_>, Error> {
        let notify = self.plan.notify;
        self.ask(mode, &|breaker, now| {
            let retry_at = breaker.phase.retry_at();
            let why = if retry_at.is_some() { RefusedBy::Open } else { RefusedBy::Probing };
            breaker.refuse(Refusal::new(why, retry_at), mode, notify, now)
        })
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
                self.warn_once(&format!("{error}; --max-concurrent is not enforced"));
                Ok(Slot::Free(None))
            }
        }
    }

    /// Records how a run ended, and gives its place back. Trouble is a warning: the run is over.
    pub fn record(
        &self,
        permit: ActivePermit,
        finished: &Finished,
        verdict: Verdict,
        told: Told,
        task: Task,
        found: PhaseKind,
    ) -> Option<Recorded> {
        let program = match task {
            Task::Check => "sh",
            Task::Command => self.program,
        };
        let report = Report {
            ending: finished.ending,
            verdict,
            duration: Millis::from(finished.duration),
            program: program.to_owned(),
            task,
            notify: self.plan.notify.filter(|_| task == Task::Command).map(|notify| (notify, found)),
            least_wait: self.granted_wait(verdict, &told),
            told,
        };
        let completed = permit.complete(&report, self.context.env.random());
        let completed =
            completed.inspect_err(|error| self.warn(&format!("{error}; this run is not recorded")));
        let (completion, updated) = completed.ok()?;
        Some(Recorded { updated, completion })
    }

    /// What of the wait that a failed command asked for is granted.
    fn granted_wait(&self, verdict: Verdict, told: &Told) -> Millis {
        match (self.plan.tell, told.retry_after, verdict.outcome()) {
            (Tell::UpTo(most), Some(asked), Outcome::Failure) => asked.min(most),
            (Tell::No | Tell::UpTo(_), _, _) => Millis::ZERO,
        }
    }

    /// This host's own files, if there is a place for them.
    pub fn files(&self) -> Option<&FileStore> {
        self.store.as_ref().ok()?.files().ok()
    }

    fn ask(&self, mode: Mode, question: Question) -> Result<Asked<'_>, Error> {
        let fail_over = match self.plan.on_store_error {
            OnStoreError::Run | OnStoreError::Refuse => FailOver::Never,
            OnStoreError::Local => FailOver::ToLocal,
        };
        let store = self.store.as_ref().map_err(StoreError::clone);
        match store.and_then(|store| store.admit(self.name, &self.plan.policy, fail_over, question)) {
            Ok((Answer::Granted(permit), updated)) => {
                Ok(Asked { decision: Decision::Granted(permit), updated: Some(updated) })
            }
            Ok((Answer::Refused(refusal), updated)) => {
                let refused = refused(&updated.breaker, &updated.left, &updated.clock, &refusal);
                Ok(Asked { decision: Decision::Refused(refused), updated: Some(updated) })
            }
            Err(error) => {
                let decision = self.without_state(error, mode, question)?;
                Ok(Asked { decision, updated: None })
            }
        }
    }

    /// The state cannot be written. What can be read of it still counts.
    fn without_state(
        &self,
        error: StoreError,
        mode: Mode,
        question: Question,
    ) -> Result<Decision<'_>, Error> {
        if let StoreError::Unavailable { .. } = error {
            match self.plan.on_store_error {
                OnStoreError::Refuse => return Err(Error::Store(error)),
                OnStoreError::Run => {
                    self.warn_once(&format!("{error}; running unguarded"));
                    return Ok(Decision::Unguarded);
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
            let mut admission = question(&mut breaker, snapshot.now());
            if let (Admission::Granted(permit), StoreError::Busy { .. }) = (&admission, &error)
                && matches!(permit.kind, PermitKind::Probe(_))
                && !self.takes_turn(store)
            {
                admission = Admission::Refused(Refusal::new(RefusedBy::Probing, None));
            }
            if let Admission::Refused(refusal) = admission {
                self.warn_once(&format!("{error}; this refusal is not counted"));
                let refused = refused(&breaker, &snapshot.alive, &snapshot.clock, &refusal);
                return Ok(Decision::Refused(refused));
            }
        }
        self.warn_once(&format!("{error}; running unguarded"));
        Ok(Decision::Unguarded)
    }

    /// Whether this run, of all that find the lock of a due breaker kept by a process that does nothing, is the one
    /// that probes. What goes wrong here bounds nothing: the run goes on, as with any other trouble with the state.
    fn takes_turn(&self, store: &AnyStore) -> bool {
        if self.turn.get().is_some() {
            return true;
        }
        match store.files().and_then(|files| files.take_probe_turn(self.name)) {
            Ok(Some(turn)) => self.turn.set(turn).is_ok(),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// The state is asked again and again while a run waits or makes attempts; one warning is enough.
    fn warn_once(&self, text: &str) {
        if !self.warned.replace(true) {
            self.warn(text);
        }
    }

    fn warn(&self, text: &str) {
        say(&format!("{}: warning: {text}", self.name));
    }
}

/// Whether a health check lets the run go on: it closed the breaker, or could not be recorded.
pub fn is_closed_after_check(recorded: Option<&Recorded>) -> bool {
    recorded.is_none_or(|recorded| recorded.updated.breaker.phase == Phase::Closed)
}

fn refused(breaker: &Breaker, alive: &[LiveProbe], clock: &Clock, refusal: &Refusal) -> Refused {
    let now = clock.time();
    Refused {
        why: refusal.why,
        news: refusal.news,
        without_success: breaker.last_success.map(|at| now.since(at)),
        text: words::refusal(breaker, alive, refusal, now),
        phase: breaker.phase.kind(),
        retry_at: refusal.retry_at.map(|at| wall_time(clock, at)),
        wait: refusal.retry_at.map(|at| at.since(now)),
    }
}
