//! The guest program's memory, from `BASE`: code; a control page; one window of 4 KiB for each block;
//! the table of register sets. In a block one register, `Block::base`, always points to the middle of its
//! window. The file is a static ELF executable of one executable and one writable segment.

use std::ops::Range;

use super::Target;
use super::random::Random;

pub const BASE: u64 = 0x10_0000;
/// Bytes of a register dump: 31 integer registers, a control register, 32 floating-point ones.
pub const RECORD: usize = 64 * 8;
/// Register sets in the table; prime, so that blocks start at different ones.
pub const SETS: usize = 1021;
/// Bytes in a block's window.
pub const WINDOW: usize = 4096;
/// Where in a window, relative to its middle, the registers are dumped.
pub const DUMP: i64 = 2048 - RECORD as i64;

/// Straight code with forward branches.
#[derive(Clone)]
pub struct Block {
    /// The register that points to the middle of the window and is never written.
    pub base: u8,
    /// Pieces of code; control goes from each to the next one.
    pub items: Vec<Vec<u8>>,
}

pub struct Image {
    /// Code and data as they lie in memory from `BASE`.
    pub memory: Vec<u8>,
    /// Length of the code, page-aligned.
    pub text: usize,
    /// Address ranges of the blocks' bodies.
    pub bodies: Vec<Range<u64>>,
}

/// Where everything lies; it depends on the length of the code only.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Address of the next register set, the end of the table, and how often the block is still to run.
    pub control: u64,
    pub windows: u64,
    pub sets: u64,
    pub end: u64,
}

impl Layout {
    fn new<T: Target>(text: usize, blocks: usize) -> Self {
        let control = BASE + text as u64;
        let windows = control + T::PAGE as u64;
        let sets = windows + (blocks * WINDOW) as u64;
        Layout {
            control,
            windows,
            sets,
            end: sets + (SETS * RECORD) as u64,
        }
    }

    /// The middle of a block's window.
    pub fn window(&self, block: usize) -> u64 {
        self.windows + (block * WINDOW + WINDOW / 2) as u64
    }
}

/// Builds the program: every block runs `iterations` times.
pub fn build<T: Target>(blocks: &[Block], iterations: u64, seed: u64) -> Image {
    // A first pass with any layout finds the length of the code.
    let (code, _) = T::emit(blocks, iterations, Layout::new::<T>(T::PAGE, blocks.len()));
    let text = code.len().next_multiple_of(T::PAGE);
    let layout = Layout::new::<T>(text, blocks.len());
    let (mut memory, bodies) = T::emit(blocks, iterations, layout);
    memory.resize((layout.end - BASE) as usize, 0);
    let mut put = |address: u64, value: u64| {
        let at = (address - BASE) as usize;
        memory[at..at + 8].copy_from_slice(&value.to_le_bytes());
    };
    put(layout.control, layout.sets);
    put(layout.control + 8, layout.end);
    put(layout.control + 16, iterations);
    let mut random = Random::new(seed ^ 0x5eed);
    for address in (layout.windows..layout.sets).step_by(8) {
        put(
            address,
            if random.chance(50) {
                random.float()
            } else {
                random.integer()
            },
        );
    }
    for set in (layout.sets..layout.end).step_by(RECORD) {
        for slot in 0..64 {
            let value = match slot {
                0..31 => random.integer(),
                31 => T::control(&mut random),
                _ => random.float(),
            };
            put(set + slot * 8, value);
        }
    }
    Image {
        memory,
        text,
        bodies,
    }
}

/// The image as an ELF file.
pub fn elf<T: Target>(image: &Image) -> Vec<u8> {
    let (machine, machine_flags) = T::ELF;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, v: u16| file.extend(v.to_le_bytes());
    let word = |file: &mut Vec<u8>, v: u32| file.extend(v.to_le_bytes());
    let double = |file: &mut Vec<u8>, v: u64| file.extend(v.to_le_bytes());
    half(&mut file, 2); // executable
    half(&mut file, machine);
    word(&mut file, 1);
    double(&mut file, BASE);
    double(&mut file, 64); // program headers
    double(&mut file, 0);
    word(&mut file, machine_flags);
    for v in [64, 56, 2, 64, 0, 0] {
        half(&mut file, v);
    }
    let segments = [
        (5, 0, image.text),
        (6, image.text, image.memory.len() - image.text),
    ];
    for (flags, offset, size) in segments {
        word(&mut file, 1);
        word(&mut file, flags);
        double(&mut file, (T::PAGE + offset) as u64);
        double(&mut file, BASE + offset as u64);
        double(&mut file, BASE + offset as u64);
        double(&mut file, size as u64);
        double(&mut file, size as u64);
        double(&mut file, T::PAGE as u64);
    }
    file.resize(T::PAGE, 0);
    file.extend(&image.memory);
    file
}
