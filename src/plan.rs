//! From what was set to what a run needs: settings become a policy, rules and limits that are valid, or an error that
//! names the flags that contradict each other. Not here: where a setting comes from (`settings`).

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::breaker::notice::Notify;
use crate::breaker::outcome::{Ending, Rules, Spec, Verdict};
use crate::breaker::policy::{Contradiction, Draft, Policy, Rate};
use crate::breaker::time::Millis;
use crate::breaker::{CooldownParts, Mode};
use crate::error::Error;
use crate::exit::{self, OnSuccess, OnTimeout};
use crate::hook::{self, Hooks};
use crate::settings::Settings;
use crate::settings::resolve::{Rank, Resolved};
use crate::settings::value::{FallbackOn, OnStateError, OnStoreError, Show, Specs, Wait};
use crate::signal;
use crate::supervise::{Escalate, Leftovers, Limits};

/// What a run needs to know beside its name and its command.
#[derive(Debug)]
pub struct Plan {
    pub policy: Policy,
    pub rules: Rules,
    pub limits: Limits,
    pub check: Option<Check>,
    pub tell: Tell,
    pub mode: Mode,
    pub refusal: Refusal,
    pub on_timeout: OnTimeout,
    pub on_success: OnSuccess,
    pub on_state_error: OnStateError,
    pub on_store_error: OnStoreError,
    pub report: Option<PathBuf>,
    pub retry: Retry,
    pub wait: Wait,
    pub max_concurrent: Option<NonZeroU32>,
    pub fallback: Option<Fallback>,
    pub show: Show,
    /// What a run that shows only news wants to know.
    pub notify: Option<Notify>,
    pub hooks: Hooks,
}

/// Whether a command may say itself what its run means.
#[derive(Clone, Copy, Debug)]
pub enum Tell {
    No,
    /// With the longest wait that it may ask for.
    UpTo(Millis),
}

/// Further attempts after a failure.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    pub times: u32,
    pub delay: Millis,
    pub backoff: f64,
    pub max_delay: Millis,
    /// The random share of each delay.
    pub jitter: Rate,
}

/// What runs instead of the command, and when.
#[derive(Debug)]
pub struct Fallback {
    pub script: OsString,
    pub on: Vec<FallbackOn>,
}

/// A cheap check that stands in for the command of a probe.
#[derive(Debug)]
pub struct Check {
    pub script: OsString,
    pub limits: Limits,
}

impl Check {
    /// What the ending of a check means.
    pub fn classify(ending: &Ending) -> Verdict {
        match ending {
            Ending::Exited(0) => Verdict::Success,
            Ending::Interrupted(_) => Verdict::Ignored,
            Ending::Exited(_) | Ending::Signaled(_) | Ending::TimedOut(_) | Ending::NotStarted(_) => {
                Verdict::Failure
            }
        }
    }
}

/// What a refusal looks like from outside.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    pub exit: u8,
    pub quiet: Quiet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    No,
    Yes,
}

const KILL_AFTER: Duration = Duration::from_secs(5);
const PROBE_TIMEOUT: Millis = Millis(30_000);
const MAX_RETRY_AFTER: Millis = Millis(86_400_000);
const RETRY_DELAY: Millis = Millis(1_000);
const RETRY_MAX_DELAY: Millis = Millis(60_000);
const REMIND_EVERY: Millis = Millis(86_400_000);

impl Plan {
    pub fn new(resolved: &Resolved) -> Result<Plan, Error> {
        let settings = &resolved.settings;
        let limits = limits(settings);
        Ok(Plan {
            policy: policy(resolved)?,
            rules: rules(resolved)?,
            check: script(settings.probe.as_ref()).map(|script| {
                let timeout = time_limit(settings.probe_timeout.unwrap_or(PROBE_TIMEOUT));
                Check { script, limits: Limits { timeout, ..limits.clone() } }
            }),
            limits,
            tell: match settings.tell {
                Some(true) => Tell::UpTo(settings.max_retry_after.unwrap_or(MAX_RETRY_AFTER)),
                _ => Tell::No,
            },
            mode: if settings.observe == Some(true) { Mode::Observe } else { Mode::Enforce },
            refusal: Refusal {
                exit: settings.refused_exit.unwrap_or(exit::REFUSED),
                quiet: if settings.quiet == Some(true) { Quiet::Yes } else { Quiet::No },
            },
            on_timeout: match settings.preserve_status {
                Some(true) => OnTimeout::PreserveStatus,
                _ => OnTimeout::Say124,
            },
            on_success: match settings.success_exit {
                Some(true) => OnSuccess::Zero,
                _ => OnSuccess::AsTheCommand,
            },
            on_state_error: settings.on_state_error.unwrap_or(OnStateError::Run),
            on_store_error: settings.on_store_error.unwrap_or(OnStoreError::Local),
            report: settings.report.clone(),
            retry: Retry {
                times: settings.retries.unwrap_or(0),
                delay: settings.retry_delay.unwrap_or(RETRY_DELAY),
                backoff: settings.retry_backoff.unwrap_or(2.0),
                max_delay: settings.retry_max_delay.unwrap_or(RETRY_MAX_DELAY),
                jitter: settings.retry_jitter.unwrap_or(Rate::MAX),
            },
            wait: settings.wait.unwrap_or(Wait::No),
            max_concurrent: settings.max_concurrent,
            fallback: script(settings.fallback.as_ref()).map(|script| Fallback {
                script,
                on: match settings.fallback_on.as_slice() {
                    [] => vec![FallbackOn::Refused],
                    reasons => reasons.to_vec(),
                },
            }),
            show: settings.output.unwrap_or(Show::Stream),
            notify: (settings.output == Some(Show::OnChange)).then(|| Notify {
                remind_every: Some(settings.remind_every.unwrap_or(REMIND_EVERY))
                    .filter(|every| !every.is_zero()),
            }),
            hooks: hooks(settings),
        })
    }

    /// A run that waits is not refused again and again, so it goes by the time part of a cooldown alone.
    pub fn cooldown_parts(&self) -> CooldownParts {
        match self.wait {
            Wait::No => CooldownParts::Both,
            Wait::AtMost(_) | Wait::Forever => CooldownParts::TimeOnly,
        }
    }

    /// The longest that a probe of this run can rightly live.
    pub fn lifetime(&self) -> Option<Millis> {
        let limits = self.check.as_ref().map_or(&self.limits, |check| &check.limits);
        // Before its probe starts, `brk` may wait for the hook of the change to half-open.
        let hook = if self.hooks.on_change.is_some() { Millis::from(hook::LIMIT) } else { Millis::ZERO };
        Some(Millis::from(limits.timeout?).plus(Millis::from(limits.kill_after)).plus(hook))
    }
}

pub fn hooks(settings: &Settings) -> Hooks {
    Hooks {
        on_open: script(settings.on_open.as_ref()),
        on_close: script(settings.on_close.as_ref()),
        on_change: script(settings.on_change.as_ref()),
    }
}

pub fn policy(resolved: &Resolved) -> Result<Policy, Error> {
    let settings = &resolved.settings;
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
        let (what, keys) = match contradiction {
            Contradiction::MinCallsAboveWindow { min_calls, window } => (
                format!("--min-calls {min_calls} is above --window {window}: the window never holds that many runs"),
                &["min-calls", "window"][..],
            ),
            Contradiction::SlowRateWithoutSlowAfter => {
                ("--slow-rate needs --slow-after, which says what is slow".to_owned(), &["slow-rate"][..])
            }
            Contradiction::MaxCooldownBelowCooldown { max_cooldown, cooldown } => (
                format!("--max-cooldown {max_cooldown} is below --cooldown {cooldown}"),
                &["max-cooldown", "cooldown"][..],
            ),
            Contradiction::BackoffBelowOne => ("--backoff must be 1 or more".to_owned(), &["backoff"][..]),
        };
        Error::Usage(resolved.with_places(what, keys))
    })
}

/// The rules of the profile, then those of each layer, the strongest last. Within one layer an ending has one meaning.
fn rules(resolved: &Resolved) -> Result<Rules, Error> {
    let settings = &resolved.settings;
    let lists = [
        ("success-on", Verdict::Success, &settings.success_on),
        ("fail-on", Verdict::Failure, &settings.fail_on),
        ("ignore-on", Verdict::Ignored, &settings.ignore_on),
        ("trip-on", Verdict::Trip, &settings.trip_on),
    ];
    let mut named: Vec<(Rank, &str, Verdict, &Spec)> = Vec::new();
    for (key, verdict, lists) in lists {
        let rank = resolved.rank(key);
        for spec in lists.iter().flat_map(|Specs(specs)| specs) {
            // What trips fails: these two may name the same ending.
            let clash = named.iter().find_map(|(other_rank, other_key, other_verdict, other)| {
                let clashes = *other_rank == rank && other_verdict.outcome() != verdict.outcome();
                clashes.then(|| overlap(other, spec)).flatten().map(|both| (both, *other_key))
            });
            if let Some((both, other_key)) = clash {
                let what = format!("{both} is in both --{other_key} and --{key}; name it in one of them");
                return Err(Error::Usage(resolved.with_places(what, &[other_key, key])));
            }
            named.push((rank, key, verdict, spec));
        }
    }
    let base = settings.profile.map_or_else(Rules::base, |profile| profile.rules());
    named.sort_by_key(|(rank, ..)| *rank);
    let layers = named.chunk_by(|(one, ..), (other, ..)| one == other);
    Ok(layers.fold(base, |rules, layer| {
        let layer: Vec<_> = layer.iter().map(|(_, _, verdict, spec)| ((*spec).clone(), *verdict)).collect();
        rules.overridden(&layer)
    }))
}

/// An ending that two specs name, in words. A named signal is an exception to `signal`, and no overlap with it.
fn overlap(one: &Spec, other: &Spec) -> Option<String> {
    match (one, other) {
        (Spec::Codes(one), Spec::Codes(other)) => {
            let first = *one.start().max(other.start());
            (first <= *one.end().min(other.end())).then(|| format!("exit code {first}"))
        }
        (Spec::Signal(one), Spec::Signal(other)) => (one == other).then(|| signal::name(*one).into_owned()),
        (Spec::AnySignal, Spec::AnySignal) => Some("signal".to_owned()),
        (Spec::Timeout, Spec::Timeout) => Some("timeout".to_owned()),
        (Spec::NotStarted, Spec::NotStarted) => Some("not-started".to_owned()),
        _ => None,
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        timeout: settings.timeout.and_then(time_limit),
        signal: settings.signal.unwrap_or(signal::TERM),
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

/// An empty script is none: so a section can take back what the defaults say.
fn script(script: Option<&OsString>) -> Option<OsString> {
    script.filter(|script| !script.is_empty()).cloned()
}

fn time_limit(length: Millis) -> Option<Duration> {
    (!length.is_zero()).then(|| length.into())
}
