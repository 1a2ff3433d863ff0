//! One writer for a store: a lock on a file beside it.
//!
//! The lock is the kernel's, on an open file: it ends with the process that holds it, however that ends. The
//! file itself stays and says who held it last.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a lock could not be had.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process holds it, or this one does already.
    Held {
        /// Number of the process that holds it, if it is known.
        process: Option<u32>,
    },
    /// The file cannot be opened, or its file system has no locks.
    Io(io::Error),
}

/// Permission to write a store. Dropping it gives the permission back.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child process that is being started has the open file too, until it executes its program: closing it here
        // would leave the lock to that process.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the store at `store`, at once or not at all.
    pub(super) fn take(store: &Path) -> Result<Lock, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path_for(store))
            .map_err(LockError::Io)?;
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Only for the message: without the number it says less.
                let _ = file.read_to_string(&mut text);
                let process = text.trim().parse().ok();
                return Err(LockError::Held { process });
            }
            Err(TryLockError::Error(cause)) => return Err(LockError::Io(cause)),
        }
        sign(&mut file).map_err(LockError::Io)?;
        Ok(Lock { file })
    }
}

/// Tries a few times, since who asks whether the lock is held ([`is_held`]) holds it for a moment.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..3 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            other => return other,
        }
    }
    file.try_lock()
}

/// Whether a process holds the lock of a store.
pub(super) fn is_held(store: &Path) -> bool {
    let file = OpenOptions::new().read(true).open(path_for(store));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Where the lock of a store lies.
fn path_for(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Says in the file which process holds the lock.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_given_back_is_free_whoever_has_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("rows.jsonl");
        let lock = Lock::take(&store).expect("nobody has it");
        // A child process has the file so, between its start and its program.
        let of_a_child = lock.file.try_clone().expect("a second descriptor");
        assert!(Lock::take(&store).is_err());
        drop(lock);
        Lock::take(&store).expect("it was given back");
        drop(of_a_child);
    }
}
