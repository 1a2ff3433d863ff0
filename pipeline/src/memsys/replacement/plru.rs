//! Tree pseudo-LRU: a tree of `ways - 1` bits for each set points to the half that was not used last (Al-Zoubi,
//! Milenkovic and Milenkovic, "Performance evaluation of cache replacement policies for the SPEC CPU2000 benchmark suite",
//! 2004, describe it).

use super::{ReplacementPolicy, Requester};

/// The trees. A bit that is set points to the upper half.
#[derive(Clone, Debug)]
pub(super) struct Plru {
    trees: Box<[u64]>,
    ways: usize,
}

hps_isa::save_state! { Plru { trees, ways: skip } }

impl Plru {
    /// Trees for a power of two of ways, at most 64.
    pub fn new(sets: usize, ways: usize) -> Self {
        Plru {
            trees: vec![0; sets].into_boxed_slice(),
            ways,
        }
    }

    /// Turns the bits on the way to a used way to the other half.
    fn touch(&mut self, set: usize, way: usize) {
        let tree = &mut self.trees[set];
        let (mut node, mut low, mut size) = (1, 0, self.ways);
        while size > 1 {
            size /= 2;
            let upper = way >= low + size;
            *tree = if upper {
                *tree & !(1 << node)
            } else {
                *tree | (1 << node)
            };
            low += if upper { size } else { 0 };
            node = 2 * node + usize::from(upper);
        }
    }

    /// Follows the bits to the way that made room least recently, as far as they know.
    fn oldest(&self, set: usize) -> usize {
        let tree = self.trees[set];
        let (mut node, mut low, mut size) = (1, 0, self.ways);
        while size > 1 {
            size /= 2;
            let upper = (tree >> node) & 1 == 1;
            low += if upper { size } else { 0 };
            node = 2 * node + usize::from(upper);
        }
        low
    }
}

impl ReplacementPolicy for Plru {
    fn hit(&mut self, set: usize, way: usize, _line: u64, _by: Requester) {
        self.touch(set, way);
    }

    fn fill(&mut self, set: usize, way: usize, _line: u64, _by: Requester) {
        self.touch(set, way);
    }

    fn victim(&mut self, set: usize, may_go: &dyn Fn(usize) -> bool) -> Option<usize> {
        let oldest = self.oldest(set);
        let mut ways = std::iter::once(oldest).chain(0..self.ways);
        ways.find(|way| may_go(*way))
    }

    fn duplicate(&self) -> Box<dyn ReplacementPolicy> {
        Box::new(self.clone())
    }
}
