//! Copies of the program's process on other contexts of its chip, as `fork` makes them.
//!
//! A copy is a process of its own, with a memory and an operating system that the guest knows nothing of. It runs on a
//! context that the guest does not see, to its end or for a number of instructions, and competes for whatever contexts
//! and cores share. It shares pages with its original until one of them writes there ([`page_faults`](super::page_faults)).
//!
//! The guest keeps one context, the first. While copies are possible, contexts get their turns a cycle at a time, so that
//! a fault is seen in the cycle of the store that it is of.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use hps_isa::editor::DecodeEditor;
use hps_isa::hart::{GuestCounters, NO_RESERVATION};
use hps_isa::likely::seldom;
use hps_isa::memory::MemoryError;
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::super::fetch::CodePage;
use super::page_faults::{Fault, PageFaults, Service, Written};
use super::{Chip, earliest};
use crate::model::{Cause, PipelineProbe};

/// Cycles that a copy runs between two times that it is held up, where it is slowed down.
const PACE: u64 = 1000;

/// On what terms a copy runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyTerms {
    /// Cycle in which the copy begins.
    pub from_cycle: u64,
    /// Instructions of the program, at most.
    pub instructions: u64,
    /// Factor, at least 1, by which the copy takes longer than it runs: the rest of the time its context does something
    /// that is not simulated, and fetches nothing.
    pub slowdown: f64,
}

/// A copy that has ended.
#[derive(Debug)]
pub struct EndedCopy<P> {
    /// Number of the processor that ran the copy.
    pub processor: usize,
    /// Why: [`Stop::Limit`] if it has had its instructions.
    pub stop: Stop,
    /// The cycles in which it began and ended.
    pub cycles: (u64, u64),
    /// Instructions of the program that it has committed.
    pub instructions: u64,
    /// Page faults of the copy.
    pub faults: PageFaults,
    /// Process of the copy.
    pub process: Process,
    /// Probe of the copy.
    pub probe: P,
}

/// The copies of a chip, and who shares pages with whom.
pub(super) struct Copies<P> {
    /// Cycles of a fault without the copying of a page.
    pub fault_cycles: u64,
    /// By processor. The first one is the original.
    pub sharers: Vec<Sharer<P>>,
    pub ended: Vec<EndedCopy<P>>,
    /// Frames that pages have moved to.
    pub frames: u64,
}

hps_isa::save_state! {
    impl[P] Copies<P> {
        fault_cycles: skip, sharers: skip, ended: skip, frames,
    }
}

/// A context whose process shares pages, or may do so.
pub(super) struct Sharer<P> {
    /// The copy that runs here.
    pub copy: Option<Running<P>>,
    /// Pages that the process has written; `None`: the process has not been copied yet, and is no copy.
    pub written: Option<Written>,
    /// Faults that have not been served.
    pub waiting: VecDeque<Fault>,
    /// The operating system serves the first of them.
    pub service: Option<Service>,
    pub faults: PageFaults,
}

impl<P> Sharer<P> {
    fn new() -> Self {
        Sharer {
            copy: None,
            written: None,
            waiting: VecDeque::new(),
            service: None,
            faults: PageFaults::default(),
        }
    }
}

/// A copy that runs.
pub(super) struct Running<P> {
    terms: CopyTerms,
    /// Process and probe that its context had before.
    vacant: (Process, P),
    /// Instructions that its context had committed before.
    before: u64,
    /// The cycle in which it is held up next.
    paced_at: u64,
}

impl<P: PipelineProbe> Copies<P> {
    fn new(processors: usize, fault_cycles: u64) -> Self {
        Copies {
            fault_cycles,
            sharers: (0..processors).map(|_| Sharer::new()).collect(),
            ended: Vec::new(),
            frames: 0,
        }
    }
}

impl<P: Clone> Clone for Copies<P> {
    /// Without copies: they cannot be made twice.
    fn clone(&self) -> Self {
        Copies {
            fault_cycles: self.fault_cycles,
            sharers: self.sharers.iter().map(|_| Sharer::new()).collect(),
            ended: Vec::new(),
            frames: self.frames,
        }
    }
}

/// Instructions that have no limit.
const ANY: u64 = u64::MAX;

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Keeps all contexts but the first for copies of the program, which sees one processor then. A page fault takes the
    /// operating system so many cycles, besides the copying of a page.
    pub fn keep_for_copies(&mut self, fault_cycles: u64) {
        for number in 1..self.processors.len() {
            self.process_mut().os.keep_for_observer(number);
        }
        let count = self.processors.len();
        self.copies = Some(Box::new(Copies::new(count, fault_cycles)));
    }

    /// Goes on until the program is between two of its instructions, outside of a page fault. The reason if it ends before.
    pub fn run_to_boundary(&mut self) -> Option<Stop> {
        self.plan_turns();
        let mut stop = None;
        self.look_at_faults(0);
        while stop.is_none() && !self.is_at_boundary() {
            stop = self.step_copies(NEVER, ANY).unwrap_or(None);
        }
        self.end_turns();
        stop
    }

    fn is_at_boundary(&self) -> bool {
        let faults = self.copies.as_ref().map(|copies| &copies.sharers[0]);
        let first = &self.processors[0];
        faults.is_none_or(|of| of.waiting.is_empty() && of.service.is_none())
            && first.context.is_between_instructions(&first.resources)
    }

    /// The operating system has the context of the program for so many cycles, from a [boundary](Self::run_to_boundary)
    /// on, or from where it has [done](Self::occupied_until) what it does already: the pipeline is empty meanwhile. Gives
    /// the cycle in which the program goes on.
    pub fn occupy(&mut self, cycles: u64) -> u64 {
        self.empty(0);
        self.occupy_context(0, Some(cycles))
    }

    /// The cycle in which the program goes on that the operating system has interrupted; this one if it runs.
    #[must_use]
    pub fn occupied_until(&self) -> u64 {
        let first = &self.processors[0];
        first.context.fetch.held_until().max(first.resources.now)
    }

    /// Nothing is in flight on a context.
    pub(super) fn empty(&mut self, number: usize) {
        let one = &mut self.processors[number];
        one.context.settle(&mut one.resources);
        one.context.empty_between_cycles(&mut one.resources);
    }

    /// The operating system has a context, whose pipeline is empty, for so many cycles more, or until
    /// [`wake`](Self::wake). Gives the cycle in which it goes on.
    pub(super) fn occupy_context(&mut self, number: usize, cycles: Option<u64>) -> u64 {
        let one = &mut self.processors[number];
        let until = one.context.occupy(one.resources.now, cycles);
        // The context may have stores on their way.
        let next = one.resources.now + u64::from(!one.resources.paused);
        one.next_cycle = one.next_cycle.min(next);
        until
    }

    /// The operating system leaves a context in a cycle, unless something else occupies it.
    pub(super) fn wake(&mut self, number: usize, at: u64) {
        let one = &mut self.processors[number];
        one.context.fetch.wake(at);
        let next = one.resources.now + u64::from(!one.resources.paused);
        one.next_cycle = one.next_cycle.min(next);
        one.context.last_commit = one.resources.now;
    }

    /// A copy of the program as it is, between two instructions of it, for [`place_copy`](Self::place_copy) or another
    /// machine, whose clocks go on where those of the program are. From now on both share pages: writes of the program to
    /// them are page faults.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn copy_process(&mut self) -> Result<Process, MemoryError> {
        let one = &mut self.processors[0];
        one.context.empty_between_cycles(&mut one.resources);
        // The operating system has taken the permission to write away.
        one.resources.memory.forget_translations();
        let counters = one.context.guest_counters(&one.resources);
        let process = &mut one.context.process;
        process.mem.clear_dirty();
        let mut copy = process.forked()?;
        copy.counters_before = counters.minus(idle(&copy));
        if let Some(copies) = &mut self.copies {
            copies.sharers[0].written = Some(Written::nothing(&one.context));
        }
        Ok(copy)
    }

    /// A context for a copy.
    #[must_use]
    pub fn place_for_copy(&self) -> Option<usize> {
        let copies = self.copies.as_ref()?;
        let is_free = |number: &usize| {
            copies.sharers[*number].copy.is_none() && self.processors[*number].context.rests
        };
        (1..self.processors.len()).find(is_free)
    }

    /// Copies that run.
    #[must_use]
    pub fn copies(&self) -> usize {
        let copies = self.copies.as_ref();
        copies.map_or(0, |copies| {
            let sharers = copies.sharers.iter();
            sharers.filter(|sharer| sharer.copy.is_some()).count()
        })
    }

    /// Copies that have ended since this was asked last.
    pub fn take_ended_copies(&mut self) -> Vec<EndedCopy<P>> {
        let copies = self.copies.as_mut();
        copies.map_or(Vec::new(), |copies| std::mem::take(&mut copies.ended))
    }

    /// Page faults of the program since it was copied first.
    #[must_use]
    pub fn page_faults(&self) -> PageFaults {
        let copies = self.copies.as_ref();
        copies.map_or(PageFaults::default(), |copies| copies.sharers[0].faults)
    }

    /// Lets a copy that has just been [made](Self::copy_process) run on a context, under a probe of its own.
    ///
    /// # Panics
    /// If the context is not [free](Self::place_for_copy).
    pub fn place_copy(
        &mut self,
        processor: usize,
        mut process: Process,
        probe: P,
        terms: CopyTerms,
    ) {
        let first = &self.processors[0];
        let (now, addresses) = (first.resources.now, first.context.addresses.clone());
        self.lend_core_to(processor);
        let one = &mut self.processors[processor];
        assert!(one.context.rests, "something runs there");
        one.skip_to(now);
        // Another copy may have ended there in a later cycle.
        let now = one.resources.now;
        let counters = std::mem::take(&mut process.counters_before);
        let hart = &process.thread.hart;
        let (pc, disepc, reservation) = (hart.pc, hart.disepc, hart.reservation);
        if reservation != NO_RESERVATION {
            let own = one.context.id.processor;
            process.guest.reservations.take(own, reservation);
        }
        let (context, resources) = (&mut one.context, &mut one.resources);
        let vacant = std::mem::replace(&mut context.process, process);
        let here = context.guest_counters(resources);
        let process = &mut context.process;
        process.counters_before = counters.minus(here.minus(idle(process)));
        context.code.clear();
        context.code.sync(&context.process.mem, &context.editor);
        context.code_page = CodePage::NONE;
        context.space = context.process.mem.space();
        context.addresses = addresses;
        resources.memory.set_address_space(&context.addresses);
        resources.memory.forget_translations();
        context.resume = disepc;
        let before = terms.from_cycle.saturating_sub(now);
        context.fetch.hold(now, before);
        context.fetch.redirect(pc, Cause::Idle, now);
        context.rests = false;
        context.last_commit = now;
        one.next_cycle = now + 1;
        let running = Running {
            terms,
            before: resources.stats.commit_program_instructions,
            vacant: (vacant, std::mem::replace(&mut context.probe, probe)),
            paced_at: terms.from_cycle + PACE,
        };
        one.plan_attention();
        let written = Some(Written::nothing(&one.context));
        if let Some(copies) = &mut self.copies {
            copies.sharers[processor] = Sharer {
                copy: Some(running),
                written,
                ..Sharer::new()
            };
        }
        self.end_turns();
    }

    /// The program waits until a copy ends. Gives for how many cycles.
    pub fn wait_for_copy(&mut self) -> u64 {
        let before = self.processors[0].resources.now;
        self.empty(0);
        self.occupy_context(0, None);
        self.plan_turns();
        while self.copies() > 0 && self.copies.as_ref().is_some_and(|all| all.ended.is_empty()) {
            if self.step_copies(NEVER, ANY).is_none() {
                break;
            }
        }
        self.end_turns();
        let ended = self.copies.as_ref().and_then(|copies| copies.ended.last());
        let cycle = ended.map_or(0, |copy| copy.cycles.1);
        self.processors[0].skip_to(cycle);
        let now = self.processors[0].resources.now;
        self.wake(0, now + 1);
        now - before
    }
}

/// A cycle that nothing comes to.
const NEVER: u64 = u64::MAX - 1;

/// The time that a process has waited while no cycles passed.
fn idle(process: &Process) -> GuestCounters {
    GuestCounters::default().after_idle(process.os.idle_ns())
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Whether a copy runs on a context.
    pub(super) fn has_copy(&self, number: usize) -> bool {
        let copies = self.copies.as_ref();
        seldom(copies.is_some_and(|copies| copies.sharers[number].copy.is_some()))
    }

    /// Lets contexts go on up to a cycle while copies are possible, or until the program has committed `end` instructions
    /// or has ended. The reason then.
    pub(super) fn run_with_copies(&mut self, last_cycle: u64, end: u64) -> Option<Stop> {
        self.look_at_faults(0);
        while let Some(stop) = self.step_copies(last_cycle.min(NEVER), end) {
            if stop.is_some() {
                return stop;
            }
        }
        let first = &mut self.processors[0];
        first.skip_to(last_cycle.min(first.next_cycle - 1));
        None
    }

    /// Lets the next context go on for a cycle, or the operating system with its page fault. `None`: nothing happens up to
    /// that cycle.
    fn step_copies(&mut self, last_cycle: u64, end: u64) -> Option<Option<Stop>> {
        let next_cycles = self.processors.iter().map(|one| one.next_cycle);
        let (processor, _) = match &self.hardware_threads {
            None => earliest(next_cycles, |processor, _| processor),
            Some(hardware_threads) => {
                earliest(next_cycles, |at, cycle| hardware_threads.order(at, cycle))
            }
        };
        let next = self.processors[processor].next_cycle;
        if let Some((cycle, number)) = self.next_service()
            && cycle <= next
        {
            return (cycle <= last_cycle).then(|| {
                self.serve(number);
                None
            });
        }
        (next <= last_cycle).then(|| match self.take_turn(processor, next, end) {
            ControlFlow::Break(stop) => Some(stop),
            ControlFlow::Continue(()) => None,
        })
    }

    /// Lets the copy on a context go on up to a cycle.
    #[cold]
    pub(super) fn take_turn_of_copy(&mut self, number: usize, until: u64) {
        let copy = self.copies.as_ref();
        let Some(copy) = copy.and_then(|copies| copies.sharers[number].copy.as_ref()) else {
            return;
        };
        let end = copy.before.saturating_add(copy.terms.instructions);
        self.lend_core_to(number);
        let one = &mut self.processors[number];
        one.resources
            .memory
            .obey(&mut self.shared, one.resources.now);
        let advanced = match self.hardware_threads {
            None => one
                .advance(&mut self.shared, until, end)
                .map_continue(|_| ()),
            Some(_) => self.advance_beside_siblings(number, until, end),
        };
        if !self.selected.is_empty() {
            self.show_to_others(number);
        }
        self.processors[number].context.process.os.take_changes();
        match advanced {
            ControlFlow::Continue(()) => {
                self.look_at_faults(number);
                self.slow_down(number);
            }
            ControlFlow::Break(stop) => {
                self.look_at_faults(number);
                self.end_copy(number, stop);
            }
        }
    }

    /// Holds up a copy for its share of the time.
    fn slow_down(&mut self, number: usize) {
        let now = self.processors[number].resources.now;
        let copies = self.copies.as_mut();
        let Some(copy) = copies.and_then(|copies| copies.sharers[number].copy.as_mut()) else {
            return;
        };
        if now >= copy.paced_at && copy.terms.slowdown > 1.0 {
            let cycles = ((copy.terms.slowdown - 1.0) * PACE as f64) as u64;
            copy.paced_at = now + cycles + PACE;
            self.processors[number].context.fetch.hold(now, cycles);
        }
    }

    /// A copy has ended: its context is as it was before.
    fn end_copy(&mut self, number: usize, stop: Stop) {
        let Some(copies) = &mut self.copies else {
            return;
        };
        let sharer = std::mem::replace(&mut copies.sharers[number], Sharer::new());
        let Some(copy) = sharer.copy else {
            return;
        };
        let one = &mut self.processors[number];
        let (context, resources) = (&mut one.context, &mut one.resources);
        context.settle(resources);
        resources.paused = false;
        context.halted = None;
        context.empty_between_cycles(resources);
        let process = std::mem::replace(&mut context.process, copy.vacant.0);
        let probe = std::mem::replace(&mut context.probe, copy.vacant.1);
        context.fetch.release();
        context.rest();
        context.process.os.take_changes();
        one.next_cycle = u64::MAX;
        copies.ended.push(EndedCopy {
            processor: number,
            stop,
            cycles: (copy.terms.from_cycle, resources.now),
            instructions: resources.stats.commit_program_instructions - copy.before,
            faults: sharer.faults,
            process,
            probe,
        });
        self.end_share(number);
    }
}
