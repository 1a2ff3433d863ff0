//! `getsysinfo` and `setsysinfo` of OSF/1, which Linux on Alpha has too: the control word of floating
//! point, what is done with unaligned accesses, the processor (Linux `arch/alpha/include/uapi/asm/
//! sysinfo.h`, `arch/alpha/kernel/osf_sys.c`).

use hps_isa::alpha::fpcr;
use hps_isa::inst::reg;
use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::record::{Record, read_words};
use super::signals::{SigInfo, Signal};
use crate::process::Thread;

/// Operations of `getsysinfo`.
mod get {
    pub const UACPROC: u64 = 8;
    pub const IEEE_FP_CONTROL: u64 = 45;
    pub const PROC_TYPE: u64 = 60;
    pub const GET_HWRPB: u64 = 101;
}

/// Operations of `setsysinfo`.
mod set {
    pub const NVPAIRS: u64 = 1;
    pub const LMF: u64 = 7;
    pub const IEEE_FP_CONTROL: u64 = 14;
    pub const IEEE_RAISE_EXCEPTION: u64 = 1001;
}

/// The name of the pair that says what is done with unaligned accesses.
const SSIN_UACPROC: u64 = 6;
const UAC_BITMASK: u64 = 7;
const UAC_SIGBUS: u64 = 4;

/// The processor's type: EV67.
const PROCESSOR_TYPE: u64 = 11;
/// Size of `struct hwrpb_struct`.
const HWRPB_BYTES: u64 = 0x148;

/// The hardware restart parameter block, as far as it says anything of a simulated machine: identity,
/// page size, bits of an address, ticks of the clock.
fn hwrpb(page_bytes: u64) -> Vec<u8> {
    const REVISION: u64 = 6;
    const PHYSICAL_ADDRESS_BITS: u64 = 44;
    const MAX_ASN: u64 = 255;
    Record::new()
        .u64(0)
        .bytes(b"HWRPB\0\0\0")
        .u64(REVISION)
        .u64(HWRPB_BYTES)
        .u64(0)
        .u64(page_bytes)
        .u64(PHYSICAL_ADDRESS_BITS)
        .u64(MAX_ASN)
        .pad_to(HWRPB_BYTES as usize)
        .done()
}

impl Linux {
    pub(super) fn getsysinfo(
        &self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [operation, buffer, bytes, ..] = *a;
        match operation {
            get::IEEE_FP_CONTROL => {
                mem.write_bytes(buffer, &fpcr::ieee_fp_control(&thread.hart).to_le_bytes())?;
                Ok(0)
            }
            get::UACPROC if bytes < 4 => Err(Errno::EINVAL),
            get::UACPROC => {
                let word = thread.unaligned_control as u32;
                mem.write_bytes(buffer, &word.to_le_bytes())?;
                Ok(1)
            }
            get::PROC_TYPE if bytes < 8 => Err(Errno::EINVAL),
            get::PROC_TYPE => {
                mem.write_bytes(buffer, &PROCESSOR_TYPE.to_le_bytes())?;
                Ok(1)
            }
            get::GET_HWRPB if bytes > HWRPB_BYTES => Err(Errno::EINVAL),
            get::GET_HWRPB => {
                let block = hwrpb(self.abi.page_bytes());
                mem.write_bytes(buffer, &block[..bytes as usize])?;
                Ok(1)
            }
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    pub(super) fn setsysinfo(
        &mut self,
        thread: &mut Thread,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [operation, buffer, count, ..] = *a;
        match operation {
            set::IEEE_FP_CONTROL => {
                let [word] = read_words(mem, buffer)?;
                fpcr::set_ieee_fp_control(&mut thread.hart, word);
                Ok(0)
            }
            set::IEEE_RAISE_EXCEPTION => {
                let [word] = read_words(mem, buffer)?;
                let enabled = fpcr::raise_ieee_exceptions(&mut thread.hart, word);
                if enabled != 0 {
                    thread.signals.pending.post(SigInfo {
                        signal: self.abi.signal_number(Signal::Fpe),
                        code: fpcr::signal_code(enabled),
                        addr: Some(0),
                        ..SigInfo::default()
                    });
                }
                Ok(0)
            }
            set::NVPAIRS => set_pairs(thread, mem, buffer, count),
            set::LMF => Ok(0),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }
}

/// Pairs of a name and a value.
fn set_pairs(thread: &mut Thread, mem: &Memory, buffer: u64, count: u64) -> Result<u64, Errno> {
    for index in 0..count {
        let [name, value] = read_words(mem, buffer.wrapping_add(index.wrapping_mul(16)))?;
        if name != SSIN_UACPROC {
            return Err(Errno::EOPNOTSUPP);
        }
        thread.unaligned_control = value & UAC_BITMASK;
        thread.hart.r[usize::from(reg::UNALIGNED)] = value & UAC_SIGBUS;
    }
    Ok(0)
}
