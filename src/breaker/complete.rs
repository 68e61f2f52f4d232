//! How a run ended, heard: what moves the machine from phase to phase.

use super::event::{Event, EventKind, OpenedBy, Run, Told};
use super::outcome::{Ending, Outcome, Verdict};
use super::policy::Policy;
use super::time::{Millis, Timestamp};
use super::window::{Call, Counts};
use super::{
    Breaker, Completion, Last, Opening, Outage, Permit, PermitKind, Phase, Report, RunPart, Task, backoff,
};

/// A wait as it is chosen at an opening.
pub(super) struct Wait {
    pub time: Millis,
    /// What the next opening backs off from: the time without what a command asked for.
    pub untold: Millis,
    pub runs: u32,
    /// When the number of runs does not matter any more, from the opening on.
    pub limit: Millis,
}

impl Wait {
    pub(super) fn of_level(policy: &Policy, level: u32, random: f64) -> Wait {
        let time = backoff::jittered(policy, backoff::cooldown(policy, level), random);
        Wait { time, untold: time, runs: backoff::cooldown_runs(policy, level), limit: policy.max_cooldown }
    }

    /// A wait that no run ends.
    pub(super) fn of_time(time: Millis) -> Wait {
        Wait { time, untold: time, runs: 0, limit: Millis::ZERO }
    }

    /// The wait of a level, or `least` if that is longer. Jitter only adds.
    fn at_least(policy: &Policy, level: u32, least: Millis, random: f64) -> Wait {
        let wait = Wait::of_level(policy, level, random);
        if least <= backoff::cooldown(policy, level) {
            return wait;
        }
        Wait { untold: wait.time, ..Wait::of_time(backoff::jittered(policy, least, random)) }
    }
}

impl Breaker {
    /// Records how a run ended. `random`, from 0 to 1, chooses the jitter of a wait.
    pub fn complete(
        &mut self,
        permit: &Permit,
        report: Report,
        policy: &Policy,
        now: Timestamp,
        random: f64,
    ) -> Completion {
        // An override that ended by time meanwhile is for the next run to record: it must not make this one late.
        let probe = matches!(permit.kind, PermitKind::Probe(_));
        let listed = self.probes.len();
        self.probes
            .retain(|other| !probe || (other.serial, other.generation) != (permit.serial, permit.generation));
        // A probe that was given up for lost has no place to speak from: another may have it by now.
        let lost = probe && self.probes.len() == listed;
        let outcome = report.verdict.outcome();
        let slow = policy.is_slow(report.duration);
        let run = Run {
            ending: report.ending,
            duration: report.duration,
            probe,
            slow,
            check: report.task == Task::Check,
            told: report.told.clone(),
        };
        let asked = report.notify.map(|(notify, found)| (notify, found, report.program.clone()));
        let ending = report.ending;
        let late = permit.id != self.id || permit.generation != self.generation || lost;
        let counted = lost && permit.id == self.id && self.launched_lost_probes.contains(&permit.serial);
        if counted {
            self.launched_lost_probes.retain(|serial| *serial != permit.serial);
        }
        if report.is_launch() {
            self.totals.launched += u64::from(!counted);
            let launched = now.saturating_sub(report.duration);
            self.last_launch = Some(self.last_launch.map_or(launched, |last| last.max(launched)));
        }
        self.note(&report, late, now);
        if late {
            self.totals.late += 1;
            self.events.push(Event { generation: permit.generation, kind: EventKind::Late { outcome, run } });
            let news = asked.map(|(notify, _, program)| {
                // The change of phase that made it late is another run's news.
                let found = self.phase.kind();
                self.news_of_ending(notify, (&program, ending, outcome), found, now)
            });
            return Completion::Late(news.unwrap_or_default());
        }
        self.policy.clone_from(policy);
        match outcome {
            Outcome::Success => self.totals.success += 1,
            Outcome::Failure => self.totals.failure += 1,
            Outcome::Ignored => self.totals.ignored += 1,
        }
        self.emit(EventKind::Ended { outcome, run });
        if outcome == Outcome::Success {
            self.last_success = Some(now);
        }
        match permit.kind {
            PermitKind::Passthrough => {}
            PermitKind::Normal => self.on_closed_result(&report, slow, policy, now, random),
            PermitKind::Probe(_) => self.on_probe_result(&report, policy, now, random),
        }
        let news = asked.map(|(notify, found, program)| {
            self.news_of_ending(notify, (&program, ending, outcome), found, now)
        });
        Completion::Counted(news.unwrap_or_default())
    }

    fn note(&mut self, report: &Report, late: bool, now: Timestamp) {
        if matches!(report.ending, Ending::TimedOut(_)) {
            self.totals.timeout += 1;
        }
        self.last = Some(Last {
            at: now,
            outcome: report.verdict.outcome(),
            late,
            ending: report.ending,
            duration: report.duration,
            program: report.program.clone(),
        });
    }

    fn on_closed_result(
        &mut self,
        report: &Report,
        slow: bool,
        policy: &Policy,
        now: Timestamp,
        random: f64,
    ) {
        let failed = match report.verdict.outcome() {
            Outcome::Ignored => return,
            Outcome::Success => false,
            Outcome::Failure => true,
        };
        self.streak = if failed { self.streak.saturating_add(1) } else { 0 };
        self.window.push(Call { at: now, failed, slow }, policy.window);
        if let Some(why) = self.broken_rule(report, policy, now) {
            let level = self.next_level(now);
            self.open_for(why, level, report, policy, now, random);
        }
    }

    fn broken_rule(&self, report: &Report, policy: &Policy, now: Timestamp) -> Option<OpenedBy> {
        let last = report.ending;
        if report.verdict == Verdict::Trip || !report.least_wait.is_zero() {
            return Some(OpenedBy::TripOn { last });
        }
        if policy.failures.is_some_and(|limit| self.streak >= limit.get()) {
            return Some(OpenedBy::Streak { failures: self.streak, last });
        }
        let Counts { total, failures, slow } = self.window.counts(policy.window, now);
        if total < policy.min_calls.get() {
            return None;
        }
        if policy.failure_rate.is_some_and(|rate| rate.is_reached(failures, total)) {
            return Some(OpenedBy::FailureRate { failures, total });
        }
        if policy.slow_rate.is_some_and(|rate| rate.is_reached(slow, total)) {
            return Some(OpenedBy::SlowRate { slow, total });
        }
        None
    }

    fn on_probe_result(&mut self, report: &Report, policy: &Policy, now: Timestamp, random: f64) {
        let Phase::HalfOpen { successes, failures, .. } = &mut self.phase else {
            return;
        };
        match report.verdict {
            // An interrupted probe was told to stop, and says nothing about the probing either.
            Verdict::Ignored if matches!(report.ending, Ending::Interrupted(_)) => {}
            Verdict::Ignored => self.wait_again(policy, now, random),
            Verdict::Success => {
                *successes += 1;
                if *successes >= policy.probe_successes.get() {
                    self.close(now);
                }
            }
            Verdict::Failure | Verdict::Trip => {
                *failures += 1;
                let failures = *failures;
                let at_once = report.verdict == Verdict::Trip || !report.least_wait.is_zero();
                if failures >= policy.probe_failures.get() || at_once {
                    let why = OpenedBy::Probe { failures, last: report.ending };
                    self.open_for(why, self.level.saturating_add(1), report, policy, now, random);
                }
            }
        }
    }

    pub(super) fn close(&mut self, now: Timestamp) {
        let opening = self.phase.opening();
        let length = opening.map(|opening| now.since(opening.outage_since()));
        let outage = opening.and_then(|opening| opening.outage);
        let refused = outage.map_or(0, |outage| self.totals.refused.saturating_sub(outage.refused));
        self.change_phase(Phase::Closed, now);
        self.streak = 0;
        self.window.clear();
        self.closed_at = Some(now);
        self.emit(EventKind::Closed { outage: length, refused });
    }

    fn open_for(
        &mut self,
        why: OpenedBy,
        level: u32,
        report: &Report,
        policy: &Policy,
        now: Timestamp,
        random: f64,
    ) {
        let wait = Wait::at_least(policy, level, report.least_wait, random);
        let (runs, told) = (wait.runs, report.told.clone());
        let retry_at = self.open(why.clone(), told.clone(), level, wait, now);
        self.emit(EventKind::Opened { why, retry_at, runs, told });
    }

    /// After a probe that was inconclusive: nothing was learned, so the breaker waits again at the level it has. At
    /// least one run is refused, or a breaker whose probes all end ignored would launch each run.
    fn wait_again(&mut self, policy: &Policy, now: Timestamp, random: f64) {
        let Some(opening) = self.phase.opening().cloned() else {
            return;
        };
        let mut wait = Wait::of_level(policy, 0, random);
        wait.runs = wait.runs.max(1);
        let runs = wait.runs;
        let retry_at = self.begin_wait(opening.why, opening.told, opening.outage, wait, now);
        self.emit(EventKind::Inconclusive { retry_at, runs });
    }

    /// Opens, and says until when.
    pub(super) fn open(
        &mut self,
        why: OpenedBy,
        told: Told,
        level: u32,
        wait: Wait,
        now: Timestamp,
    ) -> Timestamp {
        let began = Outage { since: now, refused: self.totals.refused };
        let outage = self.phase.opening().map_or(Some(began), |opening| opening.outage);
        match (&self.phase, &why) {
            (Phase::Closed, _) => self.totals.opened += 1,
            (Phase::Open(_) | Phase::HalfOpen { .. }, OpenedBy::Probe { .. }) => self.totals.reopened += 1,
            // An operator's trip of an open breaker is the same outage.
            (Phase::Open(_) | Phase::HalfOpen { .. }, _) => {}
        }
        self.level = level;
        self.begin_wait(why, told, outage, wait, now)
    }

    fn begin_wait(
        &mut self,
        why: OpenedBy,
        told: Told,
        outage: Option<Outage>,
        wait: Wait,
        now: Timestamp,
    ) -> Timestamp {
        let retry_at = now.saturating_add(wait.time);
        let runs = (wait.runs > 0).then(|| RunPart {
            needed: wait.runs,
            base: self.totals.refused,
            until: now.saturating_add(wait.limit),
        });
        self.change_phase(Phase::Open(Opening { at: now, retry_at, why, outage, runs, told }), now);
        self.cooldown = Some(wait.untold);
        retry_at
    }

    /// The level of an opening now: the next one where the last closing was no longer ago than the last wait was
    /// long, so that a flapping service is left alone longer each time.
    pub(super) fn next_level(&self, now: Timestamp) -> u32 {
        match (self.closed_at, self.cooldown) {
            (Some(closed_at), Some(cooldown)) if now.since(closed_at) <= cooldown => {
                self.level.saturating_add(1)
            }
            _ => 0,
        }
    }
}
