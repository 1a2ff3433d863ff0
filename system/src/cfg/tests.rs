//! Dominators and loops of graphs made by hand and by chance; jump tables of small programs.

use hps_isa::asm::program::assemble;
use hps_isa::isa::Isa;
use hps_isa::random::Random;

use super::{Block, Cfg, Code, Edge, EdgeKind, Loop};
use crate::image::ProgramImage;

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

/// The graph of a program, which is one function.
fn graph_of(isa: Isa, text: &str) -> Cfg {
    let program = assemble(isa, text).expect("it assembles");
    let image = ProgramImage::parse(&program.file, "text").expect("a program");
    let code = Code::new(&image);
    Cfg::of(&code, &code.functions()[0])
}

fn assert_has_table_of_three(what: &str, cfg: &Cfg) {
    let by_table = cfg.edges.iter().filter(|e| e.kind == EdgeKind::Indirect);
    assert_eq!((cfg.missing_edges, by_table.count()), (false, 3), "{what}");
}

const CASES: &str = "HEAD\none:\nnop\nret\ntwo:\nnop\nret\nthree:\nnop\nret\n";

#[test]
fn a_table_behind_a_call_is_found_through_the_return_address() {
    // The global pointer is the function's address, by `pv` at the entry and by `ra` behind the call; the table lies 255 << 16 behind it.
    let head = "lda gp, 0(pv)\nbeq a1, over\njsr ra, (pv)\nlda gp, -12(ra)\nover:\nldah t0, 255(gp)\n\
                s8addq a0, t0, t0\nldq t0, 0(t0)\njmp zero, (t0)";
    let data = ".data\ntable:\n.dword one, two, three\n.text\n";
    let text = format!("{data}{}", CASES.replace("HEAD", head));
    assert_has_table_of_three("Alpha", &graph_of(Isa::Alpha, &text));
}

#[test]
fn a_table_is_found_by_the_definition_of_its_base_that_reaches_the_jump() {
    // The index loses its upper word on the way; another block defines the register of the base anew, and does not
    // lead to the jump.
    let head = "lui s0, 0x1000\nbeq a1, zero, other\nslli a0, a0, 32\nsrli a0, a0, 30\nadd a0, a0, s0\n\
                lw a0, 0(a0)\njr a0\nother:\nli s0, 5\nret";
    let data = ".data\ntable:\n.word one, two, three\n.text\n";
    let text = format!("{data}{}", CASES.replace("HEAD", head));
    assert_has_table_of_three("RISC-V", &graph_of(Isa::Riscv64, &text));
    // The other definition reaches the jump, as behind a call that never returns: no table lies at 5.
    let reaches = text.replace("beq a1, zero, other", "beq a1, zero, other\nback:");
    let reaches = reaches.replace("li s0, 5\nret", "li s0, 5\nj back");
    assert_has_table_of_three("two definitions", &graph_of(Isa::Riscv64, &reaches));
    // A register that a loop moves may hold anything.
    let moved = reaches.replace("li s0, 5", "addi s0, s0, 4\nbne a1, zero, other");
    assert!(graph_of(Isa::Riscv64, &moved).missing_edges);
}

#[test]
fn a_jump_by_one_of_two_tables_leads_where_both_lead() {
    let head = "lui s0, 0x1000\nbeq a1, zero, back\naddi s0, s0, 8\nback:\nslli a0, a0, 2\nadd a0, a0, s0\n\
                lw a0, 0(a0)\njr a0";
    let data = ".data\ntable:\n.word one, one, two, three\n.text\n";
    let text = format!("{data}{}", CASES.replace("HEAD", head));
    assert_has_table_of_three("RISC-V", &graph_of(Isa::Riscv64, &text));
}

#[test]
fn the_base_of_a_table_is_found_in_the_frame_where_the_function_stored_it() {
    let head = "addi sp, sp, -32\nlui a2, 0x1000\nsd a2, 8(sp)\njal ra, CALLED\nld a2, 8(sp)\nsh2add a0, a0, a2\n\
                lw a0, 0(a0)\njr a0";
    let data = ".data\ntable:\n.word one, two, three\n.text\n";
    let text = format!("{data}{}", CASES.replace("HEAD", head)).replace("CALLED", "three");
    assert_has_table_of_three("RISC-V", &graph_of(Isa::Riscv64, &text));
    // Another word of the frame.
    let other = text.replace("ld a2, 8(sp)", "ld a2, 16(sp)");
    assert!(graph_of(Isa::Riscv64, &other).missing_edges);
}

#[test]
fn an_entry_whose_sign_is_extended_again_stays_an_entry() {
    // The table holds distances from its own beginning.
    let head =
        "lui a2, 0x1000\nsh2add a0, a0, a2\nlw a0, 0(a0)\nsext.w a0, a0\nadd a0, a0, a2\njr a0";
    let data = ".data\ntable:\n.word one - table, two - table, three - table\n.text\n";
    let text = format!("{data}{}", CASES.replace("HEAD", head));
    assert_has_table_of_three("RISC-V", &graph_of(Isa::Riscv64, &text));
}

#[test]
fn a_jump_with_the_frame_of_the_caller_is_a_call_in_the_place_of_a_return() {
    let graph = |text: &str| graph_of(Isa::Riscv64, text);
    let leaf = "ld a5, 0(a0)\nbeq a5, zero, none\njr a5\nnone:\nret\n";
    assert!(!graph(leaf).missing_edges);
    let with_frame = "addi sp, sp, -16\nsd ra, 8(sp)\njal ra, f\nld ra, 8(sp)\naddi sp, sp, 16\nj leave\n\
                      leave:\njr a5\nf:\nret";
    assert!(!graph(with_frame).missing_edges);
    // The return address is that of a call of its own, and the frame is still there.
    let lost = with_frame.replace("ld ra, 8(sp)\n", "");
    let kept = with_frame.replace("addi sp, sp, 16\n", "");
    assert!(graph(&lost).missing_edges && graph(&kept).missing_edges);
    // Code that nothing else leads to: the jump may lead there.
    let cases = format!("{leaf}case:\naddi a0, a0, 1\nret\n");
    assert!(graph(&cases).missing_edges);
}
