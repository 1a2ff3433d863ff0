//! Counters that programs read: what is in them, and what a read costs.

use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, Op};
use hps_isa::riscv::registers::{CSR_CYCLE, CSR_HPM_LAST, accessed_csr, hpm_index};

use super::{Context, Resources};
use crate::model::PipelineProbe;
use crate::pmu::Event;

/// A counter that a program may select, as its context sees it: what the context itself counts, and what others of the
/// chip have counted when they had their last turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected {
    pub own: Option<Event>,
    pub others: u64,
}

hps_isa::save_state! { Selected { own: skip, others } }

/// Whether an instruction reads a counter.
fn reads_counter(inst: &Inst) -> bool {
    match inst.op {
        Op::AlphaRpcc => true,
        _ => accessed_csr(inst).is_some_and(|csr| (CSR_CYCLE..=CSR_HPM_LAST).contains(&csr)),
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Context<E, P> {
    /// The operating system is asked next: shows it the counters and the events of the context.
    pub(super) fn show_all_counters(&mut self, core: &Resources) {
        self.process.thread.hart.counters = self.guest_counters(core);
        let events = &mut self.process.thread.events;
        events.branches = core.stats.branch_committed_events;
        events.branch_misses = core.stats.branch_mispredicted_events;
        core.memory.tell_threads(events);
    }

    /// An access to a control register executes next: shows it the counters.
    pub(super) fn show_counters(&mut self, core: &Resources, inst: &Inst) {
        self.process.thread.hart.counters = self.guest_counters(core);
        let Some(index) = accessed_csr(inst).and_then(hpm_index) else {
            return;
        };
        let selected = core.selected.get(index);
        self.process.thread.hart.selected = selected.map(|counter| {
            let own = counter.own.map_or(0, |event| event.read(&core.stats));
            own.wrapping_add(counter.others)
        });
    }

    /// Whether the instruction that is dispatched next is a read of a counter that does not wait for older stores.
    #[cold]
    pub(super) fn reads_early(&self, core: &Resources) -> bool {
        let next = self.front.decoded();
        !core.params.counters_wait_for_stores && next.is_some_and(|d| reads_counter(&d.inst))
    }
}
