//! Paths that are followed for a while and then taken back: wrong paths behind a mispredicted
//! instruction, and what runs again since a load read too early or an instruction faulted.

use hps_isa::bus::{Bus, MemFault};
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::ids::DisePc;
use hps_isa::inst::Inst;
use hps_isa::memory::Memory;
use hps_isa::trap::TrapCause;
use serde::{Deserialize, Serialize};

use super::commit::Done;
use super::insts::Way;
use super::{DecodeEditor, DrivenCore, Full, Passing, REGISTERS};
use crate::model::{
    Cause, ContextId, Origin, PipelineProbe, Restart, Squash, TrapTaken, branch_kind, kind,
};
use crate::predict::{BranchKind, Checkpoint};

/// Why a path is taken back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Turn {
    /// The branch resolves.
    Branch {
        kind: BranchKind,
        taken: bool,
        fallthrough: u64,
    },
    /// Another instruction went elsewhere than straight on.
    Elsewhere,
    /// A load had read before a store.
    Violation { store_pc: u64 },
    /// An instruction faults: whose, and why.
    Trap(Origin, TrapCause),
    /// An interrupt is taken in front of it.
    Interrupt,
}

hps_isa::save_values!(Turn);

/// A path that will be taken back.
#[derive(Clone)]
pub struct Episode {
    /// In this cycle.
    limit: u64,
    turn: Turn,
    pub restart: Restart,
    /// Where it begins: its first instruction, load and store.
    position: u64,
    loads: u64,
    stores: u64,
    checkpoint: Checkpoint,
    registers: [u64; REGISTERS],
    results: [u64; REGISTERS],
    issues: [u64; REGISTERS],
    fcsr: u8,
    reservation: u64,
    wrong_path_stores: usize,
    /// [`DrivenCore::stay`] of the path around this one.
    stay: u32,
    fp_stay: u32,
}

hps_isa::save_state! {
    Episode {
        limit, turn, restart, position, loads, stores, checkpoint, registers, results, issues, fcsr,
        reservation, wrong_path_stores, stay, fp_stay,
    }
}

impl Default for Episode {
    /// Content of a place before its first use.
    fn default() -> Self {
        Episode {
            limit: 0,
            turn: Turn::Elsewhere,
            restart: Restart {
                pc: 0,
                disepc: DisePc::NONE,
                link: None,
            },
            position: 0,
            loads: 0,
            stores: 0,
            checkpoint: Checkpoint::default(),
            registers: [0; REGISTERS],
            results: [0; REGISTERS],
            issues: [0; REGISTERS],
            fcsr: 0,
            reservation: 0,
            wrong_path_stores: 0,
            stay: 0,
            fp_stay: 0,
        }
    }
}

/// A store that memory will not see.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct WrongPathStore {
    addr: u64,
    data: u64,
    size: u64,
}

impl WrongPathStore {
    /// Whether it writes any of `size` bytes at `addr`.
    #[inline(always)]
    fn overlaps(&self, addr: u64, size: u64) -> bool {
        self.addr.wrapping_sub(addr) < size || addr.wrapping_sub(self.addr) < self.size
    }
}

/// Guest memory below the stores of a wrong path.
pub struct WrongPathBus<'a> {
    pub mem: &'a mut Memory,
    pub stores: &'a mut Vec<WrongPathStore>,
    pub stored: &'a mut u8,
}

/// Executes an instruction of a wrong path. This is compiled once, and not for each type of editor and probe.
#[inline(never)]
pub fn execute(hart: &mut Hart, bus: &mut WrongPathBus<'_>, inst: &Inst, pc: u64) -> Outcome {
    exec::execute(hart, bus, inst, pc)
}

impl Bus for WrongPathBus<'_> {
    #[inline]
    fn load<const N: usize>(&mut self, addr: u64) -> Result<u64, MemFault> {
        let value = self.mem.load::<N>(addr)?;
        if self.stores.is_empty() {
            return Ok(value);
        }
        Ok(overlay(self.stores, addr, N as u64, value))
    }

    #[inline]
    fn store<const N: usize>(&mut self, addr: u64, value: u64) -> Result<(), MemFault> {
        self.mem.check_store::<N>(addr)?;
        self.stores.push(WrongPathStore {
            addr,
            data: value,
            size: N as u64,
        });
        *self.stored = N as u8;
        Ok(())
    }
}

/// The value of `size` bytes at `addr`, of which memory holds `value`.
fn overlay(stores: &[WrongPathStore], addr: u64, size: u64, mut value: u64) -> u64 {
    for store in stores {
        if !store.overlaps(addr, size) {
            continue;
        }
        for byte in 0..size {
            let offset = addr.wrapping_add(byte).wrapping_sub(store.addr);
            if offset < store.size {
                let stored = (store.data >> (8 * offset)) & 0xff;
                value = value & !(0xff << (8 * byte)) | stored << (8 * byte);
            }
        }
    }
    value
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Everything from the next instruction on is taken back in cycle `limit`, and execution goes on
    /// elsewhere.
    pub(super) fn begin_episode(
        &mut self,
        limit: u64,
        turn: Turn,
        checkpoint: Checkpoint,
        restart: Restart,
    ) {
        let hart = &self.process.thread.hart;
        if self.depth == 0 {
            self.window_end = self.position + self.params.rob_entries;
            self.loads_end = self.loads + u64::from(self.params.load_queue);
        }
        if self.episodes.len() == self.depth {
            self.episodes.push(Episode::default());
        }
        // Field by field, in place: it is large.
        let e = &mut self.episodes[self.depth];
        e.limit = limit;
        e.turn = turn;
        e.restart = restart;
        e.position = self.position;
        e.loads = self.loads;
        e.stores = self.stores.tail;
        e.checkpoint = checkpoint;
        let used = self.registers;
        let kept = if cfg!(debug_assertions) {
            REGISTERS
        } else {
            used
        };
        e.registers[..kept].copy_from_slice(&hart.r[..kept]);
        e.registers[REGISTERS - 1] = hart.r[REGISTERS - 1];
        e.results[..used].copy_from_slice(&self.results[..used]);
        e.issues[..used].copy_from_slice(&self.issues[..used]);
        e.fcsr = hart.fcsr;
        e.reservation = hart.reservation;
        e.wrong_path_stores = self.wrong_path_stores.len();
        e.stay = std::mem::take(&mut self.stay);
        e.fp_stay = std::mem::take(&mut self.fp_stay);
        self.depth += 1;
        self.limit = limit;
    }

    /// Whether memory holds these bytes as the wrong path that is followed sees them.
    #[inline(always)]
    pub(super) fn is_untouched(&self, addr: u64, size: u8) -> bool {
        let mut stores = self.wrong_path_stores.iter();
        !stores.any(|store| store.overlaps(addr, u64::from(size)))
    }

    /// Notes that the first `count` registers may be written from now on. Registers that could not be written before
    /// still have the values from the beginning of every path that is followed.
    pub(super) fn use_registers(&mut self, count: usize) {
        if count <= self.registers {
            return;
        }
        let used = self.registers..count;
        for e in &mut self.episodes[..self.depth] {
            let values = &self.process.thread.hart.r[used.clone()];
            e.registers[used.clone()].copy_from_slice(values);
            e.results[used.clone()].copy_from_slice(&self.results[used.clone()]);
            e.issues[used.clone()].copy_from_slice(&self.issues[used.clone()]);
        }
        self.registers = count;
    }

    /// Fetch went elsewhere than a control transfer does: a wrong path, until the instruction resolves.
    #[inline(never)]
    pub(super) fn begin_wrong_path(
        &mut self,
        i: Passing<'_>,
        done: Done,
        (next_pc, next_disepc): (u64, DisePc),
        taken: bool,
    ) {
        let Some(kind) = branch_kind(i.inst.class) else {
            return;
        };
        let turn = Turn::Branch {
            kind,
            taken,
            fallthrough: i.inst.next(),
        };
        let restart = self.restart_at(next_pc, next_disepc);
        self.resolves(done, turn, self.last_checkpoint(kind), restart);
    }

    /// Redirects fetch behind an instruction without a prediction.
    #[inline(never)]
    pub(super) fn goes_elsewhere(&mut self, done: Done, restart: Restart) {
        self.resolves(done, Turn::Elsewhere, self.checkpoint(), restart);
    }

    /// Where an instruction went is known when it is complete, if nothing has taken it back by then.
    #[inline(always)]
    fn resolves(&mut self, done: Done, turn: Turn, checkpoint: Checkpoint, restart: Restart) {
        let complete = done.result + self.params.issue_to_execute;
        let resolve = complete.max(done.issue + 1);
        if resolve < self.limit {
            self.begin_episode(resolve, turn, checkpoint, restart);
        }
    }

    /// A load has read too early, which is found in cycle `found`: it and what follows run again then.
    #[cold]
    pub(super) fn runs_again(&mut self, i: Passing<'_>, found: u64, store_pc: u64) {
        self.count_without_commit();
        self.position -= 1;
        self.loads -= 1;
        let checkpoint = self.checkpoint();
        let restart = self.restart_here(i.inst.pc);
        self.begin_episode(found, Turn::Violation { store_pc }, checkpoint, restart);
        self.position += 1;
        self.loads += 1;
    }

    /// The instruction before the next one commits in `cycle` and faults there: it and what follows are
    /// taken back. It is the last of its loads and stores, if it is any.
    #[cold]
    pub(super) fn traps_in(&mut self, i: Passing<'_>, cycle: u64, cause: TrapCause) {
        self.count_without_commit();
        let kind = kind::of(i.inst.class);
        let loads = u64::from(kind & kind::LOADS != 0);
        let stores = u64::from(kind & kind::STORES != 0);
        self.position -= 1;
        self.loads -= loads;
        self.stores.tail -= stores;
        let checkpoint = self.checkpoint();
        let turn = Turn::Trap(self.edit.origin::<E>(), cause);
        self.begin_episode(cycle, turn, checkpoint, self.restart_here(i.inst.pc));
        self.position += 1;
        self.loads += loads;
        self.stores.tail += stores;
    }

    /// The innermost path is taken back.
    #[inline(never)]
    pub(super) fn squash(&mut self) {
        let cycle = self.limit;
        self.depth -= 1;
        self.limit = match self.depth {
            0 => u64::MAX,
            outer => self.episodes[outer - 1].limit,
        };
        if self.depth == 0 {
            self.window_end = u64::MAX;
            self.loads_end = u64::MAX;
        }
        if P::WANTS_CYCLES {
            self.observe_squash(cycle, self.episodes[self.depth].position);
        }
        let episode = &self.episodes[self.depth];
        debug_assert!(
            self.position - episode.position + self.params.look_back() as u64
                <= self.stamps.places(),
            "a wrong path has taken the places of cycles that are asked for behind it"
        );
        self.stats.squash_instructions += self.position - episode.position;
        self.position = episode.position;
        self.loads = episode.loads;
        self.stores.tail = episode.stores;
        // Another instruction will have the position of the one that waited.
        self.full = Full::NEVER;
        let hart = &mut self.process.thread.hart;
        let used = self.registers;
        hart.r[..used].copy_from_slice(&episode.registers[..used]);
        hart.r[REGISTERS - 1] = episode.registers[REGISTERS - 1];
        debug_assert_eq!(
            hart.r[used..REGISTERS],
            episode.registers[used..],
            "a wrong path has written a register that nothing it decoded names"
        );
        hart.fcsr = episode.fcsr;
        hart.reservation = episode.reservation;
        self.results[..used].copy_from_slice(&episode.results[..used]);
        self.issues[..used].copy_from_slice(&episode.issues[..used]);
        self.wrong_path_stores.truncate(episode.wrong_path_stores);
        self.waiting -= std::mem::replace(&mut self.stay, episode.stay);
        self.fp_waiting -= std::mem::replace(&mut self.fp_stay, episode.fp_stay);
        let (turn, restart) = (episode.turn, episode.restart);
        let pc = restart.pc;
        if let Turn::Branch {
            kind,
            taken,
            fallthrough,
        } = turn
        {
            self.branches
                .restore(&episode.checkpoint, kind, taken, pc, fallthrough);
        } else {
            self.branches.rewind(&episode.checkpoint);
        }
        self.empty_front_end(&restart);
        match turn {
            Turn::Branch { taken, .. } => {
                let cycle = cycle + self.params.mispredict_extra;
                self.fetch.redirect(pc, Cause::Mispredict, cycle);
                if self.depth == 0 {
                    self.fetch.way = if taken {
                        Way::Elsewhere
                    } else {
                        Way::StraightOn
                    };
                }
            }
            Turn::Elsewhere => {
                let cycle = cycle + self.params.mispredict_extra;
                self.fetch.redirect(pc, Cause::Mispredict, cycle);
            }
            Turn::Violation { store_pc } => {
                self.violation(pc, store_pc);
                self.fetch.redirect(pc, Cause::Replay, cycle);
            }
            Turn::Trap(origin, cause) => self.take_trap(restart, origin, cause, cycle),
            Turn::Interrupt => self.take_interrupt(restart.pc, cycle),
        }
    }

    /// Tells the probe that everything from a position on is taken back.
    fn observe_squash(&mut self, cycle: u64, first: u64) {
        let kept = match first {
            0 => 0,
            first => self.stamps.dispatch(self.stamps.at(first, 1)),
        };
        let last = std::mem::replace(&mut self.told_dispatch, kept);
        if last > kept {
            self.probe.squashed(&Squash {
                context: ContextId::FIRST,
                cycle,
                kept_dispatch_cycle: kept,
                last_dispatch_cycle: last,
            });
        }
    }

    /// Nothing is between fetch and dispatch, and decode goes on elsewhere.
    #[inline(always)]
    pub(super) fn empty_front_end(&mut self, restart: &Restart) {
        // Older instructions have been dispatched before: their cycles keep nothing waiting.
        self.flows_from = self.flows_at_first();
        if E::ENABLED {
            self.editor.squash(self.position);
            self.edit.restart(restart, self.params.fetch_buffer);
        }
    }

    /// Empties the pipeline at the boundary of the last committed instruction, between two runs, as an interrupt
    /// would: fetch restarts in the cycle of that commit.
    pub fn drain_to_boundary(&mut self) {
        let restart = self.next_restart();
        self.branches.rewind(&self.checkpoint());
        self.empty_front_end(&restart);
        // There is no cycle 0.
        let cycle = self.last_commit().max(1);
        self.fetch.redirect(restart.pc, Cause::Serialize, cycle);
        self.process.thread.hart.pc = restart.pc;
        self.process.thread.hart.disepc = restart.disepc;
    }

    /// Empties the pipeline at the boundary of the last committed instruction, and lets fetch go on at another address.
    pub fn go_on_at(&mut self, pc: u64) {
        self.drain_to_boundary();
        let cycle = self.last_commit().max(1);
        self.fetch.redirect(pc, Cause::Serialize, cycle);
        self.process.thread.hart.pc = pc;
        self.process.thread.hart.disepc = DisePc::NONE;
    }

    /// Sets a DISE register from outside, between two instructions of the program.
    pub fn set_dise_register(&mut self, register: u8, value: u64) {
        self.drain_to_boundary();
        self.process.thread.hart.r[register as usize] = value;
    }

    #[cold]
    fn violation(&mut self, load_pc: u64, store_pc: u64) {
        self.stats.memory_violation_events += 1;
        self.memdep.violation(load_pc, store_pc);
    }

    /// The guest's handler, or the end.
    #[cold]
    fn take_trap(&mut self, at: Restart, origin: Origin, cause: TrapCause, cycle: u64) {
        if P::WANTS_CYCLES {
            self.probe.trapped(&TrapTaken {
                context: ContextId::FIRST,
                program: 1,
                cycle,
                pc: at.pc,
                disepc: at.disepc,
            });
        }
        let in_handler = origin == Origin::Handler;
        let from = (at.pc, at.disepc);
        let taken = self
            .process
            .take_fault(&self.editor, from, cause, in_handler);
        let stop = match taken {
            Ok(handler) => {
                self.edit.resume = self.process.thread.hart.disepc;
                self.fetch.redirect(handler, Cause::Serialize, cycle);
                return;
            }
            Err(stop) => stop,
        };
        self.fetch.redirect(at.pc, Cause::Serialize, cycle);
        self.account_cycle(at.pc);
        self.stop = Some(stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::Random;

    #[test]
    fn loads_see_the_stores_of_their_wrong_path_byte_by_byte() {
        let mut random = Random::new(9);
        for _ in 0..300 {
            let mut bytes = [0u8; 64];
            bytes.fill_with(|| random.below(256) as u8);
            let memory = bytes;
            let mut stores = Vec::new();
            for _ in 0..random.below(6) {
                let (addr, size, data) = (random.below(56), 1 << random.below(4), random.next());
                stores.push(WrongPathStore { addr, data, size });
                for at in 0..size {
                    bytes[(addr + at) as usize] = (data >> (8 * at)) as u8;
                }
            }
            let (addr, size) = (random.below(56), 1u64 << random.below(4));
            let value = |from: &[u8; 64]| {
                let places = (0..size).rev();
                places.fold(0, |all, at| {
                    all << 8 | u64::from(from[(addr + at) as usize])
                })
            };
            assert_eq!(overlay(&stores, addr, size, value(&memory)), value(&bytes));
        }
    }
}
