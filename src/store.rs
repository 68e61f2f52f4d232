//! Where breakers are remembered. A store gives mutual exclusion, memory and the time; what a run or an operator does
//! to a breaker is the caller's, as a function that is handed in and may be called more than once.

mod active;
mod any;
pub mod file;
pub mod journal;
mod lock;
pub mod place;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub mod shared;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::breaker::event::Event;
use crate::breaker::policy::Policy;
use crate::breaker::time::{Clock, Reading, Timestamp};
use crate::breaker::{Breaker, PhaseKind, Probe};
use crate::name::Name;

use journal::Entry;
use place::{OccupancyLock, Occupant, OwnerRecord};

pub use active::{ActivePermit, Answer, FailOver};
pub use any::AnyStore;
#[cfg(feature = "redis")]
pub use redis::{address::Address, lease::Lease};

/// Only a shared store gives leases.
#[cfg(not(feature = "redis"))]
#[derive(Debug)]
pub enum Lease {}

/// Never made: without the feature every URL is refused.
#[cfg(not(feature = "redis"))]
#[derive(Clone, Debug)]
pub enum Address {}

/// Says a warning, about one breaker where that is all that it is about.
pub type Warn = fn(Option<&Name>, &str);

/// What a store needs of the platform that it runs on.
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    pub clocks: fn() -> Reading,
    /// Any number, every time another.
    pub random: fn() -> u64,
    /// Starts a thread that no signal reaches, and lets it go.
    pub thread: fn(Box<dyn FnOnce() + Send>) -> io::Result<()>,
}

/// Which store admitted a run. Its result is recorded in the same one, or where it still can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmittedBy {
    /// This host's own files.
    Local,
    /// A shared store.
    Primary,
}

/// What an update left behind.
#[derive(Debug)]
pub struct Updated {
    /// The breaker as the step found it.
    pub before: Breaker,
    pub breaker: Breaker,
    pub clock: Clock,
    /// What happened, oldest first.
    pub events: Vec<Event>,
    /// The place of the probe that the update began, held until it is dropped.
    pub place: Option<OccupancyLock>,
    /// The same on a shared store, kept up until it is dropped.
    pub lease: Option<Lease>,
    /// The probes that keep their places although their `brk` is dead.
    pub left: Vec<LiveProbe>,
    /// For standard error: what was amiss, and has been dealt with.
    pub warnings: Vec<String>,
    pub admitted_by: AdmittedBy,
}

/// A breaker as it can be read at one moment, without a lock.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub breaker: Breaker,
    pub clock: Clock,
    /// The probes of the breaker that are alive indeed.
    pub alive: Vec<LiveProbe>,
}

#[derive(Clone, Debug)]
pub struct LiveProbe {
    pub probe: Probe,
    pub command_pid: Option<u32>,
    /// What is left of a probe whose `brk` is dead.
    pub survivors: Vec<u32>,
}

/// What of a shared store cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Server,
    /// One breaker; there is no reason to doubt the others.
    Breaker,
}

/// One of the places for runs at once that is taken.
#[derive(Clone, Debug)]
pub struct Slot {
    pub holder: OwnerRecord,
    /// When it was taken, by the wall clock in milliseconds since 1970.
    pub since: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum StoreError {
    /// No state directory is named, and there is no home to put one into.
    NoDirectory,
    Io {
        doing: &'static str,
        path: PathBuf,
        source: Arc<io::Error>,
    },
    /// Another process kept the lock for too long.
    Busy {
        path: PathBuf,
        waited: Duration,
    },
    /// Written by a newer program.
    Newer {
        path: PathBuf,
        version: u32,
    },
    /// A whole record that this program does not understand.
    NotUnderstood {
        path: PathBuf,
    },
    /// Something else stands where a file of ours should be.
    NotAFile {
        path: PathBuf,
    },
    /// Readable as a file, but no record in it can be.
    Damaged {
        path: PathBuf,
    },
    /// A shared store cannot be used.
    Unavailable {
        /// Its address, without secrets.
        store: String,
        why: String,
        part: Part,
    },
    Thread {
        source: Arc<io::Error>,
    },
}

pub trait Store {
    /// One step of a breaker under mutual exclusion: read, change, write what happened. Gives what the step answered. A name that is not known gets a
    /// breaker with this policy.
    fn update<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError>;

    /// The same for a breaker that there is; `None`: the name is not known, and stays so.
    fn update_existing<T>(
        &self,
        name: &Name,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError>;

    /// The breaker as it is now. Writes nothing and needs no lock.
    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError>;

    /// What is kept of the past, oldest first.
    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError>;

    /// The newest of what is kept of the past, oldest first: a few dozen entries, at a cost that does not grow.
    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError>;

    /// All names, sorted.
    fn names(&self) -> Result<Vec<Name>, StoreError>;

    /// Removes a breaker and its history; says whether there was one.
    fn forget(&self, name: &Name) -> Result<bool, StoreError>;
}

/// Counts what is left of killed probes as lost where a step has freed their places.
fn record_released_probes(breaker: &mut Breaker, left: &[LiveProbe]) {
    for live in left.iter().filter(|live| !breaker.probes.contains(&live.probe)).collect::<Vec<_>>() {
        breaker.record_released_probe(&live.probe);
    }
}

impl Updated {
    /// The phase as the step found it.
    pub fn phase_before(&self) -> PhaseKind {
        self.before.phase.kind()
    }
}

impl LiveProbe {
    /// A probe by who is in its place; `None` where nobody is.
    pub fn new(probe: &Probe, occupant: Occupant) -> Option<LiveProbe> {
        let (holder, survivors) = match occupant {
            Occupant::Nobody(_) => return None,
            Occupant::Holder(holder) => (holder, Vec::new()),
            Occupant::Survivors(holder, survivors) => (holder, survivors),
        };
        Some(LiveProbe { probe: probe.clone(), command_pid: holder.command, survivors })
    }

    /// Whether its `brk` is known to be dead.
    pub fn is_orphaned(&self) -> bool {
        !self.survivors.is_empty()
    }
}

impl Snapshot {
    pub fn now(&self) -> Timestamp {
        self.clock.time()
    }

    /// The breaker as the next update would find it: without the probes that are gone.
    pub fn without_dead_probes(&self) -> Breaker {
        let mut breaker = self.breaker.clone();
        let alive = |probe: &Probe| self.alive.iter().any(|live| live.probe == *probe);
        for probe in self.breaker.probes.iter().filter(|probe| !alive(probe)) {
            breaker.mark_probe_lost(probe.place, probe.generation);
        }
        breaker
    }
}

impl StoreError {
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
        StoreError::Io { doing, path: path.to_owned(), source: Arc::new(source) }
    }

    pub fn thread(source: io::Error) -> StoreError {
        StoreError::Thread { source: Arc::new(source) }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::NoDirectory => {
                write!(
                    f,
                    "no state directory: HOME is unset and the user has no home directory; set --state-dir"
                )
            }
            StoreError::Io { doing, path, source } => {
                write!(f, "cannot {doing} {}: {source}", path.display())
            }
            StoreError::Busy { path, waited } => {
                write!(
                    f,
                    "timed out after {}s waiting for the lock on {}; find the holder with `fuser {1}`",
                    waited.as_secs(),
                    path.display()
                )
            }
            StoreError::Newer { path, version } => {
                write!(
                    f,
                    "{} has format version {version}, and this brk reads version {}; install a newer brk",
                    path.display(),
                    journal::VERSION
                )
            }
            StoreError::NotUnderstood { path } => {
                write!(
                    f,
                    "the newest record of {} was written by a newer brk, and this one does not understand it; install a newer brk",
                    path.display()
                )
            }
            StoreError::NotAFile { path } => {
                write!(f, "{} is not a regular file; move it away", path.display())
            }
            StoreError::Damaged { path } => {
                write!(f, "no record of {} can be read; the next run will set it aside", path.display())
            }
            StoreError::Unavailable { store, why, .. } => {
                write!(f, "the shared store {store} cannot be used: {why}")
            }
            StoreError::Thread { source } => write!(f, "cannot start a thread: {source}"),
        }
    }
}

impl std::error::Error for StoreError {}
