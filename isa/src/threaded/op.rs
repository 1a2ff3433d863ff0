//! One micro-operation.

use super::Context;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::memory::{Bytes, Pages};

/// Executes the micro-operation at the pointer and everything that follows it until a stop;
/// returns what is left of the fuel. All arguments travel in registers.
///
/// # Safety
/// The pointer is to a micro-operation of a live block of the context's [`Threaded`](super::Threaded),
/// whose handlers are made for the type of the probe in the context.
pub(crate) type Handler = unsafe fn(
    at: *const MicroOp,
    hart: &mut Hart,
    bytes: &mut Bytes,
    context: &mut Context,
    pages: &Pages,
    fuel: i64,
) -> i64;

/// One micro-operation: a guest instruction, a few of them folded into one, or the place behind an
/// exit that holds its link.
#[repr(C)]
pub(crate) struct MicroOp {
    pub(crate) handler: Handler,
    /// The instruction. Of a link only `imm` is used: the address of the micro-operation to go to.
    pub(crate) inst: Inst,
    pc_low: u32,
    pc_high: u16,
    /// Instructions of the block before this one; of a link: up to and including its exit.
    pub(crate) done: u16,
}

const _: () = assert!(size_of::<MicroOp>() == 32);

impl MicroOp {
    pub(crate) fn new(handler: Handler, inst: Inst, pc: u64, done: u64) -> Self {
        MicroOp {
            handler,
            inst,
            pc_low: pc as u32,
            pc_high: (pc >> 32) as u16,
            done: done as u16,
        }
    }

    /// A link with the exit's `done` that leads nowhere yet: to itself, once it has a place.
    pub(crate) fn unlinked(handler: Handler, target: u64, done: u64) -> Self {
        MicroOp::new(handler, Inst::illegal(0), target, done)
    }

    /// The place in front of a block, where entries of the block are counted: `left` more pass.
    pub(crate) fn entry(handler: Handler, pc: u64, left: i64) -> Self {
        let inst = Inst {
            imm: left,
            ..Inst::illegal(1)
        };
        MicroOp::new(handler, inst, pc, 0)
    }

    /// True for the place in front of a block.
    pub(crate) fn is_entry(&self) -> bool {
        self.inst.len == 1
    }

    /// Whether the micro-operation is a link.
    pub(crate) fn is_link(&self) -> bool {
        self.inst.len == 0
    }

    /// Where a link leads.
    #[inline(always)]
    pub(crate) fn link(&self) -> *const MicroOp {
        std::ptr::with_exposed_provenance(self.inst.imm as usize)
    }

    /// Makes a link lead to `to`.
    pub(crate) fn set_link(&mut self, to: *const MicroOp) {
        self.inst.imm = to.expose_provenance() as i64;
    }

    /// Address of the instruction; of a link: its target. Code lies below 2^47, and no direct transfer leads
    /// farther than 2^32 from it, so the upper bits are copies of bit 47.
    #[inline(always)]
    pub(crate) fn pc(&self) -> u64 {
        (i64::from(self.pc_high as i16) << 32) as u64 | u64::from(self.pc_low)
    }
}
