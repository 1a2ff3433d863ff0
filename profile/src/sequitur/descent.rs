//! The inside of a rule that is expected behind a pending match.
//!
//! If a pending match ends in front of a rule, the terminals that follow are likely to be that rule's.
//! While they are, none of the symbols, digrams and matches of which the published algorithm builds the rule needs to
//! be made: it is enough to know how far they are, in the rule, in the rule inside it that comes next, and so on.
//! [`Sequitur::spill`] makes them when something else comes.
//!
//! The only lookup left is whether the published algorithm would build something else. The first symbol of a body,
//! while the second one is not complete yet, stands beside what is built of that one, first a terminal, then perhaps a
//! rule. Such a pair must not be known. From the second symbol on, there is a rule to the left that is used nowhere
//! else.

use super::arena::Node;
use super::code::{self, Code};
use super::replace::key;
use super::tail::Match;
use super::{Sequitur, table};

/// How far a rule's body has been read.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    guard: u32,
    /// The last symbol that is complete; the guard if none is.
    at: u32,
    /// Complete symbols.
    complete: u32,
}

impl Sequitur {
    /// Takes a terminal in if it is what is expected behind the last match, whose node is the last
    /// one. What has to be taken in by other means then: the terminal, or the rule that it ends.
    #[inline]
    pub(super) fn follow(&mut self, terminal: Code) -> Option<Code> {
        let Some(level) = self.descent.last() else {
            let next = self.next(self.last_of_match());
            let expected = self.symbol(next);
            if expected & code::RULE == 0 || self.is_in_match(next) {
                return Some(terminal);
            }
            let fits = self.descend(expected, terminal);
            return (!fits).then_some(terminal);
        };
        let next = self.next(level.at);
        let expected = self.symbol(next);
        if expected == terminal {
            return self.complete(next, terminal);
        }
        let beside = (level.complete == 1).then(|| self.symbol(level.at));
        let depth = self.descent.len();
        let fits = expected & code::RULE != 0
            && !self.is_in_match(next)
            && self.descend(expected, terminal);
        if !fits {
            // No rule around it can be completed any more.
            self.settle();
            return Some(terminal);
        }
        if beside.is_some_and(|left| self.is_known_pair(left, terminal, depth)) {
            self.descent.truncate(depth);
            self.spill();
            return Some(terminal);
        }
        None
    }

    /// Enters `expected`, a rule, if `terminal` is the first one of its expansion.
    #[inline(always)]
    fn descend(&mut self, mut expected: Code, terminal: Code) -> bool {
        let begins = |symbol| symbol == code::GUARD | terminal;
        if !code::rule(expected).is_some_and(|guard| begins(self.symbol(guard))) {
            return false;
        }
        let depth = self.descent.len();
        // If a rule's expansion begins with `terminal`, so does that of the rule that its body begins with.
        while let Some(guard) = code::rule(expected) {
            let Node { symbol, next, .. } = *self.node(guard);
            debug_assert!(begins(symbol));
            let Node {
                symbol: first,
                mark,
                ..
            } = *self.node(next);
            if self.is_marked(mark) {
                self.descent.truncate(depth);
                return false;
            }
            expected = first;
            self.descent.push(if expected == terminal {
                Level {
                    guard,
                    at: next,
                    complete: 1,
                }
            } else {
                Level {
                    guard,
                    at: guard,
                    complete: 0,
                }
            });
        }
        true
    }

    /// The last level's next symbol, at `next`, is complete, and perhaps levels with it.
    #[inline]
    fn complete(&mut self, mut next: u32, mut symbol: Code) -> Option<Code> {
        while let Some(&Level {
            guard,
            at,
            complete,
        }) = self.descent.last()
        {
            let Node {
                next: after, mark, ..
            } = *self.node(next);
            let is_settled = !self.is_marked(mark)
                && match complete {
                    0 => !self.is_known_beside(symbol),
                    _ => self.symbol(at) != symbol || self.is_steady(at, next),
                };
            if !is_settled {
                self.spill();
                break;
            }
            if after != guard {
                if let Some(level) = self.descent.last_mut() {
                    (level.at, level.complete) = (next, complete + 1);
                }
                return None;
            }
            self.descent.pop();
            symbol = code::RULE | guard;
            if let Some(level) = self.descent.last() {
                next = self.next(level.at);
            }
        }
        self.count_use(symbol);
        Some(symbol)
    }

    /// Whether what stands to the left of the last level, which is empty, makes a known pair with
    /// `symbol`.
    #[inline(never)]
    fn is_known_beside(&self, symbol: Code) -> bool {
        let depth = self.descent.len() - 1;
        let around = self.descent[..depth].iter();
        match around.rev().find(|level| level.complete > 0) {
            Some(level) if level.complete == 1 => {
                self.is_known_pair(self.symbol(level.at), symbol, depth)
            }
            _ => false,
        }
    }

    /// Whether a pair of symbols is in the table, or would be if the first `depth` levels were
    /// spilled.
    fn is_known_pair(&self, left: Code, right: Code, depth: usize) -> bool {
        if left == right {
            return true;
        }
        let hash = table::hash(key(left, right));
        if self.find_digram(hash, left, right).is_ok() {
            return true;
        }
        let mut before = None;
        for level in self.descent[..depth].iter().filter(|l| l.complete > 0) {
            let single = (level.complete == 1).then(|| self.symbol(level.at));
            if before == Some(left) && single == Some(right) {
                return true;
            }
            before = single;
        }
        false
    }

    /// Makes the symbols, digrams and matches of all levels.
    pub(super) fn spill(&mut self) {
        let mut descent = std::mem::take(&mut self.descent);
        for level in descent.drain(..) {
            match level.complete {
                0 => {}
                1 => {
                    let symbol = self.symbol(level.at);
                    self.count_use(symbol);
                    let before = self.append(symbol);
                    self.check(before);
                }
                _ => {
                    self.serial += 1;
                    let serial = self.serial;
                    let first = self.next(level.guard);
                    let mut node = first;
                    loop {
                        self.node_mut(node).mark = serial;
                        if node == level.at {
                            break;
                        }
                        node = self.next(node);
                    }
                    self.append(code::PENDING);
                    let node = self.last();
                    self.matches
                        .push(Match::new(node, first, level.at, self.serial));
                }
            }
        }
        self.descent = descent;
    }

    /// The symbols of the grammar that [`Self::spill`] would make, and those of the rules of the
    /// matches.
    pub(super) fn symbols_in_descent(&self) -> usize {
        let symbols = |level: &Level| match level.complete {
            0 => 0,
            1 => 1,
            _ => 3,
        };
        self.descent.iter().map(symbols).sum()
    }

    /// The rules that the matches of [`Self::spill`] would be.
    pub(super) fn rules_in_descent(&self) -> usize {
        self.descent.iter().filter(|l| l.complete > 1).count()
    }
}
