//! Numbers of paths against enumeration and against traces, value tables against exact counts, the policies.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hps_isa::inst::OpClass;
use hps_isa::probe::{Probe, Retired};
use hps_sim_core::machine::Machine;
use hps_system::cfg::{Cfg, Code};
use hps_system::image::{Isa, ProgramImage};
use hps_system::process::{Process, ProcessConfig};
use hps_workloads::Size;
use proptest::prelude::*;

use crate::Graphs;
use crate::numbering::{EdgeValue, Graph, Numbering};
use crate::paths::MOST_SEGMENTS;
use crate::policy::Policy;
use crate::profiles::Profiles;
use crate::values::{TableShape, ValueTable};

/// All paths of a graph as sums, by their nodes, the back edge that ends them, and whether they begin at the entry.
fn enumerated(graph: &Graph, numbering: &Numbering) -> Vec<(u64, Vec<usize>)> {
    let mut all = Vec::new();
    let mut open = vec![(graph.entry, 0, Vec::new())];
    let mut heads = BTreeSet::new();
    for (at, (_, to)) in graph.edges.iter().enumerate() {
        if let EdgeValue::Back { start, .. } = numbering.values[at]
            && heads.insert(*to)
        {
            open.push((*to, start, vec![*to]));
        }
    }
    while let Some((node, sum, nodes)) = open.pop() {
        let mut is_last = true;
        for (at, (from, to)) in graph.edges.iter().enumerate() {
            if *from != node {
                continue;
            }
            is_last = false;
            match numbering.values[at] {
                EdgeValue::Add(value) => {
                    let longer = [&nodes[..], &[*to]].concat();
                    open.push((*to, sum + value, longer));
                }
                EdgeValue::Back { end, .. } => all.push((sum + end, nodes.clone())),
                EdgeValue::Unreached => unreachable!("a path comes here"),
            }
        }
        if is_last {
            all.push((sum, nodes));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_path_of_a_random_graph_has_one_number(
        blocks in 1_usize..9,
        edges in prop::collection::vec((0_usize..9, 0_usize..10), 0..16),
    ) {
        let (entry, exit) = (blocks, blocks + 1);
        let mut unique: BTreeSet<(usize, usize)> = edges
            .into_iter()
            .map(|(from, to)| (from % blocks, to % (blocks + 1)))
            .map(|(from, to)| (from, if to == blocks { exit } else { to }))
            .collect();
        unique.insert((entry, 0));
        let graph = Graph { nodes: blocks + 2, entry, exit, edges: unique.into_iter().collect() };
        let numbering = Numbering::of(&graph).expect("few paths");
        let mut all = enumerated(&graph, &numbering);
        all.sort();
        let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
        prop_assert_eq!(numbers, (0..numbering.paths).collect::<Vec<_>>());
        for (number, nodes) in all {
            let nodes = nodes.into_iter().filter(|n| *n != exit).collect::<Vec<_>>();
            let decoded = numbering.nodes_of(number).expect("a path").into_iter();
            prop_assert_eq!(decoded.filter(|n| *n != exit).collect::<Vec<_>>(), nodes);
        }
    }

    #[test]
    fn value_tables_never_count_too_much_and_few_values_exactly(
        values in prop::collection::vec(0_u64..12, 0..400),
        entries in 2_usize..12,
        flush_every in 1_u64..60,
    ) {
        let shape = TableShape { entries, flush_every };
        let mut table = ValueTable::default();
        let mut exact: BTreeMap<u64, u64> = BTreeMap::new();
        for value in &values {
            table.add(*value, &shape);
            *exact.entry(*value).or_default() += 1;
        }
        prop_assert_eq!(table.executions, values.len() as u64);
        prop_assert!(table.values.len() <= entries);
        for (value, count) in &table.values {
            prop_assert!(*count <= exact[value]);
        }
        if exact.len() <= entries.div_ceil(2) {
            let known: BTreeMap<u64, u64> = table.values.iter().copied().collect();
            prop_assert_eq!(known, exact);
        }
    }
}

#[test]
fn graphs_with_too_many_paths_have_no_numbers() {
    // 70 diamonds, one behind the other: 2^70 paths.
    let mut edges = vec![(280, 0)];
    for at in 0..70 {
        let first = 4 * at;
        let next = if at == 69 { 281 } else { first + 4 };
        edges.extend([(first, first + 1), (first, first + 2)]);
        edges.extend([
            (first + 1, first + 3),
            (first + 2, first + 3),
            (first + 3, next),
        ]);
    }
    let graph = |edges: Vec<(usize, usize)>| Graph {
        nodes: 282,
        entry: 280,
        exit: 281,
        edges,
    };
    assert!(Numbering::of(&graph(edges.clone())).is_none());
    edges.truncate(1 + 5 * 10);
    assert_eq!(Numbering::of(&graph(edges)).map(|n| n.paths), Some(1 << 10));
}

/// The addresses and classes of all instructions of a run.
#[derive(Default)]
struct Trace(Vec<(u64, OpClass)>);

impl Probe for Trace {
    const WANTS_RETIRED: bool = true;

    fn retired(&mut self, event: &Retired<'_>) {
        self.0.push((event.pc, event.inst.class));
    }
}

/// Paths as the blocks that they go through, found in a trace of all instructions.
struct Oracle<'a> {
    code: &'a Code<'a>,
    functions: HashMap<usize, (Cfg, Numbering)>,
    frames: Vec<(u64, Option<Vec<u64>>)>,
    long: Option<(Vec<u64>, u32)>,
    paths: BTreeMap<Vec<u64>, u64>,
    long_paths: BTreeMap<Vec<u64>, u64>,
}

impl Oracle<'_> {
    fn is_back(&mut self, from: u64, to: u64) -> bool {
        let symbols = &self.code.image().symbols;
        let index = symbols.function_index(from).expect("a function");
        let (cfg, numbering) = self.functions.entry(index).or_insert_with(|| {
            let cfg = Cfg::of(self.code, &self.code.functions()[index]);
            let graph = Graph {
                nodes: cfg.nodes(),
                entry: cfg.entry(),
                exit: cfg.exit(),
                edges: cfg.edges.iter().map(|e| (e.from, e.to)).collect(),
            };
            let numbering = Numbering::of(&graph).expect("few paths");
            (cfg, numbering)
        });
        let joined = (cfg.block_at(from), cfg.block_at(to));
        let edge = cfg
            .edges
            .iter()
            .position(|e| (Some(e.from), Some(e.to)) == joined);
        matches!(
            numbering.values[edge.expect("an edge")],
            EdgeValue::Back { .. }
        )
    }

    fn starts_block(&self, pc: u64) -> bool {
        let index = self
            .code
            .image()
            .symbols
            .function_index(pc)
            .expect("a function");
        let cfg = &self.functions.get(&index).expect("seen before").0;
        cfg.block_at(pc).is_some_and(|b| cfg.block_start(b) == pc)
    }

    fn step(&mut self, block: u64) {
        if let Some((_, Some(path))) = self.frames.last_mut() {
            path.push(block);
        }
        if let Some((path, _)) = &mut self.long {
            path.push(block);
        }
    }

    fn end_path(&mut self) {
        if let Some((_, Some(path))) = self.frames.last_mut() {
            *self.paths.entry(std::mem::take(path)).or_default() += 1;
        }
    }

    fn end_long(&mut self) {
        if let Some((path, _)) = self.long.take() {
            *self.long_paths.entry(path).or_default() += 1;
        }
    }

    /// A call or return to `to`.
    fn leave(&mut self, to: u64) {
        match &mut self.long {
            Some((_, segments)) if *segments == MOST_SEGMENTS => {
                self.end_long();
                self.long = Some((Vec::new(), 0));
            }
            Some((path, segments)) => {
                // Where control went at a border belongs to the path, also when no block tells.
                path.push(to | 1 << 63);
                *segments += 1;
            }
            None => {}
        }
    }

    fn run(&mut self, trace: &[(u64, OpClass)]) {
        for pair in trace.windows(2) {
            let ((pc, class), (next, _)) = (pair[0], pair[1]);
            if class.is_call() {
                self.leave(next);
                self.frames.push((pc + 4, Some(Vec::new())));
                self.step(next);
                // Fills the table of functions.
                let _ = self.seen(next);
            } else if class == OpClass::Return {
                self.end_path();
                self.leave(next);
                let at = self.frames.iter().rposition(|(behind, _)| *behind == next);
                match at.filter(|at| *at > 0) {
                    Some(at) => self.frames.truncate(at),
                    None => self.frames = vec![(0, None)],
                }
                self.step(next);
            } else if self.function_of(pc) != self.function_of(next) {
                // A call that does not come back here.
                self.end_path();
                self.leave(next);
                let behind = self.frames.pop().map_or(0, |(behind, _)| behind);
                self.frames.push((behind, Some(Vec::new())));
                let _ = self.seen(next);
                self.step(next);
            } else if self.seen(next) && self.starts_block(next) {
                if self.is_back(pc, next) {
                    self.end_path();
                    self.end_long();
                    self.long = Some((Vec::new(), 0));
                    if let Some((_, path)) = self.frames.last_mut() {
                        *path = Some(Vec::new());
                    }
                }
                self.step(next);
            }
        }
    }

    fn function_of(&self, pc: u64) -> Option<usize> {
        self.code.image().symbols.function_index(pc)
    }

    fn seen(&mut self, pc: u64) -> bool {
        let symbols = &self.code.image().symbols;
        let index = symbols.function_index(pc).expect("a function");
        if !self.functions.contains_key(&index) {
            let entry = self.code.functions()[index].addr;
            let cfg = Cfg::of(self.code, &self.code.functions()[index]);
            assert!(!cfg.missing_edges, "{entry:#x}");
            let graph = Graph {
                nodes: cfg.nodes(),
                entry: cfg.entry(),
                exit: cfg.exit(),
                edges: cfg.edges.iter().map(|e| (e.from, e.to)).collect(),
            };
            let numbering = Numbering::of(&graph).expect("few paths");
            self.functions.insert(index, (cfg, numbering));
        }
        true
    }
}

#[test]
fn paths_are_those_that_a_trace_goes_through() {
    let workload = hps_workloads::find("bwt").expect("comes with the project");
    let image = workload.image("alpha").expect("an image");
    let image = std::sync::Arc::new(ProgramImage::parse(image, "bwt").expect("a program"));
    assert_eq!(
        image.isa,
        Isa::Alpha,
        "all of its instructions have four bytes"
    );
    let args = [&["bwt"], &workload.args(Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&a| a.to_owned()).collect(),
        ..ProcessConfig::default()
    };
    let start = || Process::new(image.clone(), &config).expect("fits");
    let graphs = Graphs::new(&image);
    let mut profiles = Profiles::new(&graphs, TableShape::default());
    const LIMIT: u64 = 400_000;
    Machine::new(start()).run(&mut profiles, LIMIT);
    let mut trace = Trace::default();
    Machine::new(start()).run(&mut trace, LIMIT);
    let code = Code::new(&image);
    let mut oracle = Oracle {
        code: &code,
        functions: HashMap::new(),
        frames: vec![(0, None)],
        long: None,
        paths: BTreeMap::new(),
        long_paths: BTreeMap::new(),
    };
    oracle.run(&trace.0);
    assert_eq!(graphs.numbered().1, 0, "functions without numbers");

    let found = &profiles.paths.paths().all;
    let decoded: BTreeMap<Vec<u64>, u64> = found
        .iter()
        .map(|(path, e)| {
            let blocks = graphs.blocks_of(path.function, path.number);
            (blocks.expect("a path"), e.count)
        })
        .collect();
    assert!(decoded.len() > 100);
    assert_eq!(decoded, oracle.paths);

    let counts = |all: &mut dyn Iterator<Item = u64>| {
        let mut all: Vec<u64> = all.collect();
        all.sort_unstable();
        all
    };
    let here = counts(&mut profiles.paths.long_paths().all.values().map(|e| e.count));
    assert!(here.len() > 100);
    assert_eq!(here, counts(&mut oracle.long_paths.values().copied()));
}

#[test]
fn paths_have_one_number_in_all_profiles() {
    let workload = hps_workloads::find("interp").expect("comes with the project");
    let image = workload.image("riscv64").expect("an image");
    let image = std::sync::Arc::new(ProgramImage::parse(image, "interp").expect("a program"));
    let args = [&["interp"], &workload.args(Size::Small)[..]].concat();
    let config = ProcessConfig {
        args: args.iter().map(|&a| a.to_owned()).collect(),
        ..ProcessConfig::default()
    };
    let graphs = Graphs::new(&image);
    let mut machine = Machine::new(Process::new(image.clone(), &config).expect("fits"));
    let mut whole = Profiles::new(&graphs, TableShape::default());
    machine.run(&mut whole, 300_000);
    let mut later = Profiles::new(&graphs, TableShape::default());
    machine.run(&mut (&mut whole, &mut later), 300_000);
    let (whole, later) = (whole.paths.long_paths(), later.paths.long_paths());
    assert!(later.all.len() > 10, "{}", later.all.len());
    for (path, seen) in &later.all {
        let known = whole.all.get(path).expect("the whole profile has it");
        assert!(known.count >= seen.count && known.instructions == seen.instructions);
    }
}

#[test]
fn the_policies_of_the_lab_can_be_read() {
    for name in Policy::NAMES {
        let policy = Policy::named(name).expect("a table").expect("readable");
        assert_eq!(policy.name, name);
    }
    let unknown = "(name: \"x\", rules: [(group: \"g\", calls: [\"frobnicate\"], action: run)], otherwise: end)";
    let said = Policy::parse(unknown)
        .expect_err("no such call")
        .to_string();
    assert!(said.contains("frobnicate"), "{said}");
}
