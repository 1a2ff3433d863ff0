//! Memory that processes share: mappings of files, and anonymous ones that a child has from its parent (`MAP_SHARED`).
//!
//! Mappings are copies of files ([`shared_mappings`](super::super)). Processes of one context never run at a time, so
//! that it is enough to write to the files what a process has changed when its turn ends, and to read what others have
//! changed when its turn begins. A `fork` makes files without a name of anonymous mappings.

use crate::host::sys::unix_fs::FileExt;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::memory_files::new_memory_file;
use crate::memory::{Memory, PAGE_SIZE, Perm};

impl Linux {
    /// Puts files behind the anonymous mappings that a child is about to share.
    pub(super) fn share_anonymous(&mut self, mem: &mut Memory) -> Result<(), Errno> {
        for (range, ()) in self.mappings.anonymous.within(0..u64::MAX) {
            let file = new_memory_file()?;
            file.set_len(range.end - range.start)?;
            let mut page = [0; PAGE_SIZE as usize];
            for at in (range.start..range.end).step_by(page.len()) {
                let read = mem.read_bytes_forced(at, &mut page);
                if read.is_ok() && page.iter().any(|byte| *byte != 0) {
                    file.write_all_at(&page, at - range.start)?;
                }
            }
            let shared = self.mappings.hold(&file, None, 0, (true, true), u64::MAX)?;
            self.mappings.ranges.insert(range, shared);
        }
        self.mappings.anonymous = Default::default();
        self.track_shared(mem);
        Ok(())
    }

    /// The turn of the process begins: gives its shared mappings what others have changed.
    pub(crate) fn see_changes(&mut self, mem: &mut Memory) {
        if !self.mappings.has_shared() {
            return;
        }
        for (range, file) in self.mappings.ranges.within(0..u64::MAX) {
            if !file.is_shared {
                continue;
            }
            let is_code = mem.permissions(range.start);
            // What cannot be read stays as it is.
            let _ = file.copy_to(mem, range);
            if is_code.is_some_and(|perm| perm.contains(Perm::X)) {
                mem.invalidate_code();
            }
        }
        // That is the content of the files already.
        mem.take_tracked();
    }

    /// Wakes threads that wait at the same place of shared memory in other processes. Returns how many.
    pub(in super::super) fn wake_shared_futex(&mut self, addr: u64, most: u64, bits: u32) -> u64 {
        let mut woken = 0;
        let Some((file, place)) = self.mappings.shared_place(addr) else {
            return woken;
        };
        for other in self.family.others_mut() {
            for at in other.mappings.addresses_of(file, place) {
                woken += other.threads.wake_futex(at, most - woken.min(most), bits);
            }
        }
        woken
    }
}
