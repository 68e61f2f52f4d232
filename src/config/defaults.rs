//! The settings of a run that nobody wrote down, as they would be written.

use super::Plan;

/// Key and value in TOML, for every key that has a value without being written.
pub fn values(plan: &Plan) -> Vec<(&'static str, String)> {
    let policy = &plan.policy;
    let quoted = |text: String| format!("{text:?}");
    vec![
        ("failures", policy.failures.map_or(0, u32::from).to_string()),
        ("window", quoted(policy.window.to_string())),
        ("min-calls", policy.min_calls.to_string()),
        ("cooldown", quoted(policy.cooldown().to_string())),
        ("backoff", policy.backoff.to_string()),
        ("max-cooldown", quoted(policy.max_cooldown.to_string())),
        ("jitter", quoted(policy.jitter.to_string())),
        ("probes", policy.probes.to_string()),
        ("probe-successes", policy.probe_successes.to_string()),
        ("probe-failures", policy.probe_failures.to_string()),
        ("probe-timeout", quoted("30s".to_owned())),
        ("profile", quoted("base".to_owned())),
        ("timeout", quoted("0s".to_owned())),
        ("signal", quoted("TERM".to_owned())),
        ("kill-after", quoted("5s".to_owned())),
        ("preserve-status", "false".to_owned()),
        ("kill-leftovers", "false".to_owned()),
        ("quiet", "false".to_owned()),
        ("refused-exit", plan.refusal.exit.to_string()),
        ("observe", "false".to_owned()),
        ("on-state-error", quoted("run".to_owned())),
        ("on-store-error", quoted("local".to_owned())),
        ("retries", plan.retry.times.to_string()),
        ("retry-delay", quoted(plan.retry.delay.to_string())),
        ("retry-backoff", plan.retry.backoff.to_string()),
        ("retry-max-delay", quoted(plan.retry.max_delay.to_string())),
        ("wait", "false".to_owned()),
        ("fallback-on", quoted("refused".to_owned())),
        ("output", quoted("stream".to_owned())),
    ]
}
