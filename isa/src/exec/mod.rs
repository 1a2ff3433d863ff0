//! Execution of single instructions, shared by the functional machine and the pipeline.

mod condition;
mod plain;
#[cfg(test)]
pub(crate) mod ram;

pub use condition::Condition;
pub use plain::Plain;

pub use crate::riscv::exec::wide::execute as execute_wide;

use crate::alpha::exec as alpha;
use crate::bus::Bus;
use crate::hart::Hart;
use crate::inst::{Inst, Op};
use crate::memory::{Memory, Quick};
use crate::riscv::exec::{
    atomic, bits, control, csr, dise, fp_convert, fp_double, fp_half, fp_more, fp_single, int, mem,
    muldiv, wide,
};
use crate::riscv::table::for_each_op;
use crate::trap::TrapCause;

/// Outcome of an instruction that has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Go on with the next instruction in memory.
    Next,
    /// A control transfer that is taken, and its target.
    Taken(u64),
    /// A system call: the machine calls the operating system layer and continues with the next instruction.
    Syscall,
    /// Code may have been modified: decoded instructions must be thrown away.
    FenceI,
    /// An access that is wider than a register: the instruction executes with nothing else in flight.
    Wide,
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

/// Executes one instruction of an operation that continues with the next one, as [`execute`] does. It returns `false`
/// if nothing has changed and [`execute`] has to be called: for traps and slow cases (the first store to a page, an
/// access to two pages). So nothing in it needs a stack.
pub type Straight = fn(&mut Hart, &mut Memory, &Inst, u64) -> bool;

/// Direction of a control transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// To the next instruction.
    Next,
    /// To the address that comes with this value.
    Taken,
    /// Unknown: [`execute`] has to be called. Nothing has changed.
    Otherwise,
}

/// Executes one control transfer, as [`execute`] does: where it goes, and the address if it is taken.
pub type Transfer = fn(&mut Hart, &mut Memory, &Inst, u64) -> (Turn, u64);

impl Op {
    /// The function that executes this operation, for callers that look it up once and execute it often. For an
    /// operation that does not continue with the next instruction it gives `false`, or its target is lost.
    #[must_use]
    pub fn straight(self) -> Straight {
        STRAIGHT[self as usize]
    }

    /// The function that executes this control transfer, for callers that look it up once. For any other
    /// operation its effect may be lost.
    #[inline]
    #[must_use]
    pub fn transfer(self) -> Transfer {
        TRANSFERS[self as usize]
    }
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

        /// Each operation by its number.
        static STRAIGHT: [Straight; Op::ALL.len()] = [$(
            |hart, mem, inst, pc| $function(hart, &mut Quick(mem), inst, pc) == Outcome::Next,
        )*];

        static TRANSFERS: [Transfer; Op::ALL.len()] = [$(
            |hart, mem, inst, pc| match $function(hart, mem, inst, pc) {
                Outcome::Next => (Turn::Next, 0),
                Outcome::Taken(target) => (Turn::Taken, target),
                _ => (Turn::Otherwise, 0),
            },
        )*];
    };
}

for_each_op!(define_execute);

/// [`execute`] on guest memory, for callers whose speed does not depend on it. [`execute`] is hundreds of functions in
/// each of its callers, and this function is compiled once.
#[inline(never)]
pub fn execute_seldom(hart: &mut Hart, mem: &mut Memory, inst: &Inst, pc: u64) -> Outcome {
    execute(hart, mem, inst, pc)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::inst::{ALL_CLASSES, OpClass, reg};
    use crate::isa::Isa;
    use crate::memory::Perm;

    /// Instructions of every operation, in states in which they mostly do not fault.
    fn samples() -> impl Iterator<Item = (Inst, Hart)> {
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            state >> 33
        };
        let ops = Op::ALL.iter().flat_map(|op| std::iter::repeat_n(*op, 20));
        ops.map(move |op| {
            let mut hart = Hart::default();
            for register in 1..reg::DISE {
                hart.r[usize::from(register)] = 0x1_0000 + random() % 0x800 * 8;
            }
            let inst = Inst {
                imm: (random() % 64) as i64 * 8,
                op,
                class: OpClass::Illegal,
                rd: 1 + (random() % 60) as u8,
                rs1: (random() % 64) as u8,
                rs2: (random() % 64) as u8,
                rs3: (random() % 64) as u8,
                len: 4,
            };
            (inst, hart)
        })
    }

    #[test]
    fn what_adds_or_combines_bits_writes_what_execution_does() {
        let mut memory = Memory::new(1 << 20).unwrap();
        let (mut adds, mut combines) = (HashSet::new(), HashSet::new());
        for (sample, hart) in samples() {
            // With and without each operand, the same one twice, and of Alpha with a literal.
            for parts in 0..16 {
                let has = |bit: u32| parts >> bit & 1 != 0;
                let rs1 = if has(0) { sample.rs1 } else { reg::ZERO };
                let is_alpha = sample.op.isa() == Some(Isa::Alpha);
                let is_operate = is_alpha && !matches!(sample.op, Op::AlphaLda | Op::AlphaLdah);
                let inst = Inst {
                    rs1,
                    rs2: match (has(1), has(3)) {
                        _ if is_operate && has(2) => reg::ZERO,
                        (true, true) => rs1,
                        (true, false) => sample.rs2,
                        (false, _) => reg::ZERO,
                    },
                    imm: match sample.imm {
                        _ if !has(2) => 0,
                        imm if is_operate => crate::alpha::LITERAL | imm & 0xff,
                        imm if has(3) => !imm,
                        imm => imm,
                    },
                    class: sample.op.class(),
                    ..sample
                };
                let [a, b] = [inst.rs1, inst.rs2].map(|rs| hart.r[usize::from(rs)]);
                let value = match (inst.sum(), inst.logic()) {
                    (None, None) => continue,
                    (Some(_), Some(_)) => panic!("{inst:?} does both"),
                    (Some(sum), None) => {
                        adds.insert(inst.op);
                        sum.of(a, b)
                    }
                    (None, Some(logic)) => {
                        combines.insert(inst.op);
                        logic.of(a, b)
                    }
                };
                let mut expected = hart.clone();
                expected.r[usize::from(inst.rd)] = value;
                let mut hart = hart.clone();
                assert_eq!(execute(&mut hart, &mut memory, &inst, 0), Outcome::Next);
                assert!(hart == expected, "{inst:?}");
            }
        }
        assert!(adds.len() > 20, "{adds:?}");
        assert!(combines.len() > 20, "{combines:?}");
    }

    #[test]
    fn what_is_not_quick_is_left_to_execution() {
        let mut memory = Memory::new(1 << 20).unwrap();
        memory.map(0x1_0000, 0x8000, Perm::RW).unwrap();
        memory.write_bytes(0x1_0000, &[0x5a; 0x1000]).unwrap();
        let mut hart = Hart::default();
        let mut try_both = |op, addr| {
            hart.r[1] = addr;
            let inst = Inst {
                op,
                rd: 2,
                rs1: 1,
                rs2: 1,
                ..Inst::illegal(4)
            };
            let before = (
                hart.clone(),
                memory.readable(0x1_0000, 0x8000).unwrap().to_vec(),
            );
            let quick = op.straight()(&mut hart, &mut memory, &inst, 0);
            let behind = (
                hart.clone(),
                memory.readable(0x1_0000, 0x8000).unwrap().to_vec(),
            );
            let outcome = execute(&mut hart, &mut memory, &inst, 0);
            assert_eq!(quick, behind != before, "{op:?} at {addr:#x}");
            (quick, outcome)
        };
        // The first store to a page, and the second one.
        assert_eq!(try_both(Op::Sd, 0x1_4000), (false, Outcome::Next));
        assert_eq!(try_both(Op::Sd, 0x1_4008), (true, Outcome::Next));
        // Accesses across two pages are left to `execute`.
        assert_eq!(try_both(Op::Lw, 0x1_0ffe), (false, Outcome::Next));
        assert_eq!(try_both(Op::Sd, 0x1_0ffa), (false, Outcome::Next));
        let nowhere = try_both(Op::Lw, 0x9_0000);
        assert!(matches!(nowhere, (false, Outcome::Trap(_))), "{nowhere:?}");
    }

    #[test]
    fn an_operation_by_itself_does_what_execution_does() {
        assert_eq!(ALL_CLASSES[0], OpClass::Illegal);
        let mut memory = Memory::new(1 << 20).unwrap();
        memory.map(0x1_0000, 0x8000, Perm::RW).unwrap();
        let before = [0x5a; 0x8000];
        let (mut straight, mut taken, mut traps) = (0, 0, 0);
        for (inst, hart) in samples() {
            let mut run = |what: &mut dyn FnMut(&mut Hart, &mut Memory)| {
                let mut hart = hart.clone();
                memory.write_bytes(0x1_0000, &before).unwrap();
                what(&mut hart, &mut memory);
                (hart, memory.readable(0x1_0000, 0x8000).unwrap().to_vec())
            };
            let pc = 0x1_4000;
            let (mut outcome, mut goes_on, mut turn) = (Outcome::Next, false, (Turn::Next, 0));
            let expected = run(&mut |h, m| outcome = execute(h, m, &inst, pc));
            let by_straight = run(&mut |h, m| goes_on = inst.op.straight()(h, m, &inst, pc));
            let by_transfer = run(&mut |h, m| turn = inst.op.transfer()(h, m, &inst, pc));
            assert!(
                by_straight == expected && by_transfer == expected,
                "{inst:?}"
            );
            assert_eq!(goes_on, outcome == Outcome::Next, "{inst:?}");
            let expected = match outcome {
                Outcome::Next => (Turn::Next, 0),
                Outcome::Taken(target) => (Turn::Taken, target),
                _ => (Turn::Otherwise, 0),
            };
            assert_eq!(turn, expected, "{inst:?}");
            straight += u32::from(goes_on);
            taken += u32::from(turn.0 == Turn::Taken);
            traps += u32::from(matches!(outcome, Outcome::Trap(_)));
        }
        assert!(
            straight > 3000 && taken > 100 && traps > 20,
            "{straight} {taken} {traps}"
        );
    }
}
