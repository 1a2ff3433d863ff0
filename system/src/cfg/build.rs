//! Blocks and edges of a function.

use std::collections::{BTreeMap, BTreeSet};

use bitvec::vec::BitVec;
use hps_isa::inst::OpClass;

use super::code::range_of;
use super::indirect::{Targets, resolve};
use super::{Block, Cfg, Code, Edge, EdgeKind, Placed};
use crate::symbols::Function;

/// Whether a block ends behind an instruction of this class.
fn ends_block(class: OpClass) -> bool {
    class.is_control()
        || matches!(
            class,
            OpClass::Syscall | OpClass::Break | OpClass::Illegal | OpClass::FenceI
        )
}

impl Cfg {
    /// The graph of a function.
    #[must_use]
    pub fn of(code: &Code<'_>, function: &Function) -> Cfg {
        let range = range_of(function);
        let insts = code.insts(range.clone());
        let places: BTreeMap<u64, usize> = insts.iter().map(|i| i.pc).zip(0..).collect();
        let mut starts = leaders(code, &insts, &range);
        // Targets of indirect jumps begin blocks, and which block a jump ends decides how far it is looked back.
        let jumps = resolve(code, function.addr, &insts, &starts);
        let mut missing = false;
        for targets in jumps.values() {
            match targets {
                Targets::Known(all) => {
                    let inside = all.iter().filter(|t| range.contains(t));
                    for target in inside {
                        missing |= !places.contains_key(target);
                        starts.insert(*target);
                    }
                }
                Targets::Outside => {}
                Targets::Unknown => missing = true,
            }
        }
        let blocks = split(&insts, &starts);
        let number: BTreeMap<u64, usize> = blocks
            .iter()
            .enumerate()
            .map(|(at, b)| (insts[b.insts.start].pc, at))
            .collect();
        let (entry, exit) = (blocks.len(), blocks.len() + 1);
        let mut edges = Vec::new();
        let first = number.get(&function.addr).copied().into_iter();
        let others = code
            .entries(range.clone())
            .filter_map(|e| number.get(&e).copied());
        edges.extend(first.chain(others).map(|to| Edge {
            from: entry,
            to,
            kind: EdgeKind::Entry,
        }));
        for (from, block) in blocks.iter().enumerate() {
            let Some(last) = insts.get(block.insts.end - 1) else {
                continue;
            };
            let mut lead = |target: u64, kind: EdgeKind| {
                let to = number.get(&target).copied();
                missing |= to.is_none() && range.contains(&target) && target != range.end;
                edges.push(Edge {
                    from,
                    to: to.unwrap_or(exit),
                    kind: if to.is_some() { kind } else { EdgeKind::Exit },
                });
            };
            let target = last.pc.wrapping_add_signed(last.inst.imm);
            match last.inst.class {
                OpClass::Branch => {
                    lead(target, EdgeKind::Taken);
                    lead(last.end(), EdgeKind::Next);
                }
                OpClass::Jump => lead(target, EdgeKind::Taken),
                OpClass::JumpIndirect => match jumps.get(&last.pc) {
                    Some(Targets::Known(all)) => {
                        all.iter().for_each(|t| lead(*t, EdgeKind::Indirect));
                    }
                    // Nothing lies at the highest address.
                    _ => lead(u64::MAX, EdgeKind::Exit),
                },
                OpClass::Return | OpClass::Break | OpClass::Illegal => {
                    lead(u64::MAX, EdgeKind::Exit);
                }
                _ => lead(last.end(), EdgeKind::Next),
            }
        }
        let cfg = Cfg::of_parts(range, insts, blocks, edges, missing);
        if missing { cfg } else { cfg.reachable() }
    }

    /// The part of the graph that control can reach: compilers pad functions with instructions that never run.
    fn reachable(self) -> Cfg {
        let mut reached: BitVec = BitVec::repeat(false, self.nodes());
        let mut open = vec![self.entry()];
        while let Some(node) = open.pop() {
            if !reached.replace(node, true) {
                open.extend(self.out_of(node).iter().map(|e| self.edges[*e].to));
            }
        }
        if reached[..self.blocks.len()].all() {
            return self;
        }
        let mut number = vec![usize::MAX; self.nodes()];
        let kept: Vec<usize> = reached[..self.blocks.len()].iter_ones().collect();
        for (new, old) in kept.iter().enumerate() {
            number[*old] = new;
        }
        number[self.entry()] = kept.len();
        number[self.exit()] = kept.len() + 1;
        let blocks = kept.iter().map(|b| self.blocks[*b].clone()).collect();
        let edges = self.edges.iter().filter(|e| reached[e.from]);
        let edges = edges.map(|e| Edge {
            from: number[e.from],
            to: number[e.to],
            kind: e.kind,
        });
        Cfg::of_parts(
            self.range.clone(),
            self.insts.clone(),
            blocks,
            edges.collect(),
            false,
        )
    }
}

/// Addresses at which blocks begin, but for targets of indirect jumps.
fn leaders(code: &Code<'_>, insts: &[Placed], range: &std::ops::Range<u64>) -> BTreeSet<u64> {
    let mut starts = BTreeSet::from([range.start]);
    starts.extend(code.entries(range.clone()));
    for placed in insts {
        let class = placed.inst.class;
        if matches!(class, OpClass::Branch | OpClass::Jump) {
            let target = placed.pc.wrapping_add_signed(placed.inst.imm);
            if range.contains(&target) {
                starts.insert(target);
            }
        }
        if ends_block(class) {
            starts.insert(placed.end());
        }
    }
    starts
}

fn split(insts: &[Placed], starts: &BTreeSet<u64>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (at, placed) in insts.iter().enumerate() {
        match blocks.last_mut() {
            Some(block) if !starts.contains(&placed.pc) => block.insts.end = at + 1,
            _ => blocks.push(Block { insts: at..at + 1 }),
        }
    }
    blocks
}
