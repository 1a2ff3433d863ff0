//! The place of a decode-stage editor (DISE) in both machines.
//!
//! A machine asks in program order of the predicted path:
//! 1. once per static instruction and table generation: [`DecodeEditor::static_mask`], kept
//!    beside the decoded instruction;
//! 2. for each dynamic instruction whose mask is not empty while expansion is on:
//!    [`DecodeEditor::decide`], which runs microinstructions and selects a production;
//! 3. for each position of a selected sequence: [`DecodeEditor::replacement`].
//!
//! The machine owns `PC:DISEPC`, the handler link and the DISE registers
//! (`Hart::r[reg::DISE..]`); the editor owns tables and counters.
//!
//! An editor of another kind lays the program's code out anew ([`DecodeEditor::RELAYOUT`]), as a
//! rewriter of binaries does: a machine then fetches the instructions that the editor has at an
//! address. The program goes on to see its original addresses, in links, in signal frames and in what
//! it computes from its program counter; [`transfer`] is where the two meet.

use serde::{Deserialize, Serialize};

use crate::hart::Hart;
use crate::inst::{Inst, Op, OpClass, reg};
use crate::layout;
use crate::trap::TrapCause;

/// Decision of the editor for one dynamic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Decision {
    /// The production whose replacement sequence is to be used; `None` if the instruction passes unchanged.
    pub production: Option<u8>,
    /// Decode stall that the decision costs, in cycles (expansion cost, table misses).
    pub stall_cycles: u32,
}

/// One replacement instruction, instantiated from its trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The instruction. Its `len` is that of the trigger.
    pub inst: Inst,
    /// Whether the instruction is the trigger itself (`T.INSN`), which counts as an instruction of the program.
    pub is_trigger: bool,
    /// The last instruction of its sequence.
    pub is_last: bool,
}

/// The fault of an access to `addr` by an instruction of the program itself, if handlers and their data lie
/// there: for the program nothing is mapped in that region. Without this a wrong path that happens to go there
/// would find a line, and a handler that never runs would cost time.
#[inline]
#[must_use]
pub fn refused(inst: &Inst, addr: u64) -> Option<TrapCause> {
    if !inst.class.is_memory() || !layout::is_for_handlers(addr) || inst.op == Op::Touch {
        return None;
    }
    Some(if inst.class == OpClass::Load {
        TrapCause::LoadFault { addr }
    } else {
        TrapCause::StoreFault { addr }
    })
}

/// Origin of an instruction in a new layout, as bits of a mask; 0 for the program's own instructions.
pub mod laid {
    /// The rewriter has inserted it.
    pub const INSERTED: u32 = 1;
    /// The rewriter has inserted it as part of an out-of-line routine: counted as an instruction of a handler.
    pub const HANDLER: u32 = 2;
}

/// Content of an address in a new layout of the program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaidOut {
    /// The instruction, with displacements for where it lies.
    pub inst: Inst,
    /// Bits of [`laid`].
    pub origin: u32,
}

/// An editor in the decode stage. The defaults of all methods are those of empty tables and an unchanged layout.
pub trait DecodeEditor {
    /// False removes every trace of the editor from the machine at compile time.
    const ENABLED: bool;

    /// The editor lays code out anew: the machine calls [`DecodeEditor::laid_out`], [`DecodeEditor::place`] and
    /// [`DecodeEditor::original`]. It excludes [`DecodeEditor::ENABLED`].
    const RELAYOUT: bool = false;

    /// A timed machine may take interrupts (see [`Interruptible`]). Where this is false, nothing of
    /// them is compiled into it. Not without [`DecodeEditor::ENABLED`].
    const INTERRUPTIBLE: bool = false;

    /// An editor that does the same in another hardware context, whose number is given (from 1) and whose registers are
    /// set as it needs them; `None` if there can be only one.
    fn beside(&self, number: usize, regs: &mut [u64; reg::COUNT]) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = (number, regs);
        None
    }

    /// The instruction of the new layout at `pc`; `None` if the instruction in memory is to be used.
    fn laid_out(&self, pc: u64) -> Option<LaidOut> {
        let _ = pc;
        None
    }

    /// The address at which execution continues if an instruction at `from` transfers to `target`, an address as
    /// the program knows it.
    fn place(&self, from: u64, target: u64) -> u64 {
        let _ = from;
        target
    }

    /// The address as the program knows it of the instruction at `pc`.
    fn original(&self, pc: u64) -> u64 {
        pc
    }

    /// A program with this number runs on the context from now on
    /// (`Linux::program_number` of `hps-system`).
    fn turn_to(&mut self, program: u32) {
        let _ = program;
    }

    /// Changes whenever the tables change, so that masks kept elsewhere are thrown away.
    fn generation(&self) -> u32 {
        0
    }

    /// Bit `i` is set if the static part of pattern `i` matches the instruction at `pc`.
    fn static_mask(&self, pc: u64, inst: &Inst) -> u32 {
        let _ = (pc, inst);
        0
    }

    /// Decides for one dynamic instruction in decode order; `seq` orders it for
    /// [`DecodeEditor::squash`]. `regs` are the registers, of which microinstructions read the
    /// DISE ones.
    fn decide(
        &mut self,
        seq: u64,
        mask: u32,
        pc: u64,
        inst: &Inst,
        regs: &[u64; reg::COUNT],
    ) -> Decision {
        let _ = (seq, mask, pc, inst, regs);
        Decision::default()
    }

    /// Instruction `index` of the sequence of `production` for this trigger, or `None` past its
    /// end.
    fn replacement(
        &self,
        production: u8,
        index: u8,
        pc: u64,
        trigger: &Inst,
    ) -> Option<Replacement> {
        let _ = (production, index, pc, trigger);
        None
    }

    /// Stages that the editor adds to decode for every instruction.
    fn extra_decode_stages(&self) -> u32 {
        0
    }

    /// Microinstructions may read DISE register `r` (a number in [`reg`]'s space): decode waits
    /// until a write to it has executed.
    fn reads_register(&self, r: u8) -> bool {
        let _ = r;
        false
    }

    /// Forgets the effects of every decision whose `seq` is `seq` or younger, if the editor
    /// repairs wrong paths.
    fn squash(&mut self, seq: u64) {
        let _ = seq;
    }

    /// No squash will ever reach `seq` or older.
    fn commit(&mut self, seq: u64) {
        let _ = seq;
    }

    /// A handler executed a drain: the consumer reads what it needs from guest memory.
    /// `read(addr, buf)` reads guest memory, `write(addr, buf)` is not offered: the guest resets
    /// its own pointers.
    fn drain(&mut self, read: &mut dyn FnMut(u64, &mut [u8]) -> bool) {
        let _ = read;
    }
}

/// Completes a taken transfer of the program under a new layout and returns the address at which execution
/// continues. The link register gets the original return address, and computed targets are original addresses.
#[inline]
pub fn transfer<E: DecodeEditor>(
    editor: &E,
    hart: &mut Hart,
    inst: &Inst,
    pc: u64,
    target: u64,
) -> u64 {
    if inst.rd != reg::SINK {
        hart.r[inst.rd as usize] = editor.original(pc).wrapping_add(u64::from(inst.len));
    }
    if inst.class.is_indirect() {
        editor.place(pc, target)
    } else {
        target
    }
}

/// No editor.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NoEditor;

impl DecodeEditor for NoEditor {
    const ENABLED: bool = false;

    fn beside(&self, _: usize, _: &mut [u64; reg::COUNT]) -> Option<Self> {
        Some(NoEditor)
    }
}

/// An editor whose machine may take interrupts. Their handlers run as those of productions do; with
/// [`NoEditor`] inside there are no productions, and handlers of interrupts only.
///
/// Nothing is mapped for the program where handlers lie, as with every decode-stage editor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interruptible<E>(pub E);

impl<E: DecodeEditor> DecodeEditor for Interruptible<E> {
    const ENABLED: bool = {
        assert!(!E::RELAYOUT, "a new layout of the code has no handlers");
        true
    };
    const INTERRUPTIBLE: bool = true;

    fn turn_to(&mut self, program: u32) {
        self.0.turn_to(program);
    }

    fn generation(&self) -> u32 {
        self.0.generation()
    }

    fn static_mask(&self, pc: u64, inst: &Inst) -> u32 {
        self.0.static_mask(pc, inst)
    }

    fn decide(
        &mut self,
        seq: u64,
        mask: u32,
        pc: u64,
        inst: &Inst,
        regs: &[u64; reg::COUNT],
    ) -> Decision {
        self.0.decide(seq, mask, pc, inst, regs)
    }

    fn replacement(
        &self,
        production: u8,
        index: u8,
        pc: u64,
        trigger: &Inst,
    ) -> Option<Replacement> {
        self.0.replacement(production, index, pc, trigger)
    }

    fn extra_decode_stages(&self) -> u32 {
        self.0.extra_decode_stages()
    }

    fn reads_register(&self, r: u8) -> bool {
        self.0.reads_register(r)
    }

    fn squash(&mut self, seq: u64) {
        self.0.squash(seq);
    }

    fn commit(&mut self, seq: u64) {
        self.0.commit(seq);
    }

    fn drain(&mut self, read: &mut dyn FnMut(u64, &mut [u8]) -> bool) {
        self.0.drain(read);
    }
}
