//! Registers as gdb numbers them.
//!
//! RISC-V's are described to gdb (`org.gnu.gdb.riscv.cpu` and `.fpu`). For Alpha gdb has no description, and one order: integer
//! and floating-point registers, the last of which is FPCR, the program counter, a number without a register, and the
//! unique value of the thread.

use gdbstub::arch::{Arch, Registers};
use hps_isa::alpha::fpcr;
use hps_isa::alpha::registers::{fp_number, number};
use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::isa::Isa;

/// The program's instruction set, chosen when the server begins: gdb learns it from the target description.
pub enum Guest {}

impl Arch for Guest {
    type Usize = u64;
    type Registers = RegisterFile;
    type BreakpointKind = usize;
    type RegId = ();
}

/// All registers in gdb's order, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterFile {
    bytes: Vec<u8>,
    pc: u64,
}

impl Registers for RegisterFile {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.bytes.iter().for_each(|byte| write_byte(Some(*byte)));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.bytes = bytes.to_vec();
        Ok(())
    }
}

/// A register that gdb sees.
#[derive(Clone, Copy)]
enum Place {
    /// One of the register file.
    File(u8),
    /// Reads as zero, and ignores what is written.
    Zero,
    Pc,
    /// RISC-V: bits of `fcsr` from the first number on, below the second one.
    Fcsr(u32, u32),
    /// Alpha: FPCR.
    Fpcr,
}

impl Place {
    fn bytes(self) -> usize {
        match self {
            Place::Fcsr(..) => 4,
            _ => 8,
        }
    }

    fn read(self, hart: &Hart) -> u64 {
        match self {
            Place::File(register) => hart.r[usize::from(register)],
            Place::Zero => 0,
            Place::Pc => hart.pc,
            Place::Fcsr(first, end) => u64::from(hart.fcsr) >> first & ((1 << (end - first)) - 1),
            Place::Fpcr => fpcr::read(hart),
        }
    }

    fn write(self, hart: &mut Hart, value: u64) {
        match self {
            Place::File(register) => hart.r[usize::from(register)] = value,
            Place::Zero => {}
            Place::Pc => hart.pc = value,
            Place::Fcsr(first, end) => {
                let mask = ((1_u64 << (end - first)) - 1) << first;
                hart.fcsr = (u64::from(hart.fcsr) & !mask | value << first & mask) as u8;
            }
            Place::Fpcr => fpcr::write(hart, value),
        }
    }
}

/// The registers of an instruction set, in gdb's order.
fn places(isa: Isa) -> Vec<Place> {
    let of_file = |register: u8| match register {
        reg::ZERO => Place::Zero,
        register => Place::File(register),
    };
    match isa {
        Isa::Riscv64 => {
            let integers = (0..32).map(of_file);
            let floats = (0..32).map(|number| Place::File(reg::FP + number));
            let control = [Place::Fcsr(0, 5), Place::Fcsr(5, 8), Place::Fcsr(0, 8)];
            integers
                .chain([Place::Pc])
                .chain(floats)
                .chain(control)
                .collect()
        }
        Isa::Alpha => {
            let integers = (0..32).map(|field| of_file(number(field)));
            let floats = (0..31).map(|field| of_file(fp_number(field)));
            let others = [
                Place::Fpcr,
                Place::Pc,
                Place::Zero,
                Place::File(reg::UNIQUE),
            ];
            integers.chain(floats).chain(others).collect()
        }
    }
}

/// The registers of a thread.
pub(super) fn file(isa: Isa, hart: &Hart) -> RegisterFile {
    let mut bytes = Vec::new();
    for place in places(isa) {
        let value = place.read(hart).to_le_bytes();
        bytes.extend_from_slice(&value[..place.bytes()]);
    }
    RegisterFile { bytes, pc: hart.pc }
}

/// Changes those registers that differ from what gdb was shown. `None` if gdb has written fewer registers than there are.
pub(super) fn written(isa: Isa, from: &RegisterFile, hart: &Hart) -> Option<Hart> {
    let mut changed = hart.clone();
    let mut rest = &from.bytes[..];
    for place in places(isa) {
        let (bytes, behind) = rest.split_at_checked(place.bytes())?;
        rest = behind;
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(bytes);
        let value = u64::from_le_bytes(value);
        if value != place.read(hart) {
            place.write(&mut changed, value);
        }
    }
    Some(changed)
}

/// The description of the target that gdb asks for.
pub(super) fn description(isa: Isa) -> String {
    const HEAD: &str = "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">";
    let mut text = HEAD.to_owned();
    match isa {
        Isa::Alpha => text += "<architecture>alpha</architecture>",
        Isa::Riscv64 => {
            text += "<architecture>riscv:rv64</architecture><osabi>GNU/Linux</osabi>";
            text += "<feature name=\"org.gnu.gdb.riscv.cpu\">";
            for number in 0..32 {
                let kind = if number == 2 { "data_ptr" } else { "int" };
                text += &format!("<reg name=\"x{number}\" bitsize=\"64\" type=\"{kind}\"/>");
            }
            text += "<reg name=\"pc\" bitsize=\"64\" type=\"code_ptr\"/></feature>";
            text += "<feature name=\"org.gnu.gdb.riscv.fpu\">";
            for number in 0..32 {
                text += &format!("<reg name=\"f{number}\" bitsize=\"64\" type=\"ieee_double\"/>");
            }
            for name in ["fflags", "frm", "fcsr"] {
                text += &format!("<reg name=\"{name}\" bitsize=\"32\" type=\"int\"/>");
            }
            text += "</feature>";
        }
    }
    text + "</target>"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that gdb computes from its own numbering: 32 + 1 + 32 registers of 8 bytes and 3 of 4 bytes; 67 of 8 bytes.
    #[test]
    fn a_file_has_the_size_that_gdb_expects_and_comes_back_as_it_was() {
        for (isa, size) in [(Isa::Riscv64, 65 * 8 + 12), (Isa::Alpha, 67 * 8)] {
            let mut hart = Hart::default();
            for register in 1..reg::DISE {
                hart.r[usize::from(register)] = 1000 + u64::from(register);
            }
            hart.pc = 0x1_2000;
            let shown = file(isa, &hart);
            assert_eq!(shown.bytes.len(), size, "{isa}");
            assert_eq!(written(isa, &shown, &hart), Some(hart.clone()));
            let mut other = shown.clone();
            other.bytes[8 * 2] ^= 1;
            let changed = written(isa, &other, &hart).expect("as many registers");
            let register = match isa {
                Isa::Riscv64 => 2,
                Isa::Alpha => usize::from(number(2)),
            };
            assert_eq!(changed.r[register], hart.r[register] ^ 1, "{isa}");
            other.bytes.pop();
            assert_eq!(written(isa, &other, &hart), None);
        }
    }

    #[test]
    fn alphas_register_0_and_31_are_v0_and_zero() {
        let mut hart = Hart::default();
        hart.r[usize::from(number(0))] = 0x1122;
        let bytes = file(Isa::Alpha, &hart).bytes;
        assert_eq!(bytes[..2], [0x22, 0x11]);
        assert_eq!(bytes[31 * 8..32 * 8], [0; 8]);
    }
}
