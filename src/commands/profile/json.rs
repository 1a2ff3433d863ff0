//! The exact profile as JSON.

use std::collections::BTreeMap;

use hps_lab::VERSION;
use hps_profilers::views::{FunctionTime, Stack, objects};
use serde_json::{Value, json};

use super::exact::{Opinion, Shown};
use super::interpreted;
use crate::commands::contention::LineDocument;

/// Units of a stack by name.
pub(super) fn stack(stack: &Stack) -> Value {
    let spent: BTreeMap<String, u64> = stack
        .spent
        .iter()
        .map(|(spent, &units)| (spent.label(), units))
        .collect();
    let events: BTreeMap<String, u64> = stack
        .events
        .iter()
        .map(|(events, &units)| (events.names().collect::<Vec<_>>().join("+"), units))
        .collect();
    json!({ "units": stack.units(), "spent": spent, "events": events })
}

/// Everything that is shown, and all instructions.
pub(super) fn document(
    shown: &Shown<'_>,
    functions: &[FunctionTime],
    (opinions, contended): (&[Opinion], &[LineDocument]),
) -> Value {
    let (ran, exact) = (&shown.truth.ran, &shown.truth.exact);
    let machine = ran.provenance.machine.as_ref();
    // Slices keep no calling contexts.
    let of_contexts = |count: u64| shown.slices.is_none().then_some(count);
    let functions: Vec<Value> = functions
        .iter()
        .map(|time| {
            let f = &shown.map.functions()[time.function];
            json!({
                "name": f.name,
                "file": shown.map.file(shown.symbols, time.function),
                "object": shown.symbols.object_at(f.entry).map(|object| object.name()),
                "entry": format!("{:#x}", f.entry),
                "calls": of_contexts(time.calls),
                "instructions": time.commits,
                "inclusive_units": of_contexts(time.inclusive_units),
                "own": stack(&time.own),
            })
        })
        .collect();
    let by_object = objects(shown.instructions, shown.symbols, shown.map);
    let objects: Vec<Value> = by_object
        .iter()
        .map(|time| {
            let object = time.object.map(|at| &shown.symbols.objects()[at]);
            json!({
                "name": object.map(|object| object.name()),
                "build_id": object.and_then(|object| object.build_id()),
                "load_bias": object.map(|object| format!("{:#x}", object.load_bias())),
                "instructions": time.commits,
                "nameless_instructions": time.nameless_commits,
                "own": stack(&time.stack),
            })
        })
        .collect();
    let instructions: Vec<Value> = shown
        .instructions
        .iter()
        .map(|one| {
            json!({
                "pc": format!("{:#x}", one.key.pc),
                "disepc": one.key.disepc.to_bits(),
                "begins_block": one.begins_block,
                "function": shown.map.find(one.key.pc).map(|at| &shown.map.functions()[at].name),
                "line": shown.symbols.source_line(one.key.pc),
                "commits": one.commits,
                "own": stack(&one.stack),
            })
        })
        .collect();
    let opinions: Vec<Value> = opinions
        .iter()
        .map(|o| {
            let errors: BTreeMap<&str, f64> = o
                .errors
                .iter()
                .map(|&(level, e)| (level.name(), e))
                .collect();
            json!({
                "profiler": o.sampled.policy,
                "period": o.sampled.period.mean,
                "counts": o.unit(),
                "samples": o.sampled.credits.credited,
                "lost": o.sampled.credits.lost,
                "collided": o.sampled.credits.collided,
                "errors": errors,
            })
        })
        .collect();
    let mut document = json!({
        "format": "hps-exact-profile",
        "format_version": 1,
        "version": VERSION,
        "program": ran.provenance.program,
        "arguments": ran.provenance.args,
        "program_hash": ran.provenance.program_hash,
        "root_hash": ran.provenance.root_hash,
        "isa": ran.provenance.isa.name(),
        "seed": ran.provenance.seed,
        "machine": machine.map(|m| &m.config.name),
        "machine_fingerprint": machine.map(|m| &m.fingerprint),
        "core_driven_by": machine.map(|m| m.core.name()),
        "instructions": ran.instructions(),
        "cycles": exact.cycles,
        "idle_cycles": exact.idle_cycles,
        "process": shown.number,
        "other_cycles": exact.other_cycles,
        "units_per_cycle": exact.units_per_cycle,
        "objects": objects,
        "functions": functions,
        "static_instructions": instructions,
        "profilers": opinions,
    });
    if let Some(slices) = &shown.slices {
        document["slices"] = json!(slices);
    }
    if let Some(seed) = ran.provenance.address_seed {
        document["address_seed"] = json!(seed);
    }
    if let Some(interpreted) = interpreted::document(shown) {
        document["interpreted"] = interpreted;
    }
    if !contended.is_empty() {
        document["contended_lines"] = json!(contended);
    }
    document
}
