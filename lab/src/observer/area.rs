//! Where code, tag and samples of an observer lie in the memory of the program.

use hps_sim_core::memory::{Memory, MemoryError, Perm};
use hps_sim_core::process::layout::{OBSERVER_BASE, SIGNALS};

/// The code.
pub const CODE: u64 = OBSERVER_BASE;
/// The tag, alone in its lines: the program writes it, the observer reads it.
pub const TAG: u64 = SIGNALS;
/// The word that says which thread is on the program's context, alone in its lines.
pub const THREAD: u64 = TAG + 0x100;
/// How many samples there have been.
pub const COUNT: u64 = OBSERVER_BASE + 0x2000;
/// The ring of samples.
pub const RING: u64 = OBSERVER_BASE + 0x1_0000;
/// Bytes of a place of the ring.
pub const SAMPLE_BYTES: u64 = 64;
/// Samples in the ring, a power of two.
pub const RING_SAMPLES: u64 = 256;
/// Counts of tags, by a part of their bits.
pub const HISTOGRAM: u64 = OBSERVER_BASE + 0x2_0000;
/// Places of the histogram, a power of two.
pub const PLACES: u64 = 1024;

/// Maps it all, with the code in its place.
pub fn map(mem: &mut Memory, code: &[u8]) -> Result<(), MemoryError> {
    mem.map(CODE, 0x1000, Perm::RX)?;
    mem.map(TAG, 0x2000, Perm::RW)?;
    mem.map(RING, RING_SAMPLES * SAMPLE_BYTES, Perm::RW)?;
    mem.map(HISTOGRAM, PLACES * 8, Perm::RW)?;
    mem.write_bytes_forced(CODE, code)
        .map_err(|_| MemoryError::BadRange {
            addr: CODE,
            len: code.len() as u64,
        })
}
