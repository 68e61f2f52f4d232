//! What stands around one run: retries, waiting, places for runs at once, fallback, output that is held back, hooks,
//! reports, nesting; also in combination.

mod hooks;
mod nested;
mod output;
mod retries;
mod waiting;

use serde_json::Value;

use crate::util::{Done, Sandbox};

/// A policy that opens at the first failure and lets a probe in at once.
const TOUCHY: [&str; 6] = ["--failures", "1", "--cooldown", "0", "--jitter", "0"];

fn run(sandbox: &Sandbox, name: &str, flags: &[&str], command: &[&str]) -> Done {
    sandbox.run(&[&["run", "--name", name], flags, &["--"], command].concat())
}

fn report(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read("report")).expect("a report")
}
