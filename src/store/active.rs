//! Admitting a run and recording its result: in the store that is configured, or in this host's files while a shared
//! store is unavailable. What refuses a run is the breaker's decision; what to do when no store can be used is the
//! caller's.

use super::place::OccupancyLock;
use super::{AdmittedBy, AnyStore, Lease, Store, StoreError, Updated};
use crate::breaker::policy::Policy;
use crate::breaker::time::Timestamp;
use crate::breaker::{Admission, Breaker, Completion, Permit, PermitKind, PhaseKind, Refusal, Report};
use crate::name::Name;

/// What may be used instead of a shared store that is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOver {
    ToLocal,
    Never,
}

/// What a store answers a run that asks to be admitted.
#[derive(Debug)]
pub enum Answer<'a> {
    Granted(ActivePermit<'a>),
    Refused(Refusal),
}

/// The right to run, with all that is held for it. Dropping it without `complete` loses the result.
#[derive(Debug)]
pub struct ActivePermit<'a> {
    store: &'a AnyStore,
    name: &'a Name,
    policy: &'a Policy,
    permit: Permit,
    /// The lock of a probe's place on this host.
    pub place: Option<OccupancyLock>,
    /// The same on a shared store.
    _lease: Option<Lease>,
    admitted_by: AdmittedBy,
    fail_over: FailOver,
    /// The phase as it was found.
    pub phase_before: PhaseKind,
}

impl AnyStore {
    /// Asks whether a run is admitted. `request` puts the question to the breaker, and may be called more than once.
    pub fn admit<'a>(
        &'a self,
        name: &'a Name,
        policy: &'a Policy,
        fail_over: FailOver,
        request: &dyn Fn(&mut Breaker, Timestamp) -> Admission,
    ) -> Result<(Answer<'a>, Updated), StoreError> {
        let (admission, mut updated) = self.update_for_run(name, policy, fail_over, request)?;
        let answer = match admission {
            Admission::Refused(refusal) => Answer::Refused(refusal),
            Admission::Granted(permit) => Answer::Granted(ActivePermit {
                store: self,
                name,
                policy,
                permit,
                place: updated.place.take(),
                _lease: updated.lease.take(),
                admitted_by: updated.admitted_by,
                fail_over,
                phase_before: updated.phase_before(),
            }),
        };
        Ok((answer, updated))
    }

    fn update_for_run<T>(
        &self,
        name: &Name,
        policy: &Policy,
        fail_over: FailOver,
        step: &dyn Fn(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        match (self, fail_over) {
            #[cfg(feature = "redis")]
            (AnyStore::Shared(shared), FailOver::ToLocal) => {
                shared.update_or_fall_back(name, policy, &mut |breaker, now| step(breaker, now))
            }
            (store, FailOver::ToLocal | FailOver::Never) => {
                store.update(name, policy, &mut |breaker, now| step(breaker, now))
            }
        }
    }
}

impl ActivePermit<'_> {
    pub fn is_probe(&self) -> bool {
        matches!(self.permit.kind, PermitKind::Probe(_))
    }

    /// Notes in the probe's place which process is the command's.
    pub fn note_command(&mut self, pid: u32) {
        if let Some(place) = &mut self.place {
            place.note_command(pid);
        }
    }

    /// Records how the run ended: in the store that admitted it, or in this host's files if that has become
    /// unavailable and may be replaced. The place and the lease are given back after that.
    pub fn complete(self, report: &Report, random: f64) -> Result<(Completion, Updated), StoreError> {
        let record = |breaker: &mut Breaker, now: Timestamp| {
            let has_failed_over = self.admitted_by == AdmittedBy::Primary && breaker.is_falling_back();
            let permit = if has_failed_over { breaker.fallback_permit() } else { self.permit.clone() };
            breaker.complete(&permit, report.clone(), self.policy, now, random)
        };
        match self.admitted_by {
            AdmittedBy::Local => {
                let files = self.store.files()?;
                files.update(self.name, self.policy, &mut |breaker, now| record(breaker, now))
            }
            AdmittedBy::Primary => self.store.update_for_run(self.name, self.policy, self.fail_over, &record),
        }
    }
}
