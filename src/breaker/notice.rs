//! What people have been shown, and what of a run they have not (`--output on-change`). Kept only if a run asks for it.
//! Not here: how it is decided (`news`).

use serde::{Deserialize, Serialize};

use super::outcome::Ending;
use super::time::{Millis, Timestamp};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notices {
    /// The endings that were shown since the last success, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) shown: Vec<Shown>,
    /// Whether a refusal as busy was shown since the last success.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) busy: bool,
    /// When anything was last shown, unless a run has succeeded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shown {
    pub program: String,
    pub ending: Ending,
}

/// That a run wants to know what of it is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify {
    /// After how long without a success people are reminded; `None`: never.
    pub remind_every: Option<Millis>,
}

/// What of a run people have not seen yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    #[default]
    None,
    /// Nothing new, but nothing good for long.
    Reminder,
    /// An ending, or a refusal as busy, that was not shown since the last success.
    New,
    /// The phase is another one than the run found.
    Phase,
}
