//! What runs after a change of phase. The change is stored by then, and no lock is held; what a hook does, or fails to
//! do, changes nothing of the run.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use serde::Serialize;

use crate::breaker::PhaseKind;
use crate::breaker::outcome::Ending;
use crate::breaker::time::Clock;
use crate::name::Name;
use crate::output::say;
use crate::render::{history, wall_time, words};
use crate::signal;
use crate::store::Updated;
use crate::supervise::{self, Escalate, Leftovers, Limits, Task};

/// The longest that `brk` waits for a hook.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The scripts of a breaker, run by `sh -c`.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    pub on_open: Option<OsString>,
    pub on_close: Option<OsString>,
    pub on_change: Option<OsString>,
}

/// What a hook reads: an event as in `history --json`, and what it belongs to.
#[derive(Serialize)]
struct Input<'a> {
    name: &'a Name,
    host: &'a str,
    program: Option<&'a str>,
    #[serde(flatten)]
    event: history::Object<'a>,
}

/// A change of phase, and what it came from.
pub struct Change<'a> {
    pub name: &'a Name,
    pub updated: &'a Updated,
    /// The program of the run that made the change; an operator's change has none.
    pub program: Option<&'a str>,
    pub host: &'a str,
    /// The ending of the run that made the change; an operator's change has none.
    pub ending: Option<Ending>,
}

/// Runs the hooks that this change of phase calls for.
pub fn run(hooks: &Hooks, change: &Change) {
    let edge = match (change.updated.phase_before(), change.updated.breaker.phase.kind()) {
        (PhaseKind::Closed, PhaseKind::Open) => &hooks.on_open,
        (PhaseKind::Open | PhaseKind::HalfOpen, PhaseKind::Closed) => &hooks.on_close,
        (_, PhaseKind::Open | PhaseKind::HalfOpen) | (PhaseKind::Closed, PhaseKind::Closed) => &None,
    };
    for script in [edge, &hooks.on_change].into_iter().flatten() {
        if let Err(error) = run_one(script, change) {
            say(&format!("{}: warning: hook: {error}", change.name));
        }
    }
}

fn run_one(script: &OsString, change: &Change) -> Result<(), String> {
    let argv = ["sh".into(), "-c".into(), script.clone()];
    let stdin = stdin(change).map_err(|error| error.to_string())?;
    // Standard output is the command's.
    let stderr = io::stderr();
    let task = Task {
        argv: &argv,
        variables: &variables(change),
        stdin: Some(stdin.as_fd()),
        stdout: Some(stderr.as_fd()),
        stderr: None,
        inherit: &[],
    };
    let limits = Limits {
        timeout: Some(LIMIT),
        signal: signal::TERM,
        kill_after: Duration::ZERO,
        escalate_on_signal: Escalate::Never,
        leftovers: Leftovers::Leave,
    };
    let finished = supervise::run(&task, &limits, &mut |_| ()).map_err(|error| error.to_string())?;
    match finished.ending {
        Ending::Exited(0) => Ok(()),
        ending => Err(words::ending(&ending)),
    }
}

fn variables(change: &Change) -> [(OsString, OsString); 7] {
    let breaker = &change.updated.breaker;
    let opening = breaker.phase.opening();
    let reason = opening.map(|opening| words::opened_by(&opening.why, &opening.told));
    let exit = change.ending.and_then(|ending| ending.exit()).map(|code| code.to_string());
    let signal =
        change.ending.and_then(|ending| ending.signal()).map(|number| signal::name(number).into_owned());
    let retry_at = breaker.phase.retry_at().map(|at| wall_time(clock(change), at));
    [
        ("BRK_NAME", Some(change.name.to_string())),
        ("BRK_FROM", Some(change.updated.phase_before().as_str().to_owned())),
        ("BRK_TO", Some(breaker.phase.kind().as_str().to_owned())),
        ("BRK_REASON", reason),
        ("BRK_EXIT", exit),
        ("BRK_SIGNAL", signal),
        ("BRK_RETRY_AT", retry_at),
    ]
    .map(|(key, value)| (key.into(), value.unwrap_or_default().into()))
}

/// The event as JSON, in a pipe that holds it whole: nobody has to write while the hook reads.
fn stdin(change: &Change) -> io::Result<OwnedFd> {
    let json = change.updated.events.iter().rfind(|event| event.kind.is_change()).map(|event| {
        let Change { name, program, host, updated, .. } = *change;
        let event = history::object(&updated.clock, event);
        let mut line =
            serde_json::to_string(&Input { name, host, program, event }).expect("plain data becomes JSON");
        line.push('\n');
        line
    });
    let (read, mut write) = io::pipe()?;
    write.write_all(json.unwrap_or_default().as_bytes())?;
    Ok(OwnedFd::from(read))
}

fn clock<'a>(change: &Change<'a>) -> &'a Clock {
    &change.updated.clock
}
