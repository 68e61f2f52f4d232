//! Catching signals, letting them act again, stopping and dying of them.
//!
//! Not here: what a caught signal means for a run (`escalate`).

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::disposition::{empty_mask, errno, full_mask, set_disposition, set_mask};
use super::inherited::{ENDING, exit_on_signal, inherited};
use super::process::{process_id, send};
use crate::signal;

/// Who sent a signal, as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Process,
    Kernel,
    /// The kernel, before there was a command that could have got it as well.
    KernelEarly,
    /// The consequence of something that this process did: a closed pipe, a limit on file sizes.
    Own,
}

/// A signal that was caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caught {
    pub signal: i32,
    pub source: Source,
}

/// Both ends of the pipe that handlers write to; -1 before there is one.
static PIPE_READ: AtomicI32 = AtomicI32::new(-1);
static PIPE_WRITE: AtomicI32 = AtomicI32::new(-1);
/// The process that handlers write for.
static OWNER: AtomicI32 = AtomicI32::new(0);
/// Bit n: signal n is caught. What was ignored at start never is.
static CAUGHT: AtomicU64 = AtomicU64::new(0);
/// The process that a signal from the terminal reaches beside this one; 0 before there is one. A system call that makes
/// a process starts anew after a signal that came before it was done, so what is caught before this is set is what the
/// command did not get.
pub static COMMAND: AtomicI32 = AtomicI32::new(0);

/// How many `HeldSignals` there are.
static HOLDS: AtomicU32 = AtomicU32::new(0);

/// While there is one of these, caught signals are kept for a later look. When the last one is dropped they do again
/// what they did at start, and those that were not looked at do it then.
#[derive(Debug)]
pub struct HeldSignals(());

impl HeldSignals {
    pub fn new() -> HeldSignals {
        HOLDS.fetch_add(1, Ordering::Relaxed);
        HeldSignals(())
    }

    /// Keeps signals away from what is left to do: the process ends as it has decided to.
    pub fn keep_until_exit(self) {
        std::mem::forget(self);
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if HOLDS.fetch_sub(1, Ordering::Relaxed) == 1 {
            release_signals();
        }
    }
}

extern "C" fn note(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: getpid, kill, sigaction and write may be called in a handler; `info` is the kernel's; errno is put back.
    unsafe {
        let code = (*info).si_code;
        let is_fault = matches!(
            signal,
            libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP | libc::SIGSYS
        );
        if is_fault && code > 0 {
            // Back to the instruction that failed, which now ends the process.
            set_disposition(signal, libc::SIG_DFL);
            return;
        }
        let own = process_id();
        if own != OWNER.load(Ordering::Relaxed) {
            // The command's process before it is the command: the signal does what it does to the command.
            set_disposition(signal, libc::SIG_DFL);
            libc::kill(own, signal);
            return;
        }
        let errno = errno();
        let saved = *errno;
        let source = if signal == libc::SIGCHLD || from_kernel(code, info) {
            if COMMAND.load(Ordering::Relaxed) == 0 { Source::KernelEarly } else { Source::Kernel }
        } else if (*info).si_pid() == own {
            Source::Own
        } else {
            Source::Process
        };
        let bytes = Caught { signal, source }.to_bytes();
        libc::write(PIPE_WRITE.load(Ordering::Relaxed), bytes.as_ptr().cast(), bytes.len());
        *errno = saved;
    }
}

#[cfg(target_os = "linux")]
fn from_kernel(code: c_int, _: *mut libc::siginfo_t) -> bool {
    code > 0
}

#[cfg(not(target_os = "linux"))]
fn from_kernel(_: c_int, info: *mut libc::siginfo_t) -> bool {
    // SAFETY: called by the handler with what the kernel gave it.
    unsafe { (*info).si_pid() == 0 }
}

impl Caught {
    /// A record of the pipe. So short a write is whole or not at all.
    fn to_bytes(self) -> [u8; 2] {
        let source = match self.source {
            Source::Process => 0,
            Source::Kernel => 1,
            Source::KernelEarly => 2,
            Source::Own => 3,
        };
        // Signals are numbered from 1 to 64.
        [self.signal as u8, source]
    }

    fn from_bytes(bytes: [u8; 2]) -> Caught {
        let source = match bytes[1] {
            0 => Source::Process,
            1 => Source::Kernel,
            2 => Source::KernelEarly,
            _ => Source::Own,
        };
        Caught { signal: i32::from(bytes[0]), source }
    }
}

/// Catches all signals that can be and were not ignored at start, and gives what becomes readable when one comes. To
/// be called inside a runtime.
pub fn catch_signals() -> io::Result<AsyncFd<BorrowedFd<'static>>> {
    if PIPE_READ.load(Ordering::Relaxed) == -1 {
        let (read, write) = io::pipe()?;
        rustix::io::ioctl_fionbio(&read, true)?;
        rustix::io::ioctl_fionbio(&write, true)?;
        PIPE_READ.store(read.into_raw_fd(), Ordering::Relaxed);
        PIPE_WRITE.store(write.into_raw_fd(), Ordering::Relaxed);
        OWNER.store(process_id(), Ordering::Relaxed);
    }
    // Blocked meanwhile: a signal that is ignored must not slip into the handler before it is ignored again.
    set_mask(&full_mask());
    let before = CAUGHT.load(Ordering::Relaxed);
    let mut caught = 0;
    for signal in signal::all() {
        let is_known_ignored = before != 0 && before & bit(signal) == 0;
        if is_known_ignored || matches!(signal, libc::SIGKILL | libc::SIGSTOP) {
            continue;
        }
        let old = set_disposition(signal, note as *const () as libc::sighandler_t);
        let ignored = before == 0 && was_ignored(signal, old);
        if ignored && signal != libc::SIGCHLD {
            set_disposition(signal, libc::SIG_IGN);
        } else {
            caught |= bit(signal);
        }
    }
    CAUGHT.store(caught, Ordering::Relaxed);
    set_mask(&empty_mask());
    // SAFETY: the pipe is never closed, and borrowed under the same number for ever.
    let pipe = unsafe {
        let pipe = BorrowedFd::borrow_raw(PIPE_READ.load(Ordering::Relaxed));
        AsyncFd::register_with_interest(pipe, Interest::READABLE)
    };
    Ok(pipe?)
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Whether this process catches a signal now.
pub fn is_caught(signal: i32) -> bool {
    CAUGHT.load(Ordering::Relaxed) & bit(signal) != 0
}

fn was_ignored(signal: i32, now: libc::sighandler_t) -> bool {
    match signal {
        libc::SIGPIPE => inherited().pipe == libc::SIG_IGN,
        libc::SIGXFSZ => inherited().file_size == libc::SIG_IGN,
        _ => now == libc::SIG_IGN,
    }
}

/// The signals that came since the last look, in their order.
pub fn caught_signals() -> Vec<Caught> {
    let mut caught = Vec::new();
    let fd = PIPE_READ.load(Ordering::Relaxed);
    if fd == -1 {
        return caught;
    }
    // SAFETY: the pipe is never closed.
    let pipe = unsafe { BorrowedFd::borrow_raw(fd) };
    let mut bytes = [0; 128];
    while let Ok(count @ 1..) = rustix::io::retry_on_intr(|| rustix::io::read(pipe, &mut bytes)) {
        let records = bytes[..count].chunks_exact(2);
        caught.extend(records.map(|record| Caught::from_bytes([record[0], record[1]])));
    }
    caught
}

/// Keeps a signal that came after the command's end for the next look, or for the release.
pub fn requeue(caught: Caught) {
    let source = if caught.source == Source::Kernel { Source::KernelEarly } else { caught.source };
    // SAFETY: the pipe is never closed; it was just read empty.
    let pipe = unsafe { BorrowedFd::borrow_raw(PIPE_WRITE.load(Ordering::Relaxed)) };
    // A full pipe holds thousands of signals already.
    let _ = rustix::io::write(pipe, &Caught { source, ..caught }.to_bytes());
}

/// From here on signals do again what they did at start. What was caught and not looked at does it now.
pub fn release_signals() {
    let caught = CAUGHT.load(Ordering::Relaxed);
    if caught == 0 {
        return;
    }
    set_mask(&full_mask());
    for signal in signal::all().filter(|signal| caught & bit(*signal) != 0) {
        let handler = match signal {
            libc::SIGPIPE | libc::SIGXFSZ => libc::SIG_IGN,
            libc::SIGCHLD => inherited().child,
            _ if process_id() == 1 && ENDING.contains(&signal) => {
                exit_on_signal as *const () as libc::sighandler_t
            }
            _ => libc::SIG_DFL,
        };
        set_disposition(signal, handler);
    }
    for Caught { signal, source } in caught_signals() {
        if source != Source::Own && signal != libc::SIGCHLD {
            // Errors cannot be: the signal exists and the process is this one.
            let _ = send(process_id(), signal);
        }
    }
    set_mask(&inherited().mask);
}

/// Stops this process as this signal does by default, until it is continued. Where the signal may not stop it (no
/// shell above that could continue it) nothing happens.
pub fn stop(signal: i32) {
    let handler = set_disposition(signal, libc::SIG_DFL);
    // As above.
    let _ = send(process_id(), signal);
    set_disposition(signal, handler);
}

/// Ends this process by a signal, without a core of its own. Gives 128+n where that is not possible: as process 1,
/// and for signals that end nothing.
pub fn die_of(signal: i32) -> u8 {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    // Whatever fails here costs a core file and nothing else.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    #[cfg(target_os = "linux")]
    // SAFETY: a plain number, and no memory.
    unsafe {
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0)
    };
    if signal != libc::SIGKILL && signal != libc::SIGSTOP {
        set_disposition(signal, libc::SIG_DFL);
    }
    let mut all_but_this = full_mask();
    // SAFETY: the set lives during the call.
    unsafe { libc::sigdelset(&raw mut all_but_this, signal) };
    set_mask(&all_but_this);
    if !matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
        // Then 128+n says it.
        let _ = send(process_id(), signal);
    }
    u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
}

/// Starts a thread that no signal reaches, and lets it go: signals are for the thread that supervises.
pub fn spawn_with_signals_blocked(job: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let mut before = empty_mask();
    // SAFETY: both sets live during the call.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &full_mask(), &mut before) };
    // A thread starts with the mask of the one that starts it.
    let started = std::thread::Builder::new().name("brk-store".to_owned()).spawn(job);
    set_mask(&before);
    started.map(drop)
}
