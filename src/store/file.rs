//! The store of one host: a directory with a few files for each breaker.
//!
//!     NAME.lock         never removed or renamed; locked for as long as one update takes
//!     NAME.journal      the state and the history
//!     NAME.probe-K      the place of probe K: a new file each time, made under the lock
//!     NAME.lease-K      the same for a probe that a shared store has admitted on this host
//!     NAME.slot-K       the place of one of the runs of `--max-concurrent`: a new file each time, made under the lock
//!     NAME.tell-RANDOM  what a command says of its run (`--tell`); locked while its `brk` lives
//!     NAME.new-PID      what is being made under the lock, before it has its name
//!     NAME.place-PID    the same for a place beside a lease
//!     NAME.corrupt-T    a journal that could not be read, set aside
//!
//! The lock is held for microseconds and never while a command runs. Reading takes no lock: a journal is replaced as
//! a whole, grows by whole lines, and its only line that is ever rewritten carries a checksum.

mod places;
pub mod probes;
pub mod tell;

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::journal::{self, Entry, Newest, Placed, Record, Tail};
use super::lock::{self, Locked};
use super::{AdmittedBy, Platform, Snapshot, Store, StoreError, Updated};
use crate::breaker::Breaker;
use crate::breaker::policy::Policy;
use crate::breaker::time::{Clock, Reading, Timestamp};
use crate::name::Name;

/// How much of a journal's end holds what is recent, in bytes.
const RECENT: u64 = 24 << 10;

const JOURNAL: &str = ".journal";

#[derive(Clone, Debug)]
pub struct FileStore {
    dir: PathBuf,
    platform: Platform,
}

/// The files of one breaker.
struct Files<'a> {
    dir: &'a Path,
    stem: String,
    platform: Platform,
}

impl Newest {
    /// The breaker and its time, at this reading of the clocks.
    fn at(&self, now: Reading) -> (Clock, Breaker) {
        (self.record.clock.advanced(now), self.record.state.clone())
    }
}

/// A journal that is open for writing, under the lock.
struct Journal {
    file: File,
    newest: Option<Box<Newest>>,
}

impl FileStore {
    pub fn new(dir: PathBuf, platform: Platform) -> FileStore {
        FileStore { dir, platform }
    }

    /// For people and machines.
    pub fn place(&self) -> String {
        format!("file:{}", self.dir.display())
    }

    fn files(&self, name: &Name) -> Files<'_> {
        Files { dir: &self.dir, stem: name.encoded(), platform: self.platform }
    }

    fn make_dir(&self) -> Result<(), StoreError> {
        if self.dir.is_dir() {
            return Ok(());
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|source| StoreError::io("make the state directory", &self.dir, source))
    }

    /// Locks a breaker, known or not. The directory is made only if it turns out to be missing.
    fn lock(&self, files: &Files) -> Result<Locked, StoreError> {
        let path = files.path(".lock");
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = match existing(open(&path, flags))? {
            Some(file) => file,
            None => {
                self.make_dir()?;
                open(&path, flags)?
            }
        };
        lock::acquire(file, &path)
    }

    /// Locks a breaker, if there is a directory for it.
    fn lock_existing(&self, files: &Files) -> Result<Option<Locked>, StoreError> {
        let path = files.path(".lock");
        let file = existing(open(&path, OFlags::RDWR | OFlags::CREATE))?;
        file.map(|file| lock::acquire(file, &path)).transpose()
    }

    /// Opens the journal, known or not, and reads its end; what cannot be read at all is set aside.
    fn open_journal(&self, files: &Files, warnings: &mut Vec<String>) -> Result<Journal, StoreError> {
        let path = files.path(JOURNAL);
        let file = open(&path, OFlags::RDWR | OFlags::CREATE)?;
        match newest(&file, &path) {
            Ok(newest) => Ok(Journal { file, newest }),
            Err(StoreError::Damaged { .. }) => {
                let aside = files.path(&format!(".corrupt-{}", (self.platform.clocks)().wall));
                std::fs::rename(&path, &aside)
                    .map_err(|source| StoreError::io("set aside", &path, source))?;
                warnings.push(format!(
                    "no record of {} can be read; it is set aside as {}, and the breaker starts closed",
                    path.display(),
                    aside.display()
                ));
                self.open_journal(files, warnings)
            }
            Err(error) => Err(error),
        }
    }

    /// Takes a step of a breaker under its lock, and writes what it did. The disk is waited for after the lock is given
    /// up: a slow one delays this run and no other.
    fn step<T>(
        &self,
        locked: Locked,
        files: &Files,
        journal: Journal,
        (clock, mut breaker): (Clock, Breaker),
        mut warnings: Vec<String>,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        let left = files.reap_dead_probes(&mut breaker, clock.time(), &mut warnings);
        let before = breaker.clone();
        let answer = step(&mut breaker, clock.time());
        super::record_released_probes(&mut breaker, &left);
        let events = breaker.take_events();
        let place = files.claim(&before.probes, &breaker)?;
        // A probe beside another, or after one that was ignored, is no event and yet must be known to the next run.
        if !events.is_empty() || breaker != before || journal.newest.is_none() {
            let record = Record {
                v: journal::lowest_version(&events),
                clock,
                events: events.clone(),
                state: breaker.clone(),
            };
            let failed = |source| StoreError::io("write to", &files.path(JOURNAL), source);
            let unsynced = write(files, journal, &record).map_err(failed)?;
            drop(locked);
            unsynced.map_or(Ok(()), |file| sync(files, &file)).map_err(failed)?;
        }
        let admitted_by = AdmittedBy::Local;
        let updated =
            Updated { before, breaker, clock, events, place, lease: None, left, warnings, admitted_by };
        Ok((answer, updated))
    }
}

impl Store for FileStore {
    fn update<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        let files = self.files(name);
        let mut warnings = Vec::new();
        let locked = self.lock(&files)?;
        let journal = self.open_journal(&files, &mut warnings)?;
        let now = (self.platform.clocks)();
        let start = journal.newest.as_deref().map_or_else(
            || {
                let clock = Clock::new(now);
                (clock, Breaker::new((self.platform.random)(), policy.clone(), clock.time()))
            },
            |newest| newest.at(now),
        );
        self.step(locked, &files, journal, start, warnings, step)
    }

    fn update_existing<T>(
        &self,
        name: &Name,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError> {
        let files = self.files(name);
        let path = files.path(JOURNAL);
        let Some(locked) = self.lock_existing(&files)? else {
            return Ok(None);
        };
        let Some(file) = existing(open(&path, OFlags::RDWR))? else {
            return Ok(None);
        };
        let journal = Journal { newest: newest(&file, &path)?, file };
        let Some(newest) = &journal.newest else {
            return Ok(None);
        };
        let start = newest.at((self.platform.clocks)());
        self.step(locked, &files, journal, start, Vec::new(), step).map(Some)
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        let files = self.files(name);
        let path = files.path(JOURNAL);
        let Some(file) = existing(open(&path, OFlags::RDONLY))? else {
            return Ok(None);
        };
        let Some(newest) = newest(&file, &path)? else {
            return Ok(None);
        };
        let record = newest.record;
        let alive = files.alive(&record.state);
        let clock = record.clock.advanced((self.platform.clocks)());
        Ok(Some(Snapshot { breaker: record.state, clock, alive }))
    }

    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError> {
        let path = self.files(name).path(JOURNAL);
        let Some(file) = existing(open(&path, OFlags::RDONLY))? else {
            return Ok(None);
        };
        let failed = |source| StoreError::io("read", &path, source);
        let records = journal::records(&file).map_err(failed)?;
        if records.is_empty() {
            // Is nothing there, or nothing that can be read?
            match journal::tail(&file).map_err(failed)? {
                Tail::Newer(version) => return Err(StoreError::Newer { path, version }),
                Tail::Unknown => return Err(StoreError::NotUnderstood { path }),
                Tail::Damaged => return Err(StoreError::Damaged { path }),
                Tail::Empty | Tail::Found(_) => {}
            }
        }
        Ok((!records.is_empty()).then(|| records.into_iter().map(Entry::from).collect()))
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        let path = self.files(name).path(JOURNAL);
        let Some(file) = existing(open(&path, OFlags::RDONLY))? else {
            return Ok(Vec::new());
        };
        journal::recent(&file, RECENT).map_err(|source| StoreError::io("read", &path, source))
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        let failed = |source| StoreError::io("list", &self.dir, source);
        let entries = match std::fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file_name = entry.map_err(failed)?.file_name();
            names.extend(file_name.to_str().and_then(|name| Name::decoded(name.strip_suffix(JOURNAL)?)));
        }
        names.sort();
        Ok(names)
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        let files = self.files(name);
        let path = files.path(JOURNAL);
        let Some(file) = existing(open(&path, OFlags::RDONLY))? else {
            return Ok(false);
        };
        match journal::tail(&file) {
            Ok(Tail::Newer(version)) => return Err(StoreError::Newer { path, version }),
            Ok(Tail::Unknown) => return Err(StoreError::NotUnderstood { path }),
            _ => {}
        }
        let Some(_locked) = self.lock_existing(&files)? else {
            return Ok(false);
        };
        if let Ok(Some(snapshot)) = self.read(name) {
            // Read again under the lock: what was read before may be old.
            files.free_of_probes(&snapshot).map_err(|why| StoreError::io("forget", &path, why))?;
        }
        let keeps_slots = files.has_occupied_slot();
        // The journal last: until it is gone the breaker is there, and forgetting can be done again.
        for path in files.others()? {
            let is_slot = path.extension().is_some_and(|kind| kind.to_string_lossy().starts_with("slot-"));
            if !(is_slot && keeps_slots) {
                remove(&path)?;
            }
        }
        remove(&files.path(JOURNAL))?;
        Ok(true)
    }
}

impl Files<'_> {
    /// The number of this boot; 0 if it is not known.
    fn boot(&self) -> u64 {
        (self.platform.clocks)().boot
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.dir.join(format!("{}{suffix}", self.stem))
    }

    /// Every file of this breaker but its lock and its journal.
    fn others(&self) -> Result<Vec<PathBuf>, StoreError> {
        let failed = |source| StoreError::io("list", self.dir, source);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(self.dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_ours =
                entry.file_name().to_str().and_then(|name| name.strip_prefix(&self.stem)).is_some_and(
                    |suffix| {
                        [".probe-", ".lease-", ".slot-", ".corrupt-", ".new-", ".place-"].iter().any(|kind| {
                            suffix
                                .strip_prefix(kind)
                                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
                        }) || suffix
                            .strip_prefix(".tell-")
                            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
                    },
                );
            if is_ours {
                paths.push(entry.path());
            }
        }
        Ok(paths)
    }
}

/// Writes what a step did. A change of generation has to be on the disk before the step is over: then the file is given
/// back, to be synced.
fn write(files: &Files, journal: Journal, record: &Record) -> io::Result<Option<File>> {
    let before = journal.newest.as_deref();
    let lasting = before.map_or(0, |newest| newest.record.state.generation) != record.state.generation;
    let mut placed = Placed::after(before, record)?;
    let mut file = journal.file;
    if let Some(newest) = before
        && !placed.fits()
    {
        let compacted = compact(files, &file, newest)?;
        placed = Placed::after(Some(&compacted.1), record)?;
        file = compacted.0;
    }
    placed.write(&file)?;
    Ok(lasting.then_some(file))
}

fn sync(files: &Files, journal: &File) -> io::Result<()> {
    journal.sync_data()?;
    File::open(files.dir)?.sync_all()
}

/// Writes the newest lines into a new file and renames that over the journal; gives the new file and where it ends.
fn compact(files: &Files, old: &File, newest: &Newest) -> io::Result<(File, Newest)> {
    let path = files.temporary();
    files.sweep();
    let new = open(&path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL).map_err(io::Error::other)?;
    let lines = journal::newest_lines(old, newest)?;
    let renamed = io::Write::write_all(&mut &new, &lines)
        .and_then(|()| new.sync_data())
        .and_then(|()| std::fs::rename(&path, files.path(JOURNAL)));
    if let Err(error) = renamed {
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    match journal::tail(&new)? {
        Tail::Found(newest) => Ok((new, *newest)),
        _ => Err(io::Error::other("a compacted journal cannot be read back")),
    }
}

/// Opens a regular file of ours, following no symbolic link and waiting for nothing. A new one is for its owner
/// alone, or for the group where the directory says that a group shares it.
fn open(path: &Path, flags: OFlags) -> Result<File, StoreError> {
    let failed = |source| StoreError::io("open", path, source);
    let guarded = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open =
        |flags: OFlags| rustix::fs::open(path, flags | guarded, rustix::fs::Mode::from_raw_mode(0o600));
    let mut created = flags.contains(OFlags::EXCL);
    let opened = match open(if created { flags } else { flags - OFlags::CREATE }) {
        Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {
            created = true;
            open(flags)
        }
        other => other,
    };
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
            return Err(StoreError::NotAFile { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error.into())),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    if created && is_shared_by_group(path) {
        // The umask has taken the group's right to write away.
        file.set_permissions(Permissions::from_mode(0o660)).map_err(failed)?;
    }
    Ok(file)
}

fn is_shared_by_group(path: &Path) -> bool {
    const SETGID_AND_GROUP_WRITE: u32 = 0o2020;
    let dir = path.parent().and_then(|dir| std::fs::metadata(dir).ok());
    dir.is_some_and(|dir| dir.mode() & SETGID_AND_GROUP_WRITE == SETGID_AND_GROUP_WRITE)
}

/// The newest record of a journal, if it has one.
fn newest(file: &File, path: &Path) -> Result<Option<Box<Newest>>, StoreError> {
    match journal::tail(file).map_err(|source| StoreError::io("read", path, source))? {
        Tail::Empty => Ok(None),
        Tail::Found(newest) => Ok(Some(newest)),
        Tail::Newer(version) => Err(StoreError::Newer { path: path.to_owned(), version }),
        Tail::Unknown => Err(StoreError::NotUnderstood { path: path.to_owned() }),
        Tail::Damaged => Err(StoreError::Damaged { path: path.to_owned() }),
    }
}

fn existing(opened: Result<File, StoreError>) -> Result<Option<File>, StoreError> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path, source))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
