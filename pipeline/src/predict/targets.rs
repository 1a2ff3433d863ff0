//! Where branches go: branch target buffer and target cache.

use super::counters::pc_index;
use crate::config::{BtbConfig, IndirectConfig};
use hps_isa::likely::often;

const VALID: u32 = 1 << 31;

/// Set-associative branch target buffer with LRU. Replacement moves when a branch trains it, so a
/// wrong path leaves no trace.
#[derive(Clone, Debug)]
pub(super) struct Btb {
    /// The ways of a set lie in order of use, the newest first.
    entries: Box<[Entry]>,
    /// The last index. Entries behind the last set are unused.
    last: usize,
    ways: usize,
    set_bits: u32,
    tag_mask: u32,
    /// The machine has no target buffer: it learns nothing and knows nothing.
    absent: bool,
}

hps_isa::save_state! {
    Btb {
        entries, last: skip, ways: skip, set_bits: skip, tag_mask: skip, absent: skip,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    target: u64,
    tag: u32,
}

hps_isa::save_state! { Entry { target, tag } }

impl Btb {
    pub fn new(config: &BtbConfig) -> Self {
        let absent = config.entries == 0;
        let (entries, ways) = if absent {
            (1, 1)
        } else {
            (config.entries as usize, config.ways as usize)
        };
        Btb {
            entries: vec![Entry::default(); entries.next_power_of_two()].into_boxed_slice(),
            last: entries.next_power_of_two() - 1,
            ways,
            set_bits: (entries / ways).trailing_zeros(),
            tag_mask: (1 << config.tag_bits) - 1,
            absent,
        }
    }

    /// Sets and ways; none if the machine has no target buffer.
    pub fn shape(&self) -> Option<(usize, usize)> {
        (!self.absent).then_some((1 << self.set_bits, self.ways))
    }

    /// Tags and targets, set by set.
    pub fn held(&self) -> impl Iterator<Item = Option<(u32, u64)>> {
        let known = |e: &Entry| (e.tag & VALID != 0).then_some((e.tag & !VALID, e.target));
        self.entries.iter().map(known)
    }

    /// First slot of the set, and the tag.
    #[inline]
    pub fn place(&self, pc: u64) -> (u32, u32) {
        let set = if self.set_bits == 0 {
            0
        } else {
            pc_index(pc, self.set_bits)
        };
        // Both bits below the word number take part: bit 1 stays in the tag.
        let above = ((pc >> 2) >> self.set_bits) << 1 | ((pc >> 1) & 1);
        (
            (set * self.ways) as u32,
            (above as u32 & self.tag_mask) | VALID,
        )
    }

    /// The newest of the set that begins at this index.
    #[inline(always)]
    fn newest(&self, first: usize) -> &Entry {
        // SAFETY: there is a power of two of entries, and so one at each index that is masked like this.
        unsafe { self.entries.get_unchecked(first & self.last) }
    }

    /// The last target of the branch at this place.
    #[inline(always)]
    pub fn lookup(&self, (first, tag): (u32, u32)) -> Option<u64> {
        let first = first as usize;
        let newest = self.newest(first);
        if often(newest.tag == tag) {
            return Some(newest.target);
        }
        self.lookup_older(first, tag)
    }

    /// Whether that is this one.
    #[inline(always)]
    pub fn knows(&self, (first, tag): (u32, u32), target: u64) -> bool {
        let newest = self.newest(first as usize);
        if often(newest.tag == tag) {
            return newest.target == target;
        }
        self.lookup_older(first as usize, tag) == Some(target)
    }

    #[inline(never)]
    fn lookup_older(&self, first: usize, tag: u32) -> Option<u64> {
        let set = &self.entries[first + 1..first + self.ways];
        let entry = set.iter().find(|entry| entry.tag == tag)?;
        Some(entry.target)
    }

    /// The branch at this place went to `target`.
    #[inline(always)]
    pub fn train(&mut self, (first, tag): (u32, u32), target: u64) {
        if self.absent {
            return;
        }
        let first = first as usize;
        // SAFETY: as in `newest`.
        let newest = unsafe { self.entries.get_unchecked_mut(first & self.last) };
        if often(newest.tag == tag) {
            newest.target = target;
        } else {
            self.bring_forward(first, Entry { target, tag });
        }
    }

    /// The entry becomes the newest of the set at `first`, in place of what it was or of the oldest.
    #[inline(never)]
    fn bring_forward(&mut self, first: usize, entry: Entry) {
        let tag = entry.tag;
        let mut carried = entry;
        for slot in &mut self.entries[first..first + self.ways] {
            carried = std::mem::replace(slot, carried);
            if carried.tag == tag {
                break;
            }
        }
    }
}

/// Direct-mapped cache of indirect targets, indexed and tagged with address and history.
#[derive(Clone, Debug)]
pub(super) struct TargetCache {
    tags: Box<[u32]>,
    targets: Box<[u64]>,
    index_bits: u32,
    history_mask: u32,
    tag_bits: u32,
}

hps_isa::save_state! {
    TargetCache {
        tags, targets, index_bits: skip, history_mask: skip, tag_bits: skip,
    }
}

impl TargetCache {
    pub fn new(config: &IndirectConfig) -> Self {
        let entries = config.entries as usize;
        TargetCache {
            tags: vec![0; entries].into_boxed_slice(),
            targets: vec![0; entries].into_boxed_slice(),
            index_bits: config.entries.trailing_zeros(),
            history_mask: ((1_u64 << config.history_bits) - 1) as u32,
            tag_bits: config.tag_bits,
        }
    }

    /// Tags and targets.
    pub fn held(&self) -> impl Iterator<Item = Option<(u32, u64)>> {
        let all = self.tags.iter().zip(&self.targets);
        all.map(|(&tag, &target)| (tag & VALID != 0).then_some((tag & !VALID, target)))
    }

    #[inline]
    fn place(&self, pc: u64, path: u32) -> (usize, u32) {
        let history = path & self.history_mask;
        let folded = history ^ (history >> self.index_bits);
        let mask = (1_usize << self.index_bits) - 1;
        let index = (pc_index(pc, self.index_bits) ^ folded as usize) & mask;
        let mixed = (pc >> 1) ^ (pc >> (1 + self.tag_bits)) ^ (u64::from(history) << 2);
        let tag = mixed as u32 & ((1 << self.tag_bits) - 1);
        (index, tag | VALID)
    }

    #[inline]
    pub fn lookup(&self, pc: u64, path: u32) -> Option<u64> {
        let (index, tag) = self.place(pc, path);
        (self.tags[index] == tag).then(|| self.targets[index])
    }

    pub fn train(&mut self, pc: u64, path: u32, target: u64) {
        self.replace(pc, path, target);
    }

    /// [`lookup`](Self::lookup) and [`train`](Self::train).
    #[inline]
    pub fn replace(&mut self, pc: u64, path: u32, target: u64) -> Option<u64> {
        let (index, tag) = self.place(pc, path);
        let known = std::mem::replace(&mut self.tags[index], tag) == tag;
        let before = std::mem::replace(&mut self.targets[index], target);
        known.then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    #[test]
    fn btb_is_a_set_associative_lru_cache() {
        let config = BtbConfig {
            entries: 16,
            ways: 4,
            tag_bits: 31,
        };
        let mut btb = Btb::new(&config);
        // The model: for each set a list of (pc, target), the newest last.
        let mut sets: Vec<Vec<(u64, u64)>> = vec![Vec::new(); 4];
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let pc = 0x1_0000 + random.below(64) * 2;
            let word = pc / 4;
            let set = &mut sets[((word % 4) ^ if pc % 4 == 2 { 2 } else { 0 }) as usize];
            let known = set.iter().find(|(known, _)| *known == pc).map(|(_, t)| *t);
            assert_eq!(btb.lookup(btb.place(pc)), known);
            if random.below(2) == 0 {
                let target = random.next();
                set.retain(|(known, _)| *known != pc);
                if set.len() == 4 {
                    set.remove(0);
                }
                set.push((pc, target));
                btb.train(btb.place(pc), target);
            }
        }
    }

    #[test]
    fn short_tags_alias() {
        let config = BtbConfig {
            entries: 4,
            ways: 1,
            tag_bits: 2,
        };
        let mut btb = Btb::new(&config);
        btb.train(btb.place(0x1000), 5);
        assert_eq!(btb.lookup(btb.place(0x1000)), Some(5));
        assert_eq!(btb.lookup(btb.place(0x1000 + 4 * 4)), None);
        assert_eq!(btb.lookup(btb.place(0x1000 + 4 * 4 * 2)), Some(5));
    }
}
