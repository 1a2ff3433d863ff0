//! Symbols and rules in arrays, linked by 32-bit indices.

use super::code::{self, Code};
use super::{NO_NODE, Sequitur};

/// One symbol of a rule's body, or the guard of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub symbol: Code,
    pub previous: u32,
    pub next: u32,
    /// The serial number of the last pending match that this node was part of; 0 for none.
    pub mark: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The node that closes the ring of the body; [`NO_NODE`] on the free list.
    pub guard: u32,
    /// Occurrences in all bodies; on the free list, the next free rule.
    pub uses: u32,
    /// Terminals in the expansion. Saturates. Not kept for the start rule.
    pub length: u32,
}

impl Sequitur {
    /// A node of the arena. Unchecked, because nearly every step of the algorithm is one of these:
    /// with bounds checks the one-pass sweep takes more host instructions (ARCHITECTURE.md).
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

    /// A rule without a body or a use.
    pub(super) fn new_rule(&mut self) -> u32 {
        self.live_rules += 1;
        let rule = if self.free_rule == NO_NODE {
            self.rules.push(Rule {
                guard: NO_NODE,
                uses: 0,
                length: 0,
            });
            self.rules.len() as u32 - 1
        } else {
            let rule = self.free_rule;
            self.free_rule = self.rules[rule as usize].uses;
            rule
        };
        let guard = self.new_node(code::GUARD | rule);
        self.rules[rule as usize] = Rule {
            guard,
            uses: 0,
            length: 0,
        };
        rule
    }

    /// Frees a rule and its guard; the body lives elsewhere.
    pub(super) fn free_rule(&mut self, rule: u32) {
        let guard = self.rules[rule as usize].guard;
        self.free(guard);
        self.rules[rule as usize] = Rule {
            guard: NO_NODE,
            uses: self.free_rule,
            length: 0,
        };
        self.free_rule = rule;
        self.live_rules -= 1;
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

    /// Terminals that a symbol of a body stands for.
    #[inline(always)]
    pub(super) fn length(&self, symbol: Code) -> u32 {
        code::rule(symbol).map_or(1, |rule| self.rules[rule as usize].length)
    }

    #[inline(always)]
    pub(super) fn count_use(&mut self, symbol: Code) {
        if let Some(rule) = code::rule(symbol) {
            self.rules[rule as usize].uses += 1;
        }
    }

    #[inline(always)]
    pub(super) fn drop_use(&mut self, symbol: Code) {
        if let Some(rule) = code::rule(symbol) {
            self.rules[rule as usize].uses -= 1;
        }
    }
}
