//! Load reservations where several contexts store to one memory.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

/// Bytes of the block that a reservation is for. Any store of another context to it breaks the reservation.
const BLOCK_BYTES: u64 = 64;

/// The reservations that contexts hold. A machine with one context does not keep them: there a reservation is what
/// [`Hart`](hps_isa::hart::Hart) says, and nothing else breaks it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reservations {
    /// Contexts, and the blocks that they have reserved.
    held: Vec<(u16, u64)>,
}

/// Contents of reserved blocks in memory, in the order of the blocks; nothing of a block that cannot be read.
#[derive(Debug)]
pub struct Contents(Vec<Option<[u8; BLOCK_BYTES as usize]>>);

fn content_of(block: u64, mem: &Memory) -> Option<[u8; BLOCK_BYTES as usize]> {
    let mut bytes = [0; BLOCK_BYTES as usize];
    let read = mem.read_bytes_forced(block * BLOCK_BYTES, &mut bytes);
    read.ok().map(|()| bytes)
}

impl Reservations {
    /// A context reserves the block at an address, instead of any other.
    pub fn take(&mut self, context: u16, addr: u64) {
        self.drop_of(context);
        self.held.push((context, addr / BLOCK_BYTES));
    }

    /// Whether the reservation of a context on the block at an address still holds.
    #[must_use]
    pub fn is_held(&self, context: u16, addr: u64) -> bool {
        self.held.contains(&(context, addr / BLOCK_BYTES))
    }

    /// A context has no reservation any more.
    pub fn drop_of(&mut self, context: u16) {
        self.held.retain(|(holder, _)| *holder != context);
    }

    /// A context has stored `size` bytes, at least one: breaks the reservations of others there.
    #[inline]
    pub fn stored(&mut self, context: u16, addr: u64, size: u8) {
        if self.held.is_empty() {
            return;
        }
        let first = addr / BLOCK_BYTES;
        let last = addr.wrapping_add(u64::from(size) - 1) / BLOCK_BYTES;
        self.held
            .retain(|(holder, block)| *holder == context || !(first..=last).contains(block));
    }

    /// Reads the reserved blocks.
    pub fn contents(&self, mem: &Memory) -> Contents {
        let content = |(_, block): &(u16, u64)| content_of(*block, mem);
        Contents(self.held.iter().map(content).collect())
    }

    /// Breaks the reservations of blocks whose content has changed since `before`: the operating system may have stored
    /// anywhere. A store that changes no byte breaks no reservation.
    pub fn keep_unchanged(&mut self, before: &Contents, mem: &Memory) {
        let mut before = before.0.iter();
        (self.held).retain(|(_, block)| before.next() == Some(&content_of(*block, mem)));
    }

    /// Breaks the reservations of blocks to which other processes may have stored, as `is_shared` says of the block's
    /// first address.
    pub fn stored_by_others(&mut self, is_shared: impl Fn(u64) -> bool) {
        (self.held).retain(|(_, block)| !is_shared(block * BLOCK_BYTES));
    }

    /// Breaks all reservations: memory is another one.
    pub fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_isa::bus::Bus;
    use hps_isa::memory::Perm;

    #[test]
    fn a_call_breaks_the_reservations_of_what_it_changes() {
        let mut mem = Memory::new(1 << 20).expect("there is room");
        mem.map(0x1000, 0x2000, Perm::RW).expect("there is room");
        let mut reservations = Reservations::default();
        for (context, addr) in [(0, 0x1000), (1, 0x1048), (2, 0x2000), (3, 0x9000)] {
            reservations.take(context, addr);
        }
        let before = reservations.contents(&mem);
        mem.store::<8>(0x1040, 5).expect("it is mapped");
        mem.store::<8>(0x2000, 0).expect("it is mapped");
        reservations.keep_unchanged(&before, &mem);
        let held = |reservations: &Reservations| {
            let all = [(0, 0x1000), (1, 0x1048), (2, 0x2000), (3, 0x9000)];
            all.map(|(context, addr)| reservations.is_held(context, addr))
        };
        assert_eq!(held(&reservations), [true, false, true, true]);
        reservations.stored_by_others(|addr| addr < 0x2000);
        assert_eq!(held(&reservations), [false, false, true, true]);
    }
}
