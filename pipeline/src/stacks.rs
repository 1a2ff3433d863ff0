//! CPI stacks by function.

use std::sync::Arc;

use hps_isa::probe::Probe;
use hps_system::symbols::{CodeWatch, Symbols};
use rustc_hash::FxHashMap;

use crate::model::{Cause, CpiStack, PipelineProbe};

/// A probe that gives every commit slot to the function of the instruction at the head of the ROB
/// (or next to reach it). The stacks of all functions sum to that of the whole.
#[derive(Debug)]
pub struct FunctionStacks {
    symbols: Arc<Symbols>,
    watch: Option<CodeWatch>,
    /// Stacks of functions in the order in which they were met; the first one is of addresses outside of all functions.
    stacks: Vec<FunctionStack>,
    /// The place of each function in `stacks`, by its entry.
    places: FxHashMap<u64, usize>,
    /// Code that was asked for last, and the place of its function.
    last: (u64, u64, usize),
}

/// The stack of one function.
#[derive(Clone, Debug)]
pub struct FunctionStack {
    /// Name of the function, or a description of addresses outside of all functions.
    pub name: String,
    /// Entry address of the function (0 outside of functions).
    pub entry: u64,
    /// Commit slots by owner.
    pub stack: CpiStack,
}

impl FunctionStacks {
    /// Empty stacks for the functions of a program, and those of code that `watch` tells of.
    #[must_use]
    pub fn new(symbols: Arc<Symbols>, watch: Option<CodeWatch>) -> Self {
        FunctionStacks {
            symbols,
            watch,
            stacks: vec![FunctionStack {
                name: "(outside of functions, handlers included)".to_string(),
                entry: 0,
                stack: CpiStack::default(),
            }],
            places: FxHashMap::default(),
            last: (1, 0, 0),
        }
    }

    /// The functions with any slots, most slots first.
    #[must_use]
    pub fn ranking(&self) -> Vec<FunctionStack> {
        let met = self.stacks.iter().filter(|f| f.stack.total() > 0);
        let mut all: Vec<FunctionStack> = met.cloned().collect();
        all.sort_by(|a, b| {
            b.stack
                .total()
                .cmp(&a.stack.total())
                .then(a.entry.cmp(&b.entry))
        });
        all
    }

    /// The place of the function of an address.
    fn place(&mut self, pc: u64) -> usize {
        if let Some(symbols) = self.watch.as_mut().and_then(CodeWatch::news) {
            self.symbols = symbols;
        }
        let Some(at) = self.symbols.function_index(pc) else {
            return 0;
        };
        let f = &self.symbols.functions()[at];
        let whole = &self.symbols.functions()[self.symbols.whole(at)];
        let next = self.stacks.len();
        let place = *self.places.entry(whole.addr).or_insert(next);
        if place == next {
            self.stacks.push(FunctionStack {
                name: self.symbols.with_object(whole.addr, &whole.name),
                entry: whole.addr,
                stack: CpiStack::default(),
            });
        }
        self.last = (f.addr, f.addr.saturating_add(f.size), place);
        place
    }
}

impl Probe for FunctionStacks {}

impl PipelineProbe for FunctionStacks {
    const WANTS_SLOTS: bool = true;

    fn stand_in(&self) -> Option<Self> {
        Some(FunctionStacks::new(Arc::clone(&self.symbols), None))
    }

    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        let (from, to, place) = self.last;
        let place = match pc >= from && pc < to {
            true => place,
            false => self.place(pc),
        };
        self.stacks[place].stack.add(cause, count);
    }
}
