//! A finished grammar in two flat arrays.

use bitvec::vec::BitVec;
use serde::{Deserialize, Serialize};

use super::{NO_NODE, START, Sequitur, code};

/// One symbol of a rule's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GrammarSymbol {
    /// A terminal, by its number in [`Grammar::terminals`].
    Terminal(u32),
    /// A use of the rule with this number.
    Rule(u32),
    /// The end of a subsequence; only in the start rule.
    Terminator,
}

/// A grammar with its rules numbered from 0, the start rule. 8 bytes for each symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grammar {
    /// Body of rule r: `symbols[offsets[r]..offsets[r + 1]]`.
    offsets: Vec<u32>,
    symbols: Vec<GrammarSymbol>,
    terminals: Vec<u64>,
}

impl Sequitur {
    /// The grammar as it is now. Rules are numbered in the order in which they first occur, the
    /// bodies of lower-numbered rules first, so that equal grammars have equal numbers.
    pub fn grammar(&self) -> Grammar {
        if self.is_settled() {
            return self.settled_grammar();
        }
        let mut settled = self.clone();
        settled.settle();
        settled.settled_grammar()
    }

    fn settled_grammar(&self) -> Grammar {
        // By the guard of a rule.
        let mut numbers = vec![NO_NODE; self.nodes.len()];
        let mut order = Vec::with_capacity(self.live_rules);
        let mut offsets = Vec::with_capacity(self.live_rules + 1);
        let mut symbols = Vec::with_capacity(self.live_nodes - self.live_rules);
        numbers[Self::START_GUARD as usize] = START;
        order.push(Self::START_GUARD);
        let mut number = 0;
        while let Some(&guard) = order.get(number) {
            offsets.push(symbols.len() as u32);
            let mut node = self.next(guard);
            while node != guard {
                let symbol = self.symbol(node);
                symbols.push(match code::rule(symbol) {
                    Some(used) => {
                        let known = &mut numbers[used as usize];
                        if *known == NO_NODE {
                            *known = order.len() as u32;
                            order.push(used);
                        }
                        GrammarSymbol::Rule(*known)
                    }
                    None if symbol == code::TERMINATOR => GrammarSymbol::Terminator,
                    None => GrammarSymbol::Terminal(symbol),
                });
                node = self.next(node);
            }
            number += 1;
        }
        offsets.push(symbols.len() as u32);
        Grammar {
            offsets,
            symbols,
            terminals: self.numbers.terminals().to_vec(),
        }
    }
}

impl Grammar {
    /// The number of the start rule, whose expansion is the whole sequence.
    pub const START: u32 = START;

    /// The number of rules, the start rule included.
    pub fn rules(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    /// The symbols of a rule's body.
    ///
    /// # Panics
    /// When there is no rule of that number.
    pub fn body(&self, rule: u32) -> &[GrammarSymbol] {
        let rule = rule as usize;
        &self.symbols[self.offsets[rule] as usize..self.offsets[rule + 1] as usize]
    }

    /// The rules that a rule's body uses, once for each use.
    pub fn used_rules(&self, rule: u32) -> impl Iterator<Item = u32> {
        self.body(rule).iter().filter_map(|symbol| match symbol {
            GrammarSymbol::Rule(used) => Some(*used),
            _ => None,
        })
    }

    /// The terminals by number.
    pub fn terminals(&self) -> &[u64] {
        &self.terminals
    }

    /// All rules in reverse postorder from the start rule: each before the rules that it uses.
    pub fn reverse_postorder(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.rules() as usize);
        let mut seen: BitVec = BitVec::repeat(false, self.rules() as usize);
        // A rule and the position in `symbols` from which its uses are still to be visited.
        let mut stack = vec![(Self::START, self.offsets[START as usize])];
        seen.set(START as usize, true);
        while let Some((rule, position)) = stack.last_mut() {
            let end = self.offsets[*rule as usize + 1];
            if *position == end {
                order.push(*rule);
                stack.pop();
                continue;
            }
            let symbol = self.symbols[*position as usize];
            *position += 1;
            if let GrammarSymbol::Rule(used) = symbol
                && !seen.replace(used as usize, true)
            {
                stack.push((used, self.offsets[used as usize]));
            }
        }
        order.reverse();
        order
    }

    /// The number of terminals in each rule's expansion, given the rules in an order in which
    /// each comes before those that it uses. Saturates.
    pub fn lengths(&self, order: &[u32]) -> Vec<u64> {
        let mut lengths = vec![0u64; self.rules() as usize];
        for &rule in order.iter().rev() {
            lengths[rule as usize] = self.body(rule).iter().fold(0u64, |sum, symbol| {
                sum.saturating_add(match symbol {
                    GrammarSymbol::Terminal(_) => 1,
                    GrammarSymbol::Rule(used) => lengths[*used as usize],
                    GrammarSymbol::Terminator => 0,
                })
            });
        }
        lengths
    }

    /// The number of terminals in the sequence; `None` if this is no grammar: a symbol names what is not there, or a rule
    /// uses itself. A grammar that was read from a file may be none.
    pub(crate) fn length(&self) -> Option<u64> {
        let ends = (self.offsets.first(), self.offsets.last());
        let is_whole = ends == (Some(&0), Some(&u32::try_from(self.symbols.len()).ok()?));
        let names_what_is_there = |symbol: &GrammarSymbol| match *symbol {
            GrammarSymbol::Terminal(number) => (number as usize) < self.terminals.len(),
            GrammarSymbol::Rule(rule) => (rule as usize) < self.offsets.len() - 1,
            GrammarSymbol::Terminator => true,
        };
        if self.offsets.len() < 2
            || !is_whole
            || !self.offsets.is_sorted()
            || !self.symbols.iter().all(names_what_is_there)
        {
            return None;
        }
        let order = self.reverse_postorder();
        let mut places = vec![0; self.rules() as usize];
        for (place, &rule) in order.iter().enumerate() {
            places[rule as usize] = place;
        }
        let uses_later_ones = |&rule: &u32| {
            let mut used = self.used_rules(rule);
            used.all(|used| places[used as usize] > places[rule as usize])
        };
        let is_tree = order.iter().all(uses_later_ones);
        is_tree.then(|| self.lengths(&order)[START as usize])
    }

    /// The terminals of a rule's expansion, terminators left out.
    pub fn expand(&self, rule: u32) -> Vec<u64> {
        let mut expansion = Vec::new();
        self.for_each_symbol(rule, |terminal| expansion.extend(terminal));
        expansion
    }

    /// Visits a rule's expansion in order: a terminal, or `None` for a terminator.
    pub fn for_each_symbol(&self, rule: u32, mut visit: impl FnMut(Option<u64>)) {
        let mut stack = vec![self.body(rule).iter()];
        while let Some(rest) = stack.last_mut() {
            match rest.next() {
                None => {
                    stack.pop();
                }
                Some(GrammarSymbol::Rule(used)) => stack.push(self.body(*used).iter()),
                Some(GrammarSymbol::Terminal(number)) => {
                    visit(Some(self.terminals[*number as usize]));
                }
                Some(GrammarSymbol::Terminator) => visit(None),
            }
        }
    }
}
