//! Vectors of basic blocks: in which code each slice of a run is.
//!
//! Sherwood, Perelman, Hamerly and Calder, "Automatically Characterizing Large Scale Program Behavior" (ASPLOS 2002): how
//! much a slice executes of each basic block, projected to a few dimensions at random.

use hps_isa::inst::Inst;
use hps_isa::probe::Probe;
use hps_isa::random::Random;
use hps_sim_core::machine::{Machine, Stop};
use rustc_hash::FxHashMap;

use crate::error::LabError;
use crate::program::Program;

/// Dimensions of a projected vector, as in SimPoint.
pub const DIMENSIONS: usize = 15;
/// Bytes of a block at most. Where there are more, control has come by other means than a transfer.
const MOST_BYTES: u64 = 1 << 14;
/// Places for blocks that are counted without a look into the table, a power of two.
const PLACES: usize = 1 << 12;

/// A slice in the space of its basic blocks, each weighed by its bytes.
pub type BlockVector = [f64; DIMENSIONS];

/// The slices of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockVectors {
    /// The vector of each slice.
    pub vectors: Vec<BlockVector>,
    /// Instructions of each: as many as a slice has, and fewer in the last one.
    pub instructions: Vec<u64>,
}

/// Counts bytes of code by the basic block that they are executed in.
struct Blocks {
    /// The first instruction behind the last transfer.
    from: u64,
    recent: Box<[(u64, u64); PLACES]>,
    counts: FxHashMap<u64, u64>,
}

impl Blocks {
    fn new(from: u64) -> Self {
        Blocks {
            from,
            recent: Box::new([(0, 0); PLACES]),
            counts: FxHashMap::default(),
        }
    }

    #[inline(always)]
    fn end(&mut self, pc: u64, inst: &Inst, next: u64) {
        let length = u64::from(inst.len);
        let bytes = pc.wrapping_sub(self.from).wrapping_add(length);
        let (begin, bytes) = match bytes {
            0..=MOST_BYTES => (self.from, bytes),
            _ => (pc, length),
        };
        let place = &mut self.recent[(begin >> 1) as usize % PLACES];
        if place.0 == begin {
            place.1 += bytes;
        } else {
            let (other, count) = std::mem::replace(place, (begin, bytes));
            self.keep(other, count);
        }
        self.from = next;
    }

    #[inline(never)]
    fn keep(&mut self, block: u64, bytes: u64) {
        if bytes > 0 {
            *self.counts.entry(block).or_insert(0) += bytes;
        }
    }

    /// The vector of what was executed since the last one.
    fn take(&mut self) -> BlockVector {
        for at in 0..PLACES {
            let (block, bytes) = self.recent[at];
            self.recent[at].1 = 0;
            self.keep(block, bytes);
        }
        let all: u64 = self.counts.values().sum();
        // In the order of addresses, since sums of fractions depend on it.
        let mut counts: Vec<(u64, u64)> = self.counts.drain().collect();
        counts.sort_unstable();
        let mut vector = [0.0; DIMENSIONS];
        for (block, bytes) in counts {
            // Numbers of neighbouring seeds are the same, one place apart.
            let mut random = Random::new(Random::new(block).number());
            let share = bytes as f64 / all.max(1) as f64;
            for value in &mut vector {
                // From -1 to 1.
                *value += share * (random.number() as i64 as f64 / i64::MAX as f64);
            }
        }
        vector
    }
}

impl Probe for Blocks {
    const WANTS_CONTROL: bool = true;

    #[inline(always)]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _: bool) {
        self.end(pc, inst, target);
    }
}

impl BlockVectors {
    /// The slices of a program, which runs for that without effects outside of its memory.
    ///
    /// # Errors
    /// The errors of starting the program.
    pub fn of(program: &Program, length: u64, limit: u64) -> Result<BlockVectors, LabError> {
        let mut machine = Machine::new(program.quiet().start()?);
        let mut blocks = Blocks::new(machine.process.thread.hart.pc);
        let mut all = BlockVectors::default();
        let mut before = 0;
        loop {
            let stop = machine.run(&mut blocks, length.min(limit - before));
            let now = machine.retired.program;
            if now > before {
                all.vectors.push(blocks.take());
                all.instructions.push(now - before);
            }
            before = now;
            if stop != Stop::Limit || now >= limit {
                return Ok(all);
            }
        }
    }

    /// Instructions of the run.
    #[must_use]
    pub fn all_instructions(&self) -> u64 {
        self.instructions.iter().sum()
    }
}
