//! All breakers, one line each, in the width that is available.

use anstyle::Style;

use super::forecast::{self, Forecast};
use super::style::{self, BOLD, Charset, DIM, PLAIN, paint};
use super::{Shown, strip, words};
use crate::breaker::event::{OpenedBy, RefusedBy};
use crate::breaker::policy::Policy;
use crate::breaker::time::{Millis, Timestamp};
use crate::breaker::{Breaker, Opening, Phase};

/// The width that is available.
#[derive(Clone, Copy, Debug)]
pub enum Width {
    /// A terminal, so many columns wide: nothing is wider, if there are 60.
    Exactly(usize),
    /// A file or a pipe: as narrow as on a terminal, but no name is cut, because a program may search for it.
    Usual,
}

const USUAL: usize = 80;
const GAP: &str = "  ";

/// The longest strip of outcomes, and the shortest that is still worth its width.
const STRIP: usize = 20;
const SHORT_STRIP: usize = 8;

struct Row {
    cells: [Cell; COLUMNS],
    strip: Vec<strip::Mark>,
}

struct Cell {
    text: String,
    style: Style,
}

const COLUMNS: usize = 6;
const HEADER: [&str; COLUMNS] = ["NAME", "PHASE", "SINCE", "NEXT TRY", "WHY", "LAST RUN"];
const STRIP_HEADER: &str = "RECENT";

/// The order in which columns shrink, each with its smallest width.
const NAME: usize = 0;
const WHY: usize = 4;
const LAST: usize = 5;
const YIELDING_BUT_NAMES: [(usize, usize); 3] = [(WHY, 22), (LAST, 9), (WHY, 10)];
const SHRINK_ORDER: [(usize, usize); 8] =
    [(WHY, 22), (NAME, 24), (LAST, 9), (WHY, 10), (NAME, 8), (WHY, 4), (LAST, 4), (NAME, 4)];

pub fn table(breakers: &[Shown], room: Width, charset: Charset) -> String {
    let mut sorted: Vec<&Shown> = breakers.iter().collect();
    // Trouble first; the sort keeps the order of names otherwise.
    sorted.sort_by_key(|shown| is_closed(shown));
    let mut rows: Vec<Row> = sorted.iter().map(|shown| row(shown)).collect();
    let longest = rows.iter().map(|row| row.strip.len()).max().unwrap_or(0);
    let mut strip = longest.max(STRIP_HEADER.len());
    let total = match room {
        Width::Exactly(columns) => columns,
        Width::Usual => USUAL,
    };
    let excess = |widths: &[usize; COLUMNS], strip: usize| {
        (widths.iter().sum::<usize>() + GAP.len() * COLUMNS + strip).saturating_sub(total)
    };
    let mut widths = widest(&rows);
    strip -= excess(&widths, strip).min(strip.saturating_sub(SHORT_STRIP));
    if excess(&widths, strip) > 0 {
        for row in &mut rows {
            let last = &mut row.cells[LAST].text;
            last.truncate(last.trim_end_matches(" ago").len());
        }
        widths = widest(&rows);
    }
    let yielding = match room {
        Width::Exactly(_) => &SHRINK_ORDER[..],
        // If a long name makes the table wide anyway, the rest need not be cut until it says nothing.
        Width::Usual => &YIELDING_BUT_NAMES[..],
    };
    for &(column, least) in yielding {
        let give = excess(&widths, strip).min(widths[column].saturating_sub(least));
        widths[column] -= give;
    }

    let mut text = String::new();
    let header = HEADER.map(|text| Cell { text: text.to_owned(), style: BOLD });
    text.push_str(&line(&header, widths, &paint(BOLD, STRIP_HEADER), charset));
    for row in &rows {
        let marks = &row.strip[row.strip.len().saturating_sub(strip)..];
        text.push_str(&line(&row.cells, widths, &strip::drawn(marks, charset), charset));
    }
    if rows.len() > 1 {
        text.push_str(&paint(DIM, &summary(breakers)));
        text.push('\n');
    }
    text
}

fn widest(rows: &[Row]) -> [usize; COLUMNS] {
    let widest = |column: usize| rows.iter().map(|row| style::width(&row.cells[column].text)).max();
    std::array::from_fn(|column| widest(column).unwrap_or(0).max(HEADER[column].len()))
}

fn is_closed(shown: &Shown) -> bool {
    let breaker = &shown.snapshot.breaker;
    breaker.phase == Phase::Closed && breaker.active_hold(shown.snapshot.now()).is_none()
}

fn summary(breakers: &[Shown]) -> String {
    let words = ["open", "half-open", "held open", "held closed", "closed"];
    let counts = words.map(|word| {
        let stands = |shown: &&Shown| style::standing(&shown.snapshot.breaker, shown.snapshot.now()) == word;
        (word, breakers.iter().filter(stands).count())
    });
    let parts: Vec<_> =
        counts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    format!("{} breakers: {}", breakers.len(), parts.join(", "))
}

fn line(cells: &[Cell; COLUMNS], widths: [usize; COLUMNS], strip: &str, charset: Charset) -> String {
    let mut text = String::new();
    for (cell, width) in cells.iter().zip(widths) {
        let fitted = style::cut(&cell.text, width, charset);
        let padding = width.saturating_sub(style::width(&fitted));
        text.push_str(&paint(cell.style, &fitted));
        text.push_str(&" ".repeat(padding));
        text.push_str(GAP);
    }
    text.push_str(strip);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn row(shown: &Shown) -> Row {
    let breaker = &shown.snapshot.breaker;
    let now = shown.snapshot.now();
    let cell = |text: String, style| Cell { text, style };
    // People ask since when it has been broken, not when the last probe failed.
    let since = breaker.phase.opening().map_or(breaker.since, Opening::outage_since);
    let last = breaker.last.as_ref().map_or_else(
        || "never".to_owned(),
        |last| format!("{}, {} ago", words::ending(&last.ending), words::format_age(now.since(last.at))),
    );
    Row {
        cells: [
            cell(shown.name.to_string(), PLAIN),
            cell(style::standing(breaker, now).to_owned(), style::standing_style(breaker, now)),
            cell(words::format_age(now.since(since)), PLAIN),
            cell(next_try(shown), PLAIN),
            cell(why(breaker, now), PLAIN),
            cell(last, PLAIN),
        ],
        strip: strip::marks(&shown.recent, STRIP),
    }
}

/// When a run would be admitted.
pub fn next_try(shown: &Shown) -> String {
    let now = shown.snapshot.now();
    match forecast::of(&shown.snapshot) {
        Forecast::Run | Forecast::Passthrough | Forecast::Probe => "now".to_owned(),
        Forecast::Refused(refusal) => match (refusal.why, refusal.retry_at) {
            (RefusedBy::Open | RefusedBy::Held, Some(at)) => {
                // Rounded up: a run that comes back then must not be too early.
                let time = format!("in {}", words::format_age(Millis(at.since(now).0.saturating_add(999))));
                match (at <= now, refusal.runs) {
                    (_, 0) => time,
                    (true, runs) => words::pluralize(runs, "run"),
                    (false, runs) => format!("{time}, {}", words::pluralize(runs, "run")),
                }
            }
            (RefusedBy::Held, None) => "never".to_owned(),
            (RefusedBy::Open | RefusedBy::Probing | RefusedBy::Busy, _) => refusal.why.as_str().to_owned(),
        },
    }
}

/// Why the breaker is held or open, or how near it is to a limit.
fn why(breaker: &Breaker, now: Timestamp) -> String {
    if let Some(hold) = breaker.active_hold(now) {
        return hold.reason.as_deref().map_or_else(|| "manual hold".to_owned(), words::escape_control);
    }
    match breaker.phase.opening() {
        Some(opening) => match (&opening.why, opening.told.retry_after) {
            (OpenedBy::TripOn { last }, Some(_)) => words::ending(last) + &words::told(&opening.told),
            (why, _) => opened(why) + &words::told(&opening.told),
        },
        None => nearest_limit(breaker, now),
    }
}

fn opened(why: &OpenedBy) -> String {
    match why {
        OpenedBy::Streak { failures, last } => {
            format!("{}, {}", words::pluralize(*failures, "failure"), words::ending(last))
        }
        OpenedBy::FailureRate { failures, total } => format!("{failures} of {total} failed"),
        OpenedBy::SlowRate { slow, total } => format!("{slow} of {total} slow"),
        OpenedBy::TripOn { last } => format!("{} trips immediately", words::ending(last)),
        OpenedBy::Probe { failures: 1, last } => format!("probe failed, {}", words::ending(last)),
        OpenedBy::Probe { failures, last } => format!("{failures} probes failed, {}", words::ending(last)),
        OpenedBy::Operator { reason: None } => "manual trip".to_owned(),
        OpenedBy::Operator { reason: Some(reason) } => {
            format!("manual trip: {}", words::escape_control(reason))
        }
    }
}

/// The rule that is nearest to opening the breaker, with its limit.
fn nearest_limit(breaker: &Breaker, now: Timestamp) -> String {
    let Policy { failures, failure_rate, slow_rate, min_calls, .. } = &breaker.policy;
    let counts = breaker.counts(now);
    let percent = |part: u32| part * 100 / counts.total.max(1);
    let mut rules: Vec<(f64, String)> = Vec::new();
    if let Some(limit) = failures {
        let share = f64::from(breaker.streak) / f64::from(limit.get());
        rules.push((share, format!("{} of {limit} failures", breaker.streak)));
    }
    for (rate, part, word) in [(failure_rate, counts.failures, "failed"), (slow_rate, counts.slow, "slow")] {
        let Some(rate) = rate else { continue };
        if counts.total < min_calls.get() {
            rules.push((0.0, format!("{part} {word}; {} of {min_calls} runs", counts.total)));
        } else {
            let share = f64::from(part) / f64::from(counts.total) / rate.share().max(1e-6);
            rules.push((share, format!("{}% of {rate} {word}", percent(part))));
        }
    }
    // Of two that are equally near, the first.
    let nearest = rules.into_iter().reduce(|near, next| if next.0 > near.0 { next } else { near });
    nearest.map_or_else(|| "no rule opens it".to_owned(), |(_, text)| text)
}
