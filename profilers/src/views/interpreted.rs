//! Functions that interpreters execute: their own cycles, those of what they call, and those of their lines.

use rustc_hash::FxHashMap;

use hps_sim_core::interpreted::Place;

use crate::contexts::{Entered, NodeId};
use crate::oracle::ExactProfile;

/// The cycles of an interpreted function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterpretedTime {
    /// Place of the function in [`Names::functions`](hps_sim_core::interpreted::Names::functions).
    pub function: u32,
    /// How often it was entered. A generator is entered each time it goes on.
    pub calls: u64,
    /// Instructions that committed while it was the innermost interpreted function, those of native code that it called
    /// included.
    pub commits: u64,
    /// Units of these.
    pub own_units: u64,
    /// Units while it was on the stack; each once, however often it recurs there.
    pub inclusive_units: u64,
}

/// The cycles of a line of an interpreted function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpretedLine {
    /// The function and the line.
    pub place: Place,
    /// Instructions that committed while it was the innermost interpreted function, at this line.
    pub commits: u64,
    /// Units of these.
    pub units: u64,
}

/// Interpreted functions and their lines, most of their own units first.
#[must_use]
pub fn interpreted(exact: &ExactProfile) -> (Vec<InterpretedTime>, Vec<InterpretedLine>) {
    let names = &exact.interpreted.names;
    let time = |function: usize| InterpretedTime {
        function: function as u32,
        calls: names.calls(function as u32),
        ..InterpretedTime::default()
    };
    let mut times: Vec<InterpretedTime> = (0..names.functions().len()).map(time).collect();
    if times.is_empty() {
        return (times, Vec::new());
    }
    let inclusive = inclusive_units(exact);
    let mut lines: FxHashMap<Place, (u64, u64)> = FxHashMap::default();
    let mut open = vec![0_u32; times.len()];
    walk(exact, |node, place, enters| {
        let Some(place) = place else { return };
        let count = &mut open[place.function as usize];
        let time = &mut times[place.function as usize];
        if !enters {
            *count -= 1;
            return;
        }
        *count += 1;
        if *count == 1 {
            time.inclusive_units += inclusive[node.index()];
        }
    });
    let nodes = exact.contexts.nodes();
    let mut innermost: Vec<Option<Place>> = Vec::with_capacity(nodes.len());
    for (id, node) in exact.contexts.ids().zip(nodes) {
        // Each node lies behind the one around it.
        let place = match node.entered {
            Entered::Interpreted(place) => Some(names.place(place)),
            _ if id == NodeId::ROOT => None,
            _ => innermost[node.parent.index()],
        };
        innermost.push(place);
        let Some(place) = place else { continue };
        let commits = exact.context_units.commits(id);
        let units = own_units(exact, id);
        let time = &mut times[place.function as usize];
        time.commits += commits;
        time.own_units += units;
        let line = lines.entry(place).or_insert((0, 0));
        *line = (line.0 + commits, line.1 + units);
    }
    times.retain(|time| time.inclusive_units > 0);
    times.sort_by_key(|time| {
        let order = (time.own_units, time.inclusive_units);
        (std::cmp::Reverse(order), time.function)
    });
    let lines = lines.into_iter().filter(|(_, (_, units))| *units > 0);
    let mut lines: Vec<InterpretedLine> = lines
        .map(|(place, (commits, units))| InterpretedLine {
            place,
            commits,
            units,
        })
        .collect();
    lines.sort_by_key(|line| (std::cmp::Reverse(line.units), line.place));
    (times, lines)
}

fn own_units(exact: &ExactProfile, id: NodeId) -> u64 {
    exact.context_units.of(id).map(|(_, units)| units).sum()
}

/// Units of each context, with those of all contexts inside.
fn inclusive_units(exact: &ExactProfile) -> Vec<u64> {
    let nodes = exact.contexts.nodes();
    let ids = exact.contexts.ids();
    let mut units: Vec<u64> = ids.map(|id| own_units(exact, id)).collect();
    // Each node lies behind the one around it.
    for at in (1..nodes.len()).rev() {
        units[nodes[at].parent.index()] += units[at];
    }
    units
}

/// Walks over all contexts, depth first. `see` is told of each twice, when it is entered and when it is left, with the
/// interpreted place that it stands for.
fn walk(exact: &ExactProfile, mut see: impl FnMut(NodeId, Option<Place>, bool)) {
    let contexts = &exact.contexts;
    let place = |id: NodeId| match contexts.nodes()[id.index()].entered {
        Entered::Interpreted(place) => Some(exact.interpreted.names.place(place)),
        _ => None,
    };
    let (mut at, mut next) = (NodeId::ROOT, Some(NodeId::ROOT));
    loop {
        if let Some(inner) = next {
            at = inner;
            see(at, place(at), true);
            next = contexts.newest_child(at);
        } else {
            see(at, place(at), false);
            if at == NodeId::ROOT {
                return;
            }
            next = contexts.older_sibling(at);
            at = contexts.nodes()[at.index()].parent;
        }
    }
}
