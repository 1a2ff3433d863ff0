//! Call graphs of a native and a simulated run, edge by edge.

use std::collections::{BTreeMap, BTreeSet};

use hps_profile::{Profile, overlap_without_cut};
use schemars::JsonSchema;
use serde::Serialize;

/// Calls by the names of caller and callee; what begins a thread has an empty name.
pub type Edges = BTreeMap<(String, String), u64>;

/// How often a caller called a callee on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EdgeDifference {
    /// The caller.
    pub caller: String,
    /// The callee.
    pub callee: String,
    /// Calls natively.
    pub native: u64,
    /// Calls in the simulation.
    pub simulated: u64,
}

/// Two complete call graphs over the functions that were entered natively.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GraphComparison {
    /// Edges of either.
    pub edges: usize,
    /// Edges with as many calls in the other.
    pub equal: usize,
    /// Overlap of the graphs, 0 to 1.
    pub overlap: f64,
    /// Edges that differ, the largest difference first.
    pub differences: Vec<EdgeDifference>,
}

/// Edges as a profile.
pub(super) fn profile(edges: &Edges) -> Profile<(String, String)> {
    edges
        .iter()
        .map(|(edge, count)| (edge.clone(), *count))
        .collect()
}

/// Compares the exact call graphs of both sides.
pub(super) fn compare(native: &Edges, simulated: &Edges) -> GraphComparison {
    let all: BTreeSet<&(String, String)> = native.keys().chain(simulated.keys()).collect();
    let of = |edges: &Edges, edge| edges.get(edge).copied().unwrap_or(0);
    let mut differences: Vec<EdgeDifference> = all
        .iter()
        .map(|&edge| EdgeDifference {
            caller: edge.0.clone(),
            callee: edge.1.clone(),
            native: of(native, edge),
            simulated: of(simulated, edge),
        })
        .filter(|d| d.native != d.simulated)
        .collect();
    differences.sort_by_key(|d| std::cmp::Reverse(d.native.abs_diff(d.simulated)));
    GraphComparison {
        edges: all.len(),
        equal: all.len() - differences.len(),
        overlap: overlap_without_cut(&profile(native), &profile(simulated)),
        differences,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_compared_edge_by_edge() {
        let edges = |all: &[(&str, &str, u64)]| -> Edges {
            let named = all.iter();
            named
                .map(|&(a, b, n)| ((a.to_owned(), b.to_owned()), n))
                .collect()
        };
        let native = edges(&[("", "main", 1), ("main", "a", 3), ("a", "b", 6)]);
        let simulated = edges(&[("", "main", 1), ("main", "a", 3), ("main", "b", 6)]);
        let seen = compare(&native, &simulated);
        assert_eq!((seen.edges, seen.equal), (4, 2));
        assert!((seen.overlap - 0.4).abs() < 1e-12, "{seen:?}");
        assert_eq!(seen.differences.len(), 2);
        assert_eq!(
            (seen.differences[0].native, seen.differences[0].simulated),
            (6, 0)
        );
    }
}
