//! The exact profile over the keys of `hps_profile`, in parts of cycles: what can be kept in files, and compared with any
//! other profile over the same key.

use hps_profile::{
    Block, Context, Cycles, EventStack, Function, Instruction, Line, Profile, TimeSlice,
};
use hps_system::symbols::Symbols;
use rustc_hash::FxHashMap;

use super::{Depth, FunctionMap, InstructionTime};
use crate::beat::Key;
use crate::contexts::NodeId;
use crate::oracle::ExactProfile;
use crate::timeline::{NO_FUNCTION, Timeline};

impl From<Key> for Instruction {
    fn from(key: Key) -> Self {
        Instruction {
            pc: key.pc,
            disepc: u32::from(key.disepc.to_bits()),
        }
    }
}

/// By static instruction.
#[must_use]
pub fn by_instruction(exact: &ExactProfile) -> Profile<Instruction, Cycles> {
    let weights = exact.weights();
    weights.map(|(key, units)| (key.into(), units)).collect()
}

/// By basic block, of [`instructions`](super::instructions) in their order.
#[must_use]
pub fn by_block(instructions: &[InstructionTime]) -> Profile<Block, Cycles> {
    let mut block = Block(0);
    let blocks = instructions.iter().enumerate().map(|(at, one)| {
        if one.begins_block || at == 0 {
            block = Block(one.key.pc);
        }
        (block, one.stack.units())
    });
    blocks.collect()
}

/// By source line; code without a line is line 0 of a file without a name.
#[must_use]
pub fn by_line(instructions: &[InstructionTime], symbols: &Symbols) -> Profile<Line, Cycles> {
    let line = |pc| -> Option<Line> {
        let text = symbols.source_line(pc)?;
        let (file, line) = text.rsplit_once(':')?;
        let line = line.parse().ok()?;
        let file = file.into();
        Some(Line { file, line })
    };
    let nowhere = || Line {
        file: "".into(),
        line: 0,
    };
    let lines = instructions.iter();
    lines
        .map(|one| {
            let line = line(one.key.pc).unwrap_or_else(nowhere);
            (line, one.stack.units())
        })
        .collect()
}

/// By function.
#[must_use]
pub fn by_function(exact: &ExactProfile, map: &FunctionMap) -> Profile<Function, Cycles> {
    let entry = |pc| {
        map.find(pc)
            .map_or(pc, |place| map.functions()[place].entry)
    };
    let weights = exact.weights();
    weights
        .map(|(key, units)| (Function(entry(key.pc)), units))
        .collect()
}

/// By calling context: the call sites, outermost first, and the entry of the innermost function. Where a file of all
/// contexts would be larger than `most_bytes`, those deeper than some depth count for the one around them at that depth;
/// the second result says so.
#[must_use]
pub fn by_context(exact: &ExactProfile, most_bytes: u64) -> (Profile<Context, Cycles>, Depth) {
    let contexts = &exact.contexts;
    let own = |node| -> u64 { exact.context_units.of(node).map(|(_, units)| units).sum() };
    let bytes = bytes_of_contexts(exact);
    let depth = Depth::that_fits(contexts, |depth| {
        let all = contexts.ids().filter(|&node| depth.stand_in(node) == node);
        all.map(|node| bytes[node.index()]).sum::<u64>() <= most_bytes
    });
    let mut units: FxHashMap<NodeId, u64> = FxHashMap::default();
    for node in contexts.ids() {
        let own = own(node);
        if own > 0 {
            *units.entry(depth.stand_in(node)).or_insert(0) += own;
        }
    }
    let context = |node: NodeId| {
        let innermost = contexts.nodes()[contexts.native(node).index()].entry;
        let sites = contexts.path(node).filter_map(|node| node.entered.site());
        let mut path: Vec<u64> = std::iter::once(innermost).chain(sites).collect();
        path.reverse();
        Context(path.into())
    };
    let members = units.into_iter();
    let profile = members
        .map(|(node, units)| (context(node), units))
        .collect();
    (profile, depth)
}

/// Bytes that each context takes in a file: one line for each address and five around them.
fn bytes_of_contexts(exact: &ExactProfile) -> Vec<u64> {
    /// The five lines, with a weight of seven digits.
    const AROUND: u64 = 64;
    // Eight spaces, quotes, `0x`, a comma and the end of the line.
    let line = |address: u64| 14 + u64::from(address.max(1).ilog2() / 4 + 1);
    let nodes = exact.contexts.nodes();
    let mut sites: Vec<u64> = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        // Each node lies behind the one around it.
        let around = if at == 0 {
            0
        } else {
            sites[node.parent.index()]
        };
        sites.push(around + node.entered.site().map_or(0, line));
    }
    let entry = |id| nodes[exact.contexts.native(id).index()].entry;
    let contexts = sites.iter().zip(exact.contexts.ids());
    contexts
        .map(|(sites, id)| AROUND + sites + line(entry(id)))
        .collect()
}

/// By instruction and the events that it met.
#[must_use]
pub fn by_event_stack(instructions: &[InstructionTime]) -> Profile<EventStack, Cycles> {
    let cells = instructions.iter().flat_map(|one| {
        one.stack.events.iter().map(|(events, &units)| {
            let stack = EventStack {
                instruction: one.key.into(),
                events: events.names().map(str::to_string).collect(),
            };
            (stack, units)
        })
    });
    cells.collect()
}

/// Over time, in whole cycles.
#[must_use]
pub fn over_time(series: &Timeline) -> Profile<TimeSlice, Cycles> {
    let slices = series.intervals().iter().enumerate();
    let members = slices.flat_map(|(at, interval)| {
        let first_cycle = at as u64 * series.interval_cycles() + 1;
        interval.functions.iter().map(move |(&function, &cycles)| {
            let slice = TimeSlice {
                first_cycle,
                function: (function != NO_FUNCTION).then_some(Function(function)),
            };
            (slice, cycles)
        })
    });
    members.collect()
}
