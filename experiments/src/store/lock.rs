//! One writer for a store: a lock on a file beside it.
//!
//! The lock is the kernel's, on an open file: it ends with the process that holds it, however that ends. The
//! file itself stays and says who held it last.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

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
pub(super) struct Lock {
    _file: File,
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
        match file.try_lock() {
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
        Ok(Lock { _file: file })
    }
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
