//! Phases and outcomes over time as a picture for a report. It explains itself: a title, a legend, and what the
//! pointer is over.

use std::fmt::Write as _;

use super::strip::Mark;
use super::timeline::{State, Timeline};
use super::{millis_time, words};
use crate::breaker::time::Millis;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 940.0;
const PHASE_TOP: f64 = 60.0;
const RUNS_TOP: f64 = 110.0;
const REFUSED_TOP: f64 = 160.0;
const ROW: f64 = 36.0;
const AXIS: f64 = 206.0;
const TICKS: u64 = 6;

pub fn drawn(name: &str, timeline: &Timeline) -> String {
    let length = (timeline.to - timeline.from).max(1);
    let x = |at: u64| {
        let share = at.saturating_sub(timeline.from) as f64 / length as f64;
        LEFT + share.min(1.0) * (RIGHT - LEFT)
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"20\" y=\"26\" font-size=\"16\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"20\" y=\"46\" fill=\"#555555\">{summary}</text>\n",
        title = escaped(name),
        summary = escaped(&timeline.summary()),
    );
    for (label, top) in [("phase", PHASE_TOP), ("runs", RUNS_TOP), ("refused", REFUSED_TOP)] {
        let y = top + ROW * 0.65;
        let _ = writeln!(svg, "<text x=\"20\" y=\"{y:.1}\" fill=\"#555555\">{label}</text>");
    }
    for span in &timeline.spans {
        // Wide enough that a probe of a second can be seen in a week.
        let width = (x(span.to) - x(span.from)).max(1.0);
        let why = if span.why.is_empty() { String::new() } else { format!(" {}", span.why) };
        let told =
            format!("{}{why}, {} to {}", span.state.as_str(), millis_time(span.from), millis_time(span.to));
        rect(&mut svg, x(span.from), PHASE_TOP, width, ROW, fill(span.state), &told);
    }
    for &(at, mark) in &timeline.marks {
        let (height, color, word) = look(mark);
        let top = RUNS_TOP + ROW - height;
        rect(&mut svg, x(at) - 1.0, top, 2.0, height, color, &format!("{word}, {}", millis_time(at)));
    }
    let most = timeline.refused.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    for &(at, count) in &timeline.refused {
        let height = (count as f64 / most as f64 * ROW).max(3.0);
        let top = REFUSED_TOP + ROW - height;
        rect(
            &mut svg,
            x(at) - 1.5,
            top,
            3.0,
            height,
            "#7b3fa0",
            &format!("{count} refused, up to {}", millis_time(at)),
        );
    }
    axis(&mut svg, timeline, length, &x);
    legend(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

fn axis(svg: &mut String, timeline: &Timeline, length: u64, x: &dyn Fn(u64) -> f64) {
    let _ =
        writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{AXIS}\" x2=\"{RIGHT}\" y2=\"{AXIS}\" stroke=\"#999999\"/>");
    for tick in 0..=TICKS {
        let at = timeline.from + (u128::from(length) * u128::from(tick) / u128::from(TICKS)) as u64;
        let time = millis_time(at);
        // The day if a day is short in the picture, the second if a second is long.
        let label = if length > 2 * 86_400_000 { &time[..10] } else { &time[11..19] };
        let anchor = match tick {
            0 => "start",
            TICKS => "end",
            _ => "middle",
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"#555555\">{label}</text>",
            x(at),
            AXIS + 15.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{RIGHT}\" y=\"26\" text-anchor=\"end\" fill=\"#555555\">{} to {} ({})</text>",
        millis_time(timeline.from),
        millis_time(timeline.to),
        words::format_age(Millis(length))
    );
}

fn legend(svg: &mut String) {
    let marks = [Mark::Success, Mark::Slow, Mark::Failure, Mark::Ignored, Mark::Late, Mark::Lost];
    let states = State::ALL.map(|state| (state.as_str(), fill(state)));
    let marks = marks.map(|mark| (look(mark).2, look(mark).1));
    for (index, (word, color)) in states.into_iter().chain(marks).enumerate() {
        let left = LEFT + 95.0 * index as f64;
        let top = HEIGHT - 16.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"10\" height=\"10\" fill=\"{color}\"/>\
             <text x=\"{}\" y=\"{}\" fill=\"#555555\">{word}</text>",
            left + 14.0,
            top + 9.0
        );
    }
}

fn rect(svg: &mut String, x: f64, y: f64, width: f64, height: f64, fill: &str, told: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"><title>{}</title></rect>",
        escaped(told)
    );
}

fn fill(state: State) -> &'static str {
    match state {
        State::Closed => "#8fce9b",
        State::Open => "#d9534f",
        State::HalfOpen => "#f0b429",
    }
}

/// The height, the colour and the word of a run.
fn look(mark: Mark) -> (f64, &'static str, &'static str) {
    match mark {
        Mark::Success => (ROW * 0.4, "#2e8b57", "success"),
        Mark::Slow => (ROW * 0.7, "#c98a00", "slow"),
        Mark::Failure => (ROW, "#b52b27", "failure"),
        Mark::Ignored => (ROW * 0.25, "#999999", "ignored"),
        Mark::Late => (ROW * 0.5, "#5b6abf", "late"),
        Mark::Lost => (ROW * 0.5, "#333333", "lost probe"),
    }
}

fn escaped(text: &str) -> String {
    // Two characters that XML does not allow in a text.
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
