//! Targets of indirect jumps, found by following values forward from the entry of the function.
//!
//! Compilers make of a `switch` a load from a table and a jump. Values that are known from the code alone flow along
//! the edges of the graph; where two ways meet, a register keeps a value on which both agree. An index stays unknown.
//! A table that is found adds edges, through which values flow again, until no jump changes. Entries of a table are
//! read as long as they are addresses of instructions in the function, up to the next table.
//!
//! A register that no instruction has defined on a way to a place (at the entry, behind a call that may change it,
//! loaded from the stack) agrees with every value: compilers do not use it there.
//!
//! Targets are assumed, not proven: nothing notices a program that changes its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Code, Placed};
use crate::alpha::registers as alpha;
use crate::inst::{Inst, Op, OpClass, Sum, reg};
use crate::isa::Isa;

/// Where an indirect jump leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Targets {
    /// To these addresses.
    Known(Vec<u64>),
    /// Into another function: a call in the place of a return.
    Outside,
    /// Nobody knows.
    Unknown,
}

/// Most entries of a table.
const MOST_ENTRIES: u64 = 4096;

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// Not defined on the way here, or loaded from the stack.
    Undefined,
    Unknown,
    Known(u64),
    /// A known address, and an unknown number of so many bytes.
    Indexed {
        base: u64,
        scale: u64,
    },
    /// An entry of a table, and something added to it.
    Entry {
        table: Table,
        plus: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Table {
    addr: u64,
    step: u64,
    bytes: usize,
    signed: bool,
}

impl Value {
    /// The value where two ways meet.
    fn meet(self, other: Value) -> Value {
        match (self, other) {
            (Value::Undefined, value) | (value, Value::Undefined) => value,
            (one, other) if one == other => one,
            _ => Value::Unknown,
        }
    }
}

/// Integer registers alone: no address is computed in others.
const REGISTERS: usize = reg::FP as usize;

type Registers = [Value; REGISTERS];

/// Most times that values flow through the function for one set of edges, and most sets of edges.
const MOST_ROUNDS: usize = 32;

/// The targets of every indirect jump of a function, by its address. `starts` are the addresses at which blocks begin,
/// but for targets of indirect jumps.
pub(super) fn resolve(
    code: &Code<'_>,
    function: u64,
    insts: &[Placed],
    starts: &BTreeSet<u64>,
) -> BTreeMap<u64, Targets> {
    let is_jump = |placed: &&Placed| placed.inst.class == OpClass::JumpIndirect;
    if !insts.iter().any(|placed| is_jump(&placed)) {
        return BTreeMap::new();
    }
    let inside: BTreeSet<u64> = insts.iter().map(|i| i.pc).collect();
    let mut values: BTreeMap<u64, Value> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for _ in 0..MOST_ROUNDS {
        let mut starts = starts.clone();
        starts.extend(found.values().flatten().filter(|t| inside.contains(*t)));
        let flow = Flow::new(code, function, insts, &starts, &found);
        for (jump, value) in flow.jumps() {
            // Edges that a table adds may bring other values to its own jump. The table stays.
            let old = values.entry(jump).or_insert(value);
            if !matches!(old, Value::Entry { .. } | Value::Known(_)) {
                *old = value;
            }
        }
        let next = targets(code, &values, &inside);
        if next == found {
            break;
        }
        found = next;
    }
    let blocks = blocks(insts, starts);
    let jumps = blocks.iter().filter_map(|block| {
        let last = insts.get(block.end.checked_sub(1)?)?;
        if !is_jump(&last) {
            return None;
        }
        let targets = match found.remove(&last.pc) {
            Some(all) => Targets::Known(all),
            None if leaves(code.image().isa, &last.inst, &insts[block.clone()]) => Targets::Outside,
            None => Targets::Unknown,
        };
        Some((last.pc, targets))
    });
    jumps.collect()
}

/// The targets of each jump whose value is known, by its address.
fn targets(
    code: &Code<'_>,
    values: &BTreeMap<u64, Value>,
    inside: &BTreeSet<u64>,
) -> BTreeMap<u64, Vec<u64>> {
    let tables: BTreeSet<u64> = values
        .values()
        .filter_map(|v| match v {
            Value::Entry { table, .. } => Some(table.addr),
            _ => None,
        })
        .collect();
    let of_jump = |value: &Value| match *value {
        Value::Known(target) => vec![target],
        Value::Entry { table, plus } => {
            let end = tables.range(table.addr + 1..).next().copied();
            entries(code, &table, plus, end, inside)
        }
        _ => Vec::new(),
    };
    let all = values.iter().map(|(jump, value)| (*jump, of_jump(value)));
    all.filter(|(_, targets)| !targets.is_empty()).collect()
}

fn blocks(insts: &[Placed], starts: &BTreeSet<u64>) -> Vec<Range<usize>> {
    let mut firsts: Vec<usize> = (0..insts.len())
        .filter(|at| *at == 0 || starts.contains(&insts[*at].pc))
        .collect();
    firsts.push(insts.len());
    firsts.windows(2).map(|w| w[0]..w[1]).collect()
}

/// Whether a jump to an unknown address is a call in the place of a return: through the register that holds a
/// procedure's address, or behind the end of the frame.
fn leaves(isa: Isa, jump: &Inst, block: &[Placed]) -> bool {
    let stack = isa.stack_pointer();
    let frees = |inst: &Inst| {
        inst.rd == stack && inst.rs1 == stack && inst.sum().is_some_and(|s| s.addend > 0)
    };
    isa == Isa::Alpha && jump.rs1 == alpha::PV || block.iter().any(|p| frees(&p.inst))
}

/// The different targets in a table, in ascending order.
fn entries(
    code: &Code<'_>,
    table: &Table,
    plus: u64,
    end: Option<u64>,
    inside: &BTreeSet<u64>,
) -> Vec<u64> {
    let addresses = (0..MOST_ENTRIES).map(|i| table.addr.wrapping_add(i * table.step));
    let addresses = addresses.take_while(|at| end.is_none_or(|end| *at < end));
    let targets = addresses.map_while(|at| {
        let entry = code.read(at, table.bytes)?;
        let unused = 64 - 8 * table.bytes as u32;
        let entry = if table.signed {
            ((entry << unused) as i64 >> unused) as u64
        } else {
            entry
        };
        let target = entry.wrapping_add(plus) & !1;
        inside.contains(&target).then_some(target)
    });
    let targets: BTreeSet<u64> = targets.collect();
    targets.into_iter().collect()
}

/// Values of registers at the beginning of each block of a function.
struct Flow<'a> {
    code: &'a Code<'a>,
    insts: &'a [Placed],
    blocks: Vec<Range<usize>>,
    /// Registers at the beginning of each block; `None` where no known edge leads.
    into: Vec<Option<Box<Registers>>>,
}

impl<'a> Flow<'a> {
    /// Lets values flow along direct edges and along those of `jumps`, by the addresses of the jumps.
    fn new(
        code: &'a Code<'a>,
        function: u64,
        insts: &'a [Placed],
        starts: &BTreeSet<u64>,
        jumps: &BTreeMap<u64, Vec<u64>>,
    ) -> Flow<'a> {
        let blocks = blocks(insts, starts);
        let number: BTreeMap<u64, usize> = blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| Some((insts.get(block.start)?.pc, at)))
            .collect();
        let mut comes_from = vec![Vec::new(); blocks.len()];
        for (from, block) in blocks.iter().enumerate() {
            let last = block.end.checked_sub(1).and_then(|last| insts.get(last));
            for to in last
                .iter()
                .flat_map(|last| successors(last, jumps, &number))
            {
                comes_from[to].push(from);
            }
        }
        let mut entered = vec![None; blocks.len()];
        let end = insts.last().map_or(function, Placed::end);
        for entry in code.entries(function..end).chain([function]) {
            if let Some(at) = number.get(&entry) {
                let is_address = entry == function;
                entered[*at] = Some(at_entry(code.image().isa, is_address.then_some(function)));
            }
        }
        let mut flow = Flow {
            code,
            insts,
            into: entered.clone(),
            blocks,
        };
        let mut behind: Vec<Option<Box<Registers>>> = vec![None; entered.len()];
        let mut is_steady = false;
        for _ in 0..MOST_ROUNDS {
            if std::mem::replace(&mut is_steady, true) {
                break;
            }
            for at in 0..entered.len() {
                let mut into = entered[at].clone();
                for values in comes_from[at]
                    .iter()
                    .filter_map(|from| behind[*from].as_ref())
                {
                    match &mut into {
                        Some(into) => into
                            .iter_mut()
                            .zip(values.iter())
                            .for_each(|(met, value)| *met = met.meet(*value)),
                        none => *none = Some(values.clone()),
                    }
                }
                if into.is_none() || behind[at].is_some() && into == flow.into[at] {
                    continue;
                }
                is_steady = false;
                flow.into[at].clone_from(&into);
                behind[at] = into.map(|mut values| {
                    for placed in &insts[flow.blocks[at].clone()] {
                        flow.step(&mut values, placed);
                    }
                    values
                });
            }
        }
        flow
    }

    /// Every indirect jump and the value of the register through which it jumps.
    fn jumps(&self) -> impl Iterator<Item = (u64, Value)> {
        self.blocks
            .iter()
            .zip(&self.into)
            .filter_map(|(block, into)| {
                let jump = self.insts.get(block.end.checked_sub(1)?)?;
                if jump.inst.class != OpClass::JumpIndirect {
                    return None;
                }
                // No known edge leads to a landing pad of exceptions: its own block must do.
                let mut values = into.clone().unwrap_or_else(undefined);
                for placed in &self.insts[block.start..block.end - 1] {
                    self.step(&mut values, placed);
                }
                let value = match (values[usize::from(jump.inst.rs1)], jump.inst.op) {
                    (Value::Known(target), Op::Jalr) => {
                        Value::Known(target.wrapping_add_signed(jump.inst.imm))
                    }
                    (value, _) => value,
                };
                Some((jump.pc, value))
            })
    }

    fn step(&self, values: &mut Registers, placed: &Placed) {
        let inst = &placed.inst;
        let of = |register: u8| match register {
            reg::ZERO => Value::Known(0),
            register => values
                .get(usize::from(register))
                .copied()
                .unwrap_or(Value::Unknown),
        };
        let value = if inst.op == Op::Auipc {
            Value::Known(placed.pc.wrapping_add_signed(inst.imm))
        } else if inst.class.is_call() {
            Value::Known(placed.end())
        } else if let Some(sum) = inst.sum() {
            sum_of(of(inst.rs1), of(inst.rs2), sum)
        } else if let Some(value) = without_upper_word(inst, of(inst.rs1), of(inst.rs2)) {
            value
        } else if inst.class == OpClass::Load {
            self.loaded(inst, of(inst.rs1))
        } else {
            Value::Unknown
        };
        let isa = self.code.image().isa;
        if inst.class.is_call() && inst.rd == isa.return_address() {
            for register in isa.changed_by_calls() {
                values[usize::from(register)] = Value::Undefined;
            }
        }
        for register in isa.results_of(inst.class) {
            values[usize::from(register)] = Value::Unknown;
        }
        if let Some(register) = values.get_mut(usize::from(inst.rd)) {
            *register = value;
        }
    }

    fn loaded(&self, inst: &Inst, base: Value) -> Value {
        let bytes = usize::from(inst.op.access_bytes());
        let signed = !inst.op.mnemonic().ends_with('u');
        match base {
            _ if inst.rs1 == self.code.image().isa.stack_pointer() => Value::Undefined,
            Value::Known(base) if bytes == 8 => self
                .code
                .read(base.wrapping_add_signed(inst.imm), bytes)
                .map_or(Value::Unknown, Value::Known),
            Value::Indexed { base, scale } if matches!(bytes, 4 | 8) => Value::Entry {
                table: Table {
                    addr: base.wrapping_add_signed(inst.imm),
                    step: scale,
                    bytes,
                    signed,
                },
                plus: 0,
            },
            _ => Value::Unknown,
        }
    }
}

/// The blocks to which control goes on behind an instruction, as far as edges are known.
fn successors(
    last: &Placed,
    jumps: &BTreeMap<u64, Vec<u64>>,
    number: &BTreeMap<u64, usize>,
) -> Vec<usize> {
    let target = last.pc.wrapping_add_signed(last.inst.imm);
    let targets = match last.inst.class {
        OpClass::Branch => vec![target, last.end()],
        OpClass::Jump => vec![target],
        OpClass::JumpIndirect => jumps.get(&last.pc).cloned().unwrap_or_default(),
        OpClass::Return | OpClass::Break | OpClass::Illegal => Vec::new(),
        _ => vec![last.end()],
    };
    targets
        .iter()
        .filter_map(|t| number.get(t).copied())
        .collect()
}

fn undefined() -> Box<Registers> {
    Box::new([Value::Undefined; REGISTERS])
}

/// Registers where control enters a function: arguments are unknown, and on Alpha a caller by address leaves that in
/// `pv`.
fn at_entry(isa: Isa, function: Option<u64>) -> Box<Registers> {
    let mut values = undefined();
    for argument in isa.arguments() {
        values[usize::from(argument)] = Value::Unknown;
    }
    if let (Isa::Alpha, Some(function)) = (isa, function) {
        values[usize::from(alpha::PV)] = Value::Known(function);
    }
    values
}

/// The result of an instruction that clears the upper word of an index on the way; `None` of any other.
fn without_upper_word(inst: &Inst, first: Value, second: Value) -> Option<Value> {
    let shift = match inst.op {
        Op::Srli if inst.rs2 == reg::ZERO => {
            return Some(match first {
                Value::Known(v) => Value::Known(v >> (inst.imm & 63)),
                // An index without its upper word, times what is left of the scale.
                Value::Indexed { base: 0, scale } if scale == 1 << 32 && inst.imm & 63 < 32 => {
                    Value::Indexed {
                        base: 0,
                        scale: scale >> (inst.imm & 63),
                    }
                }
                _ => Value::Unknown,
            });
        }
        Op::SlliUw => (inst.imm & 63) as u8,
        Op::AddUw => 0,
        Op::Sh1addUw => 1,
        Op::Sh2addUw => 2,
        Op::Sh3addUw => 3,
        _ => return None,
    };
    let index = match first {
        Value::Known(v) => Value::Known(v & u64::from(u32::MAX)),
        _ => Value::Unknown,
    };
    let sum = Sum {
        shift,
        ..Sum::default()
    };
    let second = if inst.op == Op::SlliUw {
        Value::Known(0)
    } else {
        second
    };
    Some(sum_of(index, second, sum))
}

/// The sum of two values.
fn sum_of(first: Value, second: Value, sum: Sum) -> Value {
    use Value::{Entry, Indexed, Known};
    if let (Known(first), Known(second)) = (first, second) {
        return Known(sum.of(first, second));
    }
    if sum.drop != 0 || sum.flip != 0 {
        return Value::Unknown;
    }
    let addend = i64::from(sum.addend);
    let shifted = match first {
        Known(v) => Known(v << sum.shift),
        Indexed { base, scale } => Indexed {
            base: base << sum.shift,
            scale: scale << sum.shift,
        },
        Value::Unknown | Value::Undefined if sum.shift > 0 => Indexed {
            base: 0,
            scale: 1 << sum.shift,
        },
        other if sum.shift == 0 => other,
        _ => Value::Unknown,
    };
    match (shifted, second) {
        (Known(v), other) | (other, Known(v)) => {
            let v = v.wrapping_add_signed(addend);
            match other {
                Indexed { base, scale } => Indexed {
                    base: base.wrapping_add(v),
                    scale,
                },
                Entry { table, plus } => Entry {
                    table,
                    plus: plus.wrapping_add(v),
                },
                other if v == 0 => other,
                _ => Value::Unknown,
            }
        }
        _ => Value::Unknown,
    }
}
