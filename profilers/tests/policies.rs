//! Policies: they change nothing, repeat themselves, and with a period of one cycle are their definitions.

use std::collections::HashMap;

use hps_pipeline::core::CoreKind;
use hps_profilers::registry::PROFILERS;
use hps_profilers::{Key, Period, Sampled, Samplers};

use crate::common::random::{self, Mix};
use crate::common::{Run, preset};
use crate::watch_process;

fn every_policy(samplers: &mut Samplers) {
    for profiler in PROFILERS {
        samplers.add((profiler.policy)(), profiler.period(40_000, 40_000, 400, 7));
        samplers.add((profiler.policy)(), Period::cycles(1));
    }
}

fn sorted(sampled: &Sampled) -> Vec<(Key, u64)> {
    let mut all: Vec<_> = sampled.credits.by_instruction().into_iter().collect();
    all.sort_unstable();
    all
}

#[test]
fn samplers_change_no_statistic_and_the_same_seed_gives_the_same_samples() {
    let program = random::program(8300, Mix::default());
    for machine in ["hps-4wide", "ev5"] {
        let config = preset(machine);
        for kind in crate::cores(&config) {
            let watch = |add: &dyn Fn(&mut Samplers)| {
                watch_process(kind, &config, program.process(), u64::MAX, None, |s| add(s))
            };
            let alone = watch(&|_| {});
            let [first, second] = [watch(&every_policy), watch(&every_policy)];
            assert_eq!(
                alone.finished.stats, first.finished.stats,
                "{machine} {kind:?}"
            );
            assert_eq!(alone.finished.cpi, first.finished.cpi, "{machine} {kind:?}");
            assert_eq!(alone.exact.cycles, first.exact.cycles);
            assert_eq!(first.sampled.len(), 2 * PROFILERS.len());
            for (a, b) in first.sampled.iter().zip(&second.sampled) {
                assert_eq!(sorted(a), sorted(b), "{} {kind:?}", a.policy);
                assert!(
                    a.credits.credited > 0,
                    "{} {kind:?} takes samples",
                    a.policy
                );
            }
        }
    }
}

/// Whole samples by address.
fn samples(sampled: &Sampled) -> HashMap<u64, u64> {
    let credits = &sampled.credits;
    let all = credits.by_instruction().into_iter();
    all.map(|(key, units)| (key.pc, units / credits.units_per_sample))
        .collect()
}

/// Samples of a policy with a period of one cycle, against what `blame` says of each cycle.
fn compare(seed: u64, machine: &str, policy: &str, blame: impl Fn(&Run, u64) -> Option<u64>) {
    let program = random::program(
        seed,
        Mix {
            iterations: 3,
            ..Mix::default()
        },
    );
    let config = preset(machine);
    let run = Run::of(&config, &program);
    let mut expected: HashMap<u64, u64> = HashMap::new();
    let end = run.committed.last().expect("something runs").end_cycle;
    for cycle in 1..=end {
        if let Some(pc) = blame(&run, cycle) {
            *expected.entry(pc).or_insert(0) += 1;
        }
    }
    let add = |samplers: &mut Samplers| {
        let profiler = hps_profilers::registry::find(policy).expect("a profiler");
        samplers.add((profiler.policy)(), Period::cycles(1));
    };
    let limit = run.committed.len() as u64;
    let watched = watch_process(
        CoreKind::Cycle,
        &config,
        program.process(),
        limit,
        None,
        add,
    );
    let found = samples(&watched.sampled[0]);
    assert_eq!(found, expected, "{policy} on {machine}, random {seed}");
}

#[test]
fn policies_that_sample_every_cycle_are_their_definitions() {
    for seed in 8400..8404 {
        for machine in ["hps-4wide", "tiny-2wide", "ev5"] {
            compare(seed, machine, "nci", |run, cycle| {
                let next = run.committed.iter().find(|r| r.end_cycle >= cycle);
                next.map(|r| r.pc)
            });
            compare(seed, machine, "lci", |run, cycle| {
                let last = run.committed.iter().rev().find(|r| r.end_cycle <= cycle);
                last.map(|r| r.pc)
            });
            compare(seed, machine, "lci-before", |run, cycle| {
                let last = run.committed.iter().rev().find(|r| r.end_cycle < cycle);
                last.map(|r| r.pc)
            });
            compare(seed, machine, "pebs", |run, cycle| {
                let next = run.committed.iter().find(|r| r.end_cycle > cycle);
                next.map(|r| r.pc)
            });
            compare(seed, machine, "software", |run, cycle| {
                let next = run.committed.iter().find(|r| r.dispatch_cycle > cycle + 6);
                next.map(|r| r.pc)
            });
            compare(seed, machine, "interrupt", |run, cycle| {
                let all = &run.committed;
                let taken = all.iter().position(|r| r.end_cycle >= cycle + 6)?;
                all.get(taken + 1).map(|r| r.pc)
            });
        }
    }
}

#[test]
fn both_cores_sample_the_same_where_all_accesses_hit() {
    for machine in crate::common_presets() {
        let config = preset(machine);
        for seed in 8600..8604 {
            let program = random::program(seed, crate::STRAIGHT);
            let [a, b] = [CoreKind::Cycle, CoreKind::Instruction].map(|kind| {
                watch_process(
                    kind,
                    &config,
                    program.process(),
                    u64::MAX,
                    None,
                    every_policy,
                )
            });
            for (a, b) in a.sampled.iter().zip(&b.sampled) {
                if a.policy.starts_with("ibs") && a.period.mean == 1 {
                    // A tag that is lost is free later on the instruction-driven core.
                    continue;
                }
                let what = format!("{} on {machine}, random {seed}", a.policy);
                assert_eq!(sorted(a), sorted(b), "{what}");
                let counts = |s: &Sampled| (s.credits.credited, s.credits.lost, s.credits.collided);
                assert_eq!(counts(a), counts(b), "{what}");
            }
        }
    }
}

/// One tag at a time: the definition walks from sample to sample.
#[test]
fn dispatch_tagging_loses_what_is_squashed() {
    for seed in 8500..8506 {
        let program = random::program(
            seed,
            Mix {
                iterations: 4,
                ..Mix::default()
            },
        );
        let config = preset("hps-4wide");
        let run = Run::of(&config, &program);
        let period = 37;
        let mut expected: HashMap<u64, u64> = HashMap::new();
        // Of the policy that tags rows: shares of twelfths, which groups of four divide.
        let mut by_row: HashMap<u64, u64> = HashMap::new();
        let (mut lost, mut collided, mut without) = (0u64, 0u64, 0u64);
        // The tag of the last sample is in use until this cycle.
        let mut busy_until = 0;
        let all = || run.committed.iter().chain(&run.squashed);
        let end = run.committed.last().expect("something runs").end_cycle;
        for cycle in (period..=end).step_by(period as usize) {
            if cycle <= busy_until {
                collided += 1;
                continue;
            }
            let dispatched =
                all().filter(|r| r.dispatch_cycle != u64::MAX && r.dispatch_cycle >= cycle);
            // Of one cycle's instructions the oldest comes first.
            let tagged = dispatched.min_by_key(|r| (r.dispatch_cycle, r.seq));
            let Some(tagged) = tagged else {
                lost += 1;
                continue;
            };
            busy_until = tagged.end_cycle;
            // This sample, and those that are due while it is under way.
            without += 1 + (busy_until.min(end) - cycle) / period;
            if tagged.squashed {
                lost += 1;
                continue;
            }
            *expected.entry(tagged.pc).or_insert(0) += 1;
            let together = (tagged.dispatch_cycle, tagged.end_cycle);
            let row = (run.committed.iter())
                .filter(|r| (r.dispatch_cycle, r.end_cycle) == together)
                .collect::<Vec<_>>();
            for r in &row {
                *by_row.entry(r.pc).or_insert(0) += 12 * without / row.len() as u64;
            }
            without = 0;
        }
        let add = |samplers: &mut Samplers| {
            for name in ["ibs", "ibs-row"] {
                let ibs = hps_profilers::registry::find(name).expect("a profiler");
                samplers.add((ibs.policy)(), Period::cycles(period));
            }
        };
        let limit = run.committed.len() as u64;
        let watched = watch_process(
            CoreKind::Cycle,
            &config,
            program.process(),
            limit,
            None,
            add,
        );
        let credits = &watched.sampled[0].credits;
        let found = samples(&watched.sampled[0]);
        assert_eq!(found, expected, "random {seed}");
        let taken = credits.credited + credits.lost + credits.collided;
        assert_eq!(taken, end / period, "random {seed}");
        assert!(lost > 0 && collided > 0, "random {seed}");
        assert_eq!(
            (credits.lost, credits.collided),
            (lost, collided),
            "random {seed}"
        );
        let rows = &watched.sampled[1].credits;
        assert_eq!(rows.units_per_sample, 12);
        let found: HashMap<u64, u64> = (rows.by_instruction().into_iter())
            .map(|(key, units)| (key.pc, units))
            .collect();
        assert_eq!(found, by_row, "random {seed}");
    }
}
