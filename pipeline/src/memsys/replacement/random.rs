//! Random replacement, by xorshift (Marsaglia, "Xorshift RNGs", 2003) from a fixed seed.

use super::{ReplacementPolicy, Requester};

/// The state of the generator, whose period is 2^64 - 1.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
    ways: usize,
}

hps_isa::save_state! { Random { state, ways: skip } }

impl Random {
    pub fn new(ways: usize) -> Self {
        Random {
            state: 0x9e37_79b9_7f4a_7c15,
            ways,
        }
    }
}

impl ReplacementPolicy for Random {
    fn hit(&mut self, _set: usize, _way: usize, _line: u64, _by: Requester) {}

    fn fill(&mut self, _set: usize, _way: usize, _line: u64, _by: Requester) {}

    fn victim(&mut self, _set: usize, may_go: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let start = (self.state >> 32) as usize % self.ways;
        let ways = (0..self.ways).map(|step| (start + step) % self.ways);
        ways.into_iter().find(|way| may_go(*way))
    }

    fn duplicate(&self) -> Box<dyn ReplacementPolicy> {
        Box::new(self.clone())
    }
}
