//! What this process inherited from its parent and changes for itself. The command gets it back.
//!
//! Not here: what the command inherits unchanged, such as descriptors above 2, limits and the current directory.

use std::ffi::{CStr, OsString, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use super::disposition::{disposition, set_disposition};
use super::process::process_id;

/// What this process inherited, and changes.
pub struct Inherited {
    pub mask: libc::sigset_t,
    pub pipe: libc::sighandler_t,
    pub file_size: libc::sighandler_t,
    pub child: libc::sighandler_t,
    /// Which of descriptors 0 to 2 were closed.
    pub closed: [bool; 3],
}

static INHERITED: OnceLock<Inherited> = OnceLock::new();

/// Signals that end process 1 while it supervises nothing.
pub const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Makes a function from arguments to an exit code the start of the program, in the place of the standard library's own,
/// which looks through /proc/self/maps for the end of the stack and prepares to say that it overflowed: a fifth of a
/// refusal's instructions and of its time above that of an empty program. The rest of it is in `init_process`.
macro_rules! entry {
    ($main:path) => {
        #[expect(unsafe_code, reason = "the name that the C library calls, with what it gives")]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        extern "C" fn main(argc: std::ffi::c_int, argv: *const *const std::ffi::c_char) -> std::ffi::c_int {
            // SAFETY: this is what `main` was called with.
            let args = unsafe { $crate::supervise::init_process(argc, argv) };
            // What the standard library ends with after a panic, where a panic does not abort at once.
            std::panic::catch_unwind(|| $main(args)).unwrap_or(101).into()
        }
    };
}
pub(crate) use entry;

/// Notes what was inherited, changes it to what this program wants, and gives the command line.
///
/// # Safety
///
/// To be called once, before all else, with what `main` was called with.
pub unsafe fn init_process(argc: c_int, argv: *const *const c_char) -> Vec<OsString> {
    for (fd, _) in (0..).zip(inherited().closed).filter(|(_, closed)| *closed) {
        // What is opened later must not become one of the standard streams.
        let null = rustix::fs::open(c"/dev/null", OFlags::RDWR, Mode::empty()).map(IntoRawFd::into_raw_fd);
        if null != Ok(fd) {
            // There is no stream for a message, and nothing was launched. SAFETY: _exit may be called at any time.
            unsafe { libc::_exit(125) }
        }
    }
    // A closed pipe and a limit on the size of a file become errors of writing instead of ending this process.
    set_disposition(libc::SIGPIPE, libc::SIG_IGN);
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
    if process_id() == 1 {
        for signal in ENDING {
            if disposition(signal) != libc::SIG_IGN {
                set_disposition(signal, exit_on_signal as *const () as libc::sighandler_t);
            }
        }
    }
    let argc = usize::try_from(argc).unwrap_or(0);
    // SAFETY: the caller hands on the system's list of `argc` strings.
    (0..argc)
        .map(|n| unsafe { OsString::from_vec(CStr::from_ptr(*argv.add(n)).to_bytes().to_vec()) })
        .collect()
}

/// The kernel drops signals for which process 1 has no handler, also those that should end it.
pub extern "C" fn exit_on_signal(signal: c_int) {
    // SAFETY: _exit may be called in a signal handler.
    unsafe { libc::_exit(128 + signal) }
}

pub fn inherited() -> &'static Inherited {
    INHERITED.get_or_init(|| {
        let mut mask = MaybeUninit::uninit();
        // SAFETY: with no new set, the call only fills the old one.
        let mask = unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, ptr::null(), mask.as_mut_ptr());
            mask.assume_init()
        };
        Inherited {
            mask,
            pipe: disposition(libc::SIGPIPE),
            file_size: disposition(libc::SIGXFSZ),
            child: disposition(libc::SIGCHLD),
            // SAFETY: F_GETFD takes no argument and changes nothing.
            closed: [0, 1, 2].map(|fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1),
        }
    })
}

unsafe extern "C" {
    pub static environ: *const *const c_char;
}

/// The environment as it was inherited: entries without `=` and duplicates too.
pub fn environment() -> impl Iterator<Item = &'static CStr> + Clone {
    // SAFETY: nothing in this program changes the environment (that, too, would need `unsafe`); the list ends at null.
    unsafe {
        let mut entry = environ;
        std::iter::from_fn(move || {
            if entry.is_null() || (*entry).is_null() {
                return None;
            }
            let text = CStr::from_ptr(*entry);
            entry = entry.add(1);
            Some(text)
        })
    }
}
