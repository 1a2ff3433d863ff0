//! Which production wins for which instructions, under each state of the flags.

use std::collections::BTreeMap;
use std::fmt;

use hps_isa::inst::{Inst, OpClass};
use hps_isa::isa::Isa;
use hps_system::symbols::Entries;

use crate::check::micro_text;
use crate::flags::{bits_of, flag_name};
use crate::names::class_name;
use crate::set::ProductionSet;
use crate::tables::PriorityEntry;

/// Flags that one explanation may tell apart; beyond that the table would be unreadable.
const MAX_FLAGS: usize = 10;

/// Behaviour under one state of the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The flags that matter here and their values.
    pub flags: Vec<(String, bool)>,
    /// The production that replaces the instruction, if one does.
    pub winner: Option<String>,
    /// Productions that match, have a replacement and lose.
    pub losers: Vec<String>,
    /// Microinstructions that run, with their productions, in order.
    pub control: Vec<(String, String)>,
}

/// Instructions that the same pattern entries match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The static mask of the instructions.
    pub mask: u32,
    /// How many of the given instructions are in the group.
    pub instructions: usize,
    /// How many of them there are of each class, by class name.
    pub classes: Vec<(String, usize)>,
    /// The first of them: address and disassembly.
    pub example: (u64, String),
    /// The matching entries: production and pattern, most specific first.
    pub entries: Vec<(String, String)>,
    /// Each state of the flags that the entries look at.
    pub cases: Vec<Case>,
}

/// Findings of [`explain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Groups of instructions, the largest first.
    pub groups: Vec<Group>,
    /// Instructions that no pattern matches: they pass in every state.
    pub unmatched: usize,
    /// Each pattern entry by priority: production, pattern, instructions that match it.
    pub entries: Vec<(String, String, usize)>,
}

/// Explains what the set does to the given instructions of a program with these functions.
#[must_use]
pub fn explain(
    set: &ProductionSet,
    insts: impl IntoIterator<Item = (u64, Inst)>,
    functions: &Entries,
) -> Explanation {
    let entries = set.tables().priority_entries();
    let mut uses = vec![0_usize; entries.len()];
    let mut groups: BTreeMap<Vec<usize>, Members> = BTreeMap::new();
    let mut unmatched = 0;
    for (pc, inst) in insts {
        let matching: Vec<usize> = (0..entries.len())
            .filter(|i| entries[*i].pattern.pattern.matches_in(functions, pc, &inst))
            .collect();
        if matching.is_empty() {
            unmatched += 1;
            continue;
        }
        for i in &matching {
            uses[*i] += 1;
        }
        let members = groups
            .entry(matching)
            .or_insert_with(|| Members::new(set.isa(), pc, &inst));
        members.count += 1;
        *members.classes.entry(class_name(inst.class)).or_default() += 1;
    }
    let name = |entry: &PriorityEntry| {
        set.tables().productions[usize::from(entry.production)]
            .name
            .clone()
    };
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(matching, members)| group(set, &entries, &matching, members))
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.instructions));
    let entries = entries
        .iter()
        .zip(uses)
        .map(|(e, n)| (name(e), e.pattern.to_string(), n))
        .collect();
    Explanation {
        groups,
        unmatched,
        entries,
    }
}

/// Explains a set by one made-up instruction of each class at an address above zero: control
/// transfers once forward and once backward. Patterns on operations, registers, immediates and
/// addresses are only met by chance.
#[must_use]
pub fn explain_classes(set: &ProductionSet) -> Explanation {
    use hps_isa::inst::Op;
    let mut insts = Vec::new();
    let mut add = |class: OpClass, op: Op, imm: i64| {
        insts.push((
            0x1_0000,
            Inst {
                op,
                class,
                imm,
                rs1: 10,
                ..Inst::illegal(4)
            },
        ));
    };
    let mut seen = Vec::new();
    for op in Op::ALL {
        let class = op.class();
        let never = matches!(
            class,
            OpClass::DiseBranch | OpClass::DiseCall | OpClass::DiseReturn | OpClass::DiseDrain
        );
        let foreign = op.isa() != Some(set.isa()) && *op != Op::Illegal;
        if never || foreign || seen.contains(&class) {
            continue;
        }
        seen.push(class);
        for imm in if class.is_direct() {
            [16, -16].as_slice()
        } else {
            &[16]
        } {
            add(class, *op, *imm);
        }
    }
    if set.isa() == Isa::Riscv64 {
        // The class of a RISC-V jump depends on its registers.
        for imm in [16, -16] {
            add(OpClass::Call, Op::Jal, imm);
        }
        add(OpClass::CallIndirect, Op::Jalr, 0);
        add(OpClass::Return, Op::Jalr, 0);
    }
    explain(set, insts, &Entries::default())
}

struct Members {
    count: usize,
    classes: BTreeMap<String, usize>,
    example: (u64, String),
}

impl Members {
    fn new(isa: Isa, pc: u64, inst: &Inst) -> Self {
        let example = (pc, isa.disassemble(inst, pc));
        Members {
            count: 0,
            classes: BTreeMap::new(),
            example,
        }
    }
}

fn group(
    set: &ProductionSet,
    entries: &[PriorityEntry],
    matching: &[usize],
    members: Members,
) -> Group {
    let productions = &set.tables().productions;
    let name = |i: &usize| {
        productions[usize::from(entries[*i].production)]
            .name
            .clone()
    };
    Group {
        mask: matching.iter().fold(0, |mask, i| {
            mask | 1_u32.checked_shl(*i as u32).unwrap_or(0)
        }),
        instructions: members.count,
        classes: members.classes.into_iter().collect(),
        example: members.example,
        entries: matching
            .iter()
            .map(|i| (name(i), entries[*i].pattern.to_string()))
            .collect(),
        cases: cases(set, entries, matching),
    }
}

fn cases(set: &ProductionSet, entries: &[PriorityEntry], matching: &[usize]) -> Vec<Case> {
    let care = matching
        .iter()
        .fold(0, |care, i| care | entries[*i].pattern.condition.care);
    let mut bits = bits_of(care);
    bits.truncate(MAX_FLAGS);
    (0..1_u32 << bits.len())
        .map(|choice| {
            bits.iter()
                .enumerate()
                .fold(0, |flags, (i, bit)| flags | (choice >> i & 1) << bit)
        })
        // A counter cannot be zero and at its maximum.
        .filter(|flags| flags & 0x5555_5555 & (flags >> 1) == 0)
        .map(|flags| case(set, entries, matching, &bits, flags))
        .collect()
}

fn case(
    set: &ProductionSet,
    entries: &[PriorityEntry],
    matching: &[usize],
    bits: &[u32],
    flags: u32,
) -> Case {
    let productions = &set.tables().productions;
    let mut winner = None;
    let mut losers = Vec::new();
    let mut running = Vec::new();
    for i in matching
        .iter()
        .filter(|i| entries[**i].pattern.condition.holds(flags))
    {
        let production = entries[*i].production;
        let replaces = productions[usize::from(production)].replacement.is_some();
        if replaces && winner.is_none() {
            winner = Some(production);
        }
        if !replaces || winner == Some(production) {
            running.push(production);
        } else {
            losers.push(production);
        }
    }
    running.sort_unstable();
    running.dedup();
    losers.dedup();
    losers.retain(|loser| winner != Some(*loser));
    let name = |production: u8| productions[usize::from(production)].name.clone();
    let control = running.iter().flat_map(|p| {
        productions[usize::from(*p)]
            .control
            .iter()
            .map(move |micro| (name(*p), micro_text(set, *micro)))
    });
    Case {
        flags: bits
            .iter()
            .map(|bit| (flag_name(*bit), flags >> bit & 1 != 0))
            .collect(),
        winner: winner.map(name),
        losers: losers.into_iter().map(name).collect(),
        control: control.collect(),
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags: Vec<String> = self
            .flags
            .iter()
            .map(|(name, value)| {
                if *value {
                    name.clone()
                } else {
                    format!("!{name}")
                }
            })
            .collect();
        let flags = if flags.is_empty() {
            "always".to_owned()
        } else {
            flags.join(" ")
        };
        write!(f, "{flags}: ")?;
        match &self.winner {
            Some(winner) => write!(f, "{winner} replaces it")?,
            None => write!(f, "passes")?,
        }
        if !self.losers.is_empty() {
            write!(f, " (over {})", self.losers.join(", "))?;
        }
        for (production, micro) in &self.control {
            write!(f, "; {production} {micro}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Pattern table, most specific first:")?;
        for (i, (production, pattern, uses)) in self.entries.iter().enumerate() {
            writeln!(f, "  {i:2} {production}: {pattern} ({uses} instructions)")?;
        }
        for group in &self.groups {
            let classes: Vec<String> = group
                .classes
                .iter()
                .map(|(name, n)| format!("{n} {name}"))
                .collect();
            let (pc, text) = &group.example;
            writeln!(f, "{}, for example {text} at {pc:#x}:", classes.join(", "))?;
            for case in &group.cases {
                writeln!(f, "  {case}")?;
            }
        }
        writeln!(
            f,
            "{} instructions match nothing and always pass",
            self.unmatched
        )
    }
}
