//! Symbols in one array, linked by 32-bit indices.
//!
//! A rule is known by its guard, the node that closes the ring of its body, and has nothing besides:
//! from a use of the rule, one access leads to all that is asked of it. In a large grammar nearly
//! every access has to wait for memory.

use super::code::{self, Code};
use super::{NO_NODE, Sequitur};

/// One symbol of a rule's body, or the guard of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    /// In a guard, the first terminal of the rule's expansion with the mark of a guard. An expansion
    /// stays the same as long as there is the rule, whatever becomes of its body; only the start
    /// rule's, which nothing uses, is not kept.
    pub symbol: Code,
    pub previous: u32,
    pub next: u32,
    /// The serial number of the last pending match that this node was part of; 0 for none. In a
    /// guard, the rule's uses in all bodies.
    pub mark: u32,
}

impl Sequitur {
    /// A node of the arena. Unchecked, because nearly every step of the algorithm is one of these:
    /// with bounds checks the one-pass sweep takes more host instructions (`docs/measurements/grid-speed.md`).
    #[inline(always)]
    pub(super) fn node(&self, node: u32) -> &Node {
        debug_assert!((node as usize) < self.nodes.len(), "no node {node}");
        // SAFETY: whoever names a node has its index from `new_node` or from a link of a live node,
        // which leads to another one; the start rule's guard is always there. The arena shrinks only
        // in `clear`, which forgets every index.
        unsafe { self.nodes.get_unchecked(node as usize) }
    }

    /// A node of the arena; see [`Self::node`].
    #[inline(always)]
    pub(super) fn node_mut(&mut self, node: u32) -> &mut Node {
        debug_assert!((node as usize) < self.nodes.len(), "no node {node}");
        // SAFETY: as in `node`.
        unsafe { self.nodes.get_unchecked_mut(node as usize) }
    }

    #[inline(always)]
    pub(super) fn symbol(&self, node: u32) -> Code {
        self.node(node).symbol
    }

    #[inline(always)]
    pub(super) fn next(&self, node: u32) -> u32 {
        self.node(node).next
    }

    #[inline(always)]
    pub(super) fn previous(&self, node: u32) -> u32 {
        self.node(node).previous
    }

    #[inline(always)]
    pub(super) fn link(&mut self, left: u32, right: u32) {
        self.node_mut(left).next = right;
        self.node_mut(right).previous = left;
    }

    #[inline(always)]
    pub(super) fn is_guard(&self, node: u32) -> bool {
        let symbol = self.symbol(node);
        symbol & (code::GUARD | code::RULE) == code::GUARD
    }

    /// A node that is not linked yet.
    #[inline(always)]
    pub(super) fn new_node(&mut self, symbol: Code) -> u32 {
        self.live_nodes += 1;
        let fresh = |node| Node {
            symbol,
            previous: node,
            next: node,
            mark: 0,
        };
        if self.free_node == NO_NODE {
            let node = self.nodes.len() as u32;
            self.nodes.push(fresh(node));
            node
        } else {
            let node = self.free_node;
            self.free_node = self.next(node);
            *self.node_mut(node) = fresh(node);
            node
        }
    }

    #[inline(always)]
    pub(super) fn free(&mut self, node: u32) {
        let next = self.free_node;
        *self.node_mut(node) = Node {
            symbol: code::FREE,
            previous: NO_NODE,
            next,
            mark: 0,
        };
        self.free_node = node;
        self.live_nodes -= 1;
    }

    /// The guard of a new rule without a body or a use, whose expansion begins as `symbol` does.
    pub(super) fn new_rule(&mut self, symbol: Code) -> u32 {
        self.live_rules += 1;
        let first = code::rule(symbol).map_or(code::GUARD | symbol, |guard| self.symbol(guard));
        self.new_node(first)
    }

    /// Frees a rule's guard; the body lives elsewhere.
    pub(super) fn free_rule(&mut self, guard: u32) {
        self.free(guard);
        self.live_rules -= 1;
    }

    /// The uses of the rule with this guard.
    #[inline(always)]
    pub(super) fn uses(&self, guard: u32) -> u32 {
        debug_assert!(self.is_guard(guard));
        self.node(guard).mark
    }

    #[inline(always)]
    pub(super) fn uses_mut(&mut self, guard: u32) -> &mut u32 {
        debug_assert!(self.is_guard(guard));
        &mut self.node_mut(guard).mark
    }

    /// Adds a symbol at the end of the start rule and returns the node before it.
    #[inline(always)]
    pub(super) fn append(&mut self, symbol: Code) -> u32 {
        let last = self.last();
        let node = self.new_node(symbol);
        self.link(last, node);
        self.link(node, Self::START_GUARD);
        last
    }

    /// The last symbol of the start rule, or its guard.
    #[inline(always)]
    pub(super) fn last(&self) -> u32 {
        self.previous(Self::START_GUARD)
    }

    #[inline(always)]
    pub(super) fn count_use(&mut self, symbol: Code) {
        if let Some(guard) = code::rule(symbol) {
            *self.uses_mut(guard) += 1;
        }
    }

    #[inline(always)]
    pub(super) fn drop_use(&mut self, symbol: Code) {
        if let Some(guard) = code::rule(symbol) {
            *self.uses_mut(guard) -= 1;
        }
    }
}
