//! The instruction-driven core takes interrupts where the cycle-driven one takes them, which is its
//! oracle.

use hps_isa::editor::{Interruptible, NoEditor};
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::Predictor;
use hps_pipeline::core::{Chip, DrivenCore};
use hps_pipeline::pmu::{CounterConfig, Event};

use super::{Code, EMPTY, costs};
use crate::common::random::Mix;
use crate::common::{Program, machine, preset};
use crate::dise::costs as dise_costs;
use crate::driven::{
    Ends, LOOPS, PRESETS, STRAIGHT, all_slots, assert_same_run, exiting, faulting,
};
use crate::driven_dise::COMPUTED;

#[test]
fn an_editor_without_productions_changes_nothing() {
    for name in PRESETS {
        let config = preset(name);
        for seed in 5200..5210 {
            let program = exiting(seed, Mix::default());
            let what = format!("seed {seed} on {name}");
            let mut bare = Chip::new(&config, program.process());
            let stop = bare.run_to_end();
            let mut core = Chip::with(&config, program.process(), Interruptible(NoEditor), NoProbe);
            assert_eq!(core.run_to_end(), stop, "{what}");
            assert_eq!(core.stats(), bare.stats(), "{what}");
            assert_eq!(core.cpi(), bare.cpi(), "{what}");
            assert_eq!(core.memory_stats(), bare.memory_stats(), "{what}");
            let mut bare = DrivenCore::new(&config, program.process()).expect("a preset has it");
            bare.run_to_end();
            let edited =
                DrivenCore::with(&config, program.process(), Interruptible(NoEditor), NoProbe);
            let mut core = edited.expect("a preset has it");
            assert_eq!(core.run_to_end(), stop, "{what}");
            assert_eq!(core.stats(), bare.stats(), "{what}");
            assert_eq!(core.cpi(), bare.cpi(), "{what}");
            assert_eq!(core.memory_stats(), bare.memory_stats(), "{what}");
        }
    }
}

#[test]
fn interrupts_of_programs_without_memory_come_in_the_same_cycles() {
    let code = Code::new(Isa::Riscv64, EMPTY);
    let mut taken = 0;
    for (i, name) in PRESETS.into_iter().enumerate() {
        for seed in 5200..5230 {
            let config = machine(name, |m| {
                match seed % 5 {
                    1 => m.branch.predictor = Predictor::AlwaysNotTaken,
                    2 => m.branch.predictor = Predictor::AlwaysTaken,
                    _ => {}
                }
                match seed % 3 {
                    0 => costs(m, 1, 0, 0),
                    1 => costs(m, 3, 17, 9),
                    _ => {}
                }
            });
            let period = [101, 211, 499, 1009][(seed as usize + i) % 4];
            let counters = [match seed % 4 {
                0 => CounterConfig::every(Event::INSTRUCTIONS, period),
                1 => CounterConfig {
                    skid_cycles: 5,
                    ..CounterConfig::every(
                        Event::named("branch_mispredicted_events").expect("an event"),
                        period / 50,
                    )
                },
                _ => CounterConfig {
                    spread: 40,
                    seed,
                    ..CounterConfig::timer(period)
                },
            }];
            let what = format!("seed {seed}, period {period}");
            for (program, ends) in [
                (exiting(seed, STRAIGHT), Ends::Exit),
                (faulting(seed, STRAIGHT), Ends::Fault),
            ] {
                let begin = || program.process();
                let oracle = code.plain(&config, begin(), &counters, all_slots());
                let core = code.plain_driven(&config, begin(), &counters, all_slots());
                assert_same_run(oracle, core, &config, ends, true, &what);
                let mut oracle = code.plain(&config, begin(), &counters, NoProbe);
                oracle.run_to_end();
                let mut core = code.plain_driven(&config, begin(), &counters, NoProbe);
                core.run_to_end();
                let [oracle, core] = [oracle.interrupts(), core.interrupts()];
                let (oracle, core) = (oracle.expect("attached"), core.expect("attached"));
                assert_eq!(oracle.log(), core.log(), "{what} on {name}");
                assert_eq!(oracle.stats(), core.stats(), "{what} on {name}");
                taken += core.log().len();
            }
        }
    }
    assert!(taken > 5000, "{taken}");
}

#[test]
fn interrupts_of_loops_come_in_the_same_cycles_on_both_instruction_sets() {
    for name in PRESETS {
        for (i, (what, riscv, alpha)) in LOOPS.into_iter().enumerate() {
            for (isa, text) in [(Isa::Riscv64, riscv), (Isa::Alpha, alpha)] {
                let code = Code::new(isa, EMPTY);
                let program = Program::of(isa, text, 4096);
                for period in [101, 1009] {
                    let config = machine(name, |m| costs(m, 1 + i as u32, 20, 10));
                    let counters = [CounterConfig::timer(period)];
                    let what = format!("{what}, {isa}, period {period}");
                    let begin = || program.process();
                    let oracle = code.plain(&config, begin(), &counters, all_slots());
                    let core = code.plain_driven(&config, begin(), &counters, all_slots());
                    assert_same_run(oracle, core, &config, Ends::Exit, true, &what);
                }
            }
        }
    }
}

/// Sequences and handlers that compute, and interrupts between them.
#[test]
fn interrupts_between_sequences_come_in_the_same_cycles() {
    let mut taken = 0;
    for (i, name) in PRESETS.into_iter().enumerate() {
        for seed in 5230..5250 {
            let config = machine(name, |m| costs(m, 1 + seed as u32 % 9, 20, 10));
            let dise = dise_costs()[(seed as usize + i) % 4].clone();
            let text = format!("{COMPUTED}\n{EMPTY}");
            let code = Code::new(Isa::Riscv64, &text).with_dise(dise);
            let period = [211, 499, 1009][(seed as usize + i) % 3];
            let counters = [CounterConfig::timer(period)];
            let what = format!("seed {seed}, period {period}");
            let program = exiting(seed, STRAIGHT);
            let begin = || program.process();
            let oracle = code.edited(&config, begin(), &counters, all_slots());
            let core = code.edited_driven(&config, begin(), &counters, all_slots());
            assert_same_run(oracle, core, &config, Ends::Exit, true, &what);
            let mut core = code.edited(&config, begin(), &counters, NoProbe);
            core.run_to_end();
            taken += core.interrupts().expect("attached").log().len();
        }
    }
    assert!(taken > 1000, "{taken}");
}
