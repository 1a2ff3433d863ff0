//! Symbols at the end of the start rule, without the work that the next symbol undoes.
//!
//! While a sequence that occurred before occurs again, the published algorithm makes a rule of its
//! first two symbols, with the third symbol a rule of three in the place of that, and so on. If the
//! sequence is a whole rule's body, the last symbol takes all of that back, but for one more use of
//! the rule. Here the occurrence before is followed symbol by symbol instead: a **pending match** is a
//! run of siblings somewhere in the grammar, and one node at the end of the start rule that stands for
//! the rule that the run is in the published algorithm. When the run is a whole body, the node becomes
//! a use of that rule. When it cannot get longer, the rule is made, once ([`Sequitur::settle`]).
//!
//! Rules inside a run are followed without a node of their own, see `descent`; if it turns out that they
//! are not what comes, further pending matches take over, so that there is a stack of them.
//!
//! The result is the grammar of the published algorithm, in everything but the numbers of rules:
//!
//! * The rule of a pending match would be used exactly twice, so none of the digrams that it is part of
//!   can be found by anything else, and they need not be in the table.
//! * Digrams inside the run, and those that lie across one of its ends, are those that it would hide or
//!   change. Whoever finds one of them in the table settles all matches and goes on with the published
//!   algorithm.
//! * Of two overlapping digrams in a row of three equal symbols, one is in the table. The published
//!   algorithm enters the first one when it takes the three in again. Where it is the second one, it goes
//!   to work itself, and so it does where a rule would lose its last use but one.

use super::code::{self, Code};
use super::replace::key;
use super::{Sequitur, table};

/// A run of siblings that the end of the sequence repeats.
#[derive(Debug, Clone, Copy)]
pub struct Match {
    /// The node at the end of the start rule that stands for the run's repetition.
    node: u32,
    /// The first and the last sibling of the run.
    first: u32,
    last: u32,
    /// The mark of the nodes of the run.
    serial: u32,
}

impl Match {
    pub fn new(node: u32, first: u32, last: u32, serial: u32) -> Self {
        Self {
            node,
            first,
            last,
            serial,
        }
    }
}

/// A digram at the very end of the start rule that is not in the table yet.
#[derive(Debug, Clone, Copy)]
pub struct Deferred {
    slot: usize,
    hash: u32,
    node: u32,
}

/// Most pending matches at a time; with more, the oldest is settled.
const MOST_MATCHES: usize = 32;

impl Sequitur {
    /// Takes in the next symbol of the sequence, a terminal.
    #[inline(always)] // into the only loop around it
    pub(super) fn receive(&mut self, terminal: Code) {
        let mut symbol = terminal;
        if self.symbol(self.last()) == code::PENDING {
            match self.follow(terminal) {
                None => return,
                Some(left) => symbol = left,
            }
        }
        // Each round either ends or puts a rule in the place of `symbol` and the last node.
        loop {
            let last = self.last();
            let left = self.symbol(last);
            let rule = if left == code::PENDING {
                self.extend_match(symbol)
            } else if code::pairs(left) {
                self.combine(last, left, symbol)
            } else {
                self.append(symbol);
                None
            };
            match rule {
                Some(guard) => symbol = code::RULE | guard,
                None => break,
            }
        }
        if !self.pending.is_empty() {
            self.settle();
            self.check_pending();
        }
    }

    /// Whether there is neither a pending match nor a digram that waits.
    pub(super) fn is_settled(&self) -> bool {
        self.matches.is_empty() && self.deferred.is_none()
    }

    /// Turns pending matches into rules, as the published algorithm has them.
    pub(crate) fn settle(&mut self) {
        self.enter_deferred();
        if self.matches.is_empty() {
            return;
        }
        self.spill();
        let mut matches = std::mem::take(&mut self.matches);
        for found in matches.drain(..) {
            self.make_rule(found);
        }
        self.matches = matches;
        self.check_pending();
    }

    /// The last sibling of the last match's run.
    #[inline]
    pub(super) fn last_of_match(&self) -> u32 {
        self.matches[self.matches.len() - 1].last
    }

    /// Compares `symbol` with what follows the run of the last match, whose node is the last one. The
    /// guard of a rule if the run is now its body; the node is gone then.
    #[inline]
    fn extend_match(&mut self, symbol: Code) -> Option<u32> {
        let at = self.matches.len() - 1;
        let found = self.matches[at];
        let next = self.next(found.last);
        let expected = self.symbol(next);
        if expected != symbol || self.is_in_match(next) {
            self.append(symbol);
            self.settle_last();
            return None;
        }
        if self.symbol(found.last) == symbol && !self.is_steady(found.last, next) {
            return self.by_the_book(symbol);
        }
        let after = self.next(next);
        self.drop_use(symbol);
        if self.previous(found.first) == after {
            // Only a guard stands on both sides.
            self.matches.pop();
            self.remove_last(found.node);
            *self.uses_mut(after) += 1;
            return Some(after);
        }
        self.node_mut(next).mark = found.serial;
        self.matches[at].last = next;
        None
    }

    /// Appends `symbol` behind the last node, or puts a rule or a pending match in the place of both.
    /// The guard of the rule, if it is one; the last node is gone then.
    #[inline]
    fn combine(&mut self, last: u32, left: Code, symbol: Code) -> Option<u32> {
        self.lookups += 1;
        let hash = table::hash(key(left, symbol));
        let known = match self.find_digram(hash, left, symbol) {
            Ok(known) => known,
            Err(slot) => {
                self.append_new_digram(last, left, symbol, hash, slot);
                return None;
            }
        };
        if self.next(known) == last {
            // Overlapping, in a run of one symbol.
            self.enter_deferred();
            self.append(symbol);
            return None;
        }
        if let Some(guard) = self.rule_of_digram(known) {
            if self.would_be_underused(left, symbol) {
                return self.by_the_book(symbol);
            }
            self.forget_before(last);
            self.remove_last(last);
            self.drop_use(left);
            self.drop_use(symbol);
            *self.uses_mut(guard) += 1;
            return Some(guard);
        }
        let known_right = self.next(known);
        if self.is_in_match(known)
            || self.is_in_match(known_right)
            || self.would_be_underused(left, symbol)
            || (left == symbol && self.is_behind_equal(last, known, symbol))
        {
            return self.by_the_book(symbol);
        }
        self.begin_match(last, known, known_right);
        self.drop_use(left);
        self.drop_use(symbol);
        None
    }

    /// Makes the last node stand for the repetition of the digram at `known`.
    fn begin_match(&mut self, last: u32, known: u32, known_right: u32) {
        self.forget_before(last);
        self.node_mut(last).symbol = code::PENDING;
        self.serial += 1;
        let serial = self.serial;
        self.node_mut(known).mark = serial;
        self.node_mut(known_right).mark = serial;
        self.matches.push(Match {
            node: last,
            first: known,
            last: known_right,
            serial: self.serial,
        });
        if self.matches.len() > MOST_MATCHES {
            let oldest = self.matches.remove(0);
            self.make_rule(oldest);
        }
    }

    /// Appends `symbol`, which makes a digram that stands nowhere else.
    #[inline]
    fn append_new_digram(&mut self, last: u32, left: Code, symbol: Code, hash: u32, slot: usize) {
        if let Some(deferred) = self.deferred.take() {
            let slots = self.digrams.memory_bytes();
            self.digrams
                .insert_at(deferred.slot, deferred.hash, deferred.node);
            if deferred.hash == hash || slots != self.digrams.memory_bytes() {
                // The digram may equal the deferred one and overlap it, or the table may have grown.
                if let Err(slot) = self.find_digram(hash, left, symbol) {
                    self.deferred = Some(Deferred {
                        slot,
                        hash,
                        node: last,
                    });
                }
                self.append(symbol);
                return;
            }
        }
        self.append(symbol);
        self.deferred = Some(Deferred {
            slot,
            hash,
            node: last,
        });
    }

    /// Takes the digram of `last` and the node before it out of the table, or does not let it in.
    #[inline]
    fn forget_before(&mut self, last: u32) {
        if self.deferred.take().is_none() {
            self.forget(self.previous(last));
        }
    }

    fn enter_deferred(&mut self) {
        if let Some(deferred) = self.deferred.take() {
            self.digrams
                .insert_at(deferred.slot, deferred.hash, deferred.node);
        }
    }

    #[inline]
    fn remove_last(&mut self, last: u32) {
        let before = self.previous(last);
        self.link(before, Self::START_GUARD);
        self.free(last);
    }

    /// Appends `symbol` and does what the published algorithm does.
    #[cold]
    #[inline(never)]
    fn by_the_book(&mut self, symbol: Code) -> Option<u32> {
        let last = self.append(symbol);
        self.settle();
        self.check(last);
        self.check_pending();
        None
    }

    /// Whether a node, which is not a guard, is part of a pending match's run.
    #[inline]
    pub(super) fn is_in_match(&self, node: u32) -> bool {
        debug_assert!(!self.is_guard(node));
        self.is_marked(self.node(node).mark)
    }

    /// Whether this is the mark of a pending match.
    #[inline]
    pub(super) fn is_marked(&self, mark: u32) -> bool {
        // Most marks are left over from matches that are gone.
        self.matches
            .first()
            .is_some_and(|oldest| mark >= oldest.serial)
            && self.matches.iter().any(|found| found.serial == mark)
    }

    /// Whether a rule among these two symbols would have only one use left without them.
    #[inline]
    fn would_be_underused(&self, left: Code, right: Code) -> bool {
        let both = u32::from(left == right);
        let after =
            |symbol: Code| code::rule(symbol).is_some_and(|guard| self.uses(guard) - both <= 2);
        after(left) || after(right)
    }

    /// Whether the published algorithm would leave the table as it is when it takes in the neighbours
    /// `left` and `right`, which are equal: not if a third equal symbol stands beside them and the first
    /// two of the three are not the digram that is in the table.
    #[inline(never)]
    pub(super) fn is_steady(&self, left: u32, right: u32) -> bool {
        let symbol = self.symbol(left);
        let before = self.previous(left);
        let first = if self.symbol(before) == symbol {
            before
        } else if self.symbol(self.next(right)) == symbol {
            left
        } else {
            return true;
        };
        let hash = table::hash(key(symbol, symbol));
        self.find_digram(hash, symbol, symbol) == Ok(first)
    }

    /// Whether a digram of two equal symbols has a third one before it, at either place.
    fn is_behind_equal(&self, last: u32, known: u32, symbol: Code) -> bool {
        let before = [self.previous(last), self.previous(known)];
        before.iter().any(|&node| self.symbol(node) == symbol)
    }

    /// Settles the last match alone, unless its run touches that of an older one: the rule of that
    /// one must be there first.
    #[inline(never)]
    fn settle_last(&mut self) {
        self.enter_deferred();
        let Some(found) = self.matches.pop() else {
            return;
        };
        let beside = [self.previous(found.first), self.next(found.last)];
        let mut symbols = beside.into_iter().filter(|&node| !self.is_guard(node));
        if symbols.any(|node| self.is_in_match(node)) {
            self.matches.push(found);
            self.settle();
            return;
        }
        self.make_rule(found);
        if !self.pending.is_empty() {
            self.settle();
            self.check_pending();
        }
    }

    /// The rule of a match, in its two places.
    fn make_rule(&mut self, found: Match) {
        let Match {
            node, first, last, ..
        } = found;
        let guard = self.new_rule(self.symbol(first));
        let (before, after) = (self.previous(first), self.next(last));
        self.forget(before);
        self.forget(last);
        let place = self.new_node(code::RULE | guard);
        self.link(before, place);
        self.link(place, after);
        self.link(guard, first);
        self.link(last, guard);
        self.node_mut(node).symbol = code::RULE | guard;
        *self.uses_mut(guard) = 2;
        // A rule's first digrams are new: these only enter them into the table.
        for left in [before, place, self.previous(node), node] {
            self.check(left);
        }
    }
}
