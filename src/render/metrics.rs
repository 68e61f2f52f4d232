//! Breakers in the OpenMetrics text format. Written here and not by a crate: the families are few and fixed, and a
//! registry would have to be filled anew for each reading.

use std::fmt::Write as _;

use super::Shown;
use crate::breaker::PhaseKind;
use crate::breaker::time::Timestamp;

/// The whole text, `# EOF` included.
pub fn open_metrics(breakers: &[Shown]) -> String {
    let mut text = String::with_capacity(breakers.len() * 1_200 + 2_000);
    family(&mut text, "brk_phase", "gauge", "Phase of the breaker: 1 for the current one.");
    for shown in breakers {
        let current = shown.snapshot.breaker.phase.kind();
        for phase in PhaseKind::ALL {
            let value = u8::from(phase == current);
            sample(&mut text, "brk_phase", shown, Some(("phase", phase.as_str())), value);
        }
    }
    family(&mut text, "brk_runs", "counter", "Runs that ended, by outcome.");
    for shown in breakers {
        let totals = &shown.snapshot.breaker.totals;
        let outcomes = [
            ("success", totals.success),
            ("failure", totals.failure),
            ("ignored", totals.ignored),
            ("late", totals.late),
        ];
        for (outcome, count) in outcomes {
            sample(&mut text, "brk_runs_total", shown, Some(("outcome", outcome)), count);
        }
    }
    counter(&mut text, "brk_refused", "Runs that were refused.", breakers, |shown| {
        shown.snapshot.breaker.totals.refused
    });
    counter(&mut text, "brk_opened", "How often the breaker opened, trips included.", breakers, |shown| {
        shown.snapshot.breaker.totals.opened
    });
    counter(&mut text, "brk_probes", "Probes that were admitted.", breakers, |shown| {
        shown.snapshot.breaker.totals.probes
    });
    gauge(&mut text, "brk_failure_streak", "Failures in a row.", breakers, |shown| {
        Some(shown.snapshot.breaker.streak.to_string())
    });
    gauge(
        &mut text,
        "brk_retry_timestamp_seconds",
        "When the open breaker admits a probe.",
        breakers,
        |shown| shown.snapshot.breaker.phase.retry_at().map(|at| wall(shown, at)),
    );
    gauge(&mut text, "brk_last_run_timestamp_seconds", "When the last run ended.", breakers, |shown| {
        shown.snapshot.breaker.last.as_ref().map(|last| wall(shown, last.at))
    });
    gauge(
        &mut text,
        "brk_last_success_timestamp_seconds",
        "When the last success ended.",
        breakers,
        |shown| shown.snapshot.breaker.last_success.map(|at| wall(shown, at)),
    );
    gauge(&mut text, "brk_last_duration_seconds", "How long the last run took.", breakers, |shown| {
        shown.snapshot.breaker.last.as_ref().map(|last| seconds(last.duration.0))
    });
    text.push_str("# EOF\n");
    text
}

fn counter(text: &mut String, name: &str, help: &str, breakers: &[Shown], count: impl Fn(&Shown) -> u64) {
    family(text, name, "counter", help);
    for shown in breakers {
        sample(text, &format!("{name}_total"), shown, None, count(shown));
    }
}

/// A gauge without a value has no sample.
fn gauge(
    text: &mut String,
    name: &str,
    help: &str,
    breakers: &[Shown],
    value: impl Fn(&Shown) -> Option<String>,
) {
    family(text, name, "gauge", help);
    for shown in breakers {
        if let Some(value) = value(shown) {
            sample(text, name, shown, None, value);
        }
    }
}

fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    if name.ends_with("_seconds") {
        let _ = writeln!(text, "# UNIT {name} seconds");
    }
}

fn sample(
    text: &mut String,
    name: &str,
    shown: &Shown,
    label: Option<(&str, &str)>,
    value: impl std::fmt::Display,
) {
    let breaker = escaped(shown.name.as_str());
    let label = label.map(|(key, word)| format!(",{key}=\"{word}\"")).unwrap_or_default();
    let _ = writeln!(text, "{name}{{name=\"{breaker}\"{label}}} {value}");
}

/// Escaped as the value of a label. A name has no line feed.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn wall(shown: &Shown, at: Timestamp) -> String {
    seconds(shown.snapshot.clock.wall(at))
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}
