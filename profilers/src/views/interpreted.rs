//! Functions that interpreters execute: their own cycles, those of what they call, and those of their lines.

use rustc_hash::FxHashMap;

use hps_system::interpreted::Place;

use crate::contexts::{Entered, NodeId};
use crate::oracle::ExactProfile;

/// The cycles of an interpreted function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterpretedTime {
    /// Place of the function in [`Names::functions`](hps_system::interpreted::Names::functions).
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
    let nodes = exact.contexts.nodes();
    let mut inclusive = vec![0; nodes.len()];
    let mut open = vec![0_u32; times.len()];
    exact.contexts.visit(|id, enters| {
        let node = &nodes[id.index()];
        let function = match node.entered {
            Entered::Interpreted(place) => Some(names.place(place).function as usize),
            _ => None,
        };
        if enters {
            inclusive[id.index()] += own_units(exact, id);
            function.iter().for_each(|&at| open[at] += 1);
            return;
        }
        let units = inclusive[id.index()];
        if let Some(at) = function {
            open[at] -= 1;
            if open[at] == 0 {
                times[at].inclusive_units += units;
            }
        }
        if id != NodeId::ROOT {
            inclusive[node.parent.index()] += units;
        }
    });
    let mut lines: FxHashMap<Place, (u64, u64)> = FxHashMap::default();
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
