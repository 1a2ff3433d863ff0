//! Regions: the code that is compiled as one unit.
//!
//! A region is the basic blocks that direct jumps and branches reach from its entry, as far as they are few enough and the
//! machine has come there: loops lie inside of their region, with the registers of the guest in those of the host.

use std::collections::VecDeque;

use hps_isa::inst::{Inst, OpClass, reg};
use hps_isa::translator::Code;
use rustc_hash::{FxHashMap, FxHashSet};

/// A set of registers of the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers(u128);

impl Registers {
    pub(crate) fn insert(&mut self, register: u8) {
        self.0 |= 1 << register;
    }

    pub(crate) fn without(self, other: Registers) -> Registers {
        Registers(self.0 & !other.0)
    }

    pub(crate) fn union(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    pub(crate) fn common(self, other: Registers) -> Registers {
        Registers(self.0 & other.0)
    }

    pub(crate) fn contains(self, register: u8) -> bool {
        self.0 >> register & 1 != 0
    }

    /// The registers, in the order of their numbers.
    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let register = left.trailing_zeros() as u8;
            left &= left.wrapping_sub(1);
            (register < 128).then_some(register)
        })
    }
}

/// Where a block goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// The block of this number.
    Block(usize),
    /// An address outside of the region.
    Outside(u64),
}

/// End of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// A conditional branch.
    Branch { taken: To, fall: To },
    /// A direct jump, or the beginning of another block.
    Jump(To),
    /// An indirect jump.
    Indirect,
    /// The machine must execute the instruction behind the block.
    Seldom(u64),
}

/// A basic block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) start: u64,
    /// Instructions of the block and their addresses. The transfer at its end, if there is one, is the last of them.
    pub(crate) insts: Vec<(u64, Inst)>,
    pub(crate) end: End,
    /// Registers that are read here, or behind the block in the region, before they are written.
    pub(crate) live: Registers,
    /// Of those, the ones whose values all blocks that go on here hand over, where there are several or a loop begins.
    pub(crate) handed: Registers,
    /// Blocks that go on here, and the machine for the entry.
    pub(crate) predecessors: u32,
    /// The last block, in the order of the region, that goes back to here.
    pub(crate) last_of_loop: Option<usize>,
}

/// Basic blocks in an order in which each one follows one of its predecessors, the entry first.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) blocks: Vec<Block>,
    /// Instructions in them.
    pub(crate) len: u64,
}

impl Region {
    /// The region of at most `most` instructions that begins at `entry`. `None` if the machine must execute the first one.
    pub(crate) fn at(entry: u64, code: &mut dyn Code, most: usize) -> Option<Region> {
        let found = Found::from(entry, code, most);
        let mut region = Region {
            blocks: Vec::new(),
            len: 0,
        };
        region.order(&found, entry);
        region.connect();
        region.find_live();
        region.find_handed();
        region.len = region
            .blocks
            .iter()
            .map(|block| block.insts.len() as u64)
            .sum();
        (!region.blocks.first()?.insts.is_empty()).then_some(region)
    }

    /// Puts the blocks in reverse postorder.
    fn order(&mut self, found: &Found, entry: u64) {
        let mut visited = FxHashSet::default();
        let mut postorder = Vec::new();
        // A block, and whether its successors have been visited.
        let mut stack = vec![(entry, false)];
        while let Some((start, is_done)) = stack.pop() {
            if is_done {
                postorder.push(found.block(start));
                continue;
            }
            if !visited.insert(start) {
                continue;
            }
            stack.push((start, true));
            // The one that falls through is visited last, and so comes right behind.
            let block = found.block(start);
            for to in successors(&block.end).into_iter().rev().flatten() {
                if let To::Outside(pc) = to
                    && found.leads(pc)
                {
                    stack.push((pc, false));
                }
            }
        }
        postorder.reverse();
        self.blocks = postorder;
    }

    /// Replaces addresses of blocks by their numbers, and finds heads of loops.
    fn connect(&mut self) {
        let numbers: FxHashMap<u64, usize> = (self.blocks.iter().enumerate())
            .map(|(number, block)| (block.start, number))
            .collect();
        let resolved = |to: To| match to {
            To::Outside(pc) => numbers.get(&pc).map_or(to, |&number| To::Block(number)),
            To::Block(_) => to,
        };
        for block in &mut self.blocks {
            block.end = match block.end {
                End::Branch { taken, fall } => End::Branch {
                    taken: resolved(taken),
                    fall: resolved(fall),
                },
                End::Jump(to) => End::Jump(resolved(to)),
                other => other,
            };
        }
        self.blocks[0].predecessors = 1;
        for number in 0..self.blocks.len() {
            for to in successors(&self.blocks[number].end).into_iter().flatten() {
                if let To::Block(next) = to {
                    self.blocks[next].predecessors += 1;
                    if next <= number {
                        self.blocks[next].last_of_loop = Some(number);
                    }
                }
            }
        }
    }

    fn find_live(&mut self) {
        let local: Vec<_> = self.blocks.iter().map(|block| block.reads()).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for number in (0..self.blocks.len()).rev() {
                let (read, written) = local[number];
                let mut behind = Registers::default();
                for to in successors(&self.blocks[number].end).into_iter().flatten() {
                    if let To::Block(next) = to {
                        behind = behind.union(self.blocks[next].live);
                    }
                }
                let live = read.union(behind.without(written));
                changed |= live != self.blocks[number].live;
                self.blocks[number].live = live;
            }
        }
    }

    /// Chooses the registers whose values are handed over where paths meet: at the head of a loop those that the loop
    /// reads, elsewhere those that are at hand on all paths. One pass is enough: only heads of loops come before a block
    /// that goes on there.
    fn find_handed(&mut self) {
        let mut at_hand: Vec<Option<Registers>> = vec![None; self.blocks.len()];
        for number in 0..self.blocks.len() {
            let block = &self.blocks[number];
            let before = match block.last_of_loop {
                Some(last) => {
                    let body = self.blocks[number..=last].iter();
                    let read = body.fold(Registers::default(), |all, block| {
                        all.union(block.reads().0)
                    });
                    block.live.common(read)
                }
                None if block.predecessors > 1 => {
                    block.live.common(at_hand[number].unwrap_or_default())
                }
                None => at_hand[number].unwrap_or_default(),
            };
            let (read, written) = block.reads();
            let behind = before.union(read).union(written);
            for to in successors(&block.end).into_iter().flatten() {
                if let To::Block(next) = to {
                    let all = at_hand[next].map_or(behind, |others| others.common(behind));
                    at_hand[next] = Some(all);
                }
            }
            if self.blocks[number].meets() {
                self.blocks[number].handed = before;
            }
        }
    }
}

impl Block {
    /// Several paths meet here.
    pub(crate) fn meets(&self) -> bool {
        self.predecessors > 1 || self.last_of_loop.is_some()
    }

    /// Registers that are read before they are written, and those that are written.
    fn reads(&self) -> (Registers, Registers) {
        let (mut read, mut written) = (Registers::default(), Registers::default());
        for (_, inst) in &self.insts {
            for source in [inst.rs1, inst.rs2, inst.rs3] {
                if source != reg::ZERO && !written.contains(source) {
                    read.insert(source);
                }
            }
            if inst.rd != reg::SINK {
                written.insert(inst.rd);
            }
        }
        (read, written)
    }
}

/// The successors of a block, the one that falls through first.
fn successors(end: &End) -> [Option<To>; 2] {
    match *end {
        End::Branch { taken, fall } => [Some(fall), Some(taken)],
        End::Jump(to) => [Some(to), None],
        End::Indirect | End::Seldom(_) => [None, None],
    }
}

/// Code that has been found from an entry on.
struct Found {
    insts: FxHashMap<u64, Inst>,
    /// Addresses at which blocks begin.
    leaders: FxHashSet<u64>,
    /// Addresses of instructions that the machine must execute.
    seldom: FxHashSet<u64>,
}

impl Found {
    /// Follows the code from `entry` on, nearest first, until it has found `most` instructions.
    fn from(entry: u64, code: &mut dyn Code, most: usize) -> Found {
        let mut found = Found {
            insts: FxHashMap::default(),
            leaders: FxHashSet::default(),
            seldom: FxHashSet::default(),
        };
        let mut next = VecDeque::from([entry]);
        found.leaders.insert(entry);
        while let Some(mut pc) = next.pop_front() {
            while found.insts.len() < most && !found.insts.contains_key(&pc) {
                let Some(inst) = code.at(pc) else {
                    break;
                };
                if is_seldom(&inst) {
                    found.seldom.insert(pc);
                    break;
                }
                found.insts.insert(pc, inst);
                let (behind, target) = (inst.link(pc), inst.direct_target(pc));
                match inst.class {
                    OpClass::Branch => {
                        if code.was_target(target) || found.insts.contains_key(&target) {
                            found.leaders.insert(target);
                            next.push_back(target);
                        }
                        found.leaders.insert(behind);
                    }
                    OpClass::Jump => {
                        found.leaders.insert(target);
                        next.push_back(target);
                        break;
                    }
                    OpClass::Call
                    | OpClass::JumpIndirect
                    | OpClass::CallIndirect
                    | OpClass::Return => break,
                    _ => {}
                }
                pc = behind;
            }
        }
        found
    }

    /// A block of the region begins there.
    fn leads(&self, pc: u64) -> bool {
        self.leaders.contains(&pc) && self.insts.contains_key(&pc)
    }

    /// The block that begins at an address, with addresses for the blocks behind it.
    fn block(&self, start: u64) -> Block {
        let mut insts = Vec::new();
        let mut pc = start;
        let end = loop {
            if pc != start && self.leads(pc) {
                break End::Jump(To::Outside(pc));
            }
            let Some(inst) = self.insts.get(&pc) else {
                // Where no more was wanted, compiled code may go on.
                break match self.seldom.contains(&pc) {
                    true => End::Seldom(pc),
                    false => End::Jump(To::Outside(pc)),
                };
            };
            insts.push((pc, *inst));
            let (behind, target) = (inst.link(pc), inst.direct_target(pc));
            match inst.class {
                OpClass::Branch => {
                    break End::Branch {
                        taken: To::Outside(target),
                        fall: To::Outside(behind),
                    };
                }
                OpClass::Jump | OpClass::Call => break End::Jump(To::Outside(target)),
                OpClass::JumpIndirect | OpClass::CallIndirect | OpClass::Return => {
                    break End::Indirect;
                }
                _ => pc = behind,
            }
        };
        Block {
            start,
            insts,
            end,
            live: Registers::default(),
            handed: Registers::default(),
            predecessors: 0,
            last_of_loop: None,
        }
    }
}

/// The machine must execute the instruction: only it can, or it comes seldom.
fn is_seldom(inst: &Inst) -> bool {
    matches!(
        inst.class,
        OpClass::Illegal
            | OpClass::Syscall
            | OpClass::Break
            | OpClass::FenceI
            | OpClass::Csr
            | OpClass::DiseBranch
            | OpClass::DiseCall
            | OpClass::DiseReturn
            | OpClass::DiseDrain
    )
}
