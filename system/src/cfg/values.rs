//! Candidates for the value of a register: what the definitions that reach a place may have left there.

use std::collections::HashMap;

use hps_isa::inst::{Inst, Op, Sum, reg};

/// A candidate for the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Value {
    /// More candidates than are kept.
    Any,
    /// The result of an instruction that is not followed.
    Unknown,
    /// A number that the code determines.
    Known(u64),
    /// Value of a register at the entry of the function, plus a number.
    Initial { register: u8, plus: u64 },
    /// A known address, and an unknown number of so many bytes.
    Indexed { base: u64, scale: u64 },
    /// An entry of a table, and something added to it.
    Entry { table: Table, plus: u64 },
}

/// A table whose entries an unknown index selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Table {
    pub addr: u64,
    pub step: u64,
    pub bytes: usize,
    pub signed: bool,
}

/// Candidates, by their number in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u32);

impl Set {
    /// No candidate: no instruction has defined the register on a way to the place (at the entry, behind a call that
    /// may change it, loaded from the stack). Compilers do not use it there.
    pub const NONE: Set = Set(0);
}

/// Most candidates for one register. A loop that moves a pointer makes ever more of them.
const MOST_CANDIDATES: usize = 8;

/// All sets of candidates of a function, each of them once.
pub(super) struct Pool {
    sets: Vec<Vec<Value>>,
    numbers: HashMap<Vec<Value>, Set>,
}

impl Pool {
    pub fn new() -> Pool {
        let mut pool = Pool {
            sets: Vec::new(),
            numbers: HashMap::new(),
        };
        pool.set(Vec::new());
        pool
    }

    /// The candidates of a set, in ascending order.
    pub fn candidates(&self, set: Set) -> &[Value] {
        &self.sets[set.0 as usize]
    }

    /// The set of one candidate.
    pub fn one(&mut self, value: Value) -> Set {
        self.set(vec![value])
    }

    /// The set of these candidates.
    pub fn set(&mut self, mut values: Vec<Value>) -> Set {
        values.sort_unstable();
        values.dedup();
        // `Any` is the first in order.
        if values.len() > MOST_CANDIDATES || values.first() == Some(&Value::Any) {
            values = vec![Value::Any];
        }
        if let Some(set) = self.numbers.get(&values) {
            return *set;
        }
        let set = Set(self.sets.len() as u32);
        self.sets.push(values.clone());
        self.numbers.insert(values, set);
        set
    }

    /// The candidates where two ways meet.
    pub fn meet(&mut self, one: Set, other: Set) -> Set {
        if one == other || other == Set::NONE {
            return one;
        }
        self.set([self.candidates(one), self.candidates(other)].concat())
    }

    /// Candidates for the result of an instruction with these operands; `None` for an instruction that neither adds nor
    /// clears the upper word of an index.
    pub fn computed(&mut self, inst: &Inst, first: Set, second: Set) -> Option<Set> {
        let (first, second) = (self.candidates(first), self.candidates(second));
        let values = match inst.sum() {
            Some(sum) => sums(first, second, sum),
            None => without_upper_word(inst, first, second)?,
        };
        Some(self.set(values))
    }
}

/// The sums of candidates for two operands.
fn sums(first: &[Value], second: &[Value], sum: Sum) -> Vec<Value> {
    // A register that may hold several things and is scaled is an index.
    let is_one = matches!(first, [Value::Known(_) | Value::Indexed { .. }]);
    let is_index = sum.shift > 0 && !is_one;
    let index = Value::Indexed {
        base: 0,
        scale: 1 << sum.shift,
    };
    let (first, sum) = match is_index {
        true => (&[index][..], Sum { shift: 0, ..sum }),
        false => (or_unknown(first), sum),
    };
    let second = or_unknown(second);
    let (of_first, of_second) = (bases(first, second), bases(second, first));
    let pairs = of_first
        .iter()
        .flat_map(|a| of_second.iter().map(|b| (*a, *b)));
    let is_own = |a: Value, b: Value| matches!((a, b), (Value::Entry { table, .. }, Value::Known(v)) if table.addr == v);
    // If an entry of a table may be relative to the table itself, it is.
    let stands = |(a, b): &(Value, Value)| {
        let other = |of: &[Value], entry| of.iter().any(|v| is_own(entry, *v));
        is_own(*a, *b) || is_own(*b, *a) || !other(&of_second, *a) && !other(&of_first, *b)
    };
    let pairs = pairs.filter(stands);
    pairs.map(|(a, b)| sum_of(a, b, sum)).collect()
}

/// The candidates, or an unknown one if there is none.
fn or_unknown(candidates: &[Value]) -> &[Value] {
    match candidates {
        [] => &[Value::Unknown],
        some => some,
    }
}

/// Candidates for what is added to others: beside an index or an entry of a table that is the base of a table, which is
/// known.
fn bases(candidates: &[Value], beside: &[Value]) -> Vec<Value> {
    let is_known = |v: &&Value| matches!(v, Value::Known(_));
    let is_indexed = |v: &Value| matches!(v, Value::Indexed { .. } | Value::Entry { .. });
    if !beside.iter().any(is_indexed) || !candidates.iter().any(|v| is_known(&v)) {
        return candidates.to_vec();
    }
    candidates.iter().filter(is_known).copied().collect()
}

/// The results of an instruction that clears the upper word of an index on the way; none of any other.
fn without_upper_word(inst: &Inst, first: &[Value], second: &[Value]) -> Option<Vec<Value>> {
    let shift = match inst.op {
        Op::Srli if inst.rs2 == reg::ZERO => {
            let by = inst.imm & 63;
            let shifted = |value: &Value| match *value {
                Value::Known(v) => Value::Known(v >> by),
                // An index without its upper word, times what is left of the scale.
                Value::Indexed { base: 0, scale } if scale == 1 << 32 && by < 32 => {
                    Value::Indexed {
                        base: 0,
                        scale: scale >> by,
                    }
                }
                _ => Value::Unknown,
            };
            return Some(or_unknown(first).iter().map(shifted).collect());
        }
        Op::SlliUw => (inst.imm & 63) as u8,
        Op::AddUw => 0,
        Op::Sh1addUw => 1,
        Op::Sh2addUw => 2,
        Op::Sh3addUw => 3,
        _ => return None,
    };
    let index = match *first {
        [Value::Known(v)] => Value::Known(v & u64::from(u32::MAX)),
        _ => Value::Unknown,
    };
    let sum = Sum {
        shift,
        ..Sum::default()
    };
    let second = match inst.op {
        Op::SlliUw => &[Value::Known(0)],
        _ => second,
    };
    Some(sums(&[index], second, sum))
}

/// The sum of two values.
fn sum_of(first: Value, second: Value, sum: Sum) -> Value {
    use Value::{Entry, Indexed, Initial, Known, Unknown};
    if let (Known(first), Known(second)) = (first, second) {
        return Known(sum.of(first, second));
    }
    if sum.drop == 32 {
        // The sign of an entry of four bytes is extended again.
        let is_extended =
            |v: &Value| matches!(*v, Entry { table, plus: 0 } if table.bytes == 4 && table.signed);
        let alone = match (first, second) {
            (value, Known(0)) | (Known(0), value) if sum.addend == 0 && sum.shift == 0 => value,
            _ => Unknown,
        };
        return Some(alone).filter(is_extended).unwrap_or(Unknown);
    }
    if sum.drop != 0 || sum.flip != 0 {
        return Unknown;
    }
    let shifted = match first {
        other if sum.shift == 0 => other,
        Known(v) => Known(v << sum.shift),
        Indexed { base, scale } => Indexed {
            base: base << sum.shift,
            scale: scale << sum.shift,
        },
        _ => Unknown,
    };
    let (known, other) = match (shifted, second) {
        (Value::Any, _) | (_, Value::Any) => return Value::Any,
        (Known(v), other) | (other, Known(v)) => (v, other),
        _ => return Unknown,
    };
    let add = known.wrapping_add_signed(i64::from(sum.addend));
    match other {
        Indexed { base, scale } => Indexed {
            base: base.wrapping_add(add),
            scale,
        },
        Entry { table, plus } => Entry {
            table,
            plus: plus.wrapping_add(add),
        },
        Initial { register, plus } => Initial {
            register,
            plus: plus.wrapping_add(add),
        },
        _ => Unknown,
    }
}
