//! The way of a core to the levels that it shares with others: its write buffer, and its bus to the level 2 cache.

use super::bus::Bus;
use super::coherence::Want;
use super::replacement::{RequestKind, Requester};
use super::shared::SharedMemory;
use super::write_buffer::WriteBuffer;
use super::{CoreId, Level};
use crate::config::{L1dWrite, MemoryConfig};

/// When a line comes to a level 1 cache, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    /// The data that were asked for are there.
    pub ready: u64,
    /// The whole line is there.
    pub end: u64,
    pub level: Level,
}

/// Path of a core's requests to the shared levels, and the number of the core.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub core: CoreId,
    /// The write buffer of a write-through data cache.
    pub write_buffer: Option<Box<WriteBuffer>>,
    pub bus: Bus,
    /// Other cores have caches, too.
    pub has_peers: bool,
    /// Stores are not just written into the level 1 data cache.
    pub stores_apart: bool,
    /// The instruction whose requests it passes, where a policy of a cache learns from that; else 0.
    pub instruction: u64,
    /// The requests are those of a prefetcher.
    pub is_prefetching: bool,
}

hps_isa::save_state! {
    Link {
        core: skip, write_buffer, bus, has_peers: skip, stores_apart: skip, instruction,
        is_prefetching,
    }
}

impl Link {
    pub fn new(config: &MemoryConfig, core: CoreId, has_peers: bool) -> Self {
        let writes_back = config.l1d_write == L1dWrite::WriteBack;
        Link {
            core,
            has_peers,
            stores_apart: has_peers || !writes_back,
            write_buffer: match &config.l1d_write {
                L1dWrite::WriteBack => None,
                L1dWrite::WriteThrough(buffer) => Some(Box::new(WriteBuffer::new(buffer))),
            },
            bus: Bus::new(config.l1_l2_bus.bytes_per_cycle, 1),
            instruction: 0,
            is_prefetching: false,
        }
    }

    /// Who asks for a line that is wanted for this.
    pub fn requester(&self, want: Want) -> Requester {
        let kind = match want {
            _ if self.is_prefetching => RequestKind::Prefetch,
            Want::Fetch => RequestKind::Fetch,
            Want::Read => RequestKind::Load,
            Want::Write => RequestKind::Store,
        };
        Requester {
            instruction: self.instruction,
            kind,
        }
    }

    /// Brings the line of `bytes` that holds `addr` to a level 1 cache that knows in cycle `known` that it
    /// misses. `Err`: nothing happened; try again in that cycle.
    pub fn read(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        known: u64,
        (addr, bytes): (u64, u64),
        want: Want,
    ) -> Result<Fill, u64> {
        if self.write_buffer.is_some() {
            self.send_overlapping(shared, now, addr & !(bytes - 1), bytes)?;
        }
        shared.read(self, now, known, (addr, bytes), want)
    }

    /// Takes a store from `addr` to `last` into the write buffer. `Err`: it is full until that cycle
    /// at least.
    pub fn put_store(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        last: u64,
    ) -> Result<(), u64> {
        // Taken out meanwhile, since sending its entries needs the rest of the link.
        let Some(mut buffer) = self.write_buffer.take() else {
            return Ok(());
        };
        let put = buffer.put(now, addr, last, |from, addr, bytes| {
            shared.write_through(self, now, from, addr, bytes)
        });
        self.write_buffer = Some(buffer);
        put
    }

    /// A read has to find what was stored before it: sends the stores to these bytes that have not
    /// been sent, and those in front of them.
    fn send_overlapping(
        &mut self,
        shared: &mut SharedMemory,
        now: u64,
        addr: u64,
        bytes: u64,
    ) -> Result<(), u64> {
        let Some(mut buffer) = self.write_buffer.take() else {
            return Ok(());
        };
        let sent = buffer.send_overlapping(now, addr, bytes, |from, addr, bytes| {
            shared.write_through(self, now, from, addr, bytes)
        });
        self.write_buffer = Some(buffer);
        sent
    }

    /// Touches a line of the shared levels without time or events.
    pub fn warm(&self, shared: &mut SharedMemory, addr: u64, write: bool) {
        let want = if write { Want::Write } else { Want::Read };
        shared.warm(
            addr,
            write,
            write && self.write_buffer.is_none(),
            self.requester(want),
        );
    }
}
