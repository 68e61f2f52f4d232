//! From what was written to what a run needs: settings become a policy, rules and limits that are valid, or an error
//! that names the flags which contradict each other.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::breaker::Mode;
use crate::breaker::outcome::{Rules, Spec, Verdict};
use crate::breaker::policy::{Contradiction, Draft, Policy};
use crate::breaker::time::Millis;
use crate::cli::parse::Specs;
use crate::cli::{OnStateError, Settings};
use crate::error::Error;
use crate::exit::{self, OnTimeout};
use crate::supervise::{Escalate, Leftovers, Limits};

/// What a run needs to know beside its name and its command.
#[derive(Debug)]
pub struct Plan {
    pub policy: Policy,
    pub rules: Rules,
    pub limits: Limits,
    pub check: Option<Check>,
    pub mode: Mode,
    pub refusal: Refusal,
    pub on_timeout: OnTimeout,
    pub on_state_error: OnStateError,
    pub report: Option<PathBuf>,
}

/// A cheap check that stands in for the command of a probe.
#[derive(Debug)]
pub struct Check {
    pub script: OsString,
    pub limits: Limits,
}

/// What a refusal looks like from outside.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    pub exit: u8,
    pub voice: Voice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    Line,
    Silent,
}

const KILL_AFTER: Duration = Duration::from_secs(5);
const PROBE_TIMEOUT: Millis = Millis(30_000);
const SIGTERM: i32 = 15;

impl Plan {
    pub fn new(settings: &Settings) -> Result<Plan, Error> {
        let limits = limits(settings);
        Ok(Plan {
            policy: policy(settings)?,
            rules: rules(settings)?,
            check: settings.probe.clone().map(|script| {
                let timeout = time_limit(settings.probe_timeout.unwrap_or(PROBE_TIMEOUT));
                Check { script, limits: Limits { timeout, ..limits.clone() } }
            }),
            limits,
            mode: if settings.observe == Some(true) { Mode::Observe } else { Mode::Enforce },
            refusal: Refusal {
                exit: settings.refused_exit.unwrap_or(exit::REFUSED),
                voice: if settings.quiet == Some(true) { Voice::Silent } else { Voice::Line },
            },
            on_timeout: match settings.preserve_status {
                Some(true) => OnTimeout::PreserveStatus,
                _ => OnTimeout::Say124,
            },
            on_state_error: settings.on_state_error.unwrap_or(OnStateError::Run),
            report: settings.report.clone(),
        })
    }

    /// The longest that a probe of this run can rightly live.
    pub fn lifetime(&self) -> Option<Millis> {
        let limits = self.check.as_ref().map_or(&self.limits, |check| &check.limits);
        let timeout = limits.timeout?;
        Some(Millis::from(timeout).plus(Millis::from(limits.kill_after)))
    }
}

pub fn policy(settings: &Settings) -> Result<Policy, Error> {
    let draft = Draft {
        failures: settings.failures,
        failure_rate: settings.failure_rate,
        slow_rate: settings.slow_rate,
        slow_after: settings.slow_after,
        window: settings.window,
        min_calls: settings.min_calls,
        cooldown: settings.cooldown,
        backoff: settings.backoff,
        max_cooldown: settings.max_cooldown,
        jitter: settings.jitter,
        probes: settings.probes,
        probe_successes: settings.probe_successes,
        probe_failures: settings.probe_failures,
        run_at_least_every: settings.run_at_least_every,
    };
    Policy::new(draft).map_err(|contradiction| {
        Error::Usage(match contradiction {
            Contradiction::MinCallsAboveWindow { min_calls, window } => {
                format!("--min-calls {min_calls} is above --window {window}: so many runs are never in it; lower the one or raise the other")
            }
            Contradiction::SlowRateWithoutSlowAfter => {
                "--slow-rate needs --slow-after, which says what is slow".to_owned()
            }
            Contradiction::MaxCooldownBelowCooldown { max_cooldown, cooldown } => {
                format!("--max-cooldown {max_cooldown} is below --cooldown {cooldown}")
            }
            Contradiction::BackoffBelowOne => "--backoff must be 1 or more".to_owned(),
        })
    })
}

fn rules(settings: &Settings) -> Result<Rules, Error> {
    let base = settings.profile.map_or_else(Rules::base, |profile| profile.rules());
    let lists = [
        ("--success-on", Verdict::Success, &settings.success_on),
        ("--fail-on", Verdict::Failure, &settings.fail_on),
        ("--ignore-on", Verdict::Ignored, &settings.ignore_on),
        ("--trip-on", Verdict::Trip, &settings.trip_on),
    ];
    let mut by_hand: Vec<(Spec, Verdict)> = Vec::new();
    let mut seen: Vec<(Spec, &str, Verdict)> = Vec::new();
    for (flag, verdict, lists) in lists {
        for spec in lists.iter().flat_map(|Specs(specs)| specs) {
            for (other, other_flag, other_verdict) in &seen {
                // What trips fails: these two may name the same ending.
                let agree = other_verdict.outcome() == verdict.outcome();
                if !agree && let Some(both) = overlap(other, spec) {
                    return Err(Error::Usage(format!(
                        "{both} is in both {other_flag} and {flag}; name it in one of them"
                    )));
                }
            }
            seen.push((spec.clone(), flag, verdict));
            by_hand.push((spec.clone(), verdict));
        }
    }
    Ok(base.overridden(&by_hand))
}

/// An ending that two specs name, in words. A named signal is an exception to `signal`, and no overlap with it.
fn overlap(one: &Spec, other: &Spec) -> Option<String> {
    match (one, other) {
        (Spec::Codes(one), Spec::Codes(other)) => {
            let first = *one.start().max(other.start());
            (first <= *one.end().min(other.end())).then(|| format!("exit code {first}"))
        }
        (Spec::Signal(one), Spec::Signal(other)) => {
            (one == other).then(|| crate::signal::name(*one).into_owned())
        }
        (Spec::AnySignal, Spec::AnySignal) => Some("signal".to_owned()),
        (Spec::Timeout, Spec::Timeout) => Some("timeout".to_owned()),
        (Spec::NotStarted, Spec::NotStarted) => Some("not-started".to_owned()),
        _ => None,
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        timeout: settings.timeout.and_then(time_limit),
        signal: settings.signal.unwrap_or(SIGTERM),
        kill_after: settings.kill_after.map_or(KILL_AFTER, Duration::from),
        escalate_on_signal: match settings.kill_after {
            Some(_) => Escalate::AfterKillAfter,
            None => Escalate::Never,
        },
        leftovers: match settings.kill_leftovers {
            Some(true) => Leftovers::End,
            _ => Leftovers::Leave,
        },
    }
}

fn time_limit(length: Millis) -> Option<Duration> {
    (!length.is_zero()).then(|| length.into())
}
