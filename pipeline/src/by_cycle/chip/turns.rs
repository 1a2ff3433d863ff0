//! Several cores on one chip: whose turn it is, who has the guest and the probe, and what a call on one core means for
//! the others.

use std::ops::ControlFlow;

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::image::LoadError;
use hps_sim_core::machine::Stop;
use hps_sim_core::process::Process;

use super::{Chip, Core};
use crate::config::MachineConfig;
use crate::memsys::{CoreId, PrivateMemory, SharedMemory};
use crate::model::{ContextId, Counted, PipelineProbe};

/// Why a chip with several cores cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NotTogether {
    /// What edits the instructions can do so in one context only.
    #[error("productions and new layouts of code work on machines with one core only (chip.cores)")]
    Editor,
    /// What watches the run can watch one context only.
    #[error("what watches this run can watch one core only (chip.cores)")]
    Probe,
    /// The host has no memory for it.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// A chip with as many cores as the machine has. The first one runs a process; its threads come to the others.
    ///
    /// # Errors
    /// [`NotTogether`] if the machine has several cores, and the editor or the probe cannot go with them.
    pub fn of_cores(
        config: &MachineConfig,
        mut process: Process,
        editor: E,
        probe: P,
    ) -> Result<Self, NotTogether> {
        let count = config.chip.cores;
        if count == 1 {
            return Ok(Chip::with(config, process, editor, probe));
        }
        let first = process.thread.clone();
        process.os.set_processors(count as usize, &first);
        let mut others = Vec::new();
        for number in 1..count as u16 {
            let process = process.beside()?;
            let editor = editor.beside().ok_or(NotTogether::Editor)?;
            let probe = probe.stand_in().ok_or(NotTogether::Probe)?;
            let Chip { mut cores, .. } = Chip::with(config, process, editor, probe);
            let mut core = cores.swap_remove(0);
            core.context.id = ContextId {
                core: CoreId(number),
                ..ContextId::FIRST
            };
            core.resources.memory = PrivateMemory::new(&config.memory, CoreId(number), true);
            core.context.rest();
            core.next_cycle = u64::MAX;
            others.push(core);
        }
        let mut chip = Chip::with(config, process, editor, probe);
        chip.cores.extend(others);
        chip.cores[0].resources.memory = PrivateMemory::new(&config.memory, CoreId::FIRST, true);
        chip.shared = SharedMemory::new(&config.memory, &config.chip, count as usize);
        Ok(chip)
    }

    /// How many cores there are.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// Plans when each core looks at the operating system's clock.
    pub(super) fn plan_turns(&mut self) {
        for core in 0..self.cores.len() {
            self.lend_to(core);
            self.cores[core].plan_attention();
        }
    }

    /// The guest is with the first core again.
    pub(super) fn end_turns(&mut self) {
        self.lend_to(0);
    }

    /// No core runs any more: accounts for the cycles of those that have not come to the last one.
    pub(super) fn settle_all(&mut self) {
        let nows = self.cores.iter().map(|core| core.resources.now);
        let last = nows.max().unwrap_or(0);
        for number in 0..self.cores.len() {
            self.lend_to(number);
            let core = &mut self.cores[number];
            core.context.settle(&mut core.resources);
            core.skip_to(last);
        }
        self.lend_to(0);
    }

    /// The guest and the probe go to a core.
    fn lend_to(&mut self, core: usize) {
        if core == self.turn {
            return;
        }
        if let Ok([from, to]) = self.cores.get_disjoint_mut([self.turn, core]) {
            from.context.process.lend(&mut to.context.process, core);
            std::mem::swap(&mut from.context.probe, &mut to.context.probe);
            self.turn = core;
        }
    }

    /// Lets a core go on to a cycle, or to the next call there that may concern others.
    pub(super) fn take_turn(&mut self, core: usize, until: u64, end: u64) -> ControlFlow<Stop> {
        self.lend_to(core);
        let resources = &mut self.cores[core].resources;
        resources.memory.obey(&mut self.shared, resources.now);
        let left = end.saturating_sub(self.instructions());
        let own_end = self.cores[core].resources.stats.commit_program_instructions + left;
        self.cores[core].advance(&mut self.shared, until, own_end)?;
        if self.cores[core].context.process.os.take_changes() {
            self.tell_others(core)?;
        }
        ControlFlow::Continue(())
    }

    /// A call on a core may have made threads ready, set deadlines, sent signals or changed code: tells the others.
    fn tell_others(&mut self, caller: usize) -> ControlFlow<Stop> {
        let now = self.cores[caller].resources.now;
        let code_epoch = self.cores[caller].context.process.mem.code_epoch();
        for number in 0..self.cores.len() {
            self.lend_to(number);
            let core = &mut self.cores[number];
            let must_look = core.context.process.os.take_look(number);
            if core.context.rests {
                if core.context.process.os.has_thread_for(number) {
                    core.skip_to(now);
                    core.context.take_thread(&mut core.resources)?;
                    core.next_cycle = if core.context.rests {
                        u64::MAX
                    } else {
                        now + 1
                    };
                }
                continue;
            }
            if number != caller {
                core.skip_to(now.min(core.next_cycle - 1));
                core.plan_attention();
            }
            if must_look || core.context.has_old_code(code_epoch) {
                core.context.attend_soon(&core.resources);
            }
            core.next_cycle = core.next_cycle.min(core.context.attend_at);
        }
        ControlFlow::Continue(())
    }

    /// What the cores but for the first one have counted, at their end.
    pub(super) fn finish_others(&self) -> Vec<Counted> {
        let others = self.cores[1..].iter().map(|core| Counted {
            stats: core.resources.stats,
            cpi: core.resources.cpi,
            memory: core.resources.memory.stats(&self.shared),
        });
        others.collect()
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    fn plan_attention(&mut self) {
        if !self.context.process.is_idle() {
            self.context.plan_attention(&self.resources);
        }
    }

    /// Nothing happens here up to a cycle that another core has come to: accounts for that time.
    fn skip_to(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.resources.now);
        if cycles > 0 {
            self.context.pass_over(&mut self.resources, cycles);
            self.resources.stats.cycles = self.resources.now;
        }
    }
}
