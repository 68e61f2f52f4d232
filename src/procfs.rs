//! What /proc says about other processes: whether one is still the same, which of them hold a file open, and how to
//! kill one without ever hitting another that got its number. On systems without /proc nothing is known, and nothing is
//! killed.

use std::path::Path;
use std::time::Duration;

/// When a process started, in clock ticks since boot: with the number, its identity within a boot.
pub fn start_time(pid: u32) -> Option<u64> {
    Some(Stat::read(pid)?.started)
}

/// The session of a process.
pub fn session(pid: u32) -> Option<u32> {
    Some(Stat::read(pid)?.session)
}

/// Whether the process with this number is still the one that started then. A zombie does not count: it has ended.
pub fn is_alive(pid: u32, started: u64) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.is_alive && stat.started == started)
}

/// The living members of the group that this process led, which was in this session.
///
/// A number is not given away while a process or a group has it. So if the leader is there, its number tells: another
/// start means another group. If it is gone, a later group may have the number, and only what is in the same session
/// counts.
pub fn group(leader: u32, started: u64, session: Option<u32>) -> Vec<u32> {
    let is_leader_there = match Stat::read(leader) {
        Some(stat) if stat.started != started => return Vec::new(),
        stat => stat.is_some(),
    };
    let belongs = |stat: Stat| {
        let is_in_session = is_leader_there || Some(stat.session) == session;
        stat.is_alive && stat.group == leader && stat.started >= started && is_in_session
    };
    all().filter(|pid| Stat::read(*pid).is_some_and(belongs)).collect()
}

/// The real, effective and saved user of a process.
pub fn users(pid: u32) -> Option<[u32; 3]> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut users = line.split_ascii_whitespace().map(str::parse);
    let mut next = || users.next()?.ok();
    Some([next()?, next()?, next()?])
}

fn all() -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What proc_pid_stat(5) says of a process.
struct Stat {
    is_alive: bool,
    group: u32,
    session: u32,
    started: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Stat> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses, and may hold anything.
        let end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(&stat[end + 1..]).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let is_alive = !matches!(fields.next()?, "Z" | "X");
        let group = fields.nth(1)?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        Some(Stat { is_alive, group, session, started: fields.nth(15)?.parse().ok()? })
    }
}

/// The processes that hold this file open, as far as we may look.
pub fn holders(path: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    let (Ok(wanted), Some(name)) = (std::fs::symlink_metadata(path), path.file_name()) else {
        return Vec::new();
    };
    let own = std::process::id();
    all()
        .filter(|&pid| pid != own)
        .filter(|pid| {
            let Ok(fds) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
                return false;
            };
            fds.flatten().any(|fd| {
                // The name first: to stat what others have open may hang on a dead network file system.
                let named = std::fs::read_link(fd.path()).is_ok_and(|link| link.file_name() == Some(name));
                named
                    && std::fs::metadata(fd.path())
                        .is_ok_and(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
            })
        })
        .collect()
}

/// Ends processes by SIGKILL and waits until they are gone, or for `patience`. `still` is asked once the process can
/// no longer be confused with another.
#[cfg(target_os = "linux")]
pub fn end(pids: &[u32], patience: Duration, still: impl Fn(u32) -> bool) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let open = |&pid: &u32| {
        let fd = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
        still(pid).then_some(fd)
    };
    let targets: Vec<_> = pids.iter().filter_map(open).collect();
    for target in &targets {
        // Fails where it has just ended, or is another user's; both show in the wait.
        let _ = pidfd_send_signal(target, Signal::KILL);
    }
    let patience = Timespec { tv_sec: patience.as_secs().try_into().unwrap_or(1), tv_nsec: 0 };
    for target in &targets {
        let _ = poll(&mut [PollFd::new(target, PollFlags::IN)], Some(&patience));
    }
}

#[cfg(not(target_os = "linux"))]
pub fn end(_pids: &[u32], _patience: Duration, _still: impl Fn(u32) -> bool) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_by_its_start_and_ended_by_its_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let stdin = Stdio::from(file.reopen().expect("the file"));
        let mut child = Command::new("sleep").arg("1000").stdin(stdin).spawn().expect("sleep");
        let pid = child.id();
        let started = start_time(pid).expect("a start time");
        assert!(is_alive(pid, started));
        assert!(!is_alive(pid, started + 1));
        assert_eq!(holders(file.path()), [pid]);
        end(&[pid], Duration::from_secs(60), |_| false);
        assert!(is_alive(pid, started), "what is no longer the same is left alone");
        end(&[pid], Duration::from_secs(60), |pid| holders(file.path()).contains(&pid));
        assert!(!is_alive(pid, started));
        child.wait().expect("an end");
        assert_eq!(start_time(pid), None);
    }
}
