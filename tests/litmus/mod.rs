//! Litmus tests of the memory model of machines with several contexts.
//!
//! Tests are made from cycles ([`generate`]), and axioms say which outcomes RVWMO allows ([`model`]). What the
//! simulator does must be among them; since it promises more, total store order on several contexts and sequential
//! consistency on the functional machine, it is held to that too. `HPS_LITMUS_TESTS` is the number of tests.

mod classic;
mod generate;
mod machines;
mod model;
mod program;
mod run;

use std::collections::BTreeSet;

use hps_isa::random::Random;
use hps_pipeline::config::MachineConfig;

use classic::check_models;
use generate::generate;
use model::{Model, allowed};
use program::{Outcome, Test};
use run::{Guest, Runner};

/// Tests of one guest program.
const TOGETHER: usize = 100;

/// The number of tests that are run for each number of threads.
fn wanted() -> usize {
    let number = std::env::var("HPS_LITMUS_TESTS").ok();
    number.map_or(TOGETHER, |number| {
        number.parse().expect("HPS_LITMUS_TESTS is a number")
    })
}

/// A test, and what each model allows.
struct Judged {
    test: Test,
    sc: BTreeSet<Outcome>,
    tso: BTreeSet<Outcome>,
    rvwmo: BTreeSet<Outcome>,
}

impl Judged {
    fn of(test: Test) -> Judged {
        let [sc, tso, rvwmo] =
            [Model::Sc, Model::Tso, Model::Rvwmo].map(|model| allowed(&test, model));
        Judged {
            test,
            sc,
            tso,
            rvwmo,
        }
    }

    /// Fails if the outcome was not to be seen: on the functional machine, or on several contexts.
    fn check(&self, runner: &Runner<'_>, name: &str, outcome: &Outcome) {
        let (promised, model) = match runner {
            Runner::Machine(_) => (&self.tso, "total store order"),
            Runner::Functional { .. } => (&self.sc, "sequential consistency"),
        };
        let broken = match (self.rvwmo.contains(outcome), promised.contains(outcome)) {
            (_, true) => return,
            (true, false) => model,
            (false, false) => "RVWMO",
        };
        panic!(
            "{name}: {broken} forbids {} of\n{}",
            self.test.described(outcome),
            self.test.listing()
        );
    }
}

/// Runs tests, and counts by runner those of which an outcome was seen that no interleaving has.
fn run_all(threads: usize, runners: &[(&str, Runner<'_>)]) -> Vec<usize> {
    let mut random = Random::new(threads as u64);
    let mut relaxed = vec![0; runners.len()];
    let mut relaxable = 0;
    let mut left = wanted();
    while left > 0 {
        let count = left.min(TOGETHER);
        left -= count;
        let tests: Vec<Test> = (0..count).map(|_| generate(&mut random, threads)).collect();
        let guest = Guest::of(&tests, &mut random);
        let judged: Vec<Judged> = tests.iter().cloned().map(Judged::of).collect();
        relaxable += judged.iter().filter(|j| j.tso != j.sc).count();
        for ((name, runner), relaxed) in runners.iter().zip(&mut relaxed) {
            for (judged, seen) in judged.iter().zip(guest.run(runner)) {
                for outcome in &seen {
                    judged.check(runner, name, outcome);
                }
                *relaxed += usize::from(!seen.is_subset(&judged.sc));
            }
        }
    }
    for ((name, _), relaxed) in runners.iter().zip(&relaxed) {
        eprintln!(
            "{name}: of {} tests with {threads} threads, {relaxed} of {relaxable} relaxed",
            wanted()
        );
    }
    relaxed
}

fn machine(name: &str, contexts: u32) -> MachineConfig {
    let mut machine = MachineConfig::preset(name).unwrap_or_else(|e| panic!("{e}"));
    machine.chip.contexts = contexts;
    machine
}

#[test]
fn models_agree_with_their_oracles_on_generated_tests() {
    let mut random = Random::new(1);
    for at in 0..wanted() {
        check_models(&generate(&mut random, 2 + at % 2));
    }
}

#[test]
fn two_threads_see_what_is_allowed() {
    let (cmp, smt) = (machine("cmp-4", 1), machine("smt-2", 2));
    let runners = [
        ("cmp-4", Runner::Machine(&cmp)),
        ("smt-2", Runner::Machine(&smt)),
        (
            "functional",
            Runner::Functional {
                slice: 100,
                seed: 1,
            },
        ),
        (
            "functional",
            Runner::Functional {
                slice: 130,
                seed: 2,
            },
        ),
    ];
    let relaxed = run_all(2, &runners);
    assert!(
        relaxed[0] > 0 && relaxed[1] > 0,
        "{relaxed:?}: stores wait for nothing"
    );
}

#[test]
fn three_threads_see_what_is_allowed() {
    let (cmp, smt) = (machine("cmp-4", 1), machine("smt-2", 4));
    let runners = [
        ("cmp-4", Runner::Machine(&cmp)),
        ("smt-2 with four contexts", Runner::Machine(&smt)),
        (
            "functional",
            Runner::Functional {
                slice: 100,
                seed: 3,
            },
        ),
    ];
    let relaxed = run_all(3, &runners);
    assert!(
        relaxed[0] > 0 && relaxed[1] > 0,
        "{relaxed:?}: stores wait for nothing"
    );
}
