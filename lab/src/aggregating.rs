//! A timed run under DCPI's collection at its cost: counters that interrupt, a handler that counts samples in a hash
//! table, overflow buffers and the daemon that reads them.

use std::time::Instant;

use hps_pipeline::core::{EitherCore, PipelineProbe};
use hps_pipeline::interrupts::{InterruptStats, Interrupts};
use hps_pipeline::pmu::{CounterConfig, Pmu};
use hps_productions::{TableHandler, TableOptions, TableSamples};
use hps_sim_core::editor::Interruptible;

use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::machine::check_core;
use crate::mode::Timed;
use crate::ran::{Ran, Timing};

/// A run under a handler that counts samples.
pub struct Aggregated<E, P> {
    /// The run.
    pub ran: Ran<E, P, Timing>,
    /// Interrupts.
    pub interrupts: InterruptStats,
    /// Overflows that fell while one before still waited.
    pub overflows_lost: u64,
    /// What the handler has counted.
    pub samples: TableSamples,
    /// Memory that handler, table and buffers take, in bytes.
    pub memory_bytes: u64,
}

impl<I: Install, P: PipelineProbe> Lab<'_, Timed<'_>, I, P> {
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
        check_core(self.machine(), self.core_kind())?;
        let costs = self.machine().interrupts.clone();
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let (mut process, editor, probe, Timed { machine, core }) = self.prepare()?;
        let handler = TableHandler::new(options)?;
        let address = handler.install(&mut process)?;
        let interrupts = Interrupts::new(&costs, Pmu::new(counters)?, address)?;
        let core = EitherCore::with(core, &machine, process, Interruptible(editor), probe);
        let mut core = core.map_err(|reason| LabError::NotDriven {
            machine: machine.name.clone(),
            reason,
        })?;
        core.attach_interrupts(interrupts);
        let start = Instant::now();
        let stop = core.run(limit);
        let host_seconds = start.elapsed().as_secs_f64();
        let taken = core.interrupts().map(|i| (i.stats(), i.pmu().lost()));
        let (interrupts, overflows_lost) = taken.unwrap_or_default();
        let finished = core.finish().map_editor(|Interruptible(editor)| editor);
        let ran = Ran::of_core(finished, stop, host_seconds, provenance, expected);
        Ok(Aggregated {
            samples: handler.read(&ran.process)?,
            ran,
            interrupts,
            overflows_lost,
            memory_bytes: handler.memory_bytes(),
        })
    }
}
