//! Starts a command, waits for it, passes signals on, ends it when its time is up, and says how it ended. It runs
//! between the caller of `brk` and the command, and changes nothing that either can see.
//!
//! The only module with async: one thread waits for signals and deadlines, and uses no processor meanwhile. What to do
//! about each is decided in `escalate`, and done in `watch`.
//!
//! Not here: what an ending means (`breaker::outcome`), retries, and the store.

mod deadlines;
mod error;
mod escalate;
mod finished;
mod plan;
mod tree;
mod unix;
mod watch;

use tokio::time::Instant;

use plan::{Group, Plan};
use tree::Tree;
use watch::Watch;

pub use error::{SuperviseError, is_short_of_files};
pub use escalate::{Escalate, Leftovers, Limits};
pub use finished::Finished;
pub use plan::Task;
pub(crate) use unix::entry;
pub use unix::{HeldSignals, die_of, init_process, leave_reader, spawn_with_signals_blocked};

/// Starts the command and comes back when it has ended, or was given up. `started` is told its number before it is
/// known whether it can be executed.
///
/// After that, signals are held back until the result drops them, so that it can be recorded.
pub fn run(
    task: &Task<'_>,
    limits: &Limits,
    started: &mut dyn FnMut(u32),
) -> Result<Finished, SuperviseError> {
    let group = if unix::has_terminal() { Group::Shared } else { Group::Own };
    let plan = Plan::new(task, group, unix::environment()).map_err(SuperviseError::Arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(SuperviseError::Runtime)?;
    let signals = HeldSignals::new();
    let context = runtime.enter();
    let pipe = unix::catch_signals().map_err(SuperviseError::Signals)?;
    drop(context);
    unix::adopt_orphans();
    let mut tree = Tree::new(group);
    let start = Instant::now();
    let command = unix::start(plan).map_err(SuperviseError::Fork)?;
    tree.has_command(command.pid);
    started(command.pid.cast_unsigned());
    let watch = Watch::new(command, group, tree, limits, start);
    let finished = runtime.block_on(watch.run(&pipe));
    Ok(Finished { signals: Some(signals), ..finished })
}

/// Becomes the command, in the place of `brk` and without any of its care, with the streams that `brk` has. Comes back
/// only where the command cannot be executed.
pub fn replace(task: &Task<'_>) -> Result<Finished, SuperviseError> {
    let plan = Plan::new(task, Group::Shared, unix::environment()).map_err(SuperviseError::Arguments)?;
    Ok(Finished::not_started(unix::replace(plan)))
}
