//! The database: samples on disk, by epoch, object and event.
//!
//! ```text
//! DB/
//!   lock                      held while an epoch is written
//!   objects/                  files that were sampled and are not found any more, by their hash
//!   epoch-0001/
//!     bwt-1f2e3d4c5b6a.cycles one file for each object and event
//!     bwt-1f2e3d4c5b6a.imiss
//!     unknown.cycles          code outside of all objects
//! ```
//!
//! Samples of an object add up over all processes that ran its code, wherever it was loaded.
//!
//! A file says of which object, machine, version and period its samples are; samples of another machine, version or
//! period are refused and belong into a new epoch. Samples are merged into a file under a lock, and the file is replaced
//! as a whole: a collection that is killed, or finds the disk full, leaves what was there. Two collections on one
//! database add up. A file that is damaged is told and passed over; all others keep their worth.

mod file;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use file::{Damage, FORMAT, Header, Places, UNKNOWN};

use crate::samples::{Counts, Event, Samples};

/// Error of a database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// There is no database.
    #[error(
        "{folder}: there is no database of samples; `hps dcpi collect PROGRAM --db {folder}` makes one"
    )]
    Absent {
        /// The folder.
        folder: String,
    },
    /// Something cannot be read or written.
    #[error("{path}: {source}; what the database held before is still there")]
    Io {
        /// Path of the file or folder.
        path: String,
        /// The host's error.
        source: io::Error,
    },
    /// Samples do not belong to those that are there.
    #[error(
        "{path}: its samples were made with {what} {theirs}, these with {ours}; collect into a new epoch (--new-epoch) or \
         another database"
    )]
    Other {
        /// The file.
        path: String,
        /// In what they differ.
        what: &'static str,
        /// Value in the database.
        theirs: String,
        /// Value of the samples to be added.
        ours: String,
    },
}

impl DatabaseError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> DatabaseError {
        let path = path.display().to_string();
        move |source| DatabaseError::Io { path, source }
    }
}

/// A database in a folder.
#[derive(Clone, Debug)]
pub struct Database {
    folder: PathBuf,
}

/// The samples of an image in one or more epochs.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Description of the samples; the event and the period are those of the first file.
    pub header: Header,
    /// The samples, at the addresses that [`Header::places`] says.
    pub samples: Samples,
}

/// Contents of a database as read.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// By image, in the order of their file names.
    pub images: Vec<Stored>,
    /// Files that were passed over, and why.
    pub damaged: Vec<(PathBuf, Damage)>,
}

impl Database {
    /// The database in a folder, which is made if there is none.
    ///
    /// # Errors
    /// [`DatabaseError::Io`] if it cannot be made.
    pub fn create(folder: &Path) -> Result<Database, DatabaseError> {
        fs::create_dir_all(folder).map_err(DatabaseError::io(folder))?;
        let database = Database {
            folder: folder.to_path_buf(),
        };
        if database.epochs()?.is_empty() {
            database.new_epoch()?;
        }
        Ok(database)
    }

    /// The database in a folder.
    ///
    /// # Errors
    /// [`DatabaseError::Absent`] if there is none.
    pub fn open(folder: &Path) -> Result<Database, DatabaseError> {
        let database = Database {
            folder: folder.to_path_buf(),
        };
        if !folder.is_dir() || database.epochs()?.is_empty() {
            return Err(DatabaseError::Absent {
                folder: folder.display().to_string(),
            });
        }
        Ok(database)
    }

    /// The numbers of its epochs, in ascending order.
    ///
    /// # Errors
    /// [`DatabaseError::Io`] if the folder cannot be read.
    pub fn epochs(&self) -> Result<Vec<u32>, DatabaseError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(DatabaseError::io(&self.folder))? {
            let entry = entry.map_err(DatabaseError::io(&self.folder))?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|n| n.strip_prefix("epoch-"));
            found.extend(number.and_then(|n| n.parse::<u32>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn epoch_folder(&self, epoch: u32) -> PathBuf {
        self.folder.join(format!("epoch-{epoch:04}"))
    }

    /// Begins a new epoch; gives its number.
    ///
    /// # Errors
    /// [`DatabaseError::Io`] if it cannot be made.
    pub fn new_epoch(&self) -> Result<u32, DatabaseError> {
        let _lock = self.lock()?;
        let epoch = self.epochs()?.last().map_or(1, |last| last + 1);
        let folder = self.epoch_folder(epoch);
        fs::create_dir(&folder).map_err(DatabaseError::io(&folder))?;
        Ok(epoch)
    }

    /// Waits until nobody else writes. The lock ends with the file.
    fn lock(&self) -> Result<File, DatabaseError> {
        let path = self.folder.join("lock");
        let locked = || {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            file.lock()?;
            Ok(file)
        };
        locked().map_err(DatabaseError::io(&path))
    }

    /// Adds samples of an event to the last epoch. A damaged file is put aside under a name that ends with `.damaged`.
    ///
    /// # Errors
    /// [`DatabaseError::Other`] if the samples there are of another machine, version or period;
    /// [`DatabaseError::Io`] if they cannot be written. What was there before stays.
    pub fn add(&self, header: &Header, counts: &Counts) -> Result<PathBuf, DatabaseError> {
        let _lock = self.lock()?;
        let epoch = self.epochs()?.last().copied().unwrap_or(1);
        let folder = self.epoch_folder(epoch);
        let path = folder.join(header.file_name());
        let mut merged = counts.clone();
        if path.exists() {
            match file::read(&path) {
                Ok((there, counts_there)) => {
                    header.check_against(&there, &path)?;
                    merged.add(&counts_there);
                }
                Err(Damage::Unreadable(source)) => {
                    let source = io::Error::new(source.kind(), source);
                    return Err(DatabaseError::io(&path)(source));
                }
                Err(_) => {
                    let aside = file::beside(&path, "damaged");
                    fs::rename(&path, &aside).map_err(DatabaseError::io(&path))?;
                }
            }
        }
        file::write(&path, header, &merged).map_err(DatabaseError::io(&path))?;
        Ok(path)
    }

    /// The path of a kept copy of an object with this hash, whether it is there or not.
    #[must_use]
    pub fn kept(&self, hash: &str) -> PathBuf {
        self.folder.join("objects").join(hash)
    }

    /// Keeps a copy of an object whose file is not found any more where it was sampled.
    ///
    /// # Errors
    /// [`DatabaseError::Io`] if it cannot be written.
    pub fn keep(&self, hash: &str, bytes: &[u8]) -> Result<(), DatabaseError> {
        let _lock = self.lock()?;
        let path = self.kept(hash);
        if path.exists() {
            return Ok(());
        }
        let folder = self.folder.join("objects");
        fs::create_dir_all(&folder).map_err(DatabaseError::io(&folder))?;
        file::replace(&path, bytes).map_err(DatabaseError::io(&path))
    }

    /// Reads all images of some epochs; all epochs if none is named. Samples of one image are added up over epochs of
    /// one period; of an epoch with another period they are an image of their own.
    ///
    /// # Errors
    /// [`DatabaseError::Io`] if a folder cannot be read.
    pub fn read(&self, epochs: &[u32]) -> Result<Contents, DatabaseError> {
        let mut contents = Contents::default();
        for epoch in self.epochs()? {
            if !epochs.is_empty() && !epochs.contains(&epoch) {
                continue;
            }
            let folder = self.epoch_folder(epoch);
            let mut paths = Vec::new();
            for entry in fs::read_dir(&folder).map_err(DatabaseError::io(&folder))? {
                paths.push(entry.map_err(DatabaseError::io(&folder))?.path());
            }
            paths.sort();
            for path in paths {
                let extension = path.extension().and_then(|e| e.to_str());
                if extension.and_then(Event::from_name).is_none() {
                    continue;
                }
                match file::read(&path) {
                    Ok((header, counts)) => contents.take(header, counts),
                    Err(damage) => contents.damaged.push((path, damage)),
                }
            }
        }
        Ok(contents)
    }
}

impl Contents {
    fn take(&mut self, header: Header, counts: Counts) {
        let event = header.event;
        let fits = |stored: &&mut Stored| {
            let same = stored.header.is_of_same_run(&header);
            let there = stored.samples.of(event);
            same && there.is_none_or(|c| c.period == counts.period)
        };
        let stored = match self.images.iter_mut().find(fits) {
            Some(stored) => stored,
            None => {
                self.images.push(Stored {
                    header,
                    samples: Samples::default(),
                });
                let last = self.images.len() - 1;
                &mut self.images[last]
            }
        };
        let there = stored.samples.events.entry(event);
        let there = there.or_insert_with(|| Counts::new(counts.period));
        there.add(&counts);
    }
}

#[cfg(test)]
mod tests;
