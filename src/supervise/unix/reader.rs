//! A process that reads a pipe to its end and throws away what comes.

use std::os::fd::{AsRawFd, OwnedFd};

/// Leaves a small process behind that reads `pipe` for as long as another process can write to it, so that a background
/// child that outlives `brk` neither hangs on a full pipe nor dies of a closed one. Best effort: without it the child
/// gets SIGPIPE, as when any reader of its output ends.
pub fn leave_reader(pipe: OwnedFd) {
    // SAFETY: other threads may exist, so the child makes system calls only, and never returns.
    if unsafe { libc::fork() } != 0 {
        return;
    }
    // Low numbers stay taken, so that nothing that is opened later could be mistaken for a standard stream.
    const KEPT: i32 = 3;
    let mut buffer = [0_u8; 4096];
    // SAFETY: these take numbers and a buffer that is this function's own.
    unsafe {
        libc::setsid();
        let fd = libc::dup2(pipe.as_raw_fd(), KEPT);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..KEPT {
            libc::dup2(nothing, stream);
        }
        close_above(KEPT);
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_NONBLOCK);
        loop {
            let count = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            let interrupted =
                count == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
            if count <= 0 && !interrupted {
                libc::_exit(0);
            }
        }
    }
}

/// Closes every descriptor above this one, so that nobody waits for this process: not a reader of the standard streams,
/// and not a run that wants a lock.
///
/// # Safety
///
/// The caller uses none of them any more.
unsafe fn close_above(kept: i32) {
    let first = kept.cast_unsigned() + 1;
    #[cfg(target_os = "linux")]
    // SAFETY: only numbers are passed.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0_u32) } == 0 {
        return;
    }
    for fd in first..1_024 {
        // SAFETY: the caller uses none of them any more.
        unsafe { libc::close(fd.cast_signed()) };
    }
}
