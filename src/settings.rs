//! What a setting is: one value of a run, which a flag or a configuration file can set. Not here: the settings that
//! there are (`table`), and what a run makes of them (`plan`).

pub mod check;
pub mod file;
mod outline;
pub mod resolve;
pub mod table;
#[cfg(test)]
mod tests;
pub mod types;
pub mod value;

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::breaker::policy::{Cooldown, Policy, Rate, WindowSize};
use crate::breaker::time::Millis;
use crate::profile::Profile;
use types::Type;
use value::{FallbackOn, OnStateError, OnStoreError, Show, Specs, Wait};

/// Everything that is known of a setting: one row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key in a configuration file, and the long flag.
    pub key: &'static str,
    /// Further names of the flag. They are no keys.
    pub aliases: &'static [&'static str],
    pub short: Option<char>,
    pub heading: Heading,
    /// One or two sentences without the last full stop.
    pub help: &'static str,
    /// What only the long help adds; empty for most.
    pub details: &'static str,
    pub value: Type,
    pub default: Default,
    pub scope: Scope,
    /// The value in a policy, for a setting that belongs to it.
    pub policy: Option<fn(&Policy) -> PolicyValue>,
    pub field: Field,
}

/// How a setting is kept in `Settings`.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Sets it from text, or says what would be right.
    pub set: fn(&mut Settings, &OsStr) -> Result<(), String>,
    pub is_set: fn(&Settings) -> bool,
    pub occurrence: Occurrence,
}

/// How often a flag can be used with effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// The last one counts.
    Single,
    /// They add up.
    Repeatable,
}

/// Where a setting may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// As a flag of `run`, and in every section.
    Anywhere,
    /// As a flag of every command, and in `[defaults]`: it is one for all breakers of a host.
    DefaultsOnly,
}

/// What a setting is that nobody has set.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// A value, as it would be written behind the flag.
    Value(&'static str),
    /// It depends on other settings; in words.
    Depends(&'static str),
    None,
}

/// The groups that settings are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    Opening,
    Cooldown,
    Closing,
    Failures,
    Supervision,
    Around,
    Store,
}

impl Heading {
    pub const ALL: [Heading; 7] = [
        Heading::Opening,
        Heading::Cooldown,
        Heading::Closing,
        Heading::Failures,
        Heading::Supervision,
        Heading::Around,
        Heading::Store,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Heading::Opening => "When it opens",
            Heading::Cooldown => "How long it stays open",
            Heading::Closing => "How it closes again",
            Heading::Failures => "What counts as a failure",
            Heading::Supervision => "Supervising",
            Heading::Around => "Retries, output and hooks",
            Heading::Store => "Shared store",
        }
    }
}

/// A value of a policy, to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PolicyValue {
    Off,
    Count(u32),
    Rate(Rate),
    Duration(Millis),
    Factor(f64),
    Window(WindowSize),
    Cooldown(Cooldown),
}

impl std::fmt::Display for PolicyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PolicyValue::Off => f.write_str("off"),
            PolicyValue::Count(count) => count.fmt(f),
            PolicyValue::Rate(rate) => rate.fmt(f),
            PolicyValue::Duration(length) => length.fmt(f),
            PolicyValue::Factor(factor) => factor.fmt(f),
            PolicyValue::Window(window) => window.fmt(f),
            PolicyValue::Cooldown(cooldown) => cooldown.fmt(f),
        }
    }
}

/// What was set, by flags or in files; nothing else has a value yet.
#[derive(Clone, Debug, std::default::Default)]
pub struct Settings {
    pub failures: Option<u32>,
    pub failure_rate: Option<Rate>,
    pub slow_rate: Option<Rate>,
    pub slow_after: Option<Millis>,
    pub window: Option<WindowSize>,
    pub min_calls: Option<NonZeroU32>,
    pub trip_on: Vec<Specs>,
    pub cooldown: Option<Cooldown>,
    pub backoff: Option<f64>,
    pub max_cooldown: Option<Millis>,
    pub jitter: Option<Rate>,
    pub run_at_least_every: Option<Millis>,
    pub probes: Option<NonZeroU32>,
    pub probe_successes: Option<NonZeroU32>,
    pub probe_failures: Option<NonZeroU32>,
    pub probe: Option<OsString>,
    pub probe_timeout: Option<Millis>,
    pub profile: Option<&'static Profile>,
    pub success_on: Vec<Specs>,
    pub fail_on: Vec<Specs>,
    pub ignore_on: Vec<Specs>,
    pub timeout: Option<Millis>,
    pub signal: Option<i32>,
    pub kill_after: Option<Millis>,
    pub preserve_status: Option<bool>,
    pub tell: Option<bool>,
    pub max_retry_after: Option<Millis>,
    pub kill_leftovers: Option<bool>,
    pub quiet: Option<bool>,
    pub refused_exit: Option<u8>,
    pub observe: Option<bool>,
    pub on_state_error: Option<OnStateError>,
    pub on_store_error: Option<OnStoreError>,
    pub report: Option<PathBuf>,
    pub retries: Option<u32>,
    pub retry_delay: Option<Millis>,
    pub retry_backoff: Option<f64>,
    pub retry_max_delay: Option<Millis>,
    pub retry_jitter: Option<Rate>,
    pub wait: Option<Wait>,
    pub max_concurrent: Option<NonZeroU32>,
    pub fallback: Option<OsString>,
    pub fallback_on: Vec<FallbackOn>,
    pub output: Option<Show>,
    pub remind_every: Option<Millis>,
    pub success_exit: Option<bool>,
    pub on_open: Option<OsString>,
    pub on_close: Option<OsString>,
    pub on_change: Option<OsString>,
    pub store: Option<String>,
    pub store_password_file: Option<PathBuf>,
}

/// A row with what every setting has; the rest is added by the functions below.
pub const fn setting(
    heading: Heading,
    key: &'static str,
    value: Type,
    field: Field,
    help: &'static str,
) -> Setting {
    Setting {
        key,
        aliases: &[],
        short: None,
        heading,
        help,
        details: "",
        value,
        default: Default::None,
        scope: Scope::Anywhere,
        policy: None,
        field,
    }
}

impl Setting {
    pub const fn short(self, short: char) -> Setting {
        Setting { short: Some(short), ..self }
    }

    pub const fn aliases(self, aliases: &'static [&'static str]) -> Setting {
        Setting { aliases, ..self }
    }

    pub const fn details(self, details: &'static str) -> Setting {
        Setting { details, ..self }
    }

    /// What it is without being set, as it would be written behind the flag.
    pub const fn default(self, value: &'static str) -> Setting {
        Setting { default: Default::Value(value), ..self }
    }

    /// What it is without being set, in words, for what depends on other settings.
    pub const fn default_depends(self, words: &'static str) -> Setting {
        Setting { default: Default::Depends(words), ..self }
    }

    pub const fn defaults_only(self) -> Setting {
        Setting { scope: Scope::DefaultsOnly, ..self }
    }

    /// It belongs to the policy, and this is its value there.
    pub const fn policy(self, value: fn(&Policy) -> PolicyValue) -> Setting {
        Setting { policy: Some(value), ..self }
    }

    /// What is wrong with a text, in the words of the command line's errors.
    pub fn invalid(&self, text: &OsStr, what: &str) -> String {
        match self.value.shown(&text.to_string_lossy()) {
            Some(shown) => {
                format!("invalid value '{shown}' for '--{} <{}>': {what}", self.key, self.value.name())
            }
            None => format!("{}: {what}", self.key),
        }
    }

    /// A value as it is written in a configuration file.
    pub fn toml(&self, value: &str) -> String {
        if self.value.is_bare(value) { value.to_owned() } else { format!("{value:?}") }
    }
}

/// The setting of this key.
pub fn find(rows: &'static [Setting], key: &str) -> Option<&'static Setting> {
    rows.iter().find(|row| row.key == key)
}
