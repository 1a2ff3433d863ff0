//! Finds a calling context by the context around it and by how it was entered.
//!
//! The children of a context are a list, the newest first. Most contexts have few children, and programs that recurse
//! have millions of contexts, each with children that were made shortly before: a list is faster than a table. Contexts
//! with many children have all of them in a table, with open addressing, of numbers of nodes.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};

use super::{Entered, Node, NodeId};

/// Children that a context can have without the table.
const FEW: usize = 4;
/// An empty place of the table.
const EMPTY: u32 = u32::MAX;
/// Places of the smallest table.
const LEAST: usize = 64;

/// Links of a context. The root, which is no child, stands for none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Links {
    newest_child: NodeId,
    /// The child of the same parent that was made before it.
    older_sibling: NodeId,
}

/// The nodes of a tree by parent, way of entering, and entry.
#[derive(Clone, Debug)]
pub(super) struct Children {
    links: Vec<Links>,
    /// Numbers of the children of contexts with more than [`FEW`]. The count of places is a power of two, and a quarter
    /// or more are empty.
    places: Vec<u32>,
    /// Places that are not empty.
    used: usize,
}

hps_isa::save_state! { Children { links, places, used } }

impl Children {
    /// The children of the root of a tree without other nodes.
    pub fn new() -> Self {
        Children {
            links: vec![Links {
                newest_child: NodeId::ROOT,
                older_sibling: NodeId::ROOT,
            }],
            places: vec![EMPTY; LEAST],
            used: 0,
        }
    }

    /// The children of a context, the newest first.
    pub fn of(&self, parent: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let newest = self.newest_child(parent);
        std::iter::successors(newest, |&child| self.older_sibling(child))
    }

    /// The newest child of a context.
    pub fn newest_child(&self, parent: NodeId) -> Option<NodeId> {
        let newest = self.links[parent.index()].newest_child;
        (newest != NodeId::ROOT).then_some(newest)
    }

    /// The child of the same parent that was made before this one.
    pub fn older_sibling(&self, child: NodeId) -> Option<NodeId> {
        let older = self.links[child.index()].older_sibling;
        (older != NodeId::ROOT).then_some(older)
    }

    /// The child of a context that was entered so.
    pub fn find(
        &self,
        nodes: &[Node],
        parent: NodeId,
        entered: Entered,
        entry: u64,
    ) -> Option<NodeId> {
        let is_it = |number: usize| {
            let node = &nodes[number];
            (node.parent, node.entry, node.entered) == (parent, entry, entered)
        };
        let mut children = self.of(parent);
        for child in children.by_ref().take(FEW) {
            if is_it(child.index()) {
                return Some(child);
            }
        }
        children.next()?;
        let mut at = self.first_place(parent, entered, entry);
        while self.places[at] != EMPTY {
            let number = self.places[at];
            if is_it(number as usize) {
                return Some(NodeId(number));
            }
            at = self.behind(at);
        }
        None
    }

    /// Adds the last node.
    pub fn add(&mut self, nodes: &[Node]) {
        let id = NodeId(nodes.len() as u32 - 1);
        let parent = nodes[id.index()].parent;
        let newest = &mut self.links[parent.index()].newest_child;
        let older_sibling = std::mem::replace(newest, id);
        self.links.push(Links {
            newest_child: NodeId::ROOT,
            older_sibling,
        });
        match self.of(parent).take(FEW + 2).count() {
            ..=FEW => {}
            count if count == FEW + 1 => {
                let all: Vec<NodeId> = self.of(parent).collect();
                for child in all {
                    self.tabulate(nodes, child);
                }
            }
            _ => self.tabulate(nodes, id),
        }
    }

    /// Puts a node into the table.
    fn tabulate(&mut self, nodes: &[Node], id: NodeId) {
        self.used += 1;
        if self.used * 4 > self.places.len() * 3 {
            let places = vec![EMPTY; self.places.len() * 2];
            let before = std::mem::replace(&mut self.places, places);
            for number in before.into_iter().filter(|&number| number != EMPTY) {
                self.put(nodes, number);
            }
        }
        self.put(nodes, id.0);
    }

    fn put(&mut self, nodes: &[Node], number: u32) {
        let node = &nodes[number as usize];
        let mut at = self.first_place(node.parent, node.entered, node.entry);
        while self.places[at] != EMPTY {
            at = self.behind(at);
        }
        self.places[at] = number;
    }

    fn first_place(&self, parent: NodeId, entered: Entered, entry: u64) -> usize {
        let hash = FxBuildHasher.hash_one((parent, entered, entry));
        hash as usize & (self.places.len() - 1)
    }

    fn behind(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A third of the children are the root's, a third those of few contexts, and a third of any.
    #[test]
    fn children_are_those_that_a_map_finds() {
        let mut random = 1_u64;
        let mut draw = |end: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 33) % end
        };
        let node = |parent, entered, entry| Node {
            parent,
            entered,
            entry,
            calls: 1,
        };
        let mut nodes = vec![node(NodeId::ROOT, Entered::Begin, 0)];
        let (mut children, mut known) = (Children::new(), HashMap::new());
        for _ in 0..20_000 {
            let most = nodes.len() as u64;
            let parent = match draw(3) {
                0 => 0,
                1 => draw(most.min(20)),
                _ => draw(most),
            };
            let parent = NodeId(parent as u32);
            let entered = Entered::Call(2 * draw(30));
            let entry = draw(30);
            let next = NodeId(nodes.len() as u32);
            let found = children.find(&nodes, parent, entered, entry);
            let expected = known.get(&(parent, entered, entry)).copied();
            assert_eq!(found, expected);
            if found.is_none() {
                nodes.push(node(parent, entered, entry));
                children.add(&nodes);
                known.insert((parent, entered, entry), next);
            }
        }
        let listed = (0..nodes.len() as u32).map(|at| children.of(NodeId(at)).count());
        assert_eq!(listed.sum::<usize>(), nodes.len() - 1);
        let of_root = nodes.iter().skip(1).filter(|n| n.parent == NodeId::ROOT);
        assert_eq!(children.of(NodeId::ROOT).count(), of_root.count());
    }
}
