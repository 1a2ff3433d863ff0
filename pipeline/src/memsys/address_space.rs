//! Where the addresses of a process lie in the memory of the machine.
//!
//! Each process has pages of its own there, but for those that it shares with others. Caches and the coherence of cores
//! know places; a process knows addresses. Those of the first process, where it shares nothing, are their own places.
//!
//! A copy of a process on another context ([`copies`](crate::by_cycle)) begins with the places of its original. The first
//! of the two that writes to a page has it in a [frame](AddressSpace::move_page) of its own from then on.

use std::ops::Range;
use std::sync::Arc;

use hps_isa::likely::seldom;
use hps_isa::memory::PAGE_SIZE;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use rustc_hash::FxHashMap;

/// Address spaces are numbered from this bit on, above all addresses of programs.
const SPACE_SHIFT: u32 = 48;
/// Memory that processes share lies apart from the space of any process.
const SHARED: u64 = 1 << 63;

/// Frames lie apart from the space of any process, too.
const FRAMES: u64 = 1 << 62;
const PAGE_SHIFT: u32 = PAGE_SIZE.trailing_zeros();

/// Ranges of addresses, and the places of their first ones.
type Ranges = [(Range<u64>, u64)];

/// Where the addresses of one process lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressSpace {
    /// Not every address is its own place.
    is_elsewhere: bool,
    /// Offset that the number of the address space adds.
    space: u64,
    /// Ranges of addresses in shared memory, and where in all shared memory they begin.
    shared: Option<Arc<Ranges>>,
    /// Pages that have moved to frames.
    moved: Option<Arc<Moved>>,
}

/// Pages that have moved to frames of their own, and where these begin.
#[derive(Clone, Debug)]
struct Moved {
    frames: FxHashMap<u64, u64>,
    /// The frame that a page has moved to last. No two processes move a page to the same frame, so that it tells all that
    /// have moved.
    last: u64,
}

impl PartialEq for Moved {
    fn eq(&self, other: &Moved) -> bool {
        self.last == other.last
    }
}

impl Eq for Moved {}

impl SaveState for AddressSpace {
    fn save_to(&self, to: &mut Vec<u8>) {
        let AddressSpace {
            is_elsewhere,
            space,
            shared,
            moved,
        } = self;
        let moved = moved.as_ref().map(|moved| {
            let mut frames: Vec<_> = moved.frames.iter().collect();
            frames.sort_unstable();
            (frames, moved.last)
        });
        save_value(&(is_elsewhere, space, shared.as_deref(), moved), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let shared: Option<Vec<(Range<u64>, u64)>>;
        let moved: Option<(Vec<(u64, u64)>, u64)>;
        (self.is_elsewhere, self.space, shared, moved) = from.value()?;
        self.shared = shared.map(Arc::from);
        self.moved = moved.map(|(frames, last)| {
            let frames = frames.into_iter().collect();
            Arc::new(Moved { frames, last })
        });
        Ok(())
    }
}

impl AddressSpace {
    /// That of the `space`-th address space, with these ranges of shared memory.
    pub fn new(space: u64, shared: Vec<(Range<u64>, u64)>) -> AddressSpace {
        AddressSpace {
            is_elsewhere: space != 0 || !shared.is_empty(),
            space: space << SPACE_SHIFT,
            shared: (!shared.is_empty()).then(|| shared.into()),
            moved: None,
        }
    }

    /// The page at an address has a frame of its own from now on, whose number nothing else has. Returns where that begins.
    pub fn move_page(&mut self, addr: u64, number: u64) -> u64 {
        let frame = FRAMES | (number << PAGE_SHIFT);
        let moved = self.moved.get_or_insert_with(|| {
            Arc::new(Moved {
                frames: FxHashMap::default(),
                last: 0,
            })
        });
        let moved = Arc::make_mut(moved);
        moved.frames.insert(addr >> PAGE_SHIFT, frame);
        moved.last = frame;
        self.is_elsewhere = true;
        frame
    }

    /// The place of an address.
    #[inline(always)]
    pub fn of(&self, addr: u64) -> u64 {
        if seldom(self.is_elsewhere) {
            return self.look_up(addr);
        }
        addr
    }

    #[inline(never)]
    fn look_up(&self, addr: u64) -> u64 {
        let frame = self.moved.as_ref();
        if let Some(frame) = frame.and_then(|moved| moved.frames.get(&(addr >> PAGE_SHIFT))) {
            return frame | (addr % PAGE_SIZE);
        }
        let mut shared = self.shared.iter().flat_map(|ranges| ranges.iter());
        match shared.find(|(range, _)| range.contains(&addr)) {
            Some((range, begin)) => SHARED | (begin + (addr - range.start)),
            None => addr ^ self.space,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_meet_where_they_share_memory_and_nowhere_else() {
        let first = AddressSpace::default();
        assert_eq!(first.of(0x1234), 0x1234);
        let parent = AddressSpace::new(0, vec![(0x5000..0x7000, 0x1000)]);
        let child = AddressSpace::new(3, vec![(0x9000..0xb000, 0x2000)]);
        assert_eq!(parent.of(0x1234), 0x1234);
        assert_ne!(child.of(0x1234), 0x1234);
        assert_ne!(parent.of(0x7000), child.of(0x7000));
        // The second page of one is the first one of the other.
        assert_eq!(parent.of(0x6008), child.of(0x9008));
        assert_ne!(parent.of(0x5008), child.of(0x9008));
    }

    #[test]
    fn a_page_that_one_of_two_copies_writes_moves_for_that_one_alone() {
        let mut parent = AddressSpace::default();
        let before = parent.clone();
        parent.move_page(0x5000, 1);
        let mut child = parent.clone();
        assert_eq!(parent.of(0x5008), child.of(0x5008));
        assert_ne!(parent.of(0x5008), before.of(0x5008));
        assert_eq!(child.move_page(0x5000, 2) + 8, child.of(0x5008));
        child.move_page(0x7000, 3);
        assert_ne!(parent, child);
        let places = [before.of(0x5008), parent.of(0x5008), child.of(0x5008)];
        assert!(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
        assert_eq!(parent.of(0x7008), 0x7008);
        assert_eq!(child.of(0x6ff8), 0x6ff8);
    }
}
