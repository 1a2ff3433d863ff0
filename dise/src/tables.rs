//! Productions as the tables hold them: pattern entries (PT), replacement sequences (RT),
//! conditional control (CT).

use hps_isa::editor::Replacement;
use hps_isa::inst::{Inst, OpClass, reg};

use crate::pattern::PatternEntry;

/// A conditional microinstruction (HPS report, Figure 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Micro {
    /// `inc_N`: adds one; stays at the maximum.
    Inc(u8),
    /// `dec_N`: subtracts one; stays at zero.
    Dec(u8),
    /// `set_N(dise_reg)`: loads the low 32 bits of a DISE register.
    Set {
        /// The counter.
        counter: u8,
        /// The register, in the machine's register numbering.
        register: u8,
    },
}

impl Micro {
    /// The counter that is written.
    #[must_use]
    pub const fn counter(self) -> u8 {
        match self {
            Micro::Inc(counter) | Micro::Dec(counter) | Micro::Set { counter, .. } => counter,
        }
    }
}

/// Where a register field of a replacement instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterSource {
    /// The register in the template itself.
    Literal,
    /// `T.RS`.
    Rs,
    /// `T.RT`.
    Rt,
    /// `T.RD`.
    Rd,
}

/// Where the immediate of a replacement instruction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImmediateSource {
    /// The immediate in the template itself.
    Literal,
    /// `T.IMM` plus the template's immediate.
    Imm,
    /// `T.PC` plus the template's immediate.
    Pc,
    /// `T.Target` plus the template's immediate; instructions without a direct target have 0.
    Target,
    /// `T.COUNT_N` plus the template's immediate: the counter when the expansion was decided.
    Count(u8),
    /// The template's immediate is an absolute address, the instruction wants the distance.
    PcRelative,
}

/// One replacement-table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Template {
    /// `T.INSN`: the trigger.
    Trigger,
    /// A predecoded instruction with directives for the instantiation logic.
    Inst {
        /// Literal fields.
        inst: Inst,
        /// Directive of the destination.
        rd: RegisterSource,
        /// Directive of the first source.
        rs1: RegisterSource,
        /// Directive of the second source.
        rs2: RegisterSource,
        /// Directive of the immediate.
        imm: ImmediateSource,
    },
}

impl Template {
    /// Whether it calls a handler.
    #[must_use]
    pub fn calls_handler(&self) -> bool {
        matches!(self, Template::Inst { inst, .. } if inst.class == OpClass::DiseCall)
    }

    /// An instruction without directives.
    #[must_use]
    pub const fn literal(inst: Inst) -> Self {
        Template::Inst {
            inst,
            rd: RegisterSource::Literal,
            rs1: RegisterSource::Literal,
            rs2: RegisterSource::Literal,
            imm: ImmediateSource::Literal,
        }
    }

    /// The counter that `T.COUNT_N` reads here.
    #[must_use]
    pub const fn count(&self) -> Option<u8> {
        match self {
            Template::Inst {
                imm: ImmediateSource::Count(counter),
                ..
            } => Some(*counter),
            _ => None,
        }
    }

    /// Instantiates for `trigger` at `pc`; `counts` are the latched counters.
    #[must_use]
    pub fn instantiate(&self, pc: u64, trigger: &Inst, counts: &[u32]) -> Inst {
        let Template::Inst {
            inst,
            rd,
            rs1,
            rs2,
            imm,
        } = self
        else {
            return *trigger;
        };
        let mut out = *inst;
        out.rd = destination(pick(*rd, out.rd, trigger));
        out.rs1 = source(pick(*rs1, out.rs1, trigger));
        out.rs2 = source(pick(*rs2, out.rs2, trigger));
        let base = match imm {
            ImmediateSource::Literal => 0,
            ImmediateSource::Imm => trigger.imm,
            ImmediateSource::Pc => pc as i64,
            ImmediateSource::Target if trigger.class.is_direct() => {
                trigger.direct_target(pc) as i64
            }
            ImmediateSource::Target => 0,
            ImmediateSource::Count(counter) => i64::from(counts[usize::from(*counter)]),
            ImmediateSource::PcRelative => (pc as i64).wrapping_neg(),
        };
        out.imm = out.imm.wrapping_add(base);
        out.len = trigger.len;
        out
    }
}

fn pick(from: RegisterSource, literal: u8, trigger: &Inst) -> u8 {
    match from {
        RegisterSource::Literal => literal,
        RegisterSource::Rs => trigger.rs1,
        RegisterSource::Rt => trigger.rs2,
        RegisterSource::Rd => trigger.rd,
    }
}

/// Writes to the zero register go to the sink, as in every decoded instruction.
const fn destination(register: u8) -> u8 {
    if register == reg::ZERO {
        reg::SINK
    } else {
        register
    }
}

/// The sink is never read: as a source it is the zero register.
const fn source(register: u8) -> u8 {
    if register == reg::SINK {
        reg::ZERO
    } else {
        register
    }
}

/// A replacement sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// Instructions of the sequence, one replacement-table entry each.
    pub templates: Vec<Template>,
    /// Whether the sequence was composed of several ones, which makes a table miss more expensive.
    pub composed: bool,
}

impl Sequence {
    /// A sequence that is not composed.
    #[must_use]
    pub fn new(templates: Vec<Template>) -> Self {
        Sequence {
            templates,
            composed: false,
        }
    }

    /// Instructions that are not the trigger.
    #[must_use]
    pub fn inserted(&self) -> usize {
        self.templates
            .iter()
            .filter(|t| !matches!(t, Template::Trigger))
            .count()
    }

    /// Instruction `index` for a trigger.
    #[must_use]
    pub fn instantiate(
        &self,
        index: u8,
        pc: u64,
        trigger: &Inst,
        counts: &[u32],
    ) -> Option<Replacement> {
        let template = self.templates.get(usize::from(index))?;
        Some(Replacement {
            inst: template.instantiate(pc, trigger, counts),
            is_trigger: matches!(template, Template::Trigger),
            is_last: usize::from(index) + 1 == self.templates.len(),
        })
    }
}

/// A production: pattern, replacement, conditional control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Production {
    /// Label of the production.
    pub name: String,
    /// Pattern of the production as a disjunction: one pattern-table entry each.
    pub entries: Vec<PatternEntry>,
    /// Replacement sequence; `None` is `null`.
    pub replacement: Option<Sequence>,
    /// Microinstructions of the production.
    pub control: Vec<Micro>,
}

/// Everything the engine needs, whether written by hand or compiled from text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Productions in the order of the file, which decides ties.
    pub productions: Vec<Production>,
    /// Counters that a reset loads, and the register each is loaded from.
    pub initial: Vec<(u8, u8)>,
}

/// One pattern-table entry in the order of priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityEntry {
    /// Index of the production.
    pub production: u8,
    /// Index in the production's entries.
    pub entry: usize,
    /// The entry.
    pub pattern: PatternEntry,
}

impl Tables {
    /// The pattern table: all entries, most specific first, ties in the order of the file. Bit
    /// `i` of a mask stands for entry `i` of this list.
    #[must_use]
    pub fn priority_entries(&self) -> Vec<PriorityEntry> {
        let mut all: Vec<PriorityEntry> = self
            .productions
            .iter()
            .enumerate()
            .flat_map(|(production, p)| {
                p.entries
                    .iter()
                    .enumerate()
                    .map(move |(entry, pattern)| PriorityEntry {
                        production: u8::try_from(production).unwrap_or(u8::MAX),
                        entry,
                        pattern: pattern.clone(),
                    })
            })
            .collect();
        all.sort_by_key(|entry| std::cmp::Reverse(entry.pattern.specificity()));
        all
    }

    /// Replacement-table entries that all sequences take together.
    #[must_use]
    pub fn replacement_entries(&self) -> usize {
        self.productions
            .iter()
            .filter_map(|p| p.replacement.as_ref())
            .map(|s| s.templates.len())
            .sum()
    }

    /// The conditionals table: lists of microinstructions, each once, and for each production the
    /// index of its list. Productions without control have none.
    #[must_use]
    pub fn control_lists(&self) -> (Vec<&[Micro]>, Vec<Option<usize>>) {
        let mut lists: Vec<&[Micro]> = Vec::new();
        let mut of_productions = Vec::with_capacity(self.productions.len());
        for production in &self.productions {
            let control = production.control.as_slice();
            if control.is_empty() {
                of_productions.push(None);
                continue;
            }
            let known = lists.iter().position(|list| *list == control);
            of_productions.push(Some(known.unwrap_or(lists.len())));
            if known.is_none() {
                lists.push(control);
            }
        }
        (lists, of_productions)
    }

    /// Conditionals-table entries that all lists take together.
    #[must_use]
    pub fn conditionals_entries(&self) -> usize {
        self.control_lists().0.iter().map(|list| list.len()).sum()
    }

    /// Microinstructions of all productions.
    #[must_use]
    pub fn microinstructions(&self) -> usize {
        self.productions.iter().map(|p| p.control.len()).sum()
    }
}
