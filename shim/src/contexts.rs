//! How often each calling context was seen: a tree of bounded size.

/// No node.
const NONE: u32 = u32::MAX;

/// One node: a frame below its caller's. The nodes without a caller are threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// The caller's node; `None` for a thread.
    pub parent: Option<usize>,
    /// The frame's tag; a thread's id.
    pub tag: u64,
    /// Samples that ended here.
    pub samples: u64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    tag: u64,
    samples: u64,
}

/// The tree. The observer's loop adds to it, so its room is allocated at the begin.
#[derive(Debug)]
pub struct Contexts {
    nodes: Vec<Node>,
    /// Open addressing by caller and tag; half of it stays empty.
    table: Box<[u32]>,
    room: usize,
    lost: u64,
    /// The last path with its nodes: the next one mostly begins like it.
    last: Vec<(u64, u32)>,
}

impl Contexts {
    /// A tree with room for `room` nodes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        let room = room.clamp(2, NONE as usize - 1);
        Self {
            nodes: Vec::with_capacity(room),
            table: vec![NONE; (room * 2).next_power_of_two()].into_boxed_slice(),
            room,
            lost: 0,
            last: Vec::with_capacity(crate::region::STACK + 3),
        }
    }

    /// Counts a sample of `thread` on `path`, outermost first. Where the tree is full the sample is
    /// lost, and counted as such.
    pub fn add(&mut self, thread: u64, path: &[u64]) {
        let whole = || std::iter::once(thread).chain(path.iter().copied());
        let known = self.last.iter().zip(whole());
        let known = known.take_while(|((old, _), new)| old == new).count();
        self.last.truncate(known);
        for tag in whole().skip(known) {
            let parent = self.last.last().map_or(NONE, |l| l.1);
            let Some(node) = self.child(parent, tag) else {
                self.lost += 1;
                return;
            };
            self.last.push((tag, node));
        }
        if let Some(&(_, node)) = self.last.last() {
            self.nodes[node as usize].samples += 1;
        }
    }

    fn child(&mut self, parent: u32, tag: u64) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mixed = (tag ^ u64::from(parent).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed >> 32) as usize & mask;
        loop {
            let found = self.table[at];
            if found == NONE {
                break;
            }
            let node = &self.nodes[found as usize];
            if node.tag == tag && node.parent == parent {
                return Some(found);
            }
            at = (at + 1) & mask;
        }
        if self.nodes.len() == self.room {
            return None;
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            tag,
            samples: 0,
        });
        self.table[at] = index;
        Some(index)
    }

    /// Samples that found no room.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// All nodes; callers stand before what they call.
    #[must_use]
    pub fn listing(&self) -> Vec<Context> {
        let nodes = self.nodes.iter().map(|node| Context {
            parent: (node.parent != NONE).then_some(node.parent as usize),
            tag: node.tag,
            samples: node.samples,
        });
        nodes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples by whole path, the thread first.
    fn paths(contexts: &Contexts) -> Vec<(Vec<u64>, u64)> {
        let nodes = contexts.listing();
        let mut all = Vec::new();
        for (i, node) in nodes.iter().enumerate().filter(|(_, n)| n.samples > 0) {
            let mut path = vec![node.tag];
            let mut at = i;
            while let Some(parent) = nodes[at].parent {
                assert!(parent < at, "callers come first");
                path.insert(0, nodes[parent].tag);
                at = parent;
            }
            all.push((path, node.samples));
        }
        all.sort();
        all
    }

    #[test]
    fn contexts_are_told_apart_by_their_whole_path() {
        let mut contexts = Contexts::new(100);
        for _ in 0..3 {
            contexts.add(1, &[10, 20, 30]);
            contexts.add(1, &[10, 30]);
        }
        contexts.add(2, &[10, 20, 30]);
        contexts.add(1, &[10, 20]);
        // Tags that are threads' ids, and a recursion.
        contexts.add(1, &[1, 1]);
        let expected = [
            (vec![1, 1, 1], 1),
            (vec![1, 10, 20], 1),
            (vec![1, 10, 20, 30], 3),
            (vec![1, 10, 30], 3),
            (vec![2, 10, 20, 30], 1),
        ];
        assert_eq!(paths(&contexts), expected);
        assert_eq!(contexts.lost(), 0);
    }

    #[test]
    fn a_full_tree_loses_samples_and_says_so() {
        let mut contexts = Contexts::new(5);
        for round in 0..4 {
            for leaf in 0..10 {
                contexts.add(7, &[100, leaf + round]);
            }
        }
        let kept: u64 = contexts.listing().iter().map(|n| n.samples).sum();
        assert_eq!(kept + contexts.lost(), 40);
        assert_eq!(contexts.listing().len(), 5);
        // Leaves 0, 1 and 2 had room: 1 + 2 + 3 samples.
        assert_eq!(kept, 6);
    }
}
