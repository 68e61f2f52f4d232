//! How a new process is made that becomes the command.
//!
//! On Linux it shares our memory until it executes, so nothing has to be copied: that is a tenth of a short run's time.
//! This process goes on meanwhile, so that timers and signals work while the command's file is waited for, which may
//! take for ever (a dead network disk, a scanner). What both use is not changed until the new process has executed or
//! ended; if neither happens it is never freed.
//!
//! If the system has no process that shares memory and runs beside its parent (some emulators, valgrind, processors
//! that `calls` does not know), the parent waits until the child has executed, as posix_spawn does it. Other systems
//! than Linux fork.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use super::exec::{Layout, Refusal};
use super::process::Pid;
use super::signals::COMMAND;
use crate::supervise::plan::{Group, Plan};

#[cfg(not(target_os = "linux"))]
use copied::{Stack, spawn};
#[cfg(target_os = "linux")]
use shared::{Stack, spawn};

/// The command's process. It may not have executed the command yet.
pub struct Child<'a> {
    pub pid: Pid,
    failure: io::PipeReader,
    /// Used by the process until it executes or ends.
    used: Option<Used<'a>>,
}

struct Used<'a> {
    _layout: Box<Layout<'a>>,
    _stack: Stack,
}

impl Child<'_> {
    /// Why the process did not become the command; to be asked when it has ended.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.report() {
            Report::Refused(refusal) => Some(refusal),
            Report::Executed | Report::None => None,
        }
    }

    /// What the process has said since the last look.
    fn report(&self) -> Report {
        let mut bytes = [0; 8];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.failure, &mut bytes)) {
            // Executing closes the other end, and so does dying.
            Ok(0) => Report::Executed,
            Ok(_) => {
                let [a, b, c, d, found, ..] = bytes;
                Report::Refused(Refusal { errno: i32::from_ne_bytes([a, b, c, d]), found: found != 0 })
            }
            Err(_) => Report::None,
        }
    }
}

enum Report {
    /// Or ended.
    Executed,
    Refused(Refusal),
    None,
}

impl Drop for Child<'_> {
    fn drop(&mut self) {
        COMMAND.store(0, Ordering::Relaxed);
        let mut report = self.report();
        if let Report::Refused(_) = report {
            // It may still be on its way out.
            report = self.report();
        }
        if !matches!(report, Report::Executed) {
            std::mem::forget(self.used.take());
        }
    }
}

/// Starts a process that becomes the command. Signals must be caught: their handler knows what to do in the child.
pub fn start(plan: Plan<'_>) -> io::Result<Child<'_>> {
    let (read, write) = io::pipe()?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let group = plan.group;
    let mut layout = Box::new(Layout::new(plan, write.as_raw_fd()));
    let stack = Stack::new();
    // SAFETY: `Child` keeps both until the process has executed or ended, and changes neither.
    let pid = unsafe { spawn(&raw mut *layout, &stack) }?;
    if group == Group::Own {
        // The process does it too: whichever is first, the group is there for whatever comes next. An error says that
        // the process has executed or ended, and so has done it.
        // SAFETY: plain numbers.
        unsafe { libc::setpgid(pid, pid) };
    }
    Ok(Child { pid, failure: read, used: Some(Used { _layout: layout, _stack: stack }) })
}

#[cfg(target_os = "linux")]
mod shared {
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;

    use crate::supervise::unix::calls;
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
    /// Layout and stack must live, and the layout stay unchanged, until that process has executed or ended.
    pub unsafe fn spawn(layout: *mut Layout<'_>, stack: &Stack) -> io::Result<Pid> {
        let clone = |flags| {
            // The kernel sets COMMAND before any signal can be delivered to both.
            let flags = flags | libc::CLONE_VM | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
            // SAFETY: the caller keeps what the process uses; the process keeps to what `become_command` may do.
            check(unsafe { libc::clone(enter, stack.top(), flags, layout.cast(), COMMAND.as_ptr()) })
        };
        if !calls::LEAVE_ERRNO || is_on_valgrind() {
            return clone(libc::CLONE_VFORK);
        }
        match clone(0) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                clone(libc::CLONE_VFORK)
            }
            result => result,
        }
    }

    extern "C" fn enter(layout: *mut c_void) -> c_int {
        // SAFETY: a new process, and the layout that `spawn` was called with.
        unsafe { become_command(layout.cast()) }
    }

    /// Valgrind ends a program that asks for a process that it cannot imitate. It is asked by instructions that do
    /// nothing without it: those of its header `valgrind.h`.
    fn is_on_valgrind() -> bool {
        const RUNNING_ON_VALGRIND: usize = 0x1001;
        let request: [usize; 6] = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
        let answer: usize;
        // SAFETY: rotated by 128 bits in all, a register is what it was; valgrind reads the request and sets the answer.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "rol rdi, 3",
                "rol rdi, 13",
                "rol rdi, 61",
                "rol rdi, 51",
                "xchg rbx, rbx",
                in("rax") request.as_ptr(),
                inlateout("rdx") 0_usize => answer,
                options(nostack),
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "ror x12, x12, #3",
                "ror x12, x12, #13",
                "ror x12, x12, #51",
                "ror x12, x12, #61",
                "orr x10, x10, x10",
                in("x4") request.as_ptr(),
                inlateout("x3") 0_usize => answer,
                options(nostack),
            );
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            answer = request[1];
        }
        answer != 0
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
