//! How many cores a chip has, how their caches agree, and what hardware threads a core has.

use super::node::{config_enum, config_section};

config_section! {
    /// The cores of the chip, and their hardware threads. What is said of cores means something only where there are
    /// several, what is said of contexts likewise.
    ChipConfig patched by ChipPatch {
        /// Cores. A guest's threads run on them at the same time.
        cores: u32 = 1, "cores";
        /// So many of the cores, the last ones, are as the section `little` describes them; the others are alike.
        #[serde(skip_serializing_if = "is_zero")]
        little_cores: u32 = 0, "cores";
        /// Contexts (hardware threads) of each core. They share its widths, units, caches, TLBs and predictor tables;
        /// histories, return address stack and memory dependences are their own.
        contexts: u32 = 1, "contexts";
        /// Which of the contexts of a core comes first in a cycle.
        smt_policy: SmtPolicy = SmtPolicy::Icount, "policy";
        /// Whether contexts divide the places of reorder buffer, stations and load and store queues.
        smt_queues: SmtQueues = SmtQueues::Partitioned, "division";
        /// Whose the level 2 cache is.
        l2: L2Place = L2Place::Shared, "place";
        /// How the cores' caches agree (MESI in each case).
        coherence: Coherence = Coherence::Directory, "protocol";
        /// From a request that reaches the shared levels to the answer of another core that has the line changed or
        /// exclusively: the way there, its look-up, and the way to the one that asks.
        transfer_cycles: u32 = 30, "cycles";
        /// From a request to write that reaches the shared levels to the last acknowledgement of the cores whose
        /// copies it invalidates; also of a request that finds no copies, where it only asks (an upgrade).
        invalidate_cycles: u32 = 20, "cycles";
        /// A core may still store into a line for so long when another core's request for it has its turn: until the
        /// request is there, as a part of `transfer_cycles`. The stores that wait in its queue for the line use that.
        keep_cycles: u32 = 4, "cycles";
        /// How long a request occupies the bus on which all cores snoop.
        snoop_bus_cycles: u32 = 2, "cycles";
        /// Reads of observers of what programs write (tags, stacks, rings, their own memory) take so long, allocate
        /// nothing and take no part in the coherence of caches (what SHIM's authors propose, ISCA 2015, section 5.2). 0:
        /// they are as all other reads.
        quiet_read_cycles: u32 = 0, "cycles";
        /// A line leaves the first-level caches of a core when it leaves the level 2 cache.
        inclusive_l2: bool = true, "yes or no";
    }
}

config_enum! {
    /// Whose the level 2 cache is.
    L2Place {
        /// The chip's: one for all cores.
        Shared,
        /// The cores': each has one of its own, of the size that `memory.l2` gives.
        Private,
    }
}

config_enum! {
    /// Which of the contexts of a core comes first in a cycle. What it leaves of fetch, widths and units goes to the next
    /// one.
    SmtPolicy {
        /// Each in turn, one a cycle.
        RoundRobin,
        /// Each in turn; fetch takes the one that has the fewest instructions in front of issue (Tullsen and others,
        /// ISCA 1996).
        Icount,
        /// The first context always.
        Priority,
        /// The first context always; the others issue one instruction a cycle between them, and only while the first
        /// one has nothing ready (what SHIM's authors propose for observers, ISCA 2015, section 4).
        Background,
    }
}

config_enum! {
    /// Whether contexts that run divide the queues of their core.
    SmtQueues {
        /// In equal parts. What runs alone has all of it.
        Partitioned,
        /// Each takes what is free.
        Shared,
    }
}

config_enum! {
    /// How the cores' caches agree on a line.
    Coherence {
        /// The shared levels know who has which line, and ask those alone.
        Directory,
        /// Each request that leaves a core is seen by all others, in turn.
        Snooping,
    }
}

/// A key that is left out of fingerprints, so that those of machines without little cores stay what they are.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde gives a reference
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl ChipConfig {
    /// The most cores.
    pub const MOST_CORES: u32 = 64;
    /// The most contexts of a core.
    pub const MOST_CONTEXTS: u32 = 4;

    /// Whether everything is as it is where nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == ChipConfig::default()
    }

    /// Contexts of all cores: the processors that a guest sees.
    #[must_use]
    pub fn processors(&self) -> u32 {
        self.cores * self.contexts
    }

    /// Whether there is more than one context.
    #[must_use]
    pub fn has_peers(&self) -> bool {
        self.processors() > 1
    }
}
