//! The fast loop: threaded code, and the instructions that its handlers leave to the machine.

use hps_isa::editor::DecodeEditor;
use hps_isa::exec::{self, Outcome};
use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use hps_isa::probe::Probe;
use hps_isa::threaded::{self, From};
use hps_isa::trap::TrapCause;
use hps_system::process::{Process, Thread};

use super::{Event, Machine, functional_counters, report};

/// End of a run of threaded code.
pub(super) enum Burnt {
    /// The fuel is used up.
    Fuel,
    /// No instruction can be fetched at `hart.pc`.
    Nowhere,
    /// The block at `hart.pc` is compiled or hot.
    Entry,
    /// The outer loop is needed.
    Event(Event),
}

impl<E: DecodeEditor> Machine<E> {
    /// Runs threaded code until something needs the outer loop, or the limit is near.
    #[inline(never)]
    pub(super) fn run_threaded<P: Probe>(
        &mut self,
        probe: &mut P,
        end: u64,
    ) -> Result<Event, TrapCause> {
        while let Some(fuel) = (end - self.retired.program).checked_sub(threaded::MAX_BLOCK) {
            let fuel = fuel.min(threaded::FUEL) as i64;
            let from = From::Pc(self.process.thread.hart.pc);
            match self.burn(probe, from, fuel) {
                Burnt::Fuel | Burnt::Entry => {}
                Burnt::Nowhere => break,
                Burnt::Event(event) => return Ok(event),
            }
        }
        self.run_plain(probe, end)
    }

    /// Runs threaded code until the fuel is used up. Instructions that handlers leave undone are executed here.
    pub(super) fn burn<P: Probe>(&mut self, probe: &mut P, mut from: From, mut fuel: i64) -> Burnt {
        loop {
            let Process {
                guest,
                thread: Thread { hart, .. },
                ..
            } = &mut self.process;
            let mem = &mut guest.mem;
            let (rest, stop) =
                self.threaded
                    .run(from, fuel, hart, mem, &mut self.code, &self.editor, probe);
            self.retired.program += (fuel - rest) as u64;
            fuel = rest;
            let (inst, pc, done) = match stop {
                threaded::Stop::Instruction { inst, pc, done } => (inst, pc, done),
                threaded::Stop::Fuel(pc) => {
                    hart.pc = pc;
                    return Burnt::Fuel;
                }
                threaded::Stop::Nowhere(pc) => {
                    hart.pc = pc;
                    return Burnt::Nowhere;
                }
                threaded::Stop::Entry(pc) => {
                    hart.pc = pc;
                    return Burnt::Entry;
                }
            };
            let before = self.retired.program + done;
            if inst.class == OpClass::Csr {
                hart.counters = functional_counters(before)
                    .plus(guest.counters_before)
                    .after_idle(guest.os.idle_ns());
            }
            let addr = inst.data_address(hart.r[inst.rs1 as usize]);
            let next = pc.wrapping_add(u64::from(inst.len));
            let (target, taken) = match exec::execute_seldom(hart, mem, &inst, pc) {
                Outcome::Next => (next, false),
                Outcome::Taken(target) => (target, true),
                other => {
                    self.retired.program = before;
                    hart.pc = pc;
                    return Burnt::Event(Event::Special(pc, inst, other));
                }
            };
            if P::ENABLED {
                report(probe, pc, DisePc::NONE, &inst, true, addr, target, taken);
            }
            from = if taken {
                self.retired.program = before + 1;
                hart.pc = target;
                fuel -= done as i64 + 1;
                if fuel < 0 {
                    return Burnt::Fuel;
                }
                From::Pc(target)
            } else {
                From::Behind
            };
        }
    }
}
