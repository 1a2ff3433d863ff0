//! Targets of indirect jumps, found by looking back from the jump.
//!
//! Compilers make of a `switch` a load from a table and a jump. The instructions in front of the jump are evaluated
//! with the values that are known from the code alone; an index stays unknown. A register that the block of the jump
//! does not define has the value that all other blocks of the function agree on, restores from the stack apart: the
//! address of a table is often computed outside a loop. Entries of a table are read as long as they are addresses of
//! instructions in the function, up to the next table.
//!
//! What is found is assumed, not proven: tables that the program changes, and registers that calls change, are not
//! noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Code, Placed};
use crate::alpha::registers as alpha;
use crate::inst::{Inst, Op, OpClass, reg};
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
    Unknown,
    /// Loaded from the stack: what the caller, or an earlier block, had in it.
    Restored,
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

type Registers = [Value; reg::COUNT];

/// The targets of every indirect jump of a function, by its address. `starts` are the addresses at which blocks begin.
pub(super) fn resolve(
    code: &Code<'_>,
    function: u64,
    insts: &[Placed],
    starts: &BTreeSet<u64>,
) -> BTreeMap<u64, Targets> {
    let blocks = blocks(insts, starts);
    let jumps = blocks.iter().filter_map(|block| {
        let last = insts.get(block.end.checked_sub(1)?)?;
        (last.inst.class == OpClass::JumpIndirect).then_some((last, block.clone()))
    });
    let jumps: Vec<_> = jumps.collect();
    if jumps.is_empty() {
        return BTreeMap::new();
    }
    let evaluation = Evaluation::new(code, function, insts, blocks);
    let values: Vec<_> = jumps
        .iter()
        .map(|(jump, block)| (*jump, evaluation.target(jump, block.clone())))
        .collect();
    let tables: BTreeSet<u64> = values
        .iter()
        .filter_map(|(_, v)| match v {
            Value::Entry { table, .. } => Some(table.addr),
            _ => None,
        })
        .collect();
    let inside: BTreeSet<u64> = insts.iter().map(|i| i.pc).collect();
    let resolved = values
        .into_iter()
        .zip(&jumps)
        .map(|((jump, value), (_, block))| {
            let targets = match value {
                Value::Known(target) => Targets::Known(vec![target]),
                Value::Entry { table, plus } => {
                    let end = tables.range(table.addr + 1..).next().copied();
                    let found = entries(code, &table, plus, end, &inside);
                    if found.is_empty() {
                        Targets::Unknown
                    } else {
                        Targets::Known(found)
                    }
                }
                _ if leaves(code.image().isa, &jump.inst, &insts[block.clone()]) => {
                    Targets::Outside
                }
                _ => Targets::Unknown,
            };
            (jump.pc, targets)
        });
    resolved.collect()
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

/// The values of registers in a function.
struct Evaluation<'a> {
    code: &'a Code<'a>,
    insts: &'a [Placed],
    /// Values that registers have wherever they are not defined in a block.
    around: Box<Registers>,
}

impl<'a> Evaluation<'a> {
    fn new(
        code: &'a Code<'a>,
        function: u64,
        insts: &'a [Placed],
        blocks: Vec<Range<usize>>,
    ) -> Evaluation<'a> {
        let mut first = unknown();
        if code.image().isa == Isa::Alpha {
            first[usize::from(alpha::PV)] = Value::Known(function);
        }
        let mut evaluation = Evaluation {
            code,
            insts,
            around: unknown(),
        };
        // Addresses of tables may be computed from others that are computed in other blocks: the global pointer
        // first, then what is made of it.
        for _ in 0..3 {
            let mut agreed = vec![None; reg::COUNT];
            for (at, block) in blocks.iter().enumerate() {
                let mut values = if at == 0 {
                    first.clone()
                } else {
                    evaluation.around.clone()
                };
                let mut defined = BTreeSet::new();
                for placed in &insts[block.clone()] {
                    evaluation.step(&mut values, placed);
                    defined.insert(placed.inst.rd);
                }
                for register in defined {
                    let value = values[usize::from(register)];
                    if value == Value::Restored {
                        continue;
                    }
                    let agreed = &mut agreed[usize::from(register)];
                    *agreed = match *agreed {
                        None => Some(value),
                        Some(other) if other == value => Some(value),
                        Some(_) => Some(Value::Unknown),
                    };
                }
            }
            for (register, agreed) in agreed.into_iter().enumerate() {
                if let Some(value @ Value::Known(_)) = agreed {
                    evaluation.around[register] = value;
                }
            }
        }
        evaluation
    }

    /// The value of the register through which the last instruction of a block jumps.
    fn target(&self, jump: &Placed, block: Range<usize>) -> Value {
        let mut values = self.around.clone();
        for placed in &self.insts[block.start..block.end - 1] {
            self.step(&mut values, placed);
        }
        let value = values[usize::from(jump.inst.rs1)];
        match (value, jump.inst.op) {
            (Value::Known(target), Op::Jalr) => {
                Value::Known(target.wrapping_add_signed(jump.inst.imm))
            }
            (value, _) => value,
        }
    }

    fn step(&self, values: &mut Registers, placed: &Placed) {
        let inst = &placed.inst;
        if inst.rd == reg::SINK {
            return;
        }
        let of = |register: u8| match register {
            reg::ZERO => Value::Known(0),
            register => values[usize::from(register)],
        };
        let value = if inst.op == Op::Auipc {
            Value::Known(placed.pc.wrapping_add_signed(inst.imm))
        } else if let Some(sum) = inst.sum() {
            sum_of(of(inst.rs1), of(inst.rs2), sum)
        } else if inst.class == OpClass::Load {
            self.loaded(inst, of(inst.rs1))
        } else {
            Value::Unknown
        };
        values[usize::from(inst.rd)] = value;
    }

    fn loaded(&self, inst: &Inst, base: Value) -> Value {
        let bytes = usize::from(inst.op.access_bytes());
        let signed = !inst.op.mnemonic().ends_with('u');
        match base {
            _ if inst.rs1 == self.code.image().isa.stack_pointer() => Value::Restored,
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

fn unknown() -> Box<Registers> {
    Box::new([Value::Unknown; reg::COUNT])
}

/// The sum of two values.
fn sum_of(first: Value, second: Value, sum: crate::inst::Sum) -> Value {
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
        Value::Unknown if sum.shift > 0 => Indexed {
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
