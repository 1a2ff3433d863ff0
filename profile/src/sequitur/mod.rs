//! Sequitur: a context-free grammar of a sequence, built in one pass.
//!
//! Nevill-Manning and Witten, "Identifying Hierarchical Structure in Sequences: A Linear-Time
//! Algorithm", JAIR 7 (1997). Two constraints hold after every symbol:
//!
//! * **digram uniqueness**: no pair of adjacent symbols occurs twice in the grammar, except
//!   overlapping in a run of one symbol;
//! * **rule utility**: every rule but the start rule is used at least twice.
//!
//! Symbols are nodes of one arena, linked by 32-bit indices. What the published code does by
//! recursion is a stack of nodes here whose digram may have become a duplicate. A node on that
//! stack may be freed or reused before its turn: checking a live digram once too often does no
//! harm, and a freed node is recognized. The published code also lets a digram that comes into
//! being when a rule is expanded overwrite an equal one elsewhere; here it is checked like any
//! other, so that uniqueness holds without exception.
//!
//! Three cases are handled although no input tried so far (tens of thousands of random ones) leads
//! to them: the left neighbour in `Sequitur::forget`, the newer digram as a whole body and the
//! last symbol as the underused one in `Sequitur::replace_both`. They cost nothing measurable,
//! and the constraints do not have to rest on an argument about the order of events.

mod grammar;
mod table;
#[cfg(test)]
mod tests;

pub use grammar::{Grammar, GrammarSymbol};

use code::Code;
use table::Table;

/// The 32-bit form of a symbol in a node.
mod code {
    /// A terminal's number, or one of the marks below.
    pub type Code = u32;

    /// Set in a use of a rule; the lower bits are the rule's number.
    pub const RULE: Code = 1 << 31;
    /// Set in the guard that closes the ring of a rule's body; the lower bits are the rule.
    pub const GUARD: Code = 1 << 30;
    /// A terminator.
    pub const TERMINATOR: Code = GUARD - 1;
    /// A node on the free list.
    pub const FREE: Code = GUARD - 2;
    /// First number that is not a terminal's.
    pub const TERMINALS: Code = GUARD - 2;

    /// The rule that a symbol uses, if it is one.
    pub fn rule(symbol: Code) -> Option<u32> {
        (symbol & RULE != 0).then_some(symbol & !RULE)
    }

    /// Whether a symbol can be one half of a digram.
    pub fn pairs(symbol: Code) -> bool {
        symbol < TERMINALS || symbol & RULE != 0
    }
}

/// One symbol of a rule's body, or the guard of a rule.
#[derive(Debug, Clone, Copy)]
struct Node {
    symbol: Code,
    previous: u32,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct Rule {
    /// The node that closes the ring of the body; [`NO_NODE`] on the free list.
    guard: u32,
    /// Occurrences in all bodies; on the free list, the next free rule.
    uses: u32,
}

const NO_NODE: u32 = u32::MAX;
const START: u32 = 0;

/// The grammar of the sequence pushed so far.
///
/// Memory: 12 bytes for each live symbol and each rule's guard, 8 for each rule, 8 for each distinct
/// terminal, and two hash tables that take 24 to 48 bytes for each distinct digram (at most one
/// for each symbol) and each distinct terminal. That is 36 to 120 bytes for each live symbol, the
/// upper end for a sequence in which every terminal is new; vectors that have just grown add up to
/// as much as they hold. [`Self::memory_bytes`] tells what is really held: 45 to 76 bytes in the
/// traces of `examples/sequitur_speed.rs`.
#[derive(Debug, Clone)]
pub struct Sequitur {
    nodes: Vec<Node>,
    free_node: u32,
    live_nodes: usize,
    rules: Vec<Rule>,
    free_rule: u32,
    live_rules: usize,
    /// Digram to the node of its left symbol.
    digrams: Table,
    /// Nodes whose digram has to be checked.
    pending: Vec<u32>,
    /// Terminal to its number.
    numbers: Table,
    /// Number to terminal.
    terminals: Vec<u64>,
}

impl Default for Sequitur {
    fn default() -> Self {
        Self::new()
    }
}

impl Sequitur {
    /// Most live symbols of a grammar, and most distinct terminals: the range of the 30-bit
    /// numbers in a node.
    pub const MAX_SYMBOLS: usize = code::TERMINALS as usize;

    /// The grammar of the empty sequence.
    pub fn new() -> Self {
        let mut sequitur = Self {
            nodes: Vec::new(),
            free_node: NO_NODE,
            live_nodes: 0,
            rules: Vec::new(),
            free_rule: NO_NODE,
            live_rules: 0,
            digrams: Table::new(),
            pending: Vec::new(),
            numbers: Table::new(),
            terminals: Vec::new(),
        };
        sequitur.new_rule();
        sequitur
    }

    /// Forgets the sequence; keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free_node = NO_NODE;
        self.live_nodes = 0;
        self.rules.clear();
        self.free_rule = NO_NODE;
        self.live_rules = 0;
        self.digrams.clear();
        self.pending.clear();
        self.numbers.clear();
        self.terminals.clear();
        self.new_rule();
    }

    /// Appends a terminal.
    ///
    /// # Panics
    /// When the grammar holds [`Self::MAX_SYMBOLS`] symbols; ask [`Self::symbols`] before.
    pub fn push(&mut self, terminal: u64) {
        assert!(
            self.live_nodes < Self::MAX_SYMBOLS,
            "the grammar is full: clear it before it holds {} symbols",
            Self::MAX_SYMBOLS
        );
        let fresh = self.terminals.len() as Code;
        let number = self
            .numbers
            .get_or_insert(terminal, fresh)
            .unwrap_or_else(|| {
                self.terminals.push(terminal);
                fresh
            });
        let last = self.append(number);
        self.check(last);
        while let Some(node) = self.pending.pop() {
            self.check(node);
        }
    }

    /// Ends a subsequence: no digram, and so no rule, ever spans a terminator. At the start and
    /// directly after another terminator it says nothing and is left out.
    pub fn push_terminator(&mut self) {
        let last = self.previous(self.rules[START as usize].guard);
        if code::pairs(self.symbol(last)) {
            self.append(code::TERMINATOR);
        }
    }

    /// Live symbols in all bodies together with the guards of the rules: the grammar's size, by
    /// which its memory grows.
    pub fn symbols(&self) -> usize {
        self.live_nodes
    }

    /// Rules, the start rule included.
    pub fn rules(&self) -> usize {
        self.live_rules
    }

    /// The distinct terminals since the last [`Self::clear`], in order of their first occurrence.
    pub fn distinct_terminals(&self) -> &[u64] {
        &self.terminals
    }

    /// Bytes allocated now, by the capacities of all tables.
    pub fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.rules.capacity() * size_of::<Rule>()
            + self.terminals.capacity() * size_of::<u64>()
            + self.digrams.memory_bytes()
            + self.numbers.memory_bytes()
    }

    fn symbol(&self, node: u32) -> Code {
        self.nodes[node as usize].symbol
    }

    fn next(&self, node: u32) -> u32 {
        self.nodes[node as usize].next
    }

    fn previous(&self, node: u32) -> u32 {
        self.nodes[node as usize].previous
    }

    fn link(&mut self, left: u32, right: u32) {
        self.nodes[left as usize].next = right;
        self.nodes[right as usize].previous = left;
    }

    fn is_guard(&self, node: u32) -> bool {
        let symbol = self.symbol(node);
        symbol & (code::GUARD | code::RULE) == code::GUARD
    }

    fn new_node(&mut self, symbol: Code) -> u32 {
        self.live_nodes += 1;
        if self.free_node == NO_NODE {
            let node = self.nodes.len() as u32;
            self.nodes.push(Node {
                symbol,
                previous: node,
                next: node,
            });
            node
        } else {
            let node = self.free_node;
            self.free_node = self.next(node);
            self.nodes[node as usize] = Node {
                symbol,
                previous: node,
                next: node,
            };
            node
        }
    }

    fn free(&mut self, node: u32) {
        self.nodes[node as usize] = Node {
            symbol: code::FREE,
            previous: NO_NODE,
            next: self.free_node,
        };
        self.free_node = node;
        self.live_nodes -= 1;
    }

    fn new_rule(&mut self) -> u32 {
        self.live_rules += 1;
        let rule = if self.free_rule == NO_NODE {
            self.rules.push(Rule {
                guard: NO_NODE,
                uses: 0,
            });
            self.rules.len() as u32 - 1
        } else {
            let rule = self.free_rule;
            self.free_rule = self.rules[rule as usize].uses;
            rule
        };
        let guard = self.new_node(code::GUARD | rule);
        self.rules[rule as usize] = Rule { guard, uses: 0 };
        rule
    }

    /// Adds a symbol at the end of the start rule and returns the node before it.
    fn append(&mut self, symbol: Code) -> u32 {
        let guard = self.rules[START as usize].guard;
        let last = self.previous(guard);
        let node = self.new_node(symbol);
        self.link(last, node);
        self.link(node, guard);
        last
    }

    /// The digram that starts at `node`, unless one of its symbols cannot be part of one.
    fn digram(&self, node: u32) -> Option<u64> {
        let Node { symbol, next, .. } = self.nodes[node as usize];
        if !code::pairs(symbol) {
            return None;
        }
        let right = self.symbol(next);
        code::pairs(right).then(|| u64::from(symbol) << 32 | u64::from(right))
    }

    /// Takes the digram at `node` out of the table, before one of its symbols changes.
    fn forget(&mut self, node: u32) {
        let Some(key) = self.digram(node) else { return };
        if !self.digrams.remove_if(key, node) {
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
    fn check(&mut self, node: u32) {
        let Some(key) = self.digram(node) else { return };
        let Some(known) = self.digrams.get_or_insert(key, node) else {
            return;
        };
        if known != node && self.next(known) != node && self.next(node) != known {
            self.replace_both(known, node, key);
        }
    }

    /// The rule whose whole body is the digram at `node`.
    fn rule_of_digram(&self, node: u32) -> Option<u32> {
        let before = self.previous(node);
        let after = self.next(self.next(node));
        (before == after && self.is_guard(before)).then(|| self.symbol(before) & !code::GUARD)
    }

    /// Replaces two equal digrams by a rule, and restores rule utility.
    fn replace_both(&mut self, known: u32, node: u32, key: u64) {
        let rule = if let Some(rule) = self.rule_of_digram(known) {
            self.substitute(node, rule);
            rule
        } else if let Some(rule) = self.rule_of_digram(node) {
            self.substitute(known, rule);
            self.digrams.set(key, node);
            rule
        } else {
            let rule = self.new_rule();
            let guard = self.rules[rule as usize].guard;
            let left = self.new_node((key >> 32) as Code);
            let right = self.new_node(key as Code);
            self.link(guard, left);
            self.link(left, right);
            self.link(right, guard);
            self.count_use(self.symbol(left));
            self.count_use(self.symbol(right));
            self.substitute(known, rule);
            self.substitute(node, rule);
            self.digrams.set(key, left);
            rule
        };
        // Only the two symbols of the digram have lost uses, and what use may be left of either
        // is at an end of this rule's body.
        let guard = self.rules[rule as usize].guard;
        self.expand_if_underused(self.next(guard));
        self.expand_if_underused(self.previous(guard));
    }

    fn count_use(&mut self, symbol: Code) {
        if let Some(rule) = code::rule(symbol) {
            self.rules[rule as usize].uses += 1;
        }
    }

    fn drop_use(&mut self, symbol: Code) {
        if let Some(rule) = code::rule(symbol) {
            self.rules[rule as usize].uses -= 1;
        }
    }

    /// Puts one use of `rule` in the place of the digram at `node`.
    fn substitute(&mut self, node: u32, rule: u32) {
        let before = self.previous(node);
        let second = self.next(node);
        let after = self.next(second);
        self.forget(before);
        self.forget(node);
        self.forget(second);
        self.drop_use(self.symbol(node));
        self.drop_use(self.symbol(second));
        self.nodes[node as usize].symbol = code::RULE | rule;
        self.rules[rule as usize].uses += 1;
        self.link(node, after);
        self.free(second);
        // The left digram is checked first, as in the published algorithm.
        self.pending.push(node);
        self.pending.push(before);
    }

    /// Puts the body of the rule that `node` uses in the place of `node`, if that is its only use.
    fn expand_if_underused(&mut self, node: u32) {
        let Some(rule) = code::rule(self.symbol(node)) else {
            return;
        };
        let Rule { guard, uses } = self.rules[rule as usize];
        if uses != 1 {
            return;
        }
        let (before, after) = (self.previous(node), self.next(node));
        let (first, last) = (self.next(guard), self.previous(guard));
        self.forget(before);
        self.forget(node);
        self.link(before, first);
        self.link(last, after);
        self.free(node);
        self.free(guard);
        self.rules[rule as usize] = Rule {
            guard: NO_NODE,
            uses: self.free_rule,
        };
        self.free_rule = rule;
        self.live_rules -= 1;
        self.pending.push(last);
        self.pending.push(before);
    }
}
