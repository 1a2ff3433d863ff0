//! HPS with its first burst elsewhere: a run at another phase of its schedule.

use hps_dise::DiseEngine;
use hps_lab::{Install, LabError};
use hps_productions::grid::Phase;
use hps_productions::{Collector, SamplePoint};
use hps_system::process::Process;

/// A collector that is ahead in its schedule by so many events when the program begins.
pub(crate) struct Ahead<'a> {
    collector: &'a Collector,
    events: u64,
}

impl<'a> Ahead<'a> {
    /// Phase of a number: number 0 is the engine's, the others are drawn as those of accuracies are. A phase that would begin
    /// within a burst begins just before it.
    pub fn at_phase(collector: &'a Collector, point: SamplePoint, number: u64) -> Self {
        let phase = match number {
            0 => Phase::ENGINE,
            _ => Phase::drawn(number),
        };
        Ahead {
            collector,
            events: phase.events(point).min(point.sparsity),
        }
    }
}

impl Install for Ahead<'_> {
    type Editor = DiseEngine;

    fn install(self, process: &mut Process) -> Result<DiseEngine, LabError> {
        let mut engine = self.collector.install(process)?;
        let is_ahead = self.collector.put_ahead(&mut engine, self.events);
        debug_assert!(is_ahead, "HPS has a counter to the first burst");
        Ok(engine)
    }
}
