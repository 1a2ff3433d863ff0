//! Several processors on one chip: whose turn it is, who has the guest and the probe, and what a call on one means for
//! the others.

use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::Hart;
use hps_isa::likely::seldom;
use hps_sim_core::machine::Stop;
use hps_system::image::LoadError;
use hps_system::process::Process;

use super::{Chip, HardwareThreads, Processor};
use crate::config::MachineConfig;
use crate::memsys::{CoreId, MemoryStats, PrivateMemory, SharedMemory};
use crate::model::{Cause, ContextId, Counted, PipelineProbe};
use crate::pmu::selected;

/// Why a chip cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NotTogether {
    /// The editor of the instructions can work in one context only.
    #[error(
        "new layouts of code, and productions whose handlers have tables for one context only, work on machines with one \
         core only, of one context (chip.cores, chip.contexts)"
    )]
    Editor,
    /// The probe of the run can watch one context only.
    #[error(
        "what watches this run can watch one core only, of one context (chip.cores, chip.contexts)"
    )]
    Probe,
    /// A counter that programs may select is none.
    #[error("{0}")]
    Counters(String),
    /// The host has no memory for it.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// A chip with as many cores and contexts as the machine has. The first one runs a process; its threads come to the
    /// others.
    ///
    /// # Errors
    /// [`NotTogether`] if the machine has several contexts, and the editor or the probe cannot go with them.
    pub fn of_processors(
        config: &MachineConfig,
        mut process: Process,
        editor: E,
        probe: P,
    ) -> Result<Self, NotTogether> {
        selected(config).map_err(NotTogether::Counters)?;
        let (cores, count) = (
            config.chip.cores as usize,
            config.chip.processors() as usize,
        );
        if count == 1 {
            return Ok(Chip::with(config, process, editor, probe));
        }
        let memory_of = |core: CoreId| {
            let memory = &config.of_core(u32::from(core.0)).memory;
            PrivateMemory::new(memory, core, cores > 1)
        };
        let first = process.thread.clone();
        process.os.set_processors(count, &first);
        let mut others = Vec::new();
        for number in 1..count {
            let mut process = process.beside()?;
            let registers = &mut process.thread.hart.r;
            let editor = editor
                .beside(number, registers)
                .ok_or(NotTogether::Editor)?;
            let probe = probe.stand_in().ok_or(NotTogether::Probe)?;
            let id = ContextId::of(number, cores);
            let core = config.of_core(u32::from(id.core.0));
            let Chip { mut processors, .. } = Chip::with(&core, process, editor, probe);
            let mut one = processors.swap_remove(0);
            one.context.id = id;
            one.resources.memory = memory_of(one.context.id.core);
            one.context.rest();
            one.next_cycle = u64::MAX;
            others.push(one);
        }
        let mut chip = Chip::with(config, process, editor, probe);
        chip.processors.extend(others);
        chip.processors[0].resources.memory = memory_of(CoreId::FIRST);
        chip.shared = SharedMemory::new(
            &config.memory.in_cycles_of(config.clock_mhz),
            &config.chip,
            cores,
        );
        chip = chip.with_counters(config);
        chip.hardware_threads =
            HardwareThreads::new(config, chip.processors[0].resources.params.clone());
        Ok(chip)
    }

    /// Puts an observer on a context that no thread is on, from the next cycle on: a thread of instructions with these
    /// registers in the memory of the program. The program does not see the context, which has to be one of the last.
    /// A system call lets the observer sleep for as many cycles as its first argument says.
    ///
    /// # Panics
    /// If the chip has no such context, or a thread of the program is on it.
    pub fn place_observer(&mut self, processor: usize, hart: Hart) {
        self.lend_to(processor);
        let now = self.processors[0].resources.now;
        let one = &mut self.processors[processor];
        assert!(one.context.rests, "a thread of the program is there");
        one.skip_to(now);
        let context = &mut one.context;
        context.process.os.keep_for_observer(processor);
        context.code.sync(&context.process.mem, &context.editor);
        context.fetch.redirect(hart.pc, Cause::Frontend, now + 1);
        context.process.begin_observer(hart);
        context.rests = false;
        context.last_commit = now;
        one.next_cycle = now + 1;
        self.lend_to(0);
    }

    /// Holds up a context for so many cycles, behind whatever holds it up already: it fetches nothing meanwhile, as if
    /// something else ran on it, while what it has fetched goes on. Gives the cycle in which it was asked for.
    pub fn hold(&mut self, processor: usize, cycles: u64) -> u64 {
        let now = self.processors[0].resources.now;
        let fetch = &mut self.processors[processor].context.fetch;
        fetch.hold(now, cycles);
        now
    }

    /// How many contexts there are.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.processors.len()
    }

    /// Plans when each context looks at the operating system's clock.
    pub(super) fn plan_turns(&mut self) {
        for number in 0..self.processors.len() {
            self.lend_to(number);
            self.processors[number].plan_attention();
        }
    }

    /// The guest is with the first processor again, and what is a core's with its first context.
    pub(super) fn end_turns(&mut self) {
        self.lend_to(0);
        for number in (0..self.processors.len()).rev() {
            self.lend_core_to(number);
        }
    }

    /// Nothing runs any more: accounts for the cycles of contexts that have not come to the last one.
    pub(super) fn settle_all(&mut self) {
        let nows = self.processors.iter().map(|one| one.resources.now);
        let last = nows.max().unwrap_or(0);
        for number in 0..self.processors.len() {
            self.lend_to(number);
            let one = &mut self.processors[number];
            one.context.settle(&mut one.resources);
            self.end_share(number);
            self.processors[number].skip_to(last);
        }
        self.end_turns();
    }

    /// The guest and the probe go to a context.
    pub(super) fn lend_to(&mut self, number: usize) {
        if number == self.turn || self.has_copy(number) {
            return;
        }
        if let Ok([from, to]) = self.processors.get_disjoint_mut([self.turn, number]) {
            let is_there = from.context.process.lend(&mut to.context.process, number);
            std::mem::swap(&mut from.context.probe, &mut to.context.probe);
            self.turn = number;
            if !is_there {
                self.lose_thread(number);
            }
        }
    }

    /// The process of the thread on a context has ended.
    #[cold]
    fn lose_thread(&mut self, number: usize) {
        self.lend_core_to(number);
        let one = &mut self.processors[number];
        one.context.lose_thread(&mut one.resources);
        one.next_cycle = u64::MAX;
    }

    /// Lets a context go on to a cycle, or to the next call there that may concern others.
    pub(super) fn take_turn(&mut self, number: usize, until: u64, end: u64) -> ControlFlow<Stop> {
        if self.has_copy(number) {
            self.take_turn_of_copy(number, until);
            return ControlFlow::Continue(());
        }
        self.lend_to(number);
        self.lend_core_to(number);
        let resources = &mut self.processors[number].resources;
        resources.memory.obey(&mut self.shared, resources.now);
        let left = end.saturating_sub(self.instructions());
        let own_end = self.processors[number]
            .resources
            .stats
            .commit_program_instructions
            + left;
        match self.hardware_threads {
            None => _ = self.processors[number].advance(&mut self.shared, until, own_end)?,
            Some(_) => self.advance_beside_siblings(number, until, own_end)?,
        }
        if !self.selected.is_empty() {
            self.show_to_others(number);
        }
        if self.processors[number].context.process.os.take_changes() {
            self.tell_others(number)?;
        }
        if seldom(self.copies.is_some()) {
            self.look_at_faults(number);
        }
        ControlFlow::Continue(())
    }

    /// A call on a context may have made threads ready, set deadlines, sent signals or changed code: tells the others.
    fn tell_others(&mut self, caller: usize) -> ControlFlow<Stop> {
        let now = self.processors[caller].resources.now;
        for number in 0..self.processors.len() {
            if self.has_copy(number) {
                continue;
            }
            self.lend_to(number);
            let one = &mut self.processors[number];
            let process = &one.context.process;
            if process.thread.is_observer() && process.os.has_other_processes() {
                one.context.follow_place(&mut one.resources);
            }
            let must_look = one.context.process.os.take_look(number);
            if one.context.rests {
                if one.context.process.os.has_thread_for(number) {
                    one.skip_to(now);
                    one.context.take_thread(&mut one.resources)?;
                    one.next_cycle = if one.context.rests { u64::MAX } else { now + 1 };
                }
                continue;
            }
            if number != caller {
                one.skip_to(now.min(one.next_cycle - 1));
                one.plan_attention();
            }
            if must_look || one.context.has_old_code() {
                one.context.attend_soon(&one.resources);
            }
            one.next_cycle = one.next_cycle.min(one.context.attend_at);
        }
        ControlFlow::Continue(())
    }

    /// Counts of all contexts but the first one, at their end. Counts of caches lie with the first context of a core.
    pub(super) fn finish_others(&self) -> Vec<Counted> {
        let others = self.processors[1..].iter().map(|one| Counted {
            context: one.context.id,
            stats: one.resources.stats,
            cpi: one.resources.cpi,
            memory: match one.context.id.context {
                0 => one.resources.memory.stats(&self.shared),
                _ => MemoryStats::default(),
            },
        });
        others.collect()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Processor<E, P> {
    pub(super) fn plan_attention(&mut self) {
        if !self.context.process.is_idle() {
            self.context.plan_attention(&self.resources);
        }
    }

    /// Nothing happens here up to a cycle that others have come to: accounts for that time.
    pub(super) fn skip_to(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.resources.now);
        if cycles > 0 {
            self.context.pass_over(&mut self.resources, cycles);
            self.resources.stats.cycles = self.resources.now;
        }
    }
}
