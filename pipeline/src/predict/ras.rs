//! Return address stack, a circular buffer with repair.

use crate::config::RasRepair;

/// Pushes that can be taken back: more than calls can be in flight, a power of two.
const LOG_ENTRIES: usize = 8192;

/// State of the stack that a checkpoint holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RasState {
    top_value: u64,
    pushes: u32,
    top: u16,
}

hps_isa::save_state! { RasState { top_value, pushes, top } }

/// Return address stack. With no entries it never predicts.
#[derive(Clone, Debug)]
pub(super) struct Ras {
    entries: Box<[u64]>,
    top: u16,
    repair: RasRepair,
    /// Overwritten entries by number of push, for `RasRepair::Full`.
    log: Box<[(u16, u64)]>,
    pushes: u32,
}

hps_isa::save_state! { Ras { entries, top, repair: skip, log, pushes } }

impl Ras {
    pub fn new(entries: u32, repair: RasRepair) -> Self {
        let logged = entries > 0 && repair == RasRepair::Full;
        Ras {
            entries: vec![0; entries as usize].into_boxed_slice(),
            top: 0,
            log: vec![(0, 0); if logged { LOG_ENTRIES } else { 0 }].into_boxed_slice(),
            repair,
            pushes: 0,
        }
    }

    /// Whether there is a stack at all.
    #[inline]
    pub fn exists(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The return addresses, and whether each is on top; 0 where none was ever pushed.
    pub fn held(&self) -> impl Iterator<Item = (u64, bool)> {
        let top = usize::from(self.top);
        let entries = self.entries.iter().enumerate();
        entries.map(move |(at, address)| (*address, at == top))
    }

    /// The return address on top; 0 if none was ever pushed there.
    #[inline]
    pub fn peek(&self) -> u64 {
        self.entries
            .get(usize::from(self.top))
            .copied()
            .unwrap_or(0)
    }

    /// A call: its return address.
    #[inline]
    pub fn push(&mut self, return_address: u64) {
        if !self.exists() {
            return;
        }
        let next = usize::from(self.top) + 1;
        let next = if next == self.entries.len() { 0 } else { next };
        self.top = next as u16;
        let overwritten = std::mem::replace(&mut self.entries[next], return_address);
        if let Some(slot) = self.log.get_mut(self.pushes as usize % LOG_ENTRIES) {
            *slot = (next as u16, overwritten);
        }
        self.pushes = self.pushes.wrapping_add(1);
    }

    /// A return.
    #[inline]
    pub fn pop(&mut self) {
        if self.exists() {
            let len = self.entries.len() as u16;
            self.top = if self.top == 0 { len } else { self.top } - 1;
        }
    }

    #[inline]
    pub fn checkpoint(&self) -> RasState {
        RasState {
            top_value: self.peek(),
            pushes: self.pushes,
            top: self.top,
        }
    }

    /// Takes back what was speculated since the checkpoint, as far as the repair reaches.
    pub fn restore(&mut self, state: &RasState) {
        match self.repair {
            RasRepair::None => return,
            RasRepair::TopEntry => self.pushes = state.pushes,
            RasRepair::Full => {
                while self.pushes != state.pushes && self.exists() {
                    self.pushes = self.pushes.wrapping_sub(1);
                    let (slot, value) = self.log[self.pushes as usize % LOG_ENTRIES];
                    self.entries[usize::from(slot)] = value;
                }
            }
        }
        self.top = state.top;
        if let Some(entry) = self.entries.get_mut(usize::from(state.top)) {
            *entry = state.top_value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    fn random_steps(ras: &mut Ras, random: &mut Random, steps: u64) {
        for _ in 0..steps {
            if random.below(2) == 0 {
                ras.push(random.next() | 1);
            } else {
                ras.pop();
            }
        }
    }

    #[test]
    fn returns_match_calls_up_to_the_depth() {
        let mut ras = Ras::new(4, RasRepair::TopEntry);
        for address in 1..=6 {
            ras.push(address);
        }
        for address in [6, 5, 4, 3] {
            assert_eq!(ras.peek(), address);
            ras.pop();
        }
        assert_ne!(ras.peek(), 2, "a stack of four cannot know the fifth");
    }

    #[test]
    fn full_repair_is_as_if_nothing_had_been_speculated() {
        let mut random = Random::new(11);
        let mut ras = Ras::new(8, RasRepair::Full);
        for _ in 0..500 {
            let steps = random.below(20);
            random_steps(&mut ras, &mut random, steps);
            let (entries, state) = (ras.entries.clone(), ras.checkpoint());
            let steps = random.below(60);
            random_steps(&mut ras, &mut random, steps);
            ras.restore(&state);
            assert_eq!(ras.entries, entries);
            assert_eq!(ras.checkpoint(), state);
        }
    }

    #[test]
    fn top_entry_repair_brings_pointer_and_top_back() {
        let mut random = Random::new(12);
        let mut ras = Ras::new(8, RasRepair::TopEntry);
        let mut below_differs = false;
        for _ in 0..500 {
            random_steps(&mut ras, &mut random, 5);
            let (entries, state) = (ras.entries.clone(), ras.checkpoint());
            random_steps(&mut ras, &mut random, 9);
            ras.restore(&state);
            assert_eq!(ras.checkpoint(), state);
            below_differs |= ras.entries != entries;
        }
        assert!(below_differs, "this repair is not a full one");
    }

    #[test]
    fn without_repair_wrong_paths_stay() {
        let mut ras = Ras::new(8, RasRepair::None);
        ras.push(1);
        let state = ras.checkpoint();
        ras.push(2);
        ras.restore(&state);
        assert_eq!(ras.peek(), 2);
    }

    #[test]
    fn a_stack_of_none_and_of_one() {
        let mut none = Ras::new(0, RasRepair::Full);
        none.push(1);
        none.pop();
        none.restore(&RasState::default());
        assert_eq!(none.peek(), 0);
        let mut one = Ras::new(1, RasRepair::Full);
        one.push(7);
        assert_eq!(one.peek(), 7);
    }
}
