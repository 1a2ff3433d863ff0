//! Costs of interrupts.

use super::node::config_section;

config_section! {
    /// Costs of an interrupt beside the instructions of its handler. No cost where none is taken.
    InterruptConfig patched by InterruptPatch {
        /// From the cycle in which a source raises its line to the first cycle in which the core may
        /// take the interrupt. The 21164 interrupts 6 cycles after a counter has overflowed (DCPI, 1997).
        recognition_cycles: u32 = 6, "cycles";
        /// From the cycle in which an interrupt is taken to the fetch of its handler. DCPI (1997) gives
        /// 214 cycles at best for entry and return together on the 21064 and 21164; half of them.
        entry_cycles: u32 = 107, "cycles";
        /// From the decode of the handler's `d_ret` to the fetch of the program's next instruction: the
        /// other half.
        return_cycles: u32 = 107, "cycles";
        /// What stops the program when the hardware itself stores a record of a sample, as Intel's PEBS
        /// does. Akiyama and Hirofuchi (ROSS 2017) measured 200 to 300 ns a record: 250 cycles at 1 GHz.
        assist_cycles: u32 = 250, "cycles";
    }
}

impl InterruptConfig {
    /// Whether every cost is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == InterruptConfig::default()
    }
}
