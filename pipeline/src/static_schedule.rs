//! When the instructions of a block issue on a core in order if nothing dynamic delays them: DCPI's minimum head
//! times (Anderson et al., "Continuous Profiling: Where Have All the Cycles Gone?", 1997, section 6.1.3).
//!
//! The rules are those of the cycle-driven core in order, with every access a hit, every branch predicted and the
//! front-end ahead: width, slots, units, latencies of operands, and results that may not overtake older ones of their
//! register. A block begins with nothing in flight, since what ran before it is not known; its first instruction
//! therefore spends one cycle at the head.

use hps_isa::inst::{Op, OpClass, reg};
use hps_system::cfg::Placed;

use crate::config::{MachineConfig, Scheduling, Slotting, Stages, UnitTable};
use crate::model::{Group, Pipe, Traits};

/// The machine does not issue in order: instructions do not wait for each other at the head of its queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "machine `{machine}` issues out of order: no instruction has a minimum time at the head of its queue; use `ev5`, \
     or set issue.scheduling to InOrder(...)"
)]
pub struct NotInOrder {
    /// Name of the machine.
    pub machine: String,
}

/// An operand of an instruction, as Alpha's manuals name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// First source.
    Ra,
    /// Second source.
    Rb,
    /// Third source, or the older result of the destination register.
    Rc,
}

/// Why an instruction does not issue in a cycle, known from the code alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaticStall {
    /// The instruction begins the block.
    Start,
    /// The instruction lies in another block of 16 bytes than those that issue in this cycle.
    Block,
    /// All that the machine can issue in a cycle do.
    Width,
    /// Pipes of the instruction are taken by instructions beside it.
    Slot,
    /// An operand is not there.
    Dependence {
        /// Which.
        operand: Operand,
        /// Place in the block of the instruction that makes it.
        producer: usize,
    },
    /// All units are taken.
    Unit {
        /// Index of the pool in [`UnitTable::pool_names`].
        pool: u8,
        /// Place in the block of the youngest instruction that has taken one.
        holder: usize,
    },
}

/// When an instruction of a block issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slotted {
    /// Cycles at the head of the issue queue, DCPI's `M`: those behind the issue of the instruction in front of it.
    pub head_cycles: u32,
    /// Why it did not issue, for each of these cycles, but for the last, in which it does: why it did not issue in the
    /// cycle of the instruction in front of it, and in those that followed. As many as `head_cycles`.
    pub stalls: Vec<StaticStall>,
    /// Pipe in which the instruction issues, on a core with issue slots.
    pub pipe: Option<Pipe>,
}

impl Slotted {
    /// Place in the block of the instruction whose result or unit it waits for last.
    #[must_use]
    pub fn producer(&self) -> Option<usize> {
        self.stalls.iter().rev().find_map(|stall| match *stall {
            StaticStall::Dependence { producer, .. } => Some(producer),
            StaticStall::Unit { holder, .. } => Some(holder),
            _ => None,
        })
    }

    /// Cycles that slotting costs: the first at the head, if a pipe kept it out of the group in front.
    #[must_use]
    pub fn slotting_cycles(&self) -> u32 {
        u32::from(self.stalls.first() == Some(&StaticStall::Slot))
    }
}

/// The static scheduler of a machine.
#[derive(Clone, Debug)]
pub struct StaticScheduler {
    width: usize,
    slotted: bool,
    compare_and_branch_together: bool,
    traits: Box<[Traits]>,
    units: UnitTable,
    hit_cycles: u64,
    fp_load_extra_cycles: u64,
    stages: Stages,
    /// Cycles from issue to execution.
    read_cycles: u64,
}

/// log2 of the bytes of a block of instructions in slotting.
const BLOCK_SHIFT: u32 = 4;

impl StaticScheduler {
    /// The rules of a machine.
    ///
    /// # Errors
    /// [`NotInOrder`] if it issues out of order.
    pub fn new(machine: &MachineConfig) -> Result<StaticScheduler, NotInOrder> {
        match machine.issue.scheduling {
            Scheduling::InOrder(_) => Ok(StaticScheduler::in_order(machine)),
            _ => Err(NotInOrder {
                machine: machine.name.clone(),
            }),
        }
    }

    /// The rules that a machine would have if it issued in order, with its width, units and latencies: what an analysis has
    /// to take for them that knows no others.
    #[must_use]
    pub fn in_order(machine: &MachineConfig) -> StaticScheduler {
        let order = match &machine.issue.scheduling {
            Scheduling::InOrder(order) => Some(order),
            _ => None,
        };
        StaticScheduler {
            width: machine.issue.issue_width as usize,
            slotted: order.is_some_and(|order| order.slotting == Slotting::Alpha21164),
            compare_and_branch_together: order
                .is_some_and(|order| order.compare_and_branch_together),
            traits: Traits::table(),
            units: UnitTable::new(&machine.units),
            hit_cycles: u64::from(machine.memory.l1d.hit_cycles),
            fp_load_extra_cycles: u64::from(machine.units.fp_load_extra_cycles),
            stages: machine.issue.stages().clone(),
            read_cycles: u64::from(machine.issue.issue_to_execute_cycles),
        }
    }

    /// Names of the pools of units, by the number in [`StaticStall::Unit`].
    #[must_use]
    pub fn pool_names(&self) -> &[String] {
        self.units.pool_names()
    }

    /// Cycles from the issue of an instruction to that of one that needs its result, if it hits.
    #[must_use]
    pub fn latency_cycles(&self, placed: &Placed) -> u64 {
        let result = self.result_cycles(placed);
        match &self.stages {
            Stages::OneCycle => 1,
            // The result is read from its register, behind memory and in the cycle of write back.
            Stages::InStep(step) if !step.forwarding => {
                let is_load = matches!(placed.inst.class, OpClass::Load | OpClass::Atomic);
                result + self.read_cycles + u64::from(!is_load)
            }
            _ => result,
        }
    }

    fn result_cycles(&self, placed: &Placed) -> u64 {
        let inst = &placed.inst;
        let own = u64::from(self.units.latency_cycles(inst.op));
        match inst.class {
            OpClass::Load | OpClass::Atomic => {
                let is_float = (reg::FP..reg::DISE).contains(&inst.rd);
                let extra = if is_float {
                    self.fp_load_extra_cycles
                } else {
                    0
                };
                own + self.hit_cycles + extra
            }
            _ => own,
        }
    }

    /// When the instructions of a block issue, in their order.
    #[must_use]
    pub fn schedule(&self, block: &[Placed]) -> Vec<Slotted> {
        let mut state = State::new(self);
        (0..block.len()).map(|at| state.issue(block, at)).collect()
    }

    /// Cycles at the head of the instructions of a block behind another block, whose results and units they may wait
    /// for. `jumps`: control comes by a transfer that is taken, so that nothing issues beside the block before.
    #[must_use]
    pub fn head_cycles_behind(&self, before: &[Placed], jumps: bool, block: &[Placed]) -> Vec<u32> {
        let both = [before, block].concat();
        let mut state = State::new(self);
        for at in 0..before.len() {
            state.issue(&both, at);
        }
        if jumps {
            state.in_cycle = self.width;
            state.group = Group::default();
        }
        let places = before.len()..both.len();
        places
            .map(|at| state.issue(&both, at).head_cycles)
            .collect()
    }
}

/// State of issue up to an instruction of a block.
struct State<'a> {
    rules: &'a StaticScheduler,
    now: u64,
    /// Instructions that issued in this cycle.
    in_cycle: usize,
    group: Group,
    /// Cycle from which the value of a register is there, and who made it.
    results: Box<[(u64, Option<usize>); reg::COUNT]>,
    /// For each unit of each pool, when it is free and who took it last.
    busy: Vec<Vec<(u64, usize)>>,
}

impl<'a> State<'a> {
    fn new(rules: &'a StaticScheduler) -> State<'a> {
        let units = rules.units.pool_units().iter();
        State {
            rules,
            now: 0,
            in_cycle: 0,
            group: Group::default(),
            results: Box::new([(0, None); reg::COUNT]),
            busy: units.map(|count| vec![(0, 0); *count as usize]).collect(),
        }
    }

    /// Issues the instruction at a place in the block, in the first cycle in which it can.
    fn issue(&mut self, block: &[Placed], at: usize) -> Slotted {
        let mut stalls = Vec::new();
        if at == 0 {
            stalls.push(StaticStall::Start);
            self.now += 1;
        }
        loop {
            match self.try_issue(block, at) {
                Ok(pipe) => {
                    return Slotted {
                        head_cycles: stalls.len() as u32,
                        stalls,
                        pipe,
                    };
                }
                Err(stall) => {
                    stalls.push(stall);
                    self.now += 1;
                    self.in_cycle = 0;
                }
            }
        }
    }

    fn try_issue(&mut self, block: &[Placed], at: usize) -> Result<Option<Pipe>, StaticStall> {
        let inst = &block[at].inst;
        if self.in_cycle >= self.rules.width {
            return Err(StaticStall::Width);
        }
        self.operands(block, at)?;
        let (group, pipe) = self.slot(block, at)?;
        let timing = self.rules.units.timing(inst.class);
        let pool = &mut self.busy[usize::from(timing.pool)];
        let Some(unit) = pool.iter_mut().find(|(free, _)| *free <= self.now) else {
            let holder = pool.iter().map(|(_, holder)| *holder).max();
            return Err(StaticStall::Unit {
                pool: timing.pool,
                holder: holder.unwrap_or(at),
            });
        };
        let own = u64::from(self.rules.units.latency_cycles(inst.op));
        // An operation that is faster than its class holds the unit no longer than that.
        let holds = match inst.class {
            OpClass::IntMul
            | OpClass::IntDiv
            | OpClass::FpAdd
            | OpClass::FpMul
            | OpClass::FpFma
            | OpClass::FpDiv
            | OpClass::FpSqrt
            | OpClass::FpCvt => u64::from(timing.interval_cycles).min(own),
            _ => u64::from(timing.interval_cycles),
        };
        *unit = (self.now + holds, at);
        self.group = group;
        self.in_cycle += 1;
        if inst.rd != reg::SINK {
            let result = self.now + self.rules.latency_cycles(&block[at]);
            self.results[usize::from(inst.rd)] = (result, Some(at));
        }
        Ok(pipe)
    }

    /// Whether all operands are there, or which one comes last.
    fn operands(&self, block: &[Placed], at: usize) -> Result<(), StaticStall> {
        let inst = &block[at].inst;
        let sources = [
            (Operand::Ra, inst.rs1),
            (Operand::Rb, inst.rs2),
            (Operand::Rc, inst.rs3),
        ];
        let missing = |&(_, register): &(Operand, u8)| {
            let (result, producer) = self.results[usize::from(register)];
            register != reg::ZERO && result > self.now && !self.at_once(block, at, result, producer)
        };
        let last = sources
            .into_iter()
            .filter(missing)
            .max_by_key(|(operand, register)| {
                (
                    self.results[usize::from(*register)].0,
                    std::cmp::Reverse(*operand),
                )
            });
        let waits = |operand, register: u8| {
            let (_, producer) = self.results[usize::from(register)];
            StaticStall::Dependence {
                operand,
                producer: producer.unwrap_or(at),
            }
        };
        if let Some((operand, register)) = last {
            return Err(waits(operand, register));
        }
        let (older, _) = self.results[usize::from(inst.rd)];
        let overtakes = older > self.now + self.rules.latency_cycles(&block[at]);
        if inst.rd != reg::SINK && overtakes {
            return Err(waits(Operand::Rc, inst.rd));
        }
        Ok(())
    }

    /// Whether a branch takes a result in the cycle in which the comparison that makes it issues.
    fn at_once(&self, block: &[Placed], at: usize, result: u64, producer: Option<usize>) -> bool {
        let Some(producer) = producer else {
            return false;
        };
        let first_of_cycle = at - self.in_cycle;
        let traits = self.rules.traits[block[producer].inst.op as usize];
        self.rules.compare_and_branch_together
            && block[at].inst.class == OpClass::Branch
            && producer >= first_of_cycle
            && traits.forwards_to_branch
            && result == self.now + 1
    }

    /// The group and the pipe in which an instruction would issue now.
    fn slot(&self, block: &[Placed], at: usize) -> Result<(Group, Option<Pipe>), StaticStall> {
        if !self.rules.slotted {
            return Ok((Group::default(), None));
        }
        let bytes = block[at].pc >> BLOCK_SHIFT;
        let together = block[at..]
            .iter()
            .take_while(|p| p.pc >> BLOCK_SHIFT == bytes);
        let traits = |op: Op| self.rules.traits[op as usize];
        let next: Vec<Traits> = together.take(4).map(|p| traits(p.inst.op)).collect();
        let continues = at > 0 && block[at - 1].pc >> BLOCK_SHIFT == bytes;
        if continues && let Some((group, pipe)) = self.group.join(&next) {
            return Ok((group, Some(pipe)));
        }
        if self.in_cycle > 0 {
            return Err(if continues {
                StaticStall::Slot
            } else {
                StaticStall::Block
            });
        }
        match Group::default().join(&next) {
            Some((group, pipe)) => Ok((group, Some(pipe))),
            None => Err(StaticStall::Slot),
        }
    }
}
