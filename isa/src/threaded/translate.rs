//! From guest instructions to blocks.

use std::marker::PhantomData;

use super::handlers::{handler, jump, unlinked};
use super::{MAX_BLOCK, MicroOp, fused};
use crate::alpha::simple::simplified;
use crate::code::CodeCache;
use crate::editor::DecodeEditor;
use crate::inst::{Inst, Op, OpClass, reg};
use crate::isa::Isa;
use crate::memory::Memory;
use crate::probe::Probe;

/// A block in the making.
struct Builder<P: Probe> {
    ops: Vec<MicroOp>,
    /// Instructions so far.
    done: u64,
    probe: PhantomData<P>,
}

/// Translates the code from `pc` on, to the first indirect jump, backward jump or instruction that the
/// machine must execute itself, and at most [`MAX_BLOCK`] instructions. The last micro-operation
/// never continues with the one behind it. `None` if no instruction can be fetched at `pc`.
pub(super) fn translate<P: Probe, E: DecodeEditor>(
    start: u64,
    code: &mut CodeCache,
    mem: &Memory,
    editor: &E,
) -> Option<Vec<MicroOp>> {
    let mut builder = Builder::<P> {
        ops: Vec::new(),
        done: 0,
        probe: PhantomData,
    };
    let mut pc = start;
    while builder.done < MAX_BLOCK {
        let inst = match code.lookup(pc, mem, editor) {
            Ok(slot) => slot.inst,
            Err(_) if builder.done == 0 => return None,
            // The fault is raised if execution comes there.
            Err(_) => break,
        };
        let next = pc.wrapping_add(u64::from(inst.len));
        match inst.class {
            OpClass::Branch => {
                builder.branch(&inst, pc);
                pc = next;
            }
            OpClass::Jump | OpClass::Call => {
                builder.direct_jump(&inst, pc);
                let backward = inst.imm <= 0;
                pc = inst.direct_target(pc);
                if backward {
                    break;
                }
            }
            OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return => {
                builder.push(&inst, pc);
                return Some(builder.ops);
            }
            OpClass::Illegal
            | OpClass::Syscall
            | OpClass::Break
            | OpClass::FenceI
            | OpClass::DiseBranch
            | OpClass::DiseCall
            | OpClass::DiseReturn
            | OpClass::DiseDrain => {
                builder.push(&inst, pc);
                pc = next;
                break;
            }
            _ => {
                builder.straight(&inst, pc);
                pc = next;
            }
        }
    }
    builder.jump(pc);
    Some(builder.ops)
}

impl<P: Probe> Builder<P> {
    /// The instruction as it is.
    fn push(&mut self, inst: &Inst, pc: u64) {
        self.ops
            .push(MicroOp::new(handler::<P>(inst), *inst, pc, self.done));
        self.done += 1;
    }

    /// A link to `target`, behind an exit.
    fn link(&mut self, target: u64) {
        self.ops
            .push(MicroOp::unlinked(unlinked, target, self.done));
    }

    /// A branch, which the operation before it executes too where the branch tests that one's result. Both
    /// stay in the block, so that the branch and its link lie at fixed distances.
    fn branch(&mut self, inst: &Inst, pc: u64) {
        if let (Some((register, test)), Some(last)) = (fused::tested(inst), self.ops.last_mut())
            && last.inst.rd == register
            && let Some(handler) = fused::handler::<P>(&last.inst, test)
        {
            last.handler = handler;
        }
        self.push(inst, pc);
        self.link(inst.direct_target(pc));
    }

    /// The end of the block: execution goes on at `target`.
    fn jump(&mut self, target: u64) {
        let inst = Inst::illegal(2);
        self.ops.push(MicroOp::new(jump, inst, target, self.done));
        self.link(target);
    }

    /// A jump in the middle of a block does nothing but link.
    fn direct_jump(&mut self, inst: &Inst, pc: u64) {
        if P::WANTS_CONTROL {
            self.push(inst, pc);
        } else if inst.rd == reg::SINK {
            self.nothing(inst, pc);
        } else {
            self.constant(inst, pc.wrapping_add(u64::from(inst.len)), pc);
        }
    }

    /// An instruction without effect. The first of a block is kept, so that the block's first
    /// micro-operation knows where the block begins.
    fn nothing(&mut self, inst: &Inst, pc: u64) {
        if self.ops.is_empty() {
            self.push(inst, pc);
        } else {
            self.done += 1;
        }
    }

    /// An instruction whose result is known.
    fn constant(&mut self, inst: &Inst, value: u64, pc: u64) {
        let load = Inst {
            op: Op::Lui,
            class: OpClass::IntAlu,
            imm: value as i64,
            rs1: reg::ZERO,
            ..*inst
        };
        self.push(&load, pc);
    }

    /// An instruction that copies a register.
    fn copy(&mut self, inst: &Inst, from: u8, pc: u64) {
        let copy = Inst {
            op: Op::DiseMove,
            rs1: from,
            ..*inst
        };
        self.push(&copy, pc);
    }

    /// Translates an instruction that continues with the next one, in its simplest form.
    fn straight(&mut self, inst: &Inst, pc: u64) {
        let inst = &match inst.op.isa() {
            Some(Isa::Alpha) => simplified(inst),
            _ => *inst,
        };
        match inst.op {
            _ if is_computation_into_nowhere(inst) => self.nothing(inst, pc),
            _ if inst.class == OpClass::Fence => self.nothing(inst, pc),
            Op::Auipc => self.constant(inst, pc.wrapping_add(inst.imm as u64), pc),
            Op::Addi if inst.rs1 == reg::ZERO => self.constant(inst, inst.imm as u64, pc),
            Op::Addi if inst.imm == 0 => self.copy(inst, inst.rs1, pc),
            Op::Add if inst.rs1 == reg::ZERO => self.copy(inst, inst.rs2, pc),
            Op::Addi if inst.rs1 == inst.rd => self.add_to_constant(inst, pc),
            _ => self.push(inst, pc),
        }
    }

    /// The second half of a constant, or of a displacement, is added to the first.
    fn add_to_constant(&mut self, inst: &Inst, pc: u64) {
        match self.ops.last_mut() {
            Some(last) if matches!(last.inst.op, Op::Lui | Op::Addi) && last.inst.rd == inst.rd => {
                last.inst.imm = last.inst.imm.wrapping_add(inst.imm);
                self.done += 1;
            }
            _ => self.push(inst, pc),
        }
    }
}

/// Whether an instruction computes a result that is dropped, and cannot trap.
fn is_computation_into_nowhere(inst: &Inst) -> bool {
    let may_overflow = matches!(
        inst.op,
        Op::AlphaAddlV | Op::AlphaSublV | Op::AlphaAddqV | Op::AlphaSubqV
    );
    inst.class == OpClass::IntAlu && inst.rd == reg::SINK && !may_overflow
}
