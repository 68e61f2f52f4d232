//! Turns breakers and their histories into text. Nothing here prints.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod change;
pub mod detail;
pub mod explain;
pub mod forecast;
pub mod history;
pub mod json;
pub mod metrics;
pub mod strip;
pub mod style;
pub mod svg;
pub mod table;
pub mod timeline;
pub mod words;

use std::time::{Duration, UNIX_EPOCH};

use crate::breaker::time::{Clock, Timestamp};
use crate::name::Name;
use crate::store::journal::Entry;
use crate::store::{Slot, Snapshot};

/// A breaker, and what else is shown with it.
#[derive(Debug)]
pub struct Shown {
    pub name: Name,
    pub snapshot: Snapshot,
    /// The newest entries of its history, oldest first, if they were asked for.
    pub recent: Vec<Entry>,
    /// The slots of `--max-concurrent` that are taken.
    pub slots: Vec<Slot>,
}

/// RFC 3339 in UTC with milliseconds.
pub fn wall_time(clock: &Clock, at: Timestamp) -> String {
    millis_time(clock.wall(at))
}

/// RFC 3339 in UTC with milliseconds, from milliseconds since 1970.
pub fn millis_time(millis: u64) -> String {
    /// The last millisecond of the year 9999, which is the last one that the format can express.
    const LAST: u64 = 253_402_300_799_999;
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis.min(LAST))).to_string()
}
