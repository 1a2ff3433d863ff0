//! Where the addresses of a process lie in the memory of the machine.
//!
//! Each process has pages of its own there, but for those that it shares with others. Caches and the agreement of cores
//! know places; a process knows addresses. Those of the first process, where it shares nothing, are their own places.

use std::ops::Range;
use std::sync::Arc;

use hps_sim_core::likely::seldom;

/// Address spaces are numbered from this bit on, above all addresses of programs.
const SPACE_SHIFT: u32 = 48;
/// What processes share lies apart from the space of any process.
const SHARED: u64 = 1 << 63;

/// Ranges of addresses, and the places of their first ones.
type Ranges = [(Range<u64>, u64)];

/// Where the addresses of one process lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Not every address is its own place.
    is_elsewhere: bool,
    /// What the number of the address space adds.
    space: u64,
    /// Ranges of addresses in shared memory, and where in all shared memory they begin.
    shared: Option<Arc<Ranges>>,
}

impl Place {
    /// That of the `space`-th address space, with these ranges of shared memory.
    pub fn new(space: u64, shared: Vec<(Range<u64>, u64)>) -> Place {
        Place {
            is_elsewhere: space != 0 || !shared.is_empty(),
            space: space << SPACE_SHIFT,
            shared: (!shared.is_empty()).then(|| shared.into()),
        }
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
        let first = Place::default();
        assert_eq!(first.of(0x1234), 0x1234);
        let parent = Place::new(0, vec![(0x5000..0x7000, 0x1000)]);
        let child = Place::new(3, vec![(0x9000..0xb000, 0x2000)]);
        assert_eq!(parent.of(0x1234), 0x1234);
        assert_ne!(child.of(0x1234), 0x1234);
        assert_ne!(parent.of(0x7000), child.of(0x7000));
        // The second page of one is the first one of the other.
        assert_eq!(parent.of(0x6008), child.of(0x9008));
        assert_ne!(parent.of(0x5008), child.of(0x9008));
    }
}
