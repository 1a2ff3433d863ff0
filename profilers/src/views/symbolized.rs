//! The exact profile with names, for the formats that people open.

use std::collections::{BTreeMap, BTreeSet};

use hps_demangle::demangle;
use hps_pipeline::core::EventSet;
use hps_profile::symbolized::{
    Builder, Column, DEEPER, Frame, Function, FunctionId, Header, LocationId, Marker, Module,
    Series, SymbolizedProfile, Thread, ThreadId,
};
use hps_system::image::SourceFrame;
use hps_system::interpreted;
use hps_system::symbols::Symbols;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Depth, FunctionMap};
use crate::beat::Key;
use crate::contexts::{ContextTree, Entered, Node, NodeId};
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

/// The exact profile of a program of a run, with its names.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The profile.
    pub exact: &'a ExactProfile,
    /// Names of the program's code.
    pub symbols: &'a Symbols,
    /// Functions of the program.
    pub map: &'a FunctionMap,
    /// Path of the program's file, and the number of its process, in a profile of several programs.
    pub process: Option<(&'a str, u32)>,
}

/// The profile of a run, of one of its programs or of several: for each instruction in its calling context the cycles,
/// how often it committed, the cycles by state, and the cycles in which it had met each event. Threads are told apart if
/// there are several. Threads of several programs have the numbers of their processes behind their names.
///
/// Stacks are cut at the depth at which all of them have `most_frames` together, and a note says so. The profile needs
/// [rows of all contexts](crate::Detail::Rows).
#[must_use]
pub fn symbolized(
    header: Header,
    (programs, most_frames): (&[Named<'_>], usize),
    threads: &ThreadNames,
    timeline: Option<&Timeline>,
    frames: Frames,
) -> SymbolizedProfile {
    let parts = programs.first().map_or(1, |one| one.exact.units_per_cycle);
    let parts = u32::try_from(parts).unwrap_or(u32::MAX);
    let cycles = |name: &str| Column::new(name, "cycles").in_parts_of(parts);
    let met: BTreeSet<EventSet> = programs
        .iter()
        .flat_map(|one| &one.exact.rows)
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
    let first = header.program.clone();
    let mut builder = Builder::new(header, columns);
    for program in programs {
        builder.begin_program();
        let path = program.process.map_or(&*first, |(path, _)| path);
        let name = path.rsplit('/').next().unwrap_or("").to_owned();
        let most = most_frames / programs.len();
        builder = add(builder, program, (&name, threads), &events, (most, frames));
    }
    if let Some(timeline) = timeline {
        add_series(&mut builder, timeline);
    }
    builder.build()
}

/// Adds the rows of a program, whose stacks have at most so many frames together.
fn add(
    builder: Builder,
    program: &Named<'_>,
    (name, threads): (&str, &ThreadNames),
    events: &[(EventSet, &str)],
    (most_frames, frames): (usize, Frames),
) -> Builder {
    let exact = program.exact;
    let mut names = Names {
        builder,
        symbols: program.symbols,
        map: program.map,
        is_own: program.process.is_none(),
        interpreted: &exact.interpreted.names,
        known: FxHashMap::default(),
    };
    let depth = Depth::that_fits(&exact.contexts, |depth| match frames {
        Frames::Nested => has_at_most(exact, depth, most_frames),
        Frames::Interpreted => has_at_most_interpreted(exact, depth, most_frames),
    });
    let mut of_thread = ThreadsOf::new(&exact.contexts, threads, (name, program.process));
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
        names.builder.add(thread, &stack, &values(row, events));
    }
    let mut builder = names.builder;
    if let Some((kept, deepest)) = depth.cut_at() {
        builder.note(format!(
            "stacks are up to {deepest} calls deep; of those deeper than {kept}, this file has the outermost {kept} calls, \
             {DEEPER}, and the innermost function"
        ));
    }
    builder
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
    /// By context; none if all are of one thread of one program.
    numbers: Vec<u32>,
    names: &'a ThreadNames,
    program: String,
    /// The number of the process, if there are several programs.
    process: Option<u32>,
    ids: FxHashMap<u32, ThreadId>,
}

impl ThreadsOf<'_> {
    fn new<'a>(
        contexts: &ContextTree,
        names: &'a ThreadNames,
        (program, process): (&str, Option<(&str, u32)>),
    ) -> ThreadsOf<'a> {
        let nodes = contexts.nodes();
        let is_of_other = |node: &Node| matches!(node.entered, Entered::Thread(_));
        let has_several = process.is_some() || nodes.iter().any(is_of_other);
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
            program: program.to_owned(),
            process: process.map(|(_, pid)| pid),
            ids: FxHashMap::default(),
        }
    }

    fn of(&mut self, builder: &mut Builder, node: NodeId) -> Option<ThreadId> {
        let &number = self.numbers.get(node.index())?;
        let id = self.ids.entry(number).or_insert_with(|| {
            let own = self.names.get(&number);
            let name = match self.process {
                None => own.unwrap_or(&self.program).clone(),
                // The last program of a process has named its threads.
                Some(pid) => format!("{} ({pid})", self.program),
            };
            builder.thread(Thread {
                id: u64::from(number),
                name,
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
        is_own: true,
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
    /// The program is the one that the profile names; functions of another one name its file.
    is_own: bool,
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
        let object = match self.is_own {
            true => self.symbols.other_object_at(pc),
            false => self.symbols.object_at(pc),
        };
        let module = match object {
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
