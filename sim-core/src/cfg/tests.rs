//! Dominators and loops of graphs made by hand and by chance.

use super::{Block, Cfg, Edge, EdgeKind, Loop};
use crate::random::Random;

/// A graph of blocks without instructions that count.
fn graph(blocks: usize, edges: &[(usize, usize)]) -> Cfg {
    let edges = edges.iter().map(|&(from, to)| Edge {
        from,
        to,
        kind: EdgeKind::Taken,
    });
    let blocks = (0..blocks).map(|at| Block { insts: at..at + 1 });
    Cfg::of_parts(0..0, Vec::new(), blocks.collect(), edges.collect(), false)
}

#[test]
fn a_loop_in_a_loop_is_two_loops() {
    // 0 -> 1 -> 2 -> 2, 2 -> 1, 1 -> 3; entry is 4 and exit 5.
    let cfg = graph(4, &[(4, 0), (0, 1), (1, 2), (2, 2), (2, 1), (1, 3), (3, 5)]);
    let found: Vec<(usize, Vec<usize>)> = cfg
        .loops()
        .into_iter()
        .map(|Loop { header, blocks, .. }| (header, blocks))
        .collect();
    assert_eq!(found, [(1, vec![1, 2]), (2, vec![2])]);
    assert_eq!(cfg.dominators()[3], Some(1));
}

/// Whether every way from the entry to `node` passes `through`: the entry does not reach it without.
fn dominates(cfg: &Cfg, through: usize, node: usize) -> bool {
    let mut seen = vec![false; cfg.nodes()];
    let mut open = vec![cfg.entry()];
    while let Some(at) = open.pop() {
        if at != through && !std::mem::replace(&mut seen[at], true) {
            open.extend(cfg.out_of(at).iter().map(|e| cfg.edges[*e].to));
        }
    }
    !seen[node]
}

#[test]
fn dominators_are_those_without_which_the_entry_does_not_reach_a_node() {
    let mut random = Random::new(11);
    for _ in 0..300 {
        let blocks = 1 + random.below(9) as usize;
        let (entry, exit) = (blocks, blocks + 1);
        let mut edges = vec![(entry, 0)];
        for from in 0..blocks {
            for _ in 0..1 + random.below(2) {
                let to = random.below(blocks as u64 + 1) as usize;
                edges.push((from, if to == blocks { exit } else { to }));
            }
        }
        let cfg = graph(blocks, &edges);
        let found = cfg.dominators();
        for node in 0..blocks {
            let reached = !dominates(&cfg, usize::MAX, node);
            assert_eq!(found[node].is_some(), reached, "{edges:?}: {node}");
            let mut chain: Vec<usize> = std::iter::successors(found[node], |n| found[*n]).collect();
            chain.sort_unstable();
            let all = (0..cfg.nodes()).filter(|t| *t != node && dominates(&cfg, *t, node));
            if reached {
                assert_eq!(chain, all.collect::<Vec<_>>(), "{edges:?}: {node}");
            }
        }
    }
}
