//! Signal frames (Linux `arch/alpha/include/uapi/asm/{sigcontext,ucontext}.h`,
//! `arch/alpha/kernel/signal.c`). A handler with `SA_SIGINFO` gets the larger frame; another the old
//! one of OSF/1, which is the `struct sigcontext` alone.

use hps_isa::alpha::{fpcr, registers};
use hps_isa::bus::MemFault;
use hps_isa::hart::{Hart, NO_RESERVATION};
use hps_isa::memory::Memory;

use super::super::abi::{FrameKind, HandlerEntry, Restored};
use super::super::record::{Record, read_words};
use super::super::signals::{AltStack, SIGINFO_BYTES};

const SA_SIGINFO: u64 = 0x40;

/// `mov sp,a0; lda v0,351; callsys` (`rt_sigreturn`), and from [`PLAIN_RETURN`] on the same with 103
/// (`sigreturn`).
pub(super) const TRAMPOLINE: [u8; 28] = {
    let mut code = [0; 28];
    let words: [u32; 7] = [
        0x47fe_0410,
        0x201f_0000 + 351,
        0x83,
        0x47ff_041f,
        0x47fe_0410,
        0x201f_0000 + 103,
        0x83,
    ];
    let mut i = 0;
    while i < 28 {
        code[i] = words[i / 4].to_le_bytes()[i % 4];
        i += 1;
    }
    code
};
const PLAIN_RETURN: u64 = 16;

/// `struct sigcontext`: offsets in bytes.
mod context {
    pub const PC: usize = 16;
    pub const REGISTERS: usize = 32;
    pub const OWNED_FP: usize = 288;
    pub const FP: usize = 296;
    pub const FPCR: usize = 552;
    pub const TRAP_A0: usize = 600;
    pub const BYTES: usize = 648;
}

/// `struct rt_sigframe`: offsets in bytes.
mod realtime {
    pub const UCONTEXT: usize = super::SIGINFO_BYTES;
    /// `uc_stack`: behind `uc_flags`, `uc_link` and `uc_osf_sigmask`.
    pub const STACK: usize = UCONTEXT + 24;
    pub const CONTEXT: usize = UCONTEXT + 48;
    pub const MASK: usize = CONTEXT + super::context::BYTES;
    /// Three instructions that nobody executes follow.
    pub const BYTES: usize = MASK + 24;
}

/// ... and with the same three instructions.
const PLAIN_BYTES: usize = context::BYTES + 16;

/// `struct sigcontext`.
fn sigcontext(hart: &Hart, entry: &HandlerEntry, on_stack: bool) -> Vec<u8> {
    const USER_MODE: u64 = 8;
    let mut record = Record::new()
        .u64(u64::from(on_stack))
        .u64(entry.mask)
        .u64(hart.pc)
        .u64(USER_MODE);
    for field in 0..32 {
        record = record.u64(hart.r[usize::from(registers::number(field))]);
    }
    // The floating-point registers are valid.
    record = record.u64(1);
    for field in 0..32 {
        record = record.u64(hart.r[usize::from(registers::fp_number(field))]);
    }
    // The address and the code of the fault are the arguments of the trap.
    record
        .u64(fpcr::read(hart))
        .u64(fpcr::ieee_fp_control(hart))
        .pad_to(context::TRAP_A0)
        .u64(entry.info.addr.unwrap_or(0))
        .pad_to(context::BYTES)
        .done()
}

pub(super) fn enter(
    hart: &mut Hart,
    mem: &mut Memory,
    entry: &HandlerEntry,
) -> Result<u64, MemFault> {
    const SS_ONSTACK: u32 = 1;
    let context = sigcontext(hart, entry, entry.alt_stack.flags & SS_ONSTACK != 0);
    let is_realtime = entry.flags & SA_SIGINFO != 0;
    let (bytes, own_return) = if is_realtime {
        (realtime::BYTES, entry.trampoline)
    } else {
        (PLAIN_BYTES, entry.trampoline + PLAIN_RETURN)
    };
    let addr = entry.stack_top.wrapping_sub(bytes as u64) & !31;
    let (record, second, third) = if is_realtime {
        let record = Record::new()
            .bytes(&entry.info.encode())
            .pad_to(realtime::UCONTEXT + 16)
            .u64(entry.mask)
            .bytes(&entry.alt_stack.encode())
            .bytes(&context)
            .u64(entry.mask);
        (record, addr, addr.wrapping_add(realtime::UCONTEXT as u64))
    } else {
        (Record::new().bytes(&context), 0, addr)
    };
    mem.write_bytes(addr, &record.pad_to(bytes).done())?;

    let mut set = |register: u8, value| hart.r[usize::from(register)] = value;
    set(
        registers::RA,
        if entry.restorer == 0 {
            own_return
        } else {
            entry.restorer
        },
    );
    set(registers::PV, entry.handler);
    set(registers::A0, u64::from(entry.info.signal));
    set(registers::A0 + 1, second);
    set(registers::A0 + 2, third);
    set(registers::SP, addr);
    hart.pc = entry.handler;
    hart.reservation = NO_RESERVATION;
    Ok(addr)
}

/// The address of the frame is the argument of the call. With `optional_fp` a context of which
/// `sc_ownedfp` is zero holds no floating-point state.
pub(super) fn leave(
    hart: &mut Hart,
    mem: &Memory,
    kind: FrameKind,
    optional_fp: bool,
) -> Result<Restored, MemFault> {
    let frame = hart.r[usize::from(registers::A0)];
    let (bytes, context) = match kind {
        FrameKind::Realtime => (realtime::BYTES, realtime::CONTEXT),
        FrameKind::Plain => (context::BYTES, 0),
    };
    // The range was checked to lie below the end of memory before any of the sums is formed.
    mem.readable(frame, bytes as u64)?;
    let at = |offset: usize| frame + offset as u64;
    let [pc] = read_words(mem, at(context + context::PC))?;
    let integer: [u64; 32] = read_words(mem, at(context + context::REGISTERS))?;
    let fp: [u64; 32] = read_words(mem, at(context + context::FP))?;
    let [fpcr] = read_words(mem, at(context + context::FPCR))?;
    let [owned_fp] = read_words(mem, at(context + context::OWNED_FP))?;
    let (mask, alt_stack) = match kind {
        FrameKind::Realtime => {
            let [mask] = read_words(mem, at(realtime::MASK))?;
            (mask, Some(AltStack::read(mem, at(realtime::STACK))?))
        }
        FrameKind::Plain => (read_words::<1>(mem, at(8))?[0], None),
    };
    hart.pc = pc & !3;
    // Register 31 is always zero, whatever the frame says.
    for field in 0..31 {
        hart.r[usize::from(registers::number(field))] = integer[usize::from(field)];
    }
    if owned_fp != 0 || !optional_fp {
        for field in 0..31 {
            hart.r[usize::from(registers::fp_number(field))] = fp[usize::from(field)];
        }
        fpcr::write(hart, fpcr);
    }
    hart.reservation = NO_RESERVATION;
    Ok(Restored {
        frame,
        mask,
        alt_stack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets() {
        assert_eq!(context::OWNED_FP, context::REGISTERS + 32 * 8);
        assert_eq!(context::FPCR, context::FP + 32 * 8);
        // sizeof(struct ucontext) is 704, and the frame is rounded up to 8 bytes.
        assert_eq!(realtime::MASK + 8, realtime::UCONTEXT + 704);
        assert_eq!(realtime::BYTES % 8, 0);
    }
}
