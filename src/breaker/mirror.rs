//! A host's own breaker in the shadow of a shared one: it keeps what this host has seen there that refuses runs, so
//! that nothing gets weaker when the shared one cannot be reached, and takes its place meanwhile.

use serde::{Deserialize, Serialize};

use super::complete::Wait;
use super::event::{EventKind, Hold};
use super::time::Timestamp;
use super::{Breaker, Permit, PermitKind, Phase};

/// What a breaker keeps of a shared one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mirror {
    pub role: Role,
    /// What was last seen; `None`: never anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<RemoteState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The shared one is in use.
    #[serde(rename = "copy")]
    Mirror,
    /// The shared one is unavailable, and this one is in use instead.
    #[serde(rename = "stand-in")]
    Fallback,
}

/// What refuses runs at a shared breaker, in its own time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteState {
    /// Which breaker it was.
    pub id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// When the next run may try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

impl RemoteState {
    /// What a shared breaker shows now.
    pub fn of(shared: &Breaker, now: Timestamp) -> RemoteState {
        let opening = shared.phase.opening();
        RemoteState {
            id: shared.id,
            opened: opening.map(|opening| opening.at),
            retry_at: opening.map(|opening| opening.retry_at),
            hold: shared.active_hold(now).cloned(),
        }
    }

    /// Whether a host that has kept nothing so far has something to keep.
    pub fn refuses(&self) -> bool {
        self.opened.is_some() || self.hold.is_some()
    }
}

impl Breaker {
    /// Whether this is what a copy of that would be.
    pub fn is_copy_of(&self, seen: &RemoteState) -> bool {
        match &self.mirror {
            None => !seen.refuses(),
            Some(Mirror { role, seen: kept }) => *role == Role::Mirror && kept.as_ref() == Some(seen),
        }
    }

    /// Takes over what refuses runs at a shared breaker, and gives up what it had from there that is over. Each side
    /// has a time of its own, and lengths are what they share.
    pub fn copy(&mut self, shared: &Breaker, shared_now: Timestamp, now: Timestamp) {
        let seen = RemoteState::of(shared, shared_now);
        let before = self.mirror.replace(Mirror { role: Role::Mirror, seen: Some(seen.clone()) });
        let stood_in = before.as_ref().is_some_and(|mirror| mirror.role == Role::Fallback);
        let kept = before.and_then(|mirror| mirror.seen);
        if stood_in {
            self.emit(EventKind::StoreBack);
        }
        let kept_hold = kept.as_ref().and_then(|kept| kept.hold.as_ref());
        if seen.hold.as_ref() != kept_hold {
            match seen.hold.clone() {
                Some(hold) => {
                    let until = hold.until.map(|until| now.saturating_add(until.since(shared_now)));
                    let _ = self.hold(Hold { until, ..hold }, now);
                }
                None if self.hold.is_some() => self.drop_hold(),
                None => {}
            }
        }
        let was_open = kept.as_ref().is_some_and(|kept| kept.opened.is_some());
        match shared.phase.opening() {
            Some(opening) => {
                // The same opening again, and still in force here: its probes here and there have moved nothing.
                let same = kept.as_ref().is_some_and(|kept| {
                    (kept.id, kept.opened, kept.retry_at) == (seen.id, seen.opened, seen.retry_at)
                });
                if !same || self.phase == Phase::Closed {
                    let runs = opening.runs_left(shared.totals.refused, shared_now);
                    let limit = opening.runs.as_ref().map(|part| part.until.since(shared_now));
                    let time = opening.retry_at.since(shared_now);
                    let wait = Wait { time, untold: time, runs, limit: limit.unwrap_or_default() };
                    let (why, told) = (opening.why.clone(), opening.told.clone());
                    let retry_at = self.open(why.clone(), told.clone(), shared.level, wait, now);
                    self.cooldown = shared.cooldown;
                    self.emit(EventKind::Opened { why, retry_at, runs, told });
                }
            }
            None if was_open && self.phase != Phase::Closed => self.close(now),
            None => {}
        }
    }

    /// From here on used in the place of a shared breaker, until that is copied again. `why` it is away is told once.
    pub fn fall_back(&mut self, why: &str) {
        if self.is_falling_back() {
            return;
        }
        let seen = self.mirror.take().and_then(|mirror| mirror.seen);
        self.mirror = Some(Mirror { role: Role::Fallback, seen });
        self.emit(EventKind::StoreLost { why: why.to_owned() });
    }

    pub fn is_falling_back(&self) -> bool {
        matches!(self.mirror, Some(Mirror { role: Role::Fallback, .. }))
    }

    /// A permit for a run that a shared breaker admitted, and whose result this one hears in its place.
    pub fn fallback_permit(&self) -> Permit {
        match self.phase {
            Phase::Closed => self.permit(PermitKind::Normal),
            // Not admitted as a probe of this one, so it decides nothing here.
            Phase::Open(_) | Phase::HalfOpen { .. } => self.permit(PermitKind::Passthrough),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::event::{HoldAs, OpenedBy};
    use crate::breaker::policy::{Draft, Policy};
    use crate::breaker::time::Millis;
    use crate::breaker::{Admission, AdmissionRequest, CooldownParts, Mode, Task, TripFor};

    fn breaker(id: u64, now: u64) -> Breaker {
        let policy = Policy::new(Draft::default()).expect("the defaults agree");
        Breaker::new(id, policy, Timestamp(now))
    }

    fn tripped(id: u64, now: u64, wait: u64) -> Breaker {
        let mut shared = breaker(id, now);
        shared.trip(TripFor::Exactly(Millis(wait)), None, Timestamp(now), 0.0);
        shared
    }

    fn is_refused(breaker: &Breaker, now: u64) -> bool {
        let request = AdmissionRequest {
            mode: Mode::Enforce,
            pid: 1,
            lifetime: None,
            task: Task::Command,
            cooldown: CooldownParts::Both,
            notify: None,
        };
        let policy = breaker.policy.clone();
        matches!(breaker.clone().admit(&policy, &request, Timestamp(now)), Admission::Refused(_))
    }

    #[test]
    fn an_opening_is_taken_over_by_its_length() {
        let shared = tripped(7, 5_000_000, 60_000);
        let mut own = breaker(1, 100);
        own.copy(&shared, Timestamp(5_010_000), Timestamp(1_000));
        assert!(own.is_copy_of(&RemoteState::of(&shared, Timestamp(5_010_000))));
        assert!(is_refused(&own, 50_999));
        assert!(!is_refused(&own, 51_000), "a copy lets the first probe in when the shared one would");
        assert!(
            matches!(own.phase.opening(), Some(opening) if opening.why == OpenedBy::Operator { reason: None })
        );
    }

    #[test]
    fn a_copy_closes_when_the_shared_one_has_closed() {
        let mut shared = tripped(7, 0, 60_000);
        let mut own = breaker(1, 0);
        own.copy(&shared, Timestamp(0), Timestamp(0));
        shared.reset(Timestamp(10));
        own.copy(&shared, Timestamp(10), Timestamp(10));
        assert_eq!(own.phase, Phase::Closed);
        assert!(!is_refused(&own, 10));
    }

    #[test]
    fn what_opened_here_while_standing_in_stays() {
        let shared = breaker(7, 0);
        let mut own = breaker(1, 0);
        own.fall_back("gone");
        own.trip(TripFor::Exactly(Millis(60_000)), None, Timestamp(1), 0.0);
        own.copy(&shared, Timestamp(2), Timestamp(2));
        assert!(is_refused(&own, 3));
    }

    #[test]
    fn the_same_opening_is_copied_again_where_it_was_closed_meanwhile() {
        let shared = tripped(7, 0, 60_000);
        let mut own = breaker(1, 0);
        own.copy(&shared, Timestamp(0), Timestamp(0));
        own.fall_back("gone");
        own.reset(Timestamp(1));
        own.copy(&shared, Timestamp(2), Timestamp(2));
        assert!(is_refused(&own, 3));
        let generation = own.generation;
        own.fall_back("gone");
        own.copy(&shared, Timestamp(4), Timestamp(4));
        assert_eq!(own.generation, generation, "an opening that holds is not opened again");
    }

    #[test]
    fn an_override_is_taken_over_and_released() {
        let mut shared = breaker(7, 1_000);
        let hold = Hold { hold: HoldAs::Open, until: Some(Timestamp(2_000)), reason: None };
        shared.hold(hold, Timestamp(1_000));
        let mut own = breaker(1, 0);
        own.copy(&shared, Timestamp(1_500), Timestamp(10));
        assert!(is_refused(&own, 509));
        assert!(!is_refused(&own, 510));
        shared.release(Timestamp(1_600));
        own.copy(&shared, Timestamp(1_600), Timestamp(110));
        assert!(!is_refused(&own, 111));
    }

    #[test]
    fn standing_in_is_told_once_and_its_end_too() {
        let shared = breaker(7, 0);
        let mut own = breaker(1, 0);
        own.fall_back("gone");
        own.fall_back("gone");
        own.copy(&shared, Timestamp(0), Timestamp(0));
        own.copy(&shared, Timestamp(1), Timestamp(1));
        let words: Vec<_> = own.take_events().into_iter().map(|event| event.kind).collect();
        assert_eq!(words, [EventKind::StoreLost { why: "gone".to_owned() }, EventKind::StoreBack]);
    }

    #[test]
    fn a_result_from_the_shared_breaker_counts_here_only_while_closed() {
        let mut own = breaker(1, 0);
        assert_eq!(own.fallback_permit().kind, PermitKind::Normal);
        own.trip(TripFor::Exactly(Millis(60_000)), None, Timestamp(1), 0.0);
        assert_eq!(own.fallback_permit().kind, PermitKind::Passthrough);
    }
}
