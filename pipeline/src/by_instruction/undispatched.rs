//! Wrong-path instructions that are squashed before they issue.

use hps_isa::likely::{often, seldom};

use super::fetch::Pace;
use super::insts::{At, Code, StaticInst};
use super::path::WrongPath;
use super::{DecodeEditor, DrivenCore, Passing};
use crate::model::{PipelineProbe, kind};

impl<E: DecodeEditor, P: PipelineProbe> DrivenCore<E, P> {
    /// Fetches a group that is squashed before dispatch, and all groups behind it, and decodes them if there is time.
    /// `false` when the squash has come.
    #[inline(never)]
    pub(super) fn follow_undispatched(&mut self, code: &mut Code) -> bool {
        loop {
            let at = self.find_next(code);
            let count = self.fetch.left.min(code.insts.rest(at));
            if seldom(count == 0) {
                return self.step_alone::<WrongPath>(code);
            }
            let insts = code.insts.take(at, count);
            let done = self.fetch_undispatched_block(insts);
            if seldom(done < count) {
                code.insts.end_at(at, &insts[done - 1]);
            }
            if E::ENABLED || seldom(self.fetch.pace != Pace::Undispatched) {
                return true;
            }
            if often(self.fetch.left == 0) && seldom(!self.begin_undispatched_group()) {
                self.squash();
                return false;
            }
            if seldom(self.fetch.pace != Pace::Undispatched) {
                return true;
            }
        }
    }

    /// The instructions of a block, or its first ones. Returns how many.
    #[inline(always)]
    fn fetch_undispatched_block(&mut self, insts: &[StaticInst]) -> usize {
        let may_wait = insts[0].ahead & kind::STORES != 0 && self.stores.is_full();
        if E::ENABLED || seldom(may_wait) {
            return self.fetch_each_undispatched(insts);
        }
        let last = &insts[insts.len() - 1];
        let left = self.fetch.left - insts.len();
        if last.kind().is_transfer() {
            self.fetch.left = left;
            self.predict_undispatched(last);
        } else {
            self.leave_block(last, left);
        }
        let count = insts.len() as u64;
        self.position += count;
        self.stats.fetch_instructions += count;
        if self.fetch.decode < self.limit {
            self.stats.decode_instructions += count;
        }
        insts.len()
    }

    /// Fetches the instructions one by one, for an editor that decides about each, or if one of them may find the
    /// store queue full.
    #[inline(never)]
    fn fetch_each_undispatched(&mut self, insts: &[StaticInst]) -> usize {
        let (decode, dispatch) = (self.fetch.decode, self.fetch.dispatch);
        let is_decoded = decode < self.limit;
        let left = self.fetch.left;
        let mut done = 0;
        for inst in insts {
            done += 1;
            let mut predicted_next = inst.next();
            if inst.kind().is_transfer() {
                self.fetch.left = left - done;
                predicted_next = self.predict(inst);
            }
            self.position += 1;
            if E::ENABLED {
                self.edit.fetched(decode);
            }
            // The cycle of dispatch is never used, but the cache takes a store to make room for one.
            let waits = if E::ENABLED {
                !self.is_open::<WrongPath>(inst.kind().bits(), dispatch)
            } else {
                inst.kind().has(kind::STORES) && self.stores.is_full()
            };
            if is_decoded && waits {
                let passing = Passing {
                    inst,
                    predicted_next,
                };
                self.dispatch_late::<WrongPath>(passing, self.position - 1);
                break;
            }
        }
        self.leave_block(&insts[done - 1], left - done);
        self.stats.fetch_instructions += done as u64;
        if is_decoded {
            self.stats.decode_instructions += done as u64;
        }
        done
    }

    /// Dispatches a wrong-path block, from `first` on, of which no instruction issues before the squash. Nothing behind
    /// the block issues either, so its results are not needed, and its instructions only take places in the queues.
    /// Not with an editor, which may read results.
    #[inline(never)]
    pub(super) fn dispatch_unissued_block(
        &mut self,
        code: &Code,
        first: At,
        insts: &[StaticInst],
    ) -> bool {
        let dispatch = self.fetch.dispatch;
        let left = self.fetch.left;
        let mut taken = 0;
        let mut late = 0;
        let mut last = &insts[0];
        for inst in insts {
            last = inst;
            taken += 1;
            self.position += 1;
            if inst.kind().is_transfer() {
                // The last one of its block. It waits for room in no queue.
                self.fetch.left = left - taken;
                self.predict_undispatched(inst);
            }
            if !self.is_open::<WrongPath>(inst.kind().bits(), dispatch) {
                late += 1;
                let passing = Passing {
                    inst,
                    predicted_next: inst.next(),
                };
                self.dispatch_late::<WrongPath>(passing, self.position - 1);
                break;
            }
            self.waits_until_squash(inst);
            if P::WANTS_CYCLES {
                self.told_dispatch = dispatch;
            }
        }
        let done = self.leave_block_at(code, first, last, left);
        self.stats.fetch_instructions += done as u64;
        self.stats.decode_instructions += done as u64;
        self.stats.dispatch_instructions += (done - late) as u64;
        true
    }
}
