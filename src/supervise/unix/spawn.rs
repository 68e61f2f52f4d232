//! How a new process is made that becomes the command. On Linux it shares our memory until it executes the command, as
//! posix_spawn does it: nothing has to be copied, which is a tenth of a short run's time. The parent waits meanwhile,
//! so only one of them uses what they share. Other systems fork.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use super::exec::{Layout, Refusal};
use super::process::Pid;
use super::signals::COMMAND;
use crate::supervise::plan::Plan;

#[cfg(not(target_os = "linux"))]
use copied::{Stack, spawn};
#[cfg(target_os = "linux")]
use shared::{Stack, spawn};

/// The command's process. It may not have executed the command yet.
pub struct Child {
    pub pid: Pid,
    failure: io::PipeReader,
}

impl Child {
    /// Why the process did not become the command; to be asked when it has ended.
    pub fn refusal(&self) -> Option<Refusal> {
        let mut bytes = [0; 8];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.failure, &mut bytes)).ok()?;
        let [a, b, c, d, found, ..] = bytes;
        (count == bytes.len())
            .then_some(Refusal { errno: i32::from_ne_bytes([a, b, c, d]), found: found != 0 })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        COMMAND.store(0, Ordering::Relaxed);
    }
}

/// Starts a process that becomes the command. Signals must be caught: their handler knows what to do in the child.
pub fn start(plan: Plan<'_>) -> io::Result<Child> {
    let (read, write) = io::pipe()?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let mut layout = Layout::new(plan, write.as_raw_fd());
    let stack = Stack::new();
    // SAFETY: the process has a copy of both, or the parent waits: they are there until it needs them no more.
    let pid = unsafe { spawn(&raw mut layout, &stack) }?;
    Ok(Child { pid, failure: read })
}

#[cfg(target_os = "linux")]
mod shared {
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;

    use crate::supervise::unix::exec::{Layout, become_command};
    use crate::supervise::unix::process::{Pid, check};
    use crate::supervise::unix::signals::COMMAND;

    /// Enough for a few frames and for those of a signal's handler, whose size the processor's registers decide. Pages
    /// that nothing touches are not there, and the allocator has this without asking the system.
    const STACK: usize = 64 * 1024;

    /// The stack of the new process until it executes.
    pub struct Stack(Box<[MaybeUninit<u8>]>);

    impl Stack {
        pub fn new() -> Stack {
            Stack(Box::new_uninit_slice(STACK))
        }

        /// Stacks grow downwards, from an address that divides by 16.
        fn top(&self) -> *mut c_void {
            let end = self.0.as_ptr_range().end.cast_mut();
            // SAFETY: stays within the box.
            unsafe { end.sub(end.addr() % 16).cast() }
        }
    }

    /// Makes a process that becomes the command.
    ///
    /// # Safety
    ///
    /// Layout and stack must live until that process has executed the command, or has ended.
    pub unsafe fn spawn(layout: *mut Layout<'_>, stack: &Stack) -> io::Result<Pid> {
        // The kernel sets COMMAND before any signal can be delivered to both.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
        // SAFETY: the caller keeps what the process uses; the process keeps to what `become_command` may do.
        check(unsafe { libc::clone(enter, stack.top(), flags, layout.cast(), COMMAND.as_ptr()) })
    }

    extern "C" fn enter(layout: *mut c_void) -> c_int {
        // SAFETY: a new process, and the layout that `spawn` was called with.
        unsafe { become_command(layout.cast()) }
    }
}

#[cfg(not(target_os = "linux"))]
mod copied {
    use std::io;
    use std::sync::atomic::Ordering;

    use crate::supervise::unix::exec::{Layout, become_command};
    use crate::supervise::unix::process::{Pid, check};
    use crate::supervise::unix::signals::COMMAND;

    /// A copy of the parent has a copy of its stack.
    pub struct Stack;

    impl Stack {
        pub fn new() -> Stack {
            Stack
        }
    }

    /// Makes a process that becomes the command.
    ///
    /// # Safety
    ///
    /// This process has one thread.
    pub unsafe fn spawn(layout: *mut Layout<'_>, _: &Stack) -> io::Result<Pid> {
        // SAFETY: the child keeps to calls that are allowed in a signal handler.
        let pid = check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: a new process, with its own copy of the layout.
            unsafe { become_command(layout) }
        }
        COMMAND.store(pid, Ordering::Relaxed);
        Ok(pid)
    }
}
