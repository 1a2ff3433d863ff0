//! Culprits of dynamic stalls: every path backwards from an instruction is walked, block by block.

use hps_dcpi::analysis::{Costs, Culprit, Kind};
use hps_dcpi::samples::{Event, Samples};
use hps_isa::inst::{OpClass, reg};
use hps_system::cfg::{Cfg, EdgeKind, Placed};

/// Inputs that are the same for all instructions of a procedure.
pub struct Scene<'a> {
    pub cfg: &'a Cfg,
    pub costs: &'a Costs,
    pub samples: &'a Samples,
    pub frequency: &'a dyn Fn(usize) -> Option<f64>,
}

/// Neighbours before an instruction: the last one of a block that leads to it, or something outside of the procedure.
struct Before {
    last: Option<Placed>,
    kind: EdgeKind,
}

impl Scene<'_> {
    /// The causes of a dynamic stall of so many samples that cannot be ruled out.
    pub fn culprits(&self, block: usize, place: usize, stall: f64) -> Vec<Culprit> {
        let this = self.cfg.block_insts(block)[place];
        let class = this.inst.class;
        let executions = (self.frequency)(block).unwrap_or(0.0);
        let before = self.before(block, place);
        let costs = self.costs;
        let mut found: Vec<(Kind, f64, Vec<u64>)> = Vec::new();
        let unknown = |b: &Before| b.last.is_none_or(|l| place == 0 && l.inst.class.is_call());
        let other = |bytes: u64| {
            let elsewhere = |b: &Before| {
                b.last
                    .is_none_or(|l| (l.end() - 1) / bytes != this.pc / bytes)
            };
            before.iter().any(|b| unknown(b) || elsewhere(b))
        };
        if other(costs.line_bytes) {
            let most = self.sampled(Event::Imiss, this.pc..this.pc + 1, costs.instruction_fill);
            found.push((
                Kind::ICache,
                most.min(executions * costs.instruction_fill),
                Vec::new(),
            ));
        }
        if other(costs.page_bytes) {
            let most = self.sampled(Event::Itbmiss, this.pc..this.pc + 1, costs.itb_miss);
            found.push((Kind::Itb, most.min(executions * costs.itb_miss), Vec::new()));
        }
        if place == 0 {
            let turns = |l: &Placed| {
                let c = l.inst.class;
                c == OpClass::Branch || c.is_indirect() || c.is_call()
            };
            let turned = before.iter().filter(|b| b.last.as_ref().is_none_or(turns));
            let turned: Vec<&Before> = turned.collect();
            if !turned.is_empty() {
                let from = turned.iter().filter_map(|b| Some(b.last?.pc)).collect();
                found.push((Kind::Mispredict, executions * costs.mispredict, from));
            }
            if before
                .iter()
                .any(|b| unknown(b) || b.kind != EdgeKind::Next)
            {
                found.push((Kind::Fetch, executions * costs.bubble, Vec::new()));
            }
        }
        let (writers, outside) = self.writers(block, place);
        let from = |wanted: &dyn Fn(OpClass) -> bool| -> Vec<u64> {
            writers
                .iter()
                .filter(|w| wanted(w.inst.class))
                .map(|w| w.pc)
                .collect()
        };
        let loads = from(&|c| c == OpClass::Load || c == OpClass::Atomic);
        let waits = !loads.is_empty() || outside || class == OpClass::Load;
        if waits {
            found.push((Kind::DCache, executions * costs.load_fill, loads.clone()));
        }
        if waits || class == OpClass::Store {
            let cycles = costs.dtb_miss + costs.load_fill;
            let most = self.sampled(Event::Dtbmiss, self.cfg.range.clone(), cycles);
            found.push((Kind::Dtb, most.min(executions * cycles), loads));
        }
        if class == OpClass::Store {
            found.push((Kind::WriteBuffer, executions * costs.write, Vec::new()));
        }
        let multiplies = |c: OpClass| c == OpClass::IntMul || c == OpClass::IntDiv;
        let divides = |c: OpClass| c == OpClass::FpDiv || c == OpClass::FpSqrt;
        for (kind, is_long) in [
            (Kind::Imul, &multiplies as &dyn Fn(OpClass) -> bool),
            (Kind::Fdiv, &divides),
        ] {
            let from = from(is_long);
            if is_long(class) || !from.is_empty() {
                found.push((kind, executions * costs.long_operation, from));
            }
        }
        // A way here matters however rarely it is taken.
        let leads = self.cfg.into(block).iter().map(|e| self.cfg.edges[*e].from);
        let leads = leads.filter(|from| *from < self.cfg.blocks.len());
        let leads: Vec<&Placed> = match place {
            0 => leads
                .filter_map(|from| self.cfg.block_insts(from).last())
                .collect(),
            _ => vec![&self.cfg.block_insts(block)[place - 1]],
        };
        if leads
            .into_iter()
            .chain([&this])
            .any(|p| executes_alone(p.inst.class))
        {
            found.push((Kind::Synchronization, f64::INFINITY, Vec::new()));
        }
        found.retain(|f| f.1 > 0.0);
        let all = |at: usize| found[at].1.min(stall);
        let range = |at: usize| {
            let others: f64 = (0..found.len()).filter(|o| *o != at).map(all).sum();
            Culprit {
                kind: found[at].0,
                least: (stall - others).max(0.0).min(all(at)),
                most: all(at),
                from: found[at].2.clone(),
            }
        };
        (0..found.len()).map(range).collect()
    }

    /// Cycles that samples of an event stand for at most, in samples of cycles.
    fn sampled(&self, event: Event, range: std::ops::Range<u64>, cycles: f64) -> f64 {
        let Some(counts) = self.samples.of(event) else {
            return f64::INFINITY;
        };
        let of_cycles = self
            .samples
            .of(Event::Cycles)
            .map_or(1.0, |c| c.period.mean());
        counts.within(range) as f64 * counts.period.mean() * cycles / of_cycles
    }

    /// Blocks that run less than a hundredth as often do not matter.
    fn is_rare(&self, block: usize, of: usize) -> bool {
        let executions = (self.frequency)(of).unwrap_or(0.0);
        (self.frequency)(block).is_some_and(|f| f < 0.01 * executions)
    }

    fn before(&self, block: usize, place: usize) -> Vec<Before> {
        if place > 0 {
            let last = Some(self.cfg.block_insts(block)[place - 1]);
            return vec![Before {
                last,
                kind: EdgeKind::Next,
            }];
        }
        let mut found = Vec::new();
        for edge in self.cfg.into(block).iter().map(|e| self.cfg.edges[*e]) {
            if edge.kind == EdgeKind::Entry {
                found.push(Before {
                    last: None,
                    kind: edge.kind,
                });
            } else if !self.is_rare(edge.from, block) {
                let last = self.cfg.block_insts(edge.from).last().copied();
                found.push(Before {
                    last,
                    kind: edge.kind,
                });
            }
        }
        if found.is_empty() {
            found.push(Before {
                last: None,
                kind: EdgeKind::Entry,
            });
        }
        found
    }

    /// Instructions that may have written an operand or the destination last, in the order of their addresses, and
    /// whether one may lie in another procedure.
    fn writers(&self, block: usize, place: usize) -> (Vec<Placed>, bool) {
        let inst = &self.cfg.block_insts(block)[place].inst;
        let (mut found, mut outside) = (Vec::new(), false);
        for register in [inst.rs1, inst.rs2, inst.rs3, inst.rd] {
            if register == reg::ZERO || register == reg::SINK {
                continue;
            }
            let before = &self.cfg.block_insts(block)[..place];
            match before.iter().rev().find(|p| p.inst.rd == register) {
                Some(writer) => found.push(*writer),
                None => {
                    let mut entered = Vec::new();
                    self.backwards(
                        register,
                        block,
                        block,
                        &mut entered,
                        &mut found,
                        &mut outside,
                    );
                }
            }
        }
        found.sort_by_key(|w| w.pc);
        found.dedup();
        (found, outside)
    }

    /// Walks all paths backwards from the beginning of block `at` that enter no block twice.
    fn backwards(
        &self,
        register: u8,
        of: usize,
        at: usize,
        entered: &mut Vec<usize>,
        found: &mut Vec<Placed>,
        outside: &mut bool,
    ) {
        for edge in self.cfg.into(at).iter().map(|e| self.cfg.edges[*e]) {
            if edge.kind == EdgeKind::Entry {
                *outside = true;
                continue;
            }
            if self.is_rare(edge.from, of) || entered.contains(&edge.from) {
                continue;
            }
            let insts = self.cfg.block_insts(edge.from);
            if let Some(writer) = insts.iter().rev().find(|p| p.inst.rd == register) {
                found.push(*writer);
            } else if insts
                .last()
                .is_some_and(|l| l.inst.class.is_call() || l.inst.class == OpClass::Syscall)
            {
                *outside = true;
            } else {
                entered.push(edge.from);
                self.backwards(register, of, edge.from, entered, found, outside);
                entered.pop();
            }
        }
    }
}

fn executes_alone(class: OpClass) -> bool {
    use OpClass::{Atomic, Csr, Fence, FenceI, Syscall};
    [Atomic, Csr, Fence, FenceI, Syscall].contains(&class)
}
