//! Functional, timed, sampled, watched and edited runs; what they carry of where they come from.

use hps_isa::probe::{NoProbe, Probe};
use hps_lab::{
    CoreKind, Files, GuestOptions, Isa, Lab, LabError, Place, Productions, Program, Region,
    SamplingPlan, TimedMachine, VERSION, WARM_BY_ALL, fingerprint,
};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Cause, PipelineProbe};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, GridProbe, SamplePoint};
use hps_profile::ProfileKind;
use hps_sim_core::machine::Stop;
use hps_system::os::{Output, Stdin};
use hps_workloads::Size;

/// Instructions of a run that is not to take long.
const SHORT: u64 = 20_000;

/// Counts commit slots.
#[derive(Default)]
struct Slots {
    all: u64,
    with_instructions: u64,
}

impl Probe for Slots {}

impl PipelineProbe for Slots {
    const WANTS_SLOTS: bool = true;

    fn slots(&mut self, _: u64, cause: Cause, count: u64) {
        self.all += count;
        if cause == Cause::Base {
            self.with_instructions += count;
        }
    }
}

fn small(name: &str, isa: Isa) -> Lab<'static> {
    let workload = hps_workloads::find(name).expect("comes with the project");
    Lab::workload(workload, isa, Size::Small).expect("an image")
}

#[test]
fn a_program_runs_to_its_end_and_prints_what_it_must() {
    for isa in Isa::ALL {
        let ran = small("bwt", isa).run().expect("a run");
        assert_eq!((ran.stop, ran.exit_code()), (Stop::Exit(0), 0));
        let workload = hps_workloads::find("bwt").expect("a program");
        assert_eq!(ran.stdout(), workload.expected(Size::Small).as_bytes());
        assert!(ran.instructions() > 1_000_000);
        assert_eq!(ran.retired.total(), ran.instructions());
        ran.successful().expect("the expected output");
    }
}

#[test]
fn an_end_that_must_not_be_is_named() {
    let stopped = small("bwt", Isa::Riscv64).limit(SHORT).run().expect("runs");
    let stopped = stopped.successful_so_far().expect("only stopped");
    let error = stopped.successful().expect_err("stopped early");
    assert_eq!(
        error.to_string(),
        "the program was stopped at its instruction limit"
    );
    // The program refuses an input of this name.
    let failed = Lab::program("bwt", None).expect("a program").args(["huge"]);
    let failed = failed.run().expect("runs").successful().map(drop);
    let Err(LabError::End(how)) = failed else {
        panic!("{failed:?}");
    };
    assert!(
        how.to_string()
            .starts_with("the program ended with exit code"),
        "{how}"
    );
    // The large run prints something else.
    let workload = hps_workloads::find("lz").expect("a program");
    let mut program = Program::workload(workload, Isa::Alpha, Size::Small).expect("an image");
    program.expected = Program::workload(workload, Isa::Alpha, Size::Large)
        .expect("an image")
        .expected;
    let other = Lab::of(&program).run().and_then(hps_lab::Ran::successful);
    assert_eq!(
        other.map(drop).expect_err("another output").to_string(),
        "the program printed something else than it should"
    );
}

#[test]
fn a_timed_run_with_a_probe_is_the_run_without() {
    for core in [CoreKind::Cycle, CoreKind::Instruction] {
        let lab = || {
            let lab = small("interp", Isa::Riscv64).on("hps-4wide");
            lab.expect("a preset").core(core).limit(SHORT)
        };
        let plain = lab().run().expect("a run");
        let seen = lab()
            .watched_by(Slots::default())
            .run_here()
            .expect("a run");
        assert_eq!(seen.timing.core, plain.timing.core, "{core:?}");
        assert_eq!(seen.timing.memory.entries(), plain.timing.memory.entries());
        assert_eq!((plain.stop, plain.instructions()), (Stop::Limit, SHORT));
        // A cycle has four commit slots, and every slot one owner.
        assert_eq!(seen.probe.all, 4 * seen.cycles(), "{core:?}");
        assert_eq!(seen.probe.with_instructions, SHORT, "{core:?}");
        assert_eq!(seen.timing.cpi.total(), seen.probe.all);
    }
}

#[test]
fn what_an_edited_run_collects_is_what_a_probe_sees() {
    let point = SamplePoint::from_frequency(10, 100).expect("a point");
    let options = CollectorOptions::default();
    let machine = TimedMachine::load("hps-4wide", CoreKind::Instruction).expect("a preset");
    for isa in Isa::ALL {
        let lab = small("lz", isa);
        let grid = GridProbe::new(&[point]).expect("a grid");
        let truth = lab.clone().watched_by(grid).run().expect("a run");
        let expected = truth.probe.finish();
        let collector = Collector::new(ProfileKind::CallPair, point, &options).expect("a point");
        let functional = lab.clone().edited_by(&collector).run().expect("a run");
        let collected = [collector.read(&functional.process).expect("installed"), {
            let timed = lab.timed_by(&machine).edited_by(&collector);
            let timed = timed.run().expect("a run");
            assert_eq!(timed.retired, functional.retired);
            assert!(timed.retired.handler > 0 && timed.editor.stats().productions.len() > 1);
            collector.read(&timed.process).expect("installed")
        }];
        for collected in collected {
            let CollectedProfile::CallPair { call_pairs, lost } = collected else {
                panic!("not call pairs");
            };
            assert_eq!(lost, 0);
            assert_eq!(call_pairs, expected.points[0].call_pairs);
            assert!(call_pairs.total() > 100);
        }
    }
}

#[test]
fn production_files_are_installed_by_name() {
    let names = ["hot_method".to_string()];
    let productions =
        Productions::load(Isa::Riscv64, &names, [("sparsity".to_string(), 99)].into());
    let productions = productions.expect("built in");
    let ran = small("lz", Isa::Riscv64)
        .edited_by(&productions)
        .limit(SHORT);
    let ran = ran.run().expect("a run");
    assert_eq!(ran.instructions(), SHORT);
    assert!(ran.retired.inserted > 0 && ran.retired.handler > 0);
    // The builder's run and the run by hand are equal.
    let by_hand = small("lz", Isa::Riscv64)
        .edited(|process| productions.install(process))
        .limit(SHORT);
    assert_eq!(by_hand.run().expect("a run").retired, ran.retired);
}

#[test]
fn open_machines_and_cores_go_on_where_they_stopped() {
    let lab = || small("chess", Isa::Alpha);
    let whole = lab().limit(2 * SHORT).run().expect("a run");
    let mut machine = lab().open().expect("a machine");
    let mut core = lab().on("ev6").expect("a preset").open().expect("a core");
    let timed = lab().on("ev6").expect("a preset").limit(2 * SHORT).run();
    for _ in 0..2 {
        assert_eq!(machine.run(&mut NoProbe, SHORT), Stop::Limit);
        assert_eq!(core.run(SHORT), Stop::Limit);
    }
    assert_eq!(machine.process.thread.hart.r, whole.process.thread.hart.r);
    assert_eq!(*core.stats(), timed.expect("a run").timing.core);
}

#[test]
fn sampled_runs_do_not_depend_on_threads() {
    let plan = SamplingPlan {
        period: 50_000,
        warm_up: 1000,
        unit: 1000,
        doublings: 0,
        head: 0,
    };
    let on = |threads| {
        let lab = small("lz", Isa::Riscv64).on("hps-4wide").expect("a preset");
        let lab = lab.sampled(plan).expect("by cycle").on_threads(threads);
        lab.limit(10 * plan.period).run().expect("a run")
    };
    let (one, two) = (on(1), on(2));
    assert_eq!(one.timing.samples, two.timing.samples);
    assert_eq!(one.timing.samples.unit_cycles.len(), 10);
    assert_eq!(one.provenance.sampling, Some(plan));
    assert_eq!(one.provenance, two.provenance);
}

#[test]
fn results_say_where_they_come_from() {
    let lab = Lab::program("lz", Isa::Alpha)
        .expect("a program")
        .args(["small"])
        .guest(&GuestOptions {
            seed: 7,
            ..GuestOptions::default()
        })
        .limit(1000);
    let functional = lab.clone().run().expect("a run").provenance;
    assert_eq!(functional.version, VERSION);
    assert_eq!((functional.program.as_str(), functional.seed), ("lz", 7));
    assert_eq!(functional.args, ["lz", "small"]);
    assert_eq!(functional.isa, Isa::Alpha);
    assert_eq!(functional.program_hash, lab.subject().image.hash);
    assert_eq!((&functional.machine, functional.sampling), (&None, None));

    let config = MachineConfig::preset("tiny-2wide").expect("a preset");
    let timed = lab.on_machine(&config).core(CoreKind::Instruction);
    let machine = timed.run().expect("a run").provenance.machine;
    let machine = machine.expect("a machine");
    assert_eq!(machine.config, config);
    assert_eq!(machine.fingerprint, fingerprint(&config));
    assert_eq!(machine.core, CoreKind::Instruction);
}

#[test]
fn guests_get_what_options_give_them() {
    let lab = small("bwt", Isa::Riscv64);
    let process = lab.subject().process.clone();
    assert_eq!(process.stdout, Output::Capture);
    let folder = tempfile::tempdir().expect("a folder");
    let options = GuestOptions {
        files: Files::Under {
            root: folder.path().to_path_buf(),
            writable: true,
        },
        env: vec![("A".to_string(), "b".to_string())],
        ..GuestOptions::default()
    };
    let lab = lab
        .guest(&options)
        .input(Stdin::Bytes(b"abc".to_vec()))
        .args(["x", "y"]);
    let process = &lab.subject().process;
    assert_eq!(process.args, ["bwt", "x", "y"]);
    assert_eq!(process.root.as_deref(), Some(folder.path()));
    assert!(process.writable && process.cwd == "/");
    assert_eq!(process.env, options.env);
    assert_eq!(process.stdin, Stdin::Bytes(b"abc".to_vec()));
    assert_eq!(process.stdout, Output::Discard);
}

/// The cycles of a stretch in the middle of a program: as a part of the whole run, begun with empty caches and
/// predictors, and with warm ones. Functional warming errs by a few percent; a cold start by the misses of the whole
/// working set.
#[test]
fn a_warm_region_takes_about_as_long_as_the_stretch_of_a_whole_run() {
    const SKIP: u64 = 2_000_000;
    const LENGTH: u64 = 100_000;
    for isa in Isa::ALL {
        let lab = || small("lz", isa).on("hps-4wide").expect("a machine");
        let until = |limit: u64| lab().limit(limit).run().expect("a run").cycles();
        let whole = (until(SKIP + LENGTH) - until(SKIP)) as f64;
        let from = |warm: Option<u64>| {
            let region = Region {
                skip: SKIP,
                from: None,
                warm,
            };
            let ran = lab().region(region).limit(LENGTH).run().expect("a run");
            assert_eq!(ran.instructions(), LENGTH);
            (ran.cycles() as f64 / whole - 1.0).abs()
        };
        let (cold, partly, warm) = (from(None), from(Some(SKIP / 4)), from(Some(WARM_BY_ALL)));
        assert!(warm < 0.05 && warm < cold / 2.0, "{isa}: {warm}, {cold}");
        assert!(partly < cold, "{isa}: {partly}, {cold}");
    }
}

#[test]
fn a_region_is_warmed_where_that_can_be_done() {
    let region = Region {
        skip: 1000,
        from: Some(Place::Function("finder_search".to_owned())),
        warm: Some(100),
    };
    let lab = || small("lz", Isa::Riscv64).limit(SHORT);
    let lab = || {
        lab()
            .region(region.clone())
            .on("hps-4wide")
            .expect("a machine")
    };
    assert!(lab().run().is_ok());
    assert!(lab().core(CoreKind::Instruction).run().is_ok());
    let refused = lab()
        .sampled(SamplingPlan::default())
        .and_then(|lab| lab.run())
        .err();
    assert!(matches!(refused, Some(LabError::NotWarmed)), "{refused:?}");
}

#[test]
fn a_run_in_parts_is_the_run_and_ends_where_it_is_told() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let machine = MachineConfig::preset("hps-4wide").expect("a preset");
    for core in [CoreKind::Cycle, CoreKind::Instruction] {
        let lab = || {
            small("chess", Isa::Riscv64)
                .on_machine(&machine)
                .core(core)
                .limit(SHORT)
        };
        let whole = lab().run().expect("a run");
        let asked = Arc::new(AtomicU64::new(0));
        let last = Arc::clone(&asked);
        let goes_on = move |done| {
            last.store(done, Ordering::Relaxed);
            true
        };
        let parts = lab().in_parts(777, Arc::new(goes_on)).run().expect("a run");
        assert_eq!(parts.timing.core, whole.timing.core, "{core:?}");
        assert_eq!(parts.timing.cpi, whole.timing.cpi, "{core:?}");
        assert_eq!(asked.load(Ordering::Relaxed), SHORT / 777 * 777);
        let ended = lab()
            .in_parts(777, Arc::new(|done| done < 5000))
            .run()
            .expect("a run");
        let shorter = lab().limit(777 * 7).run().expect("a run");
        assert_eq!(
            (ended.stop, ended.cycles()),
            (Stop::Limit, shorter.cycles())
        );
    }
    let whole = small("bwt", Isa::Alpha).run().expect("a run");
    let parts = small("bwt", Isa::Alpha).in_parts(9999, Arc::new(|_| true));
    let parts = parts
        .run()
        .expect("a run")
        .successful()
        .expect("its output");
    assert_eq!(parts.instructions(), whole.instructions());
}
