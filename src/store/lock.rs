//! Waiting for the lock of a breaker: it is held for microseconds, so the first looks come soon.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use fd_lock::RwLock;

use super::StoreError;

/// How long to wait for the lock, in all.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The pause after the first attempt, about as long as the lock is held; each is twice as long as the one before, up
/// to the longest.
const LOCK_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A lock that is held until this is dropped: nobody else has a descriptor of this open file, so to close it is to
/// unlock it.
pub struct Locked {
    _file: RwLock<File>,
}

/// Locks, or says that another has kept the lock for too long.
pub fn acquire(file: File, path: &Path) -> Result<Locked, StoreError> {
    let mut lock = RwLock::new(file);
    let mut pause = LOCK_PAUSE;
    let mut waited = Duration::ZERO;
    // A guard borrows what it guards, so that both cannot be given away together.
    while let Err(error) = lock.try_write().map(std::mem::forget) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(StoreError::io("lock", path, error));
        }
        if waited >= LOCK_PATIENCE {
            return Err(StoreError::Busy { path: path.to_owned(), waited: LOCK_PATIENCE });
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(LONGEST_LOCK_PAUSE);
    }
    Ok(Locked { _file: lock })
}
