//! Contents of tables of the hardware: caches, TLBs, predictors. For observers of a core between two of its cycles.

/// A table of the hardware and its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Name of the table: `l1d`, `btb`.
    pub name: &'static str,
    /// Number of sets; entries of a table that is not found by an address are one set.
    pub sets: usize,
    /// Entries of a set.
    pub ways: usize,
    /// Selector of a set.
    pub selected_by: Selector,
    /// The entries of a set lie in the order of their use, the newest first.
    pub by_use: bool,
    /// The entries, set by set.
    pub entries: Vec<Held>,
}

/// Selector of a set of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The lowest bits of an address above those of a line or page of `1 << shift` bytes.
    Address {
        /// The shift.
        shift: u32,
    },
    /// The address of a branch, as [`pc_index`] says.
    Branch,
    /// Something else: a history, or an order.
    Other,
}

impl Contents {
    /// The set of an address, if an address alone selects one.
    #[must_use]
    pub fn set_of(&self, address: u64) -> Option<usize> {
        match self.selected_by {
            Selector::Address { shift } => Some((address >> shift) as usize & (self.sets - 1)),
            Selector::Branch if self.sets == 1 => Some(0),
            Selector::Branch => Some(pc_index(address, self.sets.trailing_zeros())),
            Selector::Other => None,
        }
    }

    /// Entries that hold something.
    #[must_use]
    pub fn taken(&self) -> usize {
        let held = self.entries.iter();
        held.filter(|held| **held != Held::Nothing).count()
    }
}

/// An index of `bits` (at least 1) bits from the address of a branch. Four-byte instructions are indexed by
/// their word number; the other half of a word goes to the far half of the table, so that code
/// without two-byte instructions uses all of it.
#[inline]
#[must_use]
pub fn pc_index(pc: u64, bits: u32) -> usize {
    let half = ((pc >> 1) & 1) << (bits - 1);
    (((pc >> 2) ^ half) & ((1 << bits) - 1)) as usize
}

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// A line of a cache, or a page of a TLB.
    Line {
        /// The address of its first byte.
        address: u64,
        /// Whether the line was changed since it came.
        dirty: bool,
        /// The cycle in which it is there; none if it is.
        ready_cycle: Option<u64>,
        /// A prefetcher has brought it, and nothing has used it.
        unused: bool,
    },
    /// A line on its way to a cache, or a block on its way from the write buffer.
    Moving {
        /// The address of its first byte.
        address: u64,
        /// The cycle in which it was asked for.
        since_cycle: u64,
        /// The cycle in which it is there; none while a block waits to be sent.
        ready_cycle: Option<u64>,
    },
    /// The target of a branch.
    Target {
        /// The bits that tell branches of a set apart.
        tag: u32,
        /// Where the branch went.
        target: u64,
    },
    /// A saturating counter: taken from its upper half on.
    Counter {
        /// Value of the counter, from 0.
        value: u8,
        /// The largest value.
        most: u8,
    },
    /// An entry of a tagged table of TAGE.
    Tagged {
        /// The bits that tell branches apart.
        tag: u16,
        /// Taken if not negative.
        counter: i8,
        /// How useful it was.
        useful: u8,
    },
    /// Directions of a branch, the newest in bit 0.
    History {
        /// The directions.
        bits: u32,
        /// How many of them are used.
        length: u32,
    },
    /// A return address.
    Return {
        /// The address.
        address: u64,
        /// Whether the next return takes this address.
        is_top: bool,
    },
}

/// A load or a store in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOp {
    /// Place in the order of the path that the access is on, as in a `StageRecord`. None: a store that has committed
    /// and waits for the cache.
    pub seq: Option<u64>,
    /// A store, or an atomic.
    pub is_store: bool,
    /// Address, once that is computed.
    pub address: Option<u64>,
    /// Bytes.
    pub size: u8,
    /// Value that a store writes, once that is there.
    pub value: Option<u64>,
    /// Whether the access waits for an older store.
    pub waits: bool,
}

/// State of a context beside the tables of its core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Where fetch goes on.
    pub fetch_pc: u64,
    /// Fetch waits until this cycle.
    pub fetch_from_cycle: u64,
    /// Directions of the last branches on the predicted path, the newest in bit 0.
    pub history: u64,
    /// The reorder buffer: places in the order of the path, the oldest first.
    pub in_order: std::ops::Range<u64>,
    /// Loads and stores in flight, the oldest first.
    pub memory: Vec<MemoryOp>,
}
