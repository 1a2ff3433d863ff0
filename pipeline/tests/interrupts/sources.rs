//! Sources of interrupts: which overflow is taken when, what waits, what is lost, what handlers read.

use hps_isa::editor::{Interruptible, NoEditor};
use hps_isa::inst::{OpClass, reg};
use hps_isa::isa::Isa;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CoreKind, EitherCore, StagesProbe};
use hps_pipeline::interrupts::Taken;
use hps_pipeline::pmu::{CounterConfig, Event};
use hps_sim_core::machine::Stop;

use super::{Code, EMPTY, costs, records};
use crate::common::random::Mix;
use crate::common::{Program, Trace, machine, preset};
use crate::driven::exiting;

type Either = EitherCore<Interruptible<NoEditor>, NoProbe>;

/// Both cores where a machine has both.
fn kinds(config: &MachineConfig) -> Vec<CoreKind> {
    let kinds = [CoreKind::Cycle, CoreKind::Instruction];
    let has = |kind: &CoreKind| kind.check(config).is_ok();
    kinds.into_iter().filter(has).collect()
}

fn core(
    kind: CoreKind,
    config: &MachineConfig,
    code: &Code,
    program: &Program,
    counters: &[CounterConfig],
) -> Either {
    let (process, _) = code.install(program.process());
    let editor = Interruptible(NoEditor);
    let mut core = Either::with(kind, config, process, editor, NoProbe).expect("it is checked");
    core.attach_interrupts(code.interrupts(config, counters));
    core
}

fn log(core: &Either) -> &[Taken] {
    core.interrupts().expect("attached").log()
}

fn load_counter(period: u64) -> CounterConfig {
    let event = Event::named("load_committed_events").expect("an event");
    CounterConfig::every(event, period)
}

#[test]
fn a_counter_overflows_with_its_event() {
    let code = Code::new(Isa::Riscv64, EMPTY);
    let program = exiting(5600, Mix::default());
    for name in crate::common::single_core_presets() {
        let config = preset(name);
        for (period, counts_loads) in [(97, false), (1009, false), (13, true), (101, true)] {
            let counters = if counts_loads {
                [load_counter(period)]
            } else {
                [CounterConfig::every(Event::INSTRUCTIONS, period)]
            };
            let trace = StagesProbe::new(Trace::default());
            let mut traced = code.plain(&config, program.process(), &counters, trace);
            traced.run_to_end();
            let records = traced
                .probe()
                .probe::<Trace>()
                .records
                .iter()
                .filter(|r| !r.squashed);
            let events: Vec<u64> = records
                .filter(|r| r.is_program && (!counts_loads || r.inst.class == OpClass::Load))
                .map(|r| r.end_cycle)
                .collect();
            let interrupts = traced.interrupts().expect("attached");
            // Overflows while an earlier overflow waits are lost.
            let mut overflows = events
                .iter()
                .skip(period as usize - 1)
                .step_by(period as usize);
            for taken in interrupts.log() {
                let what = format!("{taken:?}, period {period} on {name}");
                assert!(overflows.any(|&o| o == taken.overflow_cycle), "{what}");
                let done = events.iter().filter(|&&c| c < taken.cycle).count() as u64;
                let with = events.iter().filter(|&&c| c <= taken.cycle).count() as u64;
                assert!((done..=with).contains(&taken.count), "{what}");
            }
            let overflows = events.len() as u64 / period;
            let taken = interrupts.stats().taken_events;
            let lost = interrupts.pmu().lost();
            assert!(
                (overflows - 1..=overflows).contains(&(taken + lost)) && taken > 0,
                "{taken} taken and {lost} lost of {overflows} on {name}"
            );
        }
    }
}

#[test]
fn an_interrupt_waits_while_another_is_handled() {
    // The handler takes longer than the period.
    let wait = "handler Take {
            d_mtdr ir4, t0
            li     t0, 60
        again:
            addi   t0, t0, -1
            bnez   t0, again
            d_mfdr t0, ir4
            d_ret
        }";
    let code = Code::new(Isa::Riscv64, wait);
    let program = exiting(5601, Mix::default());
    for name in crate::common::single_core_presets() {
        let config = preset(name);
        let mut alone = code.plain(
            &config,
            program.process(),
            &[CounterConfig::timer(1 << 50)],
            NoProbe,
        );
        assert!(matches!(alone.run_to_end(), Stop::Exit(_)));
        for kind in kinds(&config) {
            let counters = [CounterConfig::timer(53)];
            let mut core = core(kind, &config, &code, &program, &counters);
            assert!(matches!(core.run_to_end(), Stop::Exit(_)), "{name}");
            let program = core.stats().commit_program_instructions;
            assert_eq!(program, alone.stats().commit_program_instructions, "{name}");
            let interrupts = core.interrupts().expect("attached");
            let (taken, lost) = (interrupts.stats().taken_events, interrupts.pmu().lost());
            // One instruction of the program for each at least, and a pending one for each that is lost.
            assert!(
                taken > 100 && taken <= program,
                "{taken} of {program} on {name}"
            );
            // Overflows since the last handler returned have not been counted yet.
            let overflows = core.stats().cycles / 53;
            let known = interrupts.log().last().expect("many").cycle / 53;
            assert!((known..=overflows).contains(&(taken + lost)), "{name}");
            for pair in interrupts.log().windows(2) {
                assert!(pair[0].cycle < pair[1].cycle, "{pair:?} on {name}");
                assert!(pair[0].overflow_cycle < pair[1].overflow_cycle, "{pair:?}");
                assert_eq!(pair[1].overflow_cycle % 53, 0, "{pair:?}");
            }
        }
    }
}

#[test]
fn two_sources_are_taken_one_after_the_other() {
    let code = Code::new(Isa::Riscv64, EMPTY);
    let program = exiting(
        5602,
        Mix {
            csr: false,
            ..Mix::default()
        },
    );
    for name in crate::common::single_core_presets() {
        let config = preset(name);
        for kind in kinds(&config) {
            // Both overflow in every thousandth cycle, the first also between.
            let counters = [CounterConfig::timer(500), CounterConfig::timer(1000)];
            let mut core = core(kind, &config, &code, &program, &counters);
            core.run_to_end();
            let log = log(&core);
            assert!(log.len() > 10, "{} on {name}", log.len());
            for (n, taken) in log.iter().enumerate() {
                let expected = [(0, 500), (0, 1000), (1, 1000)][n % 3];
                let round = n as u64 / 3 * 1000;
                let got = (taken.source, taken.overflow_cycle - round);
                assert_eq!(got, expected, "{n} on {name}");
            }
        }
    }
}

#[test]
fn random_periods_are_those_of_the_seed() {
    let code = Code::new(Isa::Riscv64, EMPTY);
    let program = exiting(5603, Mix::default());
    for name in ["hps-4wide", "ev5"] {
        let config = preset(name);
        for kind in kinds(&config) {
            let run = |seed| {
                let counters = [CounterConfig {
                    spread: 100,
                    seed,
                    ..CounterConfig::timer(300)
                }];
                let mut core = core(kind, &config, &code, &program, &counters);
                core.run_to_end();
                (log(&core).to_vec(), *core.stats())
            };
            assert_eq!(run(1), run(1), "{name}");
            assert_ne!(run(1).0, run(2).0, "{name}");
            let (log, _) = run(1);
            for pair in log.windows(2) {
                let period = pair[1].overflow_cycle - pair[0].overflow_cycle;
                assert!((300..=400).contains(&period), "{period} on {name}");
            }
        }
    }
}

#[test]
fn limits_and_copies_change_nothing() {
    let code = Code::new(Isa::Riscv64, records(Isa::Riscv64));
    let program = exiting(5604, Mix::default());
    for name in crate::common::single_core_presets() {
        let config = machine(name, |m| costs(m, 2, 11, 7));
        for kind in kinds(&config) {
            let counters = [CounterConfig::timer(101), load_counter(31)];
            let mut whole = core(kind, &config, &code, &program, &counters);
            let stop = whole.run_to_end();
            let mut pieces = core(kind, &config, &code, &program, &counters);
            let mut limit = 0;
            let mut copy = None;
            let ended = loop {
                limit = limit % 7 + 1;
                match pieces.run(limit) {
                    Stop::Limit => {}
                    stop => break stop,
                }
                if pieces.stats().commit_program_instructions > 1000 && copy.is_none() {
                    copy = Some(pieces.duplicate().expect("nothing is shared"));
                }
            };
            assert_eq!(ended, stop, "{name}");
            let mut copy = copy.expect("it is longer");
            assert_eq!(copy.run_to_end(), stop, "{name}");
            for other in [&pieces, &copy] {
                assert_eq!(log(other), log(&whole), "{name} {kind:?}");
                assert_eq!(other.stats(), whole.stats(), "{name} {kind:?}");
                assert_eq!(other.cpi(), whole.cpi(), "{name} {kind:?}");
            }
        }
    }
}

#[test]
fn a_handler_reads_what_was_interrupted() {
    let endless = |isa| match isa {
        Isa::Riscv64 => "main:\naddi a0, a0, 1\nj main",
        Isa::Alpha => "main:\naddq a0, 1, a0\nbr zero, main",
    };
    for isa in Isa::ALL {
        let code = Code::new(isa, records(isa));
        let program = Program::of(isa, endless(isa), 8);
        for name in ["hps-4wide", "tiny-2wide", "ev5", "ev6"] {
            let config = preset(name);
            for kind in kinds(&config) {
                let counters = [
                    CounterConfig::timer(997),
                    CounterConfig::every(Event::INSTRUCTIONS, 1009),
                ];
                let mut core = core(kind, &config, &code, &program, &counters);
                assert_eq!(core.run(30_000), Stop::Limit);
                let expected: Vec<u64> = log(&core)
                    .iter()
                    .flat_map(|t| [t.pc, t.source as u64, t.count, t.cycle])
                    .collect();
                assert!(expected.len() > 100, "{name}");
                let mut bytes = vec![0; 8 * expected.len()];
                let memory = &core.process().mem;
                memory
                    .read_bytes(code.address("records"), &mut bytes)
                    .expect("mapped");
                let words = bytes
                    .chunks(8)
                    .map(|w| u64::from_le_bytes(w.try_into().expect("eight")));
                // The last handler may be under way.
                let whole = expected.len() - 4;
                let got: Vec<u64> = words.take(whole).collect();
                assert_eq!(got, expected[..whole], "{name}, {isa}, {kind:?}");
                assert!(expected.iter().any(|&word| word == program.address("main")));
                let next = core.process().thread.hart.r[usize::from(reg::INTERRUPT) + 6];
                assert!(next > code.address("records"));
            }
        }
    }
}
