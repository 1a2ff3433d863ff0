//! Lines that cores took from each other, for people and as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_lab::place;
use hps_pipeline::memsys::{ContendedLine, Touch, TouchKind};
use hps_system::process::Process;
use hps_system::symbols::Symbols;
use schemars::JsonSchema;
use serde::Serialize;

use crate::text::{Align, Table, grouped};

/// Lines in a document.
const LINES: usize = 20;
/// Lines in a table, and instructions of each.
const SHOWN: (usize, usize) = (5, 8);

/// A line that cores took from each other.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LineDocument {
    /// The address of its first byte.
    pub address: String,
    /// Transfers from core to core.
    pub transfer_events: u64,
    /// Copies that cores lost to writes of others.
    pub invalidation_events: u64,
    /// Cycles from requests to their answers, of all cores.
    pub wait_cycles: u64,
    /// The requests of each core.
    pub cores: Vec<CoreDocument>,
    /// The instructions, by core and part of the line, the longest waits first.
    pub instructions: Vec<TouchDocument>,
}

/// Requests of a core for a line that other cores held.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CoreDocument {
    /// The core, from 0.
    pub number: u16,
    /// Loads that asked, prefetches and fetches of instructions among them.
    pub load_events: u64,
    /// Stores and atomics that asked.
    pub store_events: u64,
    /// Cycles from these requests to their answers.
    pub wait_cycles: u64,
    /// The parts of the line that its loads, stores and atomics named, as offsets of their first bytes.
    pub offsets: Vec<u64>,
}

/// The requests of an instruction on a core.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TouchDocument {
    /// The core, from 0.
    pub core: u16,
    /// `load`, `store`, `atomic`, `prefetch` or `fetch`.
    pub kind: &'static str,
    /// The address of the instruction.
    pub pc: String,
    /// Function and source line of the instruction.
    pub place: String,
    /// The number of its program, as in `hps profile --process`.
    pub program: u32,
    /// The first byte that it accesses, from the beginning of the line.
    pub offset: u64,
    /// Bytes.
    pub size: u8,
    /// Requests.
    pub request_events: u64,
    /// Accesses for which another core sent the line.
    pub transfer_events: u64,
    /// Cycles from the requests to their answers.
    pub wait_cycles: u64,
}

fn name(kind: TouchKind) -> &'static str {
    match kind {
        TouchKind::Load => "load",
        TouchKind::Store => "store",
        TouchKind::Atomic => "atomic",
        TouchKind::Prefetch => "prefetch",
        TouchKind::Fetch => "fetch",
    }
}

/// The lines of a run of a program, the longest waits first.
pub fn contended(lines: &[ContendedLine], process: &Process) -> Vec<LineDocument> {
    let mut known: BTreeMap<u32, Arc<Symbols>> = BTreeMap::new();
    let mut symbols = |program: u32| {
        let of = || process.symbols_of(program).unwrap_or_default();
        Arc::clone(known.entry(program).or_insert_with(of))
    };
    let mut touch = |of: &Touch| TouchDocument {
        core: of.core.0,
        kind: name(of.kind),
        pc: format!("{:#x}", of.pc),
        place: match of.kind {
            TouchKind::Fetch => String::new(),
            _ => place(&symbols(of.program), of.pc),
        },
        program: of.program,
        offset: of.offset,
        size: of.size,
        request_events: of.request_events,
        transfer_events: of.transfer_events,
        wait_cycles: of.wait_cycles,
    };
    let lines = lines.iter().take(LINES);
    lines
        .map(|line| LineDocument {
            address: format!("{:#x}", line.address),
            transfer_events: line.transfer_events,
            invalidation_events: line.invalidation_events,
            wait_cycles: line.wait_cycles,
            cores: by_core(&line.touches),
            instructions: line.touches.iter().map(&mut touch).collect(),
        })
        .collect()
}

fn by_core(touches: &[Touch]) -> Vec<CoreDocument> {
    let mut cores: BTreeMap<u16, CoreDocument> = BTreeMap::new();
    for touch in touches {
        let core = cores.entry(touch.core.0).or_default();
        core.number = touch.core.0;
        core.wait_cycles += touch.wait_cycles;
        match touch.kind {
            TouchKind::Store | TouchKind::Atomic => core.store_events += touch.request_events,
            _ => core.load_events += touch.request_events,
        }
        if touch.size > 0 {
            core.offsets.push(touch.offset);
        }
    }
    for core in cores.values_mut() {
        core.offsets.sort_unstable();
        core.offsets.dedup();
    }
    cores.into_values().collect()
}

/// A table for people; nothing if no core took a line from another one. `option`: what writes all lines.
pub fn table(lines: &[LineDocument], option: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("line", Align::Right),
        ("core", Align::Right),
        ("bytes", Align::Left),
        ("access", Align::Left),
        ("requests", Align::Right),
        ("sent by cores", Align::Right),
        ("cycles waited", Align::Right),
        ("instruction", Align::Left),
    ]);
    let numbers = |of: [u64; 3]| of.map(grouped);
    for line in lines.iter().take(SHOWN.0) {
        let requests = line.instructions.iter().map(|one| one.request_events);
        let [requests, sent, waited] =
            numbers([requests.sum(), line.transfer_events, line.wait_cycles]);
        let none = String::new;
        table.row([
            line.address.clone(),
            none(),
            none(),
            none(),
            requests,
            sent,
            waited,
            none(),
        ]);
        for one in line.instructions.iter().take(SHOWN.1) {
            let [requests, sent, waited] =
                numbers([one.request_events, one.transfer_events, one.wait_cycles]);
            let bytes = match one.size {
                0 => none(),
                size => format!("{}-{}", one.offset, one.offset + u64::from(size) - 1),
            };
            table.row([
                none(),
                one.core.to_string(),
                bytes,
                one.kind.to_string(),
                requests,
                sent,
                waited,
                one.place.clone(),
            ]);
        }
        let more = line.instructions.len().saturating_sub(SHOWN.1);
        if more > 0 {
            let mut row = [const { String::new() }; 8];
            row[7] = format!("({more} more)");
            table.row(row);
        }
    }
    let more = lines.len().saturating_sub(SHOWN.0);
    let rest = match more {
        0 => String::new(),
        _ => format!("({option} has {more} more lines)\n"),
    };
    format!(
        "\nLines that cores took from each other, most cycles waited first\n{}{rest}",
        table.render()
    )
}
