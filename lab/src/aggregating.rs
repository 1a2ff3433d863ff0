//! A timed run under DCPI's collection at its cost: counters that interrupt, a handler that counts samples in a hash
//! table, overflow buffers and the daemon that reads them.

use hps_isa::editor::Interruptible;
use hps_pipeline::core::{CyclesProbe, PipelineProbe};
use hps_pipeline::interrupts::{InterruptStats, Interrupts};
use hps_pipeline::pmu::{CounterConfig, Pmu};
use hps_productions::{TableHandler, TableOptions, TableSamples};

use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::TimedLoop;
use crate::mode::Timed;
use crate::ran::{Ran, Timing};

/// A run under a handler that counts samples.
pub struct Aggregated<E, P> {
    /// The run.
    pub ran: Ran<E, P, Timing>,
    /// Interrupts.
    pub interrupts: InterruptStats,
    /// Overflows that were lost because an earlier one still waited.
    pub overflows_lost: u64,
    /// Samples that the handler has counted, by address and counter.
    pub samples: TableSamples,
    /// Memory that handler, table and buffers take, in bytes.
    pub memory_bytes: u64,
}

impl<I: Install, P: PipelineProbe + 'static> Lab<'_, Timed<'_>, I, P>
where
    Interruptible<I::Editor>: TimedLoop<CyclesProbe>,
{
    /// Runs to the end of the program or to the limit, while these counters interrupt it and a handler in guest code
    /// counts the interrupted addresses. The number of a counter is its place in the list.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); counters that cannot be; sizes that the handler cannot use, or that do not fit
    /// into memory.
    pub fn aggregated(
        self,
        counters: &[CounterConfig],
        options: TableOptions,
    ) -> Result<Aggregated<I::Editor, P>, LabError> {
        let costs = self.machine().interrupts.clone();
        let run = self.interrupted(|process| {
            let handler = TableHandler::new(options)?;
            let address = handler.install(process)?;
            let interrupts = Interrupts::new(&costs, Pmu::new(counters)?, address)?;
            Ok((handler, Some(interrupts)))
        })?;
        Ok(Aggregated {
            samples: run.handlers.read(&run.ran.process.mem)?,
            memory_bytes: run.handlers.memory_bytes(),
            ran: run.ran,
            interrupts: run.interrupts,
            overflows_lost: run.overflows_lost,
        })
    }
}
