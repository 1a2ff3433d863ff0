//! Targets of indirect jumps, found by following values forward from the entry of the function.
//!
//! Compilers make of a `switch` a load from a table and a jump. Values that are known from the code alone flow along
//! the edges of the graph; where ways meet, a register has the values of all definitions that reach the place
//! (`values.rs`). An index stays unknown. A table that is found adds edges, through which values flow again, until no
//! jump changes. Entries of a table are read as long as they are addresses of instructions in the function, up to the
//! next table.
//!
//! The graph has edges that no run takes, such as those behind calls that never return. So a register that holds the
//! base of a table may seem to hold other values too: of these, one that is no address of a table is passed over.
//!
//! An indirect jump that finds the frame as the function found it, in a function all of whose code is reached without
//! it, is a call in the place of a return.
//!
//! Targets are assumed, not proven: nothing notices a program that changes its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use hps_isa::alpha::registers as alpha;
use hps_isa::inst::{Inst, Op, OpClass, reg};
use hps_isa::isa::Isa;

use super::values::{Pool, Set, Table, Value};
use super::{Code, Placed};

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

/// Integer registers alone: no address is computed in others.
const REGISTERS: usize = reg::FP as usize;

/// Candidates for the values of registers, and of words of the frame that the function has stored.
#[derive(Clone, PartialEq, Eq)]
struct State {
    registers: [Set; REGISTERS],
    /// By distance from the stack pointer at the entry. A word that is absent has no candidates: loads of it agree
    /// with every value.
    frame: BTreeMap<u64, Set>,
}

impl State {
    fn new() -> State {
        State {
            registers: [Set::NONE; REGISTERS],
            frame: BTreeMap::new(),
        }
    }

    /// Adds the candidates of another way to the same place.
    fn meet(&mut self, other: &State, pool: &mut Pool) {
        for (met, value) in self.registers.iter_mut().zip(&other.registers) {
            *met = pool.meet(*met, *value);
        }
        for (place, value) in &other.frame {
            let met = self.frame.entry(*place).or_insert(Set::NONE);
            *met = pool.meet(*met, *value);
        }
    }

    fn of(&self, register: u8, pool: &mut Pool) -> Set {
        match (register, self.registers.get(usize::from(register))) {
            (reg::ZERO, _) => pool.one(Value::Known(0)),
            (_, Some(set)) => *set,
            (_, None) => pool.one(Value::Unknown),
        }
    }
}

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
    let is_jump = |placed: &Placed| placed.inst.class == OpClass::JumpIndirect;
    if !insts.iter().any(is_jump) {
        return BTreeMap::new();
    }
    let inside: BTreeSet<u64> = insts.iter().map(|i| i.pc).collect();
    let mut values: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    let mut leaving = BTreeSet::new();
    for _ in 0..MOST_ROUNDS {
        let mut starts = starts.clone();
        starts.extend(found.values().flatten().filter(|t| inside.contains(*t)));
        let mut flow = Flow::new(code, insts, &starts);
        flow.run(function, &found);
        leaving.clear();
        for (jump, state) in flow.jumps() {
            // Edges that a table adds may bring other values to its own jump. The table stays.
            let is_found = found.contains_key(&jump);
            if !is_found || candidates(code, &state.target, &inside).is_some() {
                values.insert(jump, state.target);
            }
            if state.is_as_entered && flow.is_all_reached {
                leaving.insert(jump);
            }
        }
        let next = targets(code, &values, &inside);
        if next == found {
            break;
        }
        found = next;
    }
    let isa = code.image().isa;
    let jumps = blocks(insts, starts).into_iter().filter_map(|block| {
        let last = insts.get(block.end.checked_sub(1)?)?;
        if !is_jump(last) {
            return None;
        }
        let leaves = || leaving.contains(&last.pc) || leaves(isa, &last.inst, &insts[block]);
        let targets = match found.remove(&last.pc) {
            Some(all) => Targets::Known(all),
            None if leaves() => Targets::Outside,
            None => Targets::Unknown,
        };
        Some((last.pc, targets))
    });
    jumps.collect()
}

/// The targets of each jump whose value is known, by its address.
fn targets(
    code: &Code<'_>,
    values: &BTreeMap<u64, Vec<Value>>,
    inside: &BTreeSet<u64>,
) -> BTreeMap<u64, Vec<u64>> {
    let all = values.iter().filter_map(|(jump, of)| {
        let candidates = candidates(code, of, inside)?;
        Some((*jump, candidates))
    });
    let all: Vec<_> = all.collect();
    let of_all = all.iter().flat_map(|(_, candidates)| candidates);
    let tables: BTreeSet<u64> = of_all.filter_map(Candidate::table).collect();
    let of_jump = |candidate: &Candidate| match candidate {
        Candidate::Target(target) => vec![*target],
        Candidate::Table(table, plus) => {
            let end = tables.range(table.addr + 1..).next().copied();
            entries(code, table, *plus, end, inside)
        }
    };
    let targets = |candidates: Vec<Candidate>| {
        let all: BTreeSet<u64> = candidates.iter().flat_map(of_jump).collect();
        all.into_iter().collect()
    };
    all.into_iter()
        .map(|(jump, candidates)| (jump, targets(candidates)))
        .collect()
}

/// Where a jump may lead.
enum Candidate {
    Target(u64),
    /// To an entry of a table, plus a number.
    Table(Table, u64),
}

impl Candidate {
    fn table(&self) -> Option<u64> {
        match self {
            Candidate::Table(table, _) => Some(table.addr),
            Candidate::Target(_) => None,
        }
    }
}

/// Where a jump through a register with these values may lead; `None` if one of them is not known. A table whose first
/// entry leads to no instruction of the function is none.
fn candidates(code: &Code<'_>, values: &[Value], inside: &BTreeSet<u64>) -> Option<Vec<Candidate>> {
    let mut found = Vec::new();
    for value in values {
        match *value {
            Value::Known(target) => found.push(Candidate::Target(target)),
            Value::Entry { table, plus } => {
                let end = Some(table.addr + 1);
                if !entries(code, &table, plus, end, inside).is_empty() {
                    found.push(Candidate::Table(table, plus));
                }
            }
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
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

/// Values at the beginning of each block of a function.
struct Flow<'a> {
    code: &'a Code<'a>,
    insts: &'a [Placed],
    blocks: Vec<Range<usize>>,
    pool: Pool,
    /// State at the beginning of each block; `None` where no known edge leads.
    into: Vec<Option<Box<State>>>,
    /// Whether known edges lead to all code but padding.
    is_all_reached: bool,
}

/// Facts known at an indirect jump.
struct AtJump {
    /// Candidates for the address to which it jumps.
    target: Vec<Value>,
    /// Stack and return address are those at the entry of the function.
    is_as_entered: bool,
}

impl<'a> Flow<'a> {
    fn new(code: &'a Code<'a>, insts: &'a [Placed], starts: &BTreeSet<u64>) -> Flow<'a> {
        let blocks = blocks(insts, starts);
        Flow {
            code,
            insts,
            pool: Pool::new(),
            into: vec![None; blocks.len()],
            blocks,
            is_all_reached: false,
        }
    }

    /// Lets values flow along direct edges and along those of `jumps`, by the addresses of the jumps.
    fn run(&mut self, function: u64, jumps: &BTreeMap<u64, Vec<u64>>) {
        let number: BTreeMap<u64, usize> = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| Some((self.insts.get(block.start)?.pc, at)))
            .collect();
        let mut comes_from = vec![Vec::new(); self.blocks.len()];
        for (from, block) in self.blocks.iter().enumerate() {
            let last = block.end.checked_sub(1).and_then(|at| self.insts.get(at));
            let targets = last.map(|last| successors(last, jumps, &number));
            for to in targets.into_iter().flatten() {
                comes_from[to].push(from);
            }
        }
        let mut entered = vec![None; self.blocks.len()];
        let end = self.insts.last().map_or(function, Placed::end);
        for entry in self.code.entries(function..end).chain([function]) {
            if let Some(at) = number.get(&entry) {
                let is_address = entry == function;
                entered[*at] = Some(self.at_entry(is_address.then_some(function)));
            }
        }
        let mut behind: Vec<Option<Box<State>>> = vec![None; entered.len()];
        for _ in 0..MOST_ROUNDS {
            let mut is_steady = true;
            for at in 0..entered.len() {
                let mut into = entered[at].clone();
                for values in comes_from[at].iter().filter_map(|b| behind[*b].as_ref()) {
                    match &mut into {
                        Some(into) => into.meet(values, &mut self.pool),
                        none => *none = Some(values.clone()),
                    }
                }
                if into.is_none() || behind[at].is_some() && into == self.into[at] {
                    continue;
                }
                is_steady = false;
                self.into[at].clone_from(&into);
                behind[at] = into.map(|mut values| {
                    for place in self.blocks[at].clone() {
                        self.step(&mut values, &self.insts[place]);
                    }
                    values
                });
            }
            if is_steady {
                break;
            }
        }
        let computes = |class| matches!(class, OpClass::IntAlu | OpClass::Load);
        let is_padding = |p: &Placed| match p.inst.class {
            OpClass::Illegal => true,
            class => computes(class) && p.inst.rd == reg::SINK,
        };
        let mut reached = self.blocks.iter().zip(&self.into);
        self.is_all_reached = reached.all(|(block, into)| {
            into.is_some() || self.insts[block.clone()].iter().all(is_padding)
        });
    }

    /// Facts known at each indirect jump, by its address.
    fn jumps(&mut self) -> Vec<(u64, AtJump)> {
        let mut found = Vec::new();
        for at in 0..self.blocks.len() {
            let block = self.blocks[at].clone();
            let Some(last) = block.clone().last() else {
                continue;
            };
            let jump = self.insts[last];
            if jump.inst.class != OpClass::JumpIndirect {
                continue;
            }
            // No known edge leads to a landing pad of exceptions: its own block must do.
            let mut values = self.into[at].clone();
            let is_reached = values.is_some();
            let values = values.get_or_insert_with(|| Box::new(State::new()));
            for place in block.start..last {
                self.step(values, &self.insts[place]);
            }
            let target = values.of(jump.inst.rs1, &mut self.pool);
            let target =
                self.pool
                    .candidates(target)
                    .iter()
                    .map(|value| match (*value, jump.inst.op) {
                        (Value::Known(target), Op::Jalr) => {
                            Value::Known(target.wrapping_add_signed(jump.inst.imm))
                        }
                        (value, _) => value,
                    });
            let target = target.collect();
            let isa = self.code.image().isa;
            let holds = |register: u8| {
                let initial = Value::Initial { register, plus: 0 };
                self.pool
                    .candidates(values.registers[usize::from(register)])
                    == [initial]
            };
            let (stack, ra) = (isa.stack_pointer(), isa.return_address());
            let is_loaded = values.registers[usize::from(ra)] == Set::NONE;
            let state = AtJump {
                target,
                is_as_entered: is_reached && holds(stack) && (holds(ra) || is_loaded),
            };
            found.push((jump.pc, state));
        }
        found
    }

    fn step(&mut self, state: &mut State, placed: &Placed) {
        let inst = &placed.inst;
        let pool = &mut self.pool;
        let (first, second) = (state.of(inst.rs1, pool), state.of(inst.rs2, pool));
        let value = if inst.op == Op::Auipc {
            pool.one(Value::Known(placed.pc.wrapping_add_signed(inst.imm)))
        } else if inst.class.is_call() {
            pool.one(Value::Known(placed.end()))
        } else if let Some(value) = pool.computed(inst, first, second) {
            value
        } else if inst.class == OpClass::Load {
            loaded(self.code, pool, state, inst)
        } else {
            pool.one(Value::Unknown)
        };
        let isa = self.code.image().isa;
        if inst.class == OpClass::Store
            && let Some(place) = place_in_frame(isa, pool.candidates(first), inst.imm)
        {
            let is_word = inst.op.access_bytes() == 8;
            let stored = if is_word {
                second
            } else {
                pool.one(Value::Unknown)
            };
            state.frame.insert(place, stored);
        }
        if inst.class.is_call() && inst.rd == isa.return_address() {
            for register in isa.changed_by_calls() {
                state.registers[usize::from(register)] = Set::NONE;
            }
        }
        for register in isa.results_of(inst.class) {
            state.registers[usize::from(register)] = pool.one(Value::Unknown);
        }
        if let Some(register) = state.registers.get_mut(usize::from(inst.rd)) {
            *register = value;
        }
    }

    /// State where control enters a function: arguments are unknown, and on Alpha a caller by address leaves that
    /// in `pv`.
    fn at_entry(&mut self, function: Option<u64>) -> Box<State> {
        let isa = self.code.image().isa;
        let mut state = State::new();
        let mut set = |register: u8, value| {
            state.registers[usize::from(register)] = self.pool.one(value);
        };
        for argument in isa.arguments() {
            set(argument, Value::Unknown);
        }
        for register in [isa.stack_pointer(), isa.return_address()] {
            // Control that comes into the middle of a function may find a frame there.
            let value = match function {
                Some(_) => Value::Initial { register, plus: 0 },
                None => Value::Unknown,
            };
            set(register, value);
        }
        if let (Isa::Alpha, Some(function)) = (isa, function) {
            set(alpha::PV, Value::Known(function));
        }
        Box::new(state)
    }
}

/// The distance from the stack pointer at the entry of the function at which an access lies, by the candidates for its
/// base.
fn place_in_frame(isa: Isa, base: &[Value], offset: i64) -> Option<u64> {
    match *base {
        [Value::Initial { register, plus }] if register == isa.stack_pointer() => {
            Some(plus.wrapping_add_signed(offset))
        }
        _ => None,
    }
}

/// Candidates for the value of a load: a word of the frame, an entry of a table, or the file's content at an address.
fn loaded(code: &Code<'_>, pool: &mut Pool, state: &State, inst: &Inst) -> Set {
    let isa = code.image().isa;
    let bytes = usize::from(inst.op.access_bytes());
    let bases = state.of(inst.rs1, pool);
    if let Some(place) = place_in_frame(isa, pool.candidates(bases), inst.imm) {
        let stored = state.frame.get(&place).filter(|_| bytes == 8);
        return stored.copied().unwrap_or(Set::NONE);
    }
    if inst.rs1 == isa.stack_pointer() {
        return Set::NONE;
    }
    let signed = !inst.op.mnemonic().ends_with('u');
    let entry = |base: &Value| match *base {
        Value::Known(base) if bytes == 8 => code
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
    };
    let values: Vec<Value> = pool.candidates(bases).iter().map(entry).collect();
    match values.is_empty() {
        true => pool.one(Value::Unknown),
        false => pool.set(values),
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
