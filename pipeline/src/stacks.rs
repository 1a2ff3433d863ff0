//! CPI stacks by function.

use std::sync::Arc;

use hps_sim_core::image::ProgramImage;
use hps_sim_core::probe::Probe;

use crate::model::{Cause, CpiStack, PipelineProbe};

/// A probe that gives every commit slot to the function of the instruction at the head of the ROB
/// (or next to reach it). The stacks of all functions sum to that of the whole.
#[derive(Debug)]
pub struct FunctionStacks {
    image: Arc<ProgramImage>,
    /// One for each function of the image, and a last one for addresses outside of all of them.
    stacks: Vec<CpiStack>,
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
    /// Empty stacks for the functions of a program.
    #[must_use]
    pub fn new(image: Arc<ProgramImage>) -> Self {
        let functions = image.symbols.functions().len();
        FunctionStacks {
            image,
            stacks: vec![CpiStack::default(); functions + 1],
            last: (1, 0, functions),
        }
    }

    /// The functions with any slots, most slots first.
    #[must_use]
    pub fn ranking(&self) -> Vec<FunctionStack> {
        let functions = self.image.symbols.functions();
        let mut all: Vec<FunctionStack> = self
            .stacks
            .iter()
            .enumerate()
            .filter(|(_, s)| s.total() > 0)
            .map(|(i, s)| match functions.get(i) {
                Some(f) => FunctionStack {
                    name: f.name.clone(),
                    entry: f.addr,
                    stack: *s,
                },
                None => FunctionStack {
                    name: "(outside of functions, handlers included)".to_string(),
                    entry: 0,
                    stack: *s,
                },
            })
            .collect();
        all.sort_by(|a, b| {
            b.stack
                .total()
                .cmp(&a.stack.total())
                .then(a.entry.cmp(&b.entry))
        });
        all
    }
}

impl Probe for FunctionStacks {}

impl PipelineProbe for FunctionStacks {
    const WANTS_SLOTS: bool = true;

    fn stand_in(&self) -> Option<Self> {
        Some(FunctionStacks::new(Arc::clone(&self.image)))
    }

    #[inline]
    fn slots(&mut self, pc: u64, cause: Cause, count: u64) {
        let (from, to, index) = self.last;
        let index = if pc >= from && pc < to {
            index
        } else {
            match self.image.symbols.function_index(pc) {
                Some(i) => {
                    let f = &self.image.symbols.functions()[i];
                    let whole = self.image.symbols.whole(i);
                    self.last = (f.addr, f.addr.saturating_add(f.size), whole);
                    whole
                }
                None => self.stacks.len() - 1,
            }
        };
        self.stacks[index].add(cause, count);
    }
}
