//! Phases and outcomes over time: the model that both pictures are drawn from, and the one for a terminal.

use super::strip::Mark;
use super::style::{BOLD, Charset, DIM, GREEN, MAGENTA, RED, YELLOW, paint};
use super::{millis_time, words};
use crate::breaker::event::{EventKind, OpenedBy};
use crate::breaker::time::Millis;
use crate::breaker::{Breaker, Phase};
use crate::store::journal::Entry;

/// What happened between two moments, all times in milliseconds since 1970 by the wall clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub from: u64,
    pub to: u64,
    /// In order and without gaps; never empty.
    pub spans: Vec<Span>,
    pub marks: Vec<(u64, Mark)>,
    /// How many runs were refused, at the time of the last of them.
    pub refused: Vec<(u64, u64)>,
    pub opened: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub state: State,
    pub from: u64,
    pub to: u64,
    /// Why it began.
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Closed,
    Open,
    HalfOpen,
}

impl State {
    pub const ALL: [State; 3] = [State::Closed, State::Open, State::HalfOpen];

    pub fn as_str(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half-open",
        }
    }

    fn of(phase: &Phase) -> State {
        match phase {
            Phase::Closed => State::Closed,
            Phase::Open(_) => State::Open,
            Phase::HalfOpen { .. } => State::HalfOpen,
        }
    }

    /// What an event changes the phase to.
    fn after(kind: &EventKind) -> Option<State> {
        match kind {
            EventKind::Opened { .. } | EventKind::Tripped { .. } | EventKind::Inconclusive { .. } => {
                Some(State::Open)
            }
            EventKind::HalfOpen => Some(State::HalfOpen),
            EventKind::Closed { .. } | EventKind::Reset => Some(State::Closed),
            EventKind::Ended { .. }
            | EventKind::Late { .. }
            | EventKind::Refused { .. }
            | EventKind::Lost { .. }
            | EventKind::Held { .. }
            | EventKind::Released
            | EventKind::StoreLost { .. }
            | EventKind::StoreBack => None,
        }
    }

    /// The phase before the first change in the history, if the history does not go back further.
    fn before(kind: &EventKind) -> State {
        match kind {
            EventKind::HalfOpen => State::Open,
            EventKind::Closed { .. } | EventKind::Inconclusive { .. } => State::HalfOpen,
            EventKind::Ended { .. }
            | EventKind::Late { .. }
            | EventKind::Refused { .. }
            | EventKind::Lost { .. }
            | EventKind::Opened { .. }
            | EventKind::Tripped { .. }
            | EventKind::Reset
            | EventKind::Held { .. }
            | EventKind::Released
            | EventKind::StoreLost { .. }
            | EventKind::StoreBack => State::Closed,
        }
    }
}

impl Timeline {
    /// The timeline of these entries, up to `to`. Entries before `since` only give the first phase. `breaker` is the
    /// state that the entries led to.
    pub fn new(entries: &[Entry], breaker: &Breaker, since: Option<u64>, to: u64) -> Timeline {
        let at = |entry: &Entry| entry.clock.wall(entry.clock.time()).min(to);
        let from = since.or_else(|| entries.first().map(at)).unwrap_or(to).min(to);
        let events: Vec<_> = entries
            .iter()
            .flat_map(|entry| entry.events.iter().map(move |event| (at(entry), &event.kind)))
            .collect();
        let first = events.iter().find(|(_, kind)| State::after(kind).is_some());
        let first = first.map_or(State::of(&breaker.phase), |(_, kind)| State::before(kind));
        let mut spans = vec![Span { state: first, from, to, why: String::new() }];
        let (mut marks, mut refused, mut opened) = (Vec::new(), Vec::new(), 0);
        for (at, kind) in events {
            // A wall clock that was set back must not make a span end before it began.
            let begin = at.max(spans.last().map_or(from, |span| span.from));
            if let Some(state) = State::after(kind) {
                if let Some(last) = spans.last_mut() {
                    last.to = begin;
                }
                spans.push(Span { state, from: begin, to, why: why(kind) });
            }
            if at < from {
                continue;
            }
            opened += u32::from(is_outage(kind));
            marks.extend(Mark::of(kind).map(|mark| (at, mark)));
            if let EventKind::Refused { count, .. } = kind {
                refused.push((at, *count));
            }
        }
        // Spans of no length are changes that another change of the same moment undid, or lie before `from`.
        let last = spans.len() - 1;
        let mut index = 0;
        spans.retain(|span| {
            index += 1;
            span.to > span.from || index - 1 == last
        });
        Timeline { from, to, spans, marks, refused, opened }
    }

    /// The share of the time that was spent in a state, from 0 to 1.
    pub fn share(&self, state: State) -> f64 {
        let spans = self.spans.iter().filter(|span| span.state == state);
        let time: u64 = spans.map(|span| span.to - span.from).sum();
        time as f64 / (self.to - self.from).max(1) as f64
    }

    pub fn refusals(&self) -> u64 {
        self.refused.iter().map(|(_, count)| count).sum()
    }

    /// One line that sums up the timeline in numbers.
    pub fn summary(&self) -> String {
        let shares = State::ALL.map(|state| format!("{} {:.0}%", state.as_str(), self.share(state) * 100.0));
        format!(
            "{}; opened {}, {}, {} refused",
            shares.join(", "),
            words::format_count(u64::from(self.opened)),
            words::pluralize(self.marks.len().try_into().unwrap_or(u32::MAX), "run"),
            self.refusals()
        )
    }
}

/// Whether an outage begins: a failed probe only prolongs one.
fn is_outage(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Tripped { .. })
        || matches!(kind, EventKind::Opened { why, .. } if !matches!(why, OpenedBy::Probe { .. }))
}

fn why(kind: &EventKind) -> String {
    match kind {
        EventKind::Inconclusive { .. } => "after an inconclusive probe".to_owned(),
        EventKind::Opened { why, told, .. } => format!("after {}", words::opened_by(why, told)),
        EventKind::Tripped { reason: Some(reason), .. } => {
            format!("tripped: {}", words::escape_control(reason))
        }
        EventKind::Tripped { reason: None, .. } => "tripped".to_owned(),
        EventKind::Reset => "reset".to_owned(),
        EventKind::Ended { .. }
        | EventKind::Late { .. }
        | EventKind::Refused { .. }
        | EventKind::Lost { .. }
        | EventKind::HalfOpen
        | EventKind::Closed { .. }
        | EventKind::Held { .. }
        | EventKind::Released
        | EventKind::StoreLost { .. }
        | EventKind::StoreBack => String::new(),
    }
}

/// What one column of the terminal shows.
#[derive(Clone, Copy, Default)]
struct Column {
    states: [bool; 3],
    mark: Option<Mark>,
    refused: u64,
}

/// The picture for a terminal of this width.
pub fn drawn(name: &str, timeline: &Timeline, width: usize, charset: Charset) -> String {
    const LABEL: usize = 9;
    let count = width.saturating_sub(LABEL).clamp(10, 400);
    let length = (timeline.to - timeline.from).max(1);
    let column = |at: u64| {
        let offset = at.saturating_sub(timeline.from);
        ((u128::from(offset) * count as u128 / u128::from(length)) as usize).min(count - 1)
    };
    let mut columns = vec![Column::default(); count];
    for span in &timeline.spans {
        for shown in &mut columns[column(span.from)..=column(span.to)] {
            shown.states[span.state as usize] = true;
        }
    }
    for &(at, mark) in &timeline.marks {
        let shown = &mut columns[column(at)].mark;
        *shown = Some(shown.map_or(mark, |other| worse(mark, other)));
    }
    for &(at, count) in &timeline.refused {
        columns[column(at)].refused += count;
    }
    let row = |label: &str, cell: &dyn Fn(&Column) -> String| {
        let cells: String = columns.iter().map(cell).collect();
        let mut line = format!("{}{cells}", paint(DIM, &format!("{label:LABEL$}")));
        line.truncate(line.trim_end().len());
        line + "\n"
    };
    let mut text = format!("{}  {}\n", paint(BOLD, name), timeline.summary());
    text += &row("phase", &|column| phase_cell(column, charset));
    text += &row("runs", &|column| match column.mark {
        Some(mark) => paint(mark.style(), mark.glyph(charset).encode_utf8(&mut [0; 4])),
        None => " ".to_owned(),
    });
    text += &row("refused", &|column| match column.refused {
        0 => " ".to_owned(),
        count @ 1..=9 => paint(MAGENTA, &count.to_string()),
        _ => paint(MAGENTA, "+"),
    });
    let (from, to) = (millis_time(timeline.from), millis_time(timeline.to));
    let (from, to) = (&from[..19], &to[..19]);
    let middle = words::format_age(Millis(length));
    let gap = count.saturating_sub(from.len() + to.len() + middle.len() + 2);
    let axis =
        format!("{from}Z{:left$}{middle}{:right$}{to}Z", "", "", left = gap / 2, right = gap - gap / 2);
    text + &paint(DIM, &format!("{:LABEL$}{axis}", "")) + "\n"
}

fn phase_cell(column: &Column, charset: Charset) -> String {
    // A short probe must show within a long opening, and an opening within a long closed phase.
    let [_, open, half_open] = column.states;
    let (style, unicode, ascii) = match (half_open, open) {
        (true, _) => (YELLOW, "▒", "="),
        (false, true) => (RED, "█", "#"),
        (false, false) => (GREEN, "─", "-"),
    };
    paint(style, if charset == Charset::Unicode { unicode } else { ascii })
}

fn worse(one: Mark, other: Mark) -> Mark {
    let weight = |mark| match mark {
        Mark::Ignored => 0,
        Mark::Success => 1,
        Mark::Slow => 2,
        Mark::Late => 3,
        Mark::Lost => 4,
        Mark::Failure => 5,
    };
    if weight(one) > weight(other) { one } else { other }
}
