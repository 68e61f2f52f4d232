//! One breaker in full.

use super::forecast::{self, Forecast};
use super::style::{self, BOLD, Charset, DIM, paint};
use super::{Shown, history, millis_time, strip, wall_time, words};
use crate::breaker::Totals;
use crate::breaker::policy::{Policy, WindowSize};
use crate::breaker::time::Timestamp;
use crate::name::Name;
use crate::settings::{PolicyValue, Setting};
use crate::store::Snapshot;

/// A setting of the policy, and where its value comes from.
#[derive(Clone, Debug)]
pub struct PolicyLine {
    pub key: &'static str,
    pub value: PolicyValue,
    pub origin: String,
}

/// How many of the last events and outcomes are shown.
const EVENTS: usize = 8;
const STRIP: usize = 60;

/// A key in the left column, a text in the right one.
struct Page(String);

impl Page {
    fn line(&mut self, key: &str, value: &str) {
        let key = paint(DIM, &format!("{key:10}"));
        self.0.push_str(format!("{key}{value}").trim_end());
        self.0.push('\n');
    }

    fn gap(&mut self) {
        self.0.push('\n');
    }
}

pub fn detail(shown: &Shown, settings: &[PolicyLine], store: &str, charset: Charset) -> String {
    let Shown { name, snapshot, recent, .. } = shown;
    let breaker = &snapshot.breaker;
    let mut page = Page(heading(name, snapshot));
    standing(&mut page, shown);
    let marks = strip::marks(recent, STRIP);
    if !marks.is_empty() {
        page.line("recent", &strip::drawn(&marks, charset));
    }
    page.gap();
    alive(&mut page, shown);
    totals(&mut page, &breaker.totals);
    page.line("store", store);
    page.gap();
    for (index, setting) in settings.iter().enumerate() {
        let origin = paint(DIM, &format!("# {}", setting.origin));
        let text = format!("{:19} {:10} {origin}", setting.key, setting.value.to_string());
        page.line(if index == 0 { "policy" } else { "" }, text.trim_end());
    }
    let events: Vec<_> = recent
        .iter()
        .flat_map(|entry| entry.events.iter().map(move |event| history::line(&entry.clock, event)))
        .collect();
    if !events.is_empty() {
        page.gap();
        for line in &events[events.len().saturating_sub(EVENTS)..] {
            page.0.push_str(line);
        }
    }
    page.0
}

fn heading(name: &Name, snapshot: &Snapshot) -> String {
    let now = snapshot.now();
    let breaker = &snapshot.breaker;
    let word = paint(style::standing_style(breaker, now), style::standing(breaker, now));
    format!("{}: {word}\n", paint(BOLD, name.as_str()))
}

/// The phase, why, and what is next.
fn standing(page: &mut Page, shown: &Shown) {
    let snapshot = &shown.snapshot;
    let breaker = &snapshot.breaker;
    let now = snapshot.now();
    let ago = |at: Timestamp| {
        format!("{}, {} ago", wall_time(&snapshot.clock, at), words::format_age(now.since(at)))
    };
    page.line("phase", &format!("{} since {}", breaker.phase.kind().as_str(), ago(breaker.since)));
    if let Some(hold) = breaker.active_hold(now) {
        let until = hold.until.map_or_else(
            || "until 'brk release'".to_owned(),
            |at| {
                format!(
                    "until {}, for another {}",
                    wall_time(&snapshot.clock, at),
                    words::wait(at.since(now))
                )
            },
        );
        let reason = hold.reason.as_ref().map(|reason| format!(": {}", words::escape_control(reason)));
        page.line("override", &format!("{} {until}{}", words::hold(hold.hold), reason.unwrap_or_default()));
    }
    if let Some(opening) = breaker.phase.opening() {
        page.line("reason", &words::opened_by(&opening.why, &opening.told));
        page.line("outage", &format!("since {}", ago(opening.outage_since())));
    }
    let next = match forecast::of(snapshot) {
        Forecast::Run => "now".to_owned(),
        Forecast::Passthrough => "now, whatever the phase".to_owned(),
        Forecast::Probe => "now, as a probe".to_owned(),
        Forecast::Refused(refusal) => {
            let at = refusal.retry_at.map(|at| format!(", at {}", wall_time(&snapshot.clock, at)));
            words::next_try(&snapshot.without_dead_probes(), &refusal, now) + &at.unwrap_or_default()
        }
    };
    page.line("next try", &next);
    if let (Some(cooldown), Some(_)) = (breaker.current_wait(), breaker.phase.opening()) {
        page.line("cooldown", &format!("{}, level {}", words::wait(cooldown), breaker.level));
    }
    let limit = breaker.policy.failures.map(|limit| format!(" of {limit}")).unwrap_or_default();
    page.line("streak", &format!("{}{limit} failures in a row", breaker.streak));
    page.line("window", &window(snapshot));
    if let Some(last) = &breaker.last {
        let late = if last.late { " (late)" } else { "" };
        let (ending, took) = (words::ending(&last.ending), words::format_elapsed(last.duration));
        let program = words::escape_control(&last.program);
        page.line("last run", &format!("{program}: {ending} after {took}, {}{late}", last.outcome));
        page.line("", &ago(last.at));
    }
    if let Some(at) = breaker.last_success {
        page.line("last good", &ago(at));
    }
}

fn window(snapshot: &Snapshot) -> String {
    let breaker = &snapshot.breaker;
    let policy = &breaker.policy;
    let counts = breaker.counts(snapshot.now());
    let of = match policy.window {
        WindowSize::Count(count) => format!("the last {count}"),
        WindowSize::Span(span) => format!("the last {span}"),
    };
    let mut text = format!(
        "{} in {of}: {} failed, {} slow",
        words::pluralize(counts.total, "run"),
        counts.failures,
        counts.slow
    );
    for (rate, word) in [(policy.failure_rate, "failed"), (policy.slow_rate, "slow")] {
        if let Some(rate) = rate {
            text.push_str(&format!("; opens at {rate} {word} of {} or more", policy.min_calls));
        }
    }
    text
}

/// The probes and runs that are alive now.
fn alive(page: &mut Page, shown: &Shown) {
    let snapshot = &shown.snapshot;
    let now = snapshot.now();
    for live in &snapshot.alive {
        let command = live.command_pid.map(|pid| format!(", command {pid}")).unwrap_or_default();
        let deadline = live.probe.deadline.map(|at| format!(", until {}", wall_time(&snapshot.clock, at)));
        let age = words::format_age(now.since(live.probe.since));
        let who =
            words::describe_survivors(live).unwrap_or_else(|| format!("brk {}{command}", live.probe.pid));
        page.line("probe", &format!("{who}, for {age}{}", deadline.unwrap_or_default()));
    }
    for slot in &shown.slots {
        let command = slot.holder.command.map(|pid| format!(", command {pid}")).unwrap_or_default();
        let since = slot.since.map(|at| format!(", since {}", millis_time(at))).unwrap_or_default();
        page.line("running", &format!("brk {}{command}{since}", slot.holder.pid));
    }
}

fn totals(page: &mut Page, totals: &Totals) {
    let Totals {
        launched,
        success,
        failure,
        ignored,
        late,
        refused,
        timeout,
        probes,
        lost,
        opened,
        reopened,
    } = totals;
    page.line(
        "totals",
        &format!("{launched} launched: {success} success, {failure} failure, {ignored} ignored, {late} late"),
    );
    page.line(
        "",
        &format!(
            "{timeout} timed out; {refused} refused; opened {}, again after a probe {}",
            words::format_count(*opened),
            words::format_count(*reopened)
        ),
    );
    page.line("", &format!("{probes} probes, {lost} of them lost"));
}

/// The settings of a policy, by the names of their flags. `origin` says where a value comes from.
pub fn policy_lines(
    rows: &'static [Setting],
    policy: &Policy,
    origin: impl Fn(&Setting, PolicyValue, fn(&Policy) -> PolicyValue) -> String,
) -> Vec<PolicyLine> {
    let line = |row: &'static Setting| {
        let of = row.policy?;
        let value = of(policy);
        Some(PolicyLine { key: row.key, value, origin: origin(row, value, of) })
    };
    rows.iter().filter_map(line).collect()
}
