//! Sampled timing: the program runs as it does, and the IPC is about that of the whole run timed.
//! Everything here is deterministic.

mod guest;

use guest::{assembled, captured, in_parallel, machine, mostly_riscv, outcome, title, workload};
use hps_experiments::Interval;
use hps_pipeline::core::Core;
use hps_pipeline::sampled::{SampledRun, SamplingPlan};
use hps_sim_core::image::Isa;
use hps_sim_core::machine::{Machine, Stop};
use hps_workloads::Size;

const PLAN: SamplingPlan = SamplingPlan {
    period: 10_000,
    warm_up: 2000,
    unit: 1000,
};

fn sampled(name: &str, isa: Isa, plan: SamplingPlan) -> SampledRun {
    let process = workload(name, isa, Size::Small);
    SampledRun::new(&machine(), process, plan).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn programs_run_as_ever_and_the_ipc_is_near() {
    let errors = in_parallel(&mostly_riscv(), |&(w, isa)| {
        let name = title((w, isa));
        let mut run = sampled(w.name, isa, PLAN);
        let stop = run.run(u64::MAX).expect("memory for shadows");
        let seen = outcome(stop, run.process());
        assert_eq!(
            (seen.code, String::from_utf8_lossy(&seen.stdout)),
            (0, w.expected_small.into()),
            "{name}"
        );
        let mut exact = Core::new(&machine(), workload(w.name, isa, Size::Small));
        assert_eq!(exact.run_to_end(), Stop::Exit(0));
        let instructions = exact.stats.commit_program_instructions;
        assert_eq!(run.instructions(), instructions, "{name}");

        let samples = run.samples();
        let units = instructions / PLAN.period;
        assert_eq!(samples.unit_cycles.len() as u64, units, "{name}");
        let timed = units * (PLAN.warm_up + PLAN.unit);
        assert!(
            (timed..timed + PLAN.warm_up + PLAN.unit).contains(&samples.timed_instructions),
            "{name}: {} instructions timed",
            samples.timed_instructions
        );
        let cycles: u64 = samples.unit_cycles.iter().sum();
        let slots = samples.cpi.total();
        // A unit begins and ends in the middle of a cycle.
        assert!(slots.abs_diff(4 * cycles) <= 8 * units, "{name}");

        let cpi = Interval::of_mean(samples.unit_cycles.iter().map(|&c| c as f64 / 1000.0));
        let wanted = exact.stats.cycles as f64 / instructions as f64;
        let error = cpi.mean / wanted - 1.0;
        assert!(error.abs() < 0.06, "{name}: {error}");
        (cpi.contains(wanted), error)
    });
    let inside = errors.iter().filter(|(inside, _)| *inside).count();
    assert!(inside >= 10, "{errors:?}");
}

#[test]
fn runs_in_parts_are_the_run_in_one() {
    let mut whole = sampled("parse", Isa::Riscv64, PLAN);
    assert!(matches!(whole.run(400_000), Ok(Stop::Limit)));
    let mut parts = sampled("parse", Isa::Riscv64, PLAN);
    let mut done = 0;
    // Limits before, in and behind a unit.
    for part in [7000, 3000, 9500, 30_500, 350_000] {
        assert!(matches!(parts.run(part), Ok(Stop::Limit)));
        done += part;
        assert_eq!(parts.instructions(), done);
    }
    assert_eq!(whole.process().hart, parts.process().hart);
    assert_eq!(whole.samples().unit_cycles.len(), 40);
    assert_eq!(whole.samples(), parts.samples());
}

#[test]
fn the_plan_is_checked() {
    let refused = |period, warm_up, unit| {
        let plan = SamplingPlan {
            period,
            warm_up,
            unit,
        };
        plan.validate().map_err(|e| e.to_string())
    };
    assert_eq!(refused(3000, 2000, 1000), Ok(()));
    let overlap = refused(2999, 2000, 1000).expect_err("too short");
    assert!(overlap.contains("at least 3000"), "{overlap}");
    assert!(refused(10, 5, 0).is_err());
    assert!(refused(u64::MAX, u64::MAX, 1).is_err());
}

/// Reads the cycle counter, the clock and the instruction counter again and again; the exit code is
/// 1 if one of them has gone back or stands still.
const CLOCKS: &str = "
    lui s0, 20
    rdcycle s1
    rdtime s2
    rdinstret s3
    again:
    rdcycle t1
    rdtime t2
    rdinstret t3
    bgeu s1, t1, wrong
    bgtu s2, t2, wrong
    bgeu s3, t3, wrong
    mv s1, t1
    mv s2, t2
    mv s3, t3
    addi s0, s0, -1
    bgtz s0, again
    addi a0, zero, 0
    j finish
    wrong:
    addi a0, zero, 1
    finish:
    addi a7, zero, 93
    ecall
";

#[test]
fn the_guests_clocks_go_on() {
    let process = assembled(CLOCKS, &captured(&["clocks"]));
    let mut run = SampledRun::new(&machine(), process, PLAN).unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(run.run(10_000_000), Ok(Stop::Exit(0))));
    let process = assembled(CLOCKS, &captured(&["clocks"]));
    let mut functional = Machine::new(process);
    assert_eq!(functional.run_to_end(), Stop::Exit(0));
    assert_eq!(run.instructions(), functional.retired.program);
}
