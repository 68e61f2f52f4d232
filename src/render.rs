//! Turns breakers and their histories into text. Nothing here prints.

pub mod history;
pub mod status;
pub mod words;

use std::time::{Duration, UNIX_EPOCH};

use crate::breaker::time::{Clock, Timestamp};

/// RFC 3339 in UTC with milliseconds.
pub fn wall_time(clock: &Clock, at: Timestamp) -> String {
    /// The last millisecond of the year 9999: what the format can say.
    const LAST: u64 = 253_402_300_799_999;
    let since_epoch = Duration::from_millis(clock.wall(at).min(LAST));
    humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch).to_string()
}
