//! The write buffer of a write-through data cache: blocks with stores on their way to the level 2
//! cache. Stores to a block that has not been sent join its entry.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use super::contents::table;
use super::stats::WriteBufferStats;
use crate::config::WriteBufferConfig;
use crate::contents::{Contents, Held};

/// Cycle of arrival of an entry that has not been sent.
const UNSENT: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    block: u64,
    /// Cycle of its first store.
    since: u64,
    /// Cycle in which the level 2 cache has taken it, or [`UNSENT`].
    written: u64,
}

/// The write buffer. Entries are sent in order, each as a whole block.
#[derive(Clone, Debug)]
pub(super) struct WriteBuffer {
    /// Oldest first; those that have been sent come before those that have not.
    entries: VecDeque<Entry>,
    capacity: usize,
    block_shift: u32,
    send_at: usize,
    send_after: u64,
    pub stats: WriteBufferStats,
}

hps_isa::save_state! {
    WriteBuffer {
        entries, capacity: skip, block_shift: skip, send_at: skip, send_after: skip, stats,
    }
}

impl WriteBuffer {
    pub fn new(config: &WriteBufferConfig) -> Self {
        WriteBuffer {
            entries: VecDeque::with_capacity(config.entries as usize),
            capacity: config.entries as usize,
            block_shift: config.entry_bytes.trailing_zeros(),
            send_at: config.send_at_entries as usize,
            send_after: u64::from(config.send_after_cycles),
            stats: WriteBufferStats::default(),
        }
    }

    /// The blocks that no cache has taken in a cycle, the oldest first.
    pub fn contents(&self, now: u64) -> Contents {
        let waiting = self.entries.iter().filter(|entry| entry.written > now);
        let waiting = waiting.map(|entry| Held::Moving {
            address: entry.block << self.block_shift,
            since_cycle: entry.since,
            ready_cycle: (entry.written != UNSENT).then_some(entry.written),
        });
        table("write_buffer", self.capacity, waiting)
    }

    fn unsent(&self) -> usize {
        self.entries.iter().filter(|e| e.written == UNSENT).count()
    }

    /// Sends the oldest entry that has not been sent, not before `from`. `send` says when it is
    /// written, or when to try again.
    fn send_oldest(
        &mut self,
        from: u64,
        send: &mut impl FnMut(u64, u64, u64) -> Result<u64, u64>,
    ) -> Result<(), u64> {
        let shift = self.block_shift;
        if let Some(entry) = self.entries.iter_mut().find(|e| e.written == UNSENT) {
            entry.written = send(from, entry.block << shift, 1 << shift)?;
            self.stats.send_events += 1;
        }
        Ok(())
    }

    /// Entries that have been written make room, and one that has waited long enough is sent.
    fn advance(&mut self, now: u64, send: &mut impl FnMut(u64, u64, u64) -> Result<u64, u64>) {
        loop {
            let oldest = self.entries.iter().find(|e| e.written == UNSENT);
            match oldest.map(|e| e.since + self.send_after) {
                Some(due) if due <= now => {
                    if self.send_oldest(due, send).is_err() {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.entries.retain(|e| e.written > now);
    }

    /// A store from `addr` to `last`, in one block or two. `Err`: no room, to be tried again in that
    /// cycle.
    pub fn put(
        &mut self,
        now: u64,
        addr: u64,
        last: u64,
        mut send: impl FnMut(u64, u64, u64) -> Result<u64, u64>,
    ) -> Result<(), u64> {
        self.advance(now, &mut send);
        let first = addr >> self.block_shift;
        let second = Some(last >> self.block_shift).filter(|block| *block != first);
        let blocks = || std::iter::once(first).chain(second);
        // Both halves or none, since half of a store would be sent while the other half waits for room.
        let new = blocks().filter(|block| !self.may_join(*block)).count();
        if self.entries.len() + new > self.capacity {
            // Entries that the level 2 cache refused before are tried again; something has to leave.
            let mut sent = self.send_waiting(now, &mut send);
            if sent.is_ok() && self.unsent() == self.entries.len() {
                sent = self.send_oldest(now, &mut send);
            }
            let refused = sent.err();
            let written = self.entries.iter().map(|e| e.written).min();
            let at_cycle = refused.into_iter().chain(written).min();
            self.stats.full_events += 1;
            return Err(at_cycle.unwrap_or(now).max(now + 1));
        }
        for block in blocks() {
            self.stats.store_events += 1;
            if self.may_join(block) {
                self.stats.merge_events += 1;
                continue;
            }
            self.entries.push_back(Entry {
                block,
                since: now,
                written: UNSENT,
            });
        }
        // Refused: the next store tries again.
        let _ = self.send_waiting(now, &mut send);
        Ok(())
    }

    fn may_join(&self, block: u64) -> bool {
        self.entries
            .iter()
            .any(|e| e.block == block && e.written == UNSENT)
    }

    /// Sends entries until fewer wait than there may.
    fn send_waiting(
        &mut self,
        now: u64,
        send: &mut impl FnMut(u64, u64, u64) -> Result<u64, u64>,
    ) -> Result<(), u64> {
        while self.unsent() >= self.send_at {
            self.send_oldest(now, send)?;
        }
        Ok(())
    }

    /// Sends what has been stored to these bytes, and everything older.
    pub fn send_overlapping(
        &mut self,
        now: u64,
        addr: u64,
        bytes: u64,
        mut send: impl FnMut(u64, u64, u64) -> Result<u64, u64>,
    ) -> Result<(), u64> {
        let (first, last) = (
            addr >> self.block_shift,
            (addr + bytes - 1) >> self.block_shift,
        );
        let inside = |e: &Entry| e.written == UNSENT && (first..=last).contains(&e.block);
        while self.entries.iter().any(inside) {
            self.stats.read_conflict_events += 1;
            self.send_oldest(now, &mut send)?;
        }
        Ok(())
    }
}
