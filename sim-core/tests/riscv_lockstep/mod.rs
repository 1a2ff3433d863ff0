//! Random instruction streams over all of the ISA, in lockstep with QEMU.
//!
//! Parts common to the instruction sets are in [`lockstep_support`]; register dumps are `x1` to `x31`, `fcsr` and `f0`
//! to `f31`.
//!
//! Left out, because the two may rightly differ, are: counters (`cycle`, `time`, `instret`),
//! `ebreak`, and plain stores of the same hart between a load-reserved and its store-conditional.
//! Where QEMU 7.2 is wrong (`ctzw`), the generator avoids the input and says so.

mod generate;
mod image;

use std::ops::Range;

use crate::lockstep_support::image::{Block, Layout};
use crate::lockstep_support::random::Random;
use crate::lockstep_support::{Calls, Target, check};
use hps_isa::isa::Isa;
use hps_isa::riscv::register_name;

const BLOCKS: u64 = 200;
const INSTRUCTIONS: u64 = 10_000_000;

struct Riscv;

impl Target for Riscv {
    const ISA: Isa = Isa::Riscv64;
    const QEMU: &'static str = "qemu-riscv64";
    const QEMU_OPTIONS: &'static [&'static str] = &["-cpu", "rv64,zbc=true,zbkb=true,Zfh=true"];
    /// Compressed code, double-precision calling convention.
    const ELF: (u16, u32) = (243, 5);
    const PAGE: usize = 4096;
    const CALLS: Calls = Calls {
        number: 17,
        first_argument: 10,
        result: 10,
        write: 64,
        exit: 93,
    };

    fn block(random: Random, items: usize) -> (Block, Random) {
        generate::block(random, items)
    }

    fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<Range<u64>>) {
        image::emit(blocks, iterations, layout)
    }

    /// `fcsr` with a valid rounding mode and random accrued flags (often none, so that each new
    /// flag is seen).
    fn control(random: &mut Random) -> u64 {
        let flags = if random.chance(60) {
            0
        } else {
            random.below(32)
        };
        random.below(5) << 5 | flags
    }

    fn slot_name(slot: usize) -> String {
        match slot {
            0..31 => format!("x{} ({})", slot + 1, register_name(slot as u8 + 1)),
            31 => "fcsr".to_owned(),
            _ => format!("f{} ({})", slot - 32, register_name(slot as u8)),
        }
    }
}

#[test]
fn random_streams_leave_the_same_registers_as_qemu() {
    check::<Riscv>(BLOCKS, INSTRUCTIONS);
}
