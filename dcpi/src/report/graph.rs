//! A procedure's graph as a drawing, in the language of Graphviz.

use std::fmt::Write;

use hps_system::cfg::EdgeKind;

use crate::analysis::Procedure;

/// Blocks with their code and how often they ran, edges with how often control followed them. A darker block has more
/// samples.
#[must_use]
pub fn dot(procedure: &Procedure) -> String {
    let cfg = &procedure.cfg;
    let mut out = format!("digraph {} {{\n", quoted(&procedure.name));
    out +=
        "  node [shape=box, style=filled, fontname=monospace, fontsize=9];\n  edge [fontsize=9];\n";
    let samples = |block: usize| -> u64 {
        let rows = procedure.rows.iter().filter(|r| r.block == block);
        rows.map(|r| r.samples).sum()
    };
    let all = procedure.samples.max(1) as f64;
    for block in 0..cfg.blocks.len() {
        let share = samples(block) as f64 / all;
        let frequency = frequency(procedure.block(block));
        let mut label = format!("{} samples, ran {frequency}\\l", samples(block));
        for row in procedure.rows.iter().filter(|r| r.block == block) {
            let _ = write!(label, "{:x}  {}\\l", row.pc, row.text.replace('"', "'"));
        }
        let _ = writeln!(
            out,
            "  b{block} [label=\"{label}\", fillcolor=\"0.08 {:.2} 1.0\"];",
            share.sqrt()
        );
    }
    let _ = writeln!(out, "  b{} [label=entry, shape=ellipse];", cfg.entry());
    let _ = writeln!(out, "  b{} [label=exit, shape=ellipse];", cfg.exit());
    for (at, edge) in cfg.edges.iter().enumerate() {
        let style = match edge.kind {
            EdgeKind::Next => "solid",
            EdgeKind::Taken | EdgeKind::Indirect => "bold",
            EdgeKind::Entry | EdgeKind::Exit => "dashed",
        };
        let _ = writeln!(
            out,
            "  b{} -> b{} [label=\"{}\", style={style}];",
            edge.from,
            edge.to,
            frequency(procedure.edge(at))
        );
    }
    out + "}\n"
}

pub(super) fn frequency(estimate: Option<crate::analysis::Estimate>) -> String {
    estimate.map_or("?".to_string(), |e| format!("{:.1}", e.frequency))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
