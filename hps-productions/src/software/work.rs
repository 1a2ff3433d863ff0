//! The work of the instrumented copy, from the same productions and handlers that DISE uses.
//!
//! A production's replacement becomes instructions in front of its trigger: its condition on the
//! sampling flag is what the instrumented copy is for. DISE registers become words in memory, which one
//! register of the program, [`slots::link`], passes on; it is saved and restored around the sequence if
//! it is live. `call` becomes a call, the handler a routine whose `d_mtdr` and `d_mfdr` are stores and
//! loads, and `d_ret` a return: the handler keeps every register, the link among them. `d_drain` stays
//! what it is, the consumer that costs the guest nothing.

use bitvec::order::Lsb0;
use bitvec::view::BitView;
use hps_dise::tables::{ImmediateSource, Sequence, Template};
use hps_dise::{DiseEngine, ProductionSet, load_immediate};
use hps_isa::editor::DecodeEditor;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;

use super::SoftwareError;
use super::code::Instruction;
use super::slots;

/// An inserted instruction.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Instruction without a call.
    Plain(Inst),
    /// The call of the handler at this address.
    Call(u64),
}

/// The instrumentation of a profile type.
pub struct Work<'a> {
    isa: Isa,
    engine: &'a DiseEngine,
    /// The replacement of each pattern-table entry, in the order of a mask's bits.
    sequences: Vec<Option<(&'a str, &'a Sequence)>>,
    set: &'a ProductionSet,
}

impl<'a> Work<'a> {
    /// The work of these productions.
    pub fn new(set: &'a ProductionSet, engine: &'a DiseEngine) -> Self {
        let productions = &set.tables().productions;
        let sequences = set
            .tables()
            .priority_entries()
            .iter()
            .map(|entry| {
                let production = &productions[usize::from(entry.production)];
                let sequence = production.replacement.as_ref()?;
                Some((production.name.as_str(), sequence))
            })
            .collect();
        Work {
            isa: set.isa(),
            engine,
            sequences,
            set,
        }
    }

    fn sequence(&self, at: &Instruction) -> Option<(&'a str, &'a Sequence)> {
        let mask = self.engine.static_mask(at.addr, &at.inst);
        let mut entries = mask.view_bits::<Lsb0>().iter_ones();
        entries.find_map(|entry| self.sequences[entry])
    }

    /// Whether an instruction is instrumented.
    pub fn is_interesting(&self, at: &Instruction) -> bool {
        self.sequence(at).is_some()
    }

    /// Instructions to insert in front of an instruction. `keep_link`: the program may still read the link register
    /// then.
    ///
    /// # Errors
    /// A sequence that is more than straight code, one call and the trigger at its end.
    pub fn steps(&self, at: &Instruction, keep_link: bool) -> Result<Vec<Step>, SoftwareError> {
        let Some((name, sequence)) = self.sequence(at) else {
            return Ok(Vec::new());
        };
        let mut writer = Writer {
            isa: self.isa,
            link: slots::link(self.isa),
            keep_link,
            production: name,
            held: None,
            is_dirty: false,
            is_used: false,
            out: Vec::new(),
        };
        if keep_link {
            writer.store(slots::WORK_SPILL);
        }
        let Some((Template::Trigger, body)) = sequence.templates.split_last() else {
            return Err(writer.refuse("it does not end with T.INSN"));
        };
        for template in body {
            writer.template(template, at)?;
        }
        writer.flush();
        if keep_link {
            writer.load(slots::WORK_SPILL);
        }
        Ok(writer.out)
    }

    /// The handlers as routines: original address and instruction of each.
    pub fn routines(&self) -> Vec<(u64, Inst)> {
        let mut routines = Vec::new();
        for (base, bytes) in self.set.handler_image() {
            for (at, word) in bytes.chunks_exact(4).enumerate() {
                let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                let inst = self.isa.decode(word);
                routines.push((base + 4 * at as u64, self.routine_instruction(&inst)));
            }
        }
        routines
    }

    fn routine_instruction(&self, inst: &Inst) -> Inst {
        match inst.op {
            Op::DiseMove if is_dise(inst.rd) => {
                slots::store(self.isa, inst.rs1, slots::of_dise(inst.rd))
            }
            Op::DiseMove if is_dise(inst.rs1) => {
                slots::load(self.isa, inst.rd, slots::of_dise(inst.rs1))
            }
            Op::DiseRet => slots::ret(self.isa),
            _ => *inst,
        }
    }
}

fn is_dise(register: u8) -> bool {
    (reg::DISE..reg::DISE + reg::DISE_COUNT).contains(&register)
}

/// Writes the steps of one sequence. The link register carries values between memory words.
struct Writer<'a> {
    isa: Isa,
    link: u8,
    keep_link: bool,
    production: &'a str,
    /// The DISE register whose value the link register holds.
    held: Option<u8>,
    /// That value is not in memory yet.
    is_dirty: bool,
    /// The link register does not hold the program's value any more.
    is_used: bool,
    out: Vec<Step>,
}

impl Writer<'_> {
    fn refuse(&self, problem: &'static str) -> SoftwareError {
        SoftwareError::Sequence {
            production: self.production.to_owned(),
            problem,
        }
    }

    fn push(&mut self, inst: Inst) {
        self.out.push(Step::Plain(inst));
    }

    fn load(&mut self, word: u64) {
        self.push(slots::load(self.isa, self.link, word));
    }

    fn store(&mut self, word: u64) {
        self.push(slots::store(self.isa, self.link, word));
    }

    /// Puts the value that the link register holds into its word.
    fn flush(&mut self) {
        if let Some(register) = self.held.filter(|_| self.is_dirty) {
            self.store(slots::of_dise(register));
        }
        self.is_dirty = false;
    }

    fn template(&mut self, template: &Template, at: &Instruction) -> Result<(), SoftwareError> {
        let Template::Inst { inst, imm, .. } = template else {
            return Err(self.refuse("T.INSN is not at its end"));
        };
        if inst.op == Op::DiseCall {
            self.flush();
            self.out.push(Step::Call(inst.imm as u64));
            (self.held, self.is_used) = (None, true);
            return Ok(());
        }
        let is_computation = matches!(inst.class, OpClass::IntAlu) && is_dise(inst.rd);
        if !is_computation {
            return Err(self.refuse("it has more than computations of DISE registers and calls"));
        }
        let counts = [0; 16];
        let mut made = template.instantiate(at.addr, &at.inst, &counts);
        let result = made.rd;
        (made.rd, made.len) = (self.link, 4);
        if let ImmediateSource::Count(_) = imm {
            self.before_result(result);
            self.load(slots::BURST_NUMBER);
        } else {
            self.sources(&mut made)?;
            self.before_result(result);
            let is_constant = made.rs1 == reg::ZERO && made.rs2 == reg::ZERO;
            if is_constant && matches!(made.op, Op::Addi | Op::AlphaLda) {
                for inst in load_immediate(self.isa, self.link, made.imm) {
                    self.push(inst);
                }
            } else {
                self.push(made);
            }
        }
        (self.held, self.is_dirty, self.is_used) = (Some(result), true, true);
        Ok(())
    }

    /// A value that the link register holds is stored before another takes its place.
    fn before_result(&mut self, result: u8) {
        if self.held != Some(result) {
            self.flush();
        }
    }

    /// Brings the sources of an instruction into registers.
    fn sources(&mut self, inst: &mut Inst) -> Result<(), SoftwareError> {
        let in_link = |register: u8| is_dise(register) || register == self.link;
        if in_link(inst.rs1) && in_link(inst.rs2) && inst.rs1 != inst.rs2 {
            return Err(self.refuse("an instruction has two sources that need the link register"));
        }
        for register in [inst.rs1, inst.rs2] {
            if is_dise(register) && self.held != Some(register) {
                self.flush();
                self.load(slots::of_dise(register));
                (self.held, self.is_used) = (Some(register), true);
            } else if register == self.link && self.is_used {
                debug_assert!(self.keep_link, "the trigger reads it, so it is live");
                self.flush();
                self.load(slots::WORK_SPILL);
                (self.held, self.is_used) = (None, false);
            }
        }
        for register in [&mut inst.rs1, &mut inst.rs2] {
            if is_dise(*register) {
                *register = self.link;
            }
        }
        Ok(())
    }
}
