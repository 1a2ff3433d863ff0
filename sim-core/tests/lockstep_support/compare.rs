//! Finding the first difference in what two machines wrote, and the code that makes it.

use super::image::{self, BASE, Block, Image, RECORD, SETS, WINDOW};
use super::machines::{run_ours, run_qemu};
use super::{ITERATIONS, Target};

/// A register dump, or a memory window at the end, that is not the same.
pub struct Difference {
    /// The block of the register dump.
    block: Option<usize>,
    pub text: String,
}

/// The first difference in what the two wrote: `dumps` register dumps, then the memory windows.
pub fn first_difference<T: Target>(
    expected: &[u8],
    ours: &[u8],
    dumps: usize,
) -> Option<Difference> {
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
            offset / WINDOW,
            line(format!("{:#x}", offset % WINDOW), at & !7)
        );
        return Some(Difference { block: None, text });
    }
    let block = record as u64 / ITERATIONS;
    let slots = (0..64).map(|slot| line(T::slot_name(slot), record * RECORD + slot * 8));
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
pub fn report<T: Target>(blocks: &[Block], difference: Difference, seed: u64) -> ! {
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
        let image = image::build::<T>(&[part], SETS as u64, seed);
        let (qemu, ours) = (run_qemu::<T>(&image), run_ours::<T>(&image));
        let difference = first_difference::<T>(&qemu, &ours.output, SETS);
        (image, difference.map(|d| d.text))
    };
    let (image, whole) = alone(block.items.len());
    if whole.is_none() {
        panic!(
            "seed {seed}: {}\nThe block alone does not differ:\n{}",
            difference.text,
            listing::<T>(&image)
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
    let before = listing::<T>(&alone(same).0).lines().count();
    let culprit: Vec<String> = listing::<T>(&image)
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
fn listing<T: Target>(image: &Image) -> String {
    let mut text = String::new();
    let mut pc = image.bodies[0].start;
    while pc < image.bodies[0].end {
        let at = (pc - BASE) as usize;
        let word = u32::from_le_bytes(image.memory[at..at + 4].try_into().unwrap_or_default());
        let inst = T::ISA.decode(word);
        let disassembly = T::ISA.disassemble(&inst, pc);
        text += &format!("  {pc:#x}: {word:08x}  {disassembly}\n");
        pc += u64::from(inst.len);
    }
    text
}
