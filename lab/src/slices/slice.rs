//! One slice: from its checkpoint to its results.

use std::path::Path;

use hps_isa::editor::NoEditor;
use hps_isa::hart::GuestCounters;
use hps_isa::probe::{NoProbe, Probe};
use hps_isa::state::SaveState;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, CoreKind, CpiStack, EitherCore, PipelineProbe};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::{Process, ProcessConfig};
use hps_system::symbols::CodeLog;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::{Counts, Slicing, WINDOWS};
use crate::checkpoint::CheckpointFile;
use crate::checkpoint::run::Watched;
use crate::error::LabError;
use crate::lab::Lab;
use crate::loops::{Attach, FunctionalLoop, TimedLoop};
use crate::mode::Timed;
use crate::processes::timed;
use crate::program::Program;
use crate::region::WARM_BY_ALL;

/// The core of a slice.
type CoreOf<A> = EitherCore<NoEditor, <<A as Account>::Probe as Attach>::Loops>;

/// The run whose slices are timed.
pub(super) struct Subject<'a> {
    /// The program without effects outside of its memory: those are the pass's.
    program: Program,
    machine: MachineConfig,
    core: CoreKind,
    slicing: &'a Slicing,
    /// Instructions of the run at most.
    limit: u64,
}

/// Results of a slice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SliceResult<F> {
    /// Number of the slice, from 0 on.
    pub slice: u64,
    /// Instructions of the program before it counts.
    pub begin: u64,
    /// Cycles of each window of its run-in; none of the first slice.
    pub run_in: Vec<u64>,
    /// Cycles of each window of its end, which is the run-in of the next one; none of the last slice.
    pub tail: Vec<u64>,
    pub counts: Counts,
    pub found: F,
}

impl<F> SliceResult<F> {
    /// Instructions of the program that it counts.
    pub fn instructions(&self) -> u64 {
        self.counts.core.commit_program_instructions
    }

    /// Cycles of these.
    pub fn cycles(&self) -> u64 {
        self.counts.core.cycles
    }
}

impl<'a> Subject<'a> {
    pub fn of<I, P>(lab: &Lab<'_, Timed<'_>, I, P>, slicing: &'a Slicing) -> Subject<'a> {
        Subject {
            program: lab.program.quiet(),
            machine: lab.machine().clone(),
            core: lab.core_kind(),
            slicing,
            limit: lab.limit,
        }
    }

    /// Instructions of the program before a slice counts; `None` if the limit lies before it.
    pub fn begin(&self, slice: u64) -> Option<u64> {
        let begin = slice.checked_mul(self.slicing.length)?;
        (begin < self.limit).then_some(begin)
    }

    /// Times a slice, from a checkpoint or from the beginning of the program. `None` if the program ends before it.
    pub fn time<A: Account>(
        &self,
        slice: u64,
        from: Option<&Path>,
        account: &A,
    ) -> Result<Option<SliceResult<A::Found>>, LabError>
    where
        NoEditor: TimedLoop<<A::Probe as Attach>::Loops>,
    {
        let Some(begin) = self.begin(slice) else {
            return Ok(None);
        };
        let run_in_length = self.slicing.run_in;
        let log = CodeLog::default();
        let mut program = self.program.clone();
        program.process.code = Some(log.clone());
        let probe = account.probe(slice, &log);
        let core = match slice {
            0 => Some(self.first(program, probe)?),
            _ => self.begun::<A>(program, from, begin - run_in_length, probe)?,
        };
        let Some(mut core) = core else {
            return Ok(None);
        };
        let run_in = match slice {
            0 => Vec::new(),
            _ => match self.windows(&mut core) {
                Some(cycles) => cycles,
                None => return Ok(None),
            },
        };
        let (stats, cpi, memory) = (*core.stats(), *core.cpi(), core.memory_stats());
        let mut slots = with_open(&cpi, stats.cycles, &self.machine);
        let mark = A::mark(core.contexts_mut()[0].2);
        let length = self.slicing.length.min(self.limit - begin);
        let mut tail = Vec::new();
        if self.begin(slice + 1).is_none() {
            TimedLoop::run(&mut core, length);
        } else if TimedLoop::run(&mut core, length - run_in_length) == Stop::Limit {
            tail = self.windows(&mut core).unwrap_or_default();
        }
        let finished = NoEditor::finish(core);
        for (slots, all) in slots.iter_mut().zip(finished.cpi.slots) {
            *slots = all as i64 - *slots;
        }
        let counts = Counts {
            core: finished.stats.since(&stats),
            slots,
            memory: finished.memory.since(&memory),
        };
        if slice > 0 && counts.core.commit_program_instructions == 0 {
            return Ok(None);
        }
        let found = A::found(A::Probe::detach(finished.probe), mark);
        Ok(Some(SliceResult {
            slice,
            begin,
            run_in,
            tail,
            counts,
            found,
        }))
    }

    /// A core at the beginning of the program, as a run without slices has it.
    fn first<P: Attach>(
        &self,
        program: Program,
        probe: P,
    ) -> Result<EitherCore<NoEditor, P::Loops>, LabError>
    where
        NoEditor: TimedLoop<P::Loops>,
    {
        let lab = Lab::of(&program).on_machine(&self.machine).core(self.core);
        Ok(lab.watched_by(probe).open()?.into_inner())
    }

    /// A core where `place` instructions of the program are behind, warmed by those in front of it. `None` if the program
    /// ends before.
    fn begun<A: Account>(
        &self,
        program: Program,
        from: Option<&Path>,
        place: u64,
        probe: A::Probe,
    ) -> Result<Option<CoreOf<A>>, LabError>
    where
        NoEditor: TimedLoop<<A::Probe as Attach>::Loops>,
    {
        let config = program.process.clone();
        let process = match from {
            None => program.start()?,
            Some(_) => program.load()?,
        };
        let file = from.map(CheckpointFile::open).transpose()?;
        let warm = |process: &Process| {
            let pc = process.thread.hart.pc;
            self.core.warm(&self.machine, process.image.isa, pc)
        };
        let (mut machine, mut warm) = match self.slicing.warm {
            WARM_BY_ALL => {
                let warm = warm(&process);
                restored(Machine::new(process), warm, file.as_ref(), &config)?
            }
            most => {
                let machine = Machine::new(process);
                let (mut machine, mut probe) = restored(machine, NoProbe, file.as_ref(), &config)?;
                let unwarmed = place.saturating_sub(machine.retired.program.saturating_add(most));
                if !passed(&mut machine, &mut probe, unwarmed) {
                    return Ok(None);
                }
                let warm = warm(&machine.process);
                (machine, warm)
            }
        };
        let left = place.saturating_sub(machine.retired.program);
        if !passed(&mut machine, &mut warm, left) {
            return Ok(None);
        }
        warm.settle(machine.process.thread.hart.pc);
        let before = GuestCounters {
            cycle: place,
            time_ns: place,
            instret: place,
        };
        let mut process = machine.process;
        process.counters_before = before.plus(process.counters_before);
        process
            .os
            .set_process_rule(timed::<NoEditor, A::Probe>(self.core));
        let core = EitherCore::warmed(
            self.core,
            &self.machine,
            (process, NoEditor, probe.attach()),
            &warm,
        )
        .map_err(|reason| LabError::not_simulated(&self.machine.name, reason))?;
        Ok(Some(core))
    }

    /// Times a run-in, or the instructions at the end of a slice that are one: cycles of each window. `None` if the program
    /// ends there.
    fn windows<P: PipelineProbe>(&self, core: &mut EitherCore<NoEditor, P>) -> Option<Vec<u64>>
    where
        NoEditor: TimedLoop<P>,
    {
        let count = WINDOWS as u64;
        let mut all = Vec::new();
        for window in 0..count {
            let end_of = |window: u64| self.slicing.run_in * window / count;
            let length = end_of(window + 1) - end_of(window);
            let before = core.stats().cycles;
            if TimedLoop::run(core, length) != Stop::Limit {
                return None;
            }
            all.push(core.stats().cycles - before);
        }
        Some(all)
    }
}

/// A machine at a checkpoint, or at the beginning of the program.
fn restored<P: Probe + SaveState>(
    machine: Machine,
    probe: P,
    from: Option<&CheckpointFile>,
    config: &ProcessConfig,
) -> Result<(Machine, P), LabError>
where
    NoEditor: FunctionalLoop<P>,
{
    let mut watched = Watched { machine, probe };
    if let Some(file) = from {
        let processes = file.processes(config)?;
        file.restore(&mut watched, processes)?;
        // The pass has written what the program writes.
        watched.machine.process.os.silence();
    }
    Ok((watched.machine, watched.probe))
}

/// Runs so many instructions; `false` if the program ends before.
fn passed<P: Probe>(machine: &mut Machine, probe: &mut P, instructions: u64) -> bool
where
    NoEditor: FunctionalLoop<P>,
{
    instructions == 0 || FunctionalLoop::run(machine, probe, instructions) == Stop::Limit
}

/// Slots by cause, with those that the last cycle has open given away as the end of a run gives them
/// ([`Chip::settle`](hps_pipeline::core::Chip::settle)).
fn with_open(cpi: &CpiStack, cycles: u64, machine: &MachineConfig) -> Vec<i64> {
    let mut slots = cpi.slots.map(|slots| slots as i64).to_vec();
    let open = u64::from(machine.most_commit_width()) * cycles - cpi.total();
    slots[Cause::Serialize as usize] += open as i64;
    slots
}
