//! Control-flow graphs of functions, found from the code of a program.
//!
//! | module | holds |
//! | --- | --- |
//! | `code` | the instructions and initial data of a program, and where control enters functions from outside |
//! | `build` | blocks and edges of a function |
//! | `indirect` | targets of jumps through tables, found by looking back from the jump |
//! | `loops` | dominators and natural loops |
//!
//! A block ends at every instruction that may change control, at calls and at system calls too. Control comes back
//! from a call: its edge leads to the instruction behind it. Graphs end at the borders of functions: a jump into
//! another function leads to [`Cfg::exit`].

mod build;
mod code;
mod indirect;
mod loops;
#[cfg(test)]
mod tests;
mod values;

use std::ops::Range;

pub use code::Code;
pub use loops::Loop;

use hps_isa::inst::Inst;

/// An instruction at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Address of the instruction.
    pub pc: u64,
    /// The instruction.
    pub inst: Inst,
}

impl Placed {
    /// The address behind it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.pc + u64::from(self.inst.len)
    }
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Instructions of the block, as places in [`Cfg::insts`].
    pub insts: Range<usize>,
}

/// How control follows an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeKind {
    /// Entry into the function.
    Entry,
    /// Fall-through behind the block: nothing is taken there, or a call has returned.
    Next,
    /// A direct branch or jump is taken.
    Taken,
    /// An indirect jump.
    Indirect,
    /// Exit from the function by a return, or into another function.
    Exit,
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the block from which it comes, or [`Cfg::entry`].
    pub from: usize,
    /// Number of the block to which it leads, or [`Cfg::exit`].
    pub to: usize,
    /// How control follows it.
    pub kind: EdgeKind,
}

/// The control-flow graph of a function.
///
/// Nodes are the blocks by their numbers, and behind them two for the world outside: [`entry`](Cfg::entry) and
/// [`exit`](Cfg::exit).
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Addresses of the function.
    pub range: Range<u64>,
    /// Instructions in the order of their addresses.
    pub insts: Vec<Placed>,
    /// Blocks in the order of their addresses.
    pub blocks: Vec<Block>,
    /// Edges in the order of the blocks from which they come.
    pub edges: Vec<Edge>,
    /// Targets of some indirect jump are not known: edges are missing.
    pub missing_edges: bool,
    /// Edges that leave each node, as places in [`edges`](Cfg::edges).
    out: Vec<Vec<usize>>,
    /// Edges that come into each node.
    into: Vec<Vec<usize>>,
}

impl Cfg {
    /// The node from which control comes into the function.
    #[must_use]
    pub fn entry(&self) -> usize {
        self.blocks.len()
    }

    /// The node to which control leaves the function.
    #[must_use]
    pub fn exit(&self) -> usize {
        self.blocks.len() + 1
    }

    /// Number of nodes: blocks, entry and exit.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.blocks.len() + 2
    }

    /// The edges that leave a node, as places in [`edges`](Cfg::edges).
    #[must_use]
    pub fn out_of(&self, node: usize) -> &[usize] {
        &self.out[node]
    }

    /// The edges that come into a node, as places in [`edges`](Cfg::edges).
    #[must_use]
    pub fn into(&self, node: usize) -> &[usize] {
        &self.into[node]
    }

    /// The instructions of a block.
    #[must_use]
    pub fn block_insts(&self, block: usize) -> &[Placed] {
        &self.insts[self.blocks[block].insts.clone()]
    }

    /// Address of the first instruction of a block.
    #[must_use]
    pub fn block_start(&self, block: usize) -> u64 {
        self.insts[self.blocks[block].insts.start].pc
    }

    /// The block that holds the instruction at an address.
    #[must_use]
    pub fn block_at(&self, pc: u64) -> Option<usize> {
        let at = self.insts.binary_search_by_key(&pc, |i| i.pc).ok()?;
        let after = self.blocks.partition_point(|b| b.insts.start <= at);
        let block = after.checked_sub(1)?;
        self.blocks[block].insts.contains(&at).then_some(block)
    }

    /// A graph of these parts. Edges are brought into order.
    pub(crate) fn of_parts(
        range: Range<u64>,
        insts: Vec<Placed>,
        blocks: Vec<Block>,
        mut edges: Vec<Edge>,
        missing_edges: bool,
    ) -> Cfg {
        edges.sort_by_key(|e| (e.from, e.to, e.kind));
        edges.dedup_by_key(|e| (e.from, e.to));
        let nodes = blocks.len() + 2;
        let (mut out, mut into) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        for (at, edge) in edges.iter().enumerate() {
            out[edge.from].push(at);
            into[edge.to].push(at);
        }
        Cfg {
            range,
            insts,
            blocks,
            edges,
            missing_edges,
            out,
            into,
        }
    }
}
