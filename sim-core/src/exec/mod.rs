//! What executing one instruction means, shared by the functional machine and the pipeline.

#[cfg(test)]
pub(crate) mod ram;

use crate::alpha::exec as alpha;
use crate::bus::Bus;
use crate::hart::Hart;
use crate::inst::{Inst, Op};
use crate::riscv::exec::{
    atomic, bits, control, csr, dise, fp_convert, fp_double, fp_single, int, mem, muldiv,
};
use crate::riscv::table::for_each_op;
use crate::trap::TrapCause;

/// What happens after an instruction has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Go on with the next instruction in memory.
    Next,
    /// A control transfer that is taken, and its target.
    Taken(u64),
    /// A system call: the machine asks the operating system layer, then goes on behind it.
    Syscall,
    /// Code may have been modified: decoded instructions must be thrown away.
    FenceI,
    /// Branch within a replacement sequence, to this index.
    DiseTaken(u8),
    /// Call of a handler at this address.
    DiseCall(u64),
    /// Return of a handler.
    DiseReturn,
    /// The profile consumer reads its buffer here.
    DiseDrain,
    /// The instruction faults. Nothing was changed.
    Trap(TrapCause),
}

macro_rules! define_execute {
    ($($variant:ident $mnemonic:literal $format:ident $match:literal $mask:literal $class:ident
       $function:path, $doc:literal;)*) => {
        /// Executes one instruction that lies at `pc` (inside an expansion: at the trigger's
        /// address). `hart.pc` is neither read nor written: the caller follows the [`Outcome`].
        /// An instruction that traps has changed nothing.
        #[inline(always)]
        pub fn execute<B: Bus>(hart: &mut Hart, bus: &mut B, inst: &Inst, pc: u64) -> Outcome {
            match inst.op {
                $(Op::$variant => $function(hart, bus, inst, pc),)*
            }
        }
    };
}

for_each_op!(define_execute);
