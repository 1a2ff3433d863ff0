//! Layout of an observer's code, signals and results in the memory of the program.

use hps_isa::layout::{CALLS_END, OBSERVER_BASE, SIGNALS, TAG_STACK};
use hps_isa::memory::{Memory, MemoryError, Perm};

use super::Signals;

/// The code.
pub const CODE: u64 = OBSERVER_BASE;
/// The tag, alone in its lines: the program writes it, the observer reads it.
pub const TAG: u64 = SIGNALS;
/// The word that says which thread is on the program's context, alone in its lines.
pub const THREAD: u64 = TAG + 0x100;
/// The first free place of the tag stack or of the call ring, alone in its lines.
pub const TOP: u64 = TAG + 0x200;
/// The place of the call ring at which it is full, alone in its lines.
pub const LIMIT: u64 = TOP + 0x100;
/// The count of samples.
pub const COUNT: u64 = OBSERVER_BASE + 0x2000;
/// The count of calls in the ring that have no caller.
pub const ORPHANS: u64 = COUNT + 0x100;
/// The addresses of the slots of the program's threads, by the low bits of their numbers.
pub const SLOT_TABLE: u64 = COUNT + 0x800;
/// Places of the table of slots.
pub const SLOT_PLACES: u64 = 256;
/// The ring of samples.
pub const RING: u64 = OBSERVER_BASE + 0x1_0000;
/// Samples in the ring, a power of two.
pub const RING_SAMPLES: u64 = 256;
/// Counts of tags, by a part of their bits.
pub const HISTOGRAM: u64 = OBSERVER_BASE + 0x8_0000;
/// Places of the histogram, a power of two.
pub const PLACES: u64 = 1024;
/// The first element of the tag stack (`call_stack.dise`).
pub const STACK: u64 = TAG_STACK;
/// Bytes of the tag stack.
pub const STACK_BYTES: u64 = 1 << 20;
/// Bytes of an element of the tag stack. Its words are the tag, whose bit 62 says that the observer has not seen it
/// yet, the stack pointer, the code that runs, and an unused word.
pub const ELEMENT_BYTES: u64 = 32;
/// The first place of the call ring (`call_pairs.dise`, `call_sequence.dise`).
pub const CALLS: u64 = OBSERVER_BASE + 0x40_0000;
/// The observer's own stack, of the callers that it knows of.
pub const CALLERS: u64 = CALLS + super::MOST_RING_BYTES;

// The area that programs write for observers ends where the observers' own area begins.
const _: () = assert!(CALLERS == CALLS_END);

/// Offset of a tag stack's entries in a sample of [`Signals::Shown`]. The words of a plain sample come before them,
/// then the word with the stack's depth, and then the tag and the depth once more.
pub const STACK_IN_SAMPLE: u64 = 80;

/// Bytes of a place of the ring of samples, a power of two.
pub fn sample_bytes(signals: Signals) -> u64 {
    match signals {
        Signals::Tag | Signals::Samples { .. } | Signals::Shown { depth: 0, .. } => 64,
        Signals::Shown { depth, .. } => (STACK_IN_SAMPLE + 8 * depth as u64).next_power_of_two(),
        Signals::Context { depth, .. } => (8 * (5 + depth as u64)).next_power_of_two(),
        Signals::NewCalls { .. } | Signals::CallPairs { .. } | Signals::CallSequence { .. } => 16,
    }
}

/// Bytes of a place of the call ring; none without one.
pub fn place_bytes(signals: Signals) -> Option<u64> {
    match signals {
        Signals::CallPairs { .. } => Some(16),
        Signals::CallSequence { .. } => Some(8),
        _ => None,
    }
}

/// The place at which an empty call ring is full; none without one.
pub fn first_limit(signals: Signals) -> Option<u64> {
    match signals {
        Signals::CallPairs { bytes } | Signals::CallSequence { bytes } => {
            Some(CALLS + bytes - place_bytes(signals)?)
        }
        _ => None,
    }
}

/// Maps all areas, with the code in its place. The program begins at `entry`.
pub fn map(mem: &mut Memory, code: &[u8], signals: Signals, entry: u64) -> Result<(), MemoryError> {
    mem.map(CODE, 0x1000, Perm::RX)?;
    mem.map(TAG, 0x2000, Perm::RW)?;
    mem.map(RING, RING_SAMPLES * sample_bytes(signals), Perm::RW)?;
    write(mem, CODE, code)?;
    match signals {
        Signals::Tag => mem.map(HISTOGRAM, PLACES * 8, Perm::RW),
        Signals::Samples { .. } => Ok(()),
        Signals::Shown { .. } => words(mem, SLOT_TABLE, &[TAG; SLOT_PLACES as usize]),
        Signals::Context { .. } | Signals::NewCalls { .. } => {
            // The element below the first one is the program's entry, which no return ends.
            mem.map(STACK - 0x1000, 0x1000 + STACK_BYTES, Perm::RW)?;
            words(mem, STACK - ELEMENT_BYTES, &[entry, u64::MAX, entry])?;
            words(mem, TOP, &[STACK])
        }
        Signals::CallPairs { bytes } | Signals::CallSequence { bytes } => {
            mem.map(CALLS, pages(bytes), Perm::RW)?;
            mem.map(CALLERS, pages(bytes), Perm::RW)?;
            words(mem, LIMIT, first_limit(signals).as_slice())?;
            words(mem, TOP, &[CALLS])
        }
    }
}

/// Whole pages of so many bytes.
fn pages(bytes: u64) -> u64 {
    bytes.next_multiple_of(0x1000)
}

/// Writes words one behind the other.
pub fn words(mem: &mut Memory, addr: u64, words: &[u64]) -> Result<(), MemoryError> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    write(mem, addr, &bytes)
}

fn write(mem: &mut Memory, addr: u64, bytes: &[u8]) -> Result<(), MemoryError> {
    mem.write_bytes_forced(addr, bytes)
        .map_err(|_| MemoryError::BadRange {
            addr,
            len: bytes.len() as u64,
        })
}
