//! Quantities that events count.

use serde::{Deserialize, Serialize};

use super::Now;
use crate::process::HardwareEvents;

/// Quantity that an event counts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Counts {
    Cycles,
    Instructions,
    Nanoseconds,
    /// A general event of hardware, by its number.
    General(u64),
    /// An event of a cache, by its number.
    Cache(u64),
    /// An event that never occurs in this kernel.
    Nothing,
}

impl Counts {
    pub(super) fn of(self, now: &Now) -> u64 {
        match self {
            Counts::Cycles => now.counters.cycle,
            Counts::Instructions => now.counters.instret,
            Counts::Nanoseconds => now.counters.time_ns,
            Counts::General(config) => general(config).map_or(0, |of| of(&now.events)),
            Counts::Cache(config) => of_cache(config).map_or(0, |of| of(&now.events)),
            Counts::Nothing => 0,
        }
    }

    /// A general event of hardware (`PERF_TYPE_HARDWARE`) besides cycles and instructions. The second part says whether
    /// it is one of branches.
    pub(super) fn of_hardware(config: u64) -> Option<(Counts, bool)> {
        general(config).map(|_| (Counts::General(config), config >= 4))
    }

    /// An event of a cache (`PERF_TYPE_HW_CACHE`), likewise.
    pub(super) fn of_cache(config: u64) -> Option<(Counts, bool)> {
        of_cache(config).map(|_| (Counts::Cache(config), config & 0xff == 5))
    }
}

type Of = fn(&HardwareEvents) -> u64;

fn general(config: u64) -> Option<Of> {
    Some(match config {
        2 => |e| e.l1d_reads + e.l1d_writes,
        3 => |e| e.l1d_read_misses + e.l1d_write_misses,
        4 => |e| e.branches,
        5 => |e| e.branch_misses,
        _ => return None,
    })
}

/// Cache, operation (0: read, 1: write) and result (0: access, 1: miss) in a byte each.
fn of_cache(config: u64) -> Option<Of> {
    Some(match config {
        0x00_00_00 => |e| e.l1d_reads,
        0x01_00_00 => |e| e.l1d_read_misses,
        0x00_01_00 => |e| e.l1d_writes,
        0x01_01_00 => |e| e.l1d_write_misses,
        0x00_00_01 => |e| e.l1i_reads,
        0x01_00_01 => |e| e.l1i_read_misses,
        0x00_00_03 => |e| e.dtlb_accesses,
        0x01_00_03 => |e| e.dtlb_misses,
        0x00_00_04 => |e| e.itlb_accesses,
        0x01_00_04 => |e| e.itlb_misses,
        0x00_00_05 => |e| e.branches,
        0x01_00_05 => |e| e.branch_misses,
        _ => return None,
    })
}
