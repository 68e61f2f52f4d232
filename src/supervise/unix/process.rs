//! Processes as the system knows them: sending to them, their groups and terminals, and waiting for children.
//!
//! Not here: what to send and when (`escalate`), and which processes belong to the command (`tree`).

use std::ffi::c_int;
#[cfg(target_vendor = "apple")]
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, BorrowedFd};
#[cfg(target_os = "linux")]
use std::ptr;

use crate::breaker::outcome::Status;

pub type Pid = libc::pid_t;

/// The number of this process.
pub fn process_id() -> Pid {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

// Sending

/// To one process.
pub fn send(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is involved; our callers give a process's number, which is above 0.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// To a process group, by the number of its leader.
pub fn send_to_group(group: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: as above.
    check(unsafe { libc::killpg(group, signal) }).map(drop)
}

/// To the process that a descriptor stands for, which cannot be another one by now.
#[cfg(target_os = "linux")]
pub fn send_through(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    let none = ptr::null::<libc::siginfo_t>();
    // SAFETY: with no siginfo, only numbers are passed.
    let result =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, none, 0_u32) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(super) fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

// Groups, terminals, families

/// Whether this process has a controlling terminal, however its descriptors are redirected.
pub fn has_terminal() -> bool {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::open(c"/dev/tty", flags, rustix::fs::Mode::empty()).is_ok()
}

/// The group that a process belongs to; 0 where there is no such process.
pub fn group_of(pid: Pid) -> Pid {
    // SAFETY: plain numbers.
    unsafe { libc::getpgid(pid) }.max(0)
}

pub fn shares_group(pid: Pid) -> bool {
    group_of(pid) == group_of(process_id())
}

pub fn leads_session() -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Whether our parent has put us into a group of our own, as a shell with job control does: it then waits for our
/// stopping too.
pub fn has_shell_above() -> bool {
    // SAFETY: cannot fail.
    let parent = unsafe { libc::getppid() };
    parent != 0 && !shares_group(parent)
}

/// Lets processes that lose their parent below us fall to us, so that they can be found.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: a plain number, and no memory. Where it fails, what escapes is not found.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    };
}

/// The children of a process.
#[cfg(target_vendor = "apple")]
pub fn children(parent: Pid) -> Vec<Pid> {
    // SAFETY: the list is written as far as its length in bytes allows.
    list(|buffer, bytes| unsafe { libc::proc_listchildpids(parent, buffer, bytes) })
}

#[cfg(target_vendor = "apple")]
pub fn group_members(group: Pid) -> Vec<Pid> {
    // SAFETY: as above.
    list(|buffer, bytes| unsafe { libc::proc_listpgrppids(group, buffer, bytes) })
}

#[cfg(target_vendor = "apple")]
fn list(fill: impl Fn(*mut c_void, c_int) -> c_int) -> Vec<Pid> {
    let mut pids: Vec<Pid> = vec![0; 4096];
    let bytes = c_int::try_from(size_of_val(pids.as_slice())).unwrap_or(0);
    let count = usize::try_from(fill(pids.as_mut_ptr().cast(), bytes)).unwrap_or(0);
    pids.truncate(count);
    pids.retain(|pid| *pid > 0);
    pids
}

// Waiting

/// A child that has ended, not yet reaped.
pub struct Dead {
    pub pid: Pid,
    pub status: Status,
}

/// Whether this process has children, dead or alive.
#[cfg(target_os = "linux")]
pub fn has_children() -> bool {
    let ended = wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT);
    !ended.is_err_and(|error| error.raw_os_error() == Some(libc::ECHILD))
}

/// The first child that has ended. It stays to be reaped, and its number its own.
pub fn ended_child() -> Option<Dead> {
    let info = wait(libc::P_ALL, 0, libc::WEXITED | libc::WNOWAIT).ok()??;
    // SAFETY: waitid filled the fields of SIGCHLD.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    let status = match info.si_code {
        libc::CLD_EXITED => Status::Exited((status & 0xff) as u8),
        _ => Status::Signaled(status),
    };
    Some(Dead { pid, status })
}

/// Takes a dead child's status, if it is dead, and frees its number.
pub fn reap(pid: Pid) {
    // Whoever is alive, or nobody's child of ours, stays what it is.
    let _ = wait(libc::P_PID, pid as libc::id_t, libc::WEXITED);
}

/// The signal that has stopped a child, told once for each stop.
pub fn stopped(pid: Pid) -> Option<i32> {
    let info = wait(libc::P_PID, pid as libc::id_t, libc::WSTOPPED).ok()??;
    // SAFETY: waitid filled the fields of SIGCHLD.
    Some(unsafe { info.si_status() })
}

fn wait(kind: libc::idtype_t, id: libc::id_t, options: c_int) -> io::Result<Option<libc::siginfo_t>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the place is valid, and all zeros is a value of it, which stays where nobody has changed.
    let info = unsafe {
        check(libc::waitid(kind, id, info.as_mut_ptr(), options | libc::WNOHANG))?;
        info.assume_init()
    };
    // SAFETY: filled, or all zeros.
    Ok((unsafe { info.si_pid() } != 0).then_some(info))
}
