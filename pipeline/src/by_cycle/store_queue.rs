//! The store queue, and memory as the instructions in flight see it.
//!
//! An instruction executes functionally at dispatch. Its stores go into the queue and reach guest
//! memory when they commit; loads look through the queue first. A squash drops the youngest
//! entries, and memory never has to be undone; a second context sees stores in commit order.

use hps_isa::bus::{Bus, MemFault};
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::inst::Inst;
use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::rob::Slot;
use crate::model::{Ring, UNKNOWN};

const FILTER: usize = 256;

/// One store in flight, from dispatch until the first-level cache has taken it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoreEntry {
    pub addr: u64,
    pub data: u64,
    /// Bytes; zero: a store-conditional that failed, or a store that faults.
    pub size: u8,
    /// The address has been computed (in time).
    pub addr_known: bool,
    /// The cache has had it: it is the store of an atomic, on a chip where that has got its line for writing.
    pub is_performed: bool,
    /// Cycle from which the data may be forwarded.
    pub data_cycle: u64,
    /// ROB position of the oldest younger load that read too early, or [`UNKNOWN`].
    pub violator: u64,
    /// First load parked here.
    pub parked: Slot,
}

hps_isa::save_values!(StoreEntry);

impl StoreEntry {
    /// A store that has not been executed.
    const EMPTY: StoreEntry = StoreEntry {
        addr: 0,
        data: 0,
        size: 0,
        addr_known: false,
        is_performed: false,
        data_cycle: UNKNOWN,
        violator: UNKNOWN,
        parked: Slot::NONE,
    };

    /// Whether it writes any of `size` bytes at `addr`.
    #[inline]
    pub fn overlaps(&self, addr: u64, size: u64) -> bool {
        self.addr.wrapping_sub(addr) < size || addr.wrapping_sub(self.addr) < u64::from(self.size)
    }

    /// Whether it writes all of `size` bytes at `addr`.
    #[inline]
    pub fn covers(&self, addr: u64, size: u64) -> bool {
        let offset = addr.wrapping_sub(self.addr);
        offset < u64::from(self.size) && offset + size <= u64::from(self.size)
    }
}

/// The ring of stores in flight. Positions only grow; a squash takes back the youngest.
#[derive(Clone)]
pub struct StoreQueue {
    ring: Ring<StoreEntry>,
    capacity: u64,
    /// Oldest entry.
    pub head: u64,
    /// Oldest entry that has not committed.
    pub commit: u64,
    /// One past the youngest entry.
    pub tail: u64,
    /// Entries whose address is not known in time.
    pub unknown_addresses: u32,
    /// How many entries touch an 8-byte granule, by a hash of its address.
    filter: [u16; FILTER],
    /// The instruction of each store that has committed, and its program, if that is noted.
    by: Ring<(u64, u32)>,
}

hps_isa::save_state! {
    StoreQueue {
        ring, capacity, head, commit, tail, unknown_addresses, filter, by,
    }
}

impl StoreQueue {
    /// An empty queue, which notes the instructions that stores are if told so.
    pub fn new(capacity: usize, notes_instructions: bool) -> Self {
        StoreQueue {
            ring: Ring::new(capacity, StoreEntry::EMPTY),
            capacity: capacity as u64,
            head: 0,
            commit: 0,
            tail: 0,
            unknown_addresses: 0,
            filter: [0; FILTER],
            by: Ring::new(if notes_instructions { capacity } else { 0 }, (0, 0)),
        }
    }

    /// Slots of the ROB that restored entries name.
    pub fn named_slots(&self) -> impl Iterator<Item = Slot> {
        (0..self.ring.places()).map(|at| self.ring.at(at).parked)
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.ring.fill(StoreEntry::EMPTY);
    }

    /// Notes from now on which instructions stores are.
    pub fn note_instructions(&mut self) {
        self.by = Ring::new(self.ring.places(), (0, 0));
    }

    /// The store at `pos` is the instruction at an address, of a program.
    pub fn note(&mut self, pos: u64, pc: u64, program: u32) {
        *self.by.at_mut(pos as usize) = (pc, program);
    }

    /// Address and program of the instruction that is the store at `pos`, if that is noted.
    pub fn instruction(&self, pos: u64) -> (u64, u32) {
        *self.by.at(pos as usize)
    }

    /// Takes so many entries at most from now on; no more than it was made for.
    pub fn limit(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Stores in flight.
    #[inline]
    pub fn len(&self) -> u64 {
        self.tail - self.head
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.tail - self.head >= self.capacity
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline]
    pub fn get(&self, pos: u64) -> &StoreEntry {
        self.ring.at(pos as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, pos: u64) -> &mut StoreEntry {
        self.ring.at_mut(pos as usize)
    }

    /// Adds the youngest store; its address and data follow when it executes.
    pub fn push(&mut self) -> u64 {
        let pos = self.tail;
        *self.get_mut(pos) = StoreEntry::EMPTY;
        self.tail += 1;
        self.unknown_addresses += 1;
        pos
    }

    /// Takes the youngest store back.
    pub fn pop_youngest(&mut self) {
        self.tail -= 1;
        let e = *self.get(self.tail);
        if !e.addr_known {
            self.unknown_addresses -= 1;
        }
        self.count(e.addr, e.size, -1);
    }

    /// Drops the oldest store, which the cache has taken.
    pub fn pop_oldest(&mut self) {
        let e = *self.get(self.head);
        self.count(e.addr, e.size, -1);
        self.head += 1;
    }

    fn fill(&mut self, addr: u64, size: u8, data: u64) {
        let pos = self.tail - 1;
        let e = self.get_mut(pos);
        e.addr = addr;
        e.size = size;
        e.data = data;
        self.count(addr, size, 1);
    }

    #[inline]
    fn count(&mut self, addr: u64, size: u8, by: i16) {
        if size == 0 {
            return;
        }
        let first = addr >> 3;
        let last = addr.wrapping_add(u64::from(size) - 1) >> 3;
        let slot = &mut self.filter[first as usize % FILTER];
        *slot = slot.wrapping_add_signed(by);
        if last != first {
            let slot = &mut self.filter[last as usize % FILTER];
            *slot = slot.wrapping_add_signed(by);
        }
    }

    /// Whether a store in the queue may touch these bytes; `false` is exact.
    #[inline]
    pub fn may_overlap(&self, addr: u64, size: u64) -> bool {
        let first = addr >> 3;
        let last = addr.wrapping_add(size - 1) >> 3;
        self.filter[first as usize % FILTER] != 0 || self.filter[last as usize % FILTER] != 0
    }

    /// The youngest store before position `before` that writes any of these bytes.
    pub fn youngest_overlapping(&self, before: u64, addr: u64, size: u64) -> Option<u64> {
        let mut pos = before;
        while pos > self.head {
            pos -= 1;
            let e = self.get(pos);
            if e.size != 0 && e.overlaps(addr, size) {
                return Some(pos);
            }
        }
        None
    }

    /// The value of `size` bytes at `addr`, of which memory holds `below`: the bytes of stores that
    /// have not committed lie over it.
    fn overlay(&self, addr: u64, size: u64, below: u64) -> u64 {
        for pos in (self.commit..self.tail).rev() {
            let e = self.get(pos);
            if e.size != 0 && e.overlaps(addr, size) {
                if e.covers(addr, size) {
                    let value = e.data >> (8 * (addr - e.addr));
                    return value & (u64::MAX >> (64 - 8 * size));
                }
                return self.overlay_bytes(addr, size, below);
            }
        }
        below
    }

    /// Lays bytes of several stores over a value, oldest store first.
    #[cold]
    fn overlay_bytes(&self, addr: u64, size: u64, mut value: u64) -> u64 {
        for pos in self.commit..self.tail {
            let e = self.get(pos);
            if e.size == 0 || !e.overlaps(addr, size) {
                continue;
            }
            for i in 0..size {
                let offset = addr.wrapping_add(i).wrapping_sub(e.addr);
                if offset < u64::from(e.size) {
                    let byte = (e.data >> (8 * offset)) & 0xff;
                    value = value & !(0xff << (8 * i)) | byte << (8 * i);
                }
            }
        }
        value
    }
}

/// Guest memory seen through the stores in flight.
pub struct SpeculativeBus<'a> {
    pub mem: &'a mut Memory,
    pub stores: &'a mut StoreQueue,
}

/// Executes an instruction on memory as it is behind the stores that wait. This is compiled once, and not for each type
/// of editor and probe.
#[inline(never)]
pub fn execute(hart: &mut Hart, bus: &mut SpeculativeBus<'_>, inst: &Inst, pc: u64) -> Outcome {
    exec::execute(hart, bus, inst, pc)
}

impl Bus for SpeculativeBus<'_> {
    #[inline]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let value = self.mem.load::<N>(addr)?;
        if self.stores.may_overlap(addr, N as u64) {
            return Ok(self.stores.overlay(addr, N as u64, value));
        }
        Ok(value)
    }

    #[inline]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        self.mem.check_store::<N>(addr)?;
        self.stores.fill(addr, N as u8, value);
        Ok(())
    }
}
