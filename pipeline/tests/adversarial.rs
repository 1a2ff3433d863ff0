//! How far the instruction-driven core is off the cycle-driven one where the order of accesses matters most.
#![allow(clippy::print_stdout)] // the test prints the table of docs/measurements/core-accuracy.md

mod kernels;

use hps_pipeline::config::{CacheConfig, MachineConfig};
use hps_pipeline::core::{Chip, DrivenCore};
use hps_pipeline::memsys::DisorderStats;
use hps_sim_core::machine::Stop;

use crate::common::{Program, machine, preset};
use crate::driven::PRESETS;

/// Presets, and machines in which what accesses compete for is scarce.
fn machines() -> Vec<MachineConfig> {
    let mut all: Vec<MachineConfig> = PRESETS.iter().map(|name| preset(name)).collect();
    let mut add = |name: &str, base: &str, change: fn(&mut MachineConfig)| {
        all.push(machine(base, |m| {
            m.name = name.to_string();
            change(m);
        }));
    };
    add("one MSHR", "hps-4wide", |m| {
        m.memory.l1d.mshrs = 1;
    });
    add("one MSHR of level 2", "wide-8", |m| {
        m.memory.l2.mshrs = 1;
    });
    add("tiny caches", "hps-4wide", tiny);
    add("tiny caches, 8 wide", "wide-8", tiny);
    add("narrow buses", "hps-4wide", |m| {
        m.memory.l1_l2_bus.bytes_per_cycle = 4;
        m.memory.memory_bus.cycles_per_beat = 4;
        m.memory.critical_word_first = false;
    });
    add("one port", "wide-8", |m| {
        m.memory.l1d.ports = 1;
        m.memory.l1d.mshrs = 2;
    });
    add("small TLB", "hps-4wide", |m| {
        m.memory.dtlb.entries = 4;
        m.memory.dtlb.ways = 4;
        m.memory.l2_tlb.entries = 0;
    });
    all
}

/// Caches of a few lines.
fn tiny(m: &mut MachineConfig) {
    let cache = |size_bytes, ways, of: &CacheConfig| CacheConfig {
        size_bytes,
        ways,
        ..of.clone()
    };
    m.memory.l1d = cache(1024, 1, &m.memory.l1d);
    m.memory.l2 = cache(8192, 2, &m.memory.l2);
}

/// Cycles and misses of both cores.
struct Compared {
    cycles: [u64; 2],
    misses: [u64; 2],
    merges: [u64; 2],
    /// Doubt that the core itself reports: cycles that may be too many, and too few, in percent of its own.
    doubt: [f64; 2],
}

impl Compared {
    fn error_percent(&self) -> f64 {
        let [oracle, core] = self.cycles.map(|cycles| cycles as f64);
        (core / oracle - 1.0) * 100.0
    }
}

fn compare(config: &MachineConfig, program: &Program) -> Compared {
    let mut oracle = Chip::new(config, program.process());
    assert_eq!(oracle.run_to_end(), Stop::Exit(0));
    let mut core = DrivenCore::new(config, program.process()).expect("the machine can be driven");
    assert_eq!(core.run_to_end(), Stop::Exit(0));
    let memory = [oracle.memory_stats().l1d, core.memory_stats().l1d];
    assert_eq!(oracle.memory_stats().disorder, DisorderStats::default());
    let disorder = core.memory_stats().disorder;
    let percent = |cycles: u64| 100.0 * cycles as f64 / core.stats().cycles as f64;
    Compared {
        cycles: [oracle.stats().cycles, core.stats().cycles],
        misses: memory.map(|m| m.read_miss_events + m.write_miss_events),
        merges: memory.map(|m| m.read_merge_events + m.write_merge_events),
        doubt: [disorder.early_eviction_cycles, disorder.crowded_cycles].map(percent),
    }
}

/// Both cores should agree within 3% everywhere. The instruction-driven core does not yet: the differences that
/// are known to be larger are counted in docs/measurements/core-accuracy.md, and there may be no more of them.
/// `cargo test -p hps-pipeline --test all adversarial -- --ignored --nocapture` prints the table.
#[test]
#[ignore = "each kernel on each machine by both cores: scripts/nightly.sh"]
fn no_more_adversarial_programs_than_known_differ_by_three_percent() {
    const BOUND_PERCENT: f64 = 3.0;
    const KNOWN: usize = 174;
    /// Of these, those of which the run does not say so.
    const SILENT: usize = 4;
    let (mut beyond, mut silent) = (Vec::new(), Vec::new());
    for kernel in kernels::all() {
        for config in machines() {
            let compared = compare(&config, &kernel.program);
            let error = compared.error_percent();
            println!(
                "{error:+8.2} {:38} {:20} cycles {:?} misses {:?} merges {:?} doubt {:.1?}",
                kernel.name,
                config.name,
                compared.cycles,
                compared.misses,
                compared.merges,
                compared.doubt
            );
            let [too_many, too_few] = compared.doubt;
            if error.abs() > BOUND_PERCENT && too_many.max(too_few) < BOUND_PERCENT {
                silent.push(format!(
                    "{} on {}: {error:+.2}%, {too_many:.1} {too_few:.1}",
                    kernel.name, config.name
                ));
            }
            if error.abs() > BOUND_PERCENT {
                beyond.push(format!("{} on {}: {error:+.2}%", kernel.name, config.name));
            }
        }
    }
    assert!(silent.len() <= SILENT, "{}: {silent:#?}", silent.len());
    assert!(
        beyond.len() <= KNOWN,
        "{} instead of {KNOWN}: {beyond:#?}",
        beyond.len()
    );
}
