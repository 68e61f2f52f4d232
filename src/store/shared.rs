//! A shared store, and the host's own files behind it: for the time when it is away, and for what must hold then.
//!
//! What this host sees on the shared store that refuses runs is copied into its own files when it is seen, for when it
//! matters it is too late to ask. What happens in the files while the store is away stays there.

use std::cell::RefCell;

use super::file::FileStore;
use super::journal::Entry;
use super::redis::RedisStore;
use super::{Part, Platform, Snapshot, Store, StoreError, Updated, Warn};
use crate::breaker::Breaker;
use crate::breaker::mirror::RemoteState;
use crate::breaker::policy::Policy;
use crate::breaker::time::Timestamp;
use crate::name::Name;

/// For how long a store that was found away is not asked again by the same process, in milliseconds.
const RETRY_AFTER: u64 = 5_000;

#[derive(Debug)]
pub struct SharedStore {
    remote: RedisStore,
    files: Result<FileStore, StoreError>,
    platform: Platform,
    /// Tells a user what those who only look have met.
    warn: Warn,
    outage: RefCell<Option<Outage>>,
}

/// The shared store was found away.
#[derive(Clone, Debug)]
struct Outage {
    since: u64,
    /// The only breaker that cannot be used; `None`: the server cannot.
    of: Option<Name>,
    why: StoreError,
    is_reported: bool,
}

impl SharedStore {
    pub fn new(
        remote: RedisStore,
        files: Result<FileStore, StoreError>,
        platform: Platform,
        warn: Warn,
    ) -> SharedStore {
        SharedStore { remote, files, platform, warn, outage: RefCell::new(None) }
    }

    pub fn files(&self) -> Result<&FileStore, StoreError> {
        self.files.as_ref().map_err(StoreError::clone)
    }

    /// What answers at the moment, for people and machines.
    pub fn place(&self) -> String {
        match (&*self.outage.borrow(), &self.files) {
            (Some(_), Ok(files)) => files.place(),
            _ => self.remote.address().to_string(),
        }
    }

    /// Why the store was found away, once.
    fn take_warning(&self) -> Option<String> {
        let mut outage = self.outage.borrow_mut();
        let outage = outage.as_mut().filter(|outage| !outage.is_reported)?;
        outage.is_reported = true;
        Some(format!("{}; this host's own state is used", outage.why))
    }

    /// A step for a run: on the shared store, or in this host's files while that is unavailable.
    pub fn update_or_fall_back<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        let error = match self.update(name, policy, step) {
            Err(error @ StoreError::Unavailable { .. }) => error,
            other => return other,
        };
        let why = error.to_string();
        let files = self.files().map_err(|_| error)?;
        let (answer, mut updated) = files.update(name, policy, &mut |breaker, now| {
            breaker.fall_back(&why);
            step(breaker, now)
        })?;
        updated.warnings.extend(self.take_warning());
        Ok((answer, updated))
    }

    /// Asks the shared store about a breaker, or about all, unless it has just been found away.
    fn ask<T>(
        &self,
        name: Option<&Name>,
        question: impl FnOnce(&RedisStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = (self.platform.clocks)().up;
        let mut outage = self.outage.borrow_mut();
        let known = outage.as_ref().filter(|outage| outage.of.is_none() || outage.of.as_ref() == name);
        if let Some(known) = known.filter(|outage| now < outage.since + RETRY_AFTER) {
            return Err(known.why.clone());
        }
        let is_reported = known.is_some_and(|outage| outage.is_reported);
        let answer = question(&self.remote);
        if let Err(why @ StoreError::Unavailable { part, .. }) = &answer {
            let of = if *part == Part::Breaker { name.cloned() } else { None };
            *outage = Some(Outage { since: (self.platform.clocks)().up, of, why: why.clone(), is_reported });
        } else if known.is_some() {
            *outage = None;
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
            Err(StoreError::Unavailable { .. }) if self.files.is_ok() => {
                if let Some(warning) = self.take_warning() {
                    (self.warn)(
                        self.outage.borrow().as_ref().and_then(|outage| outage.of.as_ref()),
                        &warning,
                    );
                }
                files(self.files()?)
            }
            other => other,
        }
    }

    /// Keeps in the files what refuses runs on the shared store. Trouble with the files is only a warning: they matter
    /// when the shared store is unavailable, and this run is guarded.
    fn mirror(&self, name: &Name, updated: &mut Updated) {
        if let Err(error) = self.keep(name, updated)
            && RemoteState::of(&updated.breaker, updated.clock.time()).refuses()
        {
            updated.warnings.push(format!(
                "{error}; what was seen on the shared store holds only while it can be reached"
            ));
        }
    }

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
            files.update(name, &shared.policy, &mut |own, own_now| own.copy(shared, now, own_now))?;
        }
        Ok(())
    }
}

impl Store for SharedStore {
    /// Only on the shared store: an operator's word is for all hosts, or for none.
    fn update<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        let (answer, mut updated) = self.ask(Some(name), |remote| remote.update(name, policy, step))?;
        self.mirror(name, &mut updated);
        Ok((answer, updated))
    }

    fn update_existing<T>(
        &self,
        name: &Name,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError> {
        let mut done = self.ask(Some(name), |remote| remote.update_existing(name, step))?;
        if let Some((_, updated)) = &mut done {
            self.mirror(name, updated);
        }
        Ok(done)
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
