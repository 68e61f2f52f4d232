//! What a command says of its own run, in the file that `--tell` gives it: lines `key=value`, or the headers of an HTTP
//! response. It is untrusted data: bounded, never executed, and nothing in it is an error.
//!
//! Not here: the file (`store::file::tell`), and what the outcome does to a breaker.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::breaker::event::Told;
use crate::breaker::outcome::{Ending, Verdict};
use crate::breaker::time::Millis;
use crate::settings::value;

/// How much may be said in lines, in bytes.
const MOST_LINES: usize = 4 << 10;

/// How much may be said in headers and the lines after them, in bytes.
pub const MOST_HEADERS: usize = 64 << 10;

/// The longest reason, in bytes.
const MOST_REASON: usize = 200;

/// How many warnings about single lines are worth reading.
const MOST_WARNINGS: usize = 3;

/// All that a command said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statement {
    /// `None`: the exit code decides.
    pub verdict: Option<Verdict>,
    pub told: Told,
    /// What of it could not be understood, for people.
    pub warnings: Vec<String>,
}

impl Statement {
    /// A statement that could not be read: a warning, and nothing said.
    pub fn unreadable(why: impl Into<String>) -> Statement {
        Statement { warnings: vec![why.into()], ..Statement::default() }
    }

    /// Reads what was said. `now` is the wall clock, in milliseconds since 1970.
    pub fn parse(bytes: &[u8], now: u64) -> Statement {
        let is_http = bytes.starts_with(b"HTTP/");
        let (most, what) = if is_http { (MOST_HEADERS, "64 KiB") } else { (MOST_LINES, "4 KiB") };
        if bytes.len() > most {
            return Statement::unreadable(format!("it holds more than {what}"));
        }
        if bytes.contains(&0) {
            return Statement::unreadable("it holds a NUL");
        }
        let text = String::from_utf8_lossy(bytes);
        let mut reader = Reader { statement: Statement::default(), skipped: 0, now };
        let mut is_in_block = false;
        for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
            if is_http && line.starts_with("HTTP/") {
                // The last block counts: those before it were redirects, or attempts.
                reader = Reader { statement: Statement::default(), skipped: 0, now };
                reader.statement.verdict = of_status(line);
                is_in_block = true;
                continue;
            }
            if line.is_empty() {
                is_in_block = false;
                continue;
            }
            match line.split_once([':', '=']) {
                // No header has a `=` in its name, so this is a line after headers that lack their end.
                Some((name, _)) if is_in_block && line[name.len()..].starts_with(':') => reader.header(line),
                _ => {
                    is_in_block = false;
                    reader.line(line);
                }
            }
        }
        reader.finish()
    }

    /// What the ending means, with what was said. A signal, a timeout and an interruption are what they are, whatever
    /// was said; of the statement only the reason is left then.
    pub fn applied(mut self, ending: &Ending, by_rules: Verdict) -> (Verdict, Told) {
        if !matches!(ending, Ending::Exited(_)) {
            self.told.retry_after = None;
            return (by_rules, self.told);
        }
        let verdict = match (self.verdict, by_rules) {
            (Some(Verdict::Failure), Verdict::Trip) => Verdict::Trip,
            (Some(said), _) => said,
            (None, by_rules) => by_rules,
        };
        (verdict, self.told)
    }
}

struct Reader {
    statement: Statement,
    skipped: usize,
    now: u64,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let Some((key, value)) = line.split_once('=') else {
            return self.warn(format!("{line:.60?} is no KEY=VALUE"));
        };
        match (key, value) {
            ("outcome", "success") => self.statement.verdict = Some(Verdict::Success),
            ("outcome", "failure") => self.statement.verdict = Some(Verdict::Failure),
            ("outcome", "ignored") => self.statement.verdict = Some(Verdict::Ignored),
            ("outcome", _) => {
                self.warn(format!("outcome={value:.60?}: expected success, failure or ignored"))
            }
            ("trip", "1") => self.statement.verdict = Some(Verdict::Trip),
            ("trip", _) => self.warn(format!("trip={value:.60?}: expected 1")),
            ("retry-after", _) => match retry_after(value, self.now) {
                Ok(wait) => self.statement.told.retry_after = wait,
                Err(error) => self.warn(error),
            },
            ("reason", _) => self.statement.told.reason = Some(cut(value)).filter(|text| !text.is_empty()),
            _ => self.warn(format!("unknown key {key:.60?}")),
        }
    }

    fn header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        if name.eq_ignore_ascii_case("retry-after") {
            match retry_after(value.trim(), self.now) {
                Ok(wait) => {
                    self.statement.told.retry_after = self.statement.told.retry_after.max(wait);
                }
                Err(error) => self.warn(error),
            }
        }
    }

    fn warn(&mut self, text: String) {
        if self.statement.warnings.len() < MOST_WARNINGS {
            self.statement.warnings.push(text);
        } else {
            self.skipped += 1;
        }
    }

    fn finish(mut self) -> Statement {
        if self.skipped > 0 {
            self.statement.warnings.push(format!("{} more lines are not understood", self.skipped));
        }
        self.statement
    }
}

/// What a status line says of the dependency. `None`: nothing that the exit code does not say better.
fn of_status(line: &str) -> Option<Verdict> {
    let code = line.split_ascii_whitespace().nth(1)?;
    match code.parse::<u16>().ok()? {
        408 | 425 | 429 | 500..=599 => Some(Verdict::Failure),
        400..=499 => Some(Verdict::Ignored),
        _ => None,
    }
}

/// How long is left until a time to come back: seconds, a duration, an HTTP date or an RFC 3339 time. `None`: it is over.
pub fn retry_after(text: &str, now: u64) -> Result<Option<Millis>, String> {
    let wait = if let Ok(wait) = value::duration(text) {
        wait
    } else {
        let at = date(text).ok_or_else(|| {
            format!("retry-after {text:.60?}: expected seconds, a duration, an HTTP date or an RFC 3339 time")
        })?;
        Millis(at.saturating_sub(now))
    };
    Ok(Some(wait).filter(|wait| !wait.is_zero()))
}

/// In milliseconds since 1970; a time before that is 0.
fn date(text: &str) -> Option<u64> {
    let millis = |at: SystemTime| Millis::from(at.duration_since(UNIX_EPOCH).unwrap_or_default()).0;
    if let Ok(at) = httpdate::parse_http_date(text) {
        return Some(millis(at));
    }
    let text = text.to_ascii_uppercase();
    if !text.is_ascii() {
        return None;
    }
    if text.ends_with('Z') {
        return humantime::parse_rfc3339(&text).ok().map(millis);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = offset.split_once(':')?;
    let number = |text: &str, most: u64| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| is_number && *number <= most)
    };
    let offset = Duration::from_secs(number(hours, 23)? * 3_600 + number(minutes, 59)? * 60);
    let at = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    match sign {
        "+" => at.checked_sub(offset),
        "-" => at.checked_add(offset),
        _ => None,
    }
    .map(millis)
}

/// The start of a reason, cut between characters.
fn cut(text: &str) -> String {
    let end = (0..=text.len().min(MOST_REASON)).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 1994-11-06 08:49:00 UTC, in milliseconds.
    const NOW: u64 = 784_111_740_000;

    fn check(text: &str, verdict: Option<Verdict>, seconds: u64, reason: &str, warnings: usize) {
        let said = Statement::parse(text.as_bytes(), NOW);
        let wait = said.told.retry_after.map_or(0, |wait| wait.0);
        let found = (said.verdict, wait, said.told.reason.as_deref().unwrap_or(""), said.warnings.len());
        assert_eq!(found, (verdict, seconds * 1_000, reason, warnings), "{text:?}: {:?}", said.warnings);
    }

    #[test]
    fn lines() {
        use Verdict::*;
        check("", None, 0, "", 0);
        check("\n\r\n\n", None, 0, "", 0);
        check("outcome=success\n", Some(Success), 0, "", 0);
        check("outcome=failure\r\nretry-after=90", Some(Failure), 90, "", 0);
        check("outcome=ignored\noutcome=failure\n", Some(Failure), 0, "", 0);
        check("outcome=maybe\n", None, 0, "", 1);
        check("outcome =failure\n", None, 0, "", 1);
        check("trip=1\n", Some(Trip), 0, "", 0);
        check("trip=yes\n", None, 0, "", 1);
        check("trip=1\noutcome=ignored\n", Some(Ignored), 0, "", 0);
        check("outcome=ignored\ntrip=1\n", Some(Trip), 0, "", 0);
        check("reason=a=b: c\n", None, 0, "a=b: c", 0);
        check("reason=a\nreason=\n", None, 0, "", 0);
        check("nonsense\nmore=1\noutcome=success\n", Some(Success), 0, "", 2);
        check("a\nb\nc\nd\ne\n", None, 0, "", 4);
        check("outcome=failure\nHTTP/1.1 404 Not Found\n", Some(Failure), 0, "", 1);
    }

    #[test]
    fn headers() {
        use Verdict::*;
        let statuses = [
            ("100", None),
            ("200", None),
            ("301", None),
            ("400", Some(Ignored)),
            ("401", Some(Ignored)),
            ("403", Some(Ignored)),
            ("404", Some(Ignored)),
            ("408", Some(Failure)),
            ("425", Some(Failure)),
            ("429", Some(Failure)),
            ("499", Some(Ignored)),
            ("500", Some(Failure)),
            ("504", Some(Failure)),
            ("599", Some(Failure)),
            ("600", None),
            ("abc", None),
            ("", None),
        ];
        for (status, verdict) in statuses {
            check(&format!("HTTP/1.1 {status} Text\r\nServer: x\r\n\r\n"), verdict, 0, "", 0);
        }
        check("HTTP/2 429\r\nretry-after: 37\r\n\r\n", Some(Failure), 37, "", 0);
        check("HTTP/2 429\r\nRetry-After: 5\r\nRETRY-AFTER:37\r\n\r\n", Some(Failure), 37, "", 0);
        check("HTTP/2 429\r\nRetry-After: soon\r\n\r\n", Some(Failure), 0, "", 1);
        check("HTTP/1.1 503 x\r\nRetry-After: 9\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", None, 0, "", 0);
        check("HTTP/1.1 301 x\r\n\r\nHTTP/1.1 404 x\r\n\r\n", Some(Ignored), 0, "", 0);
        check("HTTP/1.1 404 x\r\nA: b=c\r\n\r\noutcome=failure\nretry-after=3\n", Some(Failure), 3, "", 0);
        check("HTTP/1.1 404 x\r\nA: b\r\nreason=it: is gone\n", Some(Ignored), 0, "it: is gone", 0);
    }

    #[test]
    fn times_to_come_back() {
        for (text, seconds) in [
            ("37", 37),
            ("2m", 120),
            ("0", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
            ("Sun Nov  6 08:49:37 1994", 37),
            ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
            ("1994-11-06T08:49:37Z", 37),
            ("1994-11-06t08:49:37z", 37),
            ("1994-11-06T10:49:37+02:00", 37),
            ("1994-11-06T03:19:37-05:30", 37),
            ("1994-11-06T08:49:37.000Z", 37),
            ("1970-01-01T00:00:00Z", 0),
            ("315360000", 315_360_000),
        ] {
            check(&format!("retry-after={text}\n"), None, seconds, "", 0);
        }
        for text in
            ["", "soon", "-5", "1994-11-06", "1994-11-06T08:49:37", "1994-11-06T08:49:37+2:00", "+02:00"]
        {
            check(&format!("retry-after={text}\n"), None, 0, "", 1);
        }
    }

    #[test]
    fn limits() {
        check(&"\n".repeat(4_096), None, 0, "", 0);
        check(&"\n".repeat(4_097), None, 0, "", 1);
        let headers = |len: usize| format!("HTTP/1.1 429 x{}", "\n".repeat(len - 14));
        check(&headers(65_536), Some(Verdict::Failure), 0, "", 0);
        check(&headers(65_537), None, 0, "", 1);
        check("outcome=failure\n\0", None, 0, "", 1);
        check(&format!("reason={}\n", "ä".repeat(150)), None, 0, &"ä".repeat(100), 0);
        check(&format!("reason=a{}\n", "ä".repeat(150)), None, 0, &format!("a{}", "ä".repeat(99)), 0);
    }

    #[test]
    fn what_beats_what() {
        use Verdict::*;
        let check = |said, ending: Ending, by_rules, expected| {
            let told = Told { retry_after: Some(Millis(1)), reason: Some("r".to_owned()) };
            let statement = Statement { verdict: said, told, warnings: Vec::new() };
            let (verdict, told) = statement.applied(&ending, by_rules);
            let exited = matches!(ending, Ending::Exited(_));
            assert_eq!((verdict, told.retry_after.is_some()), (expected, exited), "{said:?} of {ending:?}");
            assert_eq!(told.reason.as_deref(), Some("r"));
        };
        check(None, Ending::Exited(1), Failure, Failure);
        check(Some(Success), Ending::Exited(1), Failure, Success);
        check(Some(Success), Ending::Exited(1), Trip, Success);
        check(Some(Failure), Ending::Exited(0), Success, Failure);
        check(Some(Failure), Ending::Exited(9), Trip, Trip);
        check(Some(Trip), Ending::Exited(0), Ignored, Trip);
        check(Some(Success), Ending::Signaled(9), Failure, Failure);
        check(Some(Success), Ending::TimedOut(None), Failure, Failure);
        check(Some(Failure), Ending::Interrupted(None), Ignored, Ignored);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in any::<Vec<u8>>(), now in any::<u64>()) {
            Statement::parse(&bytes, now);
            Statement::parse(&[b"HTTP/1.1 429 x\n", &bytes[..]].concat(), now);
            Statement::parse(&[b"retry-after=", &bytes[..]].concat(), now);
        }

        #[test]
        fn no_date_panics(text in "[0-9TZ:+. A-Za-zä-]{0,40}", now in any::<u64>()) {
            let _ = retry_after(&text, now);
            let _ = retry_after(&format!("{text}+02:00"), now);
        }
    }
}
