//! How a new process comes to be. On Linux it shares our memory until it executes the command, as posix_spawn does it,
//! so that nothing has to be copied, which is a tenth of a short run's time. The parent waits meanwhile, so that what
//! the two share is used by one at a time. Other systems fork.

#[cfg(not(target_os = "linux"))]
pub use copied::{Stack, execve, exists, give};
#[cfg(target_os = "linux")]
pub use shared::{Stack, execve, exists, give};

#[cfg(target_os = "linux")]
mod shared {
    use std::ffi::{CStr, c_char, c_int, c_void};
    use std::io;
    use std::mem::MaybeUninit;

    use crate::supervise::unix::exec::{Layout, become_command};
    use crate::supervise::unix::signals::{COMMAND, errno};
    use crate::supervise::unix::{Pid, check};

    /// Room for a few frames and for those of a signal's handler, whose size the processor's registers decide. Pages
    /// that nobody touches are not there, and the allocator has this without asking the system.
    const STACK: usize = 64 * 1024;

    /// What the new process stands on until it executes.
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

    /// Gives birth to a process that becomes the command.
    ///
    /// # Safety
    ///
    /// Layout and stack must live until that process has executed the command, or has ended.
    pub unsafe fn give(layout: *mut Layout<'_>, stack: &Stack) -> io::Result<Pid> {
        // The kernel sets COMMAND before any signal can be delivered to both.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
        // SAFETY: the caller keeps what the process uses; the process keeps to what `become_command` may do.
        check(unsafe { libc::clone(enter, stack.top(), flags, layout.cast(), COMMAND.as_ptr()) })
    }

    extern "C" fn enter(layout: *mut c_void) -> c_int {
        // SAFETY: a new process, and the layout that `give` was called with.
        unsafe { become_command(layout.cast()) }
    }

    /// Executes a file, or gives the error's number.
    ///
    /// # Safety
    ///
    /// Both lists end at null.
    pub unsafe fn execve(
        path: &CStr,
        argv: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int {
        // SAFETY: as the caller says. The number lies in the parent's memory, and the parent waits.
        unsafe {
            libc::execve(path.as_ptr(), argv, environment);
            *errno()
        }
    }

    pub fn exists(path: &CStr) -> bool {
        rustix::fs::access(path, rustix::fs::Access::EXISTS).is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod copied {
    use std::ffi::{CStr, c_char, c_int};
    use std::io;
    use std::sync::atomic::Ordering;

    use crate::supervise::unix::exec::{Layout, become_command};
    use crate::supervise::unix::signals::{COMMAND, errno};
    use crate::supervise::unix::{Pid, check};

    /// A copy of the parent has a copy of its stack.
    pub struct Stack;

    impl Stack {
        pub fn new() -> Stack {
            Stack
        }
    }

    /// Gives birth to a process that becomes the command.
    ///
    /// # Safety
    ///
    /// This process has one thread.
    pub unsafe fn give(layout: *mut Layout<'_>, _: &Stack) -> io::Result<Pid> {
        // SAFETY: the child keeps to calls that are allowed in a signal handler.
        let pid = check(unsafe { libc::fork() })?;
        if pid == 0 {
            // SAFETY: a new process, with its own copy of the layout.
            unsafe { become_command(layout) }
        }
        COMMAND.store(pid, Ordering::Relaxed);
        Ok(pid)
    }

    /// Executes a file, or gives the error's number.
    ///
    /// # Safety
    ///
    /// Both lists end at null.
    pub unsafe fn execve(
        path: &CStr,
        argv: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int {
        // SAFETY: as the caller says.
        unsafe {
            libc::execve(path.as_ptr(), argv, environment);
            *errno()
        }
    }

    pub fn exists(path: &CStr) -> bool {
        // SAFETY: the path ends at null.
        unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
    }
}
