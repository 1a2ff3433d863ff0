//! The exact profile with names, for the formats that people open.

use std::collections::{BTreeMap, BTreeSet};

use hps_demangle::demangle;
use hps_pipeline::core::EventSet;
use hps_profile::symbolized::{
    Builder, Column, DEEPER, Frame, Function, FunctionId, Header, LocationId, Marker, Module,
    Series, SymbolizedProfile, Thread, ThreadId,
};
use hps_sim_core::image::SourceFrame;
use hps_sim_core::interpreted;
use hps_sim_core::symbols::Symbols;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Depth, FunctionMap};
use crate::beat::Key;
use crate::contexts::{ContextTree, Entered, NodeId};
use crate::oracle::{ExactProfile, Row, RowKey, STATES};
use crate::timeline::Timeline;

/// Frames that all stacks of a file have together, unless the file would be too large.
pub const MOST_FRAMES: usize = 1_000_000;

/// Frames of the stacks of a file, where an interpreter executes functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// Native frames, and between them the interpreted functions that each activation of the interpreter's loop executes.
    #[default]
    Nested,
    /// Interpreted functions alone. Cycles outside of all of them belong to [`NOT_INTERPRETED`].
    Interpreted,
}

/// Stands for native code that no interpreted function is around.
pub const NOT_INTERPRETED: &str = "(not interpreted)";
/// Interpreted places have addresses from here on, where no program has code.
const FIRST_PLACE: u64 = 1 << 48;

/// Names of threads by their numbers. Threads without one have the program's.
pub type ThreadNames = BTreeMap<u32, String>;

/// The profile of a run: for each instruction in its calling context the cycles, how often it committed, the
/// cycles by state, and the cycles in which it had met each event. Threads are told apart if there are several.
///
/// Stacks are cut at the depth at which all of them have `most_frames` together, and a note says so. The profile needs
/// [rows of all contexts](crate::Detail::Rows).
#[must_use]
pub fn symbolized(
    header: Header,
    (exact, most_frames): (&ExactProfile, usize),
    symbols: &Symbols,
    map: &FunctionMap,
    threads: &ThreadNames,
    timeline: Option<&Timeline>,
    frames: Frames,
) -> SymbolizedProfile {
    let parts = u32::try_from(exact.units_per_cycle).unwrap_or(u32::MAX);
    let cycles = |name: &str| Column::new(name, "cycles").in_parts_of(parts);
    let met: BTreeSet<EventSet> = exact
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .map(|&(_, events, _)| events)
        .collect();
    let events: Vec<(EventSet, &str)> = EventSet::ALL
        .into_iter()
        .filter(|(event, _)| met.iter().any(|set| set.has(*event)))
        .collect();
    let mut columns = vec![cycles("cycles"), Column::new("instructions", "count")];
    columns.extend(STATES.iter().map(|state| cycles(state)));
    columns.extend(
        events
            .iter()
            .map(|(_, name)| cycles(&format!("{name}_cycles"))),
    );
    let program = header.program.rsplit('/').next().unwrap_or("").to_owned();
    let mut names = Names {
        builder: Builder::new(header, columns),
        symbols,
        map,
        interpreted: &exact.interpreted.names,
        known: FxHashMap::default(),
    };
    let depth = Depth::that_fits(&exact.contexts, |depth| match frames {
        Frames::Nested => has_at_most(exact, depth, most_frames),
        Frames::Interpreted => has_at_most_interpreted(exact, depth, most_frames),
    });
    let mut of_thread = ThreadsOf::new(&exact.contexts, threads, program);
    // Rows of a context follow each other.
    let (mut sites_of, mut sites) = (None, Vec::new());
    for row in &exact.rows {
        let key = row.of.key;
        let kept = depth.stand_in(row.of.node);
        if sites_of != Some(kept) {
            sites_of = Some(kept);
            let around = exact.contexts.path(kept).map(|node| node.entered);
            sites = names.sites(around, frames);
        }
        let mut stack = Vec::new();
        if frames == Frames::Nested {
            stack.push(names.location(key.pc, u32::from(key.disepc.to_bits())));
        }
        if kept != row.of.node {
            stack.push(names.builder.deeper());
        }
        stack.extend_from_slice(&sites);
        let thread = of_thread.of(&mut names.builder, kept);
        names.builder.add(thread, &stack, &values(row, &events));
    }
    let mut builder = names.builder;
    if let Some((kept, deepest)) = depth.cut_at() {
        builder.note(format!(
            "stacks are up to {deepest} calls deep; of those deeper than {kept}, this file has the outermost {kept} calls, \
             {DEEPER}, and the innermost function"
        ));
    }
    if let Some(timeline) = timeline {
        add_series(&mut builder, timeline);
    }
    builder.build()
}

/// Whether all stacks have at most this many frames together.
fn has_at_most(exact: &ExactProfile, depth: &Depth, most: usize) -> bool {
    let mut frames = 0;
    let mut seen: FxHashSet<RowKey> = FxHashSet::default();
    exact.rows.iter().all(|row| {
        let node = depth.stand_in(row.of.node);
        let is_new = node == row.of.node
            || seen.insert(RowKey {
                node,
                key: row.of.key,
            });
        if is_new {
            frames += depth.of(node) + 1 + usize::from(node != row.of.node);
        }
        frames <= most
    })
}

/// Whether all stacks of interpreted functions have at most this many frames together. Rows of one path are one stack.
fn has_at_most_interpreted(exact: &ExactProfile, depth: &Depth, most: usize) -> bool {
    let is_interpreted = |node: NodeId| {
        let entered = exact.contexts.nodes()[node.index()].entered;
        matches!(entered, Entered::Interpreted(_))
    };
    let kept = (exact.contexts.ids()).filter(|&node| depth.stand_in(node) == node);
    let mut frames = 0;
    // The path of each context, in interpreted functions.
    let mut around: Vec<usize> = vec![0; exact.contexts.nodes().len()];
    for node in kept {
        let parent = exact.contexts.nodes()[node.index()].parent;
        // Each node lies behind the one around it.
        around[node.index()] = around[parent.index()];
        if is_interpreted(node) {
            around[node.index()] += 1;
            frames += around[node.index()];
        }
    }
    frames <= most
}

/// The thread of each context.
struct ThreadsOf<'a> {
    /// By context; none if all are of one thread.
    numbers: Vec<u32>,
    names: &'a ThreadNames,
    program: String,
    ids: FxHashMap<u32, ThreadId>,
}

impl ThreadsOf<'_> {
    fn new<'a>(contexts: &ContextTree, names: &'a ThreadNames, program: String) -> ThreadsOf<'a> {
        let nodes = contexts.nodes();
        let has_several = nodes
            .iter()
            .any(|node| matches!(node.entered, Entered::Thread(_)));
        let mut numbers: Vec<u32> = Vec::new();
        // Each node lies behind the one around it.
        for node in nodes.iter().filter(|_| has_several) {
            numbers.push(match node.entered {
                Entered::Begin => contexts.first_thread(),
                Entered::Thread(number) => number,
                _ => numbers[node.parent.index()],
            });
        }
        ThreadsOf {
            numbers,
            names,
            program,
            ids: FxHashMap::default(),
        }
    }

    fn of(&mut self, builder: &mut Builder, node: NodeId) -> Option<ThreadId> {
        let &number = self.numbers.get(node.index())?;
        let id = self.ids.entry(number).or_insert_with(|| {
            builder.thread(Thread {
                id: u64::from(number),
                name: self.names.get(&number).unwrap_or(&self.program).clone(),
            })
        });
        Some(*id)
    }
}

/// Weights by instruction in one column, without calling contexts. Instructions of DISE are locations of
/// their own.
#[must_use]
pub fn symbolized_weights(
    header: Header,
    column: Column,
    weights: impl IntoIterator<Item = (Key, u64)>,
    symbols: &Symbols,
    map: &FunctionMap,
) -> SymbolizedProfile {
    let mut weights: Vec<(Key, u64)> = weights.into_iter().collect();
    weights.sort_unstable();
    let mut names = Names {
        builder: Builder::new(header, vec![column]),
        symbols,
        map,
        interpreted: &interpreted::Names::default(),
        known: FxHashMap::default(),
    };
    for (key, weight) in weights {
        let place = names.location(key.pc, u32::from(key.disepc.to_bits()));
        names.builder.add(None, &[place], &[weight]);
    }
    names.builder.build()
}

/// One value for each column.
fn values(row: &Row, events: &[(EventSet, &str)]) -> Vec<u64> {
    let mut values = vec![row.units(), row.commits];
    let mut states = [0; STATES.len()];
    for &(spent, _, units) in &row.cells {
        states[spent.state()] += units;
    }
    values.extend(states);
    values.extend(events.iter().map(|(event, _)| {
        let met = row.cells.iter().filter(|(_, set, _)| set.has(*event));
        met.map(|(_, _, units)| units).sum::<u64>()
    }));
    values
}

/// Names locations as they are met.
struct Names<'a> {
    builder: Builder,
    symbols: &'a Symbols,
    map: &'a FunctionMap,
    interpreted: &'a interpreted::Names,
    known: FxHashMap<(u64, u32), LocationId>,
}

impl Names<'_> {
    /// Where contexts were left, from the ways in which they were entered, the innermost first.
    fn sites(&mut self, around: impl Iterator<Item = Entered>, frames: Frames) -> Vec<LocationId> {
        let sites = around.filter_map(|entered| match (entered, frames) {
            (Entered::Interpreted(place), _) => Some(self.place(place)),
            (_, Frames::Interpreted) => None,
            (_, Frames::Nested) => entered.site().map(|site| self.location(site, 0)),
        });
        let mut sites: Vec<LocationId> = sites.collect();
        if frames == Frames::Interpreted && sites.is_empty() {
            let name = NOT_INTERPRETED.to_owned();
            let function = self.builder.function(Function {
                name,
                ..Function::default()
            });
            let address = FIRST_PLACE - 1;
            sites.push(
                self.builder
                    .location(address, 0, &[Frame::new(function, 0)]),
            );
        }
        sites
    }

    /// The location of a place of an interpreted function.
    fn place(&mut self, number: u32) -> LocationId {
        let address = FIRST_PLACE + u64::from(number);
        let place = self.interpreted.place(number);
        let function = &self.interpreted.functions()[place.function as usize];
        self.builder.location_with(address, 0, |builder| {
            let named = builder.function(Function {
                name: function.name.clone(),
                file: function.file.clone(),
                line: function.first_line,
                ..Function::default()
            });
            vec![Frame::new(named, place.line)]
        })
    }

    fn location(&mut self, pc: u64, disepc: u32) -> LocationId {
        if let Some(&known) = self.known.get(&(pc, disepc)) {
            return known;
        }
        let frames = self.frames(pc);
        let location = self.builder.location(pc, disepc, &frames);
        self.known.insert((pc, disepc), location);
        location
    }

    /// The line of the declaration of the function at an entry, or that of its first instruction; 0 if nothing is
    /// known of it.
    fn first_line(&self, entry: u64) -> u32 {
        let frames = self.symbols.source_frames(entry);
        let own = frames.last();
        own.and_then(|f| f.declared.or(f.line)).unwrap_or(0)
    }

    /// The functions at an address, innermost first.
    fn frames(&mut self, pc: u64) -> Vec<Frame> {
        let found = self.map.find(pc).map(|at| &self.map.functions()[at]);
        let symbol = found.and_then(|f| self.symbols.function_at(f.entry));
        let source = self.symbols.source_frames(pc);
        let outer = source.last();
        let module = match self.symbols.other_object_at(pc) {
            Some(object) => {
                let module = Module {
                    name: object.name().to_owned(),
                    build_id: object.build_id().unwrap_or_default().to_owned(),
                };
                self.builder.module(module)
            }
            None => String::new(),
        };
        let own = found.map(|f| Function {
            name: f.name.clone(),
            linkage_name: symbol.map(|s| s.linkage_name.clone()).unwrap_or_default(),
            file: outer.and_then(|o| o.file.clone()).unwrap_or_default(),
            line: self.first_line(f.entry),
            entry: f.entry,
            size: f.end - f.entry,
            module: module.clone(),
        });
        let mut frames = Vec::new();
        for inlined in source.iter().take(source.len().saturating_sub(1)) {
            let linkage_name = inlined.function.clone().unwrap_or_default();
            let function = self.builder.function(Function {
                name: demangle(&linkage_name),
                linkage_name,
                file: inlined.file.clone().unwrap_or_default(),
                line: inlined.declared.unwrap_or(0),
                module: module.clone(),
                ..Function::default()
            });
            frames.push(frame(function, inlined));
        }
        if let Some(own) = own {
            let function = self.builder.function(own);
            frames.push(outer.map_or(Frame::new(function, 0), |outer| frame(function, outer)));
        }
        frames
    }
}

/// A function at the line and discriminator of debug information.
fn frame(function: FunctionId, source: &SourceFrame) -> Frame {
    Frame {
        discriminator: source.discriminator,
        ..Frame::new(function, source.line.unwrap_or(0))
    }
}

/// Instructions per cycle and the states over time, and a marker for each stretch of time that one function leads.
fn add_series(builder: &mut Builder, timeline: &Timeline) {
    let starts = || (0..).map(|at: u64| at * timeline.interval_cycles());
    let series = |name: &str, values: Vec<f64>| Series {
        name: name.to_string(),
        unit: String::new(),
        points: starts().zip(values).collect(),
    };
    let intervals = timeline.intervals();
    let of_cycles = |part: u64, cycles: u64| part as f64 / cycles.max(1) as f64;
    let ipc = intervals.iter().map(|i| of_cycles(i.commits, i.cycles()));
    builder.series(series("instructions per cycle", ipc.collect()));
    for (at, state) in STATES.iter().enumerate() {
        let shares = intervals
            .iter()
            .map(|i| of_cycles(i.states[at], i.cycles()));
        builder.series(series(state, shares.collect()));
    }
    let mut leader: Option<(u64, u64)> = None;
    let mut end = 0;
    let mark = |builder: &mut Builder, leader: Option<(u64, u64)>, end: u64| {
        if let Some((function, start)) = leader
            && let Some(name) = timeline.name(function)
        {
            let name = name.to_string();
            builder.marker(Marker { name, start, end });
        }
    };
    for (start, interval) in starts().zip(intervals) {
        let most = interval
            .functions
            .iter()
            .max_by_key(|(function, cycles)| (**cycles, std::cmp::Reverse(**function)));
        let Some((&function, _)) = most else { continue };
        if leader.is_none_or(|(leads, _)| leads != function) {
            mark(builder, leader, start);
            leader = Some((function, start));
        }
        end = start + interval.cycles();
    }
    mark(builder, leader, end);
}
