//! The thesis's collectors.

use std::collections::HashMap;

use hps_lab::observer::{DEEPEST, Placement, Signals};
use hps_lab::{Isa, Productions, ProductionsError};
use hps_pipeline::config::MachineConfig;

/// Cycles that an observer sleeps between two samples; 0: as fast as it can. The thesis has as fast as it can, 200,000
/// cycles (the least that interrupts reach) and a millisecond, which is 3,400,000 cycles there; runs here are a
/// thousand times as short.
pub const WAITS: [u64; 4] = [0, 1_000, 10_000, 100_000];

/// All of a calling context that a sample can hold.
pub const FULL_DEPTH: usize = DEEPEST;

/// Collector of tags, contexts or calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// Instructions a cycle with one tag, on the same core (section 3.3).
    Tag,
    /// Instructions a cycle with so many tags of the calling context, on the same core (section 3.4).
    Context(usize),
    /// New elements of the tag stack, so many from its top or all, from another core (section 4.2).
    Stack(Option<u64>),
    /// A ring of calls of so many bytes, from another core (sections 4.4.2 to 4.4.4).
    Pairs(u64),
    /// A ring of calls and returns of so many bytes, from another core (sections 4.4.5 and 4.4.6).
    Sequence(u64),
}

/// Sizes of rings in bytes, powers of two: near the thesis's, and a smaller one, since programs here are shorter.
pub const RINGS: [u64; 4] = [1 << 10, 8 << 10, 128 << 10, 1 << 20];

impl Collector {
    /// All of them.
    #[must_use]
    pub fn all() -> Vec<Collector> {
        let mut all = vec![Collector::Tag];
        all.extend([2, 10, FULL_DEPTH].map(Collector::Context));
        all.extend([Some(2), Some(10), None].map(Collector::Stack));
        all.extend(RINGS.map(Collector::Pairs));
        all.extend(RINGS.map(Collector::Sequence));
        all
    }

    /// Collectors that find calls.
    pub fn of_calls() -> impl Iterator<Item = Collector> {
        let has_counters = |c: &Collector| matches!(c, Collector::Tag | Collector::Context(_));
        Collector::all()
            .into_iter()
            .filter(move |c| !has_counters(c))
    }

    /// The name in measurements.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Collector::Tag => "tag".to_string(),
            Collector::Context(FULL_DEPTH) => "context-full".to_string(),
            Collector::Context(depth) => format!("context-{depth}"),
            Collector::Stack(None) => "stack-full".to_string(),
            Collector::Stack(Some(depth)) => format!("stack-{depth}"),
            Collector::Pairs(bytes) => format!("pairs-{}k", bytes >> 10),
            Collector::Sequence(bytes) => format!("sequence-{}k", bytes >> 10),
        }
    }

    /// Description in words.
    #[must_use]
    pub fn title(self) -> String {
        let size = |bytes: u64| match bytes {
            ..0x10_0000 => format!("{} KB", bytes >> 10),
            _ => format!("{} MB", bytes >> 20),
        };
        match self {
            Collector::Tag => "IPC and one tag".to_string(),
            Collector::Context(2) => "IPC, caller and callee".to_string(),
            Collector::Context(FULL_DEPTH) => "IPC and the whole context".to_string(),
            Collector::Context(depth) => format!("IPC and {depth} calls of the context"),
            Collector::Stack(None) => "tag stack, whole".to_string(),
            Collector::Stack(Some(depth)) => format!("tag stack, {depth} deep"),
            Collector::Pairs(bytes) => format!("ring of calls, {}", size(bytes)),
            Collector::Sequence(bytes) => format!("ring of calls and returns, {}", size(bytes)),
        }
    }

    /// The waits at which it runs.
    #[must_use]
    pub fn waits(self) -> &'static [u64] {
        match self {
            Collector::Stack(_) => &WAITS,
            _ => &[0, 10_000, 100_000],
        }
    }

    /// Where the observer runs.
    #[must_use]
    pub fn placement(self) -> Placement {
        match self {
            Collector::Tag | Collector::Context(_) => Placement::Smt,
            _ => Placement::Cmp,
        }
    }

    /// Signals that the observer reads. Alpha has no counters of instructions.
    #[must_use]
    pub fn signals(self, isa: Isa) -> Signals {
        let counters = if isa == Isa::Riscv64 { 2 } else { 0 };
        match self {
            Collector::Tag => Signals::Samples { counters },
            Collector::Context(depth) => Signals::Context { counters, depth },
            Collector::Stack(depth) => Signals::NewCalls { depth },
            Collector::Pairs(bytes) => Signals::CallPairs { bytes },
            Collector::Sequence(bytes) => Signals::CallSequence { bytes },
        }
    }

    /// Productions that write these signals, in programs of an instruction set on a machine.
    ///
    /// # Errors
    /// The tables of the machine's engine cannot hold the productions.
    pub fn productions(
        self,
        isa: Isa,
        machine: &MachineConfig,
    ) -> Result<Productions, ProductionsError> {
        let (name, bytes) = match self {
            Collector::Tag => ("shim_tag", None),
            Collector::Context(_) | Collector::Stack(_) => ("call_stack", None),
            Collector::Pairs(bytes) => ("call_pairs", Some(bytes)),
            Collector::Sequence(bytes) => ("call_sequence", Some(bytes)),
        };
        let size = bytes.map(|bytes| ("ring_bytes".to_string(), bytes as i64));
        let params: HashMap<String, i64> = size.into_iter().collect();
        Productions::load(isa, &[name.to_string()], params)?.on(machine)
    }
}
