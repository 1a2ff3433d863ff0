//! Sweeps: full sampling gives the exhaustive profile, accuracies are shares, and rows depend on
//! nothing but what was asked for: not on threads, not on a kill in the middle.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::guest::{assembly, elf, in_parallel, lab};
use crate::support::every_by_day;
use hps_experiments::{
    InputSize, Observer, OwnProgram, Plan, ProfileKind, Row, Store, SweepSpec, Timing, run,
};
use hps_productions::{GridProbe, SamplePoint};
use hps_sim_core::machine::Stop;
use hps_system::image::Isa;
use hps_workloads::Size;

/// Counts units of work.
#[derive(Default)]
struct Counted {
    planned: AtomicU64,
    done: AtomicU64,
}

impl Observer for Counted {
    fn planned(&self, units: u64) {
        self.planned.store(units, Ordering::Relaxed);
    }
    fn done(&self, _: &str) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a sweep in a folder, which holds its programs and its results, on this many threads. Gives
/// its rows and the units of work that it did.
fn sweep(spec: &SweepSpec, folder: &Path, results: &str, threads: usize) -> (Vec<Row>, u64) {
    spec.check("test").unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(spec, folder).unwrap_or_else(|e| panic!("{e}"));
    let store = Mutex::new(Store::open(&folder.join(results)).unwrap_or_else(|e| panic!("{e}")));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads");
    let counted = Counted::default();
    let rows = pool
        .install(|| run(&plan, &store, &counted))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(rows.len(), plan.points.len(), "a row for every point");
    let done = counted.done.into_inner();
    assert_eq!(
        counted.planned.into_inner(),
        done,
        "progress ends at what was planned"
    );
    (rows, done)
}

/// Three executables of a few thousand instructions: a loop with calls and memory references, one
/// that faults in its middle, one that ends with an error.
fn own_programs(folder: &Path) -> [OwnProgram; 3] {
    let program = |end: &str| {
        assembly(&format!(
            "
            addi s0, sp, -256
            addi s2, zero, 400
            round:
            jal ra, one
            andi t0, s2, 3
            bnez t0, rest
            jal ra, two
            rest:
            addi s2, s2, -1
            bgtz s2, round
            {end}
            one:
            sd s2, 0(s0)
            ld t1, 0(s0)
            ret
            two:
            slli t1, s2, 3
            andi t1, t1, 120
            add t1, t1, s0
            sd s2, 8(t1)
            ret
            "
        ))
    };
    let exit = |code| format!("addi a0, zero, {code}\naddi a7, zero, 93\necall");
    let ends = [
        ("good", exit(0)),
        ("faulty", "ld a0, 0(zero)".to_owned()),
        ("wrong", exit(9)),
    ];
    ends.map(|(name, end)| {
        std::fs::write(folder.join(name), elf(&program(&end))).expect("an executable");
        OwnProgram {
            path: name.to_owned(),
            ..OwnProgram::default()
        }
    })
}

/// Everything about small programs of one's own: all profiles, everything timed.
fn own_sweep(programs: &[OwnProgram]) -> SweepSpec {
    SweepSpec {
        own_programs: programs.to_vec(),
        bursts: vec![1, 10],
        one_in: vec![1, 10],
        timing: Timing::All,
        ..SweepSpec::default()
    }
}

#[test]
fn full_sampling_is_the_exhaustive_profile() {
    // Any burst without a pause samples everything.
    let points = [
        SamplePoint::EXHAUSTIVE,
        SamplePoint {
            burst: 100,
            sparsity: 0,
        },
    ];
    in_parallel(hps_workloads::all(), |w| {
        let probe = GridProbe::with_memory(&points, None).unwrap_or_else(|e| panic!("{e}"));
        let ran = lab(w.name, Isa::Riscv64, Size::Small)
            .watched_by(probe)
            .run();
        let ran = ran.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(ran.stop, Stop::Exit(0));
        let grid = ran.probe.finish();
        let exact = &grid.exhaustive;
        for sampled in &grid.points {
            let what = format!("{} at {}", w.name, sampled.point);
            assert!(sampled.addresses == exact.addresses, "{what}: hot methods");
            assert!(
                sampled.call_pairs == exact.call_pairs,
                "{what}: hot call pairs"
            );
            let [s, e] =
                [sampled, exact].map(|p| p.stream.as_ref().expect("references were asked for"));
            assert_eq!(
                (s.digest(), s.references()),
                (e.digest(), e.references()),
                "{what}: references"
            );
            assert_eq!((s.bursts(), e.bursts()), (1, 1), "{what}");
        }
        assert!(
            exact.events() > 10_000 && !exact.call_pairs.is_empty(),
            "{}",
            w.name
        );
        assert_eq!(
            exact.stream.as_ref().map(|s| s.references()),
            grid.memory_references
        );
    });
}

#[test]
fn accuracies_are_shares_and_full_sampling_has_all_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let papers = SweepSpec {
        programs: every_by_day(2, vec!["parse".to_owned(), "netsimplex".to_owned()]),
        size: InputSize::Small,
        timing: Timing::Off,
        ..SweepSpec::default()
    };
    let full = SweepSpec {
        bursts: vec![1],
        one_in: vec![1],
        ..papers.clone()
    };
    let (rows, _) = sweep(&papers, folder.path(), "rows.jsonl", 2);
    assert_eq!(rows.len(), papers.programs.len() * 3 * 20);
    for row in &rows {
        assert_eq!((&row.failure, &row.timing), (&None, &None));
        let a = row.accuracy.expect("every point has an accuracy");
        assert!(
            (0.0..=1.0).contains(&a.renormalized) && (0.0..=1.0).contains(&a.capped),
            "{row:?}"
        );
        assert!(a.samples <= a.population && a.population > 0, "{row:?}");
        if row.profile == ProfileKind::Method {
            // Whole periods are sampled at exactly their frequency; the last one may be cut short.
            let period = row.burst + row.sparsity;
            assert!(
                a.samples <= (a.population / period + 1) * row.burst,
                "{row:?}"
            );
        }
    }
    let mean = |one_in| {
        let of = rows
            .iter()
            .filter(|r| r.one_in == one_in && r.profile == ProfileKind::Method);
        let all: Vec<f64> = of
            .filter_map(|r| r.accuracy)
            .map(|a| a.renormalized)
            .collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    assert!(
        mean(100) > mean(10_000),
        "{} and {}",
        mean(100),
        mean(10_000)
    );

    let (rows, _) = sweep(&full, folder.path(), "rows.jsonl", 2);
    for row in &rows {
        let a = row.accuracy.expect("every point has an accuracy");
        assert!((a.renormalized - 1.0).abs() < 1e-12, "{row:?}");
        assert_eq!(
            (a.samples, a.members_sampled),
            (a.population, a.members_exact),
            "{row:?}"
        );
    }
}

#[test]
fn rows_do_not_depend_on_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = own_programs(folder.path());
    // Programs of different lengths end in another order on two threads.
    let spec = SweepSpec {
        machines: vec!["hps-4wide".into(), "tiny-2wide".into()],
        ..own_sweep(&own[..1])
    };
    let (first, _) = sweep(&spec, folder.path(), "first.jsonl", 1);
    assert_eq!(first.len(), 2 * 3 * 4);
    for (threads, results) in [(1, "again.jsonl"), (2, "two.jsonl"), (5, "five.jsonl")] {
        assert_eq!(
            sweep(&spec, folder.path(), results, threads).0,
            first,
            "{threads} threads"
        );
    }
    for row in &first {
        let timing = row.timing.expect("every point is timed");
        assert!(
            timing.handler_instructions > 0 && timing.cycles > timing.baseline_cycles,
            "{row:?}"
        );
    }
    // And with a program of the project, timed at one point.
    let spec = SweepSpec {
        programs: vec!["parse".to_owned()],
        profiles: vec![ProfileKind::CallPair],
        bursts: vec![1],
        one_in: vec![100],
        ..SweepSpec::default()
    };
    let (one, _) = sweep(&spec, folder.path(), "parse1.jsonl", 1);
    assert_eq!(sweep(&spec, folder.path(), "parse2.jsonl", 2).0, one);
    assert!(
        one[0]
            .timing
            .is_some_and(|t| t.overhead > 0.0 && t.overhead < 0.5),
        "{one:?}"
    );
}

#[test]
fn a_killed_sweep_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = own_programs(folder.path());
    let spec = own_sweep(&own[..1]);
    let (rows, units) = sweep(&spec, folder.path(), "rows.jsonl", 2);
    // A pass, a baseline, and each of the 12 points.
    assert_eq!((rows.len(), units), (12, 14));
    assert_eq!(
        sweep(&spec, folder.path(), "rows.jsonl", 2),
        (rows.clone(), 0),
        "nothing is left to do"
    );

    let file = folder.path().join("rows.jsonl");
    let text = std::fs::read(&file).expect("results");
    let ends: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').collect();
    // In the middle of a row, between two rows, without the end of the last line, and empty.
    for (length, left) in [(ends[6] + 40, 5), (ends[8] + 1, 3), (ends[11], 1), (0, 12)] {
        std::fs::write(&file, &text[..length]).expect("cut");
        let (resumed, units) = sweep(&spec, folder.path(), "rows.jsonl", 2);
        assert_eq!(resumed, rows, "cut at {length}");
        assert_eq!(
            units,
            2 + left,
            "cut at {length}: only what was lost runs again"
        );
        let lines = std::fs::read_to_string(&file)
            .expect("results")
            .lines()
            .count();
        assert_eq!(lines, 12, "cut at {length}");
        let again = sweep(&spec, folder.path(), "rows.jsonl", 2);
        assert_eq!(
            again,
            (rows.clone(), 0),
            "cut at {length}: the file is whole again"
        );
    }
}

#[test]
fn a_failed_point_says_why_and_costs_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = own_programs(folder.path());
    let spec = own_sweep(&own);
    let (rows, _) = sweep(&spec, folder.path(), "rows.jsonl", 2);
    let (good, _) = sweep(&own_sweep(&own[..1]), folder.path(), "good.jsonl", 2);
    assert_eq!(rows[..12], good);
    for (rows, name, why) in [
        (&rows[12..24], "faulty", "not readable"),
        (&rows[24..], "wrong", "exit code 9"),
    ] {
        assert_eq!(rows.len(), 12);
        for row in rows {
            let failure = row.failure.as_deref().unwrap_or_default();
            assert!(row.program == name && failure.contains(why), "{row:?}");
            assert_eq!((row.accuracy, row.timing), (None, None));
        }
    }
    // Failures are tried again, and fail the same way.
    let (again, units) = sweep(&spec, folder.path(), "rows.jsonl", 1);
    assert_eq!(again, rows);
    assert_eq!(units, 2 * 14, "the two programs that failed");
}

#[test]
fn each_instruction_set_has_its_own_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = SweepSpec {
        programs: vec!["chess".to_owned()],
        isas: Isa::ALL.to_vec(),
        profiles: vec![ProfileKind::CallPair],
        bursts: vec![1, 10],
        one_in: vec![100],
        timing: Timing::Off,
        ..SweepSpec::default()
    };
    let (rows, units) = sweep(&spec, folder.path(), "rows", 2);
    assert_eq!((rows.len(), units), (4, 2));
    let isas: Vec<&str> = rows.iter().map(|row| row.isa.as_str()).collect();
    assert_eq!(isas, ["riscv64", "riscv64", "alpha", "alpha"]);
    for row in &rows {
        assert_eq!((&*row.program, &row.failure), ("chess", &None));
        let accuracy = row.accuracy.expect("not timed").renormalized;
        assert!((0.5..=1.0).contains(&accuracy), "{row:?}");
    }
    assert_eq!(rows[0].program_hash, rows[1].program_hash);
    assert_ne!(rows[0].program_hash, rows[2].program_hash);
    assert_ne!(rows[0].id, rows[2].id);
    // Rows of both instruction sets are stored apart: nothing is left to do.
    assert_eq!(sweep(&spec, folder.path(), "rows", 1), (rows, 0));
}
