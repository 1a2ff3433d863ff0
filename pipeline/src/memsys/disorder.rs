//! How far cycles may be off where accesses come in program order instead of in order of time.
//!
//! An access of an earlier cycle that comes later finds what accesses of later cycles have left. Where that matters it is
//! counted: the line that it misses has just been evicted for a later cycle, or it gets a register which in order of time
//! others would have held. Both are estimates, since each such access also moves those behind it.

use serde::{Deserialize, Serialize};

use super::stats::events;

/// log2 of the places for evicted lines: an access comes late by the instructions in flight at most.
const PLACE_BITS: u32 = 10;

/// A place without a line.
const NOTHING: (u64, u64) = (u64::MAX, 0);

/// The place of a line. Lines that evict each other differ by multiples of a power of two, and lie apart.
fn place_of(line: u64) -> usize {
    (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACE_BITS)) as usize
}

events! {
    /// Effects of accesses out of order of time; all zero where accesses come in order.
    DisorderStats {
        /// Misses of level 1 on lines that accesses of later cycles had evicted: in order of time they would have hit, or waited
        /// for a line on its way.
        early_eviction_events,
        /// Cycles that these misses took beyond a hit.
        early_eviction_cycles,
        /// Misses of a level that got a register though all were taken at some time before their line was there.
        crowded_events,
        /// Cycles for which these misses held their registers.
        crowded_cycles,
    }
}

hps_isa::save_values!(DisorderStats);

/// Lines that a cache has evicted, and when.
#[derive(Clone, Debug)]
pub(super) struct Evictions {
    places: Box<[(u64, u64)]>,
    pub stats: DisorderStats,
}

hps_isa::save_state! { Evictions { places, stats } }

impl Evictions {
    pub fn new() -> Self {
        Evictions {
            places: vec![NOTHING; 1 << PLACE_BITS].into_boxed_slice(),
            stats: DisorderStats::default(),
        }
    }

    /// An access of this cycle has evicted a line.
    pub fn evicted(&mut self, line: u64, cycle: u64) {
        self.places[place_of(line)] = (line, cycle);
    }

    /// An access of this cycle has missed a line: it comes so many cycles later than a hit, or has to try again so much
    /// later.
    pub fn missed(&mut self, line: u64, cycle: u64, cycles: u64, is_brought: bool) {
        let place = &mut self.places[place_of(line)];
        if place.0 != line || place.1 <= cycle {
            return;
        }
        self.stats.early_eviction_cycles += cycles;
        if is_brought {
            self.stats.early_eviction_events += 1;
            *place = NOTHING;
        } else {
            // This miss tries again, in whatever cycle.
            place.1 = u64::MAX;
        }
    }
}
