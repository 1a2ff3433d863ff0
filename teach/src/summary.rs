//! A run as a whole.

use std::collections::BTreeMap;

use hps_isa::trap::Trap;
use hps_lab::{EndError, Ran, Timing};
use hps_pipeline::config::{CacheConfig, ChipConfig, L2Place, MemoryConfig, Scheduling, Stages};
use hps_pipeline::core::{Cause, ContextId};
use hps_sim_core::machine::Stop;
use serde_json::Value;

use crate::protocol::{CacheSize, Fault, FunctionInfo, Sentence, Sizes, Slots, Summary, hex};
use crate::recorder::{Recorded, Recorder};
use crate::setup::Ready;

/// Results of a run, in the words of the page.
pub(crate) fn summary<E>(
    ready: &Ready,
    ran: &Ran<E, Recorder, Timing>,
    recorded: &Recorded,
) -> Summary {
    let (machine, timing) = (&ready.machine, &ran.timing);
    let (end, said, fault) = match &ran.stop {
        Stop::Exit(code) => ("exit", format!("exit code {code}"), None),
        Stop::Limit => (
            "limit",
            format!("stopped after {} instructions", ran.retired.program),
            None,
        ),
        Stop::Fault(_) => {
            let end = EndError::unless_success(ran.stop, &ran.process).err();
            let fault = match &end {
                Some(EndError::Fault(trap)) => fault(trap),
                _ => None,
            };
            let said = end.map_or_else(String::new, |end| end.to_string());
            ("fault", said, fault)
        }
    };
    let mut output = ran.process.os.captured_stdout().to_vec();
    output.extend(ran.process.os.captured_stderr());
    let mut warnings = ran.process.os.warnings().to_vec();
    if let Some(productions) = &ready.productions {
        warnings.extend(productions.set.warnings().iter().map(ToString::to_string));
    }
    let core = match serde_json::to_value(timing.core) {
        Ok(Value::Object(core)) => core
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_u64()?)))
            .collect(),
        _ => BTreeMap::new(),
    };
    let entries = timing.memory.entries().into_iter();
    Summary {
        program: ready.program.name.clone(),
        isa: ready.program.image.isa.name().to_owned(),
        machine: machine.name.clone(),
        cycles: timing.core.cycles,
        instructions: ran.retired.program,
        inserted: ran.retired.inserted,
        handler: ran.retired.handler,
        end: end.to_owned(),
        said,
        fault,
        output: String::from_utf8_lossy(&output).into_owned(),
        core,
        memory: entries.map(|(name, n)| (name.to_owned(), n)).collect(),
        cpi_stack: Cause::ALL
            .into_iter()
            .map(|cause| Slots {
                cause: cause.name().to_owned(),
                slots: timing.cpi.get(cause),
            })
            .collect(),
        commit_width: u64::from(machine.window.commit_width),
        rows: recorded.rows.len() as u64,
        committed_rows: recorded.committed().len() as u64,
        steady: recorded.steady(),
        rows_left_out: recorded.left_out,
        contexts: contexts(ready),
        sizes: sizes(ready),
        productions: ready
            .productions
            .iter()
            .flat_map(|p| p.set.tables().productions.iter().map(|p| p.name.clone()))
            .collect(),
        functions: functions(ready, recorded),
        lines: ready
            .text
            .lines
            .iter()
            .map(|&(pc, line)| (hex(pc), line as u64))
            .collect(),
        edited: Vec::new(),
        warnings,
    }
}

fn fault(trap: &Trap) -> Option<Fault> {
    Some(Fault {
        cause: Sentence::of(&trap.cause.said())?,
        pc: hex(trap.pc),
        encoding: format!("{:#010x}", trap.encoding),
    })
}

/// The hardware contexts, in the order of their numbers.
fn contexts(ready: &Ready) -> Vec<String> {
    let chip = &ready.machine.chip;
    let cores = chip.cores as usize;
    let names = (0..chip.processors() as usize).map(|number| {
        let id = ContextId::of(number, cores);
        match (cores, chip.contexts) {
            (1, 1) => "the core".to_owned(),
            (_, 1) => format!("core {}", id.core.0),
            (1, _) => format!("context {}", id.context),
            _ => format!("core {}, context {}", id.core.0, id.context),
        }
    });
    names.collect()
}

fn sizes(ready: &Ready) -> Sizes {
    let machine = &ready.machine;
    let window = &machine.window;
    let predictor = format!("{:?}", machine.branch.predictor);
    let step = match machine.issue.stages() {
        Stages::InStep(step) => Some(step),
        _ => None,
    };
    Sizes {
        fetch_width: u64::from(machine.fetch.fetch_width_insts),
        dispatch_width: u64::from(window.dispatch_width),
        issue_width: u64::from(machine.issue.issue_width),
        commit_width: u64::from(window.commit_width),
        fetch_buffer: u64::from(machine.fetch.fetch_buffer_insts),
        rob: u64::from(window.rob_entries),
        stations: u64::from(window.reservation_stations),
        load_queue: u64::from(window.load_queue_entries),
        store_queue: u64::from(window.store_queue_entries),
        pools: machine
            .units
            .pools
            .0
            .iter()
            .map(|(name, count)| (name.clone(), u64::from(*count)))
            .collect(),
        predictor: predictor
            .split(['(', ' '])
            .next()
            .unwrap_or_default()
            .to_owned(),
        in_order: matches!(machine.issue.scheduling, Scheduling::InOrder(_)),
        flow: match machine.issue.stages() {
            Stages::Free => "free",
            Stages::InStep(_) => "in step",
            Stages::OneCycle => "one cycle",
        }
        .to_owned(),
        forwarding: step.is_some_and(|step| step.forwarding),
        branches_in_decode: step.is_some_and(|step| step.branches_in_decode),
        stages: [
            machine.fetch.fetch_to_decode_cycles,
            machine.decode.decode_to_dispatch_cycles,
            machine.issue.dispatch_to_issue_cycles,
            machine.issue.issue_to_execute_cycles,
        ]
        .map(u64::from),
        caches: caches(&machine.memory, &machine.chip),
        memory_cycles: u64::from(machine.memory.latency_cycles),
        cores: u64::from(machine.chip.cores),
        threads: u64::from(machine.chip.contexts),
    }
}

/// The caches from level 1 on; a level 3 of no bytes is none.
fn caches(memory: &MemoryConfig, chip: &ChipConfig) -> Vec<CacheSize> {
    let size = |name: &str, [bytes, ways, line_bytes, hit_cycles]: [u32; 4]| CacheSize {
        name: name.to_owned(),
        bytes: bytes.into(),
        ways: ways.into(),
        line_bytes: line_bytes.into(),
        hit_cycles: hit_cycles.into(),
        shared: chip.cores > 1
            && match name {
                "l2" => matches!(chip.l2, L2Place::Shared),
                _ => name == "l3",
            },
    };
    let upper = [
        ("l1i", &memory.l1i),
        ("l1d", &memory.l1d),
        ("l2", &memory.l2),
    ];
    let sizes = |one: &CacheConfig| [one.size_bytes, one.ways, one.line_bytes, one.hit_cycles];
    let mut all: Vec<CacheSize> = upper
        .iter()
        .map(|(name, one)| size(name, sizes(one)))
        .collect();
    let l3 = &memory.l3;
    if l3.size_bytes > 0 {
        let line = memory.l2.line_bytes;
        all.push(size("l3", [l3.size_bytes, l3.ways, line, l3.hit_cycles]));
    }
    all
}

/// Functions by the instructions that committed in them, the most first.
fn functions(ready: &Ready, recorded: &Recorded) -> Vec<FunctionInfo> {
    let symbols = &ready.program.image.symbols;
    let mut commits = vec![0u64; symbols.functions().len()];
    for commit in &recorded.commits {
        if let Some(at) = symbols.function_index(commit.pc) {
            commits[at] += 1;
        }
    }
    let mut all: Vec<FunctionInfo> = symbols
        .functions()
        .iter()
        .zip(commits)
        .filter(|(_, commits)| *commits > 0)
        .map(|(f, commits)| FunctionInfo {
            name: f.name.clone(),
            entry: hex(f.addr),
            commits,
        })
        .collect();
    all.sort_by(|a, b| b.commits.cmp(&a.commits).then_with(|| a.name.cmp(&b.name)));
    all
}
