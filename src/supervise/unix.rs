//! The system calls of supervising that have no safe form. `unsafe` is in the modules below, and nowhere else: what
//! this process inherited (`inherited`), what a signal does (`disposition`), signals that are caught (`signals`),
//! processes and groups (`process`), a reader that is left behind (`reader`), how a process becomes the command (`exec`, with the calls in `calls`), and a new
//! one that does (`spawn`).
//!
//! Not here: what to do and when (`escalate`), what is to be executed (`plan`), and who belongs to it (`tree`).

#![expect(unsafe_code, reason = "fork, signal handlers and waiting without reaping exist in no safe form")]

mod calls;
mod disposition;
mod exec;
mod inherited;
mod process;
mod reader;
mod signals;
mod spawn;

pub use exec::{Refusal, replace};
pub(crate) use inherited::entry;
pub use inherited::{environment, init_process};
#[cfg(target_os = "linux")]
pub use process::has_children;
#[cfg(target_os = "linux")]
pub use process::send_through;
pub use process::{
    Pid, adopt_orphans, ended_child, group_of, has_shell_above, has_terminal, leads_session, process_id,
    reap, send, send_to_group, shares_group, stopped,
};
#[cfg(target_vendor = "apple")]
pub use process::{children, group_members};
pub use reader::leave_reader;
pub use signals::{
    Caught, HeldSignals, Source, catch_signals, caught_signals, die_of, requeue, spawn_with_signals_blocked,
    stop,
};
pub use spawn::{Child, start};
