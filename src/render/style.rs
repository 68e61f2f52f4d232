//! Colour and width. Everything is rendered with colour; `output` leaves the codes out if they are not wanted.

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::breaker::event::HoldAs;
use crate::breaker::time::Timestamp;
use crate::breaker::{Breaker, Phase};

/// The characters that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Unicode,
    Ascii,
}

pub const PLAIN: Style = Style::new();
pub const DIM: Style = Style::new().dimmed();
pub const BOLD: Style = Style::new().bold();
pub const GREEN: Style = AnsiColor::Green.on_default();
pub const RED: Style = AnsiColor::Red.on_default();
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
pub const MAGENTA: Style = AnsiColor::Magenta.on_default();

pub fn paint(style: Style, text: &str) -> String {
    if style.is_plain() || text.is_empty() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// What applies: the override, or else the phase.
pub fn standing(breaker: &Breaker, now: Timestamp) -> &'static str {
    match breaker.active_hold(now).map(|hold| hold.hold) {
        Some(HoldAs::Open) => "held open",
        Some(HoldAs::Closed) => "held closed",
        None => breaker.phase.kind().as_str(),
    }
}

pub fn standing_style(breaker: &Breaker, now: Timestamp) -> Style {
    match (breaker.active_hold(now), &breaker.phase) {
        (Some(_), _) => MAGENTA.bold(),
        (None, Phase::Closed) => GREEN,
        (None, Phase::Open(_)) => RED.bold(),
        (None, Phase::HalfOpen { .. }) => YELLOW.bold(),
    }
}

/// The columns that a text without escape codes takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, or as much of it as fits, with a mark where something was cut off its end.
pub fn cut(text: &str, room: usize, charset: Charset) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mark = match charset {
        Charset::Unicode => "…",
        Charset::Ascii => "~",
    };
    let mut short = String::new();
    let mut used = width(mark);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        short.push(c);
    }
    if room > 0 {
        short.push_str(mark);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits() {
        for (text, room, expected) in [
            ("db", 4, "db"),
            ("db-backup", 4, "db-…"),
            ("db-backup", 1, "…"),
            ("db-backup", 0, ""),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
        ] {
            assert_eq!(cut(text, room, Charset::Unicode), expected);
            assert!(width(expected) <= room);
        }
        assert_eq!(cut("db-backup", 4, Charset::Ascii), "db-~");
    }
}
