//! Ground truth: executions, cycles at the head of the issue queue and their causes by instruction, and control
//! transfers.

use rustc_hash::FxHashMap;

/// The reason for which an instruction spends a cycle at the head of the issue queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// Issue of the instruction.
    Execution,
    /// Wait for a pipe, a block or the width of issue.
    Slotting,
    /// Wait for a result that takes its usual time: a load that hits, an addition.
    Dependence,
    /// Wait for fetch, and of fetch for the instruction cache.
    ICache,
    /// Wait for fetch, and of fetch for the instruction TLB.
    Itb,
    /// Fetch was on a wrong path.
    Mispredict,
    /// Wait for a load that missed the data cache, or for the memory system, which refuses the access.
    DCache,
    /// Wait for a load that missed the data TLB.
    Dtb,
    /// A store, which the write buffer refuses.
    WriteBuffer,
    /// Wait for a multiplication, a division or a square root, or for the unit of one.
    MulDiv,
    /// Wait for another unit.
    Unit,
    /// Wait for serial execution of the instruction or of one before it: system calls, barriers, atomics.
    Synchronization,
    /// Wait for fetch, which waits for nothing: bubbles behind taken branches.
    Fetch,
}

impl Spent {
    /// All of them, in the order of [`Row::spent`].
    pub const ALL: [Spent; 13] = [
        Spent::Execution,
        Spent::Slotting,
        Spent::Dependence,
        Spent::ICache,
        Spent::Itb,
        Spent::Mispredict,
        Spent::DCache,
        Spent::Dtb,
        Spent::WriteBuffer,
        Spent::MulDiv,
        Spent::Unit,
        Spent::Synchronization,
        Spent::Fetch,
    ];

    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Spent::Execution => "execution",
            Spent::Slotting => "slotting",
            Spent::Dependence => "dependence",
            Spent::ICache => "I-cache miss",
            Spent::Itb => "ITB miss",
            Spent::Mispredict => "branch mispredict",
            Spent::DCache => "D-cache miss",
            Spent::Dtb => "DTB miss",
            Spent::WriteBuffer => "write-buffer overflow",
            Spent::MulDiv => "multiplier, divider",
            Spent::Unit => "unit",
            Spent::Synchronization => "synchronization",
            Spent::Fetch => "fetch bubble",
        }
    }
}

/// The truth of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// How often it ran.
    pub executions: u64,
    /// Cycles at the head, by what they were spent on.
    pub spent: [u64; Spent::ALL.len()],
}

impl Row {
    /// Cycles at the head.
    #[must_use]
    pub fn head_cycles(&self) -> u64 {
        self.spent.iter().sum()
    }

    /// Cycles that were spent on something.
    #[must_use]
    pub fn spent_on(&self, what: Spent) -> u64 {
        self.spent[what as usize]
    }
}

/// The truth of a run.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// By address.
    pub rows: FxHashMap<u64, Row>,
    /// Control transfers from the address of the transfer to where execution went on, and how often.
    pub transfers: FxHashMap<(u64, u64), u64>,
    /// Events that happened, by [`Event`](crate::samples::Event): sampled or not.
    pub events: FxHashMap<(crate::samples::Event, u64), u64>,
}

impl Truth {
    /// How often the instruction at an address ran.
    #[must_use]
    pub fn executions(&self, pc: u64) -> u64 {
        self.rows.get(&pc).map_or(0, |row| row.executions)
    }

    /// Cycles at the head of all instructions: those of the run up to the last issue.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.rows.values().map(Row::head_cycles).sum()
    }
}
