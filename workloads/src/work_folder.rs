//! Folders for what a command needs while it runs, which the next command removes if a kill left them.
//!
//! A folder holds a lock (`flock`) as long as its command lives. A folder whose lock is free was left behind, and so was
//! the program that its file [`PROGRAM`] names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PREFIX: &str = "hps-";
const LOCK: &str = "lock";
/// The file that says which program a command has started: what the kernel says in `/proc/PID/stat` when it starts.
pub const PROGRAM: &str = "program";

/// A folder below the host's temporary one that is removed when this is dropped.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    /// Removes what killed commands have left, and makes a folder whose name says what it is for.
    ///
    /// # Errors
    /// The error of the host, with the folder.
    pub fn new(purpose: &str) -> io::Result<WorkFolder> {
        WorkFolder::below(&std::env::temp_dir(), purpose)
    }

    /// [`WorkFolder::new`] below another folder.
    ///
    /// # Errors
    /// The error of the host, with the folder.
    pub fn below(folder: &Path, purpose: &str) -> io::Result<WorkFolder> {
        remove_leftovers(folder);
        static MADE: AtomicU64 = AtomicU64::new(0);
        let own = std::process::id();
        let make = || loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{purpose}-{own}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| path),
            }
        };
        let path =
            make().map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", folder.display())))?;
        // Nobody sees the lock before it is held.
        let unseen = path.join("lock.new");
        let lock = File::create(&unseen)?;
        lock.try_lock()?;
        fs::rename(&unseen, path.join(LOCK))?;
        Ok(WorkFolder { path, _lock: lock })
    }

    /// Notes which program the command has started, in place of one that was noted before. Without the note, which
    /// cannot be made for a program that has ended, the program runs on when the command is killed.
    pub fn note_program(&self, pid: u32) {
        let stat = fs::read(format!("/proc/{pid}/stat"));
        let _ = stat.and_then(|stat| fs::write(self.path.join(PROGRAM), stat));
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders of this user whose commands are gone, and ends the programs that those had started.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let own = fs::metadata("/proc/self").map(|about| about.uid());
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Of the entry itself: a link is no folder.
        let about = entry.metadata();
        let is_own = |about: fs::Metadata| {
            about.is_dir() && own.as_ref().is_ok_and(|own| *own == about.uid())
        };
        if !is_named || !about.is_ok_and(is_own) {
            continue;
        }
        let path = entry.path();
        let lock = OpenOptions::new().read(true).open(path.join(LOCK));
        // Held while the folder is removed, so that two commands do not remove it at once.
        let Ok(lock) = lock else { continue };
        if is_locked(&lock, &path) {
            end_program(&path.join(PROGRAM));
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether the lock of a folder is now ours. A process that its command has forked may hold it for a moment when the command
/// is gone; that is waited for.
fn is_locked(lock: &File, folder: &Path) -> bool {
    const LONGEST: Duration = Duration::from_millis(200);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_gone = || match name.rsplit('-').nth(1) {
        Some(pid) => !Path::new("/proc").join(pid).exists(),
        None => false,
    };
    let began = Instant::now();
    loop {
        if lock.try_lock().is_ok() {
            return true;
        }
        if began.elapsed() > LONGEST || !is_gone() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the program of a record, if it is still the one that was recorded: the same process with the same start.
fn end_program(record: &Path) {
    let Some((pid, started)) = fs::read_to_string(record).ok().as_deref().and_then(start) else {
        return;
    };
    let now = fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    if now.as_deref().and_then(start) == Some((pid, started)) {
        let _ = Command::new("kill")
            .args(["-KILL", &pid.to_string()])
            .status();
    }
}

/// The id of a process and the time of its start, in ticks since the host's start, from a text of `/proc/PID/stat`.
fn start(stat: &str) -> Option<(u32, u64)> {
    let (pid, _) = stat.split_once(' ')?;
    // The name may hold blanks and brackets; 20 fields lie between its end and the start.
    let (_, fields) = stat.rsplit_once(") ")?;
    Some((pid.parse().ok()?, fields.split(' ').nth(19)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_command_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let live = WorkFolder::below(folder.path(), "live").expect("a folder");
        let dead = WorkFolder::below(folder.path(), "dead").expect("a folder");
        let mut children =
            [0, 1].map(|_| Command::new("sleep").arg("1000").spawn().expect("sleep"));
        dead.note_program(children[0].id());
        let stat = |at: usize| {
            fs::read_to_string(format!("/proc/{}/stat", children[at].id())).expect("a process")
        };
        // A record of another process that had the number before.
        let other = WorkFolder::below(folder.path(), "other").expect("a folder");
        let (_, started) = start(&stat(1)).expect("a start");
        let text = stat(1).replace(&format!(" {started} "), &format!(" {} ", started - 1));
        fs::write(other.path.join(PROGRAM), text).expect("written");
        // A folder of somebody else's making.
        let foreign = folder.path().join("hps-notes");
        fs::create_dir(&foreign).expect("made");
        // A kill closes the locks and removes nothing.
        let paths = [dead, other].map(|killed| {
            let path = killed.path.clone();
            let killed = std::mem::ManuallyDrop::new(killed);
            killed._lock.unlock().expect("unlocked");
            path
        });
        let next = WorkFolder::below(folder.path(), "next").expect("a folder");
        assert!(paths.iter().all(|path| !path.exists()));
        assert!(live.path.exists() && foreign.exists() && next.path.exists());
        assert!(children[1].try_wait().expect("a child").is_none());
        assert!(!children[0].wait().expect("killed").success());
        let _ = children[1].kill();
        let _ = children[1].wait();
        let path = next.path.clone();
        drop(next);
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_that_is_held_for_a_moment_longer_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ended = Command::new("true").spawn().expect("true");
        ended.wait().expect("it ends");
        let left = |pid: u32| {
            let path = folder.path().join(format!("hps-left-{pid}-0"));
            fs::create_dir(&path).expect("made");
            let lock = File::create(path.join(LOCK)).expect("a file");
            lock.lock().expect("locked");
            (path, lock)
        };
        let (gone, lock) = left(ended.id());
        let (living, _lives) = left(std::process::id());
        let holder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            drop(lock);
        });
        remove_leftovers(folder.path());
        holder.join().expect("it ends");
        assert!(!gone.exists());
        assert!(living.exists());
    }
}
