//! Functional warming: what a program does to caches and predictors, without time.

use hps_sim_core::editor::NoEditor;
use hps_sim_core::inst::{Inst, OpClass};
use hps_sim_core::probe::Probe;
use hps_sim_core::process::Process;

use super::cpi::Cause;
use super::fetch::{CodePage, branch_kind};
use super::{Core, PipelineProbe};
use crate::memsys::MemorySystem;
use crate::predict::BranchUnit;

/// Keeps the caches, TLBs and predictors of a core warm while a functional machine runs its program.
pub struct Warming<'a> {
    memory: &'a mut MemorySystem,
    branches: &'a mut BranchUnit,
    /// log2 of the bytes in a line of the instruction cache, and of the data cache.
    line_shift: u32,
    data_shift: u32,
    /// The first instruction behind the last transfer.
    from: u64,
    /// The line that was fetched last.
    line: u64,
    /// The line that was accessed last, and whether it was written.
    data_line: (u64, bool),
}

impl Warming<'_> {
    /// Fetches the lines from the first instruction behind the last transfer to `pc`.
    #[inline]
    fn fetch_to(&mut self, pc: u64) {
        let (first, last) = (self.from >> self.line_shift, pc >> self.line_shift);
        for line in first..=last {
            if line != self.line {
                self.line = line;
                self.memory.warm_fetch(line << self.line_shift);
            }
        }
    }
}

impl Probe for Warming<'_> {
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;

    #[inline]
    fn memory(&mut self, _pc: u64, inst: &Inst, addr: u64) {
        let is_load = inst.class == OpClass::Load;
        let line = addr >> self.data_shift;
        if line == self.data_line.0 && (is_load || self.data_line.1) {
            return;
        }
        self.data_line = (line, !is_load);
        // Of the few accesses that cross a line only the first one is warmed.
        if is_load {
            self.memory.warm_load(addr, 1);
        } else {
            self.memory.warm_store(addr, 1);
        }
    }

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.fetch_to(pc);
        if let Some(kind) = branch_kind(inst.class) {
            let fallthrough = pc.wrapping_add(u64::from(inst.len));
            self.branches.warm(pc, kind, taken, target, fallthrough);
        }
        self.from = target;
    }
}

// An editor's counters would have to go along with the program.
impl<P: PipelineProbe> Core<NoEditor, P> {
    /// A probe for a functional machine that runs a program from `pc` on.
    pub fn warming(&mut self, pc: u64) -> Warming<'_> {
        Warming {
            from: pc,
            line: u64::MAX,
            line_shift: self.params.line_shift,
            data_shift: self.memory.data_line_shift(),
            data_line: (u64::MAX, false),
            memory: &mut self.memory,
            branches: &mut self.branches,
        }
    }

    /// Exchanges the program for one in another state, or for another one. What is in flight is
    /// dropped first ([`Core::drain_to_boundary`]); caches and predictors stay.
    pub fn exchange(&mut self, process: &mut Process) {
        self.drain_to_boundary();
        std::mem::swap(&mut self.process, process);
        if self.code.sync(&self.process.mem, &self.editor) {
            self.code_page = CodePage::NONE;
        }
        self.link = None;
        self.resume = self.process.hart.disepc;
        self.fetch
            .redirect(self.process.hart.pc, Cause::Frontend, self.now);
    }
}
