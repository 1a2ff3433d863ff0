//! The tags of a set-associative cache or TLB.

use super::replacement::{self, ReplacementPolicy, Requester};
use crate::config::Replacement;

const VALID: u64 = 1;
const DIRTY: u64 = 2;
const LINE_SHIFT: u32 = 2;

/// The newest line of a set that has none, or whose order is not that of use.
const NO_LINE: u64 = u64::MAX;

/// A line that made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    pub line: u64,
    pub dirty: bool,
}

/// Tags with validity and a dirty flag, eight bytes a line. With LRU the ways of a set lie in
/// order of use, the newest first, so that the common hit is the first compare and changes nothing.
#[derive(Clone, Debug)]
pub(super) struct Tags {
    slots: Box<[u64]>,
    /// The newest line of each set with LRU, in an array of its own, since most accesses need no other line.
    newest_lines: Box<[u64]>,
    ways: usize,
    set_mask: u64,
    /// Which line makes room, if that is not the one at the end of the order of use.
    policy: Option<Box<dyn ReplacementPolicy>>,
    /// Flags, but for the dirty one, of the newest line of a set in its first slot: without LRU a value that flags
    /// never have.
    newest: u64,
}

hps_isa::save_state! {
    Tags {
        slots, newest_lines, ways: skip, set_mask: skip, policy, newest: skip,
    }
}

impl Tags {
    pub fn new(sets: usize, ways: usize, replacement: &Replacement) -> Self {
        let policy = replacement::policy(replacement, sets, ways);
        Tags {
            slots: vec![0; sets * ways].into_boxed_slice(),
            newest_lines: vec![NO_LINE; sets].into_boxed_slice(),
            ways,
            set_mask: sets as u64 - 1,
            newest: if policy.is_none() { VALID } else { DIRTY },
            policy,
        }
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        (line & self.set_mask) as usize
    }

    /// The first slot of a line's set. There is one: a set is a number up to `set_mask`, which is the number of sets
    /// minus one, and neither that nor the number of slots changes.
    #[inline(always)]
    fn first_of(&self, line: u64) -> usize {
        let first = self.set_of(line) * self.ways;
        debug_assert!(first < self.slots.len());
        first
    }

    #[inline]
    fn way_of(&self, line: u64) -> Option<usize> {
        let wanted = (line << LINE_SHIFT) | VALID;
        let first = self.set_of(line) * self.ways;
        self.slots[first..first + self.ways]
            .iter()
            .position(|slot| slot & !DIRTY == wanted)
    }

    /// Whether the line is there; changes nothing.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        self.way_of(line).is_some()
    }

    /// Whether a line is the newest of its set, with LRU.
    #[inline(always)]
    pub fn is_newest(&self, line: u64) -> bool {
        let set = self.set_of(line);
        debug_assert!(set < self.newest_lines.len());
        // SAFETY: a set is a number up to `set_mask`, which is the number of sets minus one, and neither that nor the
        // number of lines here changes.
        let newest = unsafe { *self.newest_lines.get_unchecked(set) };
        newest == line
    }

    /// Uses a line if it is the newest of its set, with LRU. False if not: nothing has changed.
    #[inline(always)]
    pub fn use_newest(&mut self, line: u64, write: bool) -> bool {
        let newest = self.is_newest(line);
        if newest && write {
            let at = self.first_of(line);
            // SAFETY: `at` comes from `first_of`.
            unsafe { *self.slots.get_unchecked_mut(at) |= DIRTY };
        }
        newest
    }

    /// Uses a line if it is the second newest of its set, with LRU. `false` for any other line, and then nothing has
    /// changed.
    #[inline(always)]
    fn use_second(&mut self, line: u64, write: bool) -> bool {
        let at = self.set_of(line) * self.ways;
        let wanted = (line << LINE_SHIFT) | self.newest;
        // With one way the next slot is another set's, where the line is not.
        let Some([newest, second]) = self.slots.get_mut(at..at + 2) else {
            return false;
        };
        let is_second = *second & !DIRTY == wanted;
        if is_second {
            std::mem::swap(newest, second);
            *newest |= if write { DIRTY } else { 0 };
            let set = self.set_of(line);
            self.newest_lines[set] = line;
        }
        is_second
    }

    /// Uses a line. False if it is not there.
    #[inline]
    pub fn access(&mut self, line: u64, write: bool, by: Requester) -> bool {
        self.use_recent(line, write) || self.search(line, write, by)
    }

    /// Uses a line if it is one of the two newest of its set, with LRU. `false` for any other line, and then nothing has
    /// changed.
    #[inline]
    pub fn use_recent(&mut self, line: u64, write: bool) -> bool {
        self.use_newest(line, write) || self.use_second(line, write)
    }

    /// [`access`](Self::access) of a line that may be anywhere in its set.
    #[inline(never)]
    pub fn search(&mut self, line: u64, write: bool, by: Requester) -> bool {
        let wanted = (line << LINE_SHIFT) | VALID;
        let number = self.set_of(line);
        let first = number * self.ways;
        let set = &mut self.slots[first..first + self.ways];
        let Some(way) = set.iter().position(|slot| slot & !DIRTY == wanted) else {
            return false;
        };
        set[way] |= if write { DIRTY } else { 0 };
        match &mut self.policy {
            None => {
                bring_forward(&mut set[..=way]);
                self.newest_lines[number] = line;
            }
            Some(policy) => policy.hit(number, way, line, by),
        }
        true
    }

    /// The way that would make room for `line`; `None` if `kept` holds on to every line of the
    /// set.
    pub fn choose(&mut self, line: u64, kept: impl Fn(u64) -> bool) -> Option<usize> {
        let set = self.set_of(line);
        let first = set * self.ways;
        let slots = &self.slots[first..first + self.ways];
        let may_go = |way: &usize| slots[*way] & VALID == 0 || !kept(slots[*way] >> LINE_SHIFT);
        // With LRU empty ways are the last of their set.
        let oldest = self.ways - 1;
        if self.policy.is_none() && may_go(&oldest) {
            return Some(oldest);
        }
        if let Some(empty) = slots.iter().rposition(|slot| slot & VALID == 0) {
            return Some(empty);
        }
        match &mut self.policy {
            None => (0..self.ways).rev().find(may_go),
            Some(policy) => policy.victim(set, &|way| may_go(&way)),
        }
    }

    /// Puts `line` into a way that [`choose`](Self::choose) gave.
    pub fn fill(&mut self, line: u64, way: usize, dirty: bool, by: Requester) -> Option<Victim> {
        let set = self.set_of(line);
        let first = set * self.ways;
        let slot = &mut self.slots[first + way];
        let old = *slot;
        *slot = (line << LINE_SHIFT) | VALID | if dirty { DIRTY } else { 0 };
        match &mut self.policy {
            None => {
                bring_forward(&mut self.slots[first..=first + way]);
                self.newest_lines[set] = line;
            }
            Some(policy) => {
                if old & VALID != 0 {
                    policy.leave(set, way);
                }
                policy.fill(set, way, line, by);
            }
        }
        (old & VALID != 0).then_some(Victim {
            line: old >> LINE_SHIFT,
            dirty: old & DIRTY != 0,
        })
    }

    /// The newest line of a set is found only by those who look at all lines.
    pub fn hide_newest(&mut self, line: u64) {
        let set = self.set_of(line);
        self.newest_lines[set] = NO_LINE;
    }

    /// Whether the line is there and dirty.
    pub fn is_dirty(&self, line: u64) -> bool {
        let first = self.set_of(line) * self.ways;
        let way = self.way_of(line);
        way.is_some_and(|way| self.slots[first + way] & DIRTY != 0)
    }

    /// The line, if it is there, is not dirty any more. Says whether it was.
    pub fn clean(&mut self, line: u64) -> bool {
        let first = self.set_of(line) * self.ways;
        let Some(way) = self.way_of(line) else {
            return false;
        };
        let slot = &mut self.slots[first + way];
        let was_dirty = *slot & DIRTY != 0;
        *slot &= !DIRTY;
        was_dirty
    }

    /// Takes the line away, if it is there. Says whether it was dirty.
    pub fn remove(&mut self, line: u64) -> bool {
        let set = self.set_of(line);
        let first = set * self.ways;
        let Some(way) = self.way_of(line) else {
            return false;
        };
        let ways = &mut self.slots[first..first + self.ways];
        let was_dirty = ways[way] & DIRTY != 0;
        ways[way] = 0;
        match &mut self.policy {
            None => {
                // Empty ways are the last of their set.
                ways[way..].rotate_left(1);
                self.newest_lines[set] = match ways[0] {
                    0 => NO_LINE,
                    newest => newest >> LINE_SHIFT,
                };
            }
            Some(policy) => policy.leave(set, way),
        }
        was_dirty
    }

    /// The lines of all slots, set by set, and whether they are dirty.
    pub fn held(&self) -> impl Iterator<Item = Option<(u64, bool)>> {
        let slots = self.slots.iter();
        slots.map(|slot| (slot & VALID != 0).then_some((slot >> LINE_SHIFT, slot & DIRTY != 0)))
    }

    /// Sets, ways, and whether the ways lie in order of use.
    pub fn shape(&self) -> (usize, usize, bool) {
        (self.newest_lines.len(), self.ways, self.policy.is_none())
    }

    /// Empties it; what was dirty is lost.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.newest_lines.fill(NO_LINE);
        if let Some(policy) = &mut self.policy {
            policy.clear();
        }
    }
}

/// The last becomes the first: `rotate_right(1)`, whose general form takes longer than all the rest.
#[inline(always)]
fn bring_forward(slots: &mut [u64]) {
    let Some(&last) = slots.last() else { return };
    let mut carried = last;
    for slot in slots {
        carried = std::mem::replace(slot, carried);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DrripConfig, ShipConfig, SrripConfig};
    use crate::predict::tests::Random;

    const BY: Requester = Requester {
        instruction: 0,
        kind: replacement::RequestKind::Load,
    };

    /// All policies, but for the least recently used.
    fn others() -> Vec<Replacement> {
        vec![
            Replacement::Random,
            Replacement::Plru,
            Replacement::Srrip(SrripConfig::default()),
            Replacement::Drrip(DrripConfig::default()),
            Replacement::Ship(ShipConfig::default()),
        ]
    }

    fn bring(tags: &mut Tags, line: u64) -> Option<Victim> {
        if tags.access(line, false, BY) {
            return None;
        }
        let way = tags.choose(line, |_| false).unwrap();
        tags.fill(line, way, false, BY)
    }

    #[test]
    fn lru_is_a_list_by_use() {
        let mut tags = Tags::new(4, 3, &Replacement::Lru);
        let mut sets: Vec<Vec<(u64, bool)>> = vec![Vec::new(); 4];
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let (line, write) = (random.below(24), random.below(3) == 0);
            let set = &mut sets[(line % 4) as usize];
            let known = set.iter().position(|(known, _)| *known == line);
            assert_eq!(tags.holds(line), known.is_some());
            let is_newest = set.last().is_some_and(|(newest, _)| *newest == line);
            assert_eq!(tags.is_newest(line), is_newest);
            assert_eq!(tags.access(line, write, BY), known.is_some());
            let dirty = known.map(|at| set.remove(at).1).unwrap_or(false);
            if known.is_none() {
                let way = tags.choose(line, |_| false).unwrap();
                let expected = (set.len() == 3).then(|| set.remove(0));
                let victim = tags.fill(line, way, write, BY);
                assert_eq!(victim.map(|v| (v.line, v.dirty)), expected);
            }
            set.push((line, dirty || write));
            if random.below(500) == 0 {
                tags.clear();
                sets.iter_mut().for_each(Vec::clear);
            }
        }
    }

    #[test]
    fn what_is_not_in_order_of_use_has_no_newest_line() {
        for replacement in others() {
            let mut tags = Tags::new(2, 2, &replacement);
            for line in [0, 1, 0, 2, 0] {
                bring(&mut tags, line);
                assert!(tags.access(line, true, BY) && !tags.is_newest(line));
            }
        }
    }

    #[test]
    fn kept_lines_do_not_make_room() {
        for replacement in others().into_iter().chain([Replacement::Lru]) {
            let mut tags = Tags::new(1, 4, &replacement);
            for line in 0..4 {
                bring(&mut tags, line);
            }
            assert_eq!(tags.choose(9, |_| true), None);
            let way = tags.choose(9, |line| line != 2).unwrap();
            let victim = tags.fill(9, way, false, BY).unwrap();
            assert_eq!(victim.line, 2);
        }
    }

    #[test]
    fn tree_plru_follows_its_bits() {
        let mut tags = Tags::new(1, 4, &Replacement::Plru);
        // The ways are filled from the last; the tree then points to the first that was used.
        for line in [0, 1, 2, 3] {
            bring(&mut tags, line);
        }
        assert_eq!(bring(&mut tags, 4).unwrap().line, 0);
        // 4 took the place of 0 beside 1; the other pair is pointed to, and in it line 2.
        assert_eq!(bring(&mut tags, 5).unwrap().line, 2);
        // Using 1 turns its pair to 4 and the root to the other pair, where 5 is newer than 3.
        assert!(tags.access(1, false, BY));
        assert_eq!(bring(&mut tags, 6).unwrap().line, 3);
    }

    #[test]
    fn random_uses_every_way() {
        let mut tags = Tags::new(1, 4, &Replacement::Random);
        let mut used = [0; 4];
        for line in 0..400 {
            let way = tags.choose(line, |_| false).unwrap();
            tags.fill(line, way, false, BY);
            used[way] += 1;
        }
        assert!(used.iter().all(|count| *count > 60), "{used:?}");
    }
}
