//! The core as its callers see it between two runs: program, editor, probe and statistics.

use hps_system::process::Process;

use super::{DecodeEditor, DrivenCore};
use crate::memsys::MemoryStats;
use crate::model::{CoreStats, CpiStack, Finished, PipelineProbe};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// The program. Between two runs its state is that behind the last committed instruction.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The program, to be changed between two runs.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The decode-stage editor.
    #[must_use]
    pub fn editor(&self) -> &E {
        &self.editor
    }

    /// The program and the editor, to be changed between two runs.
    pub fn parts_mut(&mut self) -> (&mut Process, &mut E) {
        (&mut self.process, &mut self.editor)
    }

    /// The probe.
    #[must_use]
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe, to be changed between two runs.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Counters of the core.
    #[must_use]
    pub fn stats(&self) -> &CoreStats {
        &self.stats
    }

    /// Commit slots by owner, but for those that a run at its limit has left open in its last cycle
    /// ([`settle`](Self::settle)).
    #[must_use]
    pub fn cpi(&self) -> &CpiStack {
        &self.cpi
    }

    /// Statistics of the memory hierarchy.
    #[must_use]
    pub fn memory_stats(&self) -> MemoryStats {
        self.memory.stats()
    }

    /// Ends its life, with every slot of its last cycle accounted for.
    #[must_use]
    pub fn finish(mut self) -> Finished<E, P> {
        self.settle();
        Finished {
            others: Vec::new(),
            contended: Vec::new(),
            memory: self.memory_stats(),
            process: self.process,
            editor: self.editor,
            probe: self.probe,
            stats: self.stats,
            cpi: self.cpi,
        }
    }
}
