//! Commit, and the account of every slot, for a stretch of cycles at a time. Who owns a lost slot says
//! [`Standing`], for both cores.

use std::hint::select_unpredictable;

use hps_isa::inst::OpClass;
use hps_isa::likely::seldom;
use hps_sim_core::machine::report;

use super::insts::StaticInst;
use super::{DecodeEditor, DrivenCore};
use crate::model::{
    Cause, Commit, ContextId, EventSet, Origin, PipelineProbe, Standing, Stretch, Walk,
    moves_frames, owner_of,
};

/// Decode waits for the editor.
const DECODE_STALLS: Standing = Standing::OnItsWay(Cause::DiseStall);

/// How far commit has come: to a cycle in which a slot is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Commits {
    /// The next instruction commits in this cycle at the earliest.
    pub cycle: u64,
    /// Slots that are left there, at least one.
    left: u64,
}

hps_isa::save_state! { Commits { cycle, left } }

impl Commits {
    /// All `width` slots of a cycle are used.
    pub fn full(cycle: u64, width: u64) -> Self {
        Commits::empty(cycle + 1, width)
    }

    /// None of a cycle is used, and those of earlier cycles have owners.
    pub fn empty(cycle: u64, width: u64) -> Self {
        Commits { cycle, left: width }
    }

    /// Takes a slot. Returns its cycle.
    #[inline(always)]
    fn take(&mut self, width: u64) -> u64 {
        let cycle = self.cycle;
        let left = self.left - 1;
        // Without a branch: where a cycle ends among the instructions is not for the host to guess.
        let is_full = left == 0;
        self.cycle = cycle + u64::from(is_full);
        self.left = select_unpredictable(is_full, width, left);
        cycle
    }

    /// Cycle of the last commit.
    pub fn last(&self, width: u64) -> u64 {
        self.cycle - u64::from(self.left == width)
    }
}

/// Times of an instruction behind dispatch.
#[derive(Clone, Copy)]
pub struct Done {
    pub issue: u64,
    /// From this cycle on what reads the result may issue.
    pub result: u64,
    /// The level that served a load.
    pub level: Cause,
}

/// View that a probe has of a commit.
#[derive(Clone, Copy)]
pub struct Seen {
    pub addr: u64,
    pub next_pc: u64,
    pub taken: bool,
    /// Events of the instruction.
    pub events: EventSet,
}

impl Seen {
    /// View of an instruction that continues with the next one.
    #[inline(always)]
    pub fn straight(inst: &StaticInst) -> Seen {
        Seen {
            addr: 0,
            next_pc: inst.next(),
            taken: false,
            events: EventSet::NONE,
        }
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Commits the instruction that was dispatched last. Returns the cycle.
    #[inline(always)]
    pub(super) fn commit(&mut self, inst: &StaticInst, done: Done, seen: Seen) -> u64 {
        let ripe = done.result + self.result_to_commit;
        // An end of a sequence is accounted for with what commits next in another cycle.
        let (until, before) = if E::ENABLED {
            (ripe.max(self.commits.cycle), self.last_commit())
        } else {
            (ripe, self.commits.cycle)
        };
        if seldom(until > before) {
            self.account_lost_slots(inst, done, until);
            self.commits = Commits::empty(until, self.params.commit_width);
        }
        let cycle = self.commits.take(self.params.commit_width);
        self.stamps.set_last_commit(self.position, cycle);
        let origin = self.edit.origin::<E>();
        // Without an editor they are counted by their positions.
        if !Self::ALL_OF_PROGRAM {
            self.stats.count_commit(origin);
        }
        if P::WANTS_SLOTS {
            self.probe.slots(inst.pc, owner_of(origin), 1);
        }
        if P::ENABLED {
            report(
                &mut self.probe,
                inst.pc,
                self.edit.here.disepc,
                inst,
                origin == Origin::Program,
                seen.addr,
                seen.next_pc,
                seen.taken,
            );
        }
        if P::WANTS_CYCLES {
            self.probe.committed(&Commit {
                context: ContextId::FIRST,
                thread: self.process.thread_of(inst.class),
                program: self.process.program_of(inst.class),
                cycle,
                position: self.position,
                pc: inst.pc,
                disepc: self.edit.here.disepc,
                origin,
                class: inst.class,
                length: inst.len,
                dispatch_cycle: self.dispatched,
                events: seen.events,
                addr: seen.addr,
                target: seen.next_pc,
                stack_pointer: if moves_frames(inst.class) {
                    let register = self.process.image.isa.stack_pointer();
                    self.process.thread.hart.r[usize::from(register)]
                } else if inst.class == OpClass::Syscall {
                    self.process.loaded_stack_pointer()
                } else {
                    0
                },
                taken: seen.taken,
            });
        }
        cycle
    }

    /// Cycle of the last commit.
    pub(super) fn last_commit(&self) -> u64 {
        self.commits.last(self.params.commit_width)
    }

    /// The cycle in which something may commit next.
    pub(super) fn next_commit(&self, done: Done) -> u64 {
        (done.result + self.result_to_commit).max(self.commits.cycle)
    }

    /// Gives the slots that are lost until an instruction leaves the head of the window in `until`.
    #[inline(always)]
    pub(super) fn account_lost_slots(&mut self, inst: &StaticInst, done: Done, until: u64) {
        let known = self.dispatched + self.fill;
        let mut lost = self.lost(until);
        if seldom(lost.from < known || inst.class == OpClass::Load && !self.parked.is_empty()) {
            self.account_slowly(inst, (done.issue, done.level), known, until);
            return;
        }
        if inst.class == OpClass::Load {
            self.give(&mut lost, done.issue + 1, inst.pc, Standing::UnissuedLoad);
            if seldom(done.level == Cause::DTlb) {
                return self.account_walk(&mut lost, inst.pc);
            }
            self.give(&mut lost, until, inst.pc, Standing::IssuedLoad(done.level));
        } else {
            self.give(&mut lost, until, inst.pc, Standing::Executes(inst.class));
        }
    }

    /// Accounts for lost slots where an instruction comes late, or a load has waited for stores.
    #[inline(never)]
    fn account_slowly(&mut self, inst: &StaticInst, issued: (u64, Cause), known: u64, until: u64) {
        let mut lost = self.lost(until);
        if lost.from < known {
            self.account_approach(&mut lost, inst.pc, known);
        }
        if inst.class == OpClass::Load {
            self.account_load(&mut lost, inst.pc, issued);
        } else {
            self.give(&mut lost, until, inst.pc, Standing::Executes(inst.class));
        }
    }

    /// The slots between the last commit and a cycle.
    #[inline(always)]
    fn lost(&self, until: u64) -> Lost {
        let width = self.params.commit_width;
        let Commits { cycle, left } = self.commits;
        // With an editor from the last commit on.
        let (from, used) = if E::ENABLED && left == width {
            (cycle - 1, width)
        } else {
            (cycle, width - left)
        };
        Lost {
            from,
            until,
            used,
            width,
        }
    }

    /// When the last instruction was decoded.
    fn decoded(&self) -> u64 {
        self.stamps.decode(self.stamps.at(self.position, 1))
    }

    /// Accounts for the slots lost before it is known what the instruction itself waits for.
    fn account_approach(&mut self, lost: &mut Lost, pc: u64, known: u64) {
        let (decode, dispatch) = (self.decoded(), self.dispatched);
        // Each stage sees in a cycle what the one before it did in an earlier cycle.
        let position = self.position - 1;
        if E::ENABLED
            && let Some(gone) = self.edit.gone.take()
        {
            self.account_gap(lost, gone.pc, gone.gap);
            self.give(lost, gone.stalled_until, gone.pc, DECODE_STALLS);
            self.give(
                lost,
                gone.taken + 1,
                gone.pc,
                Standing::OnItsWay(gone.gap.0),
            );
            self.give(lost, gone.ended + 1, gone.pc, DECODE_STALLS);
        }
        let mut gap = self.fetch.gap_of(position).0;
        self.account_gap(lost, pc, self.fetch.gap_of(position));
        if E::ENABLED {
            let here = self.edit.here;
            self.give(lost, here.stalled_until, pc, DECODE_STALLS);
            let due = here.due.unwrap_or(decode);
            self.give(lost, due + 1, pc, Standing::OnItsWay(gap));
            self.give(lost, decode + 1, pc, DECODE_STALLS);
            gap = here.gap.unwrap_or(gap);
        }
        let ripe = decode + self.params.decode_to_dispatch;
        self.give(lost, ripe + 1, pc, Standing::OnItsWay(gap));
        if self.full.position == position {
            let until = self.full.until.min(dispatch + 1);
            if lost.from < until {
                self.give(lost, until, pc, Standing::WaitsForStoreQueue);
                gap = Cause::StoreWait;
            }
        }
        self.give(lost, dispatch + 1, pc, Standing::WaitsToBeAlone);
        self.give(lost, known, pc, Standing::Enters(gap));
    }

    /// Accounts for the slots lost before it is known why an instruction comes late.
    #[inline(always)]
    fn account_gap(&mut self, lost: &mut Lost, pc: u64, (gap, since): (Cause, u64)) {
        if lost.from <= since && gap != Cause::Frontend {
            self.give(lost, since + 1, pc, Standing::OnItsWay(Cause::Frontend));
        }
    }

    fn account_load(&mut self, lost: &mut Lost, pc: u64, (issue, level): (u64, Cause)) {
        for at in 0..self.parked.len() {
            let (parked, woken) = self.parked[at];
            self.give(lost, parked + 1, pc, Standing::UnissuedLoad);
            self.give(lost, woken + 1, pc, Standing::ParkedLoad);
        }
        self.give(lost, issue + 1, pc, Standing::UnissuedLoad);
        if level == Cause::DTlb {
            return self.account_walk(lost, pc);
        }
        let until = lost.until;
        self.give(lost, until, pc, Standing::IssuedLoad(level));
    }

    /// Accounts for the slots lost to a load that has issued and missed the TLB.
    #[inline(never)]
    fn account_walk(&mut self, lost: &mut Lost, pc: u64) {
        let Walk { until_cycle, then } = self.walk;
        self.give(lost, until_cycle + 1, pc, Standing::IssuedLoad(Cause::DTlb));
        let until = lost.until;
        self.give(lost, until, pc, Standing::IssuedLoad(then));
    }

    /// Gives the slots of the cycles before `to`, in which the instruction at `pc` has this standing.
    #[inline(always)]
    fn give(&mut self, lost: &mut Lost, to: u64, pc: u64, standing: Standing) {
        let to = to.min(lost.until);
        if to <= lost.from {
            return;
        }
        let used = std::mem::take(&mut lost.used);
        if P::WANTS_CYCLES {
            // Something has committed in a cycle of which a slot is used.
            let first_cycle = lost.from + u64::from(used > 0);
            if first_cycle < to {
                self.probe.stretch(&Stretch {
                    context: ContextId::FIRST,
                    first_cycle,
                    cycles: to - first_cycle,
                    state: standing.state(),
                    next_pc: pc,
                });
            }
        }
        let slots = (to - lost.from) * lost.width - used;
        lost.from = to;
        if slots > 0 {
            let cause = standing.cause();
            self.cpi.add(cause, slots);
            if P::WANTS_SLOTS {
                self.probe.slots(pc, cause, slots);
            }
        }
    }

    /// Ends the account of a run, as [`Chip::settle`](crate::core::Chip::settle) does: the slots that are
    /// left in its last cycle go to [`Cause::Serialize`]. A run that goes on from here commits in the next
    /// cycle.
    pub fn settle(&mut self) {
        let pc = self.next_restart().pc;
        self.account_rest_of_cycle(pc);
    }

    /// The rest of the last cycle of a run, in which something has committed.
    pub(super) fn account_rest_of_cycle(&mut self, pc: u64) {
        if self.commits.left < self.params.commit_width {
            self.account_cycle(pc);
        }
    }

    /// The rest of the cycle in which the next instruction would commit, if it did not fault.
    pub(super) fn account_cycle(&mut self, pc: u64) {
        let until = self.commits.cycle + 1;
        let mut lost = self.lost(until);
        self.give(&mut lost, until, pc, Standing::OnItsWay(Cause::Serialize));
        self.commits = Commits::full(self.commits.cycle, self.params.commit_width);
    }
}

/// Slots that have no owner yet.
struct Lost {
    from: u64,
    until: u64,
    /// Slots of the first cycle that are used.
    used: u64,
    width: u64,
}
