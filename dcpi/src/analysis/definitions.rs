//! Who may have written what an instruction reads, or what it overwrites.

use hps_isa::inst::{OpClass, reg};
use hps_system::cfg::{Cfg, EdgeKind, Placed};

/// Blocks in front of an instruction's own that are looked through for each operand.
const MOST_BLOCKS: usize = 24;

/// The instructions that may have written the operands of an instruction last, its own destination included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Definitions {
    /// Instructions of the procedure.
    pub writers: Vec<Placed>,
    /// Some may lie in another procedure: in a caller, or in one that was called.
    pub outside: bool,
}

impl Definitions {
    /// Of the instruction at a place in a block. Blocks that `is_rare` are passed over.
    pub fn of(
        cfg: &Cfg,
        block: usize,
        place: usize,
        is_rare: impl Fn(usize) -> bool,
    ) -> Definitions {
        let inst = &cfg.block_insts(block)[place].inst;
        let mut operands = vec![inst.rs1, inst.rs2, inst.rs3, inst.rd];
        operands.retain(|r| *r != reg::ZERO && *r != reg::SINK);
        operands.sort_unstable();
        operands.dedup();
        let mut found = Definitions::default();
        for register in operands {
            found.search(cfg, register, block, place, &is_rare);
        }
        found.writers.sort_by_key(|w| w.pc);
        found.writers.dedup();
        found
    }

    fn search(
        &mut self,
        cfg: &Cfg,
        register: u8,
        block: usize,
        place: usize,
        is_rare: &impl Fn(usize) -> bool,
    ) {
        let before = &cfg.block_insts(block)[..place];
        if let Some(writer) = before.iter().rev().find(|p| p.inst.rd == register) {
            self.writers.push(*writer);
            return;
        }
        let mut seen = vec![];
        let mut open = vec![block];
        while let Some(at) = open.pop() {
            for edge in cfg.into(at) {
                let edge = cfg.edges[*edge];
                if edge.kind == EdgeKind::Entry {
                    self.outside = true;
                    continue;
                }
                if is_rare(edge.from) || seen.contains(&edge.from) || seen.len() >= MOST_BLOCKS {
                    continue;
                }
                seen.push(edge.from);
                let insts = cfg.block_insts(edge.from);
                let last = insts.last().map(|p| p.inst.class);
                if let Some(writer) = insts.iter().rev().find(|p| p.inst.rd == register) {
                    self.writers.push(*writer);
                } else if last.is_some_and(|c| c.is_call() || c == OpClass::Syscall) {
                    self.outside = true;
                } else {
                    open.push(edge.from);
                }
            }
        }
    }
}
