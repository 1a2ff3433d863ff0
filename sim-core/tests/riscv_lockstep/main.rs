//! Random instruction streams over all of the ISA, in lockstep with QEMU.
//!
//! A generated static program runs random blocks on tables of register values that sit on the
//! edges of arithmetic, and writes `x1` to `x31`, `fcsr` and `f0` to `f31` after each run of a
//! block, and all the memory it could write at its end. QEMU user mode and this crate execute
//! the same file, the latter by `execute` alone and in the functional machine; what they write
//! must be equal, byte for byte.
//!
//! A difference is narrowed to the piece of code that makes it. `HPS_LOCKSTEP_SEED` chooses
//! another stream, `HPS_LOCKSTEP_BLOCKS` another length.
//!
//! What is left out, because the two may rightly differ: counters (`cycle`, `time`, `instret`),
//! `ebreak`, and plain stores of the same hart between a load-reserved and its store-conditional.
//! Where QEMU 7.2 is wrong (`ctzw`), the generator avoids the input and says so.

mod generate;
mod image;
mod machines;
mod random;

use hps_sim_core::riscv::{decode, disassemble, register_name};
use image::{BASE, Block, Image, RECORD, SETS};
use machines::{run_machine, run_ours, run_qemu};
use random::Random;

const ITERATIONS: u64 = 256;
const ITEMS: usize = 150;
const BLOCKS: u64 = 200;
const INSTRUCTIONS: u64 = 10_000_000;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

#[test]
fn random_streams_leave_the_same_registers_as_qemu() {
    let seed = setting("HPS_LOCKSTEP_SEED", 1);
    let count = setting("HPS_LOCKSTEP_BLOCKS", BLOCKS);
    let mut random = Random::new(seed);
    let mut blocks = Vec::new();
    for _ in 0..count {
        let block;
        (block, random) = generate::block(random, ITEMS);
        blocks.push(block);
    }
    let image = image::build(&blocks, ITERATIONS, seed);
    let (expected, ours) = std::thread::scope(|scope| {
        let qemu = scope.spawn(|| run_qemu(&image));
        let ours = run_ours(&image);
        (qemu.join(), ours)
    });
    let expected = expected.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let instructions = ours.body_instructions;
    assert!(
        count < BLOCKS || instructions >= INSTRUCTIONS,
        "{instructions} random instructions were executed, not {INSTRUCTIONS}"
    );
    eprintln!(
        "{instructions} random instructions, {} register dumps",
        count * ITERATIONS
    );
    if let Some(difference) =
        first_difference(&expected, &ours.output, (count * ITERATIONS) as usize)
    {
        report(&blocks, difference, seed);
    }
    // The same streams as the functional machine runs them: in one go, and in odd pieces.
    let dumps = (count * ITERATIONS) as usize;
    for (how, output) in [
        (
            "in one go",
            run_machine(&image, std::iter::repeat(u64::MAX)),
        ),
        (
            "in pieces",
            run_machine(&image, std::iter::repeat_with(|| random.below(3000))),
        ),
    ] {
        if let Some(difference) = first_difference(&expected, &output, dumps) {
            panic!(
                "seed {seed}: only the functional machine, run {how}, differs\n{}",
                difference.text
            );
        }
    }
}

/// A register dump, or a memory window at the end, that is not the same.
struct Difference {
    /// The block of the register dump.
    block: Option<usize>,
    text: String,
}

/// Slot of a register dump by name.
fn slot_name(slot: usize) -> String {
    match slot {
        0..31 => format!("x{} ({})", slot + 1, register_name(slot as u8 + 1)),
        31 => "fcsr".to_owned(),
        _ => format!("f{} ({})", slot - 32, register_name(slot as u8)),
    }
}

/// The first difference in what the two wrote: `dumps` register dumps, then the memory windows.
fn first_difference(expected: &[u8], ours: &[u8], dumps: usize) -> Option<Difference> {
    let shorter = expected.len().min(ours.len());
    let unequal = expected.iter().zip(ours).position(|(a, b)| a != b);
    let at = unequal.or((expected.len() != ours.len()).then_some(shorter))?;
    let value = |bytes: &[u8], at: usize| match bytes.get(at..at + 8) {
        Some(slice) => format!(
            "{:#018x}",
            u64::from_le_bytes(slice.try_into().unwrap_or_default())
        ),
        None => "nothing".to_owned(),
    };
    let line = |name: String, at: usize| {
        let (qemu, hps) = (value(expected, at), value(ours, at));
        if qemu == hps {
            String::new()
        } else {
            format!("  {name:12} QEMU {qemu}  ours {hps}\n")
        }
    };
    let record = at / RECORD;
    if let Some(offset) = at.checked_sub(dumps * RECORD) {
        let text = format!(
            "window {}:\n{}",
            offset / 4096,
            line(format!("{:#x}", offset % 4096), at & !7)
        );
        return Some(Difference { block: None, text });
    }
    let block = record as u64 / ITERATIONS;
    let slots = (0..64).map(|slot| line(slot_name(slot), record * RECORD + slot * 8));
    let text = format!(
        "dump {record}, block {block}:\n{}",
        slots.collect::<String>()
    );
    Some(Difference {
        block: Some(block as usize),
        text,
    })
}

/// Fails with the difference, the block's code, and the shortest prefix of it that differs when
/// the block runs alone on every register set.
fn report(blocks: &[Block], difference: Difference, seed: u64) -> ! {
    let Some(block) = difference.block.and_then(|b| blocks.get(b)) else {
        panic!(
            "seed {seed}: the memory windows differ at the end\n{}",
            difference.text
        );
    };
    let alone = |items: usize| -> (Image, Option<String>) {
        let part = Block {
            base: block.base,
            items: block.items[..items].to_vec(),
        };
        let image = image::build(&[part], SETS as u64, seed);
        let difference = first_difference(&run_qemu(&image), &run_ours(&image).output, SETS);
        (image, difference.map(|d| d.text))
    };
    let (image, whole) = alone(block.items.len());
    if whole.is_none() {
        panic!(
            "seed {seed}: {}\nThe block alone does not differ:\n{}",
            difference.text,
            listing(&image)
        );
    }
    let (mut same, mut differs) = (0, block.items.len());
    while differs - same > 1 {
        let middle = (same + differs) / 2;
        if alone(middle).1.is_some() {
            differs = middle
        } else {
            same = middle
        }
    }
    let (image, text) = alone(differs);
    let before = listing(&alone(same).0).lines().count();
    let culprit: Vec<String> = listing(&image)
        .lines()
        .skip(before)
        .map(str::to_owned)
        .collect();
    panic!(
        "seed {seed}: {}\nThe code at fault, after {same} pieces that agree:\n{}\nAlone: {}",
        difference.text,
        culprit.join("\n"),
        text.unwrap_or_default(),
    );
}

/// The code of the first block, one instruction a line.
fn listing(image: &Image) -> String {
    let mut text = String::new();
    let mut pc = image.bodies[0].start;
    while pc < image.bodies[0].end {
        let at = (pc - BASE) as usize;
        let word = u32::from_le_bytes(image.memory[at..at + 4].try_into().unwrap_or_default());
        let inst = decode(word);
        text += &format!("  {pc:#x}: {word:08x}  {}\n", disassemble(&inst, pc));
        pc += u64::from(inst.len);
    }
    text
}
