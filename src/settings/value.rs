//! Values as users write them. Each parser says what would have been right. Not here: how a type is called and written
//! in TOML (`types`).

use std::ffi::OsStr;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::types::either;
use crate::breaker::outcome::Spec;
use crate::breaker::policy::{Cooldown, Rate, WindowSize};
use crate::breaker::time::Millis;
use crate::profile::{self, Profile};
use crate::signal;

/// An enum whose values are words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),+ }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn parse(text: &str) -> Result<$name, String> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(format!("expected {}", either($name::WORDS))),
                }
            }
        }
    };
}

words! {
    /// When the fallback runs.
    FallbackOn { Refused = "refused", Failure = "failure", Timeout = "timeout" }
}

words! {
    /// What is shown of a command's output.
    Show { Stream = "stream", OnFailure = "on-failure", OnChange = "on-change" }
}

words! {
    /// What happens to a run if the state cannot be used.
    OnStateError { Run = "run", Refuse = "refuse" }
}

words! {
    /// What happens to a run if the shared store cannot be used.
    OnStoreError { Local = "local", Run = "run", Refuse = "refuse" }
}

impl FallbackOn {
    pub fn parse_list(text: &str) -> Result<Vec<FallbackOn>, String> {
        text.split(',').map(|word| FallbackOn::parse(word.trim())).collect()
    }
}

/// Whether a run waits until it is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    No,
    AtMost(Millis),
    Forever,
}

/// What is text, and no other bytes.
pub fn text(given: &OsStr) -> Result<&str, String> {
    given.to_str().ok_or_else(|| "not UTF-8".to_owned())
}

pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// One element of a list of endings: what one use of a flag names.
pub fn specs_list(text: &str) -> Result<Vec<Specs>, String> {
    specs(text).map(|specs| vec![specs])
}

/// The address of a store; an empty one is none. It is not repeated if it is wrong: it may hold a password.
pub fn url(text: &str) -> Result<String, String> {
    if !text.is_empty() {
        address(text)?;
    }
    Ok(text.to_owned())
}

#[cfg(feature = "redis")]
fn address(text: &str) -> Result<(), String> {
    crate::store::Address::parse(text).map(drop).map_err(|flaw| flaw.to_string())
}

#[cfg(not(feature = "redis"))]
fn address(_text: &str) -> Result<(), String> {
    Err("this brk was built without the shared store; build it with the cargo feature 'redis'".to_owned())
}

const DURATION_HINT: &str = "write 90 (seconds), 1.5s, 300ms, 10m, 1h30m or 2d";

/// Seconds where it is a bare number, else numbers with units; too large saturates, above zero stays above zero.
pub fn duration(text: &str) -> Result<Millis, String> {
    let nanos = nanos(text).ok_or_else(|| format!("not a duration; {DURATION_HINT}"))?;
    Ok(Millis(u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX)))
}

/// A duration that something lasts for, and that would be nothing without.
pub fn positive_duration(text: &str) -> Result<Millis, String> {
    match duration(text)? {
        length if length.is_zero() => Err("must be greater than 0; omit it for no limit".to_owned()),
        length => Ok(length),
    }
}

/// A duration that something is repeated after: not so short that nothing else would be done.
pub fn interval(text: &str) -> Result<Millis, String> {
    const SHORTEST: Millis = Millis(100);
    match duration(text)? {
        every if every >= SHORTEST => Ok(every),
        _ => Err(format!("too short; write {SHORTEST} or more")),
    }
}

pub fn rate(text: &str) -> Result<Rate, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    share.and_then(Rate::from_share).ok_or_else(|| "not a rate; write 50% or 0.5".to_owned())
}

/// A rate that opens. Zero would match every run.
pub fn positive_rate(text: &str) -> Result<Rate, String> {
    let rate = rate(text)?;
    let is_nought = Rate::from_share(0.0) == Some(rate);
    if is_nought { Err("must be greater than 0; omit it to disable the rule".to_owned()) } else { Ok(rate) }
}

/// A factor of growth.
pub fn factor(text: &str) -> Result<f64, String> {
    const RANGE: std::ops::RangeInclusive<f64> = 1.0..=1_000_000.0;
    number(text)
        .filter(|factor| RANGE.contains(factor))
        .ok_or_else(|| "not a factor from 1 to 1000000; write 2 or 1.5".to_owned())
}

pub fn window(text: &str) -> Result<WindowSize, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return positive_count(text).map(WindowSize::Count);
    }
    match duration(text) {
        Ok(span) if !span.is_zero() => Ok(WindowSize::Span(span)),
        _ => Err("not a window; write 20 (the last 20 runs) or 10m (the last 10 minutes)".to_owned()),
    }
}

/// `5m`, `3runs`, or both: `1m,1run`.
pub fn cooldown(text: &str) -> Result<Cooldown, String> {
    let wrong =
        || "not a cooldown; write a duration (5m), a number of runs (3runs), or both (1m,1run)".to_owned();
    let runs = |part: &str| {
        let digits = part.strip_suffix("runs").or_else(|| part.strip_suffix("run"))?.trim_end();
        Some(count(digits).ok()?).filter(|&runs| runs > 0)
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [one] => match runs(one) {
            Some(runs) => Ok(Cooldown { time: Millis::ZERO, runs }),
            None => duration(one).map(Cooldown::from).map_err(|_| wrong()),
        },
        [one, other] => {
            let (time, runs) = match (runs(one), runs(other)) {
                (None, Some(runs)) => (duration(one), runs),
                (Some(runs), None) => (duration(other), runs),
                (None, None) | (Some(_), Some(_)) => return Err(wrong()),
            };
            Ok(Cooldown { time: time.map_err(|_| wrong())?, runs })
        }
        _ => Err(wrong()),
    }
}

pub fn count(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(count) => Ok(count),
        // More than anybody can count to is as good as the most.
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(u32::MAX),
        Err(_) => Err("not a whole number; write one like 3".to_owned()),
    }
}

pub fn positive_count(text: &str) -> Result<NonZeroU32, String> {
    NonZeroU32::new(count(text)?).ok_or_else(|| "must be 1 or more".to_owned())
}

pub fn exit_code(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "not an exit code; write a number from 0 to 255".to_owned())
}

pub fn signal(text: &str) -> Result<i32, String> {
    signal::parse(text)
        .ok_or_else(|| "not a signal; write a name like TERM or SIGTERM, or a number".to_owned())
}

/// `true` waits for as long as it takes; a configuration may say `false`.
pub fn wait(text: &str) -> Result<Wait, String> {
    match text {
        "true" => Ok(Wait::Forever),
        "false" => Ok(Wait::No),
        _ => duration(text).map(Wait::AtMost),
    }
}

pub fn profile(text: &str) -> Result<&'static Profile, String> {
    profile::find(text).ok_or_else(|| {
        let names: Vec<_> = profile::all().iter().map(|profile| profile.name.as_str()).collect();
        format!("unknown profile; known profiles: {}", names.join(", "))
    })
}

/// `75`, `100-110`, `SIGSEGV`, `signal`, `timeout`, `not-started`, and lists of them.
pub fn specs(text: &str) -> Result<Specs, String> {
    text.split(',').map(|part| spec(part.trim())).collect::<Result<_, _>>().map(Specs)
}

/// The endings that one flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specs(pub Vec<Spec>);

fn spec(text: &str) -> Result<Spec, String> {
    let wrong = || {
        let hint = "write a code (75), a range (100-110), a signal (SIGSEGV, signal), timeout or not-started";
        if text.is_empty() {
            format!("an empty SPEC; {hint}")
        } else {
            format!("{text:?} is not a SPEC; {hint}")
        }
    };
    match text {
        "signal" => return Ok(Spec::AnySignal),
        "timeout" => return Ok(Spec::Timeout),
        "not-started" => return Ok(Spec::NotStarted),
        _ => {}
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        return match (u8::from_str(first), u8::from_str(last)) {
            (Ok(first), Ok(last)) if first <= last => Ok(Spec::Codes(first..=last)),
            (Ok(_), Ok(_)) => Err(format!("{text:?}: reversed range; did you mean {last}-{first}?")),
            _ => Err(format!("{text:?} is not a code from 0 to 255")),
        };
    }
    signal::parse(text).map(Spec::Signal).ok_or_else(wrong)
}

/// Digits, with a point somewhere or not; no sign, no exponent, no words.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    (plain && has_digit).then(|| text.parse().ok()).flatten()
}

fn nanos(text: &str) -> Option<u128> {
    let text = text.trim();
    let mut rest = text;
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let size = match unit {
            "" if number.len() == text.len() => 1_000_000_000,
            "" => return None,
            // The names of the units are humantime's.
            _ => humantime::parse_duration(&format!("1{unit}")).ok()?.as_nanos(),
        };
        sum = sum.saturating_add(scaled(number, size)?);
        rest = tail.trim_start();
    }
    (!text.is_empty()).then_some(sum)
}

/// A decimal number times a whole one, rounded up, saturating.
fn scaled(number: &str, size: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let all_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u128::MAX) };
    // Beyond these digits only "more than nothing" can matter.
    let kept = &fraction[..fraction.len().min(15)];
    let rest = u128::from(fraction[kept.len()..].bytes().any(|byte| byte != b'0'));
    let fraction = if kept.is_empty() { 0 } else { kept.parse::<u128>().ok()? };
    let tens = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let part = fraction.saturating_mul(size).div_ceil(tens).saturating_add(rest);
    Some(whole.saturating_mul(size).saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        for (text, millis) in [
            ("90", 90_000),
            ("1.5", 1_500),
            (".5s", 500),
            ("5.", 5_000),
            ("300ms", 300),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("2d", 172_800_000),
            ("2 days", 172_800_000),
            ("1hour 12min 5s", 4_325_000),
            ("0", 0),
            ("0s", 0),
            ("1ns", 1),
            ("0.0000000000000000000001", 1),
            ("99999999999999999999999999999999999999999999", u64::MAX),
            ("18446744073709551615d", u64::MAX),
        ] {
            assert_eq!(duration(text), Ok(Millis(millis)), "{text}");
        }
        for text in [
            "", " ", "-1", "-1s", "+5", "abc", "1x", "1..5", ".", "5 10s", "5s10", "1e3", "nan", "inf",
            "1,5", "s", "٣",
        ] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn rates() {
        for (text, share) in
            [("50%", 0.5), ("0.5", 0.5), (".5", 0.5), ("1", 1.0), ("100%", 1.0), ("0", 0.0), ("12.5%", 0.125)]
        {
            assert_eq!(rate(text), Ok(Rate::from_share(share).expect("a share")), "{text}");
        }
        for text in ["50", "1.1", "-0.5", "-5%", "nan", "inf", "NaN%", "", "%", "101%", "1e-1", "0,5"] {
            let error = rate(text).expect_err(text);
            assert!(error.contains("50% or 0.5"), "{error}");
        }
    }

    #[test]
    fn cooldowns() {
        for (text, time, runs) in [
            ("5m", 300_000, 0),
            ("0", 0, 0),
            ("1run", 0, 1),
            ("3runs", 0, 3),
            ("1m,1run", 60_000, 1),
            ("2 runs, 1.5s", 1_500, 2),
        ] {
            assert_eq!(cooldown(text), Ok(Cooldown { time: Millis(time), runs }), "{text}");
        }
        for text in [
            "",
            ",",
            "1m,",
            ",1run",
            "0runs",
            "run",
            "-1run",
            "1run,1run",
            "1m,1m",
            "1m,1run,1run",
            "1.5runs",
        ] {
            let error = cooldown(text).expect_err(text);
            assert!(error.contains("1m,1run"), "{text}: {error}");
        }
    }

    #[test]
    fn windows_and_counts() {
        let count_of = |count| WindowSize::Count(NonZeroU32::new(count).expect("not zero"));
        assert_eq!(window("20"), Ok(count_of(20)));
        assert_eq!(window("10m"), Ok(WindowSize::Span(Millis(600_000))));
        for text in ["0", "0s", "", "-1", "x", "1.5.1m"] {
            assert!(window(text).is_err(), "{text:?}");
        }
        assert_eq!(count("99999999999999"), Ok(u32::MAX));
        for text in ["", "-1", "1.5", "x"] {
            assert!(count(text).is_err(), "{text:?}");
        }
        assert!(positive_count("0").is_err());
        for text in ["0.9", "-1", "nan", "x", "", "1000001", &"9".repeat(309), &"9".repeat(400)] {
            assert!(factor(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn lists_of_endings() {
        let both = Specs(vec![Spec::Codes(75..=75), Spec::Codes(100..=110)]);
        assert_eq!(specs("75,100-110"), Ok(both));
        assert_eq!(specs("SIGSEGV"), Ok(Specs(vec![Spec::Signal(11)])));
        let words = Specs(vec![Spec::AnySignal, Spec::Timeout, Spec::NotStarted]);
        assert_eq!(specs("signal,timeout,not-started"), Ok(words));
        for text in ["", ",", "1,", "256", "10-5", "-5", "1-", "SIGNOPE", "1-2-3", "1.5"] {
            assert!(specs(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC*") {
            let _ = (duration(&text), rate(&text), window(&text), count(&text), factor(&text), specs(&text));
        }

        #[test]
        fn digits_points_and_units_never_panic(text in "[0-9.smhd %-]{0,40}") {
            let _ = (duration(&text), rate(&text), window(&text), factor(&text), specs(&text));
        }
    }
}
