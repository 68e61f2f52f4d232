//! Sentences that say what would happen to a run now, and why.

use serde::Serialize;

use super::forecast::{self, Forecast};
use super::{json, wall_time, words};
use crate::breaker::event::{EventKind, HoldAs, OpenedBy, RefusedBy};
use crate::breaker::policy::{Policy, WindowSize};
use crate::breaker::time::{Millis, Timestamp};
use crate::breaker::{Breaker, Opening, Phase, PhaseKind, Refusal};
use crate::name::Name;
use crate::store::Snapshot;
use crate::store::journal::Entry;

#[derive(Serialize)]
struct Object<'a> {
    version: u32,
    name: &'a Name,
    phase: PhaseKind,
    /// What a run would get: `run`, `probe` or `refused`.
    decision: &'static str,
    retry_at: Option<String>,
    retry_in_ms: Option<Millis>,
    sentences: &'a [String],
}

/// The sentences, one a line.
pub fn text(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("{sentence}\n")).collect()
}

pub fn json(name: &Name, snapshot: &Snapshot, sentences: &[String]) -> String {
    let (decision, retry_at) = match forecast::of(snapshot) {
        Forecast::Run | Forecast::Passthrough => ("run", None),
        Forecast::Probe => ("probe", None),
        Forecast::Refused(refusal) => ("refused", refusal.retry_at),
    };
    json::document(&Object {
        version: 1,
        name,
        phase: snapshot.breaker.phase.kind(),
        decision,
        retry_at: retry_at.map(|at| wall_time(&snapshot.clock, at)),
        retry_in_ms: retry_at.map(|at| at.since(snapshot.now())),
        sentences,
    })
}

/// The facts to tell, the answer first. `recent` is the end of the history.
pub fn sentences(name: &Name, snapshot: &Snapshot, recent: &[Entry]) -> Vec<String> {
    let teller = Teller { snapshot, breaker: &snapshot.breaker, now: snapshot.now() };
    let mut told = vec![format!("{name}: {}", teller.answer())];
    told.extend(teller.overridden());
    match &teller.breaker.phase {
        Phase::Closed => told.extend(teller.closed()),
        Phase::Open(opening) => told.extend(teller.open(opening, recent)),
        Phase::HalfOpen { opening, successes, failures } => {
            told.extend(teller.open(opening, recent));
            told.push(teller.half_open(*successes, *failures));
        }
    }
    told.extend(teller.last());
    told
}

struct Teller<'a> {
    snapshot: &'a Snapshot,
    breaker: &'a Breaker,
    now: Timestamp,
}

impl Teller<'_> {
    fn answer(&self) -> String {
        match forecast::of(self.snapshot) {
            Forecast::Run => "a run would be launched now.".to_owned(),
            Forecast::Passthrough => "a run would be launched now, because it is held closed.".to_owned(),
            Forecast::Probe => "a run would be launched now, as a probe.".to_owned(),
            Forecast::Refused(refusal) => self.refused(&refusal),
        }
    }

    fn refused(&self, refusal: &Refusal) -> String {
        let next = words::next_try(self.breaker, refusal, self.now);
        match refusal.why {
            RefusedBy::Open => format!("a run would be refused now; next try {next}."),
            RefusedBy::Busy => {
                "a run would be refused now, because as many as may be are running.".to_owned()
            }
            RefusedBy::Probing => {
                let (by, dead) = words::probers(&self.snapshot.without_dead_probes(), &self.snapshot.alive);
                let by = (!by.is_empty()).then(|| format!("{} is probing", by.join(" and ")));
                let why: Vec<_> = by.into_iter().chain(dead).collect();
                format!("a run would be refused now, because {}.", why.join(" and "))
            }
            RefusedBy::Held => "a run would be refused now, because it is held open.".to_owned(),
        }
    }

    fn overridden(&self) -> Option<String> {
        let hold = self.breaker.active_hold(self.now)?;
        let until = hold.until.map_or_else(
            || "until 'brk release'".to_owned(),
            |at| format!("until {}, for another {}", self.at(at), words::wait(at.since(self.now))),
        );
        let reason = hold.reason.as_ref().map(|reason| format!(" ({})", words::escape_control(reason)));
        let meaning = match hold.hold {
            HoldAs::Open => "every run is refused",
            HoldAs::Closed => "every run is launched and recorded",
        };
        Some(format!(
            "An operator holds it {}{}, {until}: {meaning}, and meanwhile the phase stays {}.",
            hold.hold.as_str(),
            reason.unwrap_or_default(),
            self.breaker.phase.kind().as_str()
        ))
    }

    /// Every rule, and how near it is.
    fn closed(&self) -> Vec<String> {
        let breaker = self.breaker;
        let Policy { failures, failure_rate, slow_rate, slow_after, window, min_calls, .. } = &breaker.policy;
        let since = words::format_age(self.now.since(breaker.since));
        let mut told = vec![format!("It is closed, and has been for {since}.")];
        if let Some(limit) = failures {
            let left = limit.get().saturating_sub(breaker.streak);
            told.push(format!(
                "{} of {limit} failures in a row: {left} more without a success between open it.",
                breaker.streak
            ));
        }
        let counts = breaker.counts(self.now);
        let span = match window {
            WindowSize::Count(count) => format!("the last {count} runs"),
            WindowSize::Span(span) => format!("the runs of the last {span}"),
        };
        let slow_word =
            slow_after.map_or_else(|| "were slow".to_owned(), |after| format!("took longer than {after}"));
        for (rate, part, word) in
            [(failure_rate, counts.failures, "failed"), (slow_rate, counts.slow, slow_word.as_str())]
        {
            let Some(rate) = rate else { continue };
            let few = if counts.total < min_calls.get() {
                format!("; the rule says nothing over fewer than {min_calls}")
            } else {
                String::new()
            };
            told.push(format!(
                "{part} of {} in the window ({span}) {word}: {rate} opens it{few}.",
                words::pluralize(counts.total, "run"),
            ));
        }
        if failures.is_none() && failure_rate.is_none() && slow_rate.is_none() {
            told.push("No count of failures opens it: --failures is 0 and no rate is given.".to_owned());
        }
        if let (Some(closed_at), Some(cooldown)) = (breaker.closed_at, breaker.cooldown)
            && self.now.since(closed_at) <= cooldown
        {
            let calm = closed_at.saturating_add(cooldown).since(self.now);
            told.push(format!(
                "It closed only {} ago: an opening in the next {} takes the next back-off level, {}.",
                words::format_age(self.now.since(closed_at)),
                words::wait(calm),
                breaker.level.saturating_add(1)
            ));
        }
        told
    }

    fn open(&self, opening: &Opening, recent: &[Entry]) -> Vec<String> {
        let breaker = self.breaker;
        let rule = match &opening.why {
            OpenedBy::Streak { failures, last } => {
                let limit = breaker.policy.failures.map_or(*failures, Into::into);
                format!("{failures} of {limit} failures in a row, the last {}", words::ending(last))
                    + &words::told(&opening.told)
            }
            OpenedBy::FailureRate { failures, total } => {
                let rate = breaker.policy.failure_rate.map(|rate| format!(", and {rate} opens it"));
                format!("{failures} of {total} runs in the window failed{}", rate.unwrap_or_default())
                    + &words::told(&opening.told)
            }
            OpenedBy::SlowRate { slow, total } => {
                let rate = breaker.policy.slow_rate.map(|rate| format!(", and {rate} opens it"));
                format!("{slow} of {total} runs in the window were slow{}", rate.unwrap_or_default())
                    + &words::told(&opening.told)
            }
            why @ (OpenedBy::TripOn { .. } | OpenedBy::Probe { .. } | OpenedBy::Operator { .. }) => {
                words::opened_by(why, &opening.told)
            }
        };
        let cooldown = breaker.current_wait().unwrap_or_default();
        // An outage begins when the closed breaker opens; a failed probe only prolongs it.
        let mut told = if opening.outage_since() < opening.at {
            vec![
                format!(
                    "It has been open since {}, {} ago.",
                    self.at(opening.outage_since()),
                    self.ago(opening.outage_since())
                ),
                format!(
                    "It waits since {}, {} ago, after {rule}; for {} (back-off level {}).",
                    self.at(opening.at),
                    self.ago(opening.at),
                    words::wait(cooldown),
                    breaker.level
                ),
            ]
        } else {
            vec![format!(
                "It opened at {}, {} ago, after {rule}; for {} (back-off level {}).",
                self.at(opening.at),
                self.ago(opening.at),
                words::wait(cooldown),
                breaker.level
            )]
        };
        if matches!(breaker.phase, Phase::Open(_)) {
            let probes = words::pluralize(breaker.policy.probes.get(), "probe");
            let successes = breaker.policy.probe_successes;
            let runs = opening.runs_left(breaker.totals.refused, self.now);
            let when = match (opening.retry_at <= self.now, runs) {
                (true, 0) => format!("Since {} the next run is a probe", self.at(opening.retry_at)),
                (true, runs) => {
                    format!("After {} a run is a probe", words::pluralize(runs, "more refused run"))
                }
                (false, 0) => format!("From {} on a run is a probe", self.at(opening.retry_at)),
                (false, runs) => format!(
                    "From {} on, and after {}, a run is a probe",
                    self.at(opening.retry_at),
                    words::pluralize(runs, "more refused run")
                ),
            };
            let closes = if successes.get() == 1 {
                "its success closes the breaker".to_owned()
            } else {
                format!("{successes} successes close the breaker")
            };
            told.push(format!("{when}, at most {probes} at once; {closes}, {}.", self.reopening()));
        }
        if let Some(at) = forecast::forced_at(self.snapshot)
            && let Some(every) = breaker.policy.run_at_least_every
        {
            told.push(format!(
                "Because of --run-at-least-every {every} a run is a probe from {} on.",
                self.at(at)
            ));
        }
        told.extend(no_matter(opening, recent));
        told
    }

    fn reopening(&self) -> String {
        let failures = self.breaker.policy.probe_failures;
        let next =
            crate::breaker::backoff::cooldown(&self.breaker.policy, self.breaker.level.saturating_add(1));
        let what = if failures.get() == 1 {
            "a failure opens it again".to_owned()
        } else {
            format!("{failures} failures open it again")
        };
        format!("{what} for {} or a little more", words::wait(next))
    }

    fn half_open(&self, successes: u32, failures: u32) -> String {
        let policy = &self.breaker.policy;
        let live: Vec<_> = self
            .snapshot
            .alive
            .iter()
            .map(|live| {
                let who = if live.is_orphaned() { "what is left of the killed brk" } else { "brk" };
                format!(
                    "{who} {} for {}",
                    live.probe.pid,
                    words::format_age(self.now.since(live.probe.since))
                )
            })
            .collect();
        let who = if live.is_empty() { "nobody".to_owned() } else { live.join(", ") };
        format!(
            "It is half-open: probing now is {who} (at most {} at once); {successes} of {} probes that close it have \
             succeeded, {failures} of {} that open it again have failed.",
            policy.probes, policy.probe_successes, policy.probe_failures
        )
    }

    fn last(&self) -> Option<String> {
        let last = self.breaker.last.as_ref()?;
        let ending = words::ending(&last.ending);
        let mut text = format!(
            "The last run ended at {}, {} ago: {ending} after {}, {}",
            self.at(last.at),
            words::format_age(self.now.since(last.at)),
            words::format_elapsed(last.duration),
            last.outcome
        );
        if last.late {
            text.push_str("; it was late and did not count");
        }
        Some(text + ".")
    }

    fn ago(&self, at: Timestamp) -> String {
        words::format_age(self.now.since(at))
    }

    fn at(&self, at: Timestamp) -> String {
        wall_time(&self.snapshot.clock, at)
    }
}

/// Results that arrived after the opening and change nothing.
fn no_matter(opening: &Opening, recent: &[Entry]) -> Option<String> {
    let since = recent.iter().filter(|entry| entry.clock.time() >= opening.at);
    let (mut late, mut refused) = (0_u32, 0_u64);
    for event in since.flat_map(|entry| &entry.events) {
        if let EventKind::Late { .. } = &event.kind {
            late += 1;
        }
        // A cooldown in runs counts its refusals.
        if let EventKind::Refused { count, .. } = &event.kind
            && opening.runs.is_none()
        {
            refused += count;
        }
    }
    let mut parts = Vec::new();
    if late > 0 {
        parts.push(words::pluralize(late, "late result"));
    }
    if refused > 0 {
        parts.push(words::pluralize(u32::try_from(refused).unwrap_or(u32::MAX), "refusal"));
    }
    let verb = if u64::from(late) + refused == 1 { "does" } else { "do" };
    (!parts.is_empty()).then(|| format!("{} since then {verb} not matter.", parts.join(" and ")))
}
