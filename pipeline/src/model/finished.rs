//! Results of a run that has ended.

use hps_system::process::Process;

use super::{ContextId, CoreStats, CpiStack};
use crate::memsys::{ContendedLine, MemoryStats};

/// Counts of a context.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Which one it is.
    pub context: ContextId,
    /// Counters of the context.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    /// Caches, TLBs, buses; those behind its core's caches for all cores. The first context has all of its core's, the
    /// others none.
    pub memory: MemoryStats,
}

/// Results of a context, and the counts of the other ones of its chip.
pub struct Finished<E, P> {
    /// The program.
    pub process: Process,
    /// The decode-stage editor.
    pub editor: E,
    /// The probe.
    pub probe: P,
    /// Counters of the core.
    pub stats: CoreStats,
    /// Commit slots by owner.
    pub cpi: CpiStack,
    /// Caches, TLBs, buses.
    pub memory: MemoryStats,
    /// The other contexts, in their order.
    pub others: Vec<Counted>,
    /// The lines for which cores contended, the longest waits first, if that was noted
    /// ([`Chip::record_contention`](crate::core::Chip::record_contention)).
    pub contended: Vec<ContendedLine>,
}

impl<E, P> Finished<E, P> {
    /// Results of the run, with editor and probe in other forms.
    #[must_use]
    pub fn map<F, Q>(
        self,
        editor: impl FnOnce(E) -> F,
        probe: impl FnOnce(P) -> Q,
    ) -> Finished<F, Q> {
        Finished {
            process: self.process,
            editor: editor(self.editor),
            probe: probe(self.probe),
            stats: self.stats,
            cpi: self.cpi,
            memory: self.memory,
            others: self.others,
            contended: self.contended,
        }
    }
}
