//! A procedure's graph as a picture: blocks in the order of their addresses, below each other, and arcs for what does not
//! go on with the next block.

use std::fmt::Write;

use hps_system::cfg::EdgeKind;

use super::graph::frequency;
use crate::analysis::Procedure;

/// Sizes, in pixels.
const LEFT: f64 = 120.0;
const WIDTH: f64 = 250.0;
const RIGHT: f64 = 120.0;
const HEIGHT: f64 = 34.0;
const GAP: f64 = 18.0;
/// The thickest line: of an edge that is followed as often as any.
const THICKEST: f64 = 5.0;

/// The picture as SVG. A darker block has more samples; a thicker line was followed more often. Arcs on the right lead
/// forward, those on the left back.
#[must_use]
pub fn drawing(procedure: &Procedure) -> String {
    let cfg = &procedure.cfg;
    let count = cfg.blocks.len();
    let y = |block: usize| GAP + block as f64 * (HEIGHT + GAP);
    let (width, height) = (LEFT + WIDTH + RIGHT, y(count));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n<title>{}</title>\n",
        escaped(&procedure.name)
    );
    out += "<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"9\" markerHeight=\"9\" \
            markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0,0 L6,3 L0,6 z\" fill=\"#555\"/></marker></defs>\n";
    let estimate = |at: usize| procedure.edge(at).map_or(0.0, |e| e.frequency);
    let most = (0..cfg.edges.len())
        .map(estimate)
        .fold(0.0, f64::max)
        .max(1.0);
    for (at, edge) in cfg.edges.iter().enumerate() {
        if edge.from >= count || edge.to >= count {
            continue;
        }
        let line = 1.0 + (THICKEST - 1.0) * estimate(at) / most;
        let dash = match edge.kind {
            EdgeKind::Entry | EdgeKind::Exit | EdgeKind::Indirect => " stroke-dasharray=\"4 3\"",
            EdgeKind::Next | EdgeKind::Taken => "",
        };
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"#555\" stroke-width=\"{line:.1}\"{dash} \
             marker-end=\"url(#tip)\"><title>followed {} times</title></path>",
            path(y(edge.from), y(edge.to), edge.from, edge.to),
            frequency(procedure.edge(at))
        );
    }
    let all = procedure.samples.max(1) as f64;
    for block in 0..count {
        let rows = || procedure.rows.iter().filter(move |row| row.block == block);
        let samples: u64 = rows().map(|row| row.samples).sum();
        let mut code = String::new();
        for row in rows() {
            let _ = writeln!(code, "{:x}  {}", row.pc, row.text);
        }
        let first = rows().next().map_or(0, |row| row.pc);
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect x=\"{LEFT}\" y=\"{}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"3\" \
             fill=\"rgb(255,{green:.0},{blue:.0})\" stroke=\"#333\"/><text x=\"{text}\" y=\"{}\">{first:x}: {} \
             instructions</text><text x=\"{text}\" y=\"{}\">{samples} samples, ran {}</text></g>",
            escaped(&code),
            y(block),
            y(block) + 14.0,
            rows().count(),
            y(block) + 28.0,
            frequency(procedure.block(block)),
            text = LEFT + 8.0,
            green = 255.0 - 110.0 * (samples as f64 / all).sqrt(),
            blue = 255.0 - 190.0 * (samples as f64 / all).sqrt(),
        );
    }
    out + "</svg>\n"
}

/// The line of an edge: straight to the next block, an arc to any other one.
fn path(from_y: f64, to_y: f64, from: usize, to: usize) -> String {
    let (bottom, top) = (from_y + HEIGHT, to_y);
    if to == from + 1 {
        let x = LEFT + WIDTH / 2.0;
        return format!("M{x},{bottom} L{x},{top}");
    }
    let distance = to.abs_diff(from) as f64;
    // Farther arcs reach farther out, up to the margin.
    let reach = 20.0 + (LEFT - 30.0) * (1.0 - 1.0 / (1.0 + distance / 6.0));
    let (start, end) = (from_y + HEIGHT * 0.7, to_y + HEIGHT * 0.3);
    let (x, out) = match to > from {
        true => (LEFT + WIDTH, LEFT + WIDTH + reach),
        false => (LEFT, LEFT - reach),
    };
    format!("M{x},{start} C{out},{start} {out},{end} {x},{end}")
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
