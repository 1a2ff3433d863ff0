//! Dominators and natural loops.
//!
//! After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001.

use bitvec::vec::BitVec;

use super::Cfg;

/// A natural loop: all blocks from which control comes back to the header without leaving through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block through which control enters.
    pub header: usize,
    /// The blocks, the header included, in ascending order.
    pub blocks: Vec<usize>,
    /// The edges that lead back to the header, as places in [`Cfg::edges`].
    pub back_edges: Vec<usize>,
}

impl Cfg {
    /// For each node the one that dominates it immediately; none for the entry and for what is not reached from it.
    #[must_use]
    pub fn dominators(&self) -> Vec<Option<usize>> {
        let order = self.postorder();
        let mut number = vec![usize::MAX; self.nodes()];
        for (at, node) in order.iter().enumerate() {
            number[*node] = at;
        }
        let entry = self.entry();
        let mut dominator = vec![None; self.nodes()];
        dominator[entry] = Some(entry);
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().filter(|n| **n != entry) {
                let from = self.into(node).iter().map(|e| self.edges[*e].from);
                let known = from.filter(|f| dominator[*f].is_some());
                let new = known.reduce(|a, b| common(a, b, &dominator, &number));
                if new.is_some() && new != dominator[node] {
                    dominator[node] = new;
                    changed = true;
                }
            }
        }
        dominator[entry] = None;
        dominator
    }

    /// The natural loops, by their headers in ascending order. Cycles that can be entered at several blocks have none.
    #[must_use]
    pub fn loops(&self) -> Vec<Loop> {
        let dominator = self.dominators();
        let dominates = |a: usize, b: usize| {
            std::iter::successors(Some(b), |node| dominator[*node]).any(|node| node == a)
        };
        let mut loops: Vec<Loop> = Vec::new();
        for header in 0..self.blocks.len() {
            let back = self.into(header).iter().copied();
            let back: Vec<usize> = back
                .filter(|e| dominates(header, self.edges[*e].from))
                .collect();
            if back.is_empty() {
                continue;
            }
            let mut inside: BitVec = BitVec::repeat(false, self.nodes());
            inside.set(header, true);
            let mut open: Vec<usize> = back.iter().map(|e| self.edges[*e].from).collect();
            while let Some(node) = open.pop() {
                if !inside.replace(node, true) {
                    open.extend(self.into(node).iter().map(|e| self.edges[*e].from));
                }
            }
            loops.push(Loop {
                header,
                blocks: inside[..self.blocks.len()].iter_ones().collect(),
                back_edges: back,
            });
        }
        loops
    }

    /// The nodes that are reached from the entry, each behind those to which it leads.
    fn postorder(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen: BitVec = BitVec::repeat(false, self.nodes());
        let mut path = vec![(self.entry(), 0)];
        seen.set(self.entry(), true);
        while let Some((node, next)) = path.pop() {
            match self.out_of(node).get(next) {
                Some(edge) => {
                    path.push((node, next + 1));
                    let to = self.edges[*edge].to;
                    if !seen.replace(to, true) {
                        path.push((to, 0));
                    }
                }
                None => order.push(node),
            }
        }
        order
    }
}

/// The node nearest to two others that dominates both.
fn common(mut a: usize, mut b: usize, dominator: &[Option<usize>], number: &[usize]) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = dominator[a].unwrap_or(a);
        }
        while number[b] < number[a] {
            b = dominator[b].unwrap_or(b);
        }
    }
    a
}
