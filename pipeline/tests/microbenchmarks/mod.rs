//! Programs whose cycles follow from the configuration on paper, asserted exactly on several
//! machines. An expected value is a formula of configuration keys, and start-up cancels: what is
//! compared is the distance between two instructions of a warm loop, or between two run lengths.

mod attribution;
mod control;
mod latency;
mod limits;
mod memory;
mod options;
mod queues;

use crate::common::{Program, machine};
use hps_pipeline::config::{AddressGeneration, MachineConfig, Predictor, Stages};

/// A loop of `times` iterations around a body; the label `main` begins an iteration. The loop's
/// own branches are taken, over any distance.
fn warm_loop(prologue: &str, times: u64, body: &str, data_bytes: u64) -> Program {
    let text = format!(
        "la s0, data\n{prologue}\nli s1, {times}\n.align 64\nmain:\n{body}\n\
         addi s1, s1, -1\nbnez s1, again\nebreak\nagain:\nj main\n"
    );
    Program::new(&text, data_bytes)
}

/// A preset that predicts every branch of [`warm_loop`], and whose data lie in one page.
fn steady(name: &str, change: impl FnOnce(&mut MachineConfig)) -> MachineConfig {
    machine(name, |m| {
        m.branch.predictor = Predictor::AlwaysTaken;
        m.memory.page_bytes = 1 << 22;
        change(m);
    })
}

/// Presets that issue out of order.
const PRESETS: [&str; 5] = [
    "hps-4wide",
    "tiny-2wide",
    "wide-8",
    "simplescalar-4wide",
    "ev6",
];

/// Presets that issue in order without stages in step.
const IN_ORDER: usize = 2;

/// All of them, for what does not depend on the order of issue. Machines whose stages go in step have formulas of their own
/// (`in_step`).
fn every_preset() -> Vec<&'static str> {
    let mut all = crate::common::single_core_presets();
    all.retain(|name| machine(name, |_| {}).issue.stages() == &Stages::Free);
    assert!(PRESETS.iter().all(|name| all.contains(name)) && all.len() == PRESETS.len() + IN_ORDER);
    all
}

/// From issue of a load to issue of its consumer when the first-level cache hits.
fn l1_cycles(m: &MachineConfig) -> u64 {
    u64::from(m.units.load.latency_cycles + m.memory.l1d.hit_cycles)
}

/// From issue of a load until its address is known to miss the first level.
fn known_miss_cycles(m: &MachineConfig) -> u64 {
    match m.memory.miss_adds_hit_cycles {
        true => l1_cycles(m),
        false => u64::from(m.units.load.latency_cycles),
    }
}

/// From the base of an address to the issue of the access, where an operation of its own computes it.
fn address_cycles(m: &MachineConfig) -> u64 {
    match m.issue.address_generation {
        AddressGeneration::WithAccess => 0,
        AddressGeneration::Separate => u64::from(m.units.int_alu.latency_cycles),
    }
}

/// Cycles in which a line of the data cache passes the bus between the caches.
fn l1_beats(m: &MachineConfig) -> u64 {
    u64::from(
        m.memory
            .l1d
            .line_bytes
            .div_ceil(m.memory.l1_l2_bus.bytes_per_cycle),
    )
}

/// Cycles in which a line passes the memory bus.
fn memory_beats(m: &MachineConfig) -> u64 {
    let bus = &m.memory.memory_bus;
    u64::from(m.memory.l2.line_bytes.div_ceil(bus.bytes_per_beat) * bus.cycles_per_beat)
}

/// From issue of a load to issue of its consumer when the second-level cache hits: a miss is known after a hit's time, the request
/// takes the bus's latency, the second level its hit time, then the first (or the last) part of
/// the line comes.
fn l2_cycles(m: &MachineConfig) -> u64 {
    let data = if m.memory.critical_word_first {
        1
    } else {
        l1_beats(m)
    };
    known_miss_cycles(m)
        + u64::from(m.memory.l1_l2_bus.latency_cycles + m.memory.l2.hit_cycles)
        + data
}

/// From issue of a load to issue of its consumer when the third-level cache hits.
fn l3_cycles(m: &MachineConfig) -> u64 {
    assert!(m.memory.critical_word_first, "not needed so far");
    let on_chip = u64::from(m.memory.l1_l2_bus.latency_cycles + m.memory.l2.hit_cycles);
    let l3 = &m.memory.l3;
    l1_cycles(m) + on_chip + u64::from(l3.hit_cycles + l3.cycles_per_beat) + 1
}

/// From issue of a load to issue of its consumer when the data come from memory.
fn memory_cycles(m: &MachineConfig) -> u64 {
    let data = if m.memory.critical_word_first {
        u64::from(m.memory.memory_bus.cycles_per_beat) + 1
    } else {
        memory_beats(m) + l1_beats(m)
    };
    let l3 = &m.memory.l3;
    let looked_up = u64::from(if l3.size_bytes > 0 { l3.hit_cycles } else { 0 });
    let looked_up = match m.memory.miss_adds_hit_cycles {
        true => looked_up + u64::from(m.memory.l2.hit_cycles),
        false => 0,
    };
    let on_chip = u64::from(m.memory.l1_l2_bus.latency_cycles);
    known_miss_cycles(m) + on_chip + looked_up + u64::from(m.memory.latency_cycles) + data
}

/// From dispatch of an instruction that waits for nothing to its commit, `latency` cycles of
/// execution in between.
fn dispatch_to_commit(m: &MachineConfig, latency: u64) -> u64 {
    u64::from(m.issue.dispatch_to_issue_cycles)
        + latency
        + u64::from(m.issue.issue_to_execute_cycles)
        + u64::from(m.window.complete_to_commit_cycles)
}

/// Bound on the instructions of a cycle, whatever they are.
fn width(m: &MachineConfig) -> u64 {
    let widths = [
        m.fetch.fetch_width_insts,
        m.decode.decode_width,
        m.window.dispatch_width,
        m.issue.issue_width,
        m.window.commit_width,
    ];
    u64::from(widths.into_iter().min().expect("there are five"))
}

/// Units in a pool.
fn pool(m: &MachineConfig, name: &str) -> u64 {
    u64::from(m.units.pools.0[name])
}
