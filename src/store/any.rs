//! The store that is configured: this host's files, or a shared store with the files behind it.

use super::file::FileStore;
use super::journal::Entry;
#[cfg(feature = "redis")]
use super::redis::RedisStore;
#[cfg(feature = "redis")]
use super::shared::SharedStore;
use super::{Address, Machine, Origin, Snapshot, Store, StoreError, Tell, Unknown, Updated};
use crate::breaker::Breaker;
use crate::breaker::time::Timestamp;
use crate::name::Name;

#[derive(Debug)]
pub enum AnyStore {
    Files(FileStore),
    #[cfg(feature = "redis")]
    Shared(Box<SharedStore>),
}

impl AnyStore {
    #[cfg(feature = "redis")]
    pub fn shared(
        address: Address,
        files: Result<FileStore, StoreError>,
        machine: Machine,
        tell: Tell,
    ) -> AnyStore {
        let remote = RedisStore::new(address, machine, files.as_ref().ok().cloned());
        AnyStore::Shared(Box::new(SharedStore::new(remote, files, machine, tell)))
    }

    /// There is no address to call this with.
    #[cfg(not(feature = "redis"))]
    pub fn shared(
        address: Address,
        _files: Result<FileStore, StoreError>,
        _machine: Machine,
        _tell: Tell,
    ) -> AnyStore {
        match address {}
    }

    /// This host's own files: places for runs at once are always there.
    pub fn files(&self) -> Result<&FileStore, StoreError> {
        match self {
            AnyStore::Files(files) => Ok(files),
            #[cfg(feature = "redis")]
            AnyStore::Shared(shared) => shared.files(),
        }
    }

    /// What was asked last, for people and machines: `file:DIR`, or a URL without secrets.
    pub fn place(&self) -> String {
        match self {
            AnyStore::Files(files) => files.place(),
            #[cfg(feature = "redis")]
            AnyStore::Shared(shared) => shared.place(),
        }
    }

    /// A step for a run, which goes on in this host's files while a shared store is away.
    pub fn update_or_fall_back(
        &self,
        name: &Name,
        unknown: Unknown,
        origin: Origin,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Option<Updated>, StoreError> {
        match (self, origin) {
            (_, Origin::Files) => self.files()?.update(name, unknown, step),
            (AnyStore::Files(files), Origin::Configured) => files.update(name, unknown, step),
            #[cfg(feature = "redis")]
            (AnyStore::Shared(shared), Origin::Configured) => shared.update_or_fall_back(name, unknown, step),
        }
    }

    fn get(&self) -> &dyn Store {
        match self {
            AnyStore::Files(files) => files,
            #[cfg(feature = "redis")]
            AnyStore::Shared(shared) => &**shared,
        }
    }
}

impl Store for AnyStore {
    fn update(
        &self,
        name: &Name,
        unknown: Unknown,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Option<Updated>, StoreError> {
        self.get().update(name, unknown, step)
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        self.get().read(name)
    }

    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError> {
        self.get().history(name)
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        self.get().recent(name)
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        self.get().names()
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        self.get().forget(name)
    }
}
