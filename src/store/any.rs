//! The store that is configured: this host's files, or a shared store with the files behind it.

use super::file::FileStore;
use super::journal::Entry;
#[cfg(feature = "redis")]
use super::redis::RedisStore;
#[cfg(feature = "redis")]
use super::shared::SharedStore;
use super::{Address, Platform, Snapshot, Store, StoreError, Updated, Warn};
use crate::breaker::Breaker;
use crate::breaker::policy::Policy;
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
        platform: Platform,
        warn: Warn,
    ) -> AnyStore {
        let remote = RedisStore::new(address, platform, files.as_ref().ok().cloned());
        AnyStore::Shared(Box::new(SharedStore::new(remote, files, platform, warn)))
    }

    /// There is no address to call this with.
    #[cfg(not(feature = "redis"))]
    pub fn shared(
        address: Address,
        _files: Result<FileStore, StoreError>,
        _machine: Platform,
        _tell: Warn,
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
}

/// The same call on whichever store it is.
macro_rules! on_each {
    ($any:expr, $store:ident => $call:expr) => {
        match $any {
            AnyStore::Files($store) => $call,
            #[cfg(feature = "redis")]
            AnyStore::Shared($store) => $call,
        }
    };
}

impl Store for AnyStore {
    fn update<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        on_each!(self, store => store.update(name, policy, step))
    }

    fn update_existing<T>(
        &self,
        name: &Name,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError> {
        on_each!(self, store => store.update_existing(name, step))
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        on_each!(self, store => store.read(name))
    }

    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError> {
        on_each!(self, store => store.history(name))
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        on_each!(self, store => store.recent(name))
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        on_each!(self, store => store.names())
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        on_each!(self, store => store.forget(name))
    }
}
