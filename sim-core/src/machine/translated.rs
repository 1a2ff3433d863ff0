//! The loop over compiled code, and over threaded code where nothing is compiled.

use hps_isa::code::CodeCache;
use hps_isa::editor::DecodeEditor;
use hps_isa::exec::{self, Outcome};
use hps_isa::inst::{Inst, OpClass};
use hps_isa::memory::Memory;
use hps_isa::probe::NoProbe;
use hps_isa::threaded::{self, From, Threaded};
use hps_isa::translator::{Code, Translator};
use hps_isa::trap::TrapCause;
use hps_system::process::{Process, Thread};

use super::fast::Burnt;
use super::{Event, Machine, functional_counters};

/// The most instructions that compiled code executes in one go: more than any run between two looks at the clock.
const MOST_FUEL: u64 = 1 << 40;

/// Entries that are counted of a block that cannot be compiled: it is never asked for again.
const NEVER: i64 = i64::MAX;

/// The code of a machine, for its translator.
struct MachineCode<'a, E> {
    code: &'a mut CodeCache,
    mem: &'a Memory,
    editor: &'a E,
    threaded: &'a Threaded,
}

impl<E: DecodeEditor> Code for MachineCode<'_, E> {
    fn at(&mut self, pc: u64) -> Option<Inst> {
        let slot = self.code.lookup(pc, self.mem, self.editor).ok()?;
        Some(slot.inst)
    }

    fn was_target(&self, pc: u64) -> bool {
        self.threaded.has_block(pc)
    }
}

impl<E: DecodeEditor> Machine<E> {
    /// Compiles hot code by this translator once the run is long enough ([`Translator::begins_after`]), in runs without an
    /// editor and without a probe. Until then no entries are counted, and code runs as without a translator.
    pub fn translate_with(&mut self, translator: Box<dyn Translator>) {
        self.later = Some(translator);
        self.until_translation(u64::MAX);
    }

    /// Begins to count entries if the run is long enough. Gives how far the run may go before that is asked again, at most
    /// `until`.
    pub(super) fn until_translation(&mut self, until: u64) -> u64 {
        let Some(translator) = self.later.take() else {
            return until;
        };
        let begins = translator.begins_after();
        if self.retired.program < begins {
            self.later = Some(translator);
            return until.min(begins);
        }
        self.threaded.translator = Some(translator);
        self.threaded.clear();
        self.spaces.translate_as(&self.threaded);
        until
    }

    /// Runs compiled and threaded code until something needs the outer loop, or the limit is near.
    #[inline(never)]
    pub(super) fn run_translated(&mut self, end: u64) -> Result<Event, TrapCause> {
        while let Some(fuel) = (end - self.retired.program).checked_sub(threaded::MAX_BLOCK) {
            let pc = self.process.thread.hart.pc;
            let burnt = match self.run_compiled(pc, fuel) {
                Ok(burnt) => burnt,
                Err(from) => self.burn(&mut NoProbe, from, fuel.min(threaded::FUEL) as i64),
            };
            match burnt {
                Burnt::Fuel => {}
                Burnt::Entry => self.compile(),
                Burnt::Nowhere => break,
                Burnt::Event(event) => return Ok(event),
            }
        }
        self.run_plain(&mut NoProbe, end)
    }

    /// Runs the compiled code at `pc`. Gives where threaded code goes on instead if there is none, or if it could execute
    /// more than `fuel` instructions.
    fn run_compiled(&mut self, pc: u64, fuel: u64) -> Result<Burnt, From> {
        let translator = self.threaded.translator.as_mut().ok_or(From::Pc(pc))?;
        let Some(fuel) = fuel.checked_sub(translator.most_beyond()) else {
            // Compiled code that could run beyond the limit is passed over.
            return Err(match translator.has(pc) {
                true => From::Inside(pc),
                false => From::Pc(pc),
            });
        };
        let fuel = fuel.min(MOST_FUEL) as i64;
        let (guest, hart) = (&mut self.process.guest, &mut self.process.thread.hart);
        let ran = translator.run(pc, hart, &mut guest.mem, fuel);
        let (rest, left) = ran.ok_or(From::Pc(pc))?;
        self.retired.program += (fuel - rest) as u64;
        hart.pc = left.pc;
        Ok(match left.at_seldom {
            true => self.execute_one(),
            false => Burnt::Fuel,
        })
    }

    /// Asks for compiled code at the next address, unless there is some.
    fn compile(&mut self) {
        let pc = self.process.thread.hart.pc;
        let Some(mut translator) = self.threaded.translator.take() else {
            return;
        };
        let mut code = MachineCode {
            code: &mut self.code,
            mem: &self.process.guest.mem,
            editor: &self.editor,
            threaded: &self.threaded,
        };
        let is_compiled = translator.has(pc) || translator.compile(pc, &mut code);
        self.threaded.translator = Some(translator);
        let left = if is_compiled { 0 } else { NEVER };
        self.threaded.count_entries(pc, left);
    }

    /// Executes the next instruction, which compiled code has left to the machine.
    fn execute_one(&mut self) -> Burnt {
        let Process {
            guest,
            thread: Thread { hart, .. },
            ..
        } = &mut self.process;
        let pc = hart.pc;
        let Ok(slot) = self.code.lookup(pc, &guest.mem, &self.editor) else {
            return Burnt::Nowhere;
        };
        let inst = slot.inst;
        if inst.class == OpClass::Csr {
            hart.counters = functional_counters(self.retired.program)
                .plus(guest.counters_before)
                .after_idle(guest.os.idle_ns());
        }
        hart.pc = match exec::execute_seldom(hart, &mut guest.mem, &inst, pc) {
            Outcome::Next => pc.wrapping_add(u64::from(inst.len)),
            Outcome::Taken(target) => target,
            other => return Burnt::Event(Event::Special(pc, inst, other)),
        };
        self.retired.program += 1;
        Burnt::Fuel
    }
}
