//! Numbers that the paper prints.

/// An instruction of the copy loop of figures 2 and 7: samples and minimum head time in cycles.
pub const COPY_LOOP: [(u64, u32); 13] = [
    (3126, 1),
    (0, 0),
    (1636, 1),
    (390, 0),
    (1482, 1),
    (0, 0),
    (27_766, 1),
    (0, 0),
    (1493, 1),
    (174_727, 1),
    (1548, 1),
    (0, 0),
    (1586, 1),
];

/// Estimated and true frequency of the copy loop, in samples (section 6.1.3).
pub const COPY_LOOP_FREQUENCY: (f64, f64) = (1527.0, 1575.1);

/// Percent of samples of instructions whose frequency is within 5%, 10% and 15% of the truth (figure 8).
pub const FREQUENCIES_WITHIN: [f64; 3] = [73.0, 87.0, 92.0];

/// Percent of edge executions whose frequency is within 10% (figure 9).
pub const EDGES_WITHIN_10: f64 = 58.0;

/// Percent of samples within 5% for the integer programs, from one run and from eighty (section 6.2).
pub const ONE_RUN_AND_EIGHTY: (f64, f64) = (54.0, 70.0);

/// Percent of samples that are unexplained stalls, over all programs (section 6.3).
pub const UNEXPLAINED: f64 = 8.6;

/// Correlation of I-cache misses with the top, the bottom and the middle of the range of stall cycles (figure 10).
pub const ICACHE_CORRELATION: [f64; 3] = [0.91, 0.86, 0.90];

/// Cycles of the interrupt handler for a hit and a miss in the hash table, and of the daemon for a sample, for SPECint95
/// (table 4, configuration "cycles").
pub const HANDLER_CYCLES: (f64, f64) = (416.0, 700.0);

/// Slowdown in percent for most workloads (section 5.1).
pub const OVERHEAD: (f64, f64) = (1.0, 3.0);

/// Slowdown in percent and its deviation for SPECint95 in three configurations: cycles, with IMISS, multiplexed (table 3).
pub const CONFIGURATIONS: [(f64, f64); 3] = [(2.0, 0.8), (2.8, 0.9), (3.0, 0.7)];

/// Share of the cost, in percent, that six ways, swapping to the front and inserting in front would save (section 5.4).
pub const TABLE_SAVINGS: (f64, f64) = (10.0, 20.0);

/// Percent of the samples of x11perf in its first procedure, and in its first five (figure 1).
pub const X11PERF_PROCEDURES: [f64; 2] = [33.87, 33.87 + 8.49 + 5.01 + 4.45 + 4.03];

/// The widest range of a procedure's samples over eight runs of wave5, in percent of their sum (figure 3).
pub const WAVE5_RANGE: f64 = 11.32;

/// Percent of the cycles of `smooth_` of wave5 that are execution, and static stalls (figure 4).
pub const SMOOTH_EXECUTION_AND_STATIC: [f64; 2] = [51.2, 4.8];

/// Unexplained gain of `smooth_` of wave5, in percent of its cycles (figure 4).
pub const SMOOTH_GAIN: f64 = -4.3;

/// Cycles an instruction of the copy loop (figure 2).
pub const COPY_LOOP_CPI: f64 = 10.77;

/// Cycles at the head of the issue queue of `stq t4` and `stq t6` of the copy loop (figure 2).
pub const COPY_LOOP_STALLS: [f64; 2] = [18.0, 114.5];

/// Cycles at the head of the issue queue of all other instructions of the copy loop: those of figure 2's 140 that are not
/// at the two stores.
pub const COPY_LOOP_OTHERS: f64 = 7.5;
