//! The system calls of a new process before it executes. It may share its memory with a parent that goes on running,
//! and so also the place of `errno`: none of these calls writes there. They allocate nothing and take no lock.
//!
//! Not here: which calls are made, and in which order (`exec`).

#[cfg(not(target_os = "linux"))]
pub use portable::*;
#[cfg(target_os = "linux")]
pub use raw::*;

/// Whether a new process may run beside its parent: if its calls leave `errno` alone.
pub const LEAVE_ERRNO: bool =
    cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

#[cfg(target_os = "linux")]
mod raw {
    use std::ffi::{CStr, c_char, c_int};

    /// Makes a system call. Below 0: the number of the error.
    #[cfg(target_arch = "x86_64")]
    unsafe fn call(number: libc::c_long, args: [usize; 4]) -> isize {
        let result: isize;
        // SAFETY: the caller makes a call that is valid with these arguments. The kernel changes rcx and r11.
        unsafe {
            std::arch::asm!(
                "syscall",
                inlateout("rax") number as isize => result,
                in("rdi") args[0],
                in("rsi") args[1],
                in("rdx") args[2],
                in("r10") args[3],
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result
    }

    #[cfg(target_arch = "aarch64")]
    unsafe fn call(number: libc::c_long, args: [usize; 4]) -> isize {
        let result: isize;
        // SAFETY: the caller makes a call that is valid with these arguments.
        unsafe {
            std::arch::asm!(
                "svc 0",
                in("x8") number,
                inlateout("x0") args[0] as isize => result,
                in("x1") args[1],
                in("x2") args[2],
                in("x3") args[3],
                options(nostack),
            );
        }
        result
    }

    /// Here the parent waits until the new process has executed (`LEAVE_ERRNO`).
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unsafe fn call(number: libc::c_long, args: [usize; 4]) -> isize {
        // SAFETY: as the caller says; errno always exists.
        unsafe {
            match libc::syscall(number, args[0], args[1], args[2], args[3]) {
                -1 => -(*super::super::disposition::errno() as isize),
                result => result as isize,
            }
        }
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
        let args = [path.as_ptr() as usize, argv as usize, environment as usize, 0];
        // SAFETY: as the caller says.
        let error = unsafe { call(libc::SYS_execve, args) };
        // Errors are numbered from -1 to -4095.
        -error as c_int
    }

    pub fn exists(path: &CStr) -> bool {
        let args = [libc::AT_FDCWD as usize, path.as_ptr() as usize, libc::F_OK as usize, 0];
        // SAFETY: the path ends at null.
        unsafe { call(libc::SYS_faccessat, args) == 0 }
    }

    /// Puts an open file under another number, from which it is inherited.
    pub fn duplicate(fd: c_int, target: c_int) {
        // SAFETY: plain numbers; the process is new, and nothing else uses its descriptors.
        unsafe { call(libc::SYS_dup3, [fd as usize, target as usize, 0, 0]) };
    }

    pub fn close(fd: c_int) {
        // SAFETY: as above.
        unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0]) };
    }

    pub fn keep_over_exec(fd: c_int) {
        // SAFETY: as above.
        unsafe { call(libc::SYS_fcntl, [fd as usize, libc::F_SETFD as usize, 0, 0]) };
    }

    pub fn lead_group() {
        // SAFETY: plain numbers.
        unsafe { call(libc::SYS_setpgid, [0, 0, 0, 0]) };
    }

    /// Asks for TERM when the parent dies, or sends it now if that has happened.
    pub fn die_with(parent: c_int) {
        // SAFETY: plain numbers.
        unsafe {
            call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGTERM as usize, 0, 0]);
            if call(libc::SYS_getppid, [0; 4]) != parent as isize {
                let own = call(libc::SYS_getpid, [0; 4]);
                call(libc::SYS_kill, [own as usize, libc::SIGTERM as usize, 0, 0]);
            }
        }
    }

    pub fn write(fd: c_int, bytes: &[u8]) {
        // SAFETY: the bytes live during the call.
        unsafe { call(libc::SYS_write, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0]) };
    }

    pub fn exit(code: c_int) -> ! {
        loop {
            // SAFETY: ends the process.
            unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0]) };
        }
    }
}

/// A forked process has a memory of its own, with an `errno` of its own.
#[cfg(not(target_os = "linux"))]
mod portable {
    use std::ffi::{CStr, c_char, c_int};

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
        // SAFETY: as the caller says; errno always exists.
        unsafe {
            libc::execve(path.as_ptr(), argv, environment);
            *super::super::disposition::errno()
        }
    }

    pub fn exists(path: &CStr) -> bool {
        // SAFETY: the path ends at null.
        unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
    }

    /// Puts an open file under another number, from which it is inherited.
    pub fn duplicate(fd: c_int, target: c_int) {
        // SAFETY: plain numbers; the process is new, and nothing else uses its descriptors.
        unsafe { libc::dup2(fd, target) };
    }

    pub fn close(fd: c_int) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }

    pub fn keep_over_exec(fd: c_int) {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETFD, 0) };
    }

    pub fn lead_group() {
        // SAFETY: plain numbers.
        unsafe { libc::setpgid(0, 0) };
    }

    pub fn write(fd: c_int, bytes: &[u8]) {
        // SAFETY: the bytes live during the call.
        unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub fn exit(code: c_int) -> ! {
        // SAFETY: ends the process.
        unsafe { libc::_exit(code) }
    }
}
