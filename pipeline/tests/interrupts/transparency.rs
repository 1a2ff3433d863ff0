//! The program does not see interrupts: its output and its state are those of the functional machine.

use hps_isa::isa::Isa;
use hps_isa::layout;
use hps_isa::memory::PAGE_SIZE;
use hps_isa::probe::NoProbe;
use hps_pipeline::pmu::CounterConfig;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::process::Process;

use super::{Code, EMPTY, costs as interrupt_costs, records};
use crate::common::compare::{ALL_REGISTERS, Outcome, PROGRAM_REGISTERS, Stream, counts};
use crate::common::random::{self, Mix};
use crate::common::{machine, preset, workload};
use crate::dise::{RESTARTS, costs};

const LIMIT: u64 = 200_000;
const HANDLERS: std::ops::Range<u64> = layout::HANDLER_BASE..layout::HANDLER_END;

/// Periods in cycles.
const PERIODS: [u64; 6] = [101, 307, 1009, 3001, 10_007, 100_003];

#[test]
fn random_programs_compute_the_same() {
    let code = Code::new(Isa::Riscv64, records(Isa::Riscv64));
    let mut taken = 0;
    for (i, name) in crate::common::single_core_presets().into_iter().enumerate() {
        let config = preset(name);
        for seed in 5400..5424 {
            let mix = Mix {
                sync: seed % 3 == 0,
                ..Mix::default()
            };
            let program = random::program(seed, mix);
            let counters = [CounterConfig::timer(PERIODS[(i + seed as usize) % 4])];
            let what = format!("seed {seed} on {name}");
            let expected = Outcome::plain(program.process(), LIMIT);
            let mut core = code.plain(&config, program.process(), &counters, Stream::default());
            let stop = core.run(LIMIT);
            taken += core.interrupts().expect("attached").log().len();
            let got = Outcome::of_core(&mut core, stop);
            got.assert_equal(&expected, PROGRAM_REGISTERS, &what);
            got.assert_same_memory(&expected, HANDLERS, &what);
            if hps_pipeline::core::DrivenCore::check(&config).is_err() {
                continue;
            }
            let mut core =
                code.plain_driven(&config, program.process(), &counters, Stream::default());
            let stop = core.run(LIMIT);
            taken += core.interrupts().expect("attached").log().len();
            for r in PROGRAM_REGISTERS {
                let of = |hart: &hps_isa::hart::Hart| hart.r[usize::from(r)];
                assert_eq!(
                    of(&core.process().thread.hart),
                    of(&expected.hart),
                    "{what}: {r}"
                );
            }
            assert_eq!(stop, expected.stop, "{what}");
            assert_eq!(
                counts(core.stats()).program,
                expected.retired.program,
                "{what}"
            );
            assert_eq!(core.probe().steps, expected.stream.steps, "{what}");
        }
    }
    assert!(taken > 3000, "{taken}");
}

#[test]
fn programs_of_the_project_compute_the_same() {
    const INSTRUCTIONS: u64 = 60_000;
    let machines = ["hps-4wide", "wide-8", "tiny-2wide", "ev6", "ev5"];
    let state = |p: &Process| {
        let r: Vec<u64> = PROGRAM_REGISTERS
            .map(|i| p.thread.hart.r[i as usize])
            .collect();
        let output = p.os.captured_stdout().to_vec();
        (
            r,
            p.thread.hart.pc,
            p.thread.hart.fcsr,
            p.thread.hart.reservation,
            output,
        )
    };
    for (i, w) in hps_workloads::all().iter().enumerate() {
        for (j, isa) in Isa::ALL.into_iter().enumerate() {
            let code = Code::new(isa, records(isa));
            let mut functional = Machine::new(workload(w, isa));
            let stop = functional.run(&mut NoProbe, INSTRUCTIONS);
            for step in 0..2 {
                let name = machines[(i + 2 * j + step) % machines.len()];
                let period = PERIODS[(i + j + step) % 6];
                let config = machine(name, |m| {
                    // The program gets on at the shortest periods, too.
                    if period < 1000 {
                        interrupt_costs(m, 1, 5, 5);
                    }
                });
                let counters = [CounterConfig::timer(period)];
                let what = format!("{} ({isa}) on {name}", w.name);
                let mut core = code.plain(&config, workload(w, isa), &counters, NoProbe);
                assert_eq!(core.run(INSTRUCTIONS), stop, "{what}");
                core.drain_to_boundary();
                assert_eq!(state(core.process()), state(&functional.process), "{what}");
                if name != "ev5" {
                    let mut core = code.plain_driven(&config, workload(w, isa), &counters, NoProbe);
                    assert_eq!(core.run(INSTRUCTIONS), stop, "{what}");
                    assert_eq!(state(core.process()), state(&functional.process), "{what}");
                }
            }
        }
    }
}

/// Sequences, handlers of productions and what they count are what they are without interrupts.
#[test]
fn productions_count_the_same() {
    let mut taken = 0;
    for (i, name) in crate::common::single_core_presets().into_iter().enumerate() {
        let config = preset(name);
        for seed in 5500..5516 {
            let text = format!("{RESTARTS}\n{}", records(Isa::Riscv64));
            let dise = costs()[(seed as usize + i) % 4].clone();
            let code = Code::new(Isa::Riscv64, &text).with_dise(dise);
            let program = random::program(seed, Mix::default());
            let counters = [CounterConfig::timer(PERIODS[(i + seed as usize) % 4])];
            let what = format!("seed {seed} on {name}");
            let (process, engine) = code.install(program.process());
            let expected = Outcome::functional(process, engine, LIMIT);
            let written = code.address("records");
            let except = written / PAGE_SIZE * PAGE_SIZE..HANDLERS.end;
            let mut core = code.edited(&config, program.process(), &counters, Stream::default());
            let stop = core.run(LIMIT);
            let log = core.interrupts().expect("attached").log().to_vec();
            let got = Outcome::of_core(&mut core, stop);
            // The counts lie in front of the records.
            assert!(code.address("counts") < written);
            got.assert_equal(&expected, ALL_REGISTERS, &what);
            got.assert_same_memory(&expected, except, &what);
            assert_eq!(got.retired.inserted, expected.retired.inserted, "{what}");
            taken += log.len();
            if hps_pipeline::core::DrivenCore::check(&config).is_err() {
                continue;
            }
            let mut core =
                code.edited_driven(&config, program.process(), &counters, Stream::default());
            let stop = core.run(LIMIT);
            assert_eq!(stop, expected.stop, "{what}");
            for r in ALL_REGISTERS {
                let of = |hart: &hps_isa::hart::Hart| hart.r[usize::from(r)];
                assert_eq!(
                    of(&core.process().thread.hart),
                    of(&expected.hart),
                    "{what}: {r}"
                );
            }
            let got = counts(core.stats());
            assert_eq!(got.program, expected.retired.program, "{what}");
            assert_eq!(got.inserted, expected.retired.inserted, "{what}");
            assert_eq!(core.probe().steps, expected.stream.steps, "{what}");
            taken += core.interrupts().expect("attached").log().len();
        }
    }
    assert!(taken > 3000, "{taken}");
}

#[test]
fn a_program_ends_with_its_line_pending() {
    let text = "li a0, 7\nli a7, 93\necall";
    let code = Code::new(Isa::Riscv64, EMPTY);
    let program = crate::common::Program::new(text, 8);
    for name in crate::common::single_core_presets() {
        let config = preset(name);
        // The counter overflows in the first cycle, and the interrupt is recognized behind the end.
        let counters = [CounterConfig {
            skid_cycles: 1 << 40,
            ..CounterConfig::timer(1)
        }];
        let mut core = code.plain(&config, program.process(), &counters, NoProbe);
        assert_eq!(core.run_to_end(), Stop::Exit(7), "{name}");
        assert_eq!(core.interrupts().expect("attached").log(), [], "{name}");
        // The commit of the call is a boundary, but nothing comes behind it.
        let taken = (1..400).map(|period| {
            let counters = [CounterConfig::timer(period)];
            let mut core = code.plain(&config, program.process(), &counters, NoProbe);
            assert_eq!(core.run_to_end(), Stop::Exit(7), "{name}, period {period}");
            core.interrupts().expect("attached").stats().taken_events
        });
        assert!(taken.sum::<u64>() > 0, "{name}");
    }
}
