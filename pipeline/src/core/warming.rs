//! Functional warming: what a program does to caches and predictors, without time.

use std::marker::PhantomData;

use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::{Inst, OpClass};
use hps_sim_core::probe::{NoProbe, Probe, Retired};

use super::Core;
use super::fetch::branch_kind;
use super::memdep::MemoryDependence;
use crate::config::MachineConfig;
use crate::memsys::MemorySystem;
use crate::predict::{BranchUnit, Lateness};

/// Lines of straight code that are fetched between two transfers, at most. Where there are more,
/// control has come there by other means than a transfer: a signal, or its end.
const MAX_STRAIGHT_LINES: u64 = 1024;

/// How many kinds of [`WarmEvents`] there are.
pub const WARM_EVENTS: usize = 5;

/// Events that functional warming has met, which time depends on: mispredicted branches, misses of the
/// instruction cache, of the data cache, of the level 2 cache, and of the TLB for data. In a core they are about as many.
pub type WarmEvents = [u64; WARM_EVENTS];

/// The caches, TLBs and predictors of a core, as a probe of a functional machine that keeps them warm.
pub struct Warm {
    memory: MemorySystem,
    branches: BranchUnit,
    mispredicts: u64,
    /// Not warmed, but learned from cores.
    memdep: MemoryDependence,
    /// log2 of the bytes in a line of the instruction cache.
    line_shift: u32,
    /// The first instruction behind the last transfer.
    from: u64,
    /// The line that was fetched last.
    line: u64,
}

/// What a program does to a core that functional warming cannot know, since it comes of time.
#[derive(Clone, Debug)]
pub struct Learned {
    lateness: Option<Lateness>,
    memdep: MemoryDependence,
    cycles: u64,
}

impl Warm {
    /// The state of a core that a program at `pc` has not used yet.
    #[must_use]
    pub fn new(config: &MachineConfig, pc: u64) -> Self {
        let memory = MemorySystem::new(&config.memory);
        Warm {
            from: pc,
            line: u64::MAX,
            line_shift: config.memory.l1i.line_bytes.trailing_zeros(),
            branches: BranchUnit::new(&config.branch),
            mispredicts: 0,
            memdep: MemoryDependence::new(&config.speculation.memory_dependence),
            memory,
        }
    }

    /// Events since the program began.
    #[must_use]
    pub fn events(&self) -> WarmEvents {
        let [l1i, l1d, l2, dtlb] = self.memory.warmed();
        [self.mispredicts, l1i, l1d, l2, dtlb]
    }

    /// Everything up to `pc`, where the program is, has been executed, and nothing is in flight.
    pub fn settle(&mut self, pc: u64) {
        self.fetch_to(pc);
        self.from = pc;
        self.branches.settle();
    }

    /// Takes over what a core has learned that began with this state, or an earlier one.
    pub fn learn(&mut self, learned: &Learned) {
        if let Some(lateness) = &learned.lateness {
            self.branches.learn(lateness);
        }
        self.memdep.learn(&learned.memdep, learned.cycles);
    }

    /// Fetches the lines from the first instruction behind the last transfer to `pc`.
    #[inline(always)]
    fn fetch_to(&mut self, pc: u64) {
        let (first, last) = (self.from >> self.line_shift, pc >> self.line_shift);
        if first != last || last != self.line {
            self.fetch_lines(first, last);
        }
    }

    #[inline(never)]
    fn fetch_lines(&mut self, first: u64, last: u64) {
        for line in first.max(last.saturating_sub(MAX_STRAIGHT_LINES))..=last {
            if line != self.line {
                self.line = line;
                self.memory.warm_fetch(line << self.line_shift);
            }
        }
    }

    /// An instruction of a handler, which is fetched from guest memory in between: the program goes
    /// on where it was.
    #[inline]
    fn handler(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        let line = pc >> self.line_shift;
        if line != self.line {
            self.line = line;
            self.memory.warm_fetch(line << self.line_shift);
        }
        self.branch(pc, inst, target, taken);
    }

    #[inline(always)]
    fn branch(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        let right = if inst.class == OpClass::Branch {
            self.branches.warm_conditional(pc, taken, target)
        } else if let Some(kind) = branch_kind(inst.class) {
            let fallthrough = pc.wrapping_add(u64::from(inst.len));
            self.branches.warm_transfer(pc, kind, target, fallthrough)
        } else {
            true
        };
        self.mispredicts += u64::from(!right);
    }
}

impl Probe for Warm {
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;

    #[inline(always)]
    fn memory_quickly(&mut self, class: OpClass, addr: u64) -> bool {
        self.memory.warm_newest(addr, class != OpClass::Load)
    }

    #[inline]
    fn memory(&mut self, _pc: u64, inst: &Inst, addr: u64) {
        self.memory.warm_data(addr, inst.class != OpClass::Load);
    }

    #[inline(never)]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.fetch_to(pc);
        self.from = target;
        self.branch(pc, inst, target, taken);
    }
}

/// [`Warm`] as the probe of a machine with an editor: what the editor puts in uses caches and
/// predictors as well. As long as it puts nothing in, this warms as [`Warm`] alone does.
pub(crate) struct WarmEdited<'a, E> {
    warm: &'a mut Warm,
    editor: PhantomData<E>,
}

impl<'a, E> WarmEdited<'a, E> {
    pub fn new(warm: &'a mut Warm) -> Self {
        WarmEdited {
            warm,
            editor: PhantomData,
        }
    }
}

impl<E: DecodeEditor> Probe for WarmEdited<'_, E> {
    const WANTS_RETIRED: bool = true;

    #[inline]
    fn retired(&mut self, event: &Retired<'_>) {
        let Retired {
            pc,
            inst,
            target,
            taken,
            ..
        } = *event;
        if inst.class.is_memory() {
            self.warm.memory(pc, inst, event.addr);
        }
        if event.is_program || E::RELAYOUT {
            // Of a new layout everything is fetched where it lies, in turn.
            if inst.class.is_control() {
                self.warm.control(pc, inst, target, taken);
            }
        } else if event.disepc == DisePc::NONE {
            self.warm.handler(pc, inst, target, taken);
        }
        // The rest of a sequence comes from the engine, which predicts nothing.
    }
}

impl<E: DecodeEditor> Core<E, NoProbe> {
    /// A core without a past that runs this one's program under `editor`, with caches and predictors
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
        let mut code = self.code;
        if !keep_code {
            code.clear();
        }
        let mut core = Core::with_code(config, self.process, editor, NoProbe, code);
        core.memory = warm.memory.clone();
        core.branches = warm.branches.clone();
        core.branches.watch();
        core.memdep = warm.memdep.clone();
        core
    }

    /// What it has learned since it began.
    #[must_use]
    pub fn learned(&self) -> Learned {
        Learned {
            lateness: self.branches.lateness(),
            memdep: self.memdep.clone(),
            cycles: self.now,
        }
    }
}
