//! How many cores a chip has, and how their caches agree.

use super::node::{config_enum, config_section};

config_section! {
    /// The cores of the chip, which are all alike. Everything here but `cores` means something only where there are
    /// several.
    ChipConfig patched by ChipPatch {
        /// Cores. A guest's threads run on them at the same time.
        cores: u32 = 1, "cores";
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
        /// How long a request occupies the bus on which all cores snoop.
        snoop_bus_cycles: u32 = 2, "cycles";
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
    /// How the cores' caches agree on a line.
    Coherence {
        /// The shared levels know who has which line, and ask those alone.
        Directory,
        /// Each request that leaves a core is seen by all others, in turn.
        Snooping,
    }
}

impl ChipConfig {
    /// The most cores.
    pub const MOST_CORES: u32 = 64;

    /// Whether everything is as it is where nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == ChipConfig::default()
    }

    /// Whether there is more than one core.
    #[must_use]
    pub fn has_company(&self) -> bool {
        self.cores > 1
    }
}
