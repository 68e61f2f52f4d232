//! What an operator does to a breaker. Each of these raises the generation, so runs in flight become late.

use super::complete::Wait;
use super::event::{EventKind, Hold, OpenedBy, Told};
use super::time::Timestamp;
use super::{Breaker, Phase, TripFor, backoff};

impl Breaker {
    /// Closed, and everything that could keep it from running is forgotten. The totals stay.
    pub fn reset(&mut self, now: Timestamp) {
        self.expire_hold(now);
        self.phase = Phase::Closed;
        self.since = now;
        self.streak = 0;
        self.window.clear();
        self.level = 0;
        self.cooldown = None;
        self.closed_at = None;
        self.hold = None;
        self.probes.clear();
        self.generation += 1;
        self.emit(EventKind::Reset);
    }

    /// Opens at an operator's word; on an open breaker, chooses a new `retry_at`.
    pub fn trip(&mut self, length: TripFor, reason: Option<String>, now: Timestamp, random: f64) {
        self.expire_hold(now);
        let level = match self.phase {
            Phase::Closed => self.next_level(now),
            Phase::Open(_) | Phase::HalfOpen { .. } => self.level,
        };
        let wait = match length {
            TripFor::Exactly(wait) => wait,
            TripFor::CooldownOf(policy) => {
                backoff::jittered(policy, backoff::cooldown(policy, level), random)
            }
        };
        let retry_at = {
            let why = OpenedBy::Operator { reason: reason.clone() };
            self.open(why, Told::default(), level, Wait::of_time(wait), now)
        };
        self.emit(EventKind::Tripped { reason, retry_at });
    }

    /// The operator's override; the last one is in force. Says whether it differs from the one before it.
    pub fn hold(&mut self, hold: Hold, now: Timestamp) -> bool {
        self.expire_hold(now);
        if self.hold.as_ref() == Some(&hold) {
            return false;
        }
        self.hold = Some(hold.clone());
        self.generation += 1;
        self.emit(EventKind::Held { hold });
        true
    }

    /// Ends an override; says whether there was one.
    pub fn release(&mut self, now: Timestamp) -> bool {
        let held = self.active_hold(now).is_some();
        if held {
            self.drop_hold();
        } else {
            self.expire_hold(now);
        }
        held
    }

    /// The override that holds at this time.
    pub fn active_hold(&self, now: Timestamp) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.until.is_none_or(|until| now < until))
    }

    /// Ends an override whose time has come.
    pub(super) fn expire_hold(&mut self, now: Timestamp) {
        if self.hold.is_some() && self.active_hold(now).is_none() {
            self.drop_hold();
        }
    }

    pub(super) fn drop_hold(&mut self) {
        self.hold = None;
        self.generation += 1;
        self.emit(EventKind::Released);
    }
}
