//! Results of shadows and of their monitor.

use std::sync::atomic::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use crate::calls;
use crate::layout::Region;

/// Why a shadow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The shadow gave no reason.
    None,
    /// The shadow has run all instructions of a sample.
    Budget,
    /// The program's end.
    ProgramEnded,
    /// A system call at which the policy ends shadows.
    CallEnds,
    /// A system call that the policy lets run, but that others would notice.
    CallRefused,
    /// The shadow would have waited for another thread.
    Waits,
    /// A fault, whose handler would have to run.
    Fault,
    /// An instruction that is not executed as a copy.
    ForeignCode,
    /// Code that the program can write.
    WritableCode,
    /// Nothing executable was there.
    UnknownCode,
    /// Code out of the reach of its copies.
    FarCode,
    /// More code than it has room for.
    TooMuchCode,
    /// Memory shared with others that cannot be copied.
    SharedMemory,
    /// The program uses the register GS.
    Segment,
    /// The program has ended.
    Closed,
    /// The program has executed another one.
    Executes,
    /// Others killed the shadow.
    Killed,
    /// The shadow lived too long.
    Overdue,
}

impl Ending {
    const NUMBERED: [(Ending, &str); 16] = [
        (Ending::None, "it did not say"),
        (Ending::Budget, "end of the sample"),
        (Ending::ProgramEnded, "end of the program"),
        (Ending::CallEnds, "policy"),
        (Ending::CallRefused, "others would notice"),
        (Ending::Waits, "waits for another thread"),
        (Ending::Fault, "fault, signal"),
        (Ending::ForeignCode, "instruction that is not copied"),
        (Ending::WritableCode, "code that can be written"),
        (Ending::UnknownCode, "no code there"),
        (Ending::FarCode, "code out of reach"),
        (Ending::TooMuchCode, "too much code"),
        (Ending::SharedMemory, "memory shared with others"),
        (Ending::Segment, "the program uses GS"),
        (Ending::Closed, "the program had ended"),
        (Ending::Executes, "another program was executed"),
    ];

    /// The ending with a number of `enum ending` of `preload/layout.h`.
    pub(crate) fn of(number: u32) -> Ending {
        let numbered = Self::NUMBERED.get(number as usize);
        numbered.map_or(Ending::None, |(ending, _)| *ending)
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Ending::Killed => "killed by others",
            Ending::Overdue => "lived too long",
            _ => Self::NUMBERED
                .iter()
                .find(|(e, _)| *e == self)
                .map_or("", |(_, words)| words),
        }
    }
}

/// A shadow that has ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Shadow {
    /// Why.
    pub ending: Ending,
    /// Number of the call or signal that ended it.
    pub detail: u32,
    /// Which one of the session it was, from 1 on.
    pub sequence: u64,
    /// Number of the program's thread that it went on as.
    pub thread: u32,
    /// Name of that thread.
    pub thread_name: String,
    /// Instructions of its sample: as asked for, or more where a budget makes forks rare.
    pub sample: u64,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Units of code that it entered.
    pub events: u64,
    /// Units of code that it made copies of.
    pub units: u32,
    /// How often it threw all copies away.
    pub flushes: u32,
    /// From the fork to its first instruction.
    pub start_ns: u64,
    /// From the fork to its end; 0 if it was killed.
    pub life_ns: u64,
    /// How long it was a second holder of the program's descriptors, which other threads of the program could notice.
    pub held_ns: u64,
}

impl Shadow {
    /// Why it ended, in words.
    #[must_use]
    pub fn end(&self) -> String {
        let words = self.ending.words();
        match self.ending {
            Ending::CallEnds | Ending::CallRefused => {
                format!("{}: {words}", calls::name_of(self.detail))
            }
            Ending::Fault => format!("{words} {}", self.detail),
            _ => words.to_string(),
        }
    }
}

/// Counts of the monitor.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Monitor {
    /// Signals.
    pub signals: u64,
    /// Live shadows on average over signals.
    pub average_live: f64,
    /// Forks.
    pub forks: u64,
    /// Forks that the kernel refused.
    pub failed: u64,
    /// Signals at which there was no room for another shadow.
    pub crowded: u64,
    /// Forks while the program had several threads: the shadow has one. In a whole run: threads and processes that the
    /// program made, which run without instrumentation.
    pub threads: u64,
    /// Time that the program spent in the monitor, with forks.
    pub monitor_ns: u64,
    /// Of it, in forks.
    pub fork_ns: u64,
    /// System calls that a signal interrupted and the monitor began anew.
    pub restarted: u64,
    /// Forks that the limit of overhead prevented.
    pub spared: u64,
    /// Processor time that the program spent in the monitor, with forks; of an attached program the time.
    pub spent_ns: u64,
    /// With a limit of overhead: faults of the program because of forks.
    pub copied: u64,
    /// Cost of these faults, and of code that ran without its huge pages.
    pub copied_ns: u64,
    /// Measured cost of one fault.
    pub fault_ns: u64,
    /// Expected cost of the next fork when it was last considered.
    pub expected_ns: u64,
    /// Bytes of the program's own resident memory at that time.
    pub expected_bytes: u64,
    /// Signals at which another thread was waited for.
    pub waited: u64,
}

/// Bytes of a page of memory.
pub const PAGE_BYTES: u64 = 4096;

impl Monitor {
    /// The library's counts so far.
    pub(crate) fn of(region: &Region) -> Monitor {
        let header = region.header();
        let get = |word: &std::sync::atomic::AtomicU64| word.load(Ordering::Relaxed);
        let signals = get(&header.signals);
        Monitor {
            signals,
            average_live: get(&header.live) as f64 / signals.max(1) as f64,
            forks: get(&header.forks),
            failed: get(&header.failed),
            crowded: get(&header.crowded),
            threads: get(&header.threads),
            monitor_ns: get(&header.monitor_ns),
            fork_ns: get(&header.fork_ns),
            restarted: get(&header.restarted),
            spared: get(&header.spared),
            spent_ns: get(&header.spent_ns),
            copied: get(&header.copied),
            copied_ns: get(&header.copied_ns),
            fault_ns: get(&header.fault_ns),
            expected_ns: get(&header.expected_ns),
            expected_bytes: get(&header.expected_pages) * PAGE_BYTES,
            waited: get(&header.waited),
        }
    }
}
