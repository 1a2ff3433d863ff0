//! Accesses of an operating system to places of memory, whatever addresses a process has for them: it copies a page.

use hps_isa::likely::seldom;

use super::super::{AccessResult, SharedMemory};
use super::PrivateMemory;

impl PrivateMemory {
    /// Bytes in a line of the level 1 data cache.
    pub(crate) fn line_bytes(&self) -> u64 {
        1 << self.l1d.line_shift
    }

    /// Loads 8 bytes at a place.
    pub(crate) fn load_at(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        place: u64,
    ) -> AccessResult {
        self.data(shared, now, place, 8, false)
    }

    /// Stores 8 bytes at a place.
    pub(crate) fn store_at(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        place: u64,
    ) -> AccessResult {
        if seldom(self.link.stores_apart) {
            return self.store_apart(shared, now, place, 8);
        }
        self.data(shared, now, place, 8, true)
    }
}
