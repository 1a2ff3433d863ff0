//! When instructions issue on the 21164, by the Hardware Reference Manual, section 2.3, as the documents give it: groups
//! are fixed by addresses and pipes, and a group follows the one before when that has issued completely.

use hps_isa::inst::{OpClass, reg};
use hps_pipeline::config::{MachineConfig, Scheduling};
use hps_system::cfg::Placed;

/// Pipes that take an instruction.
fn pipes(placed: &Placed) -> &'static [&'static str] {
    let name = placed.inst.op.mnemonic();
    let shifts = [
        "sll", "srl", "sra", "ext", "ins", "msk", "zap", "ror", "rol",
    ];
    match placed.inst.class {
        OpClass::IntAlu if shifts.iter().any(|s| name.starts_with(s)) => &["E0"],
        OpClass::IntAlu | OpClass::Load => &["E0", "E1"],
        OpClass::IntMul | OpClass::IntDiv | OpClass::Store | OpClass::Fence => &["E0"],
        OpClass::FpCvt if name.starts_with("cpys") || name.starts_with("fsgnj") => &["FA", "FM"],
        OpClass::FpAdd | OpClass::FpDiv | OpClass::FpSqrt | OpClass::FpCvt => &["FA"],
        OpClass::FpMul | OpClass::FpFma => &["FM"],
        OpClass::Branch if name.starts_with("fb") => &["FA"],
        _ => &["E1"],
    }
}

/// Whether these instructions can issue in one cycle: each has a pipe of its own, and no load is beside a store.
fn fit(group: &[Placed], taken: &[&str]) -> bool {
    let Some((first, rest)) = group.split_first() else {
        return true;
    };
    let free = pipes(first).iter().filter(|p| !taken.contains(p));
    free.into_iter()
        .any(|pipe| fit(rest, &[taken, &[pipe]].concat()))
}

fn is_group(insts: &[Placed]) -> bool {
    let has = |class| insts.iter().any(|p| p.inst.class == class);
    let one_block = insts.iter().all(|p| p.pc / 16 == insts[0].pc / 16);
    one_block && fit(insts, &[]) && !(has(OpClass::Load) && has(OpClass::Store))
}

/// For each instruction of `block` behind `before`: cycles at the head of the issue queue, and the place in the block of
/// the instruction that it waits for last. `jumps`: the block before ends with a transfer that is taken.
pub fn heads(
    machine: &MachineConfig,
    before: &[Placed],
    jumps: bool,
    block: &[Placed],
) -> Vec<(u32, Option<usize>)> {
    let all = [before, block].concat();
    let mut group_of: Vec<usize> = Vec::new();
    while group_of.len() < all.len() {
        let from = group_of.len();
        let border = if jumps && from < before.len() {
            before.len()
        } else {
            all.len()
        };
        let mut to = from + 1;
        while to < border && is_group(&all[from..=to]) {
            to += 1;
        }
        group_of.resize(to, from);
    }
    let Scheduling::InOrder(order) = &machine.issue.scheduling else {
        panic!("the machine issues out of order");
    };
    let rules = Rules {
        machine,
        all: &all,
        group_of: &group_of,
        together: order.compare_and_branch_together,
    };
    let (mut issued, mut found): (Vec<u64>, Vec<(u32, Option<usize>)>) = (Vec::new(), Vec::new());
    for at in 0..all.len() {
        let first = issued.last().copied().unwrap_or(0);
        let mut now = first;
        let mut waits_for = None;
        while let Err(reason) = rules.may_issue(&issued, at, now) {
            waits_for = reason.or(waits_for);
            now += 1;
        }
        issued.push(now);
        found.push(((now - first) as u32, waits_for));
    }
    found.split_off(before.len())
}

struct Rules<'a> {
    machine: &'a MachineConfig,
    all: &'a [Placed],
    group_of: &'a [usize],
    together: bool,
}

impl Rules<'_> {
    /// Whether the instruction at a place may issue in a cycle, those before it having issued when `issued` says. An
    /// error names the instruction whose result or unit is awaited, if there is one.
    fn may_issue(&self, issued: &[u64], at: usize, now: u64) -> Result<(), Option<usize>> {
        let inst = &self.all[at].inst;
        let beside = issued.iter().filter(|cycle| **cycle == now).count();
        if at == 0 && now == 0 || beside >= self.machine.issue.issue_width as usize {
            return Err(None);
        }
        let writer = |register: u8| (0..at).rev().find(|j| self.all[*j].inst.rd == register);
        let sources = [inst.rs1, inst.rs2, inst.rs3]
            .into_iter()
            .filter(|r| *r != reg::ZERO);
        let missing = sources
            .filter_map(writer)
            .filter(|j| !self.is_there(issued, at, *j, now));
        // Of two that come in the same cycle, the first operand.
        let last = missing.fold(None, |last: Option<usize>, j| match last {
            Some(other) if self.there(issued, other) >= self.there(issued, j) => Some(other),
            _ => Some(j),
        });
        if last.is_some() {
            return Err(last);
        }
        if inst.rd != reg::SINK
            && let Some(older) = writer(inst.rd)
            && self.there(issued, older) > now + self.result_cycles(at)
        {
            return Err(Some(older));
        }
        let same_cycle = at > 0 && issued[at - 1] == now;
        if same_cycle && self.group_of[at] != self.group_of[at - 1] {
            return Err(None);
        }
        let pool = |j: usize| &self.machine.units.of(self.all[j].inst.class).1.pool;
        let holders = (0..at).filter(|j| pool(*j) == pool(at) && issued[*j] + self.holds(*j) > now);
        let holders: Vec<usize> = holders.collect();
        let units = self.machine.units.pools.0[pool(at)] as usize;
        if holders.len() >= units {
            Err(holders.last().copied())
        } else {
            Ok(())
        }
    }

    fn own_cycles(&self, at: usize) -> u64 {
        let inst = &self.all[at].inst;
        let (_, unit) = self.machine.units.of(inst.class);
        let named = self.machine.units.operations.0.get(inst.op.mnemonic());
        u64::from(*named.unwrap_or(&unit.latency_cycles))
    }

    fn result_cycles(&self, at: usize) -> u64 {
        let hit = u64::from(self.machine.memory.l1d.hit_cycles);
        let is_load = self.all[at].inst.class == OpClass::Load;
        self.own_cycles(at) + if is_load { hit } else { 0 }
    }

    /// Cycles for which an instruction holds its unit: arithmetic no longer than its result takes.
    fn holds(&self, at: usize) -> u64 {
        let class = self.all[at].inst.class;
        let interval = u64::from(self.machine.units.of(class).1.interval_cycles);
        let is_memory = class.is_memory() || class.is_control();
        if is_memory {
            interval
        } else {
            interval.min(self.own_cycles(at))
        }
    }

    /// Cycle from which the result of an instruction is there.
    fn there(&self, issued: &[u64], at: usize) -> u64 {
        issued[at] + self.result_cycles(at)
    }

    /// Whether an instruction has the result of another one. A branch tests a comparison or a logical operation that
    /// issues beside it.
    fn is_there(&self, issued: &[u64], at: usize, writer: usize, now: u64) -> bool {
        let name = self.all[writer].inst.op.mnemonic();
        let tested = [
            "cmp", "slt", "and", "or", "xor", "bis", "bic", "eqv", "xnor",
        ];
        let at_once = self.together
            && self.all[at].inst.class == OpClass::Branch
            && self.all[writer].inst.class == OpClass::IntAlu
            && tested.iter().any(|t| name.starts_with(t))
            && issued[writer] == now;
        at_once || self.there(issued, writer) <= now
    }
}
