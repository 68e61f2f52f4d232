//! The settings that there are, one row each. The flags of `run`, the keys of a configuration, `brk config`, the
//! policy that `status` shows, the manual's list of keys and the completions are made from these rows.

use super::Heading::{Around, Closing, Cooldown, Failures, Opening, Store, Supervision};
use super::types::Type;
use super::value::{self, FallbackOn, OnStateError, OnStoreError, Show, text};
use super::{Field, Occurrence, PolicyValue, Setting, setting};

/// A field that is one value, read by this parser.
macro_rules! one {
    ($field:ident, $parse:path) => {
        Field {
            set: |settings, given| {
                settings.$field = Some($parse(text(given)?)?);
                Ok(())
            },
            is_set: |settings| settings.$field.is_some(),
            occurrence: Occurrence::Single,
        }
    };
}

/// A field that is taken as it is, be it UTF-8 or not: a path, a script.
macro_rules! raw {
    ($field:ident) => {
        Field {
            set: |settings, given| {
                settings.$field = Some(given.into());
                Ok(())
            },
            is_set: |settings| settings.$field.is_some(),
            occurrence: Occurrence::Single,
        }
    };
}

/// A field that is a list, to which each use adds what this parser reads.
macro_rules! list {
    ($field:ident, $parse:path) => {
        Field {
            set: |settings, given| {
                settings.$field.extend($parse(text(given)?)?);
                Ok(())
            },
            is_set: |settings| !settings.$field.is_empty(),
            occurrence: Occurrence::Repeatable,
        }
    };
}

pub const STORE: Setting = setting(
    Store,
    "store",
    Type::Url,
    one!(store, value::url),
    "One breaker for many hosts, in Redis or Valkey: redis://HOST:PORT/DB; '' for this host's own files",
)
.details("rediss:// stands for TLS. HOST is an IP address, a name in /etc/hosts, or one that getent finds.")
.default_depends("BRK_STORE")
.defaults_only();

pub const STORE_PASSWORD_FILE: Setting = setting(
    Store,
    "store-password-file",
    Type::Path,
    raw!(store_password_file),
    "The file that holds the password of that store",
)
.defaults_only();

/// All settings, in the order of the help.
#[rustfmt::skip] // A row is easier to find in few lines: what it is, what it says, and what else there is to it.
pub static SETTINGS: &[Setting] = &[
    setting(Opening, "failures", Type::Count, one!(failures, value::count),
        "Open after N failures in a row; 0 disables it")
        .default_depends("3; disabled if a rate is set")
        .policy(|policy| policy.failures.map_or(PolicyValue::Off, |count| PolicyValue::Count(count.get()))),
    setting(Opening, "failure-rate", Type::PositiveRate, one!(failure_rate, value::positive_rate),
        "Open when this share of the window failed: 50% or 0.5")
        .policy(|policy| policy.failure_rate.map_or(PolicyValue::Off, PolicyValue::Rate)),
    setting(Opening, "slow-rate", Type::PositiveRate, one!(slow_rate, value::positive_rate),
        "Open when this share of the window was slow; needs --slow-after")
        .policy(|policy| policy.slow_rate.map_or(PolicyValue::Off, PolicyValue::Rate)),
    setting(Opening, "slow-after", Type::Duration, one!(slow_after, value::duration),
        "A run that takes longer than this is slow")
        .policy(|policy| policy.slow_after.map_or(PolicyValue::Off, PolicyValue::Duration)),
    setting(Opening, "window", Type::Window, one!(window, value::window),
        "What the rates look at: the last N runs (20) or the runs of the last DURATION (10m)")
        .default("20")
        .policy(|policy| PolicyValue::Window(policy.window)),
    setting(Opening, "min-calls", Type::PositiveCount, one!(min_calls, value::positive_count),
        "Minimum runs in the window before the rates apply")
        .default_depends("10, or the window if that is smaller")
        .policy(|policy| PolicyValue::Count(policy.min_calls.get())),
    setting(Opening, "trip-on", Type::Specs, list!(trip_on, value::specs_list),
        "Outcomes that open the breaker immediately"),
    setting(Cooldown, "cooldown", Type::Cooldown, one!(cooldown, value::cooldown),
        "How long it stays open at first: a duration, a number of refused runs (3runs), or both")
        .default("1m,1run")
        .policy(|policy| PolicyValue::Cooldown(policy.cooldown())),
    setting(Cooldown, "backoff", Type::Factor, one!(backoff, value::factor),
        "Growth factor of the cooldown each time a probe fails")
        .default("2")
        .policy(|policy| PolicyValue::Factor(policy.backoff)),
    setting(Cooldown, "max-cooldown", Type::Duration, one!(max_cooldown, value::duration),
        "The longest cooldown")
        .default("1h")
        .policy(|policy| PolicyValue::Duration(policy.max_cooldown)),
    setting(Cooldown, "jitter", Type::Rate, one!(jitter, value::rate),
        "Lengthen each cooldown by up to this share, so that many do not come back at once")
        .default("10%")
        .policy(|policy| PolicyValue::Rate(policy.jitter)),
    setting(Cooldown, "run-at-least-every", Type::Duration, one!(run_at_least_every, value::duration),
        "Allow a probe if nothing was launched for this long, even while open")
        .policy(|policy| policy.run_at_least_every.map_or(PolicyValue::Off, PolicyValue::Duration)),
    setting(Closing, "probes", Type::PositiveCount, one!(probes, value::positive_count),
        "How many probes may be alive at once")
        .default("1")
        .policy(|policy| PolicyValue::Count(policy.probes.get())),
    setting(Closing, "probe-successes", Type::PositiveCount, one!(probe_successes, value::positive_count),
        "How many probes must succeed to close")
        .default("1")
        .policy(|policy| PolicyValue::Count(policy.probe_successes.get())),
    setting(Closing, "probe-failures", Type::PositiveCount, one!(probe_failures, value::positive_count),
        "How many failed probes open it again")
        .default("1")
        .policy(|policy| PolicyValue::Count(policy.probe_failures.get())),
    setting(Closing, "probe", Type::Command, raw!(probe),
        "Shell command to probe with instead of the real command")
        .aliases(&["probe-command"]),
    setting(Closing, "probe-timeout", Type::Duration, one!(probe_timeout, value::duration),
        "How long that health check may take; 0 is no limit")
        .default("30s"),
    setting(Failures, "profile", Type::Profile, one!(profile, value::profile),
        "The exit codes of a known program ('brk profiles' lists them)")
        .default("base"),
    setting(Failures, "success-on", Type::Specs, list!(success_on, value::specs_list),
        "Outcomes that are successes: codes, ranges, signals, timeout, not-started (0,100-110,SIGPIPE)"),
    setting(Failures, "fail-on", Type::Specs, list!(fail_on, value::specs_list),
        "Outcomes that are failures"),
    setting(Failures, "ignore-on", Type::Specs, list!(ignore_on, value::specs_list),
        "Outcomes that say nothing about what the command depends on"),
    setting(Failures, "tell", Type::Bool, one!(tell, value::boolean),
        "Let the command say what its run means, and when to come back, in the file BRK_TELL")
        .details("Lines outcome=success|failure|ignored, trip=1, retry-after=WHEN and reason=TEXT, or HTTP response headers, as 'curl -D \"$BRK_TELL\"' writes them; see brk-recipes(7).")
        .default("false"),
    setting(Failures, "max-retry-after", Type::Duration, one!(max_retry_after, value::duration),
        "The longest wait that a command may ask for with --tell")
        .default("24h"),
    setting(Supervision, "timeout", Type::Duration, one!(timeout, value::duration),
        "Stop the command and its descendants after this long; 0 is no limit")
        .short('t')
        .default("0s"),
    setting(Supervision, "signal", Type::Signal, one!(signal, value::signal),
        "Signal sent on timeout")
        .short('s')
        .default("TERM"),
    setting(Supervision, "kill-after", Type::Duration, one!(kill_after, value::duration),
        "Delay from that signal to SIGKILL; if set, also applies when brk is signalled")
        .short('k')
        .default("5s"),
    setting(Supervision, "preserve-status", Type::Bool, one!(preserve_status, value::boolean),
        "After a timeout, exit as the command did and not with 124")
        .default("false"),
    setting(Supervision, "kill-leftovers", Type::Bool, one!(kill_leftovers, value::boolean),
        "Stop what the command leaves running in the background")
        .default("false"),
    setting(Around, "quiet", Type::Bool, one!(quiet, value::boolean),
        "Say nothing on standard error when a run is refused")
        .short('q')
        .default("false"),
    setting(Around, "refused-exit", Type::ExitCode, one!(refused_exit, value::exit_code),
        "The exit code of a refusal")
        .default("75"),
    setting(Around, "observe", Type::Bool, one!(observe, value::boolean),
        "Try a policy out: count what would be refused, and run it all the same")
        .default("false"),
    setting(Around, "on-state-error", Type::Word(OnStateError::WORDS), one!(on_state_error, OnStateError::parse),
        "What to do if the state cannot be used: run unguarded, or refuse with 125")
        .default("run"),
    setting(Around, "on-store-error", Type::Word(OnStoreError::WORDS), one!(on_store_error, OnStoreError::parse),
        "If a shared store cannot be used: continue with this host's own state (local), run unguarded, or refuse with 125")
        .default("local"),
    setting(Around, "report", Type::Path, raw!(report),
        "Write what became of the run to FILE, as one JSON object"),
    setting(Around, "retries", Type::Count, one!(retries, value::count),
        "Try again up to N times after a failure, until the breaker opens; BRK_ATTEMPT counts from 1")
        .default("0"),
    setting(Around, "retry-delay", Type::Duration, one!(retry_delay, value::duration),
        "Upper bound of the random delay before the first retry")
        .default("1s"),
    setting(Around, "retry-backoff", Type::Factor, one!(retry_backoff, value::factor),
        "Growth factor of that delay with each attempt")
        .default("2"),
    setting(Around, "retry-max-delay", Type::Duration, one!(retry_max_delay, value::duration),
        "Maximum retry delay")
        .default("1m"),
    setting(Around, "retry-jitter", Type::Rate, one!(retry_jitter, value::rate),
        "How much of each delay is random; 0 makes delays exact")
        .default("100%"),
    setting(Around, "wait", Type::Wait, one!(wait, value::wait),
        "Wait until admitted instead of being refused, for MAX at the most (--wait=10m, with the =)")
        .default("false"),
    setting(Around, "max-concurrent", Type::PositiveCount, one!(max_concurrent, value::positive_count),
        "At most N runs of this name with this flag at once; a further one is refused as busy"),
    setting(Around, "fallback", Type::Command, raw!(fallback),
        "What to run with 'sh -c' instead when the run is refused; its exit code is brk's"),
    setting(Around, "fallback-on", Type::Words(FallbackOn::WORDS), list!(fallback_on, FallbackOn::parse_list),
        "When to run the fallback: refused, failure (a timeout too), timeout")
        .default("refused"),
    setting(Around, "output", Type::Word(Show::WORDS), one!(output, Show::parse),
        "What is shown of the command's output: stream, on-failure, or on-change (for cron)")
        .details("Held back is standard error, and standard output if both are the same file, as under cron. Standard output that goes elsewhere is the command's product and passes through. What was held back is shown on standard error.")
        .default("stream"),
    setting(Around, "remind-every", Type::Duration, one!(remind_every, value::duration),
        "With --output on-change: show something again after this long without a success; 0 is never")
        .default("1d"),
    setting(Around, "success-exit", Type::Bool, one!(success_exit, value::boolean),
        "Exit with 0 if the outcome is a success, whatever the command's exit code is")
        .default("false"),
    setting(Around, "on-open", Type::Command, raw!(on_open),
        "Run CMD with 'sh -c' when the breaker opens, but not when a failed probe opens it again")
        .details("A hook runs after the change is stored, for 30s at the most, and does not change brk's exit code. It gets BRK_NAME, BRK_FROM, BRK_TO, BRK_REASON, BRK_EXIT, BRK_SIGNAL and BRK_RETRY_AT, and the event as JSON on standard input."),
    setting(Around, "on-close", Type::Command, raw!(on_close),
        "Run CMD when the breaker closes, as --on-open"),
    setting(Around, "on-change", Type::Command, raw!(on_change),
        "Run CMD at every change of phase, as --on-open"),
    STORE,
    STORE_PASSWORD_FILE,
];
