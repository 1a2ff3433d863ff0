//! Cycle equivalence by its definition: two edges are equivalent if no cycle has one of them without the other.

use hps_system::cfg::Cfg;

/// The class of each block, then of each edge, in the order of their first members.
pub fn of(cfg: &Cfg) -> Vec<usize> {
    let blocks = cfg.blocks.len();
    let count = blocks + cfg.edges.len();
    if cfg.missing_edges {
        return (0..count).collect();
    }
    // A block is an edge from its beginning `n` to its end `n + nodes`. Entry and exit have a beginning only.
    let nodes = cfg.nodes();
    let end = |node: usize| if node < blocks { node + nodes } else { node };
    let mut edges: Vec<(usize, usize)> = (0..blocks).map(|b| (b, end(b))).collect();
    edges.extend(cfg.edges.iter().map(|e| (end(e.from), e.to)));
    edges.push((cfg.exit(), cfg.entry()));
    // Endless loops leave by an edge that is never taken.
    while let Some(block) = (0..blocks).find(|b| !reaches(&edges, end(*b), cfg.exit(), None)) {
        edges.push((end(block), cfg.exit()));
    }
    let apart = |a: usize, b: usize| reaches(&edges, edges[a].1, edges[a].0, Some(b));
    let mut classes: Vec<usize> = Vec::new();
    let mut firsts: Vec<usize> = Vec::new();
    for edge in 0..count {
        let found = firsts
            .iter()
            .position(|first| !apart(edge, *first) && !apart(*first, edge));
        classes.push(found.unwrap_or_else(|| {
            firsts.push(edge);
            firsts.len() - 1
        }));
    }
    classes
}

/// Whether `to` is reached from `from` without an edge.
fn reaches(edges: &[(usize, usize)], from: usize, to: usize, without: Option<usize>) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while next < seen.len() {
        let at = seen[next];
        next += 1;
        for (number, edge) in edges.iter().enumerate() {
            if edge.0 == at && Some(number) != without && !seen.contains(&edge.1) {
                seen.push(edge.1);
            }
        }
    }
    seen.contains(&to)
}
