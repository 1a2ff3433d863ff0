//! The exact profile over the keys of `hps_profile`, in parts of cycles: what can be kept in files, and compared with any
//! other profile over the same key.

use hps_profile::{
    Block, Context, Cycles, EventStack, Function, Instruction, Line, Profile, TimeSlice,
};
use hps_sim_core::image::ProgramImage;
use rustc_hash::FxHashMap;

use super::{Depth, FunctionMap, InstructionTime};
use crate::beat::Key;
use crate::contexts::NodeId;
use crate::oracle::ExactProfile;
use crate::timeline::Timeline;

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
pub fn by_line(instructions: &[InstructionTime], image: &ProgramImage) -> Profile<Line, Cycles> {
    let line = |pc| -> Option<Line> {
        let text = image.source_line(pc)?;
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

/// Call sites that [`by_context`] holds in all contexts together.
const MOST_SITES: usize = 1 << 22;

/// By calling context: the call sites, outermost first, and the entry of the innermost function. Where all contexts have
/// more than four million call sites together, those deeper than some depth count for the one around them at that
/// depth; the second result says so.
#[must_use]
pub fn by_context(exact: &ExactProfile) -> (Profile<Context, Cycles>, Depth) {
    let contexts = &exact.contexts;
    let depth = Depth::that_fits(contexts, |depth| {
        let all = contexts.ids().filter(|&node| depth.stand_in(node) == node);
        all.map(|node| depth.of(node)).sum::<usize>() <= MOST_SITES
    });
    let mut units: FxHashMap<NodeId, u64> = FxHashMap::default();
    for row in &exact.rows {
        *units.entry(depth.stand_in(row.of.node)).or_insert(0) += row.units();
    }
    let context = |node: NodeId| {
        let innermost = contexts.nodes()[node.index()].entry;
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
                function: series.entry(function).map(Function),
            };
            (slice, cycles)
        })
    });
    members.collect()
}
