//! Counts of pairs and trees of blocks: tables that are looked into once for each unit of code that a program enters.

use rustc_hash::FxHashMap;

const NONE: u32 = u32::MAX;

/// Counts of pairs of blocks. A block has two successors at most times, which stand beside it.
#[derive(Default)]
pub struct Pairs {
    near: Vec<[(u32, u64); 2]>,
    far: FxHashMap<(u32, u32), u64>,
}

impl Pairs {
    /// `to` follows `from`.
    #[inline]
    pub fn count(&mut self, from: u32, to: u32) {
        let at = from as usize;
        if at >= self.near.len() {
            self.near.resize(at + 64, [(NONE, 0); 2]);
        }
        for (block, count) in &mut self.near[at] {
            if *block == to {
                *count += 1;
                return;
            }
            if *block == NONE {
                (*block, *count) = (to, 1);
                return;
            }
        }
        *self.far.entry((from, to)).or_default() += 1;
    }

    /// All pairs with their counts.
    pub fn iter(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        let near = self.near.iter().enumerate().flat_map(|(from, to)| {
            let to = to.iter().filter(|(block, _)| *block != NONE);
            to.map(move |(block, count)| ((from as u32, *block), *count))
        });
        near.chain(self.far.iter().map(|(pair, count)| (*pair, *count)))
    }
}

/// A path that has begun: a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At(u32);

impl At {
    /// Nobody knows how the path began.
    pub const UNKNOWN: At = At(NONE);
    /// No block yet.
    pub const START: At = At(0);
}

/// One path: a sequence of blocks from a start on.
#[derive(Clone, Copy, Default)]
pub struct Node {
    /// Address of the first block.
    pub from: u64,
    /// A hash of the blocks' addresses.
    pub hash: u64,
    /// Instructions on it.
    pub instructions: u64,
    /// How often it ended here.
    pub count: u64,
}

/// Paths by their beginnings.
pub struct Tree {
    nodes: Vec<Node>,
    near: Vec<[(u32, u32); 2]>,
    far: FxHashMap<(u32, u32), u32>,
    most: usize,
    /// Paths that ended without being known for want of room.
    pub dropped: u64,
}

impl Tree {
    /// An empty tree that grows to so many nodes.
    pub fn new(most: usize) -> Tree {
        Tree {
            nodes: vec![Node::default()],
            near: vec![[(NONE, 0); 2]],
            far: FxHashMap::default(),
            most,
            dropped: 0,
        }
    }

    /// The path that goes on with a block.
    #[inline]
    pub fn step(&mut self, at: At, block: u32, address: u64, instructions: u32) -> At {
        if at == At::UNKNOWN {
            return at;
        }
        for &(next, node) in &self.near[at.0 as usize] {
            if next == block {
                return At(node);
            }
        }
        self.step_far(at, block, address, instructions)
    }

    fn step_far(&mut self, at: At, block: u32, address: u64, instructions: u32) -> At {
        if let Some(node) = self.far.get(&(at.0, block)) {
            return At(*node);
        }
        if self.nodes.len() >= self.most {
            self.dropped += 1;
            return At::UNKNOWN;
        }
        let before = self.nodes[at.0 as usize];
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            from: if at == At::START {
                address
            } else {
                before.from
            },
            hash: mixed(before.hash, address),
            instructions: before.instructions + u64::from(instructions),
            count: 0,
        });
        self.near.push([(NONE, 0); 2]);
        let near = &mut self.near[at.0 as usize];
        match near.iter_mut().find(|(next, _)| *next == NONE) {
            Some(free) => *free = (block, node),
            None => {
                self.far.insert((at.0, block), node);
            }
        }
        At(node)
    }

    /// A path ends.
    #[inline]
    pub fn end(&mut self, at: At) {
        if at != At::UNKNOWN && at != At::START {
            self.nodes[at.0 as usize].count += 1;
        }
    }

    /// Paths that ended, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.count > 0)
    }
}

/// The hash of a path with one more block. 64 bits: among four million paths two have the same hash once in two million
/// programs.
fn mixed(hash: u64, address: u64) -> u64 {
    let word = (hash ^ address).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 29)).wrapping_add(0x5851_f42d_4c95_7f2d)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn pairs_are_counted_beside_their_block_and_beyond() {
        let mut pairs = Pairs::default();
        // Three successors of block 5: the third has no room beside it.
        for (to, times) in [(1, 3), (2, 2), (9, 4)] {
            for _ in 0..times {
                pairs.count(5, to);
            }
        }
        pairs.count(200, 5);
        let all: BTreeMap<_, _> = pairs.iter().collect();
        let expected = [((5, 1), 3), ((5, 2), 2), ((5, 9), 4), ((200, 5), 1)];
        assert_eq!(all, BTreeMap::from(expected));
    }

    #[test]
    fn paths_with_equal_blocks_are_one_path() {
        let mut tree = Tree::new(100);
        // Four ways from block 0, each taken as often as its number says.
        for way in 1..5_u32 {
            for _ in 0..way {
                let at = tree.step(At::START, 0, 0x40, 2);
                let at = tree.step(at, way, 0x50 + u64::from(way), way);
                tree.end(at);
            }
        }
        tree.end(At::UNKNOWN);
        let counts: Vec<_> = tree
            .iter()
            .map(|n| (n.from, n.instructions, n.count))
            .collect();
        assert_eq!(
            counts,
            [(0x40, 3, 1), (0x40, 4, 2), (0x40, 5, 3), (0x40, 6, 4)]
        );
        let hashes: std::collections::BTreeSet<u64> = tree.iter().map(|n| n.hash).collect();
        assert_eq!(hashes.len(), 4);
    }

    #[test]
    fn a_full_tree_drops_paths_and_says_so() {
        let mut tree = Tree::new(2);
        let at = tree.step(At::START, 0, 1, 1);
        tree.end(at);
        assert_eq!(tree.step(at, 1, 2, 1), At::UNKNOWN);
        assert_eq!(tree.dropped, 1);
        assert_eq!(tree.iter().count(), 1);
    }
}
