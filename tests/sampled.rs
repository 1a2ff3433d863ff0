//! Sampled timing: the program runs as it does, and the IPC is about that of the whole run timed.
//! Everything here is deterministic.

use crate::guest::{
    assembled, captured, in_parallel, lab, machine, mostly_riscv, outcome, small, title,
};
use crate::support::every_by_day;
use hps_experiments::cycles_per_instruction;
use hps_pipeline::sampled::{SampledRun, SamplingPlan};
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;
use hps_workloads::Size;

const PLAN: SamplingPlan = SamplingPlan {
    period: 10_000,
    warm_up: 2000,
    unit: 1000,
    doublings: 0,
    head: 0,
};

fn sampled(name: &str, isa: Isa, plan: SamplingPlan) -> SampledRun {
    let machine = machine();
    let lab = lab(name, isa, Size::Small)
        .on_machine(&machine)
        .sampled(plan);
    let run = lab.and_then(|lab| lab.open());
    run.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn programs_run_as_ever_and_the_ipc_is_near() {
    let errors = in_parallel(&every_by_day(3, mostly_riscv()), |&(w, isa)| {
        let name = title((w, isa));
        let mut run = sampled(w.name, isa, PLAN);
        let stop = run.run(u64::MAX).expect("memory for shadows");
        let seen = outcome(stop, run.process());
        assert_eq!(
            (seen.code, String::from_utf8_lossy(&seen.stdout)),
            (0, w.expected_small.into()),
            "{name}"
        );
        let machine = machine();
        let exact = small((w, isa)).on_machine(&machine).run().expect("a run");
        assert_eq!(exact.stop, Stop::Exit(0));
        let instructions = exact.instructions();
        assert_eq!(run.instructions(), instructions, "{name}");

        let samples = run.samples();
        let units = instructions / PLAN.period;
        assert_eq!(samples.unit_cycles.len() as u64, units, "{name}");
        // Warm-ups are half as long to half as long again.
        let timed = samples.timed_instructions as f64 / (units * (PLAN.warm_up + PLAN.unit)) as f64;
        assert!((0.9..1.15).contains(&timed), "{name}: {timed}");
        let cycles: u64 = samples.unit_cycles.iter().sum();
        let slots = samples.cpi.total();
        // A unit begins and ends in the middle of a cycle.
        assert!(slots.abs_diff(4 * cycles) <= 8 * units, "{name}");

        let wanted = exact.cycles() as f64 / instructions as f64;
        // A plan of few units, and one that knows nothing of the length of the run.
        let any_length = SamplingPlan::for_any_length();
        let others = [SamplingPlan::default(), any_length].map(|plan| {
            let mut run = sampled(w.name, isa, plan);
            assert!(matches!(run.run(u64::MAX), Ok(Stop::Exit(0))), "{name}");
            let samples = run.samples();
            if plan == any_length {
                // From 1.25 million instructions on half of 200 units stay, and at most as many come.
                let least = if instructions > 1_250_000 { 100 } else { 30 };
                assert!((least..=200).contains(&samples.unit_cycles.len()), "{name}");
                let cycles: u64 = samples.unit_cycles.iter().sum();
                let units = samples.unit_cycles.len() as u64;
                assert!(
                    samples.cpi.total().abs_diff(4 * cycles) <= 8 * units,
                    "{name}"
                );
                // The first period is timed whole.
                let first = u64::from(samples.period == any_length.period >> any_length.doublings);
                // Units are thinned with the first one behind them: until then one longer period may have begun.
                let periods = instructions / samples.period - first;
                assert!((units..=units + 1).contains(&periods), "{name}: {periods}");
                assert_eq!(samples.head.instructions, 6250);
            }
            cycles_per_instruction(&machine, &plan, samples, instructions).cpi
        });
        let cpi = cycles_per_instruction(&machine, &PLAN, samples, instructions).cpi;
        let others = others.map(|cpi| cpi.contains(wanted));
        let error = cpi.mean / wanted - 1.0;
        assert!(error.abs() < 0.06, "{name}: {error}");
        ([cpi.contains(wanted), others[0], others[1]], error)
    });
    let inside = errors.iter().flat_map(|(inside, _)| inside);
    let inside = inside.filter(|inside| **inside).count();
    // 95% of them at least, but for one that chance may put outside.
    assert!(
        inside + 1 >= (errors.len() * 3 * 95).div_ceil(100),
        "{errors:?}"
    );
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
    assert_eq!(whole.process().thread.hart, parts.process().thread.hart);
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
            doublings: 0,
            head: 0,
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
    let machine = machine();
    let lab = assembled(CLOCKS, &captured(&["clocks"]));
    let functional = lab.clone().run().expect("a run");
    assert_eq!(functional.stop, Stop::Exit(0));
    let lab = lab.on_machine(&machine).sampled(PLAN).expect("by cycle");
    let run = lab.limit(10_000_000).run().expect("memory for shadows");
    assert_eq!(run.stop, Stop::Exit(0));
    assert_eq!(run.instructions(), functional.instructions());
}

/// Calls, loops and branches that a random number decides, for half a million instructions: nothing in
/// it keeps step with units or bursts.
const RANDOM_CALLS: &str = "
    addi s0, sp, -256
    lui s2, 10
    lui s4, 104032
    addi s4, s4, 13
    round:
    mul s3, s3, s4
    addi s3, s3, 1013
    srli t0, s3, 33
    andi t1, t0, 7
    inner:
    addi t1, t1, -1
    bgtz t1, inner
    andi t0, t0, 24
    bnez t0, rest
    jal ra, store
    rest:
    jal ra, load
    addi s2, s2, -1
    bgtz s2, round
    addi a0, zero, 0
    addi a7, zero, 93
    ecall
    store:
    andi t1, s3, 120
    add t1, t1, s0
    sd s2, 8(t1)
    ret
    load:
    ld t1, 0(s0)
    ret
";

/// A folder with a program, and the definition of a sweep that times one point of it.
fn sweep_of_calls() -> (crate::support::Hps, String) {
    let hps = crate::support::Hps::new();
    std::fs::write(
        hps.path("calls"),
        crate::guest::elf(&crate::guest::assembly(RANDOM_CALLS)),
    )
    .expect("a program");
    let definition = hps.path("sweep.ron");
    let text = "(own_programs: [(path: \"calls\")], profiles: [method], bursts: [10], one_in: [100], timing: All)";
    std::fs::write(&definition, text).expect("a definition");
    (hps, definition)
}

#[test]
fn options_move_the_units_of_a_definition_that_samples() {
    let hps = crate::support::Hps::new();
    let program = crate::guest::elf(&crate::guest::assembly(RANDOM_CALLS));
    std::fs::write(hps.path("calls"), program).expect("a program");
    for (file, sample) in [("units.ron", "sample: (period: 3000), "), ("whole.ron", "")] {
        let text = format!("({sample}own_programs: [(path: \"calls\")])");
        std::fs::write(hps.path(file), text).expect("a definition");
    }
    let printed = |file| {
        let definition = hps.path(file);
        let order = [
            "sweep",
            &definition,
            "--sample-warm-up",
            "500",
            "--print-spec",
        ];
        hps.run(&order)
    };
    let units = printed("units.ron").expect_code(0);
    assert!(
        units.contains("period: 3000") && units.contains("warm_up: 500"),
        "{units}"
    );
    let refused = printed("whole.ron").expect_code(2);
    assert!(refused.is_empty(), "{refused}");
}

#[test]
fn a_program_of_a_sweep_may_have_to_end_with_another_exit_code() {
    let hps = crate::support::Hps::new();
    let program = crate::guest::elf(&crate::support::exit_with(7));
    std::fs::write(hps.path("seven"), program).expect("a program");
    for (code, failed) in [(7, 0), (8, 1), (0, 1)] {
        let definition = hps.path(&format!("{code}.ron"));
        let text = format!(
            "(own_programs: [(path: \"seven\", expect_exit: {code})], profiles: [method], bursts: [1], one_in: [100])"
        );
        std::fs::write(&definition, text).expect("a definition");
        let folder = format!("out{code}");
        hps.run(&["sweep", &definition, "--out", &folder])
            .expect_code(failed);
        let why = row(&hps, &folder).failure;
        match code {
            7 => assert_eq!(why, None),
            8 => assert_eq!(
                why.as_deref(),
                Some("the program ended with exit code 7 and must end with 8")
            ),
            _ => assert_eq!(why.as_deref(), Some("the program ended with exit code 7")),
        }
    }
}

/// Instructions of a timed run, by origin.
fn counts(t: &hps_experiments::TimingResult) -> [u64; 3] {
    [
        t.instructions,
        t.inserted_instructions,
        t.handler_instructions,
    ]
}

/// The only row of a sweep's results.
fn row(hps: &crate::support::Hps, folder: &str) -> hps_experiments::Row {
    let file = format!("{}/results.jsonl", hps.path(folder));
    let text = std::fs::read_to_string(file).expect("results");
    serde_json::from_str(text.trim()).expect("one row")
}

#[test]
fn a_sampled_sweep_tells_overheads_with_their_interval() {
    let (hps, definition) = sweep_of_calls();

    let exact = hps
        .run(&["sweep", &definition, "--out", "exact", "--phases", "0"])
        .expect_code(0);
    assert!(
        !exact.contains('±') && !exact.contains("timing sampled"),
        "{exact}"
    );
    let wanted = row(&hps, "exact");
    assert_eq!(wanted.sampled(), None);
    let wanted = wanted.timing.expect("timed");

    let plan = [
        "--sample",
        "--sample-period",
        "3000",
        "--sample-warm-up",
        "500",
    ];
    let order = ["sweep", &definition, "--out", "sampled", "--phases", "0"];
    let order = [&order[..], &plan[..]].concat();
    let shown = hps.run(&order).expect_code(0);
    let estimate = row(&hps, "sampled");
    let sampled = *estimate.sampled().expect("by units");
    let timing = estimate.timing.expect("timed");
    assert_eq!(
        (sampled.plan.period, sampled.plan.warm_up, sampled.plan.unit),
        (3000, 500, 1000)
    );
    assert_eq!(sampled.units, timing.instructions / 3000);
    assert_eq!(counts(&timing), counts(&wanted));
    assert_eq!(estimate.accuracy, row(&hps, "exact").accuracy);
    assert!(
        (timing.overhead - wanted.overhead).abs() <= sampled.half_width
            && sampled.half_width < 0.5 * wanted.overhead,
        "{timing:?}, {wanted:?}"
    );

    let half = format!(
        "{:.3} ± {:.3}",
        100.0 * timing.overhead,
        100.0 * sampled.half_width
    );
    let how = format!("timing sampled: {} units a run", sampled.units);
    let html = std::fs::read_to_string(hps.path("sampled/report.html")).expect("a report");
    for (text, what) in [(&shown, "terminal"), (&html, "report")] {
        assert!(text.contains(&half), "{what}: {half}: {text}");
    }
    assert!(shown.contains(&how), "{how}: {shown}");
    assert!(html.contains("on average"), "pictures say so");
    let rows = std::fs::read_to_string(hps.path("sampled/results.csv")).expect("CSV");
    assert!(
        rows.contains(&format!(",{},{},", sampled.half_width, sampled.units)),
        "{rows}"
    );

    // Only the definition differs: nothing is left to do for the sampled rows, nor do they stand for exact
    // ones.
    let again = hps.run(&order).expect_code(0);
    assert_eq!(again, shown);
    let short = [&[
        "sweep",
        &definition,
        "--out",
        "short",
        "--sample",
        "--sample-period",
        "900000",
    ][..]]
    .concat();
    let run = hps.run(&short);
    let text = format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr);
    assert!(run.code == 1 && text.contains("a smaller period"), "{text}");
    let overlap = hps.run(&["sweep", &definition, "--sample", "--sample-unit", "199999"]);
    assert!(
        overlap.code != 0 && overlap.stderr.contains("sample: a period of 200000"),
        "{}",
        overlap.stderr
    );
}

#[test]
fn a_sweep_is_timed_on_either_core() {
    let (hps, definition) = sweep_of_calls();
    let timed = |folder: &str, options: &[&str]| {
        let order = [&["sweep", &definition, "--out", folder], options].concat();
        let shown = hps.run(&order).expect_code(0);
        let row = row(&hps, folder);
        (shown, row.timing.expect("timed"), row.id)
    };
    let (by_cycle, wanted, id) = timed("cycle", &[]);
    let (by_instruction, got, other_id) = timed("instruction", &["--core", "instruction"]);
    assert!(!by_cycle.contains("instruction-driven"), "{by_cycle}");
    assert!(
        by_instruction.contains("instruction-driven core"),
        "{by_instruction}"
    );
    assert_ne!(id, other_id, "one does not stand for the other");
    assert_eq!(
        (wanted.core, got.core),
        (
            hps_experiments::CoreKind::Cycle,
            hps_experiments::CoreKind::Instruction
        )
    );
    assert_eq!(counts(&got), counts(&wanted));
    let error = got.cycles as f64 / wanted.cycles as f64 - 1.0;
    assert!(error.abs() < 0.01, "{error}");
    assert!(got.overhead > 0.0 && (got.overhead / wanted.overhead - 1.0).abs() < 0.1);

    // A single profile is timed on either core, too; what is collected does not depend on it.
    let program = hps.path("calls");
    let collected = |core: &str| {
        let order = [
            "collect",
            "--kind",
            "method",
            "--machine",
            "hps-4wide",
            "--core",
            core,
            &program,
        ];
        let shown = hps.run(&order).expect_code(0);
        assert_eq!(
            shown.contains("an instruction at a time"),
            core == "instruction",
            "{shown}"
        );
        let lines: Vec<String> = shown.lines().skip(2).map(str::to_owned).collect();
        assert!(lines.len() > 3, "{shown}");
        lines
    };
    assert_eq!(collected("instruction"), collected("cycle"));

    for (options, message) in [
        (
            &["--core", "instruction", "--sample"][..],
            "cannot be used with",
        ),
        (
            &["--core", "instruction", "--machine", "ev5"],
            "machine ev5 has no instruction-driven core",
        ),
    ] {
        let run = hps.run(&[&["sweep", &definition, "--out", "none"], options].concat());
        assert!(
            run.code != 0 && run.stderr.contains(message),
            "{}",
            run.stderr
        );
    }
}
