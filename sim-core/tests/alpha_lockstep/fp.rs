//! Floating point in lockstep with QEMU: every operation with every legal combination of qualifiers, on
//! operands that sit on the edges of arithmetic, with random FPCR values and software control words, and
//! with the signals of what traps.
//!
//! QEMU's user mode is neither an EV6 nor Linux, so three parties are compared, instruction by instruction:
//! QEMU itself, which runs a generated program ([`program`]); a model of QEMU on this crate's `fp`
//! arithmetic ([`qemu`]), whose registers must be QEMU's at each dump; and this crate's `execute`, which is
//! given the model's state before each instruction and must do the same, but for the written list of
//! differences, [`Difference`]. Each of them must occur in a run.
//!
//! `HPS_LOCKSTEP_SEED` chooses another stream, `HPS_LOCKSTEP_BLOCKS` another length.
//!
//! Cases that the streams avoid, because QEMU 7.2 is wrong or the two may rightly differ, and unit tests decide:
//! - `mt_fpcr` that changes UNDZ or UNFD: QEMU keeps its old underflow mode to the end of a translated
//!   block.
//! - FPCR's summary bit and bits 46..0, which QEMU stores as written; they are left out of comparison.
//! - FPCR trap disables that contradict the software control word: QEMU goes by FPCR alone; on the
//!   hardware an enabled trap reaches the kernel, which signals by the control word.
//! - The trap enable of denormal operands, which QEMU does not know.
//! - What a trapping instruction leaves in its destination and in FPCR: the signal handler of the program
//!   sets both.

mod differences;
mod generate;
mod program;
mod qemu;

use std::collections::BTreeMap;

use differences::Difference;
use generate::{Block, Set};
use hps_isa::alpha::{disassemble, fpcr};
use hps_isa::hart::Hart;
use hps_isa::inst::{Inst, reg};
use qemu::Effect;

/// Runs of each block, each on a set of its own.
const ITERATIONS: usize = 256;
/// Instructions of a block.
const ITEMS: usize = 160;
const BLOCKS: usize = 100;
const INSTRUCTIONS: usize = 4_000_000;
/// The words of a dump: `f0` to `f30`, FPCR, and a digest of the traps.
const RECORD: usize = 33;
/// Bits of FPCR that are compared.
const FPCR_BITS: u64 = 0x7fff_8000_0000_0000;
/// `mf_fpcr` in a block reads into this register.
const FPCR_REGISTER: u8 = 30;
/// Value that the signal handler puts into the destination of the instruction that trapped.
const AFTER_TRAP: u64 = 0x3ff0_0000_0000_0000;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

#[test]
fn floating_point_streams_leave_the_same_registers_as_qemu() {
    let seed = setting("HPS_LOCKSTEP_SEED", 1);
    let count = setting("HPS_LOCKSTEP_BLOCKS", BLOCKS as u64) as usize;
    let (blocks, sets) = generate::stream(seed, count, ITEMS, ITERATIONS);
    let image = program::build(&blocks, &sets);
    let output = std::thread::spawn(move || program::run(&image));
    let mut counts = BTreeMap::new();
    let mut ours = Vec::new();
    let mut traps = 0;
    let mut unexplained = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        for set in &sets {
            let mut run = Run::new(set, program::body_address(&blocks, index));
            for inst in block {
                unexplained.extend(run.step(inst, &mut counts));
            }
            traps += run.traps;
            ours.extend(run.record());
        }
    }
    let theirs = output
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    compare(&blocks, &sets, &theirs, &ours, seed);
    assert!(
        unexplained.is_empty(),
        "seed {seed}: {} differences that are not in the list, such as\n{}",
        unexplained.len(),
        unexplained[..unexplained.len().min(20)].join("\n")
    );
    let instructions = count * ITEMS * ITERATIONS;
    eprintln!("{instructions} floating-point instructions, {traps} traps, differences: {counts:?}");
    if count >= BLOCKS {
        assert!(instructions >= INSTRUCTIONS, "only {instructions}");
        for difference in Difference::ALL {
            assert!(
                counts.contains_key(difference),
                "seed {seed}: {difference:?} never occurs: is it still one?"
            );
        }
    }
}

/// One block on one set: the state that QEMU should have.
struct Run {
    hart: Hart,
    pc: u64,
    traps: u64,
    /// Digest of the traps, as the program computes it: four times the old one plus the address behind each trap.
    digest: u64,
}

impl Run {
    fn new(set: &Set, pc: u64) -> Self {
        let mut hart = Hart::default();
        fpcr::reset(&mut hart);
        fpcr::set_ieee_fp_control(&mut hart, set.control);
        fpcr::write(&mut hart, set.fpcr);
        for (i, &value) in set.registers.iter().enumerate() {
            hart.r[reg::FP as usize + i] = value;
        }
        Run {
            hart,
            pc,
            traps: 0,
            digest: 0,
        }
    }

    /// Does what QEMU does, and sees whether `execute` does it, too, or differs as it may; else says how
    /// it differs.
    fn step(&mut self, inst: &Inst, counts: &mut BTreeMap<Difference, u64>) -> Option<String> {
        self.pc += 4;
        let effect = qemu::effect(&self.hart, inst);
        let differences = differences::between(&self.hart, inst, &effect);
        for &difference in differences.iter().flatten() {
            *counts.entry(difference).or_default() += 1;
        }
        let destination = inst.rd as usize;
        match effect {
            Effect::Other => qemu::execute_other(&mut self.hart, inst),
            Effect::Result { value, raised } => {
                self.hart.r[destination] = value;
                self.hart.fcsr |= raised;
            }
            Effect::Trap => {
                self.hart.r[destination] = AFTER_TRAP;
                self.hart.fcsr &= !qemu::FLAGS;
                self.traps += 1;
                self.digest = self.digest.wrapping_mul(4).wrapping_add(self.pc);
            }
        }
        self.hart.r[reg::ZERO as usize] = 0;
        differences.err()
    }

    fn record(&self) -> Vec<u64> {
        let registers = reg::FP as usize..reg::FP as usize + 31;
        let mut record = self.hart.r[registers].to_vec();
        record[FPCR_REGISTER as usize] &= FPCR_BITS;
        record.push(fpcr::read(&self.hart) & FPCR_BITS);
        record.push(self.digest);
        record
    }
}

/// Fails with the first dump that differs.
fn compare(blocks: &[Block], sets: &[Set], theirs: &[u64], ours: &[u64], seed: u64) {
    assert_eq!(
        theirs.len(),
        ours.len(),
        "QEMU's program wrote another number of words"
    );
    let dumps = theirs.chunks(RECORD).zip(ours.chunks(RECORD));
    for (index, (theirs, ours)) in dumps.enumerate() {
        let mut theirs = theirs.to_vec();
        theirs[FPCR_REGISTER as usize] &= FPCR_BITS;
        theirs[31] &= FPCR_BITS;
        if theirs == ours {
            continue;
        }
        let (block, set) = (&blocks[index / sets.len()], &sets[index % sets.len()]);
        let mut text = format!("seed {seed}, dump {index}: QEMU and its model differ\n");
        let mut registers = Vec::new();
        for slot in (0..RECORD).filter(|&slot| theirs[slot] != ours[slot]) {
            let name = match slot {
                31 => "fpcr".to_owned(),
                32 => "traps".to_owned(),
                _ => format!("f{slot}"),
            };
            registers.push(reg::FP + slot as u8);
            text += &format!(
                "  {name}: QEMU {:#018x} model {:#018x}\n",
                theirs[slot], ours[slot]
            );
        }
        panic!("{text}{}", trace(block, set, &registers));
    }
}

/// The instructions of a block that write one of the registers, or all if there is none, with the
/// operands they meet.
fn trace(block: &Block, set: &Set, registers: &[u8]) -> String {
    let mut run = Run::new(set, 0);
    let mut text = format!("  control {:#x} fpcr {:#x}\n", set.control, set.fpcr);
    let any = registers.iter().all(|&r| r > reg::FP + 30);
    for inst in block {
        let [a, b] = [inst.rs1, inst.rs2].map(|r| run.hart.r[r as usize]);
        run.step(inst, &mut BTreeMap::new());
        if any || registers.contains(&inst.rd) {
            text += &format!(
                "  {:32} {a:#018x} {b:#018x} -> {:#018x} fpcr {:#018x}\n",
                disassemble(inst, 0),
                run.hart.r[inst.rd as usize],
                fpcr::read(&run.hart)
            );
        }
    }
    text
}
