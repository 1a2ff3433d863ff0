#![doc = include_str!("../README.md")]

#[cfg(all(target_arch = "x86_64", unix))]
mod alpha;
#[cfg(all(target_arch = "x86_64", unix))]
mod arena;
#[cfg(all(target_arch = "x86_64", unix))]
mod conditions;
#[cfg(all(target_arch = "x86_64", unix))]
mod floating;
#[cfg(all(target_arch = "x86_64", unix))]
mod memory;
#[cfg(all(target_arch = "x86_64", unix))]
mod ops;
#[cfg(all(target_arch = "x86_64", unix))]
mod region;
#[cfg(all(target_arch = "x86_64", unix))]
mod shared;
#[cfg(all(target_arch = "x86_64", unix))]
mod unit;
#[cfg(all(target_arch = "x86_64", unix))]
mod units;

use hps_isa::translator::Translator;

/// When code is compiled, and how much at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Entries of a block before the code there is compiled.
    pub threshold: u32,
    /// Instructions of a run before anything is compiled.
    pub begins_after: u64,
    /// The most instructions of a unit.
    pub most_instructions: usize,
    /// Optimizes compiled code.
    pub optimizes: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            threshold: 2000,
            begins_after: 10_000_000,
            most_instructions: 200,
            optimizes: false,
        }
    }
}

/// A translator for code of this host. `None` if there is none for this kind of host.
#[must_use]
pub fn translator(settings: Settings) -> Option<Box<dyn Translator>> {
    #[cfg(all(target_arch = "x86_64", unix))]
    return units::Units::new(settings).map(|units| Box::new(units) as Box<dyn Translator>);
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    {
        let _ = settings;
        None
    }
}
