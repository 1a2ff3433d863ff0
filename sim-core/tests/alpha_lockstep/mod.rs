//! Random instruction streams over all of the ISA, in lockstep with QEMU.
//!
//! Parts common to the instruction sets are in [`lockstep_support`]; register dumps are `$0` to `$30`, FPCR and `$f0`
//! to `$f30`. Floating-point arithmetic, with its qualifiers and traps, is [`fp`]'s; here are all other operations,
//! those that move floating-point registers included.
//!
//! Left out, because the two may rightly differ, are: the value of `rpcc` (its width is compared),
//! PALcode calls that end the program, and plain stores of the same processor between a locked load
//! and its store-conditional, for which QEMU compares the value in memory. Locked loads have a
//! destination: QEMU takes one into register 31 for a prefetch, which locks nothing. Operations that trap
//! on overflow get operands that do not; that both trap where they must is a test of its own.
//!
//! No error of QEMU 7.2 is known in these operations. Those in floating-point arithmetic are listed in
//! `fp::differences`.

mod fp;
mod generate;
mod image;

use std::ops::Range;
use std::os::unix::process::ExitStatusExt;

use crate::lockstep_support::image::{Block, Layout, build};
use crate::lockstep_support::machines::{qemu, run_to_fault};
use crate::lockstep_support::random::Random;
use crate::lockstep_support::{Calls, Target, check};
use hps_isa::alpha::{fpcr, register_name};
use hps_isa::hart::Hart;
use hps_isa::inst::Op;
use hps_isa::isa::Isa;
use hps_isa::trap::TrapCause;

const BLOCKS: u64 = 120;
const INSTRUCTIONS: u64 = 6_000_000;

struct Alpha;

impl Target for Alpha {
    const ISA: Isa = Isa::Alpha;
    const QEMU: &'static str = "qemu-alpha";
    const ELF: (u16, u32) = (0x9026, 0);
    const PAGE: usize = 8192;
    const CALLS: Calls = Calls {
        number: image::V0,
        first_argument: 16,
        result: image::V0,
        write: image::WRITE,
        exit: image::EXIT,
    };

    fn block(random: Random, items: usize) -> (Block, Random) {
        generate::block(random, items)
    }

    fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<Range<u64>>) {
        image::emit(blocks, iterations, layout)
    }

    /// FPCR with any rounding mode and accrued exceptions, the summary bit as they ask for, and all
    /// traps but those of integers and denormal operands disabled.
    fn control(random: &mut Random) -> u64 {
        const DISABLED: u64 = 0b11 << 61 | 0b111 << 49;
        let accrued = random.below(64) << 52;
        let summary = if accrued == 0 { 0 } else { 1 << 63 };
        summary | accrued | random.below(4) << 58 | DISABLED
    }

    fn slot_name(slot: usize) -> String {
        match slot {
            0 => "$0 (v0)".to_owned(),
            1..31 => format!("${slot} ({})", register_name(slot as u8)),
            31 => "fpcr".to_owned(),
            63 => "nothing".to_owned(),
            _ => format!("$f{}", slot - 32),
        }
    }

    fn start() -> Hart {
        let mut hart = Hart::default();
        fpcr::reset(&mut hart);
        hart
    }
}

#[test]
fn random_streams_leave_the_same_registers_as_qemu() {
    check::<Alpha>(BLOCKS, INSTRUCTIONS);
}

#[test]
fn integer_overflow_ends_the_program() {
    const SIGFPE: i32 = 8;
    for (op, shifted) in [
        (Op::AlphaAddlV, 30),
        (Op::AlphaSublV, 31),
        (Op::AlphaMullV, 16),
        (Op::AlphaAddqV, 62),
        (Op::AlphaSubqV, 63),
        (Op::AlphaMulqV, 32),
    ] {
        let image = build::<Alpha>(&[generate::overflow(op, shifted)], 1, 1);
        let status = qemu::<Alpha>(&image).status;
        assert_eq!(status.signal(), Some(SIGFPE), "{op:?}: {status}");
        let run = run_to_fault::<Alpha>(&image);
        let overflow = TrapCause::Arithmetic { exceptions: 1 << 6 };
        assert_eq!(run.fault, Some(overflow), "{op:?}");
    }
}
