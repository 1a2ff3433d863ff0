//! The published algorithm, one digram at a time.
//!
//! The recursion of the published code is a stack here, of nodes whose digram may have become a duplicate. A node on
//! that stack may be freed or reused before its turn: checking a live digram once too often does no harm, and a freed
//! node is recognized. The published code also lets a digram that comes into being when a rule is expanded overwrite an
//! equal one elsewhere; here it is checked like any other, so that uniqueness holds without exception.
//!
//! Three cases are handled although no input tried so far (tens of thousands of random ones) leads
//! to them: the left neighbour in `Sequitur::forget`, the newer digram as a whole body and the
//! last symbol as the underused one in `Sequitur::replace_both`. They cost nothing measurable,
//! and the constraints do not have to rest on an argument about the order of events.

use super::arena::Node;
use super::code::{self, Code};
use super::{Sequitur, table};

/// The key of a digram.
#[inline]
pub fn key(left: Code, right: Code) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Sequitur {
    /// Restores the constraints for all nodes that have to be checked. Needs a settled tail.
    pub(super) fn check_pending(&mut self) {
        while let Some(node) = self.pending.pop() {
            self.check(node);
        }
    }

    /// The digram that starts at `node`, unless one of its symbols cannot be part of one.
    #[inline]
    pub(super) fn digram(&self, node: u32) -> Option<u64> {
        let Node { symbol, next, .. } = *self.node(node);
        if !code::pairs(symbol) {
            return None;
        }
        let right = self.symbol(next);
        code::pairs(right).then(|| key(symbol, right))
    }

    /// Where in the grammar a digram is known to stand, or the slot of the table for it.
    #[inline]
    pub(super) fn find_digram(&self, hash: u32, left: Code, right: Code) -> Result<u32, usize> {
        self.digrams.find(hash, |node| {
            let node = self.node(node);
            node.symbol == left && self.symbol(node.next) == right
        })
    }

    /// Takes the digram at `node` out of the table, before one of its symbols changes.
    pub(super) fn forget(&mut self, node: u32) {
        let Some(key) = self.digram(node) else { return };
        if !self.digrams.remove(table::hash(key), node) {
            return;
        }
        // In a run of one symbol the overlapping neighbours were not in the table because of this
        // digram. They are on their own now.
        let (left, right) = (self.previous(node), self.next(node));
        if self.digram(left) == Some(key) {
            self.pending.push(left);
        }
        if self.digram(right) == Some(key) {
            self.pending.push(right);
        }
    }

    /// Restores digram uniqueness for the digram at `node`.
    pub(super) fn check(&mut self, node: u32) {
        let Some(key) = self.digram(node) else { return };
        let hash = table::hash(key);
        match self.find_digram(hash, (key >> 32) as Code, key as Code) {
            Err(slot) => self.digrams.insert_at(slot, hash, node),
            Ok(known) => {
                if known != node && self.next(known) != node && self.next(node) != known {
                    self.replace_both(known, node, key);
                }
            }
        }
    }

    /// The guard of the rule whose whole body is the digram at `node`.
    #[inline]
    pub(super) fn rule_of_digram(&self, node: u32) -> Option<u32> {
        let before = self.previous(node);
        let after = self.next(self.next(node));
        (before == after && self.is_guard(before)).then_some(before)
    }

    /// Replaces two equal digrams by a rule, and restores rule utility.
    fn replace_both(&mut self, known: u32, node: u32, key: u64) {
        let guard = if let Some(guard) = self.rule_of_digram(known) {
            self.substitute(node, guard);
            guard
        } else if let Some(guard) = self.rule_of_digram(node) {
            self.substitute(known, guard);
            self.register(node, key);
            guard
        } else {
            let (left_symbol, right_symbol) = ((key >> 32) as Code, key as Code);
            let guard = self.new_rule(left_symbol);
            let left = self.new_node(left_symbol);
            let right = self.new_node(right_symbol);
            self.link(guard, left);
            self.link(left, right);
            self.link(right, guard);
            self.count_use(left_symbol);
            self.count_use(right_symbol);
            self.substitute(known, guard);
            self.substitute(node, guard);
            self.register(left, key);
            guard
        };
        // Only the two symbols of the digram have lost uses, and what use may be left of either
        // is at an end of this rule's body.
        self.expand_if_underused(self.next(guard));
        self.expand_if_underused(self.previous(guard));
    }

    /// Enters the digram at `node`, both former places of which are gone.
    fn register(&mut self, node: u32, key: u64) {
        let hash = table::hash(key);
        let found = self.find_digram(hash, (key >> 32) as Code, key as Code);
        debug_assert!(found.is_err(), "the digram stands somewhere else, too");
        if let Err(slot) = found {
            self.digrams.insert_at(slot, hash, node);
        }
    }

    /// Puts one use of the rule with this guard in the place of the digram at `node`.
    fn substitute(&mut self, node: u32, guard: u32) {
        let before = self.previous(node);
        let second = self.next(node);
        let after = self.next(second);
        self.forget(before);
        self.forget(node);
        self.forget(second);
        self.drop_use(self.symbol(node));
        self.drop_use(self.symbol(second));
        self.node_mut(node).symbol = code::RULE | guard;
        *self.uses_mut(guard) += 1;
        self.link(node, after);
        self.free(second);
        // The left digram is checked first, as in the published algorithm.
        self.pending.push(node);
        self.pending.push(before);
    }

    /// Puts the body of the rule that `node` uses in the place of `node`, if that is its only use.
    fn expand_if_underused(&mut self, node: u32) {
        let Some(guard) = code::rule(self.symbol(node)) else {
            return;
        };
        if self.uses(guard) != 1 {
            return;
        }
        let (before, after) = (self.previous(node), self.next(node));
        let (first, last) = (self.next(guard), self.previous(guard));
        self.forget(before);
        self.forget(node);
        self.link(before, first);
        self.link(last, after);
        self.free(node);
        self.free_rule(guard);
        self.pending.push(last);
        self.pending.push(before);
    }
}
