//! Architectural state behind a commit: the functional machine runs the program again up to there.
//!
//! Guest time follows from cycles in a timed run, and from instructions here: a program that reads a clock may see
//! other values.

use hps_dise::DiseEngine;
use hps_dise::flags::{FlagCondition, flag_name, overflow_bit, zero_bit};
use hps_isa::hart::Hart;
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_isa::said;
use hps_lab::{Editable, PlacedEdit, Productions};
use hps_sim_core::machine::Machine;
use hps_system::process::Process;

use crate::protocol::{CodeLine, Flag, Match, Problem, Register, StateView, address_of, hex};
use crate::session::Session;
use crate::setup::Ready;

/// Instructions that are shown ahead.
const AHEAD: usize = 12;
/// Most bytes of memory that are told at once.
const MOST_BYTES: u64 = 4096;

/// The functional machine, with an engine or without.
enum Functional {
    Plain(Box<Machine>),
    Dise(Box<Machine<DiseEngine>>),
}

/// Evaluates one expression on either machine.
macro_rules! both {
    ($self:expr, $machine:ident => $what:expr) => {
        match $self {
            Functional::Plain($machine) => $what,
            Functional::Dise($machine) => $what,
        }
    };
}

/// The functional machine that follows the run.
pub(crate) struct Replay {
    machine: Functional,
    /// Edits that it has made.
    edits: usize,
}

impl Replay {
    fn open(ready: &Ready) -> Result<Replay, Problem> {
        let machine = match &ready.productions {
            None => Functional::Plain(Box::new(ready.lab().open()?)),
            Some(productions) => {
                Functional::Dise(Box::new(ready.lab().edited_by(productions).open()?))
            }
        };
        Ok(Replay { machine, edits: 0 })
    }

    fn process(&self) -> &Process {
        both!(&self.machine, machine => &machine.process)
    }

    fn instructions(&self) -> u64 {
        both!(&self.machine, machine => machine.retired.program)
    }

    /// Runs until so many instructions of the program have been executed, and makes the edits up to there. A program that
    /// ends early stops at the limit at the latest.
    fn run_to(&mut self, wanted: u64, edits: &[PlacedEdit]) {
        loop {
            let next = edits.get(self.edits);
            let until = next.map_or(wanted, |next| next.position.min(wanted));
            let left = until.saturating_sub(self.instructions());
            both!(&mut self.machine, machine => machine.run(&mut NoProbe, left));
            match next {
                Some(next) if next.position <= self.instructions() => {
                    both!(&mut self.machine, machine => _ = machine.edit(next.context, &next.edit));
                    self.edits += 1;
                }
                _ => return,
            }
        }
    }

    fn counters(&self) -> &[u32] {
        match &self.machine {
            Functional::Plain(_) => &[],
            Functional::Dise(machine) => machine.editor.counters(),
        }
    }
}

impl Session {
    /// The machine behind the last commit of a cycle, and the registers one instruction before.
    fn replay(&mut self, cycle: u64) -> Result<([u64; reg::COUNT], &Ready, &Replay), Problem> {
        let (ready, recorded, kept) = self.replayed()?;
        let wanted = recorded.sums(recorded.commits_until(cycle)).program;
        let before = wanted.saturating_sub(1);
        let mut replay = match kept.take() {
            Some(replay) if replay.instructions() <= before => replay,
            _ => Replay::open(ready)?,
        };
        replay.run_to(before, &ready.edits);
        let registers = replay.process().thread.hart.r;
        replay.run_to(wanted, &ready.edits);
        let replay = kept.insert(replay);
        Ok((registers, ready, replay))
    }

    /// The machine of several contexts behind the last commit of a cycle. Threads of the functional machine take turns in
    /// another order than those of a timed run, so that this one runs again instead. `None` if no thread is on the context.
    fn look<R>(
        &mut self,
        cycle: u64,
        context: u64,
        look: impl FnOnce(&Process, &Hart, &[u32]) -> R,
    ) -> Result<Option<R>, Problem> {
        let cycles = self.cycles();
        let (ready, rerun) = self.rerun()?;
        rerun.look(ready, cycle.min(cycles), context, look)
    }

    /// Registers, counters, and what comes next.
    pub(crate) fn state(&mut self, cycle: u64, context: u64) -> Result<StateView, Problem> {
        if !self.has_peers() {
            let (before, ready, replay) = self.replay(cycle)?;
            let process = replay.process();
            let productions = ready.productions.as_ref();
            let view = view(
                process,
                &process.thread.hart,
                productions,
                replay.counters(),
            );
            return Ok(StateView {
                instructions: replay.instructions(),
                ..marked(view, &before)
            });
        }
        let recorded = self.recorded()?;
        let instructions = recorded.sums(recorded.commits_until(cycle)).program;
        let productions = self.ready().productions.clone();
        let before = self.look(cycle.saturating_sub(1), context, |_, hart, _| hart.r)?;
        let found = self.look(cycle, context, |process, hart, counters| {
            let before = before.as_ref().unwrap_or(&hart.r);
            marked(view(process, hart, productions.as_ref(), counters), before)
        })?;
        let nobody = said!("No thread is on this context in this cycle.");
        Ok(StateView {
            instructions,
            ..found.unwrap_or_else(|| StateView {
                missing: nobody.to_string(),
                ..StateView::default()
            })
        })
    }

    /// Bytes of memory behind the last commit of a cycle, and the address of the first one.
    pub(crate) fn memory(
        &mut self,
        cycle: u64,
        context: u64,
        address: &str,
        bytes: u64,
    ) -> Result<(String, Vec<String>), Problem> {
        let address = match (address.parse::<f64>(), address.starts_with("0x")) {
            (_, true) | (Err(_), _) => self.address_named(address)?,
            (Ok(_), false) => address_of(address)?,
        };
        let read = |process: &Process| {
            let byte = |at: u64| match process.mem.read::<1>(address.wrapping_add(at)) {
                Ok(byte) => format!("{byte:02x}"),
                Err(_) => "--".to_owned(),
            };
            (0..bytes.min(MOST_BYTES)).map(byte).collect()
        };
        let bytes = match self.has_peers() {
            false => read(self.replay(cycle)?.2.process()),
            true => self
                .look(cycle, context, |process, _, _| read(process))?
                .ok_or_else(|| {
                    Problem::new(said!("No thread is on this context in this cycle."))
                })?,
        };
        Ok((hex(address), bytes))
    }

    /// An address as a number or as the name of a symbol.
    fn address_named(&self, text: &str) -> Result<u64, Problem> {
        self.recorded()?;
        let labels = &self.ready().text.labels;
        let label = labels.iter().find(|(_, name)| name == text);
        match self.image().symbols.address_of(text) {
            Some(address) => Ok(address),
            None => label.map_or_else(|| address_of(text), |(address, _)| Ok(*address)),
        }
    }
}

/// What a thread of a process sees, nothing of it marked as changed.
fn view(
    process: &Process,
    hart: &Hart,
    productions: Option<&Productions>,
    counters: &[u32],
) -> StateView {
    let isa = process.image.isa;
    let register = |name: &str, number: u8| Register {
        name: name.to_owned(),
        value: hex(hart.r[usize::from(number)]),
        changed: false,
    };
    let registers = (0..reg::DISE).map(|number| register(isa.register_name(number), number));
    let dise = productions.map(dise_names).unwrap_or_default();
    let dise_registers = dise
        .into_iter()
        .map(|(name, number)| register(&name, number));
    StateView {
        missing: String::new(),
        instructions: 0,
        pc: hex(hart.pc),
        registers: registers.collect(),
        dise_registers: dise_registers.collect(),
        counters: counters.iter().map(|&c| u64::from(c)).collect(),
        next: next(process, hart.pc),
        matches: productions
            .map(|productions| matches(productions, process, hart.pc, counters))
            .unwrap_or_default(),
    }
}

/// The view with the registers marked that have other values than before.
fn marked(mut view: StateView, before: &[u64; reg::COUNT]) -> StateView {
    let all = view.registers.iter_mut().chain(&mut view.dise_registers);
    for (register, before) in all.zip(before) {
        register.changed = register.value != hex(*before);
    }
    view
}

/// DISE's registers with the names that productions give them.
fn dise_names(productions: &Productions) -> Vec<(String, u8)> {
    let names = productions.set.registers();
    (0..reg::DISE_COUNT)
        .map(|index| {
            let number = reg::DISE + index;
            let given: Vec<&str> = names
                .iter()
                .filter(|&(_, &of)| of == number)
                .map(|(name, _)| name.as_str())
                .collect();
            let name = match given[..] {
                [] => format!("dr{index}"),
                _ => format!("dr{index} {}", given.join(", ")),
            };
            (name, number)
        })
        .collect()
}

/// The instructions in memory from an address on.
fn next(process: &Process, mut pc: u64) -> Vec<CodeLine> {
    let mut lines = Vec::new();
    while lines.len() < AHEAD {
        let Some(inst) = decode(process, pc) else {
            break;
        };
        lines.push(CodeLine {
            pc: hex(pc),
            text: process.image.isa.disassemble(&inst, pc),
            source: process.image.symbols.source_line(pc),
        });
        pc = pc.wrapping_add(u64::from(inst.len));
    }
    lines
}

fn decode(process: &Process, pc: u64) -> Option<hps_isa::inst::Inst> {
    let isa = process.image.isa;
    let word = match isa {
        Isa::Riscv64 => process.mem.fetch_word(pc).ok()?,
        Isa::Alpha => process.mem.fetch_four_bytes(pc).ok()?,
    };
    Some(isa.decode(word))
}

/// Patterns that match the next instruction, and the results for their productions.
fn matches(productions: &Productions, process: &Process, pc: u64, counters: &[u32]) -> Vec<Match> {
    let Some(inst) = decode(process, pc) else {
        return Vec::new();
    };
    let tables = productions.set.tables();
    let flags = flags(counters);
    let mut has_winner = false;
    tables
        .priority_entries()
        .iter()
        .filter(|entry| entry.pattern.pattern.matches(pc, &inst))
        .map(|entry| {
            let production = &tables.productions[usize::from(entry.production)];
            let condition: FlagCondition = entry.pattern.condition;
            let result = match (condition.holds(flags), production.replacement.is_some()) {
                (false, _) => "not now",
                (true, false) => "control only",
                (true, true) if has_winner => "loses",
                (true, true) => {
                    has_winner = true;
                    "wins"
                }
            };
            Match {
                production: production.name.clone(),
                pattern: entry.pattern.to_string(),
                flags: condition
                    .tested_bits()
                    .map(|bit| Flag {
                        name: flag_name(bit),
                        value: flags >> bit & 1 == 1,
                    })
                    .collect(),
                result: result.to_owned(),
            }
        })
        .collect()
}

/// The flags of counters.
fn flags(counters: &[u32]) -> u32 {
    (0..16)
        .zip(counters)
        .fold(0, |flags, (counter, &value)| match value {
            u32::MAX => flags | overflow_bit(counter),
            0 => flags | zero_bit(counter),
            _ => flags,
        })
}
