//! A timed run that counters interrupt, with handlers in guest code.

use hps_isa::editor::Interruptible;
use hps_pipeline::core::{CyclesProbe, PipelineProbe};
use hps_pipeline::interrupts::{InterruptStats, Interrupts};
use hps_system::process::Process;

use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::TimedLoop;
use crate::machine::check_core;
use crate::mode::Timed;
use crate::ran::{Ran, Timing};
use crate::stopwatch::Stopwatch;

/// A run that was interrupted.
pub(crate) struct Interrupted<E, P, H> {
    pub ran: Ran<E, P, Timing>,
    /// Handlers that were installed for the run.
    pub handlers: H,
    pub interrupts: InterruptStats,
    /// Overflows that were lost because an earlier one still waited.
    pub overflows_lost: u64,
}

impl<I: Install, P: PipelineProbe + 'static> Lab<'_, Timed<'_>, I, P>
where
    Interruptible<I::Editor>: TimedLoop<CyclesProbe>,
{
    /// Runs to the end of the program or to the limit, under the interrupts that `install` gives, if any, with the
    /// handlers that it puts into the process.
    pub(crate) fn interrupted<H>(
        self,
        install: impl FnOnce(&mut Process) -> Result<(H, Option<Interrupts>), LabError>,
    ) -> Result<Interrupted<I::Editor, P, H>, LabError> {
        check_core(self.machine(), self.core_kind())?;
        let (provenance, limit) = (self.provenance(), self.limit);
        let expected = self.program.expected.clone();
        let (mut process, editor, probe, Timed { machine, core }) = self.prepare()?;
        let (handlers, interrupts) = install(&mut process)?;
        let editor = Interruptible(editor);
        let core = TimedLoop::core(core, &machine, process, editor, CyclesProbe::new(probe));
        let mut core = core.map_err(|reason| LabError::not_simulated(&machine.name, reason))?;
        if let Some(interrupts) = interrupts {
            core.attach_interrupts(interrupts);
        }
        let start = Stopwatch::start();
        let stop = TimedLoop::run(&mut core, limit);
        let host_seconds = start.seconds();
        let taken = core.interrupts().map(|i| (i.stats(), i.pmu().lost()));
        let (interrupts, overflows_lost) = taken.unwrap_or_default();
        let finished =
            TimedLoop::finish(core).map(|Interruptible(editor)| editor, CyclesProbe::into_probe);
        Ok(Interrupted {
            ran: Ran::of_core(finished, stop, host_seconds, provenance, expected),
            handlers,
            interrupts,
            overflows_lost,
        })
    }
}
