//! Places of a breaker as files: taking one, looking at one, ending what is left in one; and those of the runs of
//! `--max-concurrent`.
//!
//! Not here: what a place means for a probe (`probes`), and how a file says who is in it (`place`).

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{FileStore, Files, JOURNAL, existing, lock, open, remove};
use crate::name::Name;
use crate::store::place::{self, OccupancyLock, Occupant, OwnerRecord, ProbeTurn};
use crate::store::{Slot, Snapshot, StoreError};

impl Files<'_> {
    /// Claims and locks a place in one step: it is there when it is locked and says who holds it. What was there, and
    /// may still be locked after an operator's reset, keeps nobody out.
    ///
    /// The file is made as `new`; one of this name is what a process that was killed has left.
    pub fn take(
        &self,
        new: PathBuf,
        path: &Path,
        probe: Option<(u64, u64)>,
    ) -> Result<OccupancyLock, StoreError> {
        remove(&new)?;
        let file = open(&new, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
        let taken = open(&new, OFlags::RDONLY).and_then(|lock| {
            let place = OccupancyLock::new(file, lock, self.boot(), probe)
                .map_err(|source| StoreError::io("lock", &new, source))?;
            std::fs::rename(&new, path).map_err(|source| StoreError::io("make", path, source))?;
            Ok(place)
        });
        if taken.is_err() {
            let _ = remove(&new);
        }
        taken
    }

    pub fn occupant(&self, path: &Path) -> Result<Occupant, StoreError> {
        let Some(file) = existing(open(path, OFlags::RDONLY))? else {
            return Ok(Occupant::Nobody(OwnerRecord::default()));
        };
        place::look(&file, path, self.boot()).map_err(|source| StoreError::io("look at", path, source))
    }

    /// Ends what is left of a probe; gives a warning if that cannot be done.
    pub fn evict(&self, path: &Path, holder: &OwnerRecord, survivors: &[u32]) -> Option<String> {
        if let Ok(file) = open(path, OFlags::RDONLY) {
            place::evict(&file, path, holder, survivors, self.boot());
        }
        (!matches!(self.occupant(path), Ok(Occupant::Nobody(_)))).then(|| {
            format!(
                "a probe of a killed brk is past its deadline and cannot be ended (processes {survivors:?}); its place is taken over"
            )
        })
    }

    /// Removes what a crash has left of files that are made under the lock, which is held. Best effort.
    pub fn sweep(&self) {
        for stale in self.others().unwrap_or_default() {
            if stale.extension().is_some_and(|suffix| suffix.to_string_lossy().starts_with("new-")) {
                let _ = std::fs::remove_file(stale);
            }
        }
    }

    /// What is made under the lock before it has its name.
    pub fn temporary(&self) -> PathBuf {
        self.path(&format!(".new-{}", std::process::id()))
    }

    /// An error if a probe is alive: a breaker that is made anew would know nothing of it, and run beside it.
    pub fn free_of_probes(&self, snapshot: &Snapshot) -> io::Result<()> {
        snapshot.alive.first().map_or(Ok(()), |live| {
            let pid = live.probe.pid;
            Err(io::Error::other(format!(
                "it is being probed (brk {pid}); wait for its end, or reset it first"
            )))
        })
    }

    fn slot(&self, number: u32) -> PathBuf {
        self.path(&format!(".slot-{number}"))
    }

    /// Whether a run of `--max-concurrent` is alive, or what is left of one.
    pub fn has_occupied_slot(&self) -> bool {
        let made = (0..).map(|number| self.slot(number)).take_while(|path| path.exists());
        made.into_iter().any(|path| !matches!(self.occupant(&path), Ok(Occupant::Nobody(_))))
    }
}

impl FileStore {
    /// Takes one of `count` places for runs at once; `None`: all are taken.
    pub fn take_slot(&self, name: &Name, count: u32) -> Result<Option<OccupancyLock>, StoreError> {
        self.make_dir()?;
        let files = self.files(name);
        let path = files.path(".lock");
        let _locked = lock::acquire(open(&path, OFlags::RDWR | OFlags::CREATE)?, &path)?;
        for number in 0..count {
            let slot = files.slot(number);
            if let Occupant::Nobody(_) = files.occupant(&slot)? {
                files.sweep();
                return files.take(files.temporary(), &slot, None).map(Some);
            }
        }
        Ok(None)
    }

    /// The right to probe a breaker whose lock cannot be had; `None`: another run has it.
    pub fn take_probe_turn(&self, name: &Name) -> Result<Option<ProbeTurn>, StoreError> {
        let path = self.files(name).path(JOURNAL);
        let journal = open(&path, OFlags::RDWR)?;
        ProbeTurn::take(journal).map_err(|source| StoreError::io("lock", &path, source))
    }

    /// The occupied places for runs at once, by their owner records.
    pub fn slots(&self, name: &Name) -> Vec<Slot> {
        let files = self.files(name);
        place::slots(files.boot(), |number| open(&files.slot(number), OFlags::RDONLY).ok())
    }
}
