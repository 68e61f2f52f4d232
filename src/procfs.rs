//! What /proc tells about other processes: whether one is still the same, who holds a file open, and how to end one
//! without ever hitting another that got its number. On systems without /proc nothing is known, and nothing is hit.

use std::path::Path;
use std::time::Duration;

/// When a process started, in clock ticks since boot: with the number, its identity within a boot.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Whether the process with this number is still the one that started then. A zombie does not count: it has ended.
pub fn is_alive(pid: u32, started: u64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return false;
    };
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next();
    !matches!(state, Some("Z" | "X") | None)
        && fields.nth(18).and_then(|field| field.parse().ok()) == Some(started)
}

/// The living members of the group that this process led. A number is not given away as long as a group has it, so
/// what leads it now and started at another time leads another group.
pub fn group(leader: u32, started: u64) -> Vec<u32> {
    if start_time(leader).is_some_and(|now| now != started) {
        return Vec::new();
    }
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| is_alive_in(*pid, leader, started)).collect()
}

fn is_alive_in(pid: u32, group: u32, since: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(')') else {
        return false;
    };
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    !matches!(fields.first(), Some(&("Z" | "X")) | None)
        && number(2) == Some(u64::from(group))
        && number(19).is_some_and(|start| start >= since)
}

/// The processes that hold this file open, as far as we may look.
pub fn holders(path: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    let (Ok(wanted), Some(name)) = (std::fs::symlink_metadata(path), path.file_name()) else {
        return Vec::new();
    };
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let own = std::process::id();
    pids.filter(|&pid| pid != own)
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
