//! The least cycles of an iteration that each resource alone would allow.

use std::collections::BTreeMap;

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, EventSet};
use rustc_hash::FxHashMap;

use super::{Latencies, Window, commit_of, is_forwarded};
use crate::protocol::Bound;
use crate::recorder::{Kept, Recorded};

/// The bounds of all resources but the chain of results. A bound of nothing is left out.
pub(super) fn all(
    machine: &MachineConfig,
    window: &Window,
    recorded: &Recorded,
    rows: &[&Kept],
) -> Vec<Bound> {
    let (name, width) = narrowest(machine);
    let groups = fetch_groups(machine, recorded, window) as f64;
    let mut all = vec![
        (name.to_owned(), rows.len() as f64 / f64::from(width)),
        ("fetch groups".to_owned(), groups),
    ];
    let fetch = fetch_losses(machine, rows);
    let fetch = fetch.map(|(name, lost)| (name, if lost > 0 { groups + lost as f64 } else { 0.0 }));
    let units = units(machine, rows).into_iter();
    let memory = memory(machine, recorded, rows);
    let named = fetch.into_iter().chain(memory);
    all.extend(named.map(|(name, cycles)| (name.to_owned(), cycles)));
    all.extend(units.map(|(pool, cycles)| (format!("units {pool}"), cycles)));
    let iterations = window.iterations() as f64;
    let some = all.into_iter().filter(|&(_, cycles)| cycles > 0.0);
    some.map(|(name, cycles)| Bound {
        name,
        cycles: cycles / iterations,
    })
    .collect()
}

/// The narrowest stage and its width.
fn narrowest(machine: &MachineConfig) -> (&'static str, u32) {
    let widths = [
        ("fetch width", machine.fetch.fetch_width_insts),
        ("decode width", machine.decode.decode_width),
        ("dispatch width", machine.window.dispatch_width),
        ("issue width", machine.issue.issue_width),
        ("commit width", machine.window.commit_width),
    ];
    let narrowest = widths.into_iter().min_by_key(|(_, width)| *width);
    narrowest.unwrap_or(("commit width", 1))
}

/// Number of groups that the instructions of the program are fetched in, without a miss. A group ends at the end of a
/// block of code, at its width, and at its last taken branch.
fn fetch_groups(machine: &MachineConfig, recorded: &Recorded, window: &Window) -> u64 {
    let fetch = &machine.fetch;
    let block = u64::from(fetch.fetch_block_bytes.max(1));
    let mut groups = 0;
    let (mut instructions, mut taken, mut at) = (0, 0, None);
    for commit in &recorded.commits[window.first..window.last] {
        if !commit.is_program {
            continue;
        }
        let goes_on = at == Some(commit.pc / block)
            && instructions < fetch.fetch_width_insts
            && taken < fetch.taken_branches_per_cycle;
        if !goes_on {
            groups += 1;
            (instructions, taken) = (0, 0);
        }
        instructions += 1;
        taken += u32::from(commit.taken);
        at = match commit.taken {
            true => Some(commit.target / block),
            false => Some(commit.pc / block),
        };
    }
    groups
}

/// Cycles that fetch loses at least, beside those of its groups: behind mispredicted branches, whose right path is
/// fetched when they have executed, and for lines of code that the second level has.
fn fetch_losses(machine: &MachineConfig, rows: &[&Kept]) -> [(&'static str, u64); 2] {
    let count = |of: &dyn Fn(&Kept) -> bool| rows.iter().filter(|row| of(row)).count() as u64;
    let mispredicted = count(&|row| row.mispredicted);
    let missed = count(&|row| row.gap == Cause::ICache);
    let line = machine.memory.l1_l2_bus.latency_cycles + machine.memory.l2.hit_cycles;
    let penalty = machine.min_mispredict_penalty_cycles();
    [
        ("mispredictions", mispredicted * u64::from(penalty)),
        ("instruction cache misses", missed * u64::from(line)),
    ]
}

/// Cycles for which the units of each pool are taken, by the number of units.
fn units<'a>(machine: &'a MachineConfig, rows: &[&Kept]) -> BTreeMap<&'a str, f64> {
    let mut pools: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let (_, unit) = machine.units.of(row.class());
        *pools.entry(&unit.pool).or_default() += u64::from(unit.interval_cycles);
    }
    let units = |pool: &str| machine.units.pools.0.get(pool).copied().unwrap_or(1);
    let shared = |(pool, busy)| (pool, busy as f64 / f64::from(units(pool).max(1)));
    pools.into_iter().map(shared).collect()
}

/// Bounds of the data cache's ports, of the misses that may be on their way, and of the bus to memory. Misses are those of
/// loads, with their latencies as they were.
fn memory(
    machine: &MachineConfig,
    recorded: &Recorded,
    rows: &[&Kept],
) -> [(&'static str, f64); 4] {
    let memory = machine.memory.in_cycles_of(machine.clock_mhz);
    let bus = &memory.memory_bus;
    let beats = u64::from(memory.l2.line_bytes.div_ceil(bus.bytes_per_beat) * bus.cycles_per_beat);
    let reads = |row: &&&Kept| row.is_load() && !is_forwarded(recorded, row);
    let reads = rows.iter().filter(reads).count();
    let writes = rows.iter().filter(|row| row.is_store()).count();
    let first = missed(
        machine,
        recorded,
        rows,
        EventSet::L1D_MISS,
        memory.l1d.line_bytes,
    );
    let second = missed(
        machine,
        recorded,
        rows,
        EventSet::L2_MISS,
        memory.l2.line_bytes,
    );
    let last = missed(
        machine,
        recorded,
        rows,
        EventSet::LLC_MISS,
        memory.l2.line_bytes,
    );
    let of = |count: u64, by: u32| count as f64 / f64::from(by.max(1));
    [
        (
            "level 1 data ports",
            of((reads + writes) as u64, memory.l1d.ports),
        ),
        (
            "level 1 misses on their way",
            of(first.cycles, memory.l1d.mshrs),
        ),
        (
            "level 2 misses on their way",
            of(second.cycles, memory.l2.mshrs),
        ),
        ("memory bus", (last.lines * beats) as f64),
    ]
}

/// Lines that loads waited for.
#[derive(Default)]
struct Missed {
    lines: u64,
    /// Cycles from addresses to values, of all lines in sum.
    cycles: u64,
}

/// The lines of a cache that the loads with an event brought. A load that finds its line on the way brings none.
fn missed(
    machine: &MachineConfig,
    recorded: &Recorded,
    rows: &[&Kept],
    event: EventSet,
    line_bytes: u32,
) -> Missed {
    let mut all = Missed::default();
    let mut until: FxHashMap<u64, u64> = FxHashMap::default();
    let mut loads: Vec<(&Kept, u64)> = Vec::new();
    for row in rows {
        let commit = commit_of(recorded, row).filter(|commit| commit.events.has(event));
        if let Some(commit) = commit {
            loads.push((row, commit.addr / u64::from(line_bytes.max(1))));
        }
    }
    loads.sort_by_key(|(row, _)| row.issue);
    for (row, line) in loads {
        let (_, unit) = machine.units.of(row.class());
        let took = Latencies(machine).measured(row);
        let is_there = until.entry(line).or_default();
        if row.issue >= *is_there {
            all.lines += 1;
            all.cycles += took.saturating_sub(u64::from(unit.latency_cycles));
            *is_there = row.issue + took;
        }
    }
    all
}
