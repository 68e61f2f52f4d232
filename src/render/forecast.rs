//! What a run would get now, without asking for it: an admission to a copy of the breaker.

use crate::breaker::event::RefusedBy;
use crate::breaker::time::Timestamp;
use crate::breaker::{Admission, AdmissionRequest, Mode, PermitKind, Refusal, Task};
use crate::store::Snapshot;

#[derive(Clone, Debug, PartialEq)]
pub enum Forecast {
    Run,
    /// Held closed: it would run and move nothing.
    Passthrough,
    Probe,
    /// Open until then.
    Wait(Timestamp),
    /// All places of probes are taken.
    Probing,
    /// Held open, until then or until it is released.
    Held(Option<Timestamp>),
}

/// By the policy of the breaker's last run. Busy is not foreseen: that limit is of each run's own.
pub fn of(snapshot: &Snapshot) -> Forecast {
    match admission(snapshot) {
        Admission::Granted(permit) => match permit.kind {
            PermitKind::Normal => Forecast::Run,
            PermitKind::Probe(_) => Forecast::Probe,
            PermitKind::Passthrough => Forecast::Passthrough,
        },
        Admission::Refused(Refusal { why: RefusedBy::Held, retry_at }) => Forecast::Held(retry_at),
        Admission::Refused(Refusal { why: RefusedBy::Open, retry_at: Some(retry_at) }) => {
            Forecast::Wait(forced_at(snapshot).map_or(retry_at, |forced| retry_at.min(forced)))
        }
        Admission::Refused(_) => Forecast::Probing,
    }
}

pub fn admission(snapshot: &Snapshot) -> Admission {
    let mut breaker = snapshot.without_dead_probes();
    let policy = breaker.policy.clone();
    let request = AdmissionRequest { mode: Mode::Enforce, pid: 0, lifetime: None, task: Task::Command };
    breaker.admit(&policy, &request, snapshot.now())
}

/// When a run is admitted however open the breaker is, because the last launch is so long ago.
pub fn forced_at(snapshot: &Snapshot) -> Option<Timestamp> {
    let breaker = &snapshot.breaker;
    let every = breaker.policy.run_at_least_every?;
    let opening = breaker.phase.opening()?;
    Some(breaker.last_launch.unwrap_or(opening.at).saturating_add(every))
}
