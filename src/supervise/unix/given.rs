//! What this process was given by whoever started it, and the Rust runtime changes before `main`, or `brk` later. The
//! command gets it back.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use super::process_id;
use super::signals::{disposition, set_disposition};

/// What this process was given and the Rust runtime, or this file, changes.
pub struct Given {
    pub mask: libc::sigset_t,
    pub pipe: libc::sighandler_t,
    pub file_size: libc::sighandler_t,
    pub child: libc::sighandler_t,
    /// Which of descriptors 0 to 2 were closed. The runtime opens /dev/null there.
    pub closed: [bool; 3],
}

static GIVEN: OnceLock<Given> = OnceLock::new();

// What stands in these sections is called before the runtime's own start.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Signals that end process 1 where it waits for nothing but its turn.
pub const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

extern "C" fn before_main() {
    given();
    // A journal that meets a limit on file sizes is an error of writing, and not the end of this process.
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
    if process_id() == 1 {
        for signal in ENDING {
            if disposition(signal) != libc::SIG_IGN {
                set_disposition(signal, leave as *const () as libc::sighandler_t);
            }
        }
    }
}

/// The kernel drops signals for which process 1 has no handler, also those that should end it.
pub extern "C" fn leave(signal: c_int) {
    // SAFETY: _exit may be called in a signal handler.
    unsafe { libc::_exit(128 + signal) }
}

pub fn given() -> &'static Given {
    GIVEN.get_or_init(|| {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: with no new set, the call only fills the old one.
        let mask = unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        };
        Given {
            mask,
            pipe: disposition(libc::SIGPIPE),
            file_size: disposition(libc::SIGXFSZ),
            child: disposition(libc::SIGCHLD),
            // SAFETY: F_GETFD takes no argument and changes nothing.
            closed: [0, 1, 2].map(|fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1),
        }
    })
}
