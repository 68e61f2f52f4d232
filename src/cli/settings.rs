//! Everything about a run that a flag or the configuration can set.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::breaker::policy::{Cooldown, Rate, WindowSize};
use crate::breaker::time::Millis;
use crate::profile::Profile;
use crate::settings::value::{self, FallbackOn, OnStateError, OnStoreError, Show, Specs, Wait};

/// Everything about a run that a flag or the configuration can set.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub struct Settings {
    /// The keys that were given by hand.
    #[arg(skip)]
    pub given: BTreeSet<String>,

    /// Open after N failures in a row; 0 switches the rule off [default: 3, or off where a rate is given]
    #[arg(long, value_name = "N", value_parser = value::count, allow_hyphen_values = true, help_heading = "When it opens")]
    pub failures: Option<u32>,

    /// Open when this share of the window failed: 50% or 0.5
    #[arg(long, value_name = "RATE", value_parser = value::positive_rate, allow_hyphen_values = true, help_heading = "When it opens")]
    pub failure_rate: Option<Rate>,

    /// Open when this share of the window was slow
    #[arg(long, value_name = "RATE", value_parser = value::positive_rate, allow_hyphen_values = true, help_heading = "When it opens")]
    pub slow_rate: Option<Rate>,

    /// A run that takes longer than this is slow
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "When it opens")]
    pub slow_after: Option<Millis>,

    /// What the rates look at: the last N runs (20) or the runs of the last DURATION (10m) [default: 20]
    #[arg(long, value_name = "N|DURATION", value_parser = value::window, allow_hyphen_values = true, help_heading = "When it opens")]
    pub window: Option<WindowSize>,

    /// The rates say nothing over fewer runs than this [default: 10, or the window where that is smaller]
    #[arg(long, value_name = "N", value_parser = value::positive_count, allow_hyphen_values = true, help_heading = "When it opens")]
    pub min_calls: Option<NonZeroU32>,

    /// Endings that are failures and open at once
    #[arg(long, value_name = "SPEC", value_parser = value::specs, allow_hyphen_values = true, help_heading = "When it opens")]
    pub trip_on: Vec<Specs>,

    /// How long it stays open at first: a duration, a number of refused runs (3runs), or both [default: 1m,1run]
    #[arg(long, value_name = "COOLDOWN", value_parser = value::cooldown, allow_hyphen_values = true, help_heading = "How long it stays open")]
    pub cooldown: Option<Cooldown>,

    /// By what the cooldown grows each time a probe fails [default: 2]
    #[arg(long, value_name = "FACTOR", value_parser = value::factor, allow_hyphen_values = true, help_heading = "How long it stays open")]
    pub backoff: Option<f64>,

    /// The longest cooldown [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "How long it stays open")]
    pub max_cooldown: Option<Millis>,

    /// Lengthen each cooldown by up to this share, so that many do not come back at once [default: 10%]
    #[arg(long, value_name = "RATE", value_parser = value::rate, allow_hyphen_values = true, help_heading = "How long it stays open")]
    pub jitter: Option<Rate>,

    /// Run, as a probe, when the last launch is this long ago, however open the breaker is
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "How long it stays open")]
    pub run_at_least_every: Option<Millis>,

    /// How many probes may be alive at once [default: 1]
    #[arg(long, value_name = "N", value_parser = value::positive_count, allow_hyphen_values = true, help_heading = "How it closes again")]
    pub probes: Option<NonZeroU32>,

    /// How many probes must succeed to close [default: 1]
    #[arg(long, value_name = "N", value_parser = value::positive_count, allow_hyphen_values = true, help_heading = "How it closes again")]
    pub probe_successes: Option<NonZeroU32>,

    /// How many failed probes open it again [default: 1]
    #[arg(long, value_name = "N", value_parser = value::positive_count, allow_hyphen_values = true, help_heading = "How it closes again")]
    pub probe_failures: Option<NonZeroU32>,

    /// A cheap check, run by 'sh -c' as the probe in the command's place
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = "How it closes again")]
    pub probe: Option<OsString>,

    /// How long the cheap check may take; 0 is no limit [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "How it closes again")]
    pub probe_timeout: Option<Millis>,

    /// The exit codes of a known program ('brk profiles' lists them)
    #[arg(long, value_name = "PROFILE", value_parser = value::profile, help_heading = "What counts as a failure")]
    pub profile: Option<&'static Profile>,

    /// Endings that are successes: codes, ranges, signals, timeout, not-started (0,100-110,SIGPIPE)
    #[arg(long, value_name = "SPEC", value_parser = value::specs, allow_hyphen_values = true, help_heading = "What counts as a failure")]
    pub success_on: Vec<Specs>,

    /// Endings that are failures
    #[arg(long, value_name = "SPEC", value_parser = value::specs, allow_hyphen_values = true, help_heading = "What counts as a failure")]
    pub fail_on: Vec<Specs>,

    /// Endings that say nothing about what the command depends on
    #[arg(long, value_name = "SPEC", value_parser = value::specs, allow_hyphen_values = true, help_heading = "What counts as a failure")]
    pub ignore_on: Vec<Specs>,

    /// End the command and all that it started after this long; 0 is no limit
    #[arg(short, long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "Supervising")]
    pub timeout: Option<Millis>,

    /// The signal that asks to end at a timeout [default: TERM]
    #[arg(short, long, value_name = "SIGNAL", value_parser = value::signal, help_heading = "Supervising")]
    pub signal: Option<i32>,

    /// How long after that signal what is left is killed; given by hand, also after a signal to brk [default: 5s]
    #[arg(short, long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "Supervising")]
    pub kill_after: Option<Millis>,

    /// After a timeout, exit as the command did and not with 124
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Supervising")]
    pub preserve_status: Option<bool>,

    /// End what the command leaves running in the background
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Supervising")]
    pub kill_leftovers: Option<bool>,

    /// Say nothing on standard error when a run is refused
    #[arg(short, long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Around the run")]
    pub quiet: Option<bool>,

    /// The exit code of a refusal [default: 75]
    #[arg(long, value_name = "CODE", value_parser = value::exit_code, allow_hyphen_values = true, help_heading = "Around the run")]
    pub refused_exit: Option<u8>,

    /// Try a policy out: count what would be refused, and run it all the same
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true, help_heading = "Around the run")]
    pub observe: Option<bool>,

    /// What to do where the state cannot be used: run unguarded, or refuse with 125 [default: run]
    #[arg(long, value_name = "WHAT", help_heading = "Around the run")]
    pub on_state_error: Option<OnStateError>,

    /// Where a shared store cannot be used: go on with this host's own state, run unguarded, or refuse with 125 [default: local]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, help_heading = "Around the run")]
    pub on_store_error: Option<OnStoreError>,

    /// Write what became of the run to FILE, as one JSON object
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Around the run")]
    pub report: Option<PathBuf>,

    /// Try again up to N times after a failure, until the breaker opens; BRK_ATTEMPT counts from 1
    #[arg(long, value_name = "N", value_parser = value::count, allow_hyphen_values = true, help_heading = "Around the run")]
    pub retries: Option<u32>,

    /// The longest pause before the first further attempt; the pause is a random part of it [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "Around the run")]
    pub retry_delay: Option<Millis>,

    /// By what that pause grows with each attempt [default: 2]
    #[arg(long, value_name = "FACTOR", value_parser = value::factor, allow_hyphen_values = true, help_heading = "Around the run")]
    pub retry_backoff: Option<f64>,

    /// What that pause never grows beyond [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = value::duration, allow_hyphen_values = true, help_heading = "Around the run")]
    pub retry_max_delay: Option<Millis>,

    /// Wait until admitted instead of being refused, for MAX at the most (--wait=10m, with the =)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "MAX", value_parser = value::wait, help_heading = "Around the run")]
    pub wait: Option<Wait>,

    /// At most N runs of this name with this flag at once; a further one is refused as busy
    #[arg(long, value_name = "N", value_parser = value::positive_count, allow_hyphen_values = true, help_heading = "Around the run")]
    pub max_concurrent: Option<NonZeroU32>,

    /// What to run instead when the run is refused, by 'sh -c'; its exit code is brk's
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = "Around the run")]
    pub fallback: Option<OsString>,

    /// When to run the fallback: refused, failure (a timeout too), timeout [default: refused]
    #[arg(
        long,
        value_name = "WHEN",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Around the run"
    )]
    pub fallback_on: Vec<FallbackOn>,

    /// What is shown of the command's output: stream, on-failure, or on-change (for cron) [default: stream]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, help_heading = "Around the run")]
    pub output: Option<Show>,

    /// Run CMD by 'sh -c' when the breaker opens, but not when a failed probe opens it again
    ///
    /// A hook runs after the change is stored, for 30s at the most, and does not change brk's exit code. It gets BRK_NAME,
    /// BRK_FROM, BRK_TO, BRK_REASON, BRK_EXIT, BRK_SIGNAL and BRK_RETRY_AT, and the event as JSON on standard input.
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = "Around the run")]
    pub on_open: Option<OsString>,

    /// Run CMD when the breaker closes, as --on-open
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = "Around the run")]
    pub on_close: Option<OsString>,

    /// Run CMD at every change of phase, as --on-open
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = "Around the run")]
    pub on_change: Option<OsString>,
}
