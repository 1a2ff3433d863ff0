//! Architectural state behind a commit: the functional machine runs the program again up to there.
//!
//! Guest time follows from cycles in a timed run, and from instructions here: a program that reads a clock may see
//! other values.

use hps_dise::DiseEngine;
use hps_dise::flags::{FlagCondition, flag_name, overflow_bit, zero_bit};
use hps_isa::inst::reg;
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_isa::said;
use hps_isa::said::Said;
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

/// Note that a machine with several contexts has no such state: threads of the functional machine take turns in another
/// order than those of a timed run.
fn several() -> Said {
    said!(
        "Registers, memory and the next instructions are shown for machines with one context: choose \
         another machine, or look at the time line and the blocks of each context."
    )
}

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
                    both!(&mut self.machine, machine => machine.edit(&next.edit));
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

    /// Registers, counters, and what comes next.
    pub(crate) fn state(&mut self, cycle: u64) -> Result<StateView, Problem> {
        if self.has_peers() {
            return Ok(StateView {
                missing: several().to_string(),
                instructions: self
                    .recorded()?
                    .sums(self.recorded()?.commits_until(cycle))
                    .program,
                pc: String::new(),
                registers: Vec::new(),
                dise_registers: Vec::new(),
                counters: Vec::new(),
                next: Vec::new(),
                matches: Vec::new(),
            });
        }
        let (before, ready, replay) = self.replay(cycle)?;
        let process = replay.process();
        let isa = process.image.isa;
        let hart = &process.thread.hart;
        let register = |name: &str, number: u8| Register {
            name: name.to_owned(),
            value: hex(hart.r[usize::from(number)]),
            changed: hart.r[usize::from(number)] != before[usize::from(number)],
        };
        let registers = (0..reg::DISE)
            .map(|number| register(isa.register_name(number), number))
            .collect();
        let dise_registers = match &ready.productions {
            None => Vec::new(),
            Some(productions) => dise_names(productions)
                .into_iter()
                .map(|(name, number)| register(&name, number))
                .collect(),
        };
        Ok(StateView {
            missing: String::new(),
            instructions: replay.instructions(),
            pc: hex(hart.pc),
            registers,
            dise_registers,
            counters: replay.counters().iter().map(|&c| u64::from(c)).collect(),
            next: next(process, hart.pc),
            matches: match &ready.productions {
                Some(productions) => matches(productions, process, replay.counters()),
                None => Vec::new(),
            },
        })
    }

    /// Bytes of memory behind the last commit of a cycle, and the address of the first one.
    pub(crate) fn memory(
        &mut self,
        cycle: u64,
        address: &str,
        bytes: u64,
    ) -> Result<(String, Vec<String>), Problem> {
        if self.has_peers() {
            return Err(Problem::new(several()));
        }
        let address = match (address.parse::<f64>(), address.starts_with("0x")) {
            (_, true) | (Err(_), _) => self.address_named(address)?,
            (Ok(_), false) => address_of(address)?,
        };
        let (_, _, replay) = self.replay(cycle)?;
        let memory = &replay.process().mem;
        let byte = |at: u64| match memory.read::<1>(address.wrapping_add(at)) {
            Ok(byte) => format!("{byte:02x}"),
            Err(_) => "--".to_owned(),
        };
        let bytes = (0..bytes.min(MOST_BYTES)).map(byte).collect();
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
fn matches(productions: &Productions, process: &Process, counters: &[u32]) -> Vec<Match> {
    let pc = process.thread.hart.pc;
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
