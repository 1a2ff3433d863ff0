//! The lockstep tests' common part: a generated program runs random blocks on tables of register
//! values and writes all registers after each run of a block, and all the memory it could write at its
//! end. QEMU user mode and this crate execute the same file, the latter by `execute` alone and in the
//! functional machine; what they write must be equal, byte for byte.
//!
//! A difference is narrowed to the piece of code that makes it. `HPS_LOCKSTEP_SEED` chooses another
//! stream, `HPS_LOCKSTEP_BLOCKS` another length.

pub mod compare;
pub mod image;
pub mod machines;
pub mod random;

use std::ops::Range;

use hps_isa::hart::Hart;
use hps_isa::isa::Isa;

use self::compare::{first_difference, report};
use self::image::{Block, Layout};
use self::machines::{run_machine, run_ours, run_qemu};
use self::random::Random;

/// How often each block runs.
pub const ITERATIONS: u64 = 256;
/// Pieces of code in a block.
const ITEMS: usize = 150;

/// How programs ask for system calls: numbers of registers and of calls.
pub struct Calls {
    pub number: u8,
    pub first_argument: u8,
    pub result: u8,
    pub write: u64,
    pub exit: u64,
}

/// Parts that an instruction set adds to the common ones.
pub trait Target {
    const ISA: Isa;
    /// QEMU's program for it.
    const QEMU: &'static str;
    /// Options for what QEMU is to emulate beyond its defaults.
    const QEMU_OPTIONS: &'static [&'static str] = &[];
    /// Machine and flags in the header of an ELF file.
    const ELF: (u16, u32);
    /// Bytes in a page.
    const PAGE: usize;
    const CALLS: Calls;
    /// A random block of about `items` pieces.
    fn block(random: Random, items: usize) -> (Block, Random);
    /// The program's code for the layout, and where the blocks' bodies are.
    fn emit(blocks: &[Block], iterations: u64, layout: Layout) -> (Vec<u8>, Vec<Range<u64>>);
    /// A value for slot 31 of a register set, the control register of floating point.
    fn control(random: &mut Random) -> u64;
    /// Name of a slot of a register dump.
    fn slot_name(slot: usize) -> String;
    /// The state in which a program starts.
    fn start() -> Hart {
        Hart::default()
    }
}

/// A number from the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Runs `blocks` random blocks everywhere and compares; at least `instructions` must be executed.
pub fn check<T: Target>(blocks: u64, instructions: u64) {
    let seed = setting("HPS_LOCKSTEP_SEED", 1);
    let count = setting("HPS_LOCKSTEP_BLOCKS", blocks);
    let mut random = Random::new(seed);
    let mut code = Vec::new();
    for _ in 0..count {
        let block;
        (block, random) = T::block(random, ITEMS);
        code.push(block);
    }
    let image = image::build::<T>(&code, ITERATIONS, seed);
    let (expected, ours) = std::thread::scope(|scope| {
        let qemu = scope.spawn(|| run_qemu::<T>(&image));
        let ours = run_ours::<T>(&image);
        (qemu.join(), ours)
    });
    let expected = expected.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let executed = ours.body_instructions;
    assert!(
        count < blocks || executed >= instructions,
        "{executed} random instructions were executed, not {instructions}"
    );
    let dumps = (count * ITERATIONS) as usize;
    eprintln!("{executed} random instructions, {dumps} register dumps");
    if let Some(difference) = first_difference::<T>(&expected, &ours.output, dumps) {
        report::<T>(&code, difference, seed);
    }
    // The same streams as the functional machine runs them: in one go, and in odd pieces.
    for (how, output) in [
        (
            "in one go",
            run_machine::<T>(&image, std::iter::repeat(u64::MAX)),
        ),
        (
            "in pieces",
            run_machine::<T>(&image, std::iter::repeat_with(|| random.below(3000))),
        ),
    ] {
        if let Some(difference) = first_difference::<T>(&expected, &output, dumps) {
            panic!(
                "seed {seed}: only the functional machine, run {how}, differs\n{}",
                difference.text
            );
        }
    }
}
