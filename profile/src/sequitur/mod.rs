//! Sequitur: a context-free grammar of a sequence, built in one pass.
//!
//! Nevill-Manning and Witten, "Identifying Hierarchical Structure in Sequences: A Linear-Time
//! Algorithm", JAIR 7 (1997). Two constraints hold after every symbol:
//!
//! * **digram uniqueness**: no pair of adjacent symbols occurs twice in the grammar, except
//!   overlapping in a run of one symbol;
//! * **rule utility**: every rule but the start rule is used at least twice.
//!
//! Symbols are nodes of one arena, linked by 32-bit indices. `replace` is the published algorithm;
//! `tail` stands in front of it and takes the symbols in without the work that the next symbol
//! would undo.

mod arena;
mod descent;
mod grammar;
mod memory;
mod numbers;
mod replace;
mod table;
mod tail;
#[cfg(test)]
mod tests;

pub use grammar::{Grammar, GrammarSymbol};

use arena::Node;
use code::Code;
use descent::Level;
use numbers::Numbers;
use table::Table;
use tail::{Deferred, Match};

/// The 32-bit form of a symbol in a node.
mod code {
    /// A terminal's number, or one of the marks below.
    pub type Code = u32;

    /// Set in a use of a rule; the lower bits are the rule's guard.
    pub const RULE: Code = 1 << 31;
    /// Set in the guard that closes the ring of a rule's body; the lower bits are the first terminal
    /// of its expansion.
    pub const GUARD: Code = 1 << 30;
    /// A terminator.
    pub const TERMINATOR: Code = GUARD - 1;
    /// A node on the free list.
    pub const FREE: Code = GUARD - 2;
    /// The repetition of a run that is still being matched.
    pub const PENDING: Code = GUARD - 3;
    /// First number that is not a terminal's.
    pub const TERMINALS: Code = GUARD - 3;

    /// The guard of the rule that a symbol uses, if it does.
    #[inline]
    pub fn rule(symbol: Code) -> Option<u32> {
        (symbol & RULE != 0).then_some(symbol & !RULE)
    }

    /// Whether a symbol can be one half of a digram.
    #[inline]
    pub fn pairs(symbol: Code) -> bool {
        // Guards, terminators, freed and pending symbols lie between terminals and rules.
        symbol.wrapping_sub(TERMINALS) >= RULE - TERMINALS
    }
}

const NO_NODE: u32 = u32::MAX;
const START: u32 = 0;

/// Terminals that are taken in together by [`Sequitur::push_all`].
const LOOK_AHEAD: usize = 64;

/// By how many symbols one terminal can make the grammar larger: its own and, if it completes a
/// digram for which there is no rule, the guard of a new one and one use more than it takes away.
const MOST_GROWTH: usize = 3;

/// The size of a digram table that stays in the processor's cache by itself.
const NEAR_BYTES: usize = 1 << 18;

/// The size from which on the table of numbers, whose slots can be read independently of each other,
/// is worth a look ahead.
const FAR_BYTES: usize = 1 << 22;

/// The grammar of the sequence pushed so far.
///
/// Memory: 16 bytes for each live symbol and each rule's guard, 16 to 32 in a hash table for each
/// distinct digram (at most one for each symbol), and 40 to 72 for each distinct terminal. That is 32
/// to 120 bytes for each live symbol, the upper end for a sequence in which every terminal is new;
/// vectors that have just grown add up to as much as they hold. [`Self::memory_bytes`] tells what is
/// really held.
#[derive(Debug, Clone)]
pub struct Sequitur {
    nodes: Vec<Node>,
    free_node: u32,
    live_nodes: usize,
    live_rules: usize,
    /// Nodes by the digram that begins there.
    digrams: Table,
    /// Nodes whose digram has to be checked.
    pending: Vec<u32>,
    numbers: Numbers,
    /// Pending matches, the last one nearest to the end of the start rule.
    matches: Vec<Match>,
    deferred: Option<Deferred>,
    /// Rules that are being read behind the last match, the innermost one last.
    descent: Vec<Level>,
    /// The mark of the last match.
    serial: u32,
    /// Searches for the digram at the end since the last look ahead.
    lookups: usize,
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

    /// The guard of the start rule, which is the first node that there is.
    const START_GUARD: u32 = 0;

    /// The grammar of the empty sequence.
    pub fn new() -> Self {
        let mut sequitur = Self {
            nodes: Vec::new(),
            free_node: NO_NODE,
            live_nodes: 0,
            live_rules: 0,
            digrams: Table::new(),
            pending: Vec::new(),
            numbers: Numbers::new(),
            matches: Vec::new(),
            deferred: None,
            descent: Vec::new(),
            serial: 0,
            lookups: 0,
        };
        sequitur.new_rule(0);
        sequitur
    }

    /// Forgets the sequence; keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free_node = NO_NODE;
        self.live_nodes = 0;
        self.live_rules = 0;
        self.digrams.clear();
        self.pending.clear();
        self.numbers.clear();
        self.matches.clear();
        self.deferred = None;
        self.descent.clear();
        self.serial = 0;
        self.lookups = 0;
        self.new_rule(0);
    }

    /// Appends a terminal.
    ///
    /// # Panics
    /// When the grammar may get more than [`Self::MAX_SYMBOLS`] symbols; ask [`Self::symbols`]
    /// before.
    pub fn push(&mut self, terminal: u64) {
        self.push_all(&[terminal], usize::MAX);
    }

    /// Appends terminals one after the other, at least one, until there are no more or the grammar
    /// has `most_symbols` (see [`Self::symbols`]); the number of those that were appended. Faster
    /// than as many calls of [`Self::push`].
    ///
    /// # Panics
    /// Like [`Self::push`].
    pub fn push_all(&mut self, terminals: &[u64], most_symbols: usize) -> usize {
        let mut numbers = [0; LOOK_AHEAD];
        let mut rest = terminals;
        while !rest.is_empty() {
            // A number of terminals that cannot take the grammar beyond its limit before the last of them.
            let room = most_symbols.saturating_sub(self.symbols()) / MOST_GROWTH;
            let (chunk, later) = rest.split_at(room.clamp(1, LOOK_AHEAD).min(rest.len()));
            self.assert_room(chunk.len());
            memory::reserve(&mut self.nodes, MOST_GROWTH * chunk.len());
            // Numbers first: finding one does not have to wait for another.
            for (number, &terminal) in numbers.iter_mut().zip(chunk) {
                *number = self.numbers.of(terminal);
            }
            // Each terminal at most once, while there is something else to do before its number is looked up.
            if self.numbers.memory_bytes() >= FAR_BYTES {
                let ahead = &rest[LOOK_AHEAD.min(rest.len())..];
                for &terminal in &ahead[..chunk.len().min(ahead.len())] {
                    self.numbers.bring_near(terminal);
                }
            }
            let numbers = &numbers[..chunk.len()];
            // Terminals that repeat a rule are followed without the digrams' table.
            if std::mem::take(&mut self.lookups) * 4 >= numbers.len() {
                self.bring_near(numbers);
            }
            for &number in numbers {
                self.receive(number);
            }
            rest = later;
            if self.symbols() >= most_symbols {
                break;
            }
        }
        terminals.len() - rest.len()
    }

    /// Reads what is likely to be needed for these terminals into the processor's cache, all of it
    /// at once.
    #[inline]
    fn bring_near(&self, numbers: &[Code]) {
        if self.digrams.memory_bytes() < NEAR_BYTES {
            return;
        }
        let mut places = [0; LOOK_AHEAD];
        for (place, pair) in places.iter_mut().zip(numbers.windows(2)) {
            *place = self
                .digrams
                .peek(table::hash(replace::key(pair[0], pair[1])));
        }
        for &place in &places[..numbers.len() - 1] {
            // An address beyond the arena would cost a useless walk of the page table.
            memory::prefetch(&self.nodes, (place as usize).min(self.nodes.len()));
        }
    }

    /// Ends a subsequence: no digram, and so no rule, ever spans a terminator. At the start and
    /// directly after another terminator it says nothing and is left out.
    pub fn push_terminator(&mut self) {
        self.settle();
        if code::pairs(self.symbol(self.last())) {
            self.append(code::TERMINATOR);
        }
    }

    /// Live symbols in all bodies together with the guards of the rules: the grammar's size, by
    /// which its memory grows.
    pub fn symbols(&self) -> usize {
        // The rule of a pending match would be a guard and one more use.
        self.live_nodes + 2 * self.matches.len() + self.symbols_in_descent()
    }

    /// Rules, the start rule included.
    pub fn rules(&self) -> usize {
        self.live_rules + self.matches.len() + self.rules_in_descent()
    }

    /// The distinct terminals since the last [`Self::clear`], in order of their first occurrence.
    pub fn distinct_terminals(&self) -> &[u64] {
        self.numbers.terminals()
    }

    /// Bytes allocated now, by the capacities of all tables.
    pub fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.digrams.memory_bytes()
            + self.numbers.memory_bytes()
    }

    fn assert_room(&self, terminals: usize) {
        assert!(
            self.symbols() + MOST_GROWTH * terminals <= Self::MAX_SYMBOLS,
            "the grammar is full: clear it before it holds {} symbols",
            Self::MAX_SYMBOLS
        );
    }
}
