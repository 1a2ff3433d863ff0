//! Calls of a program: how often each call site called each target, and time and instructions by the calls that were
//! under way.

use hps_isa::inst::OpClass;
use hps_pipeline::core::Commit;
use rustc_hash::FxHashMap;

use super::stack::{CallStack, Function};

/// Time and work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Cycles.
    pub cycles: u64,
    /// Instructions that the program committed.
    pub instructions: u64,
}

impl Spent {
    /// Adds time and work.
    pub fn add(&mut self, more: Spent) {
        self.cycles += more.cycles;
        self.instructions += more.instructions;
    }
}

/// The truth about a program's calls.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Calls, by site and target.
    pub calls: FxHashMap<(u64, u64), u64>,
    /// Time by the two innermost functions, the outer one first, by their places in the list of symbols. Around all
    /// calls is the beginning of the program. `usize::MAX` stands for code without a symbol, and for the code around
    /// the beginning.
    pub by_call: FxHashMap<(Function, Function), Spent>,
    /// Time by number of calls under way.
    pub by_depth: Vec<Spent>,
    /// Time of the last change of the calls under way: cycle and instructions.
    last: (u64, u64),
}

impl Tally {
    /// Notes a call, return or jump of the program that commits.
    pub fn commit(&mut self, commit: &Commit, stack: &mut CallStack, instructions: u64) {
        if matches!(commit.class, OpClass::Call | OpClass::CallIndirect) {
            *self.calls.entry((commit.pc, commit.target)).or_default() += 1;
        }
        let (innermost, depth) = (stack.innermost(), stack.depth());
        if stack.commit(commit) {
            self.spend(innermost, depth, (commit.cycle, instructions));
        }
    }

    /// Ends the last stretch with the program.
    pub fn finish(&mut self, stack: &CallStack, at: (u64, u64)) {
        self.spend(stack.innermost(), stack.depth(), at);
    }

    fn spend(&mut self, innermost: (Function, Function), depth: usize, at: (u64, u64)) {
        let spent = Spent {
            cycles: at.0 - self.last.0,
            instructions: at.1 - self.last.1,
        };
        self.last = at;
        self.by_call.entry(innermost).or_default().add(spent);
        if self.by_depth.len() <= depth {
            self.by_depth.resize(depth + 1, Spent::default());
        }
        self.by_depth[depth].add(spent);
    }
}
