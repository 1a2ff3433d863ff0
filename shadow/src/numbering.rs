//! Numbers for the acyclic paths of a graph (Ball and Larus, "Efficient Path Profiling", MICRO 1996).
//!
//! A path begins at the entry or behind a back edge, and ends at the exit or with a back edge. Each back edge from `u` to
//! `v` stands for two dummy edges, from the entry to `v` and from `u` to the exit. Every edge has a value such that the
//! sum of the values along a path is its number, and all numbers from 0 up are used once. The sum of a part of a path
//! between two nodes also tells it from all other parts between these two nodes: otherwise two whole paths had one
//! number.

/// A graph with an entry and an exit.
#[derive(Clone, Debug)]
pub struct Graph {
    /// How many nodes it has.
    pub nodes: usize,
    /// The node in which all paths begin.
    pub entry: usize,
    /// The node in which they end. No edge leaves it.
    pub exit: usize,
    /// Edges, as the numbers of the nodes that they join.
    pub edges: Vec<(usize, usize)>,
}

/// Effect of an edge on the number of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeValue {
    /// The path goes on: this is added.
    Add(u64),
    /// A back edge: the path ends, and another one begins.
    Back {
        /// Added to the number of the path that ends.
        end: u64,
        /// With this number the next one begins.
        start: u64,
    },
    /// The entry does not lead here.
    Unreached,
}

/// The numbering of a graph.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// How many paths there are.
    pub paths: u64,
    /// The value of each edge.
    pub values: Vec<EdgeValue>,
    /// The edges of the acyclic graph by the node that they leave: value, where it leads, and which edge it is.
    acyclic: Vec<Vec<Arc>>,
    entry: usize,
}

/// An edge of the acyclic graph.
#[derive(Clone, Copy, Debug)]
struct Arc {
    value: u64,
    to: usize,
    kind: ArcKind,
}

/// Where an edge of the acyclic graph comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArcKind {
    /// An edge of the graph.
    Real(usize),
    /// From the entry to the target of back edges.
    Start,
    /// From the origin of this back edge to the exit.
    End(usize),
}

/// Numbers above this one are not given: a sum cannot overflow.
pub const MOST_PATHS: u64 = 1 << 62;

impl Numbering {
    /// Numbers the paths of a graph; `None` if there are more than [`MOST_PATHS`].
    #[must_use]
    pub fn of(graph: &Graph) -> Option<Numbering> {
        let mut out = vec![Vec::new(); graph.nodes];
        for (at, (from, _)) in graph.edges.iter().enumerate() {
            out[*from].push(at);
        }
        let (order, back) = depth_first(graph, &out);
        let mut acyclic = vec![Vec::new(); graph.nodes];
        let mut reached = vec![false; graph.nodes];
        for node in &order {
            reached[*node] = true;
        }
        let arc = |to, kind| Arc { value: 0, to, kind };
        let mut heads = Vec::new();
        for (at, (from, to)) in graph.edges.iter().enumerate() {
            if !reached[*from] {
                continue;
            }
            if back[at] {
                acyclic[*from].push(arc(graph.exit, ArcKind::End(at)));
                if !heads.contains(to) {
                    heads.push(*to);
                }
            } else {
                acyclic[*from].push(arc(*to, ArcKind::Real(at)));
            }
        }
        acyclic[graph.entry].extend(heads.iter().map(|head| arc(*head, ArcKind::Start)));
        let mut count = vec![1_u64; graph.nodes];
        // Nodes come behind all that they lead to.
        for node in order {
            if acyclic[node].is_empty() {
                continue;
            }
            let mut sum = 0_u64;
            for arc in &mut acyclic[node] {
                arc.value = sum;
                sum = sum
                    .checked_add(count[arc.to])
                    .filter(|s| *s <= MOST_PATHS)?;
            }
            count[node] = sum;
        }
        let mut values = vec![EdgeValue::Unreached; graph.edges.len()];
        let starts: Vec<(usize, u64)> = acyclic[graph.entry]
            .iter()
            .filter(|arc| arc.kind == ArcKind::Start)
            .map(|arc| (arc.to, arc.value))
            .collect();
        for arc in acyclic.iter().flatten() {
            match arc.kind {
                ArcKind::Real(at) => values[at] = EdgeValue::Add(arc.value),
                ArcKind::End(at) => {
                    let head = graph.edges[at].1;
                    let start = starts.iter().find(|(to, _)| *to == head);
                    values[at] = EdgeValue::Back {
                        end: arc.value,
                        start: start.map_or(0, |(_, value)| *value),
                    };
                }
                ArcKind::Start => {}
            }
        }
        Some(Numbering {
            paths: count[graph.entry],
            values,
            acyclic,
            entry: graph.entry,
        })
    }

    /// The nodes of the path with a number, without the entry and without a dummy step to the exit. `None` if there is
    /// no such path.
    #[must_use]
    pub fn nodes_of(&self, number: u64) -> Option<Vec<usize>> {
        if number >= self.paths {
            return None;
        }
        let mut rest = number;
        let mut node = self.entry;
        let mut nodes = Vec::new();
        loop {
            // Values ascend: the last one that is not too large leads to the path.
            let arcs = &self.acyclic[node];
            let Some(arc) = arcs.iter().rev().find(|arc| arc.value <= rest) else {
                return Some(nodes);
            };
            rest -= arc.value;
            if matches!(arc.kind, ArcKind::End(_)) {
                return Some(nodes);
            }
            node = arc.to;
            nodes.push(node);
        }
    }
}

/// The nodes that the entry leads to, each behind all that it leads to; and for each edge whether it is a back edge: it
/// leads to a node from which the search came.
fn depth_first(graph: &Graph, out: &[Vec<usize>]) -> (Vec<usize>, Vec<bool>) {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; graph.nodes];
    let mut back = vec![false; graph.edges.len()];
    let mut order = Vec::new();
    let mut stack = vec![(graph.entry, 0)];
    state[graph.entry] = OPEN;
    while let Some((node, next)) = stack.last_mut() {
        let Some(edge) = out[*node].get(*next) else {
            state[*node] = DONE;
            order.push(*node);
            stack.pop();
            continue;
        };
        *next += 1;
        let to = graph.edges[*edge].1;
        match state[to] {
            NEW => {
                state[to] = OPEN;
                stack.push((to, 0));
            }
            OPEN => back[*edge] = true,
            _ => {}
        }
    }
    (order, back)
}
