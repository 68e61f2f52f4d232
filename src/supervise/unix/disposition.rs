//! What signals do in this process, which of them are blocked, and the number of the last error.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

pub fn disposition(signal: c_int) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, the call only fills the old one, and all zeros is a value of it.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction
    }
}

/// Sets what a signal does, and gives what it did.
pub fn set_disposition(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let mut old = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both actions live during the call; all handlers of this file keep to what a handler may do.
    unsafe {
        let mut new: libc::sigaction = MaybeUninit::zeroed().assume_init();
        new.sa_sigaction = handler;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            new.sa_flags = 0;
        }
        libc::sigfillset(&raw mut new.sa_mask);
        libc::sigaction(signal, &raw const new, old.as_mut_ptr());
        old.assume_init().sa_sigaction
    }
}

pub fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set lives during the call.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

pub fn full_mask() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset initializes the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

pub fn empty_mask() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

pub fn errno() -> *mut c_int {
    // SAFETY: gives the place of this thread's errno, which always exists.
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    unsafe {
        libc::__errno_location()
    }
    // SAFETY: as above.
    #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
    unsafe {
        libc::__error()
    }
}
