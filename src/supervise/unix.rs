//! The system calls of supervising that have no safe form: what this process was started with, signals, fork and
//! exec, waiting, dying of a signal. The only file with `unsafe`.
//!
//! Not here: what to do and when (`escalate`), what is to be executed (`plan`), and who belongs to it (`tree`).

#![expect(unsafe_code, reason = "fork, signal handlers and waiting without reaping exist in no safe form")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::plan::{Group, Plan};
use crate::breaker::outcome::Status;
use crate::signal;

pub type Pid = libc::pid_t;

/// What this process was given and the Rust runtime, or this file, changes.
struct Given {
    mask: libc::sigset_t,
    pipe: libc::sighandler_t,
    file_size: libc::sighandler_t,
    child: libc::sighandler_t,
    /// Which of descriptors 0 to 2 were closed. The runtime opens /dev/null there.
    closed: [bool; 3],
}

static GIVEN: OnceLock<Given> = OnceLock::new();

// What stands in these sections is called before the runtime's own start.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Signals that end process 1 where it waits for nothing but its turn.
const ENDING: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

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
extern "C" fn leave(signal: c_int) {
    // SAFETY: _exit may be called in a signal handler.
    unsafe { libc::_exit(128 + signal) }
}

fn given() -> &'static Given {
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

pub fn process_id() -> Pid {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

fn disposition(signal: c_int) -> libc::sighandler_t {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, the call only fills the old one, and all zeros is a value of it.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction
    }
}

/// Sets what a signal does, and gives what it did.
fn set_disposition(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
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

fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set lives during the call.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

fn full_mask() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigfillset initializes the set.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn empty_mask() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initializes the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

// Signals

/// Who sent a signal, as the kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Process,
    Kernel,
    /// The consequence of something that this process did: a closed pipe, a limit on file sizes.
    Oneself,
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
        let errno = errno();
        let saved = *errno;
        let own = process_id();
        if own != OWNER.load(Ordering::Relaxed) {
            // The command's process, between fork and exec: the signal does what it does to the command.
            set_disposition(signal, libc::SIG_DFL);
            libc::kill(own, signal);
            return;
        }
        let source = if signal == libc::SIGCHLD || from_kernel(code, info) {
            Source::Kernel
        } else if (*info).si_pid() == own {
            Source::Oneself
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

fn errno() -> *mut c_int {
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

impl Caught {
    /// A record of the pipe. So short a write is whole or not at all.
    fn to_bytes(self) -> [u8; 2] {
        let source = match self.source {
            Source::Process => 0,
            Source::Kernel => 1,
            Source::Oneself => 2,
        };
        // Signals are numbered from 1 to 64.
        [self.signal as u8, source]
    }

    fn from_bytes(bytes: [u8; 2]) -> Caught {
        let source = match bytes[1] {
            0 => Source::Process,
            1 => Source::Kernel,
            _ => Source::Oneself,
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

fn was_ignored(signal: i32, now: libc::sighandler_t) -> bool {
    match signal {
        libc::SIGPIPE => given().pipe == libc::SIG_IGN,
        libc::SIGXFSZ => given().file_size == libc::SIG_IGN,
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

/// Keeps a caught signal for the next look, or for the release.
pub fn put_back(caught: Caught) {
    // SAFETY: the pipe is never closed; it was just read empty.
    let pipe = unsafe { BorrowedFd::borrow_raw(PIPE_WRITE.load(Ordering::Relaxed)) };
    // A full pipe holds thousands of signals already.
    let _ = rustix::io::write(pipe, &caught.to_bytes());
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
            libc::SIGCHLD => given().child,
            _ if process_id() == 1 && ENDING.contains(&signal) => leave as *const () as libc::sighandler_t,
            _ => libc::SIG_DFL,
        };
        set_disposition(signal, handler);
    }
    for Caught { signal, source } in caught_signals() {
        if source != Source::Oneself && signal != libc::SIGCHLD {
            // Errors cannot be: the signal exists and the process is this one.
            let _ = send(process_id(), signal);
        }
    }
    set_mask(&given().mask);
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

fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

// Groups and terminals

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

// Waiting

/// A child that has ended, not yet reaped.
pub struct Dead {
    pub pid: Pid,
    pub status: Status,
}

/// Whether this process has children, dead or alive.
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

// Starting

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

/// Lets processes that lose their parent below us fall to us, so that they can be found.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // SAFETY: a plain number, and no memory. Where it fails, what escapes is not found.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    };
}

/// What `Forked::failure` reads: what the last, or the first telling, attempt to execute said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub errno: i32,
    /// Whether there was a file of this name.
    pub found: bool,
}

/// The command's process, which may or may not have come to be the command yet.
pub struct Forked {
    pub pid: Pid,
    failure: io::PipeReader,
}

impl Forked {
    /// Why the process did not become the command; to be asked when it has ended.
    pub fn refusal(&self) -> Option<Refusal> {
        let mut bytes = [0; 8];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&self.failure, &mut bytes)).ok()?;
        let [a, b, c, d, found, ..] = bytes;
        (count == bytes.len())
            .then_some(Refusal { errno: i32::from_ne_bytes([a, b, c, d]), found: found != 0 })
    }
}

/// What a child needs, laid out before the fork: afterwards it may not allocate.
struct Layout<'a> {
    plan: &'a Plan<'a>,
    argv: Vec<*const c_char>,
    /// `/bin/sh`, the place of a script's path, and the arguments.
    shell_argv: Vec<*const c_char>,
    environment: *const *const c_char,
    failure: c_int,
    parent: Pid,
}

/// Starts a process that becomes the command. Signals must be caught: their handler knows what to do in the child.
pub fn fork(plan: &Plan) -> io::Result<Forked> {
    let (read, write) = io::pipe()?;
    rustix::io::ioctl_fionbio(&read, true)?;
    let pointers = |strings: &[CString]| -> Vec<*const c_char> {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
    };
    let argv = pointers(&plan.argv);
    let mut shell_argv = vec![c"/bin/sh".as_ptr(), ptr::null()];
    shell_argv.extend(&argv[1..]);
    let own_environment = plan.environment.as_ref().map(|environment| pointers(environment));
    // SAFETY: read once; nobody changes the environment.
    let environment = own_environment.as_ref().map_or(unsafe { environ }, |list| list.as_ptr());
    let mut layout =
        Layout { plan, argv, shell_argv, environment, failure: write.as_raw_fd(), parent: process_id() };
    // SAFETY: this process has one thread, and the child keeps to calls that are allowed in a signal handler.
    match check(unsafe { libc::fork() })? {
        0 => become_command(&mut layout),
        pid => Ok(Forked { pid, failure: read }),
    }
}

fn become_command(layout: &mut Layout<'_>) -> ! {
    let plan = layout.plan;
    // SAFETY: plain numbers, and pointers into a layout that outlives the calls.
    unsafe {
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
    let mut refusal = Refusal { errno: libc::ENOENT, found: false };
    for path in &layout.plan.candidates {
        // SAFETY: all lists end at null and outlive the call.
        let (errno, found) = unsafe {
            libc::execve(path.as_ptr(), layout.argv.as_ptr(), layout.environment);
            let failed = *errno();
            if failed == libc::ENOEXEC {
                layout.shell_argv[1] = path.as_ptr();
                libc::execve(c"/bin/sh".as_ptr(), layout.shell_argv.as_ptr(), layout.environment);
            }
            (failed, libc::access(path.as_ptr(), libc::F_OK) == 0)
        };
        if found && !refusal.found {
            refusal = Refusal { errno, found };
        } else if !refusal.found && errno != libc::EACCES {
            refusal.errno = errno;
        }
        let next_may_do = matches!(
            errno,
            libc::EACCES | libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT
        );
        if !next_may_do {
            break;
        }
    }
    refusal
}
