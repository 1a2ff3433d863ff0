//! Results of runs.

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_pipeline::core::{ContextId, CoreStats, Counted, CpiStack, Finished};
use hps_pipeline::memsys::{ContendedLine, MemoryStats};
use hps_pipeline::sampled::{Samples, SamplingPlan};
use hps_sim_core::machine::{RetiredCounts, Stop};
use hps_system::process::Process;

use crate::end::EndError;
use crate::error::LabError;
use crate::program::Expected;
use crate::provenance::Provenance;

/// Results of a run. `T` is the result of timing: nothing, [`Timing`] or [`Units`].
#[derive(Debug)]
pub struct Ran<E = NoEditor, P = NoProbe, T = ()> {
    /// Why the run ended.
    pub stop: Stop,
    /// The process as it ended.
    pub process: Process,
    /// Instructions by origin.
    pub retired: RetiredCounts,
    /// The decode-stage editor.
    pub editor: E,
    /// The probe.
    pub probe: P,
    /// The result of timing.
    pub timing: T,
    /// Host time from the first to the last simulated instruction, in seconds; loading is not part of it.
    pub host_seconds: f64,
    /// Provenance of the run.
    pub provenance: Provenance,
    /// The end that the program must come to, if that is known.
    pub(crate) expected: Option<Expected>,
}

/// Counters of the pipeline.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Counters of the context; on a chip with several contexts the sums over them, but for cycles.
    pub core: CoreStats,
    /// Commit slots by owner, of all contexts.
    pub cpi: CpiStack,
    /// Caches, TLBs, buses, of all cores.
    pub memory: MemoryStats,
    /// Each context of a chip with several.
    pub contexts: Vec<Counted>,
    /// The lines for which cores contended, the longest waits first, where that was
    /// [asked for](crate::Lab::naming_contention).
    pub contended: Vec<ContendedLine>,
}

impl Timing {
    fn of(first: Counted, others: Vec<Counted>) -> Timing {
        let Counted {
            stats, cpi, memory, ..
        } = first.clone();
        let mut whole = Timing {
            core: stats,
            cpi,
            memory,
            contexts: Vec::new(),
            contended: Vec::new(),
        };
        for other in &others {
            whole.core.add_core(&other.stats);
            whole.cpi.merge(&other.cpi);
            whole.memory.add_core(&other.memory);
        }
        if !others.is_empty() {
            whole.contexts = std::iter::once(first).chain(others).collect();
        }
        whole
    }
}

/// Measurements of a run with sampled timing.
#[derive(Clone, Debug)]
pub struct Units {
    /// Plan of the units: their places and lengths.
    pub plan: SamplingPlan,
    /// Measurements of the units.
    pub samples: Samples,
}

impl<E, P> Ran<E, P, Timing> {
    pub(crate) fn of_core(
        finished: Finished<E, P>,
        stop: Stop,
        host_seconds: f64,
        provenance: Provenance,
        expected: Option<Expected>,
    ) -> Self {
        let Finished {
            process,
            editor,
            probe,
            stats,
            cpi,
            memory,
            others,
            contended,
        } = finished;
        let first = Counted {
            context: ContextId::FIRST,
            stats,
            cpi,
            memory,
        };
        let timing = Timing {
            contended,
            ..Timing::of(first, others)
        };
        Ran {
            stop,
            process,
            retired: retired(&timing.core),
            editor,
            probe,
            timing,
            host_seconds,
            provenance,
            expected,
        }
    }

    /// Cycles of the run.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.timing.core.cycles
    }
}

// Slices have such runs, which are not for the page.
#[cfg(not(target_family = "wasm"))]
impl<E, P> Ran<E, P> {
    /// The run with the timing of its parts.
    pub(crate) fn timed(self, timing: Timing) -> Ran<E, P, Timing> {
        Ran {
            stop: self.stop,
            process: self.process,
            retired: retired(&timing.core),
            editor: self.editor,
            probe: self.probe,
            timing,
            host_seconds: self.host_seconds,
            provenance: self.provenance,
            expected: self.expected,
        }
    }
}

impl<E, P, T> Ran<E, P, T> {
    /// The run and its probe, apart.
    #[must_use]
    pub fn without_probe(self) -> (Ran<E, (), T>, P) {
        let ran = Ran {
            stop: self.stop,
            process: self.process,
            retired: self.retired,
            editor: self.editor,
            probe: (),
            timing: self.timing,
            host_seconds: self.host_seconds,
            provenance: self.provenance,
            expected: self.expected,
        };
        (ran, self.probe)
    }

    /// Instructions of the program.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.retired.program
    }

    /// The exit code of the command that ran the program: see [`Stop::exit_code`].
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        self.stop.exit_code(self.process.image.isa)
    }

    /// The end of the program: see [`EndError::of`].
    #[must_use]
    pub fn end(&self) -> EndError {
        EndError::of(self.stop, &self.process)
    }

    /// Standard output of the program, if it was captured; else nothing.
    #[must_use]
    pub fn stdout(&self) -> &[u8] {
        self.process.os.captured_stdout()
    }

    /// The run, if the program ended as it must: see [`Program::check_end`](crate::Program::check_end).
    ///
    /// # Errors
    /// [`LabError::End`]: how the program ended instead, or that it printed something else.
    pub fn successful(self) -> Result<Self, LabError> {
        EndError::unless_as_expected(self.stop, &self.process, self.expected.as_ref())?;
        Ok(self)
    }

    /// The run, if it stopped at its limit of instructions or the program ended as it must.
    ///
    /// # Errors
    /// [`LabError::End`]: how the program ended instead, or that it printed something else.
    pub fn successful_so_far(self) -> Result<Self, LabError> {
        match self.stop {
            Stop::Limit => Ok(self),
            _ => self.successful(),
        }
    }
}

/// Instructions that a core has committed, by origin.
#[must_use]
pub fn retired(stats: &CoreStats) -> RetiredCounts {
    RetiredCounts {
        program: stats.commit_program_instructions,
        inserted: stats.commit_inserted_instructions,
        handler: stats.commit_handler_instructions,
    }
}
