//! Interrupts of a core: what raises them, what they cost, and the handler that they call.
//!
//! # When an interrupt is taken
//!
//! A source raises its line some cycles (its skid) after its counter has overflowed. From
//! `interrupts.recognition_cycles` later on the core takes the interrupt at the first instruction
//! boundary of the program:
//!
//! - **Out of order**, an instruction boundary comes when an instruction commits: the oldest instruction
//!   in flight commits, and everything behind it is squashed. So a program gets on between any two
//!   interrupts, and a load that misses, or a system call, ends before the interrupt that arrives
//!   meanwhile is taken. The program goes on behind the instruction that has committed.
//! - **In order**, nothing more issues, what has issued completes and commits, and the program goes on with
//!   the instruction at the head of the issue queue. A system call or fence that has been executed there
//!   issues first; so does one instruction of the program behind the handler of an earlier interrupt.
//!
//! There is no boundary inside the expansion of an instruction or in a handler of productions: the
//! interrupt waits until the program's own next instruction would come. While the handler of an interrupt
//! runs, every interrupt waits.
//!
//! # What it costs
//!
//! Let the line be raised in cycle *r*. The interrupt is taken in a cycle *t* ≥ *r* + recognition: the
//! cycle of the commit, *t* minus its earliest value, is the drain. Fetch begins with the handler's
//! first instruction in cycle *t* + entry. The handler's `d_ret` is decoded in cycle *d*; fetch goes on
//! with the program in cycle *d* + return. Refilling the pipeline costs what it costs behind a
//! mispredicted branch.
//!
//! # Handlers
//!
//! A handler is guest code where handlers of productions lie, and ends with `d_ret`. Its instructions are
//! counted as those of handlers, and nothing in it is expanded. It finds the interrupted address, the
//! number of the source, the source's count and the cycle in the interrupt registers `ir0` to `ir3`
//! (see [`reg`](hps_isa::inst::reg)); `ir4` to `ir9` are its own. It saves in them, or in memory, what
//! it uses of the program's registers, and leaves load reservations alone: a reservation of the program
//! survives an interrupt.

mod lines;

pub(crate) use lines::{Lines, set_registers};

use hps_isa::layout;
use serde::{Deserialize, Serialize};

use crate::config::InterruptConfig;
use crate::pmu::{Pmu, Readings};

/// An interrupt that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The number of its source.
    pub source: usize,
    /// The cycle in which the source's counter overflowed.
    pub overflow_cycle: u64,
    /// The first cycle in which the core could have taken it, had a boundary come and no handler run.
    pub recognized_cycle: u64,
    /// The cycle in which it was taken.
    pub cycle: u64,
    /// Where the program goes on.
    pub pc: u64,
    /// Events that the counter had counted.
    pub count: u64,
}

/// Counters of interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptStats {
    /// Interrupts taken.
    pub taken_events: u64,
    /// Handlers that have returned.
    pub returned_events: u64,
    /// Cycles from taking an interrupt to the commit of its handler's `d_ret`, over all that returned.
    pub handled_cycles: u64,
}

hps_isa::save_values!(InterruptStats);

/// Why a core cannot take such interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterruptError {
    /// The handler lies elsewhere.
    #[error(
        "the handler of interrupts lies at {handler:#x}; handlers lie from {:#x} to {:#x}",
        layout::HANDLER_BASE,
        layout::HANDLER_END
    )]
    Elsewhere {
        /// The address of the handler.
        handler: u64,
    },
}

/// The interrupts of a core.
#[derive(Clone, Debug)]
pub struct Interrupts {
    recognition_cycles: u64,
    entry_cycles: u64,
    return_cycles: u64,
    handler: u64,
    pmu: Pmu,
    /// The cycle in which the interrupt whose handler runs was taken.
    in_handler: Option<u64>,
    stats: InterruptStats,
    log: Option<Vec<Taken>>,
}

hps_isa::save_state! {
    Interrupts {
        recognition_cycles: skip, entry_cycles: skip, return_cycles: skip, handler: same, pmu,
        in_handler, stats, log,
    }
}

impl Interrupts {
    /// Interrupts of the counters of a PMU, with the costs of a machine, and the guest address of their
    /// handler.
    ///
    /// # Errors
    /// [`InterruptError`].
    pub fn new(costs: &InterruptConfig, pmu: Pmu, handler: u64) -> Result<Self, InterruptError> {
        if !layout::is_for_handlers(handler) {
            return Err(InterruptError::Elsewhere { handler });
        }
        Ok(Interrupts {
            recognition_cycles: u64::from(costs.recognition_cycles),
            entry_cycles: u64::from(costs.entry_cycles),
            return_cycles: u64::from(costs.return_cycles),
            handler,
            pmu,
            in_handler: None,
            stats: InterruptStats::default(),
            log: None,
        })
    }

    /// Keeps every interrupt that is taken, for [`Interrupts::log`].
    #[must_use]
    pub fn with_log(self) -> Self {
        Interrupts {
            log: Some(Vec::new()),
            ..self
        }
    }

    /// The interrupts that were taken, in order; none without [`Interrupts::with_log`].
    #[must_use]
    pub fn log(&self) -> &[Taken] {
        self.log.as_deref().unwrap_or_default()
    }

    /// How many were taken, and what that took.
    #[must_use]
    pub fn stats(&self) -> InterruptStats {
        self.stats
    }

    /// The counters.
    #[must_use]
    pub fn pmu(&self) -> &Pmu {
        &self.pmu
    }

    /// Counts from here on.
    pub(crate) fn start(&mut self, readings: Readings<'_>) {
        self.pmu.start(readings);
    }

    /// Whether the cycle of an overflow is known only when it has come.
    pub(crate) fn counts_events(&self) -> bool {
        self.pmu.counts_events()
    }

    /// Counts what has happened, as [`Pmu::count`].
    pub(crate) fn count(&mut self, readings: Readings<'_>, from: u64, to: u64) {
        self.pmu.count(readings, from, to);
    }

    /// From this cycle on the core has to ask whether a boundary has come. In a handler it asks at each
    /// commit, to find its return.
    pub(crate) fn next_look(&self) -> u64 {
        match (self.in_handler, self.pmu.next_line()) {
            (Some(_), _) => 0,
            (None, Some(line)) => line + self.recognition_cycles,
            (None, None) => u64::MAX,
        }
    }

    /// Whether the handler of an interrupt runs.
    pub(crate) fn is_in_handler(&self) -> bool {
        self.in_handler.is_some()
    }

    /// Takes an interrupt in a cycle in which it may be taken, in front of the instruction at `pc`.
    pub(crate) fn take(&mut self, readings: Readings<'_>, cycle: u64, pc: u64) -> Option<Taken> {
        let line = cycle.checked_sub(self.recognition_cycles)?;
        let pending = self.pmu.take(readings, cycle, line)?;
        let taken = Taken {
            source: pending.source,
            overflow_cycle: pending.overflow_cycle,
            recognized_cycle: pending.raised_cycle + self.recognition_cycles,
            cycle,
            pc,
            count: pending.count,
        };
        self.in_handler = Some(cycle);
        self.stats.taken_events += 1;
        if let Some(log) = &mut self.log {
            log.push(taken);
        }
        Some(taken)
    }

    /// The handler's `d_ret` commits.
    pub(crate) fn leave(&mut self, cycle: u64) {
        if let Some(taken) = self.in_handler.take() {
            self.stats.returned_events += 1;
            self.stats.handled_cycles += cycle - taken;
        }
        self.pmu.pass(cycle);
    }

    /// Address of the handler, and the cycle in which its fetch begins if it is called in `cycle`.
    pub(crate) fn entry(&self, cycle: u64) -> (u64, u64) {
        (self.handler, cycle + self.entry_cycles)
    }

    /// The cycle in which fetch goes on with the program if the handler's `d_ret` is decoded in `cycle`.
    pub(crate) fn return_from(&self, cycle: u64) -> u64 {
        cycle + self.return_cycles
    }
}
