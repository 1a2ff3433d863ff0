//! Events that machines count of a thread beside cycles and instructions.

/// Declares the events once, with their arithmetic.
macro_rules! hardware_events {
    ($($(#[doc = $doc:expr])+ $name:ident;)+) => {
        /// Counts of a hardware context that programs read by `perf_event_open`. A machine that offers them fills them in
        /// where it fills in the counters that the operating system sees.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct HardwareEvents {
            $( $(#[doc = $doc])+ pub $name: u64, )+
        }

        impl HardwareEvents {
            /// Each count plus the other's, modulo 2^64.
            #[must_use]
            pub const fn plus(self, other: HardwareEvents) -> HardwareEvents {
                HardwareEvents { $( $name: self.$name.wrapping_add(other.$name), )+ }
            }

            /// Each count minus the other's, modulo 2^64.
            #[must_use]
            pub const fn since(self, other: HardwareEvents) -> HardwareEvents {
                HardwareEvents { $( $name: self.$name.wrapping_sub(other.$name), )+ }
            }
        }
    };
}

hardware_events! {
    /// Branches, jumps, calls and returns that committed.
    branches;
    /// Mispredicted ones among them.
    branch_misses;
    /// Loads of the level 1 data cache.
    l1d_reads;
    /// Misses among them.
    l1d_read_misses;
    /// Stores of the level 1 data cache.
    l1d_writes;
    /// Misses among them.
    l1d_write_misses;
    /// Fetches of the level 1 instruction cache.
    l1i_reads;
    /// Misses among them.
    l1i_read_misses;
    /// Translations of data addresses.
    dtlb_accesses;
    /// Misses of the first-level TLB among them.
    dtlb_misses;
    /// Translations of instruction addresses.
    itlb_accesses;
    /// Misses of the first-level TLB among them.
    itlb_misses;
}

/// Events that a machine counts for each thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum OfferedEvents {
    /// No events: the machine has neither predictors nor caches.
    #[default]
    None,
    /// Events of branches alone: several contexts share the caches.
    Branches,
    /// All events.
    All,
}
