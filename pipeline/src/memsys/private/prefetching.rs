//! Prefetching into a core's data cache.

use super::PrivateMemory;
use crate::memsys::{Level, SharedMemory};

impl PrivateMemory {
    /// From now on the prefetcher brings lines, or does not; it learns in any case. Nothing without one.
    pub(crate) fn set_prefetching(&mut self, is_on: bool) {
        if let Some(prefetcher) = &mut self.l1d.prefetcher {
            prefetcher.is_on = is_on;
        }
    }

    /// A store of a write-through cache uses lines that it finds. It brings none, and so none is wanted behind a miss.
    pub(super) fn prefetch_behind_store(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        delay: u64,
        (first, last): (u64, u64),
    ) {
        let shift = self.l1d.line_shift;
        let second = (first >> shift != last >> shift).then_some(last >> shift);
        for line in std::iter::once(first >> shift).chain(second) {
            self.prefetch_behind(shared, now, delay, line, false);
        }
    }

    /// An access to data of a cache with a prefetcher, which may want other lines behind it.
    #[inline(never)]
    pub(super) fn access_and_prefetch(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        delay: u64,
        addr: u64,
        write: bool,
    ) -> Result<(u64, Level), u64> {
        let line = addr >> self.l1d.line_shift;
        let has_missed = !self.l1d.tags.holds(line);
        let accessed = self.access(shared, now, delay, addr, write)?;
        self.prefetch_behind(shared, now, delay, line, has_missed);
        Ok(accessed)
    }

    /// A line of the data cache has missed, or was found: brings the lines that the prefetcher wants then.
    fn prefetch_behind(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        delay: u64,
        line: u64,
        has_missed: bool,
    ) {
        let on_its_way = !has_missed && self.l1d.mshrs.find(now, line).is_some();
        let Some(prefetcher) = &mut self.l1d.prefetcher else {
            return;
        };
        let wanted = prefetcher.behind(line, has_missed, on_its_way);
        let known = now + delay + self.l1d.miss_cycles;
        for &line in &wanted {
            self.l1d
                .prefetch((&mut self.link, &mut *shared), now, known, line);
            if self.link.has_peers {
                self.obey(shared, now);
            }
        }
        if let Some(prefetcher) = &mut self.l1d.prefetcher {
            prefetcher.give_back(wanted);
        }
    }
}
