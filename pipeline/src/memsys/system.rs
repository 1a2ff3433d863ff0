//! The memory system of a chip with one core.

use super::private::PrivateMemory;
use super::shared::SharedMemory;
use super::{AccessResult, CoreId, MemoryStats};
use crate::config::{ChipConfig, MemoryConfig};

/// Caches, TLBs, buses and memory of a chip with one core.
#[derive(Clone, Debug)]
pub struct MemorySystem {
    pub(crate) private: PrivateMemory,
    pub(crate) shared: SharedMemory,
}

hps_isa::save_state! { MemorySystem { private, shared } }

impl MemorySystem {
    /// An empty memory system of a configuration that passed its check.
    #[must_use]
    pub fn new(config: &MemoryConfig) -> Self {
        MemorySystem {
            private: PrivateMemory::new(config, CoreId::FIRST, false),
            shared: SharedMemory::new(config, &ChipConfig::default(), 1),
        }
    }

    /// An empty memory system whose accesses may come out of order of time.
    pub(crate) fn out_of_order(config: &MemoryConfig) -> Self {
        let mut memory = MemorySystem::new(config);
        memory.private.expect_disorder(config);
        memory.shared.expect_disorder(&config.l2);
        memory
    }

    /// [`PrivateMemory::fetch_quickly`].
    #[inline(always)]
    pub(crate) fn fetch_quickly(&mut self, now: u64, addr: u64) -> bool {
        self.private.fetch_quickly(now, addr)
    }

    /// [`PrivateMemory::fetch`].
    #[inline]
    pub fn fetch(&mut self, now: u64, addr: u64) -> AccessResult {
        self.private.fetch(&mut self.shared, now, addr)
    }

    /// [`PrivateMemory::tell_instruction`].
    #[inline]
    pub(crate) fn tell_instruction(&mut self, pc: u64) {
        self.private.tell_instruction(pc);
    }

    /// [`PrivateMemory::load`].
    #[inline]
    pub fn load(&mut self, now: u64, addr: u64, size: u8) -> AccessResult {
        self.private.load(&mut self.shared, now, addr, size)
    }

    /// [`PrivateMemory::store`].
    #[inline]
    pub fn store(&mut self, now: u64, addr: u64, size: u8) -> AccessResult {
        self.private.store(&mut self.shared, now, addr, size)
    }

    /// [`PrivateMemory::hit_quickly`].
    #[inline(always)]
    pub(crate) fn hit_quickly(
        &mut self,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> Option<u64> {
        self.private.hit_quickly(now, addr, size, write)
    }

    /// [`PrivateMemory::access_on_port`].
    #[inline(always)]
    pub(crate) fn access_on_port(
        &mut self,
        now: u64,
        addr: u64,
        size: u8,
        write: bool,
    ) -> AccessResult {
        self.private
            .access_on_port(&mut self.shared, now, addr, size, write)
    }

    /// Promises that no later access lies before `cycle`. Without this call, no access lies before the last one.
    #[inline]
    pub(crate) fn pass(&mut self, cycle: u64) {
        self.shared.horizon = cycle;
    }

    /// [`PrivateMemory::count_busy_port`].
    #[inline]
    pub(crate) fn count_busy_port(&mut self) {
        self.private.count_busy_port();
    }

    /// [`PrivateMemory::is_l1d_hit`].
    #[inline]
    #[must_use]
    pub fn is_l1d_hit(&self, now: u64, addr: u64) -> bool {
        self.private.is_l1d_hit(now, addr)
    }

    /// [`PrivateMemory::warm_fetch`].
    #[inline(always)]
    pub fn warm_fetch(&mut self, addr: u64) {
        self.private.warm_fetch(&mut self.shared, addr);
    }

    /// [`PrivateMemory::warm_data`].
    #[inline]
    pub fn warm_data(&mut self, addr: u64, write: bool) {
        self.private.warm_data(&mut self.shared, addr, write);
    }

    /// [`PrivateMemory::warm_newest`].
    #[inline(always)]
    pub fn warm_newest(&mut self, addr: u64, write: bool) -> bool {
        self.private.warm_newest(addr, write)
    }

    /// [`PrivateMemory::warmed`].
    #[must_use]
    pub fn warmed(&self) -> [u64; 4] {
        self.private.warmed(&self.shared)
    }

    /// Everything counted so far.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        self.private.stats(&self.shared)
    }
}
