//! The file in which a command says what its run means. Its path is known to the command, which may put anything in its
//! place: a FIFO, a link, a directory, a file without an end.
//!
//! Not here: what is said in it (`tell`).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use tempfile::NamedTempFile;

use super::FileStore;
use crate::name::Name;
use crate::store::StoreError;

/// A new, empty file that only this user can read. It is removed when this is dropped; of a `brk` that is killed, by
/// the next run of the name.
#[derive(Debug)]
pub struct TellFile(NamedTempFile);

impl FileStore {
    /// Makes a file for one attempt, and removes those of dead runs.
    pub fn tell_file(&self, name: &Name) -> Result<TellFile, StoreError> {
        self.make_dir()?;
        let files = self.files(name);
        for stale in files.others().unwrap_or_default() {
            if stale.extension().is_some_and(|suffix| suffix.to_string_lossy().starts_with("tell-")) {
                remove_unlocked(&stale);
            }
        }
        let prefix = format!("{}.tell-", files.stem);
        let make = || loop {
            let file = tempfile::Builder::new().prefix(&prefix).rand_bytes(12).tempfile_in(files.dir)?;
            flock(file.as_file(), FlockOperation::NonBlockingLockExclusive)?;
            // Another run may have swept it before it was locked.
            if file.path().exists() {
                return Ok(TellFile(file));
            }
        };
        make().map_err(|source: io::Error| StoreError::io("make a file in", files.dir, source))
    }
}

impl TellFile {
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What is in it, at most one byte more than `most`; `None`: the command has removed it.
    pub fn read(&self, most: usize) -> Result<Option<Vec<u8>>, String> {
        let path = self.path();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Err(NOT_REGULAR.to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let read = || {
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            (&file).take(most as u64 + 1).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        };
        match read() {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(NOT_REGULAR.to_owned()),
            Err::<_, io::Error>(error) => Err(error.to_string()),
        }
    }
}

impl Drop for TellFile {
    /// Removes also what the command has put in its place; a directory only if it is empty.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path()).or_else(|_| std::fs::remove_dir(self.path()));
    }
}

const NOT_REGULAR: &str = "it is not a regular file";

/// Removes the file of a run that is dead: no process holds its lock. Best effort.
fn remove_unlocked(path: &Path) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() => {}
        Ok(_) | Err(_) => {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
        }
    }
}
