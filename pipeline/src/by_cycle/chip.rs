//! A chip: processors, what they share, and the clock. How several of them take turns is in [`scheduler`], and what
//! contexts of one core get of it in [`hardware_threads`].

mod contents;
mod copies;
mod hardware_threads;
mod operating;
mod page_faults;
mod scheduler;
mod selected;
mod state;
mod stopped;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;

use hps_isa::code::CodeCache;
use hps_isa::editor::{DecodeEditor, Interruptible, NoEditor};
use hps_isa::likely::seldom;
use hps_isa::probe::NoProbe;
use hps_isa::trap::Trap;
use hps_sim_core::machine::Stop;
use hps_system::os::DuplicateError;
use hps_system::process::{OfferedEvents, Process};

use self::copies::Copies;
pub use self::copies::{CopyTerms, EndedCopy};
use self::hardware_threads::HardwareThreads;
pub use self::operating::OperatingPoint;
pub use self::page_faults::PageFaults;
pub use self::scheduler::NotTogether;
use super::context::Context;
use super::resources::Resources;
use super::warming::Past;
use super::{Learned, Processor, Warm};
use crate::config::MachineConfig;
use crate::interrupts::Interrupts;
use crate::memsys::{MemoryStats, MemorySystem, SharedMemory, Transaction};
use crate::model::{
    CoreStats, CpiStack, Finished, MemoryDependence, Params, PipelineProbe, TIME_SLICE,
};
use crate::pmu::Selection;
use crate::predict::BranchUnit;

/// A chip that is simulated a cycle at a time: hardware contexts, by their numbers as processors of the guest, and the
/// levels of the memory system that their cores share. All run the threads of one guest.
pub struct Chip<E: DecodeEditor = NoEditor, P: PipelineProbe = NoProbe> {
    processors: Vec<Processor<E, P>>,
    shared: SharedMemory,
    /// The processor that has the guest.
    turn: usize,
    /// Contexts that share cores, where there are any.
    hardware_threads: Option<Box<HardwareThreads>>,
    /// The counters that programs may select, from the first one on.
    selected: Box<[Selection]>,
    /// Copies of the process on other contexts, where there may be some.
    copies: Option<Box<Copies<P>>>,
}

/// A cycle that no processor comes to: the clock has no limit.
const NO_LIMIT: u64 = u64::MAX;

impl Chip<NoEditor, NoProbe> {
    /// A chip without editor and probe.
    #[must_use]
    pub fn new(config: &MachineConfig, process: Process) -> Self {
        Chip::with(config, process, NoEditor, NoProbe)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// A chip whose context runs a process, with a decode-stage editor and a probe.
    #[must_use]
    pub fn with(config: &MachineConfig, process: Process, editor: E, probe: P) -> Self {
        let code = CodeCache::new(process.image.isa);
        let past = Past {
            memory: MemorySystem::new(&config.memory.in_cycles_of(config.clock_mhz)),
            branches: BranchUnit::new(&config.branch),
            memdep: MemoryDependence::new(&config.speculation.memory_dependence),
        };
        Chip::with_past(config, (process, editor, probe), code, past)
    }

    /// A chip of one processor whose caches and predictors are as `warm` has them, which is settled where the
    /// process is ([`Warm::settle`]).
    #[must_use]
    pub fn warmed(config: &MachineConfig, program: (Process, E, P), warm: &Warm) -> Self {
        let code = CodeCache::new(program.0.image.isa);
        Chip::with_past(config, program, code, warm.past())
    }

    /// A chip with code decoded before, if it is still valid, and with the caches and predictors that earlier
    /// instructions left.
    pub(super) fn with_past(
        config: &MachineConfig,
        mut program: (Process, E, P),
        mut code: CodeCache,
        past: Past,
    ) -> Self {
        let Past {
            memory,
            branches,
            memdep,
        } = past;
        let params = Params::new(config, program.1.extra_decode_stages());
        code.perform_prefetches(params.performs_prefetches);
        program.0.os.offer_events(match config.chip.contexts {
            1 => OfferedEvents::All,
            _ => OfferedEvents::Branches,
        });
        let context = Context::new(config, &params, program, code, branches.path, memdep);
        let resources = Resources::new(config, params, memory.private, branches.tables);
        Chip {
            processors: vec![Processor {
                context,
                resources,
                next_cycle: 1,
            }],
            shared: memory.shared,
            turn: 0,
            hardware_threads: None,
            selected: Box::default(),
            copies: None,
        }
        .with_counters(config)
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    ///
    /// # Panics
    /// If no instruction commits for a million cycles: a defect of the model, reported with the
    /// state of the machine.
    pub fn run(&mut self, limit: u64) -> Stop {
        if limit > 0 {
            self.plan_turns();
        }
        self.go_on(limit)
    }

    /// Goes on as if the last [run](Self::run) had not stopped, for up to `limit` further instructions: what the operating
    /// system has to do comes in the cycle that was planned. A run in parts of any length is one run so. Nothing may have
    /// changed what is due in between; the first part is a run.
    ///
    /// # Panics
    /// Like [`run`](Self::run).
    pub fn go_on(&mut self, limit: u64) -> Stop {
        let end = self.instructions().saturating_add(limit);
        if limit == 0 {
            return Stop::Limit;
        }
        let stop = loop {
            let process = &mut self.processors[self.turn].context.process;
            if process.os.is_out_of_time() {
                break Stop::Fault(Trap::stopped(process.thread.hart.pc));
            }
            let slice = process.os.instructions_in_time(TIME_SLICE);
            let until = self.instructions().saturating_add(slice).min(end);
            match self.run_processors(until) {
                Stop::Limit if until < end => {}
                stop => break stop,
            }
        };
        self.end_turns();
        stop
    }

    /// Instructions of the program that have committed, on all processors.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        // Others have copies, if any.
        let count = if self.copies.is_some() {
            1
        } else {
            self.processors.len()
        };
        let processors = self.processors[..count].iter();
        processors
            .map(|one| one.resources.stats.commit_program_instructions)
            .sum()
    }

    /// Lets the processor go on in which something happens next, as far as nothing happens in another one, until one
    /// stops, or until all have committed `end` instructions.
    fn run_processors(&mut self, end: u64) -> Stop {
        if seldom(self.copies.is_some()) {
            // Something happens in any cycle: the program goes on.
            let stop = self.run_with_copies(NO_LIMIT, end);
            return stop.unwrap_or(Stop::Limit);
        }
        let by_turns = self.shows_memory_events();
        if let [alone] = &mut self.processors[..]
            && !by_turns
        {
            loop {
                if let ControlFlow::Break(stop) = alone.advance(&mut self.shared, NO_LIMIT, end) {
                    return stop;
                }
            }
        }
        loop {
            let next_cycles = self.processors.iter().map(|one| one.next_cycle);
            let (processor, until) = match &self.hardware_threads {
                None => earliest(next_cycles, |processor, _| processor),
                Some(hardware_threads) => {
                    earliest(next_cycles, |at, cycle| hardware_threads.order(at, cycle))
                }
            };
            let until = match by_turns {
                true => self.processors[processor].next_cycle,
                false => until,
            };
            if let ControlFlow::Break(stop) = self.take_turn(processor, until, end) {
                return stop;
            }
        }
    }
}

/// The processor that comes next, and the last cycle before that of any other one. In one cycle they come in an order
/// that depends on the cycle.
fn earliest(
    next_cycles: impl Iterator<Item = u64> + Clone,
    order: impl Fn(usize, u64) -> usize,
) -> (usize, u64) {
    let all = next_cycles.enumerate();
    let first = all
        .clone()
        .min_by_key(|(at, cycle)| (*cycle, order(*at, *cycle)));
    let first = first.map_or(0, |(at, _)| at);
    let others = all.filter(|(at, _)| *at != first);
    let comes_before = |at: usize, cycle: u64| order(at, cycle) < order(first, cycle);
    let limit = others.map(|(at, cycle)| cycle - u64::from(comes_before(at, cycle)));
    (first, limit.min().unwrap_or(NO_LIMIT))
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// The first processor.
    fn first(&self) -> &Processor<E, P> {
        &self.processors[0]
    }

    fn first_mut(&mut self) -> &mut Processor<E, P> {
        &mut self.processors[0]
    }

    /// The program: registers as of dispatch, memory as of commit, system calls.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.first().context.process
    }

    /// The program, to be changed between two runs.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.first_mut().context.process
    }

    /// The decode-stage editor.
    #[must_use]
    pub fn editor(&self) -> &E {
        &self.first().context.editor
    }

    /// The program and the editor, to be changed between two runs.
    pub fn parts_mut(&mut self) -> (&mut Process, &mut E) {
        let context = &mut self.first_mut().context;
        (&mut context.process, &mut context.editor)
    }

    /// The probe.
    #[must_use]
    pub fn probe(&self) -> &P {
        &self.first().context.probe
    }

    /// The probe, to be changed between two runs.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.first_mut().context.probe
    }

    /// Counters of the first processor.
    #[must_use]
    pub fn stats(&self) -> &CoreStats {
        &self.first().resources.stats
    }

    /// Commit slots by owner, but for those that a run at its limit has left open in its last cycle
    /// ([`settle`](Self::settle)).
    #[must_use]
    pub fn cpi(&self) -> &CpiStack {
        &self.first().resources.cpi
    }

    /// Statistics of the memory hierarchy, as its first core sees it.
    #[must_use]
    pub fn memory_stats(&self) -> MemoryStats {
        self.first().resources.memory.stats(&self.shared)
    }

    /// Notes from now on for which lines cores contend, for [`Finished::contended`]. Nothing on a chip with one core.
    pub fn record_contention(&mut self) {
        self.shared.record_contention();
        for one in &mut self.processors {
            one.context.stores.note_instructions();
        }
    }

    /// Notes from now on what cores ask of each other, line by line. Nothing on a chip with one core.
    pub fn record_transactions(&mut self) {
        self.shared.record_transactions();
    }

    /// The transactions that have been noted so, in the order in which the model decided them, and the number of those that
    /// were too many.
    #[must_use]
    pub fn transactions(&self) -> (Vec<Transaction>, u64) {
        self.shared.transactions()
    }

    /// Ends the account of a run: gives the slots that a run at its limit has left in its last cycle to
    /// [`Cause::Serialize`](crate::model::Cause::Serialize), as if the instructions behind the limit waited for its end.
    /// The slots then sum to the commit width times the cycles.
    ///
    /// [`run`](Self::run) leaves these slots open, since a run that goes on commits in the same cycle. One
    /// that goes on from here commits in the next cycle.
    pub fn settle(&mut self) {
        self.settle_all();
    }

    /// Ends its life, with every slot of its last cycle accounted for.
    #[must_use]
    pub fn finish(mut self) -> Finished<E, P> {
        self.settle();
        let memory = self.memory_stats();
        let others = self.finish_others();
        let contended = self.shared.contended_lines();
        let Processor {
            context, resources, ..
        } = self.processors.swap_remove(0);
        Finished {
            others,
            contended,
            process: context.process,
            editor: context.editor,
            probe: context.probe,
            stats: resources.stats,
            cpi: resources.cpi,
            memory,
        }
    }

    /// Empties the pipeline at the boundary of the last committed instruction, as an interrupt
    /// would: afterwards the process holds the precise state, and execution goes on from there.
    pub fn drain_to_boundary(&mut self) {
        let Processor {
            context, resources, ..
        } = self.first_mut();
        context.drain_to_boundary(resources);
    }

    /// Sets a DISE register from outside, between two instructions of the program.
    pub fn set_dise_register(&mut self, register: u8, value: u64) {
        self.drain_to_boundary();
        self.process_mut().thread.hart.r[usize::from(register)] = value;
    }

    /// Address of the instruction at the head of the issue queue: the oldest that has not issued
    /// (in-order cores). None if no instruction waits to issue.
    #[must_use]
    pub fn issue_head(&self) -> Option<u64> {
        self.first().context.issue_head()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<Interruptible<E>, P> {
    /// Takes these interrupts from now on, instead of any others; their counters begin to count here.
    pub fn attach_interrupts(&mut self, mut interrupts: Interrupts) {
        interrupts.start(self.first().resources.readings());
        self.first_mut().context.lines.attach(interrupts);
    }

    /// The interrupts that were attached.
    #[must_use]
    pub fn interrupts(&self) -> Option<&Interrupts> {
        self.first().context.lines.interrupts.as_deref()
    }
}

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> Chip<E, P> {
    /// A second chip in the same state to the cycle, with everything in flight and a program of its
    /// own. Both go on as this one would have alone.
    ///
    /// # Errors
    /// [`DuplicateError`] if both programs would share something of the host that one of them can
    /// change.
    pub fn duplicate(&mut self) -> Result<Self, DuplicateError> {
        let processors = self.processors.iter_mut().map(|one| {
            Ok(Processor {
                context: one.context.duplicate()?,
                resources: one.resources.clone(),
                next_cycle: one.next_cycle,
            })
        });
        Ok(Chip {
            processors: processors.collect::<Result<_, DuplicateError>>()?,
            shared: self.shared.clone(),
            turn: self.turn,
            hardware_threads: self.hardware_threads.clone(),
            selected: self.selected.clone(),
            copies: self.copies.clone(),
        })
    }
}

impl<E: DecodeEditor> Chip<E, NoProbe> {
    /// A chip without a past that runs this one's program under `editor`, with caches and predictors
    /// as `warm` has them. `keep_code`: what this one has decoded still holds; its editor had the same
    /// tables.
    #[must_use]
    pub fn begin_again(
        self,
        config: &MachineConfig,
        editor: E,
        warm: &Warm,
        keep_code: bool,
    ) -> Self {
        // The cache of decoded code is kept in any case: it is too large to be made for each unit.
        let (process, mut code) = self.into_program();
        if !keep_code {
            code.clear();
        }
        Chip::with_past(config, (process, editor, NoProbe), code, warm.past())
    }

    /// The program and its decoded code. Everything else is thrown away, before the next chip takes as much.
    fn into_program(mut self) -> (Process, CodeCache) {
        let context = self.processors.swap_remove(0).context;
        (context.process, context.code)
    }

    /// State that the first core has learned since it began.
    #[must_use]
    pub fn learned(&self) -> Learned {
        let Processor {
            context, resources, ..
        } = self.first();
        Learned {
            lateness: resources.branches.lateness(),
            memdep: context.memdep.clone(),
            cycles: resources.now,
        }
    }
}
