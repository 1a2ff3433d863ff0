//! The CPI stack charges a cause with what the program gains where that cause is made free, in programs that wait for one
//! or two things.
#![allow(clippy::print_stdout)] // the numbers are recorded in docs/measurements/truth.md

use hps_pipeline::config::{MachineConfig, Predictor};
use hps_pipeline::core::{Cause, DrivenCore};

use super::{steady, warm_loop};
use crate::common::assemble::DATA;
use crate::common::{Program, Run, repeat};

/// A program in which a cause matters, and what makes it free.
struct Free {
    cause: Cause,
    program: Program,
    machine: MachineConfig,
    free: fn(&mut MachineConfig),
}

/// A ring of `nodes` pointers, each in a page of its own and in a line that no other one conflicts with, chased.
fn chase_through_pages(nodes: u64, stride: u64, times: u64) -> Program {
    let at = |i: u64| (i % nodes) * stride;
    let words: Vec<_> = (0..nodes).map(|i| (at(i), DATA + at(i + 1))).collect();
    let loads = repeat(nodes as usize, |_| "ld a0, 0(a0)".to_string());
    warm_loop("mv a0, s0", times, &loads, nodes * stride + 64).with_words(words)
}

fn machine(change: impl FnOnce(&mut MachineConfig)) -> MachineConfig {
    steady("hps-4wide", change)
}

/// Pages of 4 KiB, fewer translations than nodes. Of each 4,160 bytes one line is used.
fn pages() -> MachineConfig {
    machine(|m| {
        m.memory.page_bytes = 4096;
        m.memory.dtlb.entries = 8;
        m.memory.dtlb.ways = 8;
    })
}

fn walks(m: &mut MachineConfig) {
    m.memory.dtlb.miss_cycles = 0;
}

fn all() -> Vec<Free> {
    let divisions = repeat(24, |_| "div a1, a1, s3".to_string());
    // Twice the instruction cache; no transfer has a gap of its own there.
    let straight = repeat(16_384, |i| format!("addi a{}, a{}, 1", i % 6, i % 6));
    // Each branch is known as soon as it is there, so that its own wait is not exposed, too.
    let taken = repeat(40, |_| "nop".to_string())
        + "beq zero, zero, over\nnop\nnop\nnop\n.align 64\nover:\n"
        + &repeat(40, |_| "nop".to_string());
    // One and a half times the data cache, a line each.
    let stores =
        "mv a0, s0\n".to_string() + &repeat(768, |_| "sd s2, 0(a0)\naddi a0, a0, 64".to_string());
    let far = |m: &mut MachineConfig| m.memory.latency_cycles = 1;
    vec![
        Free {
            cause: Cause::DTlb,
            program: chase_through_pages(64, 4160, 40),
            machine: pages(),
            free: walks,
        },
        // The walk and the way to memory: each has its part.
        Free {
            cause: Cause::DTlb,
            program: chase_through_pages(400, 8256, 8),
            machine: small_caches(),
            free: walks,
        },
        Free {
            cause: Cause::LoadMemory,
            program: chase_through_pages(400, 8256, 8),
            machine: small_caches(),
            free: far,
        },
        Free {
            cause: Cause::LongLatency,
            program: warm_loop("li s3, 3", 40, &divisions, 64),
            machine: machine(|_| {}),
            free: |m| {
                m.units.int_div.latency_cycles = 1;
                m.units.int_div.interval_cycles = 1;
            },
        },
        Free {
            cause: Cause::ICache,
            program: warm_loop("", 8, &straight, 64),
            machine: machine(|_| {}),
            free: |m| m.memory.l1i.size_bytes = 1 << 18,
        },
        Free {
            cause: Cause::Mispredict,
            program: warm_loop("", 400, &taken, 64),
            machine: machine(|m| m.branch.predictor = Predictor::AlwaysNotTaken),
            free: |m| m.branch.predictor = Predictor::Perfect,
        },
        Free {
            cause: Cause::StoreWait,
            program: warm_loop("", 10, &stores, 64 * 768),
            machine: machine(|m| m.memory.l1d.mshrs = 1),
            free: |m| m.memory.l1d.size_bytes = 1 << 17,
        },
    ]
}

/// Every line of the chase comes from memory.
fn small_caches() -> MachineConfig {
    machine(|m| {
        m.memory.page_bytes = 4096;
        m.memory.dtlb.entries = 8;
        m.memory.dtlb.ways = 8;
        m.memory.l1d.size_bytes = 4096;
        m.memory.l2.size_bytes = 16_384;
    })
}

#[test]
fn a_cause_is_charged_with_what_the_program_gains_without_it() {
    for Free {
        cause,
        program,
        machine,
        free,
    } in all()
    {
        let mut freed = machine.clone();
        free(&mut freed);
        freed.check().expect("a machine");
        let cycles = |m: &MachineConfig| {
            let run = Run::of(m, &program);
            (run.stats.cycles, run.cpi.slots[cause as usize] as f64 / 4.0)
        };
        // The other run charges what is left of the cause, such as a bus behind a fast memory.
        let ((with, charged), (without, left)) = (cycles(&machine), cycles(&freed));
        let (charged, saved) = (charged - left, (with - without) as f64);
        println!(
            "{}: charged {charged} of {with} cycles, saves {saved}",
            cause.name()
        );
        assert!(saved > 0.1 * with as f64, "{}: it matters", cause.name());
        let difference = (charged - saved).abs() / saved;
        assert!(difference < 0.1, "{}: {charged} for {saved}", cause.name());
    }
}

#[test]
fn both_cores_split_the_wait_of_a_load_alike() {
    for machine in [pages(), small_caches()] {
        let program = chase_through_pages(64, 4160, 10);
        let by_cycle = Run::of(&machine, &program).cpi;
        let mut core = DrivenCore::new(&machine, program.process()).expect("a core");
        core.run_to_end();
        for cause in [Cause::DTlb, Cause::LoadL1, Cause::LoadL2, Cause::LoadMemory] {
            assert_eq!(
                core.cpi().slots[cause as usize],
                by_cycle.slots[cause as usize],
                "{}",
                cause.name()
            );
        }
        assert!(by_cycle.slots[Cause::DTlb as usize] > 0);
    }
}
