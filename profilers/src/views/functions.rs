//! Functions: their own cycles and those of what they call.

use rustc_hash::FxHashMap;

use hps_sim_core::image::ProgramImage;
use hps_sim_core::process::layout;

use super::Stack;
use crate::contexts::{Entered, NodeId};
use crate::oracle::ExactProfile;

/// A function of a program, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its first address.
    pub entry: u64,
    /// The first address behind it.
    pub end: u64,
}

/// Which function an instruction belongs to. Where the program names none, what was called stands for one: from
/// its entry to the next entry.
#[derive(Clone, Debug, Default)]
pub struct FunctionMap {
    functions: Vec<Function>,
    /// Some functions have no name in the program.
    is_incomplete: bool,
}

/// Functions in ascending order of address, none of which overlap.
impl FromIterator<Function> for FunctionMap {
    fn from_iter<I: IntoIterator<Item = Function>>(functions: I) -> Self {
        FunctionMap {
            functions: functions.into_iter().collect(),
            is_incomplete: false,
        }
    }
}

impl FunctionMap {
    /// The functions that a program names.
    #[must_use]
    pub fn named(image: &ProgramImage) -> Self {
        let functions = image.symbols.functions().iter();
        let named = functions.map(|f| Function {
            name: f.name.clone(),
            entry: f.addr,
            end: f.addr.saturating_add(f.size),
        });
        named.collect()
    }

    /// The functions of all instructions of a run.
    #[must_use]
    pub fn new(image: &ProgramImage, exact: &ExactProfile) -> Self {
        let mut map = FunctionMap::named(image);
        let mut unnamed: Vec<u64> = exact.rows.iter().map(|row| row.of.key.pc).collect();
        unnamed.retain(|&pc| map.find(pc).is_none());
        if unnamed.is_empty() {
            return map;
        }
        unnamed.sort_unstable();
        unnamed.dedup();
        let mut entries: Vec<u64> = exact
            .contexts
            .nodes()
            .iter()
            .map(|node| node.entry)
            .collect();
        entries.sort_unstable();
        entries.dedup();
        let mut found: Vec<Function> = Vec::new();
        for pc in unnamed {
            if found.last().is_some_and(|f| pc < f.end) {
                continue;
            }
            found.push(map.unnamed_at(pc, &entries));
        }
        map.is_incomplete = found.iter().any(|f| f.entry < layout::HANDLER_BASE);
        map.functions.extend(found);
        map.functions.sort_unstable_by_key(|f| f.entry);
        map
    }

    /// What stands for the function of an address that none holds.
    fn unnamed_at(&self, pc: u64, entries: &[u64]) -> Function {
        let handlers = layout::HANDLER_BASE..layout::HANDLER_END;
        if handlers.contains(&pc) {
            return Function {
                name: "(handlers)".to_string(),
                entry: handlers.start,
                end: handlers.end,
            };
        }
        let after = entries.partition_point(|&entry| entry <= pc);
        let before = self.functions.partition_point(|f| f.entry <= pc);
        let lowest = before.checked_sub(1).map_or(0, |at| self.functions[at].end);
        let entry = after
            .checked_sub(1)
            .map_or(lowest, |at| entries[at])
            .max(lowest);
        let next = entries.get(after).copied().unwrap_or(u64::MAX);
        let end = self
            .functions
            .get(before)
            .map_or(u64::MAX, |f| f.entry)
            .min(next);
        Function {
            name: format!("sub_{entry:x}"),
            entry,
            end: end.min(handlers.start),
        }
    }

    /// All of them, in ascending order of address.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The place of the function that holds an address.
    #[must_use]
    pub fn find(&self, pc: u64) -> Option<usize> {
        let after = self.functions.partition_point(|f| f.entry <= pc);
        let at = after.checked_sub(1)?;
        (pc < self.functions[at].end).then_some(at)
    }

    /// Whether code ran that the program names no function for.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

/// The cycles of a function.
#[derive(Clone, Debug)]
pub struct FunctionTime {
    /// Its place in the map.
    pub function: usize,
    /// How often it was called, as far as contexts tell.
    pub calls: u64,
    /// Instructions that committed in it.
    pub commits: u64,
    /// Its own units.
    pub own: Stack,
    /// Units while it was on the call stack, its own included; each once, however often it recurs there.
    pub inclusive_units: u64,
}

/// The functions that took any cycles, most of their own first.
#[must_use]
pub fn functions(exact: &ExactProfile, map: &FunctionMap) -> Vec<FunctionTime> {
    let mut times: FxHashMap<usize, FunctionTime> = FxHashMap::default();
    let nodes = exact.contexts.nodes();
    let of_node: Vec<Option<usize>> = nodes.iter().map(|node| map.find(node.entry)).collect();
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, row) in exact.rows.iter().enumerate() {
        rows_of[row.of.node.index()].push(at);
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().skip(1) {
        children[node.parent.index()].push(at);
    }
    let new = |function| FunctionTime {
        function,
        calls: 0,
        commits: 0,
        own: Stack::default(),
        inclusive_units: 0,
    };
    // Depth first: how often each function is on the path to where the walk is, and the nodes on that path.
    let mut on_path: FxHashMap<usize, u32> = FxHashMap::default();
    let mut path: Vec<usize> = Vec::new();
    enum Step {
        Enter(usize),
        Leave(usize),
    }
    let mut steps = vec![Step::Enter(NodeId::ROOT.index())];
    let mut inclusive: Vec<u64> = vec![0; nodes.len()];
    while let Some(step) = steps.pop() {
        match step {
            Step::Enter(node) => {
                if let Some(function) = of_node[node] {
                    *on_path.entry(function).or_insert(0) += 1;
                    if matches!(nodes[node].entered, Entered::Call(_) | Entered::Signal(_)) {
                        times.entry(function).or_insert_with(|| new(function)).calls +=
                            nodes[node].calls;
                    }
                }
                path.push(node);
                for &at in &rows_of[node] {
                    let row = &exact.rows[at];
                    let units = row.units();
                    inclusive[node] += units;
                    let Some(function) = map.find(row.of.key.pc) else {
                        continue;
                    };
                    let time = times.entry(function).or_insert_with(|| new(function));
                    time.commits += row.commits;
                    for &(spent, events, units) in &row.cells {
                        time.own.add(spent, events, units);
                    }
                    if !on_path.contains_key(&function) {
                        // Execution came there without a call.
                        time.inclusive_units += units;
                    }
                }
                steps.push(Step::Leave(node));
                steps.extend(children[node].iter().map(|&child| Step::Enter(child)));
            }
            Step::Leave(node) => {
                path.pop();
                if let Some(function) = of_node[node] {
                    let count = on_path.entry(function).or_insert(1);
                    *count -= 1;
                    if *count == 0 {
                        on_path.remove(&function);
                        times
                            .entry(function)
                            .or_insert_with(|| new(function))
                            .inclusive_units += inclusive[node];
                    }
                }
                if let Some(&parent) = path.last() {
                    inclusive[parent] += inclusive[node];
                }
            }
        }
    }
    let mut all: Vec<FunctionTime> = times.into_values().collect();
    all.retain(|time| time.inclusive_units > 0);
    all.sort_unstable_by_key(|time| {
        (
            std::cmp::Reverse(time.own.units()),
            std::cmp::Reverse(time.inclusive_units),
            time.function,
        )
    });
    all
}
