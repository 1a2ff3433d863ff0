//! Observers of calls inside the machine: what they find is what was called, and the program does not notice.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_isa::asm::program::assemble;
use hps_lab::observer::{Observed, Observer, Placement, SeenCall, Signals, Throttle};
use hps_lab::{Isa, Lab, Productions, Program};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::pmu::CounterConfig;
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use hps_workloads::Size;

const MACHINE: &str = "shim-haswell-like";

fn productions(isa: Isa, signals: Signals) -> Productions {
    let machine = MachineConfig::preset(MACHINE).expect("the preset exists");
    let (name, bytes) = match signals {
        Signals::CallPairs { bytes } => ("call_pairs", Some(bytes)),
        Signals::CallSequence { bytes } => ("call_sequence", Some(bytes)),
        _ => ("call_stack", None),
    };
    let size = bytes.map(|bytes| ("ring_bytes".to_string(), bytes as i64));
    let loaded = Productions::load(isa, &[name.to_string()], size.into_iter().collect());
    loaded
        .expect("the file is good")
        .on(&machine)
        .expect("they fit")
}

fn workload(name: &str, isa: Isa) -> Program {
    let workload = hps_workloads::find(name).expect("the program exists");
    Program::workload(workload, isa, Size::Small).expect("it has an image")
}

fn observed(
    program: &Program,
    how: (Placement, Signals, Throttle),
    see: impl FnMut(SeenCall<'_>),
) -> Observed {
    observed_up_to(300_000, program, how, see)
}

fn observed_up_to(
    limit: u64,
    program: &Program,
    how: (Placement, Signals, Throttle),
    see: impl FnMut(SeenCall<'_>),
) -> Observed {
    let machine = MachineConfig::preset(MACHINE).expect("the preset exists");
    observed_on(&machine, limit, program, how, see)
}

fn observed_on(
    machine: &MachineConfig,
    limit: u64,
    program: &Program,
    (placement, signals, throttle): (Placement, Signals, Throttle),
    see: impl FnMut(SeenCall<'_>),
) -> Observed {
    let productions = productions(program.image.isa, signals);
    let lab = Lab::of(program).on_machine(machine).edited_by(&productions);
    let observer = Observer {
        placement,
        signals,
        throttle,
    };
    let observed = lab.limit(limit).observe_calls(&observer, see);
    observed.expect("it runs")
}

/// Counts of the pairs that were found.
fn found(
    program: &Program,
    signals: Signals,
    throttle: Throttle,
) -> (BTreeMap<(u64, u64), u64>, Observed) {
    let mut calls = BTreeMap::new();
    let run = observed(program, (Placement::Cmp, signals, throttle), |seen| {
        if let SeenCall::Call(call) = seen {
            *calls.entry((call.caller, call.callee)).or_default() += 1;
        }
    });
    (calls, run)
}

fn sum(calls: &BTreeMap<(u64, u64), u64>) -> u64 {
    calls.values().sum()
}

/// The cost of an observer at full speed, beyond the cost of the program's own stores, is the traffic of its reads.
#[test]
fn quiet_reads_of_a_stack_and_of_rings_cost_the_program_nothing() {
    let machine = MachineConfig::preset(MACHINE).expect("the preset exists");
    let mut quiet = machine.clone();
    quiet.chip.quiet_read_cycles = quiet.chip.transfer_cycles;
    for isa in Isa::ALL {
        let program = workload("lz", isa);
        let bytes = 128 << 10;
        for signals in [
            Signals::NewCalls { depth: Some(2) },
            Signals::CallPairs { bytes },
            Signals::CallSequence { bytes },
        ] {
            let run = |machine, throttle| {
                let how = (Placement::Cmp, signals, throttle);
                let run = observed_on(machine, 200_000, &program, how, |_| {});
                (run.cycles as f64, run.samples)
            };
            let (written, _) = run(&machine, Throttle::Sleep(u64::MAX));
            let (loud, _) = run(&machine, Throttle::None);
            let (still, samples) = run(&quiet, Throttle::None);
            assert!(
                loud > 1.1 * written && still - written < 0.1 * (loud - written),
                "{isa} {signals:?}: {written} {loud} {still}"
            );
            let is_stack = matches!(signals, Signals::NewCalls { .. });
            assert!(samples > 100 || !is_stack, "{isa} {signals:?}: {samples}");
        }
    }
}

#[test]
fn a_ring_that_never_fills_holds_every_call() {
    for isa in Isa::ALL {
        for name in ["lz", "chess"] {
            let program = workload(name, isa);
            let bytes = 1 << 20;
            let (pairs, run) = found(&program, Signals::CallPairs { bytes }, Throttle::Spin(100));
            let truth: BTreeMap<_, _> = run.tally.calls.iter().map(|(k, v)| (*k, *v)).collect();
            assert_eq!(pairs, truth, "{name} on {isa}");
            // The first call has a caller that the ring does not tell.
            let signals = Signals::CallSequence { bytes };
            let (sequence, _) = found(&program, signals, Throttle::Spin(100));
            assert_eq!(sum(&sequence) + 1, sum(&pairs), "{name} on {isa}");
        }
    }
}

#[test]
fn a_small_ring_is_read_and_emptied_and_loses_what_comes_while_it_is_full() {
    for isa in Isa::ALL {
        let program = workload("lz", isa);
        for signals in [
            Signals::CallPairs { bytes: 1024 },
            Signals::CallSequence { bytes: 1024 },
        ] {
            let (calls, run) = found(&program, signals, Throttle::None);
            let all: u64 = run.tally.calls.values().sum();
            let seen = sum(&calls) + run.orphans;
            assert!(
                run.samples > 1000 && seen < all,
                "{isa} {signals:?}: {seen} of {all}"
            );
            if let Signals::CallPairs { .. } = signals {
                for (pair, count) in &calls {
                    assert!(run.tally.calls[pair] >= *count, "{isa}: {pair:x?}");
                }
                // An observer with long sleeps finds fewer calls.
                let (fewer, _) = found(&program, signals, Throttle::Sleep(20_000));
                assert!(2 * sum(&fewer) < seen, "{isa}");
            }
        }
    }
}

/// The program ends while the observer reads: no call is counted twice.
#[test]
fn a_ring_that_is_read_when_the_program_ends_is_counted_once() {
    for isa in Isa::ALL {
        let program = workload("lz", isa);
        let bytes = 1 << 15;
        for limit in (150_000..300_000).step_by(25_000) {
            let mut calls: BTreeMap<(u64, u64), u64> = BTreeMap::new();
            let how = (Placement::Cmp, Signals::CallPairs { bytes }, Throttle::None);
            let run = observed_up_to(limit, &program, how, |seen| {
                if let SeenCall::Call(call) = seen {
                    *calls.entry((call.caller, call.callee)).or_default() += 1;
                }
            });
            for (pair, count) in &calls {
                assert!(run.tally.calls[pair] >= *count, "{isa} {limit}: {pair:x?}");
            }
        }
    }
}

#[test]
fn contexts_are_those_that_were_and_hold_all_of_the_stack() {
    for isa in Isa::ALL {
        let program = workload("chess", isa);
        for placement in [Placement::Smt, Placement::Cmp] {
            let signals = Signals::Context {
                counters: 0,
                depth: 20,
            };
            let (mut all, mut ones, mut deep) = (0, 0, 0);
            observed(&program, (placement, signals, Throttle::Spin(50)), |seen| {
                if let SeenCall::Context(context) = seen {
                    all += 1;
                    ones += u64::from(context.is_one);
                    deep += u64::from(context.tags.len() > 3);
                    let whole = context.depth + 1 == context.tags.len() as u64;
                    assert!(whole || !context.is_one || context.depth >= 20);
                }
            });
            assert!(all > 300 && deep > 100, "{all} {deep}");
            // Few contexts change while they are read.
            assert!(10 * ones > 9 * all, "{isa} {placement:?}: {ones} of {all}");
        }
    }
}

#[test]
fn new_calls_are_seen_once_each() {
    for isa in Isa::ALL {
        let program = workload("interp", isa);
        for depth in [None, Some(2)] {
            let signals = Signals::NewCalls { depth };
            let (calls, run) = found(&program, signals, Throttle::Spin(100));
            let all: u64 = run.tally.calls.values().sum();
            let seen = sum(&calls);
            assert!(seen > 100 && seen < all, "{isa}: {seen} of {all}");
        }
    }
}

/// Calls that return, a tail call, and a function that is left past its caller.
fn leaving(isa: Isa) -> Program {
    let text = match isa {
        Isa::Riscv64 => {
            ".globl _start\n.globl outer\n.globl inner\n.globl last\n_start: li s0, 2000\nmv s1, sp\n\
             again: addi s2, zero, 0\ncall outer\nback: mv sp, s1\naddi s0, s0, -1\nbnez s0, again\nli a0, 0\n\
             li a7, 93\necall\n\
             outer: addi sp, sp, -16\nsd ra, 8(sp)\nandi t0, s0, 1\ncall inner\nld ra, 8(sp)\naddi sp, sp, 16\n\
             j last\n\
             inner: addi sp, sp, -32\nsd ra, 8(sp)\nbeqz t0, leave\ncall last\nld ra, 8(sp)\naddi sp, sp, 32\nret\n\
             leave: la ra, back\nmv sp, s1\nret\n\
             last: addi s2, s2, 1\nret\n"
        }
        Isa::Alpha => {
            ".globl _start\n.globl outer\n.globl inner\n.globl last\n_start: li s0, 2000\nmov sp, s1\n\
             again: mov zero, s2\nbsr ra, outer\nback: mov s1, sp\nsubq s0, 1, s0\nbne s0, again\nli a0, 0\n\
             li v0, 1\ncall_pal 0x83\n\
             outer: lda sp, -16(sp)\nstq ra, 8(sp)\nand s0, 1, t0\nbsr ra, inner\nldq ra, 8(sp)\nlda sp, 16(sp)\n\
             br last\n\
             inner: lda sp, -32(sp)\nstq ra, 8(sp)\nbeq t0, leave\nbsr ra, last\nldq ra, 8(sp)\nlda sp, 32(sp)\n\
             ret\n\
             leave: la ra, back\nmov s1, sp\nret\n\
             last: addq s2, 1, s2\nret\n"
        }
    };
    let assembled = assemble(isa, text).expect("it is assembled");
    let image = ProgramImage::parse(&assembled.file, "leaving").expect("it is an executable");
    Program::of_image("leaving", Arc::new(image))
}

#[test]
fn the_tag_stack_survives_functions_that_are_left_past_their_callers() {
    for isa in Isa::ALL {
        let program = leaving(isa);
        let signals = Signals::Context {
            counters: 0,
            depth: 10,
        };
        let (mut all, mut ones, mut deepest) = (0, 0, 0);
        let how = (Placement::Cmp, signals, Throttle::Spin(10));
        let run = observed(&program, how, |seen| {
            if let SeenCall::Context(context) = seen {
                all += 1;
                ones += u64::from(context.is_one);
                deepest = deepest.max(context.depth);
            }
        });
        assert!(matches!(run.stop, Stop::Exit(0)), "{isa}: {:?}", run.stop);
        // A function that is left is popped by the next return of its level or an outer one.
        assert!(deepest <= 5, "{isa}: {deepest}");
        assert!(all > 100 && 2 * ones > all, "{isa}: {ones} of {all}");
    }
}

/// A sibling may take all of decode in the one cycle in which nothing but an expansion is under way.
#[test]
fn an_expansion_that_waits_for_a_sibling_goes_on() {
    let program = workload("ray", Isa::Riscv64);
    let signals = Signals::Context {
        counters: 2,
        depth: 123,
    };
    let how = (Placement::Smt, signals, Throttle::None);
    let run = observed_up_to(1_800_000, &program, how, |_| {});
    assert!(matches!(run.stop, Stop::Limit), "{:?}", run.stop);
}

#[test]
fn what_was_seen_of_a_program_that_crashes_is_kept() {
    let text = ".globl _start\n.globl callee\n_start: li s0, 500\nagain: call callee\naddi s0, s0, -1\n\
                bnez s0, again\nld s1, 0(zero)\ncallee: addi t1, t1, 1\nret\n";
    let assembled = assemble(Isa::Riscv64, text).expect("it is assembled");
    let image = ProgramImage::parse(&assembled.file, "crashing").expect("it is an executable");
    let program = Program::of_image("crashing", Arc::new(image));
    for signals in [
        Signals::NewCalls { depth: None },
        Signals::CallPairs { bytes: 1 << 20 },
    ] {
        let (calls, run) = found(&program, signals, Throttle::None);
        assert!(matches!(run.stop, Stop::Fault(_)), "{:?}", run.stop);
        assert_eq!(run.tally.calls.values().sum::<u64>(), 500);
        let seen = sum(&calls);
        let all_of_it = matches!(signals, Signals::CallPairs { .. });
        assert!(seen == 500 || !all_of_it && seen > 5, "{signals:?}: {seen}");
    }
}

#[test]
fn observed_programs_compute_what_they_compute_alone() {
    for isa in Isa::ALL {
        let program = leaving(isa);
        for signals in [
            Signals::NewCalls { depth: None },
            Signals::CallPairs { bytes: 256 },
            Signals::CallSequence { bytes: 256 },
        ] {
            let (_, run) = found(&program, signals, Throttle::None);
            assert!(matches!(run.stop, Stop::Exit(0)), "{isa} {signals:?}");
        }
    }
}

#[test]
fn yield_points_count_as_many_calls_as_the_timer_wants() {
    let machine = MachineConfig::default();
    for isa in Isa::ALL {
        let program = leaving(isa);
        let productions = Productions::load(isa, &["yield_points".to_string()], Default::default());
        let productions = productions.expect("good").on(&machine).expect("they fit");
        let lab = || {
            let lab = Lab::of(&program).on_machine(&machine);
            lab.edited_by(&productions).limit(300_000)
        };
        let idle = lab().yielding(&productions, None, 1).expect("it runs");
        assert_eq!((idle.calls.total(), idle.interrupts.taken_events), (0, 0));
        for burst in [1, 8] {
            let counter = CounterConfig::timer(1_000);
            let run = lab().yielding(&productions, Some(counter), burst);
            let run = run.expect("it runs");
            let wanted = run.interrupts.taken_events * u64::from(burst);
            assert!(run.interrupts.taken_events > 10, "{isa}");
            // The last burst may be cut short.
            assert!(
                run.calls.total() <= wanted && run.calls.total() + 8 >= wanted,
                "{isa}: {} of {wanted}",
                run.calls.total()
            );
        }
    }
}
