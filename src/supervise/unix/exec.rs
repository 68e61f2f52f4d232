//! From a plan to the command: what was inherited is put back, and the command is executed, in a new process or in
//! this one.

use std::ffi::{CString, c_char, c_int};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use super::calls;
use super::disposition::{set_disposition, set_mask};
use super::inherited::{environ, inherited};
#[cfg(target_os = "linux")]
use super::process::{Pid, process_id};
use super::signals::{is_caught, release_signals};
use crate::supervise::plan::{Group, Plan};

/// Why no attempt to execute succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub errno: i32,
    /// Whether there was a file of this name.
    pub found: bool,
}

/// What a new process needs, prepared before it exists, because it may not allocate.
pub struct Layout<'a> {
    plan: Plan<'a>,
    argv: Vec<*const c_char>,
    /// `/bin/sh`, the place of a script's path, and the arguments.
    shell_argv: Vec<*const c_char>,
    /// None: as it was inherited.
    environment: Option<Vec<*const c_char>>,
    failure: c_int,
    #[cfg(target_os = "linux")]
    parent: Pid,
}

impl<'a> Layout<'a> {
    pub fn new(plan: Plan<'a>, failure: c_int) -> Layout<'a> {
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
            parent: process_id(),
        }
    }
}

/// Becomes the command, in this process. Comes back only if the command cannot be executed, and says why.
pub fn replace(plan: Plan<'_>) -> Refusal {
    let mut layout = Layout::new(plan, -1);
    release_signals();
    // SAFETY: plain numbers; a descriptor that was closed at the start is our /dev/null, which is not used.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
        for fd in (0..).zip(inherited().closed).filter_map(|(fd, closed)| closed.then_some(fd)) {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
    set_disposition(libc::SIGPIPE, inherited().pipe);
    set_disposition(libc::SIGXFSZ, inherited().file_size);
    set_mask(&inherited().mask);
    let refusal = execute(&mut layout);
    // There is still something to be recorded and said, as `init_process` has prepared for.
    set_disposition(libc::SIGPIPE, libc::SIG_IGN);
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
    refusal
}

/// What the new process does. It may share its memory with the parent, which may go on running, and with other
/// threads. So it allocates nothing, does not touch `errno`, and writes to nothing but its stack and its own field of
/// the layout.
///
/// # Safety
///
/// To be called in a new process of one thread, with a layout that nothing else writes to, and that lives until the
/// process has executed or ended.
pub unsafe fn become_command(layout: *mut Layout<'_>) -> ! {
    // SAFETY: as the caller says.
    let layout = unsafe { &mut *layout };
    let plan = &layout.plan;
    if plan.group == Group::Own {
        calls::lead_group();
    }
    // A process that waits for its executable (a dead network disk) must end of these at once. Executing takes back all
    // other handlers, and leaves alone what is ignored.
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        if is_caught(signal) {
            set_disposition(signal, libc::SIG_DFL);
        }
    }
    #[cfg(target_os = "linux")]
    calls::die_with(layout.parent);
    for (target, source) in (0..).zip(&plan.redirections) {
        match source {
            Some(source) => calls::duplicate(source.as_fd().as_raw_fd(), target),
            None if inherited().closed[target as usize] => calls::close(target),
            None => {}
        }
    }
    for fd in &plan.inherit {
        calls::keep_over_exec(*fd);
    }
    if inherited().child == libc::SIG_IGN {
        set_disposition(libc::SIGCHLD, libc::SIG_IGN);
    }
    set_mask(&inherited().mask);
    let refusal = execute(layout);
    let mut report = [0; 8];
    report[..4].copy_from_slice(&refusal.errno.to_ne_bytes());
    report[4] = u8::from(refusal.found);
    calls::write(layout.failure, &report);
    calls::exit(127)
}

/// Tries one path after the other, as execvp does.
fn execute(layout: &mut Layout<'_>) -> Refusal {
    // SAFETY: read, not written; nothing changes the environment.
    let environment = layout.environment.as_ref().map_or(unsafe { environ }, |list| list.as_ptr());
    let candidates = &layout.plan.candidates;
    let mut refused = libc::ENOENT;
    for path in candidates {
        // SAFETY: all lists end at null and outlive the call.
        let failed = unsafe { calls::execve(path, layout.argv.as_ptr(), environment) };
        if failed == libc::ENOEXEC {
            layout.shell_argv[1] = path.as_ptr();
            // SAFETY: as above.
            unsafe { calls::execve(c"/bin/sh", layout.shell_argv.as_ptr(), environment) };
        }
        match failed {
            // What is in a later directory may do.
            libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT => {}
            libc::EACCES => refused = failed,
            _ => return Refusal { errno: failed, found: true },
        }
    }
    // A directory that may not be searched is no file found; a script whose interpreter is missing is one.
    let found = candidates.iter().any(|path| calls::exists(path));
    Refusal { errno: if found { refused } else { libc::ENOENT }, found }
}
