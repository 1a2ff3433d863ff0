//! The functional machine: every instruction in one step, no time.
//!
//! The functional machine is the oracle of the pipeline and the engine of one-pass sweeps. A [`DecodeEditor`] expands
//! instructions here exactly as in the pipeline's decode stage, so that what DISE collects can be compared count for
//! count.
//!
//! Without an editor, and for probes that do not want every instruction, it runs threaded code
//! (`hps_isa::threaded`), and without a probe code that a translator has compiled ([`hps_isa::translator`]);
//! else, and for the last few instructions before a limit, a plain loop over predecoded code.

mod attend;
mod fast;
mod fork;
mod saved;
mod spaces;
mod translated;

use hps_isa::code::{CodeCache, HandlerLink, PAGE_SHIFT, SLOTS};
use hps_isa::editor::{self, DecodeEditor, NoEditor, laid};
use hps_isa::exec::{self, Outcome};
use hps_isa::hart::GuestCounters;
use hps_isa::ids::DisePc;
use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::probe::{NoProbe, Probe, Retired};
use hps_isa::threaded::Threaded;
use hps_isa::translator::Translator;
use hps_isa::trap::{Trap, TrapCause};
pub use hps_system::process::Stop;
use hps_system::process::{Alone, Process, Then};

pub use self::fork::Fork;
use self::spaces::Spaces;

/// How many instructions a machine has retired, by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RetiredCounts {
    /// Instructions of the program.
    pub program: u64,
    /// Replacement instructions other than the trigger.
    pub inserted: u64,
    /// Instructions of handlers.
    pub handler: u64,
}

impl RetiredCounts {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.program + self.inserted + self.handler
    }
}

/// The functional machine.
pub struct Machine<E: DecodeEditor = NoEditor> {
    /// The program: registers, memory, system calls.
    pub process: Process,
    /// The decode-stage editor.
    pub editor: E,
    /// Instructions retired so far.
    pub retired: RetiredCounts,
    code: CodeCache,
    threaded: Threaded,
    /// Compiles hot code once the run is long enough.
    later: Option<Box<dyn Translator>>,
    /// Code of processes that do not run.
    spaces: Spaces,
    link: Option<HandlerLink>,
    seq: u64,
}

/// Event that the inner loop hands to the outer one.
enum Event {
    /// The outcome of the instruction at this address needs the outer loop.
    Special(u64, Inst, Outcome),
    /// Start or resume the expansion of the instruction at `hart.pc`.
    Expand { pc: u64, trigger: Inst, at: DisePc },
    /// The limit was reached.
    Limit,
}

impl Machine<NoEditor> {
    /// A machine without an editor.
    #[must_use]
    pub fn new(process: Process) -> Self {
        Self::with_editor(process, NoEditor)
    }
}

impl<E: DecodeEditor> Machine<E> {
    /// A machine whose decode stage holds `editor`.
    #[must_use]
    pub fn with_editor(process: Process, editor: E) -> Self {
        let isa = process.image.isa;
        Machine {
            process,
            editor,
            retired: RetiredCounts::default(),
            code: CodeCache::new(isa),
            threaded: Threaded::default(),
            later: None,
            spaces: Spaces::default(),
            link: None,
            seq: 0,
        }
    }

    /// The counters as the guest reads them.
    #[must_use]
    pub fn guest_counters(&self) -> GuestCounters {
        functional_counters(self.retired.program)
            .plus(self.process.counters_before)
            .after_idle(self.process.os.idle_ns())
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(&mut NoProbe, u64::MAX)
    }

    /// Runs until `limit` further instructions of the program have retired, or until it ends.
    pub fn run<P: Probe>(&mut self, probe: &mut P, limit: u64) -> Stop {
        let end = self.retired.program.saturating_add(limit);
        let stop = self.run_in_time(probe, end);
        // What was written there last depends on how the instructions were executed.
        self.process.thread.hart.r[reg::SINK as usize] = 0;
        stop
    }

    /// Runs until `end` instructions of the program have retired, in slices if the time that this may take has
    /// a limit.
    fn run_in_time<P: Probe>(&mut self, probe: &mut P, end: u64) -> Stop {
        /// Instructions between two looks at the clock.
        const SLICE: u64 = 1 << 24;
        loop {
            if self.process.os.is_out_of_time() {
                return Stop::Fault(Trap::stopped(self.process.thread.hart.pc));
            }
            let slice = self.process.os.instructions_in_time(SLICE);
            let until = self.retired.program.saturating_add(slice).min(end);
            let until = self.until_translation(until);
            match self.run_to_deadline(probe, until) {
                Stop::Limit if until < end && !(P::CAN_STOP && probe.has_stopped()) => {}
                stop => return stop,
            }
        }
    }

    /// Runs until `end` instructions of the program have retired, and does what the operating system has to do on
    /// the way: the turns of threads, timers.
    fn run_to_deadline<P: Probe>(&mut self, probe: &mut P, end: u64) -> Stop {
        loop {
            let until = self.deadline().min(end);
            match self.run_until(probe, until) {
                Stop::Limit => {}
                stop => return stop,
            }
            if self.retired.program >= end || P::CAN_STOP && probe.has_stopped() {
                return Stop::Limit;
            }
            if self.deadline() <= self.retired.program
                && let Some(stop) = self.attend(probe)
            {
                return stop;
            }
        }
    }

    /// After how many instructions of the program its operating system has something to do.
    fn deadline(&self) -> u64 {
        match self.process.os.deadline_ns() {
            u64::MAX => u64::MAX,
            deadline => {
                let left = deadline.saturating_sub(self.guest_counters().time_ns);
                self.retired.program.saturating_add(left)
            }
        }
    }

    /// All instructions are executed by the plain loop. Otherwise it executes only the last few before a limit.
    const fn is_plain<P: Probe>() -> bool {
        E::ENABLED || E::RELAYOUT || P::WANTS_RETIRED || P::WANTS_VALUES
    }

    fn run_until<P: Probe>(&mut self, probe: &mut P, end: u64) -> Stop {
        loop {
            if !self.code.is_in_step(self.process.mem.code_epoch()) {
                self.change_space();
            }
            if self.code.sync(&self.process.mem, &self.editor) {
                self.threaded.clear();
            }
            let event = if Self::is_plain::<P>() {
                self.run_plain(probe, end)
            } else if !P::ENABLED && self.threaded.translator.is_some() {
                self.run_translated(end)
            } else {
                self.run_threaded(probe, end)
            };
            let event = match event {
                Ok(event) => event,
                Err(cause) => Event::Special(
                    self.process.thread.hart.pc,
                    Inst::illegal(0),
                    Outcome::Trap(cause),
                ),
            };
            let stop = match event {
                Event::Limit => return Stop::Limit,
                Event::Expand { pc, trigger, at } => self.expand(probe, pc, trigger, at),
                Event::Special(pc, inst, outcome) => {
                    let stop = self.special(probe, pc, inst, outcome);
                    // What the operating system has to do, and when, may have changed.
                    stop.or_else(|| self.process.os.has_deadline().then_some(Stop::Limit))
                }
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
    }

    /// Straight through predecoded code until something needs the outer loop.
    #[inline(never)]
    fn run_plain<P: Probe>(&mut self, probe: &mut P, end: u64) -> Result<Event, TrapCause> {
        let hart = &mut self.process.thread.hart;
        let mem = &mut self.process.guest.mem;
        let mut pc = hart.pc;
        if E::ENABLED && hart.disepc != DisePc::NONE {
            let at = hart.disepc;
            let trigger = self.code.lookup(pc, mem, &self.editor)?.inst;
            return Ok(Event::Expand { pc, trigger, at });
        }
        let in_handler = E::ENABLED && self.link.is_some();
        let start = if in_handler {
            self.retired.handler
        } else {
            self.retired.program
        };
        let budget = if in_handler { u64::MAX } else { end - start };
        let mut done: u64 = 0;
        let mut page = self.code.page(pc)?;
        let event = loop {
            if done >= budget {
                break Event::Limit;
            }
            let at = ((pc >> 1) as usize) & (SLOTS - 1);
            let slot = &self.code.slots(page)[at];
            if slot.inst.len == 0 || pc & 1 != 0 {
                hart.pc = pc;
                if let Err(cause) = self.code.fill(page, pc, mem, &self.editor) {
                    break Event::Special(pc, Inst::illegal(0), Outcome::Trap(cause));
                }
                continue;
            }
            let inst = slot.inst;
            if P::CAN_STOP && !in_handler && probe.stops_before(pc, &inst) {
                break Event::Limit;
            }
            let origin = if E::RELAYOUT { slot.mask } else { 0 };
            if E::ENABLED && slot.mask != 0 && !in_handler {
                self.seq += 1;
                let decision = self.editor.decide(self.seq, slot.mask, pc, &inst, &hart.r);
                self.editor.commit(self.seq);
                if let Some(production) = decision.production {
                    break Event::Expand {
                        pc,
                        trigger: inst,
                        at: DisePc::new(production, 0),
                    };
                }
            }
            let addr = if P::WANTS_MEMORY || P::WANTS_RETIRED {
                inst.data_address(hart.r[inst.rs1 as usize])
            } else {
                0
            };
            if inst.class == OpClass::Csr {
                let n = self.retired.program + if in_handler { 0 } else { done };
                hart.counters = functional_counters(n)
                    .plus(self.process.guest.counters_before)
                    .after_idle(self.process.guest.os.idle_ns());
            }
            if E::ENABLED
                && !in_handler
                && inst.class.is_memory()
                && let addr = inst.data_address(hart.r[inst.rs1 as usize])
                && let Some(cause) = editor::refused(&inst, addr)
            {
                break Event::Special(pc, inst, Outcome::Trap(cause));
            }
            let next = pc.wrapping_add(u64::from(inst.len));
            let outcome = if Self::is_plain::<P>() {
                exec::execute(hart, mem, &inst, pc)
            } else {
                exec::execute_seldom(hart, mem, &inst, pc)
            };
            let (target, taken) = match outcome {
                Outcome::Next => (next, false),
                Outcome::Taken(target) if E::RELAYOUT && origin == 0 => {
                    let editor = &self.editor;
                    (editor::transfer(editor, hart, &inst, pc, target), true)
                }
                Outcome::Taken(target) => (target, true),
                other => break Event::Special(pc, inst, other),
            };
            if E::RELAYOUT && origin & laid::HANDLER != 0 {
                self.retired.handler += 1;
            } else if E::RELAYOUT && origin != 0 {
                self.retired.inserted += 1;
            } else {
                done += 1;
            }
            if P::WANTS_VALUES && !in_handler && origin == 0 && inst.rd != reg::SINK {
                probe.value(pc, &inst, hart.r[inst.rd as usize]);
            }
            if P::ENABLED {
                report(
                    probe,
                    pc,
                    DisePc::NONE,
                    &inst,
                    !in_handler && origin == 0,
                    addr,
                    target,
                    taken,
                );
                if P::WANTS_WRONG_PATHS && probe.wants_wrong_path() {
                    probe.wrong_path(hart, &mut mem.view().read_only());
                }
            }
            let crossed = (pc ^ target) >> PAGE_SHIFT != 0;
            pc = target;
            if crossed {
                page = match self.code.page(pc) {
                    Ok(page) => page,
                    Err(cause) => {
                        break Event::Special(pc, Inst::illegal(0), Outcome::Trap(cause));
                    }
                };
            }
        };
        hart.pc = pc;
        if in_handler {
            self.retired.handler += done;
        } else {
            self.retired.program += done;
        }
        Ok(event)
    }

    /// Runs the replacement sequence of `trigger` from position `at` to its end, a handler call,
    /// or a transfer out of it.
    fn expand<P: Probe>(
        &mut self,
        probe: &mut P,
        pc: u64,
        trigger: Inst,
        at: DisePc,
    ) -> Option<Stop> {
        let production = at.production().unwrap_or(0);
        let mut index = at.index();
        let next = pc.wrapping_add(u64::from(trigger.len));
        self.process.thread.hart.disepc = DisePc::NONE;
        while let Some(r) = self.editor.replacement(production, index, pc, &trigger) {
            let here = DisePc::new(production, index);
            let hart = &mut self.process.thread.hart;
            let addr = r.inst.data_address(hart.r[r.inst.rs1 as usize]);
            let outcome = match editor::refused(&r.inst, addr) {
                Some(cause) if r.is_trigger => Outcome::Trap(cause),
                _ => exec::execute_seldom(hart, &mut self.process.guest.mem, &r.inst, pc),
            };
            let (target, taken) = match outcome {
                Outcome::Next => (next, false),
                Outcome::Taken(target) => (target, true),
                Outcome::DiseTaken(to) => {
                    self.retired.inserted += 1;
                    index = to;
                    continue;
                }
                Outcome::DiseCall(handler) => {
                    self.retired.inserted += 1;
                    self.link = Some(HandlerLink {
                        pc,
                        disepc: DisePc::new(production, index + 1),
                    });
                    self.process.thread.hart.pc = handler;
                    return None;
                }
                other => {
                    self.process.thread.hart.disepc = here;
                    let stop = self.special(probe, pc, r.inst, other);
                    let hart = &self.process.thread.hart;
                    if stop.is_some() || (hart.pc, hart.disepc) != (next, DisePc::NONE) {
                        return stop;
                    }
                    // A system call inside the sequence went through.
                    index += 1;
                    continue;
                }
            };
            if r.is_trigger {
                self.retired.program += 1;
            } else {
                self.retired.inserted += 1;
            }
            if P::ENABLED {
                report(probe, pc, here, &r.inst, r.is_trigger, addr, target, taken);
                if P::WANTS_WRONG_PATHS && probe.wants_wrong_path() {
                    let mut memory = self.process.guest.mem.view().read_only();
                    probe.wrong_path(&self.process.thread.hart, &mut memory);
                }
            }
            if taken {
                self.process.thread.hart.pc = target;
                return None;
            }
            index += 1;
            if r.is_last {
                break;
            }
        }
        self.process.thread.hart.pc = next;
        None
    }

    /// System calls, faults and what handlers ask for. `hart.pc` is the instruction's on entry.
    #[cold]
    fn special<P: Probe>(
        &mut self,
        probe: &mut P,
        pc: u64,
        inst: Inst,
        outcome: Outcome,
    ) -> Option<Stop> {
        let in_handler = self.link.is_some()
            || E::RELAYOUT && {
                let laid = self.editor.laid_out(pc);
                laid.is_some_and(|laid| laid.origin & laid::HANDLER != 0)
            };
        if outcome == Outcome::DiseReturn && in_handler {
            self.retired.handler += 1;
            if let Some(link) = self.link.take() {
                self.process.thread.hart.pc = link.pc;
                self.process.thread.hart.disepc = link.disepc;
            }
            return None;
        }
        match Alone::of(outcome, in_handler) {
            Ok(what) => self.alone(probe, pc, inst, what, in_handler),
            Err(cause) => self.fault(pc, cause, in_handler),
        }
    }

    fn alone<P: Probe>(
        &mut self,
        probe: &mut P,
        pc: u64,
        inst: Inst,
        what: Alone,
        in_handler: bool,
    ) -> Option<Stop> {
        let next = pc.wrapping_add(u64::from(inst.len));
        // An access that is refused is no instruction that has retired.
        let accessed = (what == Alone::Wide).then(|| {
            let process = &mut self.process;
            process.execute_serializing(&mut self.editor, what, pc, next)
        });
        if let Some(Then::Fault(cause)) = accessed.map(|done| done.then) {
            return self.fault(pc, cause, in_handler);
        }
        if in_handler {
            self.retired.handler += 1;
        } else {
            self.retired.program += 1;
        }
        self.process.thread.hart.counters = self.guest_counters();
        if P::ENABLED && what != Alone::Drain {
            let disepc = self.process.thread.hart.disepc;
            report(probe, pc, disepc, &inst, !in_handler, 0, next, false);
        }
        let done = accessed.unwrap_or_else(|| {
            let process = &mut self.process;
            process.execute_serializing(&mut self.editor, what, pc, next)
        });
        let hart = &mut self.process.thread.hart;
        match done.then {
            Then::Next => (hart.pc, hart.disepc) = (next, DisePc::NONE),
            Then::Elsewhere { pc, .. } => hart.pc = pc,
            Then::Exit(code) => return Some(Stop::Exit(code)),
            Then::Fault(cause) => return self.fault(pc, cause, in_handler),
        }
        None
    }

    fn fault(&mut self, pc: u64, cause: TrapCause, in_handler: bool) -> Option<Stop> {
        let at = (pc, self.process.thread.hart.disepc);
        match self.process.take_fault(&self.editor, at, cause, in_handler) {
            Ok(handler) => {
                self.process.thread.hart.pc = handler;
                None
            }
            Err(stop) => Some(stop),
        }
    }
}

/// Guest time in a functional run: one instruction is one cycle is one nanosecond.
fn functional_counters(instructions: u64) -> GuestCounters {
    GuestCounters {
        cycle: instructions,
        time_ns: instructions,
        instret: instructions,
    }
}

/// Hands one retired instruction to the hooks that a probe asks for.
#[allow(clippy::too_many_arguments)] // one flat record, inlined away in the loops that call it
#[inline(always)]
pub fn report<P: Probe>(
    probe: &mut P,
    pc: u64,
    disepc: DisePc,
    inst: &Inst,
    is_program: bool,
    addr: u64,
    target: u64,
    taken: bool,
) {
    if P::WANTS_RETIRED {
        probe.retired(&Retired {
            pc,
            disepc,
            inst,
            is_program,
            addr,
            target,
            taken,
        });
    }
    if is_program {
        if P::WANTS_MEMORY && inst.class.is_memory() {
            probe.memory(pc, inst, addr);
        }
        if P::WANTS_CONTROL && inst.class.is_control() {
            probe.control(pc, inst, target, taken);
        }
    }
}
