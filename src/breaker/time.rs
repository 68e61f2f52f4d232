//! Points and lengths of time for the pure core, in whole milliseconds. All arithmetic saturates, and nothing here
//! asks what time it is: the caller brings a `Reading` of the machine's clocks.
//!
//! A breaker keeps a time of its own, its `Clock`. Within one boot that time advances with the boot clock (suspend
//! included), so a wall clock that is set cannot open a gate early; across boots it advances with the wall clock.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// A point on a breaker's own time line: milliseconds since 1970 as long as nobody sets the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

/// What the machine's clocks say at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Wall clock: milliseconds since 1970, UTC.
    pub wall: u64,
    /// Which boot `up` belongs to.
    pub boot: u64,
    /// Milliseconds since that boot, time in suspend included.
    pub up: u64,
}

/// A breaker's time, tied to the clocks of the machine that last wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    time: Timestamp,
    boot: u64,
    up: u64,
    /// Wall clock minus `time`; stays 0 until the wall clock is stepped.
    #[serde(default, skip_serializing_if = "is_zero")]
    skew: i64,
}

/// A difference between wall clock and breaker time that is drift and not a step, in milliseconds.
const DRIFT: u64 = 2_000;

/// How far wall clocks of machines that share a directory may differ before a backward difference across boots
/// is read as a clock that was set back, in milliseconds.
const SET_BACK: u64 = 60_000;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(value: &i64) -> bool {
    *value == 0
}

impl Millis {
    pub const MAX: Millis = Millis(u64::MAX);
    pub const ZERO: Millis = Millis(0);

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn plus(self, other: Millis) -> Millis {
        Millis(self.0.saturating_add(other.0))
    }

    /// The product, rounded to the nearest millisecond; `factor` is finite or infinite and not negative.
    pub fn times(self, factor: f64) -> Millis {
        let product = self.0 as f64 * factor;
        // `as` saturates, and makes 0 of the NaN that 0 × ∞ gives: no time stays no time.
        Millis(product.round() as u64)
    }
}

impl From<Duration> for Millis {
    /// Rounds up, so that above zero stays above zero.
    fn from(duration: Duration) -> Millis {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        Millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl From<Millis> for Duration {
    fn from(millis: Millis) -> Duration {
        Duration::from_millis(millis.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (size, unit) in UNITS {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

impl Timestamp {
    pub fn saturating_add(self, wait: Millis) -> Timestamp {
        Timestamp(self.0.saturating_add(wait.0))
    }

    pub fn saturating_sub(self, length: Millis) -> Timestamp {
        Timestamp(self.0.saturating_sub(length.0))
    }

    /// Time passed since `earlier`; zero where that lies ahead.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Clock {
    pub fn new(reading: Reading) -> Clock {
        Clock { time: Timestamp(reading.wall), boot: reading.boot, up: reading.up, skew: 0 }
    }

    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// This clock, moved on to `reading`. Never backwards.
    #[must_use]
    pub fn advanced(&self, reading: Reading) -> Clock {
        let time = self.time.saturating_add(self.elapsed(reading));
        let expected = self.wall(time);
        let skew = if expected.abs_diff(reading.wall) <= DRIFT {
            self.skew
        } else {
            i64::try_from(i128::from(reading.wall) - i128::from(time.0)).unwrap_or(0)
        };
        Clock { time, boot: reading.boot, up: reading.up, skew }
    }

    /// The wall clock's word for a point of this clock's time, in milliseconds since 1970.
    pub fn wall(&self, at: Timestamp) -> u64 {
        at.0.saturating_add_signed(self.skew)
    }

    fn elapsed(&self, reading: Reading) -> Millis {
        if reading.boot == self.boot {
            return Millis(reading.up.saturating_sub(self.up));
        }
        let last = self.wall(self.time);
        if reading.wall.saturating_add(SET_BACK) >= last {
            Millis(reading.wall.saturating_sub(last))
        } else {
            // The wall clock was set back while no boot clock was watching. At least this boot has passed.
            Millis(reading.up)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Reading = Reading { wall: 1_000_000_000, boot: 1, up: 5_000_000 };

    /// Milliseconds that a breaker's clock moves between `BASE` and another reading.
    fn moved(wall: i64, boot: u64, up: u64) -> u64 {
        let reading = Reading { wall: BASE.wall.saturating_add_signed(wall), boot, up };
        let clock = Clock::new(BASE);
        clock.advanced(reading).time().since(clock.time()).0
    }

    #[test]
    fn the_boot_clock_rules_within_a_boot() {
        let day = 86_400_000;
        assert_eq!(moved(1_000, 1, 5_001_000), 1_000);
        assert_eq!(moved(day, 1, 5_001_000), 1_000, "set forward by a day");
        assert_eq!(moved(-day, 1, 5_001_000), 1_000, "set back by a day");
        assert_eq!(moved(0, 1, 4_000_000), 0, "a boot clock that runs backwards saturates");
    }

    #[test]
    fn the_wall_clock_rules_across_boots() {
        assert_eq!(moved(7_000, 2, 3_000), 7_000);
        assert_eq!(moved(-7_000, 2, 3_000), 0, "two machines whose clocks differ a little");
        assert_eq!(moved(-61_000, 2, 3_000), 3_000, "set back: at least this boot has passed");
        assert_eq!(moved(i64::MIN, 2, u64::MAX), u64::MAX - BASE.wall, "saturates");
    }

    #[test]
    fn the_wall_follows_a_step_and_ignores_drift() {
        let clock = Clock::new(BASE);
        let at = clock.time();
        let slewed = clock.advanced(Reading { wall: BASE.wall + 1_999, ..BASE });
        assert_eq!(slewed.wall(at), BASE.wall);
        let stepped = clock.advanced(Reading { wall: BASE.wall + 3_600_000, ..BASE });
        assert_eq!(stepped.wall(at), BASE.wall + 3_600_000);
        assert_eq!(stepped.time(), at);
        let back = clock.advanced(Reading { wall: 0, ..BASE });
        assert_eq!(back.wall(at), 0);
    }

    #[test]
    fn lengths_print_in_full_and_never_round_to_zero() {
        for (millis, text) in [
            (0, "0s"),
            (1, "1ms"),
            (1_500, "1s500ms"),
            (90_000, "1m30s"),
            (3_600_000, "1h"),
            (90_061_000, "1d1h1m1s"),
        ] {
            assert_eq!(Millis(millis).to_string(), text);
        }
        assert_eq!(Millis::from(Duration::from_nanos(1)), Millis(1));
        assert_eq!(Millis::from(Duration::MAX), Millis::MAX);
        assert_eq!(Millis(u64::MAX).times(2.0), Millis::MAX);
        assert_eq!(Millis(0).times(f64::INFINITY), Millis(0));
    }
}
