//! From a plan to a process that is the command: a new process, put back what was given, exec.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::atomic::Ordering;

use super::Pid;
use super::birth::{self, Stack};
use super::given::given;
use super::signals::{COMMAND, release_signals, set_disposition, set_mask};
use crate::supervise::plan::{Group, Plan};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The environment as it was given: entries without `=` and duplicates too.
pub fn environment() -> impl Iterator<Item = &'static CStr> {
    // SAFETY: nobody in this program changes the environment (that, too, would need `unsafe`); the list ends at null.
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

/// What the attempts to execute came to, where none succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub errno: i32,
    /// Whether there was a file of this name.
    pub found: bool,
}

/// The command's process, which may or may not have come to be the command yet.
pub struct Born {
    pub pid: Pid,
    failure: io::PipeReader,
}

impl Born {
    /// Why the process did not become the command; to be asked when it has ended.
    pub fn refusal(&self) -> Option<Refusal> {
        let mut bytes = [0; 8];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.failure, &mut bytes)).ok()?;
        let [a, b, c, d, found, ..] = bytes;
        (count == bytes.len())
            .then_some(Refusal { errno: i32::from_ne_bytes([a, b, c, d]), found: found != 0 })
    }
}

impl Drop for Born {
    fn drop(&mut self) {
        COMMAND.store(0, Ordering::Relaxed);
    }
}

/// What a new process needs, laid out before it is there: it may not allocate.
pub struct Layout<'a> {
    plan: Plan<'a>,
    argv: Vec<*const c_char>,
    /// `/bin/sh`, the place of a script's path, and the arguments.
    shell_argv: Vec<*const c_char>,
    /// None: as it was given.
    environment: Option<Vec<*const c_char>>,
    failure: c_int,
    #[cfg(target_os = "linux")]
    parent: Pid,
}

impl<'a> Layout<'a> {
    fn new(plan: Plan<'a>, failure: c_int) -> Layout<'a> {
        let pointers = |strings: &[CString]| -> Vec<*const c_char> {
            strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
        };
        let argv = pointers(&plan.argv);
        let mut shell_argv = vec![c"/bin/sh".as_ptr(), ptr::null()];
        shell_argv.extend(&argv[1..]);
        let environment = plan.environment.as_ref().map(|environment| pointers(environment));
        Layout {
            plan,
            argv,
            shell_argv,
            environment,
            failure,
            #[cfg(target_os = "linux")]
            parent: super::process_id(),
        }
    }
}

/// Becomes the command, in this process. Comes back where that cannot be executed, and says why.
pub fn replace(plan: Plan<'_>) -> Refusal {
    let mut layout = Layout::new(plan, -1);
    release_signals();
    // SAFETY: plain numbers; a descriptor that was closed at the start is our /dev/null, which nobody uses.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
        for fd in (0..).zip(given().closed).filter_map(|(fd, closed)| closed.then_some(fd)) {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    set_disposition(libc::SIGPIPE, given().pipe);
    set_disposition(libc::SIGXFSZ, given().file_size);
    set_mask(&given().mask);
    let refusal = execute(&mut layout);
    // There is still something to be recorded and said, as `begin` has prepared for.
    set_disposition(libc::SIGPIPE, libc::SIG_IGN);
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
    refusal
}

/// Starts a process that becomes the command. Signals must be caught: their handler knows what to do in the child.
pub fn start(plan: Plan<'_>) -> io::Result<Born> {
    let (read, write) = io::pipe()?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let mut layout = Layout::new(plan, write.as_raw_fd());
    let stack = Stack::new();
    // SAFETY: whether it has a copy of these or the parent waits, they are there until it needs them no more.
    let pid = unsafe { birth::give(&raw mut layout, &stack) }?;
    Ok(Born { pid, failure: read })
}

/// What the new process does. It may share its memory with the parent, which waits, and with other threads, which do
/// not: it allocates nothing, and writes to nothing but its stack and its own field of the layout.
///
/// # Safety
///
/// To be called in a new process of one thread, with a layout that nobody else writes to.
pub unsafe fn become_command(layout: *mut Layout<'_>) -> ! {
    // SAFETY: plain numbers, and pointers into a layout that outlives the calls.
    unsafe {
        let layout = &mut *layout;
        let plan = &layout.plan;
        if plan.group == Group::Own {
            libc::setpgid(0, 0);
        }
        #[cfg(target_os = "linux")]
        {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0);
            if libc::getppid() != layout.parent {
                // The parent died before it was watched.
                libc::kill(libc::getpid(), libc::SIGTERM);
            }
        }
        for (target, source) in (0..).zip(&plan.redirections) {
            match source {
                Some(source) => libc::dup2(source.as_fd().as_raw_fd(), target),
                None if given().closed[target as usize] => libc::close(target),
                None => 0,
            };
        }
        for fd in &plan.inherit {
            libc::fcntl(*fd, libc::F_SETFD, 0);
        }
        if given().child == libc::SIG_IGN {
            set_disposition(libc::SIGCHLD, libc::SIG_IGN);
        }
        // Exec takes back the handlers of what is caught, and leaves what is ignored.
        set_mask(&given().mask);
        let refusal = execute(layout);
        let mut report = [0; 8];
        report[..4].copy_from_slice(&refusal.errno.to_ne_bytes());
        report[4] = u8::from(refusal.found);
        libc::write(layout.failure, report.as_ptr().cast(), report.len());
        libc::_exit(127)
    }
}

/// Tries one path after the other, as execvp does.
fn execute(layout: &mut Layout<'_>) -> Refusal {
    // SAFETY: read, not written; nobody changes the environment.
    let environment = layout.environment.as_ref().map_or(unsafe { environ }, |list| list.as_ptr());
    let candidates = &layout.plan.candidates;
    let mut refused = libc::ENOENT;
    for path in candidates {
        // SAFETY: all lists end at null and outlive the call.
        let failed = unsafe { birth::execve(path, layout.argv.as_ptr(), environment) };
        if failed == libc::ENOEXEC {
            layout.shell_argv[1] = path.as_ptr();
            // SAFETY: as above.
            unsafe { birth::execve(c"/bin/sh", layout.shell_argv.as_ptr(), environment) };
        }
        match failed {
            // What is in a later directory may do.
            libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT => {}
            libc::EACCES => refused = failed,
            _ => return Refusal { errno: failed, found: true },
        }
    }
    // A directory that may not be searched is no file found; a script whose interpreter is missing is one.
    let found = candidates.iter().any(|path| birth::exists(path));
    Refusal { errno: if found { refused } else { libc::ENOENT }, found }
}
