//! A shared store, and the host's own files behind it: for the time when it is away, and for what must hold then.
//!
//! What this host sees on the shared store that refuses runs is copied into its own files when it is seen, for when it
//! matters it is too late to ask. What happens in the files while the store is away stays there.

use std::cell::RefCell;

use super::file::FileStore;
use super::journal::Entry;
use super::redis::RedisStore;
use super::{Machine, Part, Snapshot, Store, StoreError, Tell, Unknown, Updated};
use crate::breaker::Breaker;
use crate::breaker::mirror::RemoteState;
use crate::breaker::time::Timestamp;
use crate::name::Name;

/// For how long a store that was found away is not asked again by the same process, in milliseconds.
const LEFT_ALONE: u64 = 5_000;

#[derive(Debug)]
pub struct SharedStore {
    remote: RedisStore,
    files: Result<FileStore, StoreError>,
    machine: Machine,
    /// Tells a user what those who only look have met.
    tell: Tell,
    absence: RefCell<Option<Absence>>,
}

/// The shared store was found away.
#[derive(Clone, Debug)]
struct Absence {
    since: u64,
    /// The only breaker that cannot be used; `None`: the server cannot.
    of: Option<Name>,
    why: StoreError,
    is_told: bool,
}

impl SharedStore {
    pub fn new(
        remote: RedisStore,
        files: Result<FileStore, StoreError>,
        machine: Machine,
        tell: Tell,
    ) -> SharedStore {
        SharedStore { remote, files, machine, tell, absence: RefCell::new(None) }
    }

    pub fn files(&self) -> Result<&FileStore, StoreError> {
        self.files.as_ref().map_err(StoreError::clone)
    }

    /// What answers at the moment, for people and machines.
    pub fn place(&self) -> String {
        match (&*self.absence.borrow(), &self.files) {
            (Some(_), Ok(files)) => files.place(),
            _ => self.remote.address().to_string(),
        }
    }

    /// Why the store was found away, once.
    fn take_warning(&self) -> Option<String> {
        let mut absence = self.absence.borrow_mut();
        let absence = absence.as_mut().filter(|absence| !absence.is_told)?;
        absence.is_told = true;
        Some(format!("{}; this host's own state is used", absence.why))
    }

    /// A step for a run: on the shared store, or in this host's files while that is away.
    pub fn update_or_fall_back(
        &self,
        name: &Name,
        unknown: Unknown,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Option<Updated>, StoreError> {
        let error = match self.update(name, unknown, step) {
            Err(error @ StoreError::Away { .. }) => error,
            other => return other,
        };
        let why = error.to_string();
        let mut step = |breaker: &mut Breaker, now: Timestamp| {
            breaker.fall_back(&why);
            step(breaker, now);
        };
        let files = self.files().map_err(|_| error.clone())?;
        let mut updated = files.update(name, unknown, &mut step)?;
        if let Some(updated) = &mut updated {
            updated.warnings.extend(self.take_warning());
        }
        Ok(updated)
    }

    /// Asks the shared store about a breaker, or about all, unless it has just been found away.
    fn ask<T>(
        &self,
        name: Option<&Name>,
        question: impl FnOnce(&RedisStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = (self.machine.clocks)().up;
        let mut absence = self.absence.borrow_mut();
        let known = absence.as_ref().filter(|absence| absence.of.is_none() || absence.of.as_ref() == name);
        if let Some(known) = known.filter(|absence| now < absence.since + LEFT_ALONE) {
            return Err(known.why.clone());
        }
        let is_told = known.is_some_and(|absence| absence.is_told);
        let answer = question(&self.remote);
        if let Err(why @ StoreError::Away { part, .. }) = &answer {
            let of = if *part == Part::Breaker { name.cloned() } else { None };
            *absence = Some(Absence { since: (self.machine.clocks)().up, of, why: why.clone(), is_told });
        } else if known.is_some() {
            *absence = None;
        }
        answer
    }

    /// For those who only look: the shared store, or the files while it is away.
    fn look<T>(
        &self,
        name: Option<&Name>,
        remote: impl FnOnce(&RedisStore) -> Result<T, StoreError>,
        files: impl FnOnce(&FileStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.ask(name, remote) {
            Err(StoreError::Away { .. }) if self.files.is_ok() => {
                if let Some(warning) = self.take_warning() {
                    (self.tell)(
                        self.absence.borrow().as_ref().and_then(|absence| absence.of.as_ref()),
                        &warning,
                    );
                }
                files(self.files()?)
            }
            other => other,
        }
    }

    /// Keeps in the files what refuses runs on the shared store. Trouble with the files is for the day that they are
    /// needed: the run is guarded.
    fn keep(&self, name: &Name, updated: &Updated) -> Result<(), StoreError> {
        let files = self.files()?;
        let shared = &updated.breaker;
        let now = updated.clock.time();
        let seen = RemoteState::of(shared, now);
        let is_kept = match files.read(name)? {
            Some(own) => own.breaker.is_copy_of(&seen),
            None => !seen.refuses(),
        };
        if !is_kept {
            files.update(name, Unknown::Create(&shared.policy), &mut |own, own_now| {
                own.copy(shared, now, own_now)
            })?;
        }
        Ok(())
    }
}

impl Store for SharedStore {
    /// Only on the shared store: an operator's word is for all hosts, or for none.
    fn update(
        &self,
        name: &Name,
        unknown: Unknown,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Option<Updated>, StoreError> {
        let mut updated = self.ask(Some(name), |remote| remote.update(name, unknown, step))?;
        if let Some(updated) = &mut updated
            && let Err(error) = self.keep(name, updated)
            && RemoteState::of(&updated.breaker, updated.clock.time()).refuses()
        {
            updated.warnings.push(format!(
                "{error}; what was seen on the shared store holds only while it can be reached"
            ));
        }
        Ok(updated)
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        self.look(Some(name), |remote| remote.read(name), |files| files.read(name))
    }

    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError> {
        self.look(Some(name), |remote| remote.history(name), |files| files.history(name))
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        self.look(Some(name), |remote| remote.recent(name), |files| files.recent(name))
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        self.look(None, RedisStore::names, FileStore::names)
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        self.ask(Some(name), |remote| remote.forget(name))
    }
}
