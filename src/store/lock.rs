//! Waiting for the lock of a breaker: it is held for microseconds, so the first looks come soon.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use fd_lock::{RwLock, RwLockWriteGuard};

use super::StoreError;

/// How long to wait for the lock, in all.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The pause after the first attempt, about as long as the lock is held; each is twice as long as the one before, up
/// to the longest.
const LOCK_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Locks, or says that another has kept the lock for too long.
pub fn acquire<'a>(
    lock: &'a mut RwLock<File>,
    path: &Path,
) -> Result<RwLockWriteGuard<'a, File>, StoreError> {
    let mut pause = LOCK_PAUSE;
    let mut waited = Duration::ZERO;
    // Locked is locked: the guard is made once more below, for a loop cannot give away what it borrows each time.
    while let Err(error) = lock.try_write().map(std::mem::forget) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(StoreError::io("lock", path, error));
        }
        if waited >= LOCK_PATIENCE {
            return Err(StoreError::Busy { path: path.to_owned() });
        }
        std::thread::sleep(pause);
        waited += pause;
        pause = (pause * 2).min(LONGEST_LOCK_PAUSE);
    }
    lock.try_write().map_err(|error| StoreError::io("lock", path, error))
}
