//! When to open, how long to stay open, how to close again: thresholds that are valid by construction.
//!
//! A `Draft` is what a user wrote, every part optional; `Policy::new` gives it the defaults or says which two parts
//! contradict each other.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::time::Millis;

/// A share from 0 to 1, in millionths: comparing shares of whole numbers is then exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u32);

/// How much of the past a rate is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowSize {
    /// The last so many classified runs.
    Count(NonZeroU32),
    /// The classified runs that ended in the last so many milliseconds.
    Span(Millis),
}

/// How long an open breaker waits: for a time, for a number of refused runs, or for both. A part that is 0 is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub time: Millis,
    pub runs: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Failures in a row that open; `None` switches the rule off.
    pub failures: Option<NonZeroU32>,
    pub failure_rate: Option<Rate>,
    pub slow_rate: Option<Rate>,
    /// A run that took longer is slow; marked in the history even without a rate.
    pub slow_after: Option<Millis>,
    pub window: WindowSize,
    /// The rates speak only over a window of at least so many runs.
    pub min_calls: NonZeroU32,
    /// The time part of the cooldown.
    pub cooldown: Millis,
    /// The run part of the cooldown; version 0.1.0 had none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cooldown_runs: u32,
    pub backoff: f64,
    pub max_cooldown: Millis,
    pub jitter: Rate,
    pub probes: NonZeroU32,
    pub probe_successes: NonZeroU32,
    pub probe_failures: NonZeroU32,
    pub run_at_least_every: Option<Millis>,
}

/// What was written down of a policy, before defaults and before contradictions are looked for.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub failures: Option<u32>,
    pub failure_rate: Option<Rate>,
    pub slow_rate: Option<Rate>,
    pub slow_after: Option<Millis>,
    pub window: Option<WindowSize>,
    pub min_calls: Option<NonZeroU32>,
    pub cooldown: Option<Cooldown>,
    pub backoff: Option<f64>,
    pub max_cooldown: Option<Millis>,
    pub jitter: Option<Rate>,
    pub probes: Option<NonZeroU32>,
    pub probe_successes: Option<NonZeroU32>,
    pub probe_failures: Option<NonZeroU32>,
    pub run_at_least_every: Option<Millis>,
}

/// Two parts of a draft that cannot both hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    MinCallsAboveWindow { min_calls: u32, window: u32 },
    SlowRateWithoutSlowAfter,
    MaxCooldownBelowCooldown { max_cooldown: Millis, cooldown: Millis },
    BackoffBelowOne,
}

const FAILURES: u32 = 3;
const WINDOW: u32 = 20;
const MIN_CALLS: u32 = 10;
/// A job that starts every ten minutes never meets a cooldown of a minute: without the run part it would launch each time.
const COOLDOWN: Cooldown = Cooldown { time: Millis(60_000), runs: 1 };
const BACKOFF: f64 = 2.0;
const MAX_COOLDOWN: Millis = Millis(3_600_000);
const JITTER: Rate = Rate(100_000);

const ONE: NonZeroU32 = NonZeroU32::MIN;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl Rate {
    pub const MAX: Rate = Rate(1_000_000);

    /// The nearest rate to a share; above zero never becomes zero. `None` outside 0 to 1.
    pub fn from_share(share: f64) -> Option<Rate> {
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let millionths = (share * 1e6).round() as u32;
        Some(Rate(if share > 0.0 { millionths.max(1) } else { 0 }))
    }

    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// Whether `part` of `whole` is this rate or more.
    pub fn is_reached(self, part: u32, whole: u32) -> bool {
        u64::from(part) * u64::from(Rate::MAX.0) >= u64::from(self.0) * u64::from(whole)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

impl From<Millis> for Cooldown {
    fn from(time: Millis) -> Cooldown {
        Cooldown { time, runs: 0 }
    }
}

impl fmt::Display for Cooldown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.runs == 1 { "" } else { "s" };
        match (self.time, self.runs) {
            (time, 0) => write!(f, "{time}"),
            (Millis::ZERO, runs) => write!(f, "{runs}run{plural}"),
            (time, runs) => write!(f, "{time},{runs}run{plural}"),
        }
    }
}

impl fmt::Display for WindowSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowSize::Count(count) => write!(f, "{count}"),
            WindowSize::Span(span) => write!(f, "{span}"),
        }
    }
}

impl Policy {
    pub fn new(draft: Draft) -> Result<Policy, Contradiction> {
        let has_rate_rule = draft.failure_rate.is_some() || draft.slow_rate.is_some();
        let failures = match draft.failures {
            Some(failures) => NonZeroU32::new(failures),
            None if has_rate_rule => None,
            None => NonZeroU32::new(FAILURES),
        };
        if draft.slow_rate.is_some() && draft.slow_after.is_none() {
            return Err(Contradiction::SlowRateWithoutSlowAfter);
        }
        let window = draft.window.unwrap_or(WindowSize::Count(ONE.saturating_add(WINDOW - 1)));
        let min_calls = match (draft.min_calls, window) {
            (Some(min_calls), WindowSize::Count(window)) if min_calls > window => {
                let (min_calls, window) = (min_calls.get(), window.get());
                return Err(Contradiction::MinCallsAboveWindow { min_calls, window });
            }
            (Some(min_calls), _) => min_calls,
            (None, WindowSize::Count(window)) => window.min(ONE.saturating_add(MIN_CALLS - 1)),
            (None, WindowSize::Span(_)) => ONE.saturating_add(MIN_CALLS - 1),
        };
        let shortened = COOLDOWN.time.min(draft.max_cooldown.unwrap_or(Millis::MAX));
        let cooldown = draft.cooldown.unwrap_or(Cooldown { time: shortened, ..COOLDOWN });
        let max_cooldown = draft.max_cooldown.unwrap_or(MAX_COOLDOWN.max(cooldown.time));
        if max_cooldown < cooldown.time {
            return Err(Contradiction::MaxCooldownBelowCooldown { max_cooldown, cooldown: cooldown.time });
        }
        let backoff = draft.backoff.unwrap_or(BACKOFF);
        if backoff.is_nan() || backoff < 1.0 {
            return Err(Contradiction::BackoffBelowOne);
        }
        Ok(Policy {
            failures,
            failure_rate: draft.failure_rate,
            slow_rate: draft.slow_rate,
            slow_after: draft.slow_after,
            window,
            min_calls,
            cooldown: cooldown.time,
            cooldown_runs: cooldown.runs,
            backoff,
            max_cooldown,
            jitter: draft.jitter.unwrap_or(JITTER),
            probes: draft.probes.unwrap_or(ONE),
            probe_successes: draft.probe_successes.unwrap_or(ONE),
            probe_failures: draft.probe_failures.unwrap_or(ONE),
            run_at_least_every: draft.run_at_least_every,
        })
    }

    pub fn cooldown(&self) -> Cooldown {
        Cooldown { time: self.cooldown, runs: self.cooldown_runs }
    }

    pub fn is_slow(&self, duration: Millis) -> bool {
        self.slow_after.is_some_and(|limit| duration > limit)
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::new(Draft::default()).expect("the defaults agree with each other")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: u32) -> Option<NonZeroU32> {
        NonZeroU32::new(value)
    }

    fn count(value: u32) -> Option<WindowSize> {
        number(value).map(WindowSize::Count)
    }

    #[test]
    fn defaults() {
        let policy = Policy::default();
        assert_eq!(policy.failures, number(3));
        assert_eq!(Some(policy.window), count(20));
        assert_eq!(policy.min_calls.get(), 10);
        assert_eq!((policy.cooldown(), policy.max_cooldown), (COOLDOWN, Millis(3_600_000)));
        assert_eq!(policy.cooldown().to_string(), "1m,1run");
        assert_eq!((policy.backoff, policy.jitter), (2.0, Rate(100_000)));
    }

    #[test]
    fn a_rate_rule_switches_the_streak_rule_off_unless_it_is_given() {
        let rate = Rate::from_share(0.5);
        let policy = |failures, failure_rate| {
            Policy::new(Draft { failures, failure_rate, ..Draft::default() }).map(|policy| policy.failures)
        };
        assert_eq!(policy(None, rate), Ok(None));
        assert_eq!(policy(Some(5), rate), Ok(number(5)));
        assert_eq!(policy(Some(0), None), Ok(None));
    }

    #[test]
    fn min_calls_is_never_more_than_a_count_window() {
        let calls = |min_calls, window| {
            let policy = Policy::new(Draft { min_calls, window, ..Draft::default() });
            policy.map(|policy| policy.min_calls.get())
        };
        assert_eq!(calls(None, count(4)), Ok(4));
        assert_eq!(calls(number(4), count(4)), Ok(4));
        let refused = Contradiction::MinCallsAboveWindow { min_calls: 5, window: 4 };
        assert_eq!(calls(number(5), count(4)), Err(refused));
        assert_eq!(calls(number(50), Some(WindowSize::Span(Millis(1)))), Ok(50));
    }

    #[test]
    fn the_cap_follows_what_is_given_alone() {
        let lengths = |cooldown: Option<Millis>, max_cooldown| {
            let draft = Draft { cooldown: cooldown.map(Cooldown::from), max_cooldown, ..Draft::default() };
            Policy::new(draft).map(|policy| (policy.cooldown.0, policy.max_cooldown.0))
        };
        assert_eq!(lengths(Some(Millis(7_200_000)), None), Ok((7_200_000, 7_200_000)));
        assert_eq!(lengths(None, Some(Millis(5))), Ok((5, 5)));
        assert!(lengths(Some(Millis(6)), Some(Millis(5))).is_err());
    }

    #[test]
    fn other_contradictions() {
        let slow = Draft { slow_rate: Rate::from_share(0.5), ..Draft::default() };
        assert_eq!(Policy::new(slow), Err(Contradiction::SlowRateWithoutSlowAfter));
        for backoff in [0.99, -1.0, f64::NAN] {
            let draft = Draft { backoff: Some(backoff), ..Draft::default() };
            assert_eq!(Policy::new(draft), Err(Contradiction::BackoffBelowOne));
        }
    }

    #[test]
    fn rates_compare_exactly() {
        for percent in 1..=100_u32 {
            let rate = Rate::from_share(f64::from(percent) / 100.0).expect("a share");
            assert!(rate.is_reached(percent, 100), "{percent} of 100");
            assert!(!rate.is_reached(percent - 1, 100), "{} of 100", percent - 1);
        }
        assert_eq!(Rate::from_share(1e-12), Some(Rate(1)), "above zero is never zero");
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::from_share(share), None);
        }
    }
}
