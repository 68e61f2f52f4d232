//! Places: files whose locks say who is alive.
//!
//! A place is taken by a `flock` on an open file description that the command inherits. While `brk` lives it gives the
//! place back itself; when `brk` is killed the lock stays with whatever is left of the command and falls with the last
//! of it, by the operating system and without anybody's help. A daemon that the command leaves behind after a normal
//! end does not keep the place, for `brk` unlocks the description itself.
//!
//! Probes have places (which, the breaker's state says), and so have the runs of `--max-concurrent`.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use serde::{Deserialize, Serialize};

use super::Slot;
use crate::procfs;

/// Descriptors that the command inherits are put this high, out of the way of scripts that number their own.
const HIGH_FD: i32 = 200;

/// A place that this process holds until it is dropped.
#[derive(Debug)]
pub struct OccupancyLock {
    file: File,
    holder: OwnerRecord,
}

/// Who holds a place, for those who look at it. The lock is the truth; this is its owner record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRecord {
    pub pid: u32,
    pub started: Option<u64>,
    pub command: Option<u32>,
    pub command_started: Option<u64>,
    /// Which probe it is: the numbers of the breaker and of the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<(u64, u64)>,
}

/// What can be seen of a place from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// With the owner record that a killed `brk` has left; that of another has nobody in it.
    Nobody(OwnerRecord),
    /// The `brk` that took it is alive.
    Holder(OwnerRecord),
    /// The `brk` that took it is dead or lives in another namespace, and these processes hold the place, as far as we
    /// may look.
    Survivors(OwnerRecord, Vec<u32>),
}

impl OccupancyLock {
    /// Locks an open file as a place, without waiting. `None`: another holds it.
    pub fn take(file: File, probe: Option<(u64, u64)>) -> io::Result<Option<OccupancyLock>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // An owner record is left where `brk` was killed.
        if !OwnerRecord::read(&file).left_in_group().is_empty() {
            return Ok(None);
        }
        let pid = std::process::id();
        let holder = OwnerRecord { pid, started: procfs::start_time(pid), probe, ..OwnerRecord::default() };
        let place = OccupancyLock { file, holder };
        place.write_owner_record()?;
        Ok(Some(place))
    }

    /// Notes the command that was started in this place. Best effort: the lock is what counts.
    pub fn note_command(&mut self, pid: u32) {
        self.holder.command = Some(pid);
        self.holder.command_started = procfs::start_time(pid);
        let _ = self.write_owner_record();
    }

    fn write_owner_record(&self) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.holder)?;
        text.push(b'\n');
        self.file.write_all_at(&text, 0)?;
        self.file.set_len(text.len() as u64)
    }
}

/// A descriptor of the same description, out of the way: what a command is given.
pub fn duplicate(place: &OccupancyLock) -> io::Result<OwnedFd> {
    // Under a low limit on open files any number has to do.
    fcntl_dupfd_cloexec(place, HIGH_FD).or_else(|_| fcntl_dupfd_cloexec(place, 0)).map_err(Into::into)
}

impl AsFd for OccupancyLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for OccupancyLock {
    fn drop(&mut self) {
        // Those who only read the owner record shall not take it for a holder's.
        let _ = self.file.set_len(0);
        // Closing is not enough: the command's background children share the description.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl OwnerRecord {
    /// What is left of the command of a killed `brk` where it has closed what it inherited, and stayed in its group.
    fn left_in_group(&self) -> Vec<u32> {
        match (self.command, self.command_started) {
            (Some(leader), Some(started)) if !self.is_alive() => procfs::group(leader, started),
            _ => Vec::new(),
        }
    }

    fn is_alive(&self) -> bool {
        self.started.is_some_and(|started| procfs::is_alive(self.pid, started))
    }

    /// Whether the `brk` or its command is.
    pub fn is_anybody_alive(&self) -> bool {
        let command = self.command.zip(self.command_started);
        self.is_alive() || command.is_some_and(|(pid, started)| procfs::is_alive(pid, started))
    }

    fn read(file: &File) -> OwnerRecord {
        let mut bytes = [0; 512];
        let len = file.read_at(&mut bytes, 0).unwrap_or(0);
        serde_json::from_slice(&bytes[..len]).unwrap_or_default()
    }
}

/// Looks who is in a place, given its open file. A reader that tests the lock holds a shared one for an instant; the
/// look is repeated where that could be mistaken for a survivor.
pub fn look(file: &File, path: &Path) -> io::Result<Occupant> {
    for attempt in 0.. {
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                flock(file, FlockOperation::Unlock)?;
                let holder = OwnerRecord::read(file);
                let left = holder.left_in_group();
                return Ok(if left.is_empty() {
                    Occupant::Nobody(holder)
                } else {
                    Occupant::Survivors(holder, left)
                });
            }
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        let holder = OwnerRecord::read(file);
        if holder.is_alive() {
            return Ok(Occupant::Holder(holder));
        }
        if attempt >= 3 {
            return Ok(Occupant::Survivors(holder, procfs::holders(path)));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    unreachable!("the loop ends by returning")
}

/// The places for runs at once that somebody alive is in, by their owner records. `open` fails for one that was never made;
/// they are taken from the first on, so none comes after it.
pub fn slots(open: impl Fn(u32) -> Option<File>) -> Vec<Slot> {
    let slot = |file: &File| {
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let since = since.and_then(|since| u64::try_from(since.as_millis()).ok());
        Slot { holder: OwnerRecord::read(file), since }
    };
    let made = (0..).map_while(|number| Some(slot(&open(number)?)));
    made.filter(|slot| slot.holder.is_anybody_alive()).collect()
}

/// Ends what is left of a dead probe, and waits for it for a moment.
pub fn evict(path: &Path, holder: &OwnerRecord, survivors: &[u32]) {
    let command =
        holder.command.filter(|&pid| holder.command_started.is_some_and(|at| procfs::is_alive(pid, at)));
    let mut targets = survivors.to_vec();
    targets.extend(command.filter(|pid| !survivors.contains(pid)));
    procfs::end(&targets, Duration::from_secs(1), |pid| {
        Some(pid) == command && holder.command_started.is_some_and(|at| procfs::is_alive(pid, at))
            || procfs::holders(path).contains(&pid)
            || holder.left_in_group().contains(&pid)
    });
}

/// Takes one of `count` places for runs at once; `None`: all are taken.
pub fn take_slot(
    count: u32,
    open: impl Fn(u32) -> io::Result<(File, PathBuf)>,
) -> io::Result<Option<OccupancyLock>> {
    for number in 0..count {
        let (file, path) = open(number)?;
        let Some(place) = OccupancyLock::take(file, None)? else {
            continue;
        };
        // Forgetting a breaker removes its files: a lock on one that has lost its name keeps nobody out.
        let held = place.file.metadata()?;
        let named = std::fs::symlink_metadata(&path);
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
            return Ok(Some(place));
        }
        return take_slot(count, open);
    }
    Ok(None)
}
