//! A timed run whose calls are sampled at yield points: a timer interrupts it, its handler asks for a burst of calls, and
//! the calls that follow are counted at the cost that this takes.

use hps_dise::DiseEngine;
use hps_isa::editor::Interruptible;
use hps_pipeline::core::{CyclesProbe, PipelineProbe};
use hps_pipeline::interrupts::{InterruptStats, Interrupts};
use hps_pipeline::pmu::{CounterConfig, Pmu};
use hps_productions::{YieldHandler, counted_calls};
use hps_profile::{CallPair, Profile};

use crate::error::LabError;
use crate::lab::Lab;
use crate::loops::TimedLoop;
use crate::mode::Timed;
use crate::productions::Productions;
use crate::ran::{Ran, Timing};

/// A run with yield points.
pub struct Yielded<E, P> {
    /// The run.
    pub ran: Ran<E, P, Timing>,
    /// Interrupts of the timer.
    pub interrupts: InterruptStats,
    /// The calls that were counted.
    pub calls: Profile<CallPair>,
    /// Calls for which the table had no room.
    pub lost: u64,
}

impl<P: PipelineProbe + 'static> Lab<'_, Timed<'_>, &Productions, P>
where
    Interruptible<DiseEngine>: TimedLoop<CyclesProbe>,
{
    /// Runs to the end of the program or to the limit, under the productions `yield_points`; the timer of `counter` asks
    /// for `burst` calls. Without a counter nothing is asked for, and yield points cost what looking costs.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); other productions; a counter that cannot be.
    pub fn yielding(
        self,
        productions: &Productions,
        counter: Option<CounterConfig>,
        burst: u32,
    ) -> Result<Yielded<DiseEngine, P>, LabError> {
        let costs = self.machine().interrupts.clone();
        let run = self.interrupted(|process| {
            let Some(counter) = counter else {
                return Ok(((), None));
            };
            let address = YieldHandler::new(&productions.set, burst)?.install(process)?;
            let interrupts = Interrupts::new(&costs, Pmu::new(&[counter])?, address)?;
            Ok(((), Some(interrupts)))
        })?;
        let (calls, lost) = counted_calls(&productions.set, &run.ran.process)?;
        Ok(Yielded {
            ran: run.ran,
            interrupts: run.interrupts,
            calls,
            lost,
        })
    }
}
