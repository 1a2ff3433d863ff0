//! Memory that processes share: mappings of files, and anonymous ones that a child has from its parent (`MAP_SHARED`).
//!
//! Mappings are copies of files ([`shared_mappings`](super::super)). One process has its turn at a time, also on several
//! contexts, so that it is enough to write to the files what a process has changed when its turn ends, and to read what
//! others have changed when its turn begins. A `fork` makes files without a name of anonymous mappings.

use crate::host::sys::unix_fs::FileExt;

use std::ops::Range;

use hps_isa::memory::{Memory, PAGE_SIZE, Perm};

use super::super::Linux;
use super::super::errno::Errno;
use super::super::file_mappings::MappedFile;
use super::super::memory_files::new_memory_file;
use super::super::threads::Threads;

/// Changes that there may be in shared mappings since the last turn of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Nothing.
    None,
    /// System calls may have written.
    OfCalls,
    /// Other processes have stored, too.
    OfStores,
}

impl Linux {
    /// Puts files behind the anonymous mappings that a child is about to share.
    pub(super) fn share_anonymous(&mut self, mem: &mut Memory) -> Result<(), Errno> {
        for (range, ()) in self.space.mappings.anonymous.within(0..u64::MAX) {
            let file = new_memory_file()?;
            file.set_len(range.end - range.start)?;
            let mut page = [0; PAGE_SIZE as usize];
            for at in (range.start..range.end).step_by(page.len()) {
                let read = mem.read_bytes_forced(at, &mut page);
                if read.is_ok() && page.iter().any(|byte| *byte != 0) {
                    file.write_all_at(&page, at - range.start)?;
                    self.charge_anyway(PAGE_SIZE);
                }
            }
            let shared = self
                .space
                .mappings
                .hold(&file, None, 0, (true, true), u64::MAX)?;
            self.space.mappings.ranges.insert(range, shared);
        }
        self.space.mappings.anonymous = Default::default();
        self.track_shared(mem);
        Ok(())
    }

    /// The files behind shared mappings may have changed.
    pub(crate) fn note_file_changes(&mut self) {
        self.family.changes += 1;
    }

    /// A file has been written, or one that is not known.
    pub(in super::super) fn note_written(&mut self, identity: Option<(u64, u64)>) {
        /// The most files that are told apart.
        const MOST: usize = 1024;
        if !self.family.has_others() {
            return;
        }
        self.note_file_changes();
        let (changes, written) = (self.family.changes, &mut self.family.written);
        match identity {
            Some(identity) if written.len() < MOST => {
                written.insert(identity, changes);
            }
            _ => {
                written.clear();
                self.family.any_written = changes;
            }
        }
    }

    /// The turn of the process begins: gives its mappings of files what others have changed. Says what that may be.
    pub(crate) fn see_changes(&mut self, mem: &mut Memory) -> Changes {
        let (changes, stores) = (self.family.changes, self.family.stores);
        let (seen, seen_stores) =
            std::mem::replace(&mut self.state.seen_changes, (changes, stores));
        if seen == changes || !self.space.mappings.has_files() {
            return Changes::None;
        }
        // A file whose size the host does not tell stays as it is.
        let _ = self.space.mappings.fit(mem, self.abi.page_bytes(), None);
        if !self.space.mappings.has_shown() {
            return Changes::None;
        }
        let mut is_changed = false;
        for (range, file) in self.space.mappings.ranges.within(0..u64::MAX) {
            let written = self.family.written.get(&file.identity);
            let written = written.copied().unwrap_or(0).max(self.family.any_written);
            // Private ones can be large, and their files are seldom written.
            let is_new = file.is_shared || file.shows_file && written > seen;
            if !is_new {
                continue;
            }
            is_changed = true;
            let is_code = mem.permissions(range.start);
            // What cannot be read stays as it is.
            let _ = file.copy_to(mem, range);
            if is_code.is_some_and(|perm| perm.contains(Perm::X)) {
                mem.invalidate_code();
            }
        }
        // That is the content of the files already.
        mem.take_tracked();
        match (is_changed, seen_stores == stores) {
            (false, _) => Changes::None,
            (true, true) => Changes::OfCalls,
            (true, false) => Changes::OfStores,
        }
    }

    /// Whether other processes can store at an address.
    pub(crate) fn is_shared(&self, addr: u64) -> bool {
        self.space.mappings.shared_place(addr).is_some()
    }

    /// The shared mappings of the process, and where each begins in a memory that has all files that processes share, one
    /// behind the other.
    #[must_use]
    pub fn shared_places(&mut self) -> Vec<(Range<u64>, u64)> {
        /// The most bytes of a file.
        const FILE_BYTES_SHIFT: u32 = 44;
        if !self.space.mappings.has_shared() {
            return Vec::new();
        }
        let numbers = &mut self.family.shared_files;
        let mut place_of = |file: &MappedFile| {
            let next = numbers.len() as u64;
            let number = *numbers.entry(file.identity).or_insert(next);
            (number << FILE_BYTES_SHIFT) + file.offset()
        };
        let all = self.space.mappings.ranges.within(0..u64::MAX).into_iter();
        all.filter(|(_, file)| file.is_shared)
            .map(|(range, file)| (range, place_of(&file)))
            .collect()
    }

    /// Where a futex lies: the numbers of the processes that have it in their memory, this one first, and its addresses there.
    pub(in super::super) fn places_of_futex(&self, addr: u64) -> Vec<(u32, u64)> {
        let mut places = vec![(self.pid, addr)];
        if self.family.has_others()
            && let Some((file, place)) = self.space.mappings.shared_place(addr)
        {
            for other in self.family.others() {
                let addresses = other.space.mappings.addresses_of(file, place);
                places.extend(addresses.into_iter().map(|at| (other.pid, at)));
            }
        }
        places
    }

    /// The threads of a process.
    pub(in super::super) fn process_threads(&mut self, pid: u32) -> Option<&mut Threads> {
        if pid == self.pid {
            return Some(&mut self.threads);
        }
        Some(&mut self.family.parked_mut(pid)?.os.threads)
    }

    /// Wakes threads that wait at the same place of shared memory in other processes. Returns how many.
    pub(in super::super) fn wake_shared_futex(&mut self, addr: u64, most: u64, bits: u32) -> u64 {
        let mut woken = 0;
        let Some((file, place)) = self.space.mappings.shared_place(addr) else {
            return woken;
        };
        for other in self.family.others_mut() {
            for at in other.space.mappings.addresses_of(file, place) {
                woken += other.threads.wake_futex(at, most - woken.min(most), bits);
            }
        }
        woken
    }
}
