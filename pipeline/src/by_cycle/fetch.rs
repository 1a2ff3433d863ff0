//! Fetch: follows the predicted path, one block a cycle.

use hps_isa::code::{PAGE_SHIFT, SLOTS, Slot};
use hps_isa::editor::{DecodeEditor, laid};
use hps_isa::inst::{Inst, OpClass};
use hps_isa::state::{SaveState, Saved, StateError};
use hps_isa::trap::TrapCause;

use super::oracle::Known;
use super::uop::{Front, NO_CHECKPOINT, flag};
use super::{Context, Resources};
use crate::memsys::{AccessResult, SharedMemory};
use crate::model::{
    Cause, PipelineProbe, UNKNOWN_TARGET, branch_kind, cause_of_fetch, kind, predicted_next,
};
use crate::predict::BranchKind;

/// No line has been read since fetch was turned.
const NO_LINE: u64 = u64::MAX;

/// No page of decoded code.
const NO_PAGE: u64 = u64::MAX;

/// The page of decoded code that fetch read last.
#[derive(Clone)]
pub(super) struct CodePage {
    /// Number of the page, or [`NO_PAGE`].
    number: u64,
    /// Where the cache of decoded code has it.
    index: usize,
}

impl CodePage {
    pub const NONE: CodePage = CodePage {
        number: NO_PAGE,
        index: 0,
    };
}

/// The page is found again.
impl SaveState for CodePage {
    fn save_to(&self, _to: &mut Vec<u8>) {}

    fn restore_from(&mut self, _from: &mut Saved<'_>) -> Result<(), StateError> {
        *self = CodePage::NONE;
        Ok(())
    }
}

/// The end of a sleep whose length is not known yet.
const ASLEEP: u64 = u64::MAX;

/// Where fetch stands. Reasons that hold it up follow each other: none shortens another one.
#[derive(Clone)]
pub(super) struct FetchState {
    pub pc: u64,
    pub stall_until: u64,
    /// The context is held up until then, wherever fetch is turned. [`ASLEEP`]: until it is woken.
    held_until: u64,
    /// Cycles for which it is held up behind its waking.
    owed: u64,
    /// Fetch does not know where to go on until decode or execute turns it.
    pub waiting: bool,
    line: u64,
    /// Why the next instruction comes late.
    pub gap: Cause,
}

hps_isa::save_state! { FetchState { pc, stall_until, held_until, owed, waiting, line, gap } }

impl FetchState {
    pub fn at(pc: u64) -> Self {
        FetchState {
            pc,
            stall_until: 0,
            held_until: 0,
            owed: 0,
            waiting: false,
            line: NO_LINE,
            gap: Cause::Frontend,
        }
    }

    /// Fetches nothing for a number of cycles, from `now` on or from the end of what holds it up already. Returns the
    /// cycle in which it goes on.
    pub fn hold(&mut self, now: u64, cycles: u64) -> u64 {
        if self.held_until == ASLEEP {
            self.owed += cycles;
        } else {
            self.held_until = self.held_until.max(now).saturating_add(cycles);
            self.stall_until = self.stall_until.max(self.held_until);
        }
        self.held_until
    }

    /// Fetches nothing from `now` on, until it is woken.
    pub fn sleep(&mut self, now: u64) {
        if self.held_until != ASLEEP {
            self.owed = self.held_until.saturating_sub(now);
        }
        self.held_until = ASLEEP;
        self.stall_until = ASLEEP;
    }

    /// The sleep ends in a cycle, behind which everything comes that would have held it up meanwhile.
    pub fn wake(&mut self, at: u64) {
        self.held_until = at + std::mem::take(&mut self.owed);
        self.stall_until = self.held_until;
    }

    /// Nothing holds it up any more.
    pub fn release(&mut self) {
        (self.held_until, self.owed) = (0, 0);
    }

    /// The cycle up to which it was held up last.
    pub fn held_until(&self) -> u64 {
        self.held_until
    }

    /// Turns fetch to `pc`.
    pub fn redirect(&mut self, pc: u64, gap: Cause, from_cycle: u64) {
        self.pc = pc;
        self.stall_until = from_cycle.max(self.held_until);
        self.waiting = false;
        self.line = NO_LINE;
        self.gap = gap;
    }
}

impl FetchState {
    /// The next instruction comes late for this reason, unless there is an earlier one.
    fn late(&mut self, cause: Cause) {
        if self.gap == Cause::Frontend {
            self.gap = cause;
        }
    }
}

/// [`flag::MATCHED`] if the editor may be interested in an instruction, or has laid it out and it is
/// not the program's; then [`flag::HANDLER`] as well, if it is part of a routine.
#[inline(always)]
pub(super) fn matched_flag<E: DecodeEditor>(slot: &Slot) -> u16 {
    if E::RELAYOUT {
        return match slot.mask {
            0 => 0,
            mask if mask & laid::HANDLER != 0 => flag::MATCHED | flag::HANDLER,
            _ => flag::MATCHED,
        };
    }
    if E::ENABLED && slot.mask != 0 {
        flag::MATCHED
    } else {
        0
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    #[inline(always)]
    pub(super) fn fetch(&mut self, core: &mut Resources, shared: &mut SharedMemory) {
        let now = core.now;
        if self.fetch.waiting
            || now < self.fetch.stall_until
            || self.front.fetched_len() >= core.params.fetch_buffer
        {
            return;
        }
        if !self.oracle_is_ready() || !self.read_line(core, shared, self.fetch.pc) {
            return;
        }
        core.progressed = true;
        let mask = core.params.fetch_block_mask;
        let mut block_end = (self.fetch.pc | mask) + 1;
        let mut taken = 0;
        let mut room = core.params.fetch_buffer - self.front.fetched_len();
        room = room.min(core.params.fetch_width);
        while room > 0 {
            if self.oracle.is_none() {
                room -= self.fetch_straight(core, room, block_end);
                if room == 0 {
                    return;
                }
            }
            room -= 1;
            let pc = self.fetch.pc;
            if pc >= block_end {
                return;
            }
            let slot = match self.slot_at(pc) {
                Ok(slot) => *slot,
                Err(_) => {
                    // Dispatch finds the cause once more, if the instruction comes so far.
                    self.push_fetched(
                        core,
                        pc,
                        &Inst::illegal(0),
                        NO_CHECKPOINT,
                        flag::FETCH_FAULT,
                    );
                    self.fetch.waiting = true;
                    return;
                }
            };
            let inst = slot.inst;
            let matched = matched_flag::<E>(&slot);
            let fallthrough = pc.wrapping_add(u64::from(inst.len));
            core.stats.fetch_instructions += 1;
            let known = if self.oracle.is_some() {
                self.ask_oracle(pc, &inst, matched)
            } else {
                None
            };
            let Some(kind) = branch_kind(inst.class) else {
                self.push_fetched(core, pc, &inst, NO_CHECKPOINT, matched);
                self.fetch.pc = fallthrough;
                if inst.class == OpClass::DiseReturn {
                    self.fetch.waiting = true;
                    return;
                }
                if known.is_some() && !self.oracle_is_ready() {
                    return;
                }
                continue;
            };
            let next = self.predict_transfer(core, pc, &inst, kind, matched, known);
            if self.fetch.waiting || now < self.fetch.stall_until {
                return;
            }
            if known.is_some() && !self.oracle_is_ready() {
                return;
            }
            if next != fallthrough {
                taken += 1;
                if taken >= core.params.taken_branches_per_cycle
                    || (pc ^ next) >> core.params.line_shift != 0
                {
                    return;
                }
                block_end = (next | mask) + 1;
            }
        }
    }

    /// Fetches up to `room` instructions before `block_end` that are decoded already and do not turn
    /// fetch. Returns how many.
    #[inline(always)]
    fn fetch_straight(&mut self, core: &mut Resources, room: usize, block_end: u64) -> usize {
        let Context {
            code,
            code_page,
            front,
            fetch,
            ..
        } = self;
        let mut pc = fetch.pc;
        if pc >> PAGE_SHIFT != code_page.number || pc & 1 != 0 {
            return 0;
        }
        let slots = code.slots(code_page.index);
        let block_end = block_end.min((code_page.number + 1) << PAGE_SHIFT);
        let cycle = core.now as u32;
        let mut count = 0;
        let mut gap = std::mem::replace(&mut fetch.gap, Cause::Frontend);
        while count < room && pc < block_end {
            let slot = &slots[((pc >> 1) as usize) & (SLOTS - 1)];
            // A slot that has not been decoded is an illegal instruction of no length.
            if kind::of(slot.inst.class) & kind::TURNS_FETCH != 0 {
                break;
            }
            front.push_fetched(Front {
                inst: slot.inst,
                pc,
                cycle,
                checkpoint: NO_CHECKPOINT,
                gap,
                flags: matched_flag::<E>(slot) as u8,
            });
            gap = Cause::Frontend;
            pc += u64::from(slot.inst.len);
            count += 1;
        }
        if count == 0 {
            fetch.gap = gap;
        }
        fetch.pc = pc;
        core.stats.fetch_instructions += count as u64;
        count
    }

    /// The decoded instruction at `pc`.
    #[inline(always)]
    fn slot_at(&mut self, pc: u64) -> Result<&Slot, TrapCause> {
        let at = ((pc >> 1) as usize) & (SLOTS - 1);
        if pc >> PAGE_SHIFT == self.code_page.number && pc & 1 == 0 {
            let index = self.code_page.index;
            if self.code.slots(index)[at].inst.len != 0 {
                return Ok(&self.code.slots(index)[at]);
            }
        }
        self.slot_elsewhere(pc)
    }

    /// In another page than before, or not decoded yet.
    #[cold]
    fn slot_elsewhere(&mut self, pc: u64) -> Result<&Slot, TrapCause> {
        let index = self.code.page(pc)?;
        self.code_page = CodePage {
            number: pc >> PAGE_SHIFT,
            index,
        };
        let slot = self.code.lookup(pc, &self.process.mem, &self.editor)?;
        Ok(slot)
    }

    /// Reads the instruction cache if fetch has come to another line. `false` if fetch has to wait.
    #[inline]
    fn read_line(&mut self, core: &mut Resources, shared: &mut SharedMemory, pc: u64) -> bool {
        let line = pc >> core.params.line_shift;
        if line == self.fetch.line {
            return true;
        }
        match core.memory.fetch(shared, core.now, pc) {
            AccessResult::Retry { at_cycle } => {
                self.fetch.stall_until = at_cycle;
                self.fetch.late(Cause::ICache);
                false
            }
            AccessResult::Done(access) => {
                self.fetch.line = line;
                let hit = core.now + core.params.l1i_hit;
                if access.ready_cycle <= hit {
                    return true;
                }
                // The stages behind fetch cover a hit; what is beyond it stalls fetch.
                self.fetch.stall_until = core.now + (access.ready_cycle - hit);
                self.fetch.late(cause_of_fetch(&access, core.now));
                if P::WANTS_STAGES {
                    let missed = if access.tlb_miss {
                        Cause::ITlb
                    } else {
                        Cause::ICache
                    };
                    self.probe.fetch_missed(pc, missed, core.now);
                }
                core.progressed = true;
                false
            }
        }
    }

    /// Predicts a control transfer, pushes it, and turns fetch. Returns where fetch goes.
    #[inline(always)]
    fn predict_transfer(
        &mut self,
        core: &mut Resources,
        pc: u64,
        inst: &Inst,
        kind: BranchKind,
        matched: u16,
        known: Option<Known>,
    ) -> u64 {
        let fallthrough = pc.wrapping_add(u64::from(inst.len));
        let is_direct = inst.class.is_direct();
        let direct = if is_direct { inst.direct_target(pc) } else { 0 };
        let index = self.checkpoint_tail;
        self.checkpoint_tail = self.checkpoint_after(index);
        let checkpoint = self.checkpoints.at_mut(usize::from(index));
        let predicted = match known {
            Some(known) => {
                self.path
                    .predict_known(kind, known.taken, known.next, fallthrough, checkpoint)
            }
            None => {
                core.branches
                    .predict(&mut self.path, pc, kind, fallthrough, direct, checkpoint)
            }
        };
        let next = predicted_next(&predicted, is_direct.then_some(direct), fallthrough);
        *self.predicted_next.at_mut(usize::from(index)) = next;
        self.push_fetched(core, pc, inst, index, matched);
        self.fetch.pc = next;
        if next == UNKNOWN_TARGET {
            self.fetch.waiting = true;
            core.stats.btb_misfetch_events += 1;
        } else if predicted.taken && is_direct && !predicted.btb_hit {
            // Decode computes the target of a direct transfer that the BTB does not know.
            self.fetch.stall_until = core.now + core.params.target_in_decode;
            self.fetch.late(Cause::BtbMiss);
            core.stats.btb_misfetch_events += 1;
        }
        next
    }

    /// The checkpoint behind this one.
    #[inline(always)]
    pub(super) fn checkpoint_after(&self, index: u16) -> u16 {
        ((usize::from(index) + 1) & (self.checkpoints.places() - 1)) as u16
    }

    #[inline(always)]
    fn push_fetched(
        &mut self,
        core: &mut Resources,
        pc: u64,
        inst: &Inst,
        checkpoint: u16,
        flags: u16,
    ) {
        let gap = std::mem::replace(&mut self.fetch.gap, Cause::Frontend);
        self.front.push_fetched(Front {
            inst: *inst,
            pc,
            cycle: core.now as u32,
            checkpoint,
            gap,
            flags: flags as u8,
        });
    }

    /// Where fetch went behind an instruction.
    #[inline(always)]
    pub(super) fn fetched_next(&self, f: &Front) -> u64 {
        if f.checkpoint != NO_CHECKPOINT {
            *self.predicted_next.at(usize::from(f.checkpoint))
        } else if f.has(flag::FETCH_FAULT) {
            UNKNOWN_TARGET
        } else {
            f.fallthrough()
        }
    }
}
