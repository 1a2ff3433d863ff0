//! Which integer registers may still be read: where an inserted instruction finds a free one.
//!
//! A backward analysis over the code that was found. Everything is live where control goes somewhere
//! that the code does not say: behind calls, at computed jumps and returns, at system calls and traps.
//! A signal handler's view of a register that the program will not read again does not count; nor does a handler that
//! skips a faulting load, whose register then keeps what inserted code left there.

use bitvec::BitArr;
use hps_isa::inst::{OpClass, reg};

use super::code::Code;

/// A set of integer registers.
pub type Registers = BitArr!(for reg::FP as usize, in u32);

/// Every register.
const ALL: Registers = {
    let mut all = Registers::ZERO;
    all.data = [u32::MAX];
    all
};

/// The registers that are live in front of each instruction.
pub fn live(code: &Code) -> Vec<Registers> {
    let n = code.list.len();
    let behind: Vec<Option<usize>> = (0..n).map(|at| code.behind(at)).collect();
    let targets: Vec<Option<usize>> = (0..n).map(|at| code.target(at)).collect();
    let mut live: Vec<Registers> = vec![Registers::ZERO; n];
    loop {
        let mut changed = false;
        for at in (0..n).rev() {
            let inst = &code.list[at].inst;
            let of = |at: Option<usize>| at.map_or(ALL, |at| live[at]);
            let out = match inst.class {
                OpClass::Branch => of(behind[at]) | of(targets[at]),
                OpClass::Jump => of(targets[at]),
                OpClass::Call
                | OpClass::CallIndirect
                | OpClass::JumpIndirect
                | OpClass::Return
                | OpClass::Illegal => ALL,
                // System calls and breaks read what the operating system or a handler reads, which is everything.
                OpClass::Syscall | OpClass::Break => {
                    changed |= live[at] != ALL;
                    live[at] = ALL;
                    continue;
                }
                _ => of(behind[at]),
            };
            let before = out & !set(&[inst.rd]) | set(&[inst.rs1, inst.rs2, inst.rs3]);
            changed |= live[at] != before;
            live[at] = before;
        }
        if !changed {
            return live;
        }
    }
}

/// Set of the tracked registers among `registers`.
fn set(registers: &[u8]) -> Registers {
    let mut set = Registers::ZERO;
    for register in registers {
        if is_tracked(*register) {
            set.set(usize::from(*register), true);
        }
    }
    set
}

/// Whether a register is in a set.
pub fn contains(set: Registers, register: u8) -> bool {
    is_tracked(register) && set[usize::from(register)]
}

fn is_tracked(register: u8) -> bool {
    register != reg::ZERO && register < reg::FP
}
