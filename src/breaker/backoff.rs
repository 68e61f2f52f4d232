//! How long an open breaker waits. The caller brings the random number.

use super::policy::Policy;
use super::time::Millis;

/// The cooldown of a level: `cooldown × backoff^level`, never above the cap.
pub fn cooldown(policy: &Policy, level: u32) -> Millis {
    let exponent = i32::try_from(level).unwrap_or(i32::MAX);
    policy.cooldown.times(policy.backoff.powi(exponent)).min(policy.max_cooldown)
}

/// The run part of the cooldown of a level: how many runs must be refused. The cap is one of time, and not here.
pub fn cooldown_runs(policy: &Policy, level: u32) -> u32 {
    let exponent = i32::try_from(level).unwrap_or(i32::MAX);
    // `as` saturates, and makes 0 of the NaN that 0 × ∞ gives: no run part stays none.
    (f64::from(policy.cooldown_runs) * policy.backoff.powi(exponent)).ceil() as u32
}

/// `wait` lengthened by up to the policy's jitter. `random` is a number from 0 to 1.
pub fn jittered(policy: &Policy, wait: Millis, random: f64) -> Millis {
    wait.plus(wait.times(policy.jitter.share() * random.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::policy::{Cooldown, Draft, Rate};

    fn policy(cooldown: u64, backoff: f64, max_cooldown: u64) -> Policy {
        let draft = Draft {
            cooldown: Some(Millis(cooldown).into()),
            backoff: Some(backoff),
            max_cooldown: Some(Millis(max_cooldown)),
            ..Draft::default()
        };
        Policy::new(draft).expect("a policy")
    }

    #[test]
    fn doubles_up_to_the_cap() {
        let waits = |policy: Policy| [0, 1, 2, 3].map(|level| cooldown(&policy, level).0);
        assert_eq!(waits(policy(30_000, 2.0, 3_600_000)), [30_000, 60_000, 120_000, 240_000]);
        assert_eq!(waits(policy(1_000, 10.0, 50_000)), [1_000, 10_000, 50_000, 50_000]);
        assert_eq!(waits(policy(1_000, 1.0, 50_000)), [1_000; 4]);
        assert_eq!(waits(policy(1_000, 1.5, 3_000)), [1_000, 1_500, 2_250, 3_000]);
    }

    #[test]
    fn runs_grow_by_the_same_factor_and_are_whole() {
        let runs = |runs, backoff| {
            let cooldown = Some(Cooldown { time: Millis(0), runs });
            let policy = Policy::new(Draft { cooldown, backoff: Some(backoff), ..Draft::default() });
            let policy = policy.expect("a policy");
            [0, 1, 2, 3].map(|level| cooldown_runs(&policy, level))
        };
        assert_eq!(runs(1, 2.0), [1, 2, 4, 8]);
        assert_eq!(runs(3, 1.5), [3, 5, 7, 11]);
        assert_eq!(runs(0, f64::INFINITY), [0; 4]);
        assert_eq!(runs(1, 1e300), [1, u32::MAX, u32::MAX, u32::MAX]);
    }

    #[test]
    fn never_overflows() {
        for (level, backoff) in [(u32::MAX, 2.0), (1_000_000, f64::MAX), (1, f64::INFINITY)] {
            assert_eq!(cooldown(&policy(1, backoff, 77), level), Millis(77), "{level} {backoff}");
            assert_eq!(cooldown(&policy(0, backoff, 77), level), Millis(0), "{level} {backoff}");
        }
    }

    #[test]
    fn jitter_only_lengthens() {
        let mut policy = policy(1_000, 2.0, 10_000);
        policy.jitter = Rate::from_share(0.1).expect("a share");
        for (random, expected) in [(0.0, 1_000), (0.5, 1_050), (1.0, 1_100), (9.0, 1_100), (-1.0, 1_000)] {
            assert_eq!(jittered(&policy, Millis(1_000), random), Millis(expected), "{random}");
        }
        assert_eq!(jittered(&policy, Millis::MAX, 1.0), Millis::MAX);
    }
}
