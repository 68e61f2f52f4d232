//! Places: files that say which `brk`, and which processes of its command, are alive.
//!
//! A place is claimed in one step: a new file is made under another name, locked, given its owner record, and then
//! renamed into its place. So a file that can be seen is locked and says by whom, and a reader never meets a claim half
//! done.
//!
//! While `brk` lives, its owner record is what counts: the number of its process, with start and boot. When it is
//! killed, the lock counts: the command inherits a descriptor of the locked file, so the operating system drops the lock
//! with the last process that has it. The descriptor can only be read, so a command that writes to it changes nothing,
//! and one that unlocks it makes nobody believe that `brk` is dead. It has to be inherited: after the death of `brk`
//! nothing else leads to a process that has left the command's group and session.
//!
//! A daemon that the command leaves behind after a normal end does not keep the place, because `brk` clears the record
//! and unlocks the file itself.
//!
//! Probes have places (the breaker's state says which), and so have the runs of `--max-concurrent`.
//!
//! Not here: which file is whose place (`file`).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use serde::{Deserialize, Serialize};

use super::Slot;
use crate::procfs;

/// Descriptors that the command inherits get a number this high, so that they do not meet those of scripts.
const HIGH_FD: i32 = 200;

/// Permission bits that let others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// A place that this process holds until it is dropped.
#[derive(Debug)]
pub struct OccupancyLock {
    /// For the owner record; never inherited.
    file: File,
    /// The locked description, for reading only, which the command inherits.
    lock: File,
    holder: OwnerRecord,
}

/// The right to probe while the breaker's own lock cannot be had, held until this is dropped. It says nothing to a run
/// that can lock the breaker.
#[derive(Debug)]
pub struct ProbeTurn {
    _journal: File,
}

impl ProbeTurn {
    /// Locks a journal, which nothing else does; `None`: another has it.
    pub fn take(journal: File) -> io::Result<Option<ProbeTurn>> {
        match flock(&journal, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(ProbeTurn { _journal: journal })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Which `brk` holds a place, and with which command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRecord {
    pub pid: u32,
    pub started: Option<u64>,
    /// In which boot. `None`: written by version 0.1.0, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    pub command: Option<u32>,
    pub command_started: Option<u64>,
    /// Which probe it is: the numbers of the breaker and of the probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<(u64, u64)>,
}

/// What can be seen of a place from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// With the owner record that a killed `brk` has left; any other is empty.
    Nobody(OwnerRecord),
    /// The `brk` that took it is alive.
    Holder(OwnerRecord),
    /// The `brk` that took it is dead or lives in another namespace, and these processes hold the place, as far as we
    /// may look.
    Survivors(OwnerRecord, Vec<u32>),
}

impl OccupancyLock {
    /// Makes a new file a place of this process. `lock` is the same file, opened for reading.
    pub fn new(file: File, lock: File, boot: u64, probe: Option<(u64, u64)>) -> io::Result<OccupancyLock> {
        let ids = |file: &File| file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
        if ids(&file)? != ids(&lock)? {
            return Err(io::Error::other("another process has replaced it"));
        }
        let lock = match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            // NFS locks only what can be written to.
            Err(Errno::BADF) => {
                let lock = file.try_clone()?;
                flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                lock
            }
            result => result.map(|()| lock)?,
        };
        let pid = std::process::id();
        let holder = OwnerRecord {
            pid,
            started: procfs::start_time(pid),
            boot: known(boot),
            session: procfs::session(pid),
            probe,
            ..OwnerRecord::default()
        };
        let place = OccupancyLock { file, lock, holder };
        place.write_owner_record()?;
        Ok(place)
    }

    /// Notes the command that was started in this place. Best effort: the lock says that it is alive.
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

/// Without /proc the number of the boot is 0.
fn known(boot: u64) -> Option<u64> {
    (boot != 0).then_some(boot)
}

/// A descriptor of the same description, out of the way: what a command is given.
pub fn duplicate(place: &OccupancyLock) -> io::Result<OwnedFd> {
    // Under a low limit on open files any number has to do.
    fcntl_dupfd_cloexec(place, HIGH_FD).or_else(|_| fcntl_dupfd_cloexec(place, 0)).map_err(Into::into)
}

impl AsFd for OccupancyLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

impl Drop for OccupancyLock {
    fn drop(&mut self) {
        // An empty record says that the place is free.
        let _ = self.file.set_len(0);
        // Closing is not enough: the command's background children share the description.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl OwnerRecord {
    /// What is left of the command of a killed `brk` if it has closed what it inherited, and stayed in its group.
    fn left_in_group(&self, boot: u64) -> Vec<u32> {
        match (self.command, self.command_started) {
            (Some(leader), Some(started)) if self.is_of(boot) && !self.is_alive(boot) => {
                procfs::group(leader, started, self.session)
            }
            _ => Vec::new(),
        }
    }

    /// Whether it was certainly written in this boot.
    fn is_of(&self, boot: u64) -> bool {
        self.boot.is_some() && self.boot == known(boot)
    }

    /// Whether the `brk` is alive. Version 0.1.0 did not note the boot.
    fn is_alive(&self, boot: u64) -> bool {
        (self.boot.is_none() || self.is_of(boot))
            && self.started.is_some_and(|started| procfs::is_alive(self.pid, started))
    }

    fn is_command(&self, pid: u32, boot: u64) -> bool {
        self.is_of(boot)
            && self.command == Some(pid)
            && self.command_started.is_some_and(|started| procfs::is_alive(pid, started))
    }

    /// Whether the `brk` or its command is.
    fn is_anybody_alive(&self, boot: u64) -> bool {
        self.is_alive(boot) || self.command.is_some_and(|pid| self.is_command(pid, boot))
    }

    /// `None`: the place was given back.
    fn read(file: &File) -> io::Result<Option<OwnerRecord>> {
        let mut bytes = [0; 512];
        let len = file.read_at(&mut bytes, 0)?;
        Ok((len > 0).then(|| serde_json::from_slice(&bytes[..len]).unwrap_or_default()))
    }
}

/// Looks who is in a place, given its open file and the number of this boot.
///
/// A lock is tried only if the record's `brk` is not alive. Nothing can fail because of that: a place that is being
/// claimed is not there yet, or (by version 0.1.0) has no record yet. Only another look can be in the way, which takes
/// the same shared lock.
pub fn look(file: &File, path: &Path, boot: u64) -> io::Result<Occupant> {
    for attempt in 0.. {
        let Some(holder) = OwnerRecord::read(file)? else {
            return Ok(Occupant::Nobody(OwnerRecord::default()));
        };
        if holder.is_of(boot) && holder.is_alive(boot) {
            return Ok(Occupant::Holder(holder));
        }
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                flock(file, FlockOperation::Unlock)?;
                let left = holder.left_in_group(boot);
                return Ok(if left.is_empty() {
                    Occupant::Nobody(holder)
                } else {
                    Occupant::Survivors(holder, left)
                });
            }
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(error.into()),
        }
        if holder.is_alive(boot) {
            return Ok(Occupant::Holder(holder));
        }
        if attempt >= 3 {
            return Ok(Occupant::Survivors(holder, procfs::holders(path)));
        }
        // It may be given back just now.
        std::thread::sleep(Duration::from_micros(200));
    }
    unreachable!("the loop ends by returning")
}

/// The occupied places for runs at once, by their owner records. `open` fails for one that was never made; they are
/// taken from the first on, so none comes after it.
pub fn slots(boot: u64, open: impl Fn(u32) -> Option<File>) -> Vec<Slot> {
    let slot = |file: &File| {
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let since = since.and_then(|since| u64::try_from(since.as_millis()).ok());
        Slot { holder: OwnerRecord::read(file).ok().flatten().unwrap_or_default(), since }
    };
    let made = (0..).map_while(|number| Some(slot(&open(number)?)));
    made.filter(|slot| slot.holder.is_anybody_alive(boot)).collect()
}

/// Ends what is left of a dead probe, and waits for it for a moment.
///
/// A process is ended only if it is proven to be the probe's. Its open descriptor of the place proves it, and so does
/// the owner record with boot and start time, if nobody but the file's owner can have written that. And the owner of
/// the file must be one who may signal the process: a file that others can write, or have put there, ends nothing of
/// anybody else.
pub fn evict(file: &File, path: &Path, holder: &OwnerRecord, survivors: &[u32], boot: u64) {
    let Ok(metadata) = file.metadata() else { return };
    let owner = metadata.uid();
    let is_shared = metadata.mode() & OTHERS_WRITE != 0;
    let mut targets = survivors.to_vec();
    targets.extend(holder.command.filter(|pid| !survivors.contains(pid)));
    procfs::end(&targets, Duration::from_secs(1), |pid| {
        let is_owners = procfs::users(pid).is_some_and(|users| users.iter().all(|user| *user == owner));
        let may_signal = is_owners || (owner == 0 && !is_shared);
        let is_recorded = || holder.is_command(pid, boot) || holder.left_in_group(boot).contains(&pid);
        may_signal && (procfs::holders(path).contains(&pid) || (!is_shared && is_recorded()))
    });
}
