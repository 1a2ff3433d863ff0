//! The probe: from the issue cycles of committed instructions it knows who was at the head of the issue queue in each
//! cycle.
//!
//! The head in a cycle is the oldest instruction of the right path that has not issued before it. An instruction is
//! therefore at the head from the cycle behind the last issue of all older ones up to its own issue, and every cycle
//! has one head, also while fetch is on a wrong path or waits for a cache: the interrupt then finds the instruction
//! with which the program goes on. Out of order, the same rule says which instruction is the oldest in the queue.
//!
//! | event | its interrupt is delivered |
//! | --- | --- |
//! | imiss, itbmiss | six cycles behind the cycle in which fetch asks |
//! | dmiss, dtbmiss | six cycles behind the cycle in which the load reads |
//! | branchmp | six cycles behind the resolution |

use std::collections::VecDeque;

use hps_isa::inst::{OpClass, reg};
use hps_isa::probe::Probe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, IssueStall, PipelineProbe, StageRecord};
use hps_system::symbols::CodeLog;

use super::image_map::{ImageMap, ObjectSamples};
use super::sampler::{DELIVERY_CYCLES, Follow, Plan, Sampler};
use super::truth::{Spent, Truth};
use crate::samples::{Counts, Event, Samples};

/// Instructions back to which an interrupt that comes late in commit order is attributed.
const PAST: usize = 64;

/// The last writer of a register.
#[derive(Clone, Copy)]
struct Writer {
    result_cycle: u64,
    waits_for: Spent,
}

/// Samples a run on a core that issues in order, and keeps its truth. It changes no cycle.
///
/// Of a run of several processes, the truth has the instructions of all at their addresses.
pub struct Observer {
    samplers: Vec<Sampler>,
    /// Places of those whose samples tell where the program goes on.
    following: Vec<usize>,
    truth: Truth,
    /// The latest issue of all instructions so far.
    last_issue: u64,
    /// The last instructions that were at the head, and up to which cycle.
    past: VecDeque<(u64, u64)>,
    /// Misses of fetch that no committed instruction has been found to have waited for: address, cause and cycle.
    misses: VecDeque<(u64, Cause, u64)>,
    /// Program and address of the instruction before, if it transfers control.
    last_transfer: Option<(u32, u64)>,
    last_serialized: bool,
    writers: Box<[Writer; reg::COUNT]>,
    dispatch_to_issue: u64,
    decode_to_dispatch: u64,
    issue_to_execute: u64,
    itlb_miss: u64,
    /// `None`: samples stay at the addresses of the running program.
    map: Option<ImageMap>,
}

impl Observer {
    /// A probe of runs on a machine.
    #[must_use]
    pub fn new(machine: &MachineConfig, plans: &[Plan]) -> Observer {
        let nobody = Writer {
            result_cycle: 0,
            waits_for: Spent::Dependence,
        };
        let following = plans.iter().enumerate();
        let following = following.filter(|(_, plan)| plan.follow != Follow::Nothing);
        Observer {
            following: following.map(|(at, _)| at).collect(),
            samplers: plans.iter().copied().map(Sampler::new).collect(),
            truth: Truth::default(),
            last_issue: 0,
            past: VecDeque::with_capacity(PAST),
            misses: VecDeque::new(),
            last_transfer: None,
            last_serialized: false,
            writers: Box::new([nobody; reg::COUNT]),
            dispatch_to_issue: u64::from(machine.issue.dispatch_to_issue_cycles).max(1),
            decode_to_dispatch: u64::from(machine.decode.decode_to_dispatch_cycles),
            issue_to_execute: u64::from(machine.issue.issue_to_execute_cycles),
            itlb_miss: u64::from(machine.memory.itlb.miss_cycles),
            map: None,
        }
    }

    /// Keeps the addresses that the counter of the plan at this place samples, in their order.
    #[must_use]
    pub fn tracing(mut self, plan: usize) -> Observer {
        if let Some(sampler) = self.samplers.get_mut(plan) {
            sampler.trace = Some(Vec::new());
        }
        self
    }

    /// The sampled addresses that were kept.
    #[must_use]
    pub fn trace(&self) -> &[u64] {
        let kept = self.samplers.iter().find_map(|s| s.trace.as_deref());
        kept.unwrap_or_default()
    }

    /// Keeps samples by object, for [`Observer::take_by_object`]. The programs of the run record their code in `log`.
    #[must_use]
    pub fn by_object(mut self, log: CodeLog) -> Observer {
        self.map = Some(ImageMap::new(log));
        self
    }

    /// Takes the samples since the last call by object. Empty without [`Observer::by_object`].
    pub fn take_by_object(&mut self) -> Vec<ObjectSamples> {
        let Some(map) = &mut self.map else {
            return Vec::new();
        };
        map.resolve(&counts(&self.samplers));
        self.samplers.iter_mut().for_each(Sampler::forget);
        map.take()
    }

    /// Takes the samples since the last call, in the order of the plans.
    pub fn take_samples(&mut self) -> Vec<(Plan, Counts)> {
        let all = self.samplers.iter_mut();
        all.map(|s| {
            (
                s.plan,
                std::mem::replace(&mut s.counts, Counts::new(s.plan.whole_period())),
            )
        })
        .collect()
    }

    /// The samples in the order of the plans, and the truth.
    #[must_use]
    pub fn finish(self) -> (Vec<(Plan, Counts)>, Truth) {
        let samples = self.samplers.into_iter().map(|s| (s.plan, s.counts));
        (samples.collect(), self.truth)
    }

    /// The samples, if each event was sampled once, and the truth.
    #[must_use]
    pub fn finish_samples(self) -> (Samples, Truth) {
        let (all, truth) = self.finish();
        let mut samples = Samples::default();
        for (plan, counts) in all {
            samples.events.insert(plan.event, counts);
        }
        (samples, truth)
    }

    fn observe(&mut self, record: &StageRecord) {
        if let Some(map) = &mut self.map
            && map.is_changed(record.program)
        {
            map.turn_to(record.program, &counts(&self.samplers));
            self.samplers.iter_mut().for_each(Sampler::forget);
        }
        let miss = self.miss_of(record);
        let waited = self.classify(record, miss);
        let row = self.truth.rows.entry(record.pc).or_default();
        row.executions += 1;
        for (what, cycles) in waited {
            row.spent[what as usize] += cycles;
        }
        let transfer = self.last_transfer.take();
        let transfer = transfer.filter(|(program, _)| *program == record.program);
        let transfer = transfer.map(|(_, pc)| pc);
        if let Some(from) = transfer {
            *self.truth.transfers.entry((from, record.pc)).or_default() += 1;
        }
        for &at in &self.following {
            self.samplers[at].runs(record.pc, transfer);
        }
        let transfers = record.inst.class.is_control();
        if transfers {
            self.last_transfer = Some((record.program, record.pc));
        }
        self.events(record, miss);
        if record.issue_cycle > self.last_issue {
            for sampler in &mut self.samplers {
                sampler.head(record.pc, record.issue_cycle, transfers);
            }
            self.last_issue = record.issue_cycle;
            if self.past.len() == PAST {
                self.past.pop_front();
            }
            self.past.push_back((record.issue_cycle, record.pc));
        }
        self.write(record);
    }

    /// The miss of fetch that an instruction waited for.
    fn miss_of(&mut self, record: &StageRecord) -> Option<(Cause, u64)> {
        while let Some(&(pc, cause, cycle)) = self.misses.front() {
            if cycle >= record.fetch_cycle {
                return None;
            }
            self.misses.pop_front();
            if pc == record.pc {
                return Some((cause, cycle));
            }
            // A wrong path asked.
        }
        None
    }

    /// Use of the cycles of an instruction at the head: issue, a miss of fetch, other waits of the front-end, the
    /// back-end.
    fn classify(&self, record: &StageRecord, miss: Option<(Cause, u64)>) -> [(Spent, u64); 5] {
        let head = record.issue_cycle.saturating_sub(self.last_issue);
        if head == 0 {
            return [(Spent::Execution, 0); 5];
        }
        let arrives = record.dispatch_cycle + self.dispatch_to_issue;
        let front = arrives.saturating_sub(self.last_issue + 1).min(head - 1);
        let missed = miss.map_or(0, |(_, since)| record.fetch_cycle - since);
        let missed = missed.min(front);
        // The line comes behind its translation.
        let in_tlb = match miss {
            Some((Cause::ITlb, _)) => self.itlb_miss.min(missed),
            _ => 0,
        };
        [
            (Spent::Execution, 1),
            (Spent::Itb, in_tlb),
            (Spent::ICache, missed - in_tlb),
            (self.in_front(record), front - missed),
            (self.behind(record), head - 1 - front),
        ]
    }

    fn in_front(&self, record: &StageRecord) -> Spent {
        let waited_at_dispatch =
            record.decode_cycle + self.decode_to_dispatch < record.dispatch_cycle;
        match record.gap {
            Cause::Mispredict => Spent::Mispredict,
            Cause::Serialize => Spent::Synchronization,
            _ if self.last_serialized || serializes(record.inst.class) => Spent::Synchronization,
            // The window is full of what waits for loads.
            _ if waited_at_dispatch => Spent::DCache,
            _ => Spent::Fetch,
        }
    }

    fn behind(&self, record: &StageRecord) -> Spent {
        match record.issue_stall {
            IssueStall::Slot | IssueStall::Block | IssueStall::Width => Spent::Slotting,
            IssueStall::Memory if record.inst.class == OpClass::Atomic => Spent::Synchronization,
            IssueStall::Memory => Spent::DCache,
            IssueStall::WriteBuffer => Spent::WriteBuffer,
            IssueStall::Unit if is_long(record.inst.class) => Spent::MulDiv,
            IssueStall::Unit => Spent::Unit,
            IssueStall::Frontend => Spent::Fetch,
            IssueStall::Operand | IssueStall::None => {
                let inst = &record.inst;
                let operands = [inst.rs1, inst.rs2, inst.rs3, inst.rd];
                let operands = operands
                    .iter()
                    .filter(|r| **r != reg::ZERO && **r != reg::SINK);
                let last = operands
                    .map(|r| self.writers[usize::from(*r)])
                    .max_by_key(|w| w.result_cycle);
                last.map_or(Spent::Dependence, |w| w.waits_for)
            }
        }
    }

    fn write(&mut self, record: &StageRecord) {
        let class = record.inst.class;
        self.last_serialized = serializes(class);
        let waits_for = match class {
            OpClass::Load => match record.cause {
                Cause::DTlb => Spent::Dtb,
                Cause::LoadL1 | Cause::Execute => Spent::Dependence,
                _ => Spent::DCache,
            },
            OpClass::Atomic => Spent::Synchronization,
            class if is_long(class) => Spent::MulDiv,
            _ => Spent::Dependence,
        };
        if record.inst.rd != reg::SINK {
            self.writers[usize::from(record.inst.rd)] = Writer {
                result_cycle: record.complete_cycle.saturating_sub(self.issue_to_execute),
                waits_for,
            };
        }
    }

    /// Counts the events of an instruction.
    fn events(&mut self, record: &StageRecord, miss: Option<(Cause, u64)>) {
        let missed = matches!(
            record.cause,
            Cause::LoadL2 | Cause::LoadL3 | Cause::LoadMemory
        );
        let is_load = record.inst.class == OpClass::Load;
        let read = record.issue_cycle + 1 + DELIVERY_CYCLES;
        let asked = miss.map_or(0, |(_, cycle)| cycle + DELIVERY_CYCLES);
        let has_missed_tlb = miss.is_some_and(|(cause, _)| cause == Cause::ITlb);
        let resolved = record.complete_cycle + DELIVERY_CYCLES;
        let all = [
            (Event::Imiss, miss.is_some(), asked),
            (Event::Itbmiss, has_missed_tlb, asked),
            (Event::Dmiss, is_load && missed, read),
            (Event::Dtbmiss, is_load && record.cause == Cause::DTlb, read),
            (Event::Branchmp, record.mispredicted, resolved),
        ];
        for (event, _, delivered) in all.into_iter().filter(|(_, happened, _)| *happened) {
            *self.truth.events.entry((event, record.pc)).or_default() += 1;
            for sampler in self.samplers.iter_mut().filter(|s| s.plan.event == event) {
                sampler.event(delivered);
                // The event may be delivered while an older instruction is at the head that has been seen already.
                for &(until, pc) in &self.past {
                    sampler.head(pc, until, false);
                }
            }
        }
    }
}

fn counts(samplers: &[Sampler]) -> Vec<&Counts> {
    samplers.iter().map(|sampler| &sampler.counts).collect()
}

/// Whether an instruction of this class executes alone.
fn serializes(class: OpClass) -> bool {
    matches!(
        class,
        OpClass::Syscall | OpClass::FenceI | OpClass::Csr | OpClass::Fence | OpClass::Atomic
    )
}

/// Whether it takes a unit for long.
pub(crate) fn is_long(class: OpClass) -> bool {
    matches!(
        class,
        OpClass::IntMul | OpClass::IntDiv | OpClass::FpDiv | OpClass::FpSqrt
    )
}

impl Probe for Observer {
    const KNOWS_PROGRAMS: bool = true;
}

impl PipelineProbe for Observer {
    const WANTS_STAGES: bool = true;

    fn finished(&mut self, record: &StageRecord) {
        if !record.squashed && record.is_program {
            self.observe(record);
        }
    }

    fn fetch_missed(&mut self, pc: u64, cause: Cause, cycle: u64) {
        self.misses.push_back((pc, cause, cycle));
    }
}
