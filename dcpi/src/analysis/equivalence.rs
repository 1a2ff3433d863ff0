//! Which blocks and edges of a graph run equally often: cycle equivalence.
//!
//! Two edges of a strongly connected graph are cycle equivalent if every cycle that has one of them has the other. An
//! edge from the exit back to the entry makes the graph of a function strongly connected, and blocks are edges between
//! their beginning and their end. The algorithm is that of Johnson, Pearson and Pingali ("The Program Structure Tree:
//! Computing Control Regions in Linear Time", PLDI 1994): one depth-first search of the undirected graph, in which the
//! set of brackets of a tree edge is known by its size and its youngest bracket.
//!
//! DCPI extends it for infinite loops and does not say how. Here a block of each part that never reaches the exit gets
//! an edge to it that is never taken. That can only part classes, never join them.

use bitvec::vec::BitVec;
use hps_system::cfg::Cfg;

/// Classes of a function's blocks and edges: what is in one class runs equally often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// The class of each block.
    pub of_block: Vec<usize>,
    /// The class of each edge.
    pub of_edge: Vec<usize>,
    /// Number of classes.
    pub count: usize,
}

impl Classes {
    /// The classes of a graph. If edges are missing, each block and each edge is a class of its own.
    #[must_use]
    pub fn of(cfg: &Cfg) -> Classes {
        let blocks = cfg.blocks.len();
        if cfg.missing_edges {
            return Classes {
                of_block: (0..blocks).collect(),
                of_edge: (blocks..blocks + cfg.edges.len()).collect(),
                count: blocks + cfg.edges.len(),
            };
        }
        let begin = |node: usize| 2 * node;
        // Entry and exit have one place each.
        let end = |node: usize| {
            if node < blocks {
                2 * node + 1
            } else {
                2 * node
            }
        };
        let mut edges: Vec<(usize, usize)> = (0..blocks).map(|b| (begin(b), end(b))).collect();
        edges.extend(cfg.edges.iter().map(|e| (end(e.from), begin(e.to))));
        edges.push((begin(cfg.exit()), begin(cfg.entry())));
        edges.extend(
            endless(cfg)
                .into_iter()
                .map(|b| (end(b), begin(cfg.exit()))),
        );
        let class = edge_classes(2 * cfg.nodes(), &edges, begin(cfg.entry()));
        let mut number = std::collections::HashMap::new();
        let mut dense = |class: usize| {
            let next = number.len();
            *number.entry(class).or_insert(next)
        };
        let of_block = class[..blocks].iter().map(|c| dense(*c)).collect();
        let behind = blocks + cfg.edges.len();
        let of_edge = class[blocks..behind].iter().map(|c| dense(*c)).collect();
        Classes {
            of_block,
            of_edge,
            count: number.len(),
        }
    }
}

/// A block of each part of a graph from which control never reaches the exit.
fn endless(cfg: &Cfg) -> Vec<usize> {
    let mut ends: BitVec = BitVec::repeat(false, cfg.nodes());
    let mut open = vec![cfg.exit()];
    let mut found = Vec::new();
    let mut next = 0;
    loop {
        while let Some(node) = open.pop() {
            if !ends.replace(node, true) {
                open.extend(cfg.into(node).iter().map(|e| cfg.edges[*e].from));
            }
        }
        while next < cfg.blocks.len() && ends[next] {
            next += 1;
        }
        if next == cfg.blocks.len() {
            return found;
        }
        found.push(next);
        open.push(next);
    }
}

/// No bracket.
const NONE: usize = usize::MAX;

/// Brackets of the tree edge above a node, youngest first: a list through `Brackets`.
#[derive(Clone, Copy)]
struct List {
    first: usize,
    last: usize,
    size: usize,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
    size: 0,
};

/// All brackets: the back edges, and capping edges behind them.
#[derive(Default)]
struct Brackets {
    older: Vec<usize>,
    younger: Vec<usize>,
    class: Vec<usize>,
    recent_size: Vec<usize>,
    recent_class: Vec<usize>,
}

impl Brackets {
    fn add(&mut self) -> usize {
        self.older.push(NONE);
        self.younger.push(NONE);
        self.class.push(NONE);
        self.recent_size.push(NONE);
        self.recent_class.push(NONE);
        self.older.len() - 1
    }

    fn push(&mut self, list: &mut List, bracket: usize) {
        self.older[bracket] = list.first;
        self.younger[bracket] = NONE;
        match list.first {
            NONE => list.last = bracket,
            first => self.younger[first] = bracket,
        }
        list.first = bracket;
        list.size += 1;
    }

    fn delete(&mut self, list: &mut List, bracket: usize) {
        let (older, younger) = (self.older[bracket], self.younger[bracket]);
        match younger {
            NONE => list.first = older,
            at => self.older[at] = older,
        }
        match older {
            NONE => list.last = younger,
            at => self.younger[at] = younger,
        }
        list.size -= 1;
    }

    /// `first` in front of `second`.
    fn concatenate(&mut self, first: List, second: List) -> List {
        if first.size == 0 {
            return second;
        }
        if second.size == 0 {
            return first;
        }
        self.older[first.last] = second.first;
        self.younger[second.first] = first.last;
        List {
            first: first.first,
            last: second.last,
            size: first.size + second.size,
        }
    }
}

/// The depth-first search of the undirected graph.
struct Tree {
    /// Nodes in the order in which they are found.
    order: Vec<usize>,
    /// Place of each node in `order`; those that are not found have none.
    number: Vec<usize>,
    /// The edge by which each node is found.
    parent_edge: Vec<usize>,
    /// For each node, the edges that lead to it from nodes below: no tree edges.
    from_below: Vec<Vec<usize>>,
    /// For each node, the edges that lead from it to nodes above.
    to_above: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
}

impl Tree {
    fn new(nodes: usize, edges: &[(usize, usize)], root: usize) -> Tree {
        let mut around = vec![Vec::new(); nodes];
        for (at, &(from, to)) in edges.iter().enumerate() {
            around[from].push((at, to));
            around[to].push((at, from));
        }
        let mut tree = Tree {
            order: vec![root],
            number: vec![NONE; nodes],
            parent_edge: vec![NONE; nodes],
            from_below: vec![Vec::new(); nodes],
            to_above: vec![Vec::new(); nodes],
            children: vec![Vec::new(); nodes],
        };
        let mut done: BitVec = BitVec::repeat(false, edges.len());
        tree.number[root] = 0;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.pop() {
            let Some(&(edge, other)) = around[node].get(next) else {
                continue;
            };
            path.push((node, next + 1));
            if done.replace(edge, true) {
                continue;
            }
            if tree.number[other] == NONE {
                tree.number[other] = tree.order.len();
                tree.order.push(other);
                tree.parent_edge[other] = edge;
                tree.children[node].push(other);
                path.push((other, 0));
            } else {
                // In a depth-first search of an undirected graph, the other node is above this one.
                tree.to_above[node].push(edge);
                tree.from_below[other].push(edge);
            }
        }
        tree
    }
}

/// The class of each edge; edges that are not connected with the root have a class of their own.
fn edge_classes(nodes: usize, edges: &[(usize, usize)], root: usize) -> Vec<usize> {
    let tree = Tree::new(nodes, edges, root);
    let mut classes = 0;
    let mut new_class = || {
        classes += 1;
        classes - 1
    };
    let mut brackets = Brackets::default();
    let mut bracket_of = vec![NONE; edges.len()];
    let mut class = vec![NONE; edges.len()];
    let mut lists = vec![EMPTY; nodes];
    let mut high = vec![NONE; nodes];
    // Capping edges that end at a node.
    let mut capping: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &node in tree.order.iter().rev() {
        let above = |edge: &usize| {
            let (a, b) = edges[*edge];
            tree.number[a].min(tree.number[b])
        };
        let high_by_edge = tree.to_above[node].iter().map(above).min().unwrap_or(NONE);
        let (mut highest, mut second, mut list) = (NONE, NONE, EMPTY);
        for &child in &tree.children[node] {
            let of_child = high[child];
            if of_child < highest {
                second = highest;
                highest = of_child;
            } else {
                second = second.min(of_child);
            }
            list = brackets.concatenate(lists[child], list);
        }
        high[node] = high_by_edge.min(highest);
        for &cap in &capping[node] {
            brackets.delete(&mut list, cap);
        }
        for &edge in &tree.from_below[node] {
            let bracket = bracket_of[edge];
            brackets.delete(&mut list, bracket);
            if brackets.class[bracket] == NONE {
                brackets.class[bracket] = new_class();
            }
            class[edge] = brackets.class[bracket];
        }
        for &edge in &tree.to_above[node] {
            bracket_of[edge] = brackets.add();
            brackets.push(&mut list, bracket_of[edge]);
        }
        // Two children reach above this node: what lies between is bracketed on both sides.
        if second < high_by_edge && second < tree.number[node] {
            let cap = brackets.add();
            brackets.push(&mut list, cap);
            capping[tree.order[second]].push(cap);
        }
        if tree.parent_edge[node] != NONE && list.size > 0 {
            let top = list.first;
            if brackets.recent_size[top] != list.size {
                brackets.recent_size[top] = list.size;
                brackets.recent_class[top] = new_class();
            }
            class[tree.parent_edge[node]] = brackets.recent_class[top];
            if brackets.recent_size[top] == 1 {
                brackets.class[top] = brackets.recent_class[top];
            }
        }
        lists[node] = list;
    }
    for place in class.iter_mut().filter(|c| **c == NONE) {
        *place = new_class();
    }
    class
}

#[cfg(test)]
mod tests {
    use super::edge_classes;
    use hps_isa::random::Random;

    /// Whether `to` is reached from `from` without edge `without`.
    fn reaches(
        nodes: usize,
        edges: &[(usize, usize)],
        from: usize,
        to: usize,
        without: usize,
    ) -> bool {
        let mut seen = vec![false; nodes];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                let next = edges.iter().enumerate();
                let next = next.filter(|(i, e)| *i != without && e.0 == at);
                open.extend(next.map(|(_, e)| e.1));
            }
        }
        seen[to]
    }

    /// Whether some cycle has edge `a` and not edge `b`.
    fn cycle_without(nodes: usize, edges: &[(usize, usize)], a: usize, b: usize) -> bool {
        a != b && reaches(nodes, edges, edges[a].1, edges[a].0, b)
    }

    #[test]
    fn classes_are_those_of_the_definition_on_random_graphs() {
        let mut random = Random::new(1994);
        let (mut joined, mut apart) = (0, 0);
        let mut graphs = 0;
        while graphs < 2000 {
            let nodes = 2 + random.below(9) as usize;
            let count = nodes as u64 + random.below(nodes as u64 + 3);
            let node = |random: &mut Random| random.below(nodes as u64) as usize;
            // A path through all nodes and back makes most of them strongly connected.
            let mut edges: Vec<(usize, usize)> = (0..nodes).map(|n| (n, (n + 1) % nodes)).collect();
            for _ in nodes as u64..count {
                // Blocks have a beginning and an end: no edge leads from a node to itself.
                let (from, to) = (node(&mut random), node(&mut random));
                if from != to {
                    edges.push((from, to));
                }
            }
            if random.below(2) == 0 {
                edges.remove(random.below(edges.len() as u64) as usize);
            }
            let connected = (0..nodes).all(|n| {
                reaches(nodes, &edges, 0, n, usize::MAX) && reaches(nodes, &edges, n, 0, usize::MAX)
            });
            if !connected {
                continue;
            }
            graphs += 1;
            let class = edge_classes(nodes, &edges, node(&mut random));
            for a in 0..edges.len() {
                for b in 0..edges.len() {
                    let equivalent =
                        !cycle_without(nodes, &edges, a, b) && !cycle_without(nodes, &edges, b, a);
                    assert_eq!(class[a] == class[b], equivalent, "{edges:?}: {a}, {b}");
                    joined += u32::from(equivalent && a != b);
                    apart += u32::from(!equivalent);
                }
            }
        }
        assert!(joined > 1000 && apart > 1000, "{joined}, {apart}");
    }
}
