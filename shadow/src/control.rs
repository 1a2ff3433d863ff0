//! When a shadow begins, and what it costs.

use serde::{Deserialize, Serialize};

/// Decides at each signal whether a shadow is forked: it is if the average number of live shadows, over all signals so
/// far, is below the load.
#[derive(Clone, Debug)]
pub struct LoadController {
    load: f64,
    signals: u64,
    live: u64,
}

impl LoadController {
    /// A controller that keeps `load` shadows alive on average.
    #[must_use]
    pub fn new(load: f64) -> LoadController {
        LoadController {
            load,
            signals: 0,
            live: 0,
        }
    }

    /// A signal at which `live` shadows are alive. Whether to fork another one, which then counts as alive.
    pub fn signal(&mut self, live: u64) -> bool {
        self.signals += 1;
        self.live += live;
        let forks = self.average() < self.load;
        self.live += u64::from(forks);
        forks
    }

    /// A signal at which no shadow can begin.
    pub fn pass(&mut self, live: u64) {
        self.signals += 1;
        self.live += live;
    }

    /// The average number of live shadows.
    #[must_use]
    pub fn average(&self) -> f64 {
        self.live as f64 / self.signals.max(1) as f64
    }
}

/// Costs of shadows, in nanoseconds. The defaults were measured on a virtual x86-64 processor under Linux
/// (`docs/measurements/shadow-2007.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Delivery of a signal, with the monitor's decision and the return.
    pub signal_ns: f64,
    /// A fork, without its page tables.
    pub fork_ns: f64,
    /// A fork, for each page of the program that is in memory.
    pub fork_page_ns: f64,
    /// A fork, for each thread behind the first: to stop it, to make it again and to go on.
    pub thread_ns: f64,
    /// The first write to a page since a fork, which nobody shares any more.
    pub fault_ns: f64,
    /// The first write to a page since a fork, which a live shadow shares: fault and copy.
    pub copy_ns: f64,
    /// How much longer instrumented code takes than the program.
    pub slowdown: f64,
    /// Time in which a shadow translates an instruction when it first comes to it.
    pub translate_ns: f64,
    /// Shadows keep what they have translated for later ones.
    pub keeps_translations: bool,
}

impl Default for Costs {
    fn default() -> Self {
        Costs {
            signal_ns: 1100.0,
            fork_ns: 25_000.0,
            fork_page_ns: 80.0,
            thread_ns: 25_000.0,
            fault_ns: 700.0,
            copy_ns: 3000.0,
            slowdown: 10.0,
            translate_ns: 4600.0,
            keeps_translations: false,
        }
    }
}
