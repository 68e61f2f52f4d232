//! The last outcomes in one character each, for the eye: the newest on the right.

use anstyle::Style;

use super::style::{Charset, DIM, GREEN, MAGENTA, RED, YELLOW, paint};
use crate::breaker::event::EventKind;
use crate::breaker::outcome::Outcome;
use crate::store::journal::Entry;

/// The outcome of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Success,
    Slow,
    Failure,
    Ignored,
    Late,
    Lost,
}

impl Mark {
    pub fn of(kind: &EventKind) -> Option<Mark> {
        match kind {
            EventKind::Ended { outcome: Outcome::Success, run } if run.slow => Some(Mark::Slow),
            EventKind::Ended { outcome: Outcome::Success, .. } => Some(Mark::Success),
            EventKind::Ended { outcome: Outcome::Failure, .. } => Some(Mark::Failure),
            EventKind::Ended { outcome: Outcome::Ignored, .. } => Some(Mark::Ignored),
            EventKind::Late { .. } => Some(Mark::Late),
            EventKind::Lost { .. } => Some(Mark::Lost),
            EventKind::Refused { .. }
            | EventKind::Opened { .. }
            | EventKind::HalfOpen
            | EventKind::Inconclusive { .. }
            | EventKind::Closed { .. }
            | EventKind::Reset
            | EventKind::Tripped { .. }
            | EventKind::Held { .. }
            | EventKind::Released
            | EventKind::StoreLost { .. }
            | EventKind::StoreBack => None,
        }
    }

    pub fn style(self) -> Style {
        match self {
            Mark::Success => GREEN,
            Mark::Slow => YELLOW,
            Mark::Failure => RED,
            Mark::Ignored => DIM,
            Mark::Late | Mark::Lost => MAGENTA,
        }
    }

    /// One column wide, and different without colour: the higher, the worse.
    pub fn glyph(self, charset: Charset) -> char {
        match (charset, self) {
            (Charset::Unicode, Mark::Success) => '▁',
            (Charset::Unicode, Mark::Slow) => '▄',
            (Charset::Unicode, Mark::Failure) => '█',
            (Charset::Unicode, Mark::Ignored) => '·',
            (Charset::Ascii, Mark::Success) => '.',
            (Charset::Ascii, Mark::Slow) => 'o',
            (Charset::Ascii, Mark::Failure) => 'x',
            (Charset::Ascii, Mark::Ignored) => '-',
            (_, Mark::Late) => '!',
            (_, Mark::Lost) => '?',
        }
    }
}

/// The marks of the last runs, at most `count`, oldest first.
pub fn marks(recent: &[Entry], count: usize) -> Vec<Mark> {
    let events = recent.iter().flat_map(|entry| &entry.events);
    let all: Vec<_> = events.filter_map(|event| Mark::of(&event.kind)).collect();
    all[all.len().saturating_sub(count)..].to_vec()
}

/// Marks as text, coloured.
pub fn drawn(marks: &[Mark], charset: Charset) -> String {
    marks.iter().map(|mark| paint(mark.style(), mark.glyph(charset).encode_utf8(&mut [0; 4]))).collect()
}
