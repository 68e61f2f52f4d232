//! Processes as tests see them: who is alive in a sandbox, in what state, and how to signal one.

use std::path::Path;
use std::process::{Child, Command};

use crate::util::{Done, Sandbox, brk, until};

/// `brk run` of a breaker that never opens, ready to be started. In a session of its own, and so without a terminal,
/// wherever the tests run.
pub fn guarded(sandbox: &Sandbox, flags: &[&str], command: &[&str]) -> Command {
    // Not being the leader of a group, it becomes `brk` under the same number.
    let mut setsid = sandbox.command("setsid");
    setsid.args([brk(), "run", "--name", "x", "--failures", "0"]).args(flags).arg("--").args(command);
    setsid
}

/// The same with a shell script as the command.
pub fn guarded_script(sandbox: &Sandbox, flags: &[&str], script: &str) -> Command {
    guarded(sandbox, flags, &["sh", "-c", script])
}

/// A field of proc_pid_stat(5), by the manual's number from 3 on. None: there is no such process.
pub fn stat(pid: u32, field: usize) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let (_, fields) = line.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(field - 3).map(str::to_owned)
}

pub fn parent(pid: u32) -> Option<u32> {
    stat(pid, 4)?.parse().ok()
}

pub fn group(pid: u32) -> Option<u32> {
    stat(pid, 5)?.parse().ok()
}

/// A process that has ended, reaped or not, is not alive.
pub fn is_alive(pid: u32) -> bool {
    stat(pid, 3).is_some_and(|state| !matches!(state.as_str(), "Z" | "X"))
}

pub fn is_stopped(pid: u32) -> bool {
    stat(pid, 3).is_some_and(|state| state == "T")
}

pub fn all() -> Vec<u32> {
    let files = std::fs::read_dir("/proc").expect("/proc");
    files.flatten().filter_map(|file| file.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process, dead ones too.
pub fn children(pid: u32) -> Vec<u32> {
    all().into_iter().filter(|child| parent(*child) == Some(pid)).collect()
}

/// The living processes that were started in this sandbox, with their command lines. All of them inherit its HOME,
/// wherever they have gone.
pub fn left(sandbox: &Sandbox) -> Vec<(u32, String)> {
    let home = format!("HOME={}", sandbox.path().display());
    let belongs = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes()) && is_alive(*pid)
    };
    let named = |pid: u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).replace('\0', " "))
    };
    all().into_iter().filter(belongs).map(named).collect()
}

/// Ends, when a test does, whatever it has left behind.
pub struct Sweeper<'a>(pub &'a Sandbox);

impl Drop for Sweeper<'_> {
    fn drop(&mut self) {
        for (pid, _) in left(self.0) {
            // It may have ended meanwhile.
            try_signal(pid, "CONT");
            try_signal(pid, "KILL");
        }
    }
}

/// Sends a signal, by name or number. Requires that there is such a process.
#[track_caller]
pub fn send_signal(pid: u32, signal: &str) {
    assert!(try_signal(pid, signal), "process {pid} cannot be sent {signal}");
}

fn try_signal(pid: u32, signal: &str) -> bool {
    let pid = pid.to_string();
    let output = Command::new("sh").args(["-c", r#"kill -s "$0" "$1""#, signal, &pid]).output();
    output.expect("sh").status.success()
}

/// A process beside the test. It does not outlive the test: when this is dropped the process is killed.
pub struct Running {
    child: Option<Child>,
    what: String,
}

/// The one way in which tests start a process that they do not wait for at once.
pub trait Start {
    fn start(&mut self) -> Running;
}

impl Start for Command {
    #[track_caller]
    fn start(&mut self) -> Running {
        let what = format!("{self:?}");
        let child = self.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        Running { child: Some(child), what }
    }
}

impl Running {
    /// Waits for its end, and for that of its piped streams.
    pub fn finish(mut self) -> Done {
        let child = self.child.take().expect("a process that is not finished");
        Done::of(child, &self.what)
    }

    #[track_caller]
    pub fn signal(&self, name: &str) {
        send_signal(self.id(), name);
    }

    /// Kills it, and waits for its end.
    pub fn kill_9(mut self) {
        self.kill().expect("SIGKILL");
        self.wait().expect("an end");
    }
}

impl std::ops::Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().expect("a process that is not finished")
    }
}

impl std::ops::DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().expect("a process that is not finished")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Nothing to do if it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The number that a script wrote into a file, once it is there.
#[track_caller]
pub fn until_pid(path: &Path) -> u32 {
    let text = crate::util::until_file(path);
    text.trim().parse().unwrap_or_else(|error| panic!("{text:?} in {}: {error}", path.display()))
}

#[track_caller]
pub fn until_gone(pid: u32) {
    until(&format!("the end of process {pid}"), || !is_alive(pid));
}

/// Whether the tests may act as other users, and make namespaces by right.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
