//! What a run would get now, without asking for it: an admission to a copy of the breaker.
//!
//! Not here: limits that are not the breaker's, such as the number of concurrent runs.

use crate::breaker::time::Timestamp;
use crate::breaker::{Admission, AdmissionRequest, CooldownParts, Mode, PermitKind, Refusal, Task};
use crate::store::Snapshot;

#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    Run,
    /// Held closed: it would run, and its result would change nothing.
    Passthrough,
    Probe,
    Refused(Refusal),
}

/// The forecast, with the policy of the breaker's last run.
pub fn of(snapshot: &Snapshot) -> Forecast {
    match admission(snapshot) {
        Admission::Granted(permit) => match permit.kind {
            PermitKind::Normal => Forecast::Run,
            PermitKind::Probe(_) => Forecast::Probe,
            PermitKind::Passthrough => Forecast::Passthrough,
        },
        Admission::Refused(refusal) => Forecast::Refused(refusal),
    }
}

pub fn admission(snapshot: &Snapshot) -> Admission {
    let mut breaker = snapshot.without_dead_probes();
    let policy = breaker.policy.clone();
    let request = AdmissionRequest {
        // This only looks: a refusal here must not count towards the cooldown.
        mode: Mode::Poll,
        pid: 0,
        lifetime: None,
        task: Task::Command,
        cooldown: CooldownParts::Both,
        notify: None,
    };
    breaker.admit(&policy, &request, snapshot.now())
}

/// When a run is admitted even while the breaker is open, because the last launch was long ago.
pub fn forced_at(snapshot: &Snapshot) -> Option<Timestamp> {
    snapshot.breaker.forced_at(&snapshot.breaker.policy)
}
