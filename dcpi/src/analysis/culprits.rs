//! Causes of dynamic stalls: guilty until proven innocent (section 6.3 of the paper).
//!
//! All causes are suspected of every stall, and each is ruled out where it is impossible or very unlikely. What cannot
//! be ruled out is bounded from above. The lower bound of a cause is what is left if all others take their most.
//!
//! | cause | possible at | at most |
//! | --- | --- | --- |
//! | I-cache, ITB | an instruction that begins a line (page), or a block that some block in another line (page) leads to | sampled misses, each from memory; without samples, one at each execution |
//! | branch misprediction | the beginning of a block behind a conditional branch, an indirect jump, a call's return or the entry | a refill at each execution |
//! | fetch | the beginning of a block behind a transfer that is taken | the bubbles of fetch at each execution |
//! | D-cache | an instruction whose operand or destination a load may have written, and loads, for which the miss address file may be full | a fill from memory at each execution |
//! | DTB | as D-cache, and stores | a miss at each execution; none if none was sampled in the procedure |
//! | write buffer | stores | all of its entries at each execution |
//! | multiplier, divider | an instruction that uses one, or may read its result | the slowest operation at each execution |
//! | synchronization | what executes alone, and the instruction behind it | everything |
//!
//! A block that runs less than a hundredth as often as the stalled instruction leads to it too rarely to matter.

use hps_isa::inst::OpClass;
use hps_isa::isa::Isa;
use hps_pipeline::static_schedule::{Slotted, StaticStall};
use hps_system::cfg::{Cfg, EdgeKind};

use super::costs::Costs;
use super::definitions::Definitions;
use crate::collect::truth::Spent;

/// A cause of dynamic stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A miss of the instruction cache.
    ICache,
    /// A miss of the instruction TLB.
    Itb,
    /// A miss of the data cache.
    DCache,
    /// A miss of the data TLB.
    Dtb,
    /// The write buffer is full.
    WriteBuffer,
    /// An instruction that executes alone.
    Synchronization,
    /// A mispredicted branch.
    Mispredict,
    /// A multiplication or integer division.
    Imul,
    /// A floating-point division or square root.
    Fdiv,
    /// Bubbles of fetch behind a taken branch.
    Fetch,
}

impl Kind {
    /// All of them, in the order of the paper's figure 4.
    pub const ALL: [Kind; 10] = [
        Kind::ICache,
        Kind::Itb,
        Kind::DCache,
        Kind::Dtb,
        Kind::WriteBuffer,
        Kind::Synchronization,
        Kind::Mispredict,
        Kind::Imul,
        Kind::Fdiv,
        Kind::Fetch,
    ];

    /// Name of the cause in listings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::ICache => "I-cache miss",
            Kind::Itb => "ITB miss",
            Kind::DCache => "D-cache miss",
            Kind::Dtb => "DTB miss",
            Kind::WriteBuffer => "write-buffer overflow",
            Kind::Synchronization => "synchronization",
            Kind::Mispredict => "branch mispredict",
            Kind::Imul => "IMUL busy",
            Kind::Fdiv => "FDIV busy",
            Kind::Fetch => "fetch bubble",
        }
    }

    /// Letter of the cause in listings: letters of the paper's figure 2, and others of ours.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Kind::ICache => 'i',
            Kind::Itb => 'I',
            Kind::DCache => 'd',
            Kind::Dtb => 'D',
            Kind::WriteBuffer => 'w',
            Kind::Synchronization => 'y',
            Kind::Mispredict => 'p',
            Kind::Imul => 'm',
            Kind::Fdiv => 'f',
            Kind::Fetch => 't',
        }
    }

    /// Whether it is the cause of cycles that were really spent so.
    #[must_use]
    pub fn explains(self, spent: Spent) -> bool {
        match spent {
            Spent::ICache => self == Kind::ICache,
            Spent::Itb => self == Kind::Itb,
            Spent::Mispredict => self == Kind::Mispredict,
            Spent::DCache => self == Kind::DCache,
            Spent::Dtb => self == Kind::Dtb,
            Spent::WriteBuffer => self == Kind::WriteBuffer,
            Spent::MulDiv => matches!(self, Kind::Imul | Kind::Fdiv),
            Spent::Synchronization => self == Kind::Synchronization,
            Spent::Fetch => self == Kind::Fetch,
            Spent::Execution | Spent::Slotting | Spent::Dependence | Spent::Unit => false,
        }
    }
}

/// A cause that may have stalled an instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// Kind of the cause.
    pub kind: Kind,
    /// At least so many samples of the instruction are its.
    pub least: f64,
    /// At most so many.
    pub most: f64,
    /// The instructions that it comes from, if they are known.
    pub from: Vec<u64>,
}

/// Samples of other events that bound causes, in samples of cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// I-cache misses at the instruction, all from memory.
    pub imiss: Option<f64>,
    /// ITB misses at the instruction.
    pub itbmiss: Option<f64>,
    /// DTB misses in the whole procedure.
    pub dtbmiss: Option<f64>,
}

/// Inputs of the decision about an instruction.
pub(super) struct Suspect<'a> {
    pub isa: Isa,
    pub cfg: &'a Cfg,
    pub block: usize,
    pub place: usize,
    /// Executions of the instruction, in samples.
    pub frequency: f64,
    /// Executions of each block, in samples, where they are known.
    pub blocks: &'a [Option<f64>],
    pub costs: &'a Costs,
    pub slotted: &'a Slotted,
}

/// Blocks that run this much more rarely do not matter.
const RARE: f64 = 0.01;

impl Suspect<'_> {
    fn is_rare(&self, block: usize) -> bool {
        let of = self.blocks.get(block).copied().flatten();
        of.is_some_and(|f| f < RARE * self.frequency)
    }

    /// The causes of a dynamic stall of so many samples that cannot be ruled out.
    pub fn culprits(&self, stall: f64, bounds: &Bounds) -> Vec<Culprit> {
        let mut found: Vec<(Kind, f64, Vec<u64>)> = Vec::new();
        self.front_end(bounds, &mut found);
        self.back_end(bounds, &mut found);
        found.retain(|(_, most, _)| *most > 0.0);
        let all: f64 = found.iter().map(|(_, most, _)| most.min(stall)).sum();
        found
            .into_iter()
            .map(|(kind, most, from)| {
                let most = most.min(stall);
                Culprit {
                    kind,
                    least: (stall - (all - most)).clamp(0.0, most),
                    most,
                    from,
                }
            })
            .collect()
    }

    fn front_end(&self, bounds: &Bounds, found: &mut Vec<(Kind, f64, Vec<u64>)>) {
        let insts = self.cfg.block_insts(self.block);
        let pc = insts[self.place].pc;
        // Addresses of the last instructions that ran before it; none stands for another procedure.
        let mut before: Vec<Option<u64>> = Vec::new();
        let mut turned = Vec::new();
        let mut bubbles = false;
        if self.place > 0 {
            before.push(Some(insts[self.place - 1].end() - 1));
        } else {
            for edge in self.cfg.into(self.block) {
                let edge = self.cfg.edges[*edge];
                if edge.kind == EdgeKind::Entry {
                    before.push(None);
                    turned.push(None);
                    bubbles = true;
                    continue;
                }
                let last = self.cfg.block_insts(edge.from).last();
                let Some(last) = last.filter(|_| !self.is_rare(edge.from)) else {
                    continue;
                };
                let class = last.inst.class;
                let is_call = class.is_call();
                before.push((!is_call).then(|| last.end() - 1));
                bubbles |= edge.kind != EdgeKind::Next || is_call;
                let predicted = class == OpClass::Branch || class.is_indirect() || is_call;
                turned.extend(predicted.then_some(Some(last.pc)));
            }
            // A block whose predecessors are not known, or all rare.
            if before.is_empty() {
                before.push(None);
                turned.push(None);
                bubbles = true;
            }
        }
        let elsewhere = |bytes: u64| {
            before
                .iter()
                .any(|b| b.is_none_or(|b| b / bytes != pc / bytes))
        };
        let each = |cycles: f64| self.frequency * cycles;
        if elsewhere(self.costs.line_bytes) {
            let most = bounds.imiss.unwrap_or(f64::INFINITY);
            let fill = self.costs.instruction_fill;
            found.push((Kind::ICache, most.min(each(fill)), Vec::new()));
        }
        if elsewhere(self.costs.page_bytes) {
            let most = bounds.itbmiss.unwrap_or(f64::INFINITY);
            let miss = self.costs.itb_miss;
            found.push((Kind::Itb, most.min(each(miss)), Vec::new()));
        }
        if !turned.is_empty() {
            let from = turned.into_iter().flatten().collect();
            found.push((Kind::Mispredict, each(self.costs.mispredict), from));
        }
        if bubbles {
            found.push((Kind::Fetch, each(self.costs.bubble), Vec::new()));
        }
    }

    fn back_end(&self, bounds: &Bounds, found: &mut Vec<(Kind, f64, Vec<u64>)>) {
        let insts = self.cfg.block_insts(self.block);
        let class = insts[self.place].inst.class;
        let each = |cycles: f64| self.frequency * cycles;
        let definitions = Definitions::of(self.cfg, self.block, self.place, |block| {
            self.is_rare(block)
        });
        let writers = |wanted: fn(OpClass) -> bool| -> Vec<u64> {
            let all = definitions.writers.iter();
            all.filter(|w| wanted(w.inst.class)).map(|w| w.pc).collect()
        };
        let loads = writers(|c| matches!(c, OpClass::Load | OpClass::Atomic));
        let waits = !loads.is_empty() || definitions.outside || class == OpClass::Load;
        if waits {
            found.push((Kind::DCache, each(self.costs.load_fill), loads.clone()));
        }
        if waits || class == OpClass::Store {
            let most = each(self.costs.dtb_miss + self.costs.load_fill);
            found.push((Kind::Dtb, bounds.dtbmiss.unwrap_or(most).min(most), loads));
        }
        if class == OpClass::Store {
            found.push((Kind::WriteBuffer, each(self.costs.write), Vec::new()));
        }
        let integer = |c: OpClass| matches!(c, OpClass::IntMul | OpClass::IntDiv);
        let float = |c: OpClass| matches!(c, OpClass::FpDiv | OpClass::FpSqrt);
        let long = each(self.costs.long_operation);
        for (kind, own, from) in [
            (Kind::Imul, integer(class), writers(integer)),
            (Kind::Fdiv, float(class), writers(float)),
        ] {
            if own || !from.is_empty() {
                found.push((kind, long, from));
            }
        }
        let before = match self.place {
            0 => self
                .cfg
                .into(self.block)
                .iter()
                .filter_map(|e| {
                    let from = self.cfg.edges[*e].from;
                    let known = (from < self.cfg.blocks.len()).then(|| self.cfg.block_insts(from));
                    known.and_then(<[_]>::last).map(|p| p.inst.class)
                })
                .any(executes_alone),
            place => executes_alone(insts[place - 1].inst.class),
        };
        if before || executes_alone(class) {
            found.push((Kind::Synchronization, f64::INFINITY, Vec::new()));
        }
    }

    /// The static stalls of the instruction: letter and culprit of each cycle beyond its issue.
    pub fn static_stalls(&self) -> Vec<(char, Option<u64>)> {
        let insts = self.cfg.block_insts(self.block);
        let slotting = self.slotted.slotting_cycles() as usize;
        let behind = self.slotted.stalls.iter().skip(1);
        let mut found = vec![('s', None); slotting];
        found.extend(behind.map(|stall| match *stall {
            StaticStall::Dependence { operand, producer } => {
                use hps_pipeline::static_schedule::Operand::{Ra, Rb, Rc};
                let letter = match operand {
                    Ra => 'a',
                    Rb => 'b',
                    Rc => 'c',
                };
                (letter, Some(insts[producer].pc))
            }
            StaticStall::Unit { holder, .. } => ('u', Some(insts[holder].pc)),
            _ => ('s', None),
        }));
        found
    }

    /// The instruction as text.
    pub fn text(&self) -> String {
        let placed = self.cfg.block_insts(self.block)[self.place];
        self.isa.disassemble(&placed.inst, placed.pc)
    }
}

/// Whether nothing else executes beside an instruction of this class.
fn executes_alone(class: OpClass) -> bool {
    matches!(
        class,
        OpClass::Syscall | OpClass::FenceI | OpClass::Csr | OpClass::Fence | OpClass::Atomic
    )
}
