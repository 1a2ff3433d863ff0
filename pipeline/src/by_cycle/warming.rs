//! Functional warming: what a program does to caches and predictors, without time.

use std::marker::PhantomData;

use hps_isa::bus::Bus;
use hps_isa::editor::DecodeEditor;
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass};
use hps_isa::memory::ReadOnly;
use hps_isa::probe::{Probe, Retired};
use hps_system::image::Isa;

use serde::{Deserialize, Serialize};

use crate::config::MachineConfig;
use crate::memsys::MemorySystem;
use crate::model::{MemoryDependence, branch_kind};
use crate::predict::{BranchUnit, Lateness};

/// Lines of straight code that are fetched between two transfers, at most. Where there are more,
/// control has come there by other means than a transfer: a signal, or its end.
const MAX_STRAIGHT_LINES: u64 = 1024;

/// Instructions of a wrong path that are followed, at most. More are dispatched before the branch is resolved
/// (43 for each in `objstore`), but not all loads among them are issued.
const WRONG_PATH: usize = 20;
/// Registers that instructions of programs use.
const REGISTERS: usize = 96;
/// Entries of the table of decoded instructions of wrong paths, a power of two.
const DECODED: usize = 4096;
/// No instruction lies there.
const NOWHERE: u64 = u64::MAX;

/// How many kinds of [`WarmEvents`] there are.
pub const WARM_EVENTS: usize = 5;

/// Events that functional warming has met, which time depends on: mispredicted branches, misses of the
/// instruction cache, of the data cache, of the level 2 cache, and of the TLB for data. In a core they are about as many.
pub type WarmEvents = [u64; WARM_EVENTS];

/// How often a wrong path that has brought no line into the data cache is tried again: half as often each
/// time, since most never do.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Patience {
    /// How many times it is still left out.
    skip: u8,
    /// How many times it was left out the last time.
    skipped: u8,
}

hps_isa::save_values!(Patience);

impl Patience {
    const MOST: u8 = 15;

    fn is_over(&mut self) -> bool {
        let skips = self.skip > 0;
        self.skip -= u8::from(skips);
        skips
    }

    fn learn(&mut self, fruitful: bool) {
        self.skipped = if fruitful {
            0
        } else {
            (2 * self.skipped + 1).min(Patience::MOST)
        };
        self.skip = self.skipped;
    }
}

/// The caches, TLBs and predictors of a core, as a probe of a functional machine that keeps them warm.
pub struct Warm {
    memory: MemorySystem,
    branches: BranchUnit,
    mispredicts: u64,
    /// Where the last branch would have been predicted to go, if it was a conditional one and went elsewhere.
    wrong_path_pc: u64,
    isa: Isa,
    /// Instructions of wrong paths with their addresses, and registers there.
    decoded: Box<[(u64, Inst); DECODED]>,
    /// By where wrong paths begin: which are tried again.
    patience: Box<[Patience; DECODED]>,
    scratch: Box<Hart>,
    /// Not warmed, but learned from cores.
    memdep: MemoryDependence,
    /// log2 of the bytes in a line of the instruction cache.
    line_shift: u32,
    /// The first instruction behind the last transfer.
    from: u64,
    /// The line that was fetched last.
    line: u64,
}

hps_isa::save_state! {
    Warm {
        memory, branches, mispredicts, wrong_path_pc, isa: skip, decoded: skip, patience, scratch: skip, memdep,
        line_shift: skip, from, line,
    }
}

/// State that instructions leave in a core and its memory when none of them is in flight any more.
pub(crate) struct Past {
    pub memory: MemorySystem,
    pub branches: BranchUnit,
    pub memdep: MemoryDependence,
}

/// Effects of a program on a core that functional warming cannot know, since they depend on time.
#[derive(Clone, Debug)]
pub struct Learned {
    pub(super) lateness: Option<Lateness>,
    pub(super) memdep: MemoryDependence,
    pub(super) cycles: u64,
}

impl Warm {
    /// The state of a core that a program at `pc` has not used yet.
    #[must_use]
    pub fn new(config: &MachineConfig, isa: Isa, pc: u64) -> Self {
        let memory = MemorySystem::new(&config.memory.in_cycles_of(config.clock_mhz));
        Warm::with(config, memory, isa, pc)
    }

    /// The state of an instruction-driven core that a program at `pc` has not used yet.
    #[must_use]
    pub fn by_instruction(config: &MachineConfig, isa: Isa, pc: u64) -> Self {
        Warm::with(config, MemorySystem::out_of_order(&config.memory), isa, pc)
    }

    fn with(config: &MachineConfig, memory: MemorySystem, isa: Isa, pc: u64) -> Self {
        Warm {
            from: pc,
            line: u64::MAX,
            line_shift: config.memory.l1i.line_bytes.trailing_zeros(),
            branches: BranchUnit::new(&config.branch),
            mispredicts: 0,
            wrong_path_pc: NOWHERE,
            isa,
            decoded: Box::new([(NOWHERE, Inst::illegal(0)); DECODED]),
            patience: Box::new([Patience::default(); DECODED]),
            scratch: Box::default(),
            memdep: MemoryDependence::new(&config.speculation.memory_dependence),
            memory,
        }
    }

    /// The past of a core that begins with this state.
    pub(crate) fn past(&self) -> Past {
        let mut past = Past {
            memory: self.memory.clone(),
            branches: self.branches.clone(),
            memdep: self.memdep.clone(),
        };
        past.branches.tables.watch();
        past
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
        self.branches.tables.settle();
    }

    /// Takes over what a core has learned that began with this state, or an earlier one.
    pub fn learn(&mut self, learned: &Learned) {
        if let Some(lateness) = &learned.lateness {
            self.branches.tables.learn(lateness);
        }
        self.memdep.learn(&learned.memdep, learned.cycles);
    }

    /// Fetches the lines from the first instruction behind the last transfer to `pc`.
    #[inline(always)]
    fn fetch_to(&mut self, pc: u64) {
        let (first, last) = (self.from >> self.line_shift, pc >> self.line_shift);
        if first == last {
            self.fetch_line(last);
        } else {
            self.fetch_lines(first, last);
        }
    }

    #[inline(never)]
    fn fetch_lines(&mut self, first: u64, last: u64) {
        let mut line = first.max(last.saturating_sub(MAX_STRAIGHT_LINES));
        while line <= last {
            self.fetch_line(line);
            line += 1;
        }
    }

    #[inline(always)]
    fn fetch_line(&mut self, line: u64) {
        if line != self.line {
            self.line = line;
            self.memory.warm_fetch(line << self.line_shift);
        }
    }

    /// An instruction of a handler, which is fetched from guest memory in between: the program goes
    /// on where it was.
    #[inline]
    fn handler(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        self.fetch_line(pc >> self.line_shift);
        if inst.class == OpClass::Branch {
            self.conditional(pc, inst, target, taken);
        } else {
            self.transfer(pc, inst, target);
        }
    }

    /// A conditional branch. Whether it is predicted right.
    #[inline(always)]
    fn conditional(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) -> bool {
        let right = self.branches.warm_conditional(pc, taken, target);
        if !right {
            self.mispredicts += 1;
            self.wrong_path_pc = if taken {
                pc.wrapping_add(u64::from(inst.len))
            } else {
                inst.direct_target(pc)
            };
        }
        right
    }

    /// Any other transfer of control.
    #[inline(always)]
    fn transfer(&mut self, pc: u64, inst: &Inst, target: u64) {
        if let Some(kind) = branch_kind(inst.class) {
            let fallthrough = pc.wrapping_add(u64::from(inst.len));
            let right = self.branches.warm_transfer(pc, kind, target, fallthrough);
            self.mispredicts += u64::from(!right);
        }
    }
}

impl Warm {
    /// The instruction at `pc`, if one can be read there.
    fn decoded(&mut self, pc: u64, memory: &mut ReadOnly<'_>) -> Option<Inst> {
        let entry = &mut self.decoded[(pc >> 1) as usize % DECODED];
        if entry.0 != pc {
            let word = match self.isa {
                Isa::Alpha => memory.load::<4>(pc).ok()?,
                Isa::Riscv64 => {
                    let low = memory.load::<2>(pc).ok()?;
                    let is_long = low & 3 == 3;
                    low | if is_long {
                        memory.load::<2>(pc + 2).ok()? << 16
                    } else {
                        0
                    }
                }
            };
            *entry = (pc, self.isa.decode(word as u32));
        }
        Some(entry.1)
    }

    /// Follows a wrong path from `pc` on.
    fn follow(&mut self, mut pc: u64, hart: &Hart, memory: &mut ReadOnly<'_>) {
        self.scratch.r[..REGISTERS].copy_from_slice(&hart.r[..REGISTERS]);
        self.scratch.fcsr = hart.fcsr;
        for _ in 0..WRONG_PATH {
            let Some(inst) = self.decoded(pc, memory) else {
                return;
            };
            let addr = inst.data_address(self.scratch.r[inst.rs1 as usize]);
            let at = pc;
            pc = match exec::execute(&mut self.scratch, memory, &inst, pc) {
                Outcome::Next => pc.wrapping_add(u64::from(inst.len)),
                Outcome::Taken(target) => target,
                _ => return,
            };
            // Stores never get as far as the cache.
            if inst.class == OpClass::Load && !self.memory.warm_newest(addr, false) {
                self.memory.tell_instruction(at);
                self.memory.warm_data(addr, false);
            }
        }
    }
}

impl Probe for Warm {
    const WANTS_MEMORY: bool = true;
    const WANTS_CONTROL: bool = true;
    const WANTS_WRONG_PATHS: bool = true;

    #[inline(always)]
    fn wants_wrong_path(&self) -> bool {
        self.wrong_path_pc != NOWHERE
    }

    /// Brings the lines of wrong-path loads into the data cache, and with it into those below and the TLB.
    #[inline(never)]
    fn wrong_path(&mut self, hart: &Hart, memory: &mut ReadOnly<'_>) {
        let from = std::mem::replace(&mut self.wrong_path_pc, NOWHERE);
        let begin = (from >> 1) as usize % DECODED;
        if self.patience[begin].is_over() {
            return;
        }
        let misses = self.memory.warmed();
        self.follow(from, hart, memory);
        let fruitful = self.memory.warmed() != misses;
        self.patience[begin].learn(fruitful);
    }

    #[inline(always)]
    fn memory_quickly(&mut self, class: OpClass, addr: u64) -> bool {
        self.memory.warm_newest(addr, class != OpClass::Load)
    }

    #[inline]
    fn memory(&mut self, pc: u64, inst: &Inst, addr: u64) {
        self.memory.tell_instruction(pc);
        self.memory.warm_data(addr, inst.class != OpClass::Load);
    }

    #[inline(never)]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        if inst.class == OpClass::Branch {
            self.branch(pc, inst, target, taken);
            return;
        }
        self.fetch_to(pc);
        self.from = target;
        self.transfer(pc, inst, target);
    }

    #[inline(always)]
    fn branch(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) -> bool {
        self.fetch_to(pc);
        self.from = target;
        !self.conditional(pc, inst, target, taken)
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
    const WANTS_WRONG_PATHS: bool = true;

    #[inline]
    fn wants_wrong_path(&self) -> bool {
        self.warm.wants_wrong_path()
    }

    fn wrong_path(&mut self, hart: &Hart, memory: &mut ReadOnly<'_>) {
        self.warm.wrong_path(hart, memory);
    }

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
            // Instructions of a new layout are fetched where they lie, in turn.
            if inst.class.is_control() {
                self.warm.control(pc, inst, target, taken);
            }
        } else if event.disepc == DisePc::NONE {
            self.warm.handler(pc, inst, target, taken);
        }
        // The rest of a sequence comes from the engine, which predicts nothing.
    }
}

#[cfg(test)]
mod tests {
    use super::Patience;

    #[test]
    fn what_brings_nothing_is_tried_half_as_often_each_time() {
        let mut patience = Patience::default();
        let mut left_out_before = |fruitful| {
            let left_out = (0..).take_while(|_| patience.is_over()).count();
            patience.learn(fruitful);
            left_out
        };
        let seen = [false; 7].map(&mut left_out_before);
        assert_eq!(seen, [0, 1, 3, 7, 15, 15, 15]);
        assert_eq!([true, false].map(&mut left_out_before), [15, 0]);
    }
}
