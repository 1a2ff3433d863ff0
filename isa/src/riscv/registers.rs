//! Names of registers and of control and status registers.

use crate::inst::{Inst, Op, reg};

const NAMES: [&str; reg::SINK as usize + 1] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1",
    "fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8",
    "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11", "dr0", "dr1", "dr2", "dr3", "dr4", "dr5",
    "dr6", "dr7", "dr8", "dr9", "dr10", "dr11", "dr12", "dr13", "dr14", "dr15", "?", "?", "?", "?",
    "?", "ir0", "ir1", "ir2", "ir3", "ir4", "ir5", "ir6", "ir7", "ir8", "ir9", "zero",
];

/// The name of a register in the numbering of [`reg`]: the ABI's for integer and floating-point
/// registers, `dr0` to `dr15` for those of DISE, `ir0` to `ir9` for those of interrupts. [`reg::SINK`]
/// is the zero register as a destination; a number that is no register is `?`.
#[must_use]
pub fn register_name(register: u8) -> &'static str {
    NAMES.get(register as usize).copied().unwrap_or("?")
}

/// The register of a name: ABI names, `fp`, `x0` to `x31`, `f0` to `f31`, `dr0` to `dr15`,
/// `ir0` to `ir9`.
#[must_use]
pub fn parse_register(name: &str) -> Option<u8> {
    if name == "fp" {
        return Some(8);
    }
    let named = reg::SINK as usize;
    if let Some(i) = NAMES[..named].iter().position(|&n| n == name && n != "?") {
        return Some(i as u8);
    }
    let (base, digits) = match name.as_bytes().first()? {
        b'x' => (reg::ZERO, &name[1..]),
        b'f' => (reg::FP, &name[1..]),
        _ => return None,
    };
    let canonical =
        digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let number: u8 = digits.parse().ok().filter(|_| canonical)?;
    (number < 32).then_some(base + number)
}

/// CSR `fflags`: accrued exceptions.
pub const CSR_FFLAGS: u16 = 0x001;
/// CSR `frm`: dynamic rounding mode.
pub const CSR_FRM: u16 = 0x002;
/// CSR `fcsr`: both of them.
pub const CSR_FCSR: u16 = 0x003;
/// CSR `cycle`.
pub const CSR_CYCLE: u16 = 0xc00;
/// CSR `time`.
pub const CSR_TIME: u16 = 0xc01;
/// CSR `instret`.
pub const CSR_INSTRET: u16 = 0xc02;

/// CSR `hpmcounter3`, the first of those that count what the machine selects.
pub const CSR_HPM_FIRST: u16 = 0xc03;
/// CSR `hpmcounter31`.
pub const CSR_HPM_LAST: u16 = 0xc1f;

/// The names of `hpmcounter3` to `hpmcounter31`, in their order.
const HPM: [&str; 29] = [
    "hpmcounter3",
    "hpmcounter4",
    "hpmcounter5",
    "hpmcounter6",
    "hpmcounter7",
    "hpmcounter8",
    "hpmcounter9",
    "hpmcounter10",
    "hpmcounter11",
    "hpmcounter12",
    "hpmcounter13",
    "hpmcounter14",
    "hpmcounter15",
    "hpmcounter16",
    "hpmcounter17",
    "hpmcounter18",
    "hpmcounter19",
    "hpmcounter20",
    "hpmcounter21",
    "hpmcounter22",
    "hpmcounter23",
    "hpmcounter24",
    "hpmcounter25",
    "hpmcounter26",
    "hpmcounter27",
    "hpmcounter28",
    "hpmcounter29",
    "hpmcounter30",
    "hpmcounter31",
];

/// The CSR that an instruction reads or writes, if it is such an access.
#[must_use]
pub fn accessed_csr(inst: &Inst) -> Option<u16> {
    let accesses = matches!(
        inst.op,
        Op::Csrrw | Op::Csrrs | Op::Csrrc | Op::Csrrwi | Op::Csrrsi | Op::Csrrci
    );
    accesses.then_some((inst.imm & 0xfff) as u16)
}

/// Index of a CSR among the selected counters, from 0 for `hpmcounter3`; `None` for other CSRs.
#[must_use]
pub fn hpm_index(csr: u16) -> Option<usize> {
    (CSR_HPM_FIRST..=CSR_HPM_LAST)
        .contains(&csr)
        .then(|| usize::from(csr - CSR_HPM_FIRST))
}

const CSRS: [(u16, &str); 6] = [
    (CSR_FFLAGS, "fflags"),
    (CSR_FRM, "frm"),
    (CSR_FCSR, "fcsr"),
    (CSR_CYCLE, "cycle"),
    (CSR_TIME, "time"),
    (CSR_INSTRET, "instret"),
];

/// The name of a control and status register that exists in user mode here.
#[must_use]
pub fn csr_name(number: u16) -> Option<&'static str> {
    if let Some(index) = hpm_index(number) {
        return Some(HPM[index]);
    }
    CSRS.iter()
        .find(|&&(n, _)| n == number)
        .map(|&(_, name)| name)
}

/// The number of a named control and status register.
#[must_use]
pub fn parse_csr(name: &str) -> Option<u16> {
    if let Some(index) = HPM.iter().position(|known| *known == name) {
        return Some(CSR_HPM_FIRST + index as u16);
    }
    CSRS.iter()
        .find(|&&(_, n)| n == name)
        .map(|&(number, _)| number)
}

/// Names of rounding modes; the holes are reserved.
pub(crate) const ROUNDING_MODES: [Option<&str>; 8] = [
    Some("rne"),
    Some("rtz"),
    Some("rdn"),
    Some("rup"),
    Some("rmm"),
    None,
    None,
    Some("dyn"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_its_own_register() {
        let interrupts = reg::INTERRUPT..reg::INTERRUPT + reg::INTERRUPT_REGISTERS;
        for r in (0..reg::DISE + reg::DISE_COUNT).chain(interrupts) {
            assert_eq!(parse_register(register_name(r)), Some(r));
        }
        assert_eq!(parse_register("x31"), Some(31));
        assert_eq!(parse_register("f0"), Some(32));
        assert_eq!(parse_register("fp"), Some(8));
        assert_eq!(register_name(reg::SINK), "zero");
        for bad in [
            "", "x", "x32", "x01", "f32", "f+1", "dr16", "ir10", "a8", "s12", "?", "é",
        ] {
            assert_eq!(parse_register(bad), None, "{bad}");
        }
    }
}
