//! The profiles of a session, by addresses.

use hps_profile::{CallPair, Edge, Path, Profile, Value};
use hps_shadow::paths::{Executions, Paths};
use hps_shadow::values::ValueProfiler;
use rustc_hash::FxHashMap;

use crate::layout::CALL_VALUES;
use crate::tree::Tree;
use crate::walk::{Kind, Walk};

pub use crate::walk::REGISTERS;

/// A path: where it begins, and a hash of the addresses of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NativePath {
    /// First instruction of the path.
    pub from: u64,
    /// The hash.
    pub number: u64,
}

/// Executions of a block of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// How often it was entered.
    pub count: u64,
    /// How many instructions it has.
    pub instructions: u32,
}

/// Profiles of the code that shadows, or a whole run, executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles {
    /// Blocks, by their first and last instruction.
    pub blocks: FxHashMap<(u64, u64), Entered>,
    /// Transfers of control, taken or not: from, to.
    pub edges: FxHashMap<(u64, u64), u64>,
    /// Calls: the call, the callee.
    pub calls: FxHashMap<(u64, u64), u64>,
    /// Values of [`REGISTERS`]: of those of arguments by the call, of that of results by the return.
    pub values: [ValueProfiler; REGISTERS.len()],
    /// Paths within functions.
    pub within: Paths<NativePath>,
    /// Paths across functions.
    pub across: Paths<NativePath>,
}

impl Profiles {
    /// Adds what a walk has found.
    pub(crate) fn add(&mut self, walk: &Walk) {
        let found = walk.found();
        for (block, count) in found.blocks {
            let entered = self.blocks.entry((block.start, block.last)).or_default();
            entered.count += count;
            entered.instructions = block.instructions;
        }
        for (from, to, count) in found.pairs {
            let transfer = (from.last, to.start);
            if from.kind == Kind::Call {
                *self.calls.entry(transfer).or_default() += count;
            }
            if !matches!(from.kind, Kind::Split | Kind::SystemCall) {
                *self.edges.entry(transfer).or_default() += count;
            }
        }
        for (values, found) in self.values.iter_mut().zip(found.values) {
            values.merge(found);
        }
        add_paths(&mut self.within, found.within);
        add_paths(&mut self.across, found.across);
    }

    /// Instructions executed.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        let blocks = self.blocks.values();
        blocks.map(|b| b.count * u64::from(b.instructions)).sum()
    }

    /// Transfers of control.
    #[must_use]
    pub fn by_edge(&self) -> Profile<Edge> {
        let edges = self.edges.iter();
        edges
            .map(|(&(from, to), &count)| (Edge { from, to }, count))
            .collect()
    }

    /// Calls by site and target.
    #[must_use]
    pub fn by_call_pair(&self) -> Profile<CallPair> {
        let calls = self.calls.iter();
        calls
            .map(|(&(site, target), &count)| (CallPair { site, target }, count))
            .collect()
    }

    /// Calls by their first argument, as far as the tables hold it.
    #[must_use]
    pub fn by_value(&self) -> Profile<Value> {
        self.arguments().by_value()
    }

    /// First arguments of calls (the register `rdi`), by the call.
    #[must_use]
    pub fn arguments(&self) -> &ValueProfiler {
        &self.values[0]
    }

    /// Results of functions (the register `rax`), by the return.
    #[must_use]
    pub fn results(&self) -> &ValueProfiler {
        &self.values[CALL_VALUES]
    }

    /// Calls, and returns at `rax`, by the value of each register but that of [`by_value`](Profiles::by_value), as far as
    /// the tables hold it.
    pub fn by_register(&self) -> impl Iterator<Item = (&'static str, Profile<Value>)> {
        let values = self.values.iter().map(ValueProfiler::by_value);
        REGISTERS.into_iter().zip(values).skip(1)
    }

    /// Instructions executed on each path within a function.
    #[must_use]
    pub fn by_path(&self) -> Profile<Path> {
        weights(&self.within)
    }

    /// Instructions executed on each path across functions.
    #[must_use]
    pub fn by_long_path(&self) -> Profile<Path> {
        weights(&self.across)
    }
}

fn add_paths(paths: &mut Paths<NativePath>, tree: &Tree) {
    paths.dropped += tree.dropped;
    for node in tree.iter() {
        let path = NativePath {
            from: node.from,
            number: node.hash,
        };
        let executions = paths.all.entry(path).or_insert(Executions {
            count: 0,
            instructions: node.instructions,
        });
        executions.count += node.count;
    }
}

fn weights(paths: &Paths<NativePath>) -> Profile<Path> {
    let all = paths.all.iter();
    all.map(|(path, executions)| {
        let key = Path {
            from: path.from,
            before: 0,
            number: path.number,
        };
        (key, executions.weight())
    })
    .collect()
}
