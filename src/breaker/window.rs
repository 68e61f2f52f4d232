//! The sliding window: the classified runs that the two rates are taken over.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::policy::WindowSize;
use super::time::Timestamp;

/// One classified run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it ended.
    pub at: Timestamp,
    pub failed: bool,
    pub slow: bool,
}

/// Runs in the order of their ends. It keeps what the policy of the last push needed; another policy's view of it is
/// a view of what was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub(super) calls: VecDeque<Call>,
}

/// What a window holds, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub total: u32,
    pub failures: u32,
    pub slow: u32,
}

impl Window {
    pub fn push(&mut self, call: Call, size: WindowSize) {
        // Ends are recorded in order, and the clock never runs backwards.
        let at = self.calls.back().map_or(call.at, |last| call.at.max(last.at));
        self.calls.push_back(Call { at, ..call });
        let surplus = self.calls.len() - self.view(size, at).count();
        self.calls.drain(..surplus);
    }

    pub fn counts(&self, size: WindowSize, now: Timestamp) -> Counts {
        let mut counts = Counts::default();
        for call in self.view(size, now) {
            counts.total += 1;
            counts.failures += u32::from(call.failed);
            counts.slow += u32::from(call.slow);
        }
        counts
    }

    pub fn clear(&mut self) {
        self.calls.clear();
    }

    fn view(&self, size: WindowSize, now: Timestamp) -> impl Iterator<Item = &Call> {
        let (skip, since) = match size {
            WindowSize::Count(count) => {
                (self.calls.len().saturating_sub(count.get() as usize), Timestamp::default())
            }
            WindowSize::Span(span) => (0, now.saturating_sub(span)),
        };
        self.calls.iter().skip(skip).filter(move |call| call.at >= since)
    }
}

// A state is written with every record, so the window is written short: for each call the milliseconds since the one
// before, then a letter: `s` success, `f` failure, in capitals where it was slow.

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.calls.len() * 6);
        let mut last = Timestamp::default();
        for call in &self.calls {
            let letter = match (call.failed, call.slow) {
                (false, false) => 's',
                (false, true) => 'S',
                (true, false) => 'f',
                (true, true) => 'F',
            };
            let _ = write!(text, "{}{letter}", call.at.since(last).0);
            last = call.at;
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Window, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut calls = VecDeque::new();
        let mut at = Timestamp::default();
        for part in text.split_inclusive(|c: char| c.is_ascii_alphabetic()) {
            let letter = part.chars().next_back().unwrap_or(' ');
            let millis = part[..part.len() - letter.len_utf8()].parse();
            let (Ok(millis), 's' | 'S' | 'f' | 'F') = (millis, letter) else {
                return Err(de::Error::custom(format_args!("not a call of a window: {part:?}")));
            };
            at = Timestamp(at.0.saturating_add(millis));
            calls.push_back(Call {
                at,
                failed: letter.eq_ignore_ascii_case(&'f'),
                slow: letter.is_ascii_uppercase(),
            });
        }
        Ok(Window { calls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::time::Millis;
    use std::num::NonZeroU32;

    fn filled(size: WindowSize, ends: &[u64]) -> Window {
        let mut window = Window::default();
        for &end in ends {
            window.push(Call { at: Timestamp(end), failed: end % 2 == 1, slow: end % 3 == 0 }, size);
        }
        window
    }

    fn check(size: WindowSize, ends: &[u64], now: u64, expected: (u32, u32, u32)) {
        let counts = filled(size, ends).counts(size, Timestamp(now));
        let found = (counts.total, counts.failures, counts.slow);
        assert_eq!(found, expected, "{size:?} over {ends:?} at {now}");
    }

    #[test]
    fn a_count_window_holds_the_last_calls() {
        let three = WindowSize::Count(NonZeroU32::new(3).expect("not zero"));
        check(three, &[], 0, (0, 0, 0));
        check(three, &[1, 2], 9, (2, 1, 0));
        check(three, &[1, 3, 5, 7, 9], 9, (3, 3, 1));
    }

    #[test]
    fn a_span_window_holds_what_ended_within_it() {
        let ten = WindowSize::Span(Millis(10));
        check(ten, &[100, 105, 110], 110, (3, 1, 1));
        check(ten, &[100, 105, 110], 111, (2, 1, 1));
        check(ten, &[100, 105, 110], 121, (0, 0, 0));
    }

    #[test]
    fn a_window_survives_its_text() {
        let ten = WindowSize::Count(NonZeroU32::new(10).expect("not zero"));
        for ends in [&[][..], &[0], &[1_764_460_800_000, 1_764_460_800_007, 1_764_460_900_003]] {
            let window = filled(ten, ends);
            let text = serde_json::to_string(&window).expect("text");
            assert_eq!(serde_json::from_str::<Window>(&text).expect("a window"), window, "{text}");
        }
        for wrong in ["\"s\"", "\"1\"", "\"1x\"", "\"-1s\"", "\"1s2\"", "3", "\"é\""] {
            assert!(serde_json::from_str::<Window>(wrong).is_err(), "{wrong}");
        }
    }
}
