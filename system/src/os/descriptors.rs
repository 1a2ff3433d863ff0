//! The table of open files. Descriptors that were duplicated share one open file.

use super::Linux;
use super::abi::OpenFlags;
use super::errno::Errno;
use super::inotify::Watching;
pub(super) use super::kinds::Kind;
use serde::{Deserialize, Serialize};

use super::kinds::OfKind;
use super::locks::Locks;
use super::paths::GuestPath;

/// An open file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenFile {
    pub kind: Kind,
    pub flags: OpenFlags,
    /// Where it was opened, for its number and to tell of it; streams and pipes have no place.
    pub path: Option<GuestPath>,
    /// Inode number of a file that has no path but a number of its own.
    pub number: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Descriptor {
    slot: usize,
    cloexec: bool,
}

/// Descriptors and the open files that they stand for.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Descriptors {
    /// The process, which record locks belong to.
    pub(super) owner: u32,
    pub(super) descriptors: Vec<Option<Descriptor>>,
    pub(super) files: Vec<Option<(OpenFile, u32)>>,
    /// How many numbers were given to files without a path.
    pub(super) numbers: u64,
    pub(super) locks: Locks,
    /// A timer has been open.
    pub(super) has_timers: bool,
    /// A `signalfd` has been open.
    pub(super) has_signals: bool,
    /// State that all inotify instances share.
    pub(super) watching: Watching,
}

impl Descriptors {
    /// Descriptors of the first process, none of which is open.
    pub(super) fn of_process(owner: u32) -> Descriptors {
        Descriptors {
            owner,
            ..Descriptors::default()
        }
    }

    /// Descriptors of a child, which has the same open files. The files themselves stay here.
    pub(super) fn of_child(&mut self, owner: u32) -> Descriptors {
        for descriptor in self.descriptors.clone().into_iter().flatten() {
            self.share(descriptor.slot);
        }
        Descriptors {
            descriptors: self.descriptors.clone(),
            ..Descriptors::of_process(owner)
        }
    }

    /// Hands the open files to the descriptors of another process, whose turn it is.
    pub(super) fn hand_over(&mut self, to: &mut Descriptors) {
        std::mem::swap(&mut self.files, &mut to.files);
        std::mem::swap(&mut self.locks, &mut to.locks);
        std::mem::swap(&mut self.watching, &mut to.watching);
        to.numbers = self.numbers;
        to.has_timers = self.has_timers;
        to.has_signals = self.has_signals;
    }

    /// Closes what is closed at `execve`, or all.
    pub(super) fn close_all(&mut self, only_at_exec: bool) {
        for fd in 0..self.descriptors.len() {
            let descriptor = self.descriptors[fd];
            if descriptor.is_some_and(|one| one.cloexec || !only_at_exec) {
                // It is open.
                let _ = self.close(fd as u64);
            }
        }
    }

    /// An inode number for a file without a path. Streams have smaller ones.
    pub(super) fn fresh_number(&mut self) -> u64 {
        const FIRST: u64 = 1 << 20;
        self.numbers += 1;
        FIRST + self.numbers
    }

    /// Marks every open descriptor from `first` to `last` to be closed at `execve`, or closes them.
    pub(super) fn close_range(&mut self, first: u64, last: u64, cloexec: bool) {
        let end = self.descriptors.len().min(last as usize + 1);
        for fd in first as usize..end {
            // Those that are not open are passed over.
            let _ = if cloexec {
                self.set_cloexec(fd as u64, true)
            } else {
                self.close(fd as u64)
            };
        }
    }

    /// The descriptors that are open, in ascending order.
    pub(super) fn open_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let numbered = (0..).zip(&self.descriptors);
        numbered.filter_map(|(fd, descriptor)| descriptor.map(|_| fd))
    }

    fn descriptor(&self, fd: u64) -> Result<Descriptor, Errno> {
        // The kernel takes descriptors as 32-bit numbers.
        let index = (fd as u32) as usize;
        self.descriptors
            .get(index)
            .copied()
            .flatten()
            .ok_or(Errno::EBADF)
    }

    /// The slot of a descriptor's open file, which it shares with its duplicates.
    pub(super) fn slot(&self, fd: u64) -> Result<usize, Errno> {
        self.descriptor(fd).map(|descriptor| descriptor.slot)
    }

    pub(super) fn get(&self, fd: u64) -> Result<&OpenFile, Errno> {
        let slot = self.descriptor(fd)?.slot;
        self.files[slot]
            .as_ref()
            .map(|(file, _)| file)
            .ok_or(Errno::EBADF)
    }

    pub(super) fn get_mut(&mut self, fd: u64) -> Result<&mut OpenFile, Errno> {
        let slot = self.descriptor(fd)?.slot;
        self.files[slot]
            .as_mut()
            .map(|(file, _)| file)
            .ok_or(Errno::EBADF)
    }

    /// The object behind a descriptor of a kind.
    ///
    /// # Errors
    /// `EINVAL` if it is of another kind.
    pub(super) fn own<T: OfKind>(&mut self, fd: u64) -> Result<&mut T, Errno> {
        T::of(&mut self.get_mut(fd)?.kind).ok_or(Errno::EINVAL)
    }

    /// Everything of a kind that is open.
    pub(super) fn all_of<T: OfKind + 'static>(&mut self) -> impl Iterator<Item = &mut T> {
        let open = self.files.iter_mut().flatten();
        open.filter_map(|(file, _)| T::of(&mut file.kind))
    }

    /// The lowest free descriptor from `from` on.
    fn lowest_free(&self, from: u64, limit: u64) -> Result<usize, Errno> {
        let from = from as usize;
        let taken = self
            .descriptors
            .iter()
            .skip(from)
            .take_while(|d| d.is_some())
            .count();
        let free = from + taken;
        if (free as u64) < limit {
            Ok(free)
        } else {
            Err(Errno::EMFILE)
        }
    }

    fn set(&mut self, index: usize, descriptor: Option<Descriptor>) {
        if self.descriptors.len() <= index {
            self.descriptors.resize(index + 1, None);
        }
        self.descriptors[index] = descriptor;
    }

    /// Opens: the file gets the lowest free descriptor.
    pub(super) fn insert(&mut self, file: OpenFile, limit: u64) -> Result<u64, Errno> {
        let index = self.lowest_free(0, limit)?;
        let cloexec = file.flags.cloexec;
        let slot = match self.files.iter().position(Option::is_none) {
            Some(slot) => slot,
            None => {
                self.files.push(None);
                self.files.len() - 1
            }
        };
        self.files[slot] = Some((file, 1));
        self.set(index, Some(Descriptor { slot, cloexec }));
        Ok(index as u64)
    }

    /// Duplicates to the lowest free descriptor from `from` on.
    pub(super) fn duplicate(
        &mut self,
        fd: u64,
        from: u64,
        cloexec: bool,
        limit: u64,
    ) -> Result<u64, Errno> {
        let slot = self.descriptor(fd)?.slot;
        if from >= limit {
            return Err(Errno::EINVAL);
        }
        let index = self.lowest_free(from, limit)?;
        self.share(slot);
        self.set(index, Some(Descriptor { slot, cloexec }));
        Ok(index as u64)
    }

    /// Duplicates to `to`, closing what was there.
    pub(super) fn duplicate_to(
        &mut self,
        fd: u64,
        to: u64,
        cloexec: bool,
        limit: u64,
    ) -> Result<u64, Errno> {
        let slot = self.descriptor(fd)?.slot;
        let to = u64::from(to as u32);
        if to >= limit {
            return Err(Errno::EBADF);
        }
        self.share(slot);
        // Nothing open there is no error.
        let _ = self.close(to);
        self.set(to as usize, Some(Descriptor { slot, cloexec }));
        Ok(to)
    }

    pub(super) fn share(&mut self, slot: usize) {
        if let Some((_, count)) = &mut self.files[slot] {
            *count += 1;
        }
    }

    pub(super) fn close(&mut self, fd: u64) -> Result<(), Errno> {
        let slot = self.descriptor(fd)?.slot;
        self.descriptors[fd as u32 as usize] = None;
        let is_last = matches!(self.files[slot], Some((_, 1)));
        self.release_locks(slot, is_last);
        self.release(vec![slot]);
        Ok(())
    }

    /// Takes back a share of each of these open files, which no descriptor of this process had any more. A socket that
    /// is closed so takes with it the open files that were on their way to it.
    pub(super) fn release(&mut self, mut slots: Vec<usize>) {
        while let Some(slot) = slots.pop() {
            let Some((_, count)) = &mut self.files[slot] else {
                continue;
            };
            *count -= 1;
            if *count > 0 {
                continue;
            }
            self.release_locks_of_open_file(slot);
            let gone = self.files[slot].take();
            self.end_watches(slot);
            if let Some((file, _)) = &gone {
                self.notify_close(file);
            }
            if let Some((file, _)) = gone
                && let Kind::Socket(end) = file.kind
            {
                slots.extend(end.close());
            }
        }
    }

    /// Gives a descriptor, the lowest free one, to an open file of which a share is left to it.
    pub(super) fn give_descriptor(
        &mut self,
        slot: usize,
        cloexec: bool,
        limit: u64,
    ) -> Result<u64, Errno> {
        let index = self.lowest_free(0, limit)?;
        self.set(index, Some(Descriptor { slot, cloexec }));
        Ok(index as u64)
    }

    /// Nothing watches an open file that is closed.
    fn end_watches(&mut self, slot: usize) {
        for epoll in self.all_of::<super::epoll::Epoll>() {
            epoll.forget(slot);
        }
    }

    pub(super) fn cloexec(&self, fd: u64) -> Result<bool, Errno> {
        Ok(self.descriptor(fd)?.cloexec)
    }

    pub(super) fn set_cloexec(&mut self, fd: u64, cloexec: bool) -> Result<(), Errno> {
        let descriptor = self.descriptor(fd)?;
        self.set(
            fd as u32 as usize,
            Some(Descriptor {
                cloexec,
                ..descriptor
            }),
        );
        Ok(())
    }
}

impl Linux {
    /// Opens what has no path.
    pub(super) fn open_unplaced(&mut self, kind: Kind, flags: OpenFlags) -> Result<u64, Errno> {
        let file = OpenFile {
            kind,
            flags,
            path: None,
            number: None,
        };
        self.files.insert(file, self.limits.descriptors())
    }
}
