//! Statistics of a program that matter to the profiles (HPS report, Figure 6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The columns of Figure 6, and back-edges, which count as events together with calls.
///
/// Everything is counted in one run: methods and call sites are those that were executed, not those
/// that the program contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramStatistics {
    /// Methods that were called or that a back-edge stayed in.
    pub methods: u64,
    /// Call instructions that were executed.
    pub call_sites: u64,
    /// Pairs of call site and target. More than call sites where calls are indirect.
    pub call_pairs: u64,
    /// Calls.
    pub calls: u64,
    /// Conditional branches, taken or not, and jumps, direct and indirect; no calls, no returns.
    pub branches: u64,
    /// Branches that are back-edges.
    pub back_edges: u64,
    /// Loads, stores and atomics.
    pub memory_references: Option<u64>,
    /// Instructions.
    pub instructions: u64,
    /// Distinct 8-byte granules in which a memory reference began.
    pub unique_addresses: Option<u64>,
}
