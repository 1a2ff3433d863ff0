//! Shadows: what they see end to end, what they leave alone, and where they diverge.

use std::path::Path;
use std::sync::Arc;

use hps_isa::probe::NoProbe;
use hps_lab::shadow::{
    ShadowOptions, ShadowOutcome, Timeline, When, perfect, profiled, profiled_to_any_end,
};
use hps_lab::{Isa, Program};
use hps_shadow::Graphs;
use hps_shadow::accuracy::overlap;
use hps_shadow::policy::{Action, Policy};
use hps_shadow::profiles::Profiles;
use hps_shadow::values::TableShape;
use hps_sim_core::machine::{Fork, Machine, Stop};
use hps_system::os::{Output, Stdin};
use hps_workloads::Size;

#[allow(dead_code)]
#[path = "../../pipeline/tests/common/assemble.rs"]
mod assemble;

use hps_isa::random::Random;

mod on_chip;

fn small(name: &str) -> Program {
    let workload = hps_workloads::find(name).expect("comes with the project");
    Program::workload(workload, Isa::Riscv64, Size::Small).expect("an image")
}

/// Both profiles are equal, count for count.
fn assert_equal(perfect: &Profiles<'_>, sampled: &Profiles<'_>) {
    let sorted = |p: &Profiles<'_>| {
        let mut edges: Vec<_> = p.paths.edges().collect();
        let mut calls: Vec<_> = p.paths.calls().collect();
        edges.sort_unstable();
        calls.sort_unstable();
        (edges, calls)
    };
    assert_eq!(sorted(perfect), sorted(sampled));
    assert_eq!(perfect.paths.paths(), sampled.paths.paths());
    assert_eq!(perfect.paths.long_paths(), sampled.paths.long_paths());
    assert_eq!(perfect.values.tables(), sampled.values.tables());
    let [perfect, sampled] = [perfect, sampled].map(Profiles::streams);
    assert_eq!(perfect.map(|s| s.profile), sampled.map(|s| s.profile));
}

#[test]
fn samples_end_to_end_give_the_perfect_profile() {
    for name in ["interp", "objstore"] {
        let program = small(name);
        let graphs = Graphs::new(&program.image);
        let (truth, _) = perfect(&program, &graphs, (TableShape::default(), true)).expect("a run");
        assert!(truth.paths.paths().all.len() > 100 && truth.values.tables().len() > 1000);
        assert!(
            truth
                .streams()
                .is_some_and(|streams| !streams.profile.is_empty())
        );
        let timeline = Timeline::even(10_000_000, 1.0);
        let options = ShadowOptions {
            streams: true,
            ..ShadowOptions::end_to_end(700_001)
        };
        let seen = profiled(&program, &graphs, &timeline, &options).expect("a run");
        assert_eq!(seen.covered, seen.instructions, "{name}");
        assert!(seen.shadows > 3 && seen.charged_ns == 0.0);
        assert_equal(&truth, &seen.profiles);
        // All of its calls are benign or have their true results.
        assert_eq!(seen.divergences, [], "{name}");
    }
}

#[test]
fn forks_do_what_their_parent_does() {
    let program = small("minicc");
    let mut parent = Machine::new(program.start().expect("a process"));
    let mut fork: Option<Fork> = None;
    let mut random = Random::new(7);
    loop {
        let pages: Vec<u64> = parent.process.mem.dirty_pages().collect();
        parent.process.mem.clear_dirty();
        let fork = match &mut fork {
            Some(fork) => {
                fork.note(&pages);
                fork.begin(&mut parent).expect("memory");
                fork
            }
            None => fork.insert(Fork::of(&mut parent).expect("memory")),
        };
        let length = random.below(400_000) + 1;
        let stop = fork.machine().run(&mut NoProbe, length);
        let expected = parent.run(&mut NoProbe, length);
        assert_eq!(stop, expected);
        let (a, b) = (&fork.process().thread.hart, &parent.process.thread.hart);
        assert_eq!((a.pc, &a.r[..]), (b.pc, &b.r[..]));
        let written = |m: &hps_isa::memory::Memory| {
            let mut pages: Vec<u64> = m.dirty_pages().collect();
            pages.sort_unstable();
            pages
        };
        let pages = written(&parent.process.mem);
        assert_eq!(written(&fork.process().mem), pages);
        assert_eq!(fork.written_pages(), pages.len() as u64);
        for page in pages {
            let bytes = |m: &hps_isa::memory::Memory| {
                let mut bytes = vec![0; 4096];
                m.read_bytes_forced(page, &mut bytes).map(|()| bytes)
            };
            assert!(bytes(&fork.process().mem) == bytes(&parent.process.mem));
        }
        if stop != Stop::Limit {
            break;
        }
    }
    assert!(program.check_end(Stop::Exit(0), &parent.process).is_ok());
}

#[test]
fn the_load_controller_keeps_the_load_and_costs_follow() {
    let program = small("bwt");
    let graphs = Graphs::new(&program.image);
    let timeline = Timeline::even(8_000_000, 1.0);
    let at = |load: f64, sample: u64| {
        let options = ShadowOptions::at_load(load, sample);
        profiled(&program, &graphs, &timeline, &options).expect("a run")
    };
    let outcomes: Vec<ShadowOutcome<'_>> = [0.5, 1.0, 2.0].map(|load| at(load, 20_000)).into();
    for (outcome, load) in outcomes.iter().zip([0.5, 1.0, 2.0]) {
        assert!(
            (outcome.average_live - load).abs() < 0.15 * load,
            "{load}: {}",
            outcome.average_live
        );
    }
    assert!(
        outcomes
            .windows(2)
            .all(|w| w[0].overhead() < w[1].overhead())
    );
    assert!(
        outcomes
            .windows(2)
            .all(|w| w[0].coverage() < w[1].coverage())
    );
    assert!(at(1.0, 100_000).overhead() < outcomes[1].overhead());
    assert!(
        outcomes
            .iter()
            .all(|o| o.copied_pages > 0 && o.divergences.is_empty())
    );
}

/// A program of operations that read, write, rename, signal and share, drawn from a seed; and ask for the time, unless it
/// is to do the same whatever the time.
fn drawn(seed: u64, folder: &Path, asks_for_time: bool) -> Program {
    let mut random = Random::new(seed);
    let mut text = String::from("li s1, 0\nli s2, 0\nla s0, data\n");
    let call = |number: u64, arguments: &[&str]| {
        let loads = arguments.iter().enumerate();
        let loads: String = loads
            .map(|(at, a)| format!("{}\n", a.replace('@', &format!("a{at}"))))
            .collect();
        format!("{loads}li a7, {number}\necall\nadd s1, s1, a0\n")
    };
    // Names of files are a letter and a zero byte at data + 512 and data + 520.
    text += "li t1, 97\nsb t1, 512(s0)\nli t1, 98\nsb t1, 520(s0)\nli t1, 1\nsd t1, 600(s0)\n";
    text += &call(134, &["li @, 10", "addi @, s0, 600", "li @, 0", "li @, 8"]);
    for at in 0..12 {
        let count = random.below(300) + 1;
        text += &format!(
            "li t0, {count}\nloop{at}:\naddi t0, t0, -1\nadd s1, s1, t0\nbnez t0, loop{at}\n"
        );
        text += &match random.below(10) {
            7 if !asks_for_time => call(178, &[]) + "add s1, s1, a0\n",
            0 => "sd s1, 0(s0)\n".to_string() + &call(64, &["li @, 1", "addi @, s0, 0", "li @, 8"]),
            1 => {
                call(63, &["li @, 0", "addi @, s0, 64", "li @, 16"])
                    + "ld t1, 64(s0)\nadd s1, s1, t1\n"
            }
            2 => {
                call(
                    56,
                    &["li @, -100", "addi @, s0, 512", "li @, 66", "li @, 384"],
                ) + "addi s2, a0, 0\nsd s1, 0(s0)\n"
                    + &call(64, &["addi @, s2, 0", "addi @, s0, 0", "li @, 8"])
                    + &call(62, &["addi @, s2, 0", "li @, 0", "li @, 0"])
                    + &call(63, &["addi @, s2, 0", "addi @, s0, 128", "li @, 8"])
                    + &call(57, &["addi @, s2, 0"])
                    + "ld t1, 128(s0)\nadd s1, s1, t1\n"
            }
            3 => call(
                276,
                &[
                    "li @, -100",
                    "addi @, s0, 512",
                    "li @, -100",
                    "addi @, s0, 520",
                    "li @, 0",
                ],
            ),
            4 => call(35, &["li @, -100", "addi @, s0, 520", "li @, 0"]),
            5 => call(172, &[]) + &call(129, &["addi @, a0, 0", "li @, 10"]),
            6 => {
                call(
                    222,
                    &[
                        "li @, 0",
                        "li @, 4096",
                        "li @, 3",
                        "li @, 33",
                        "li @, -1",
                        "li @, 0",
                    ],
                ) + "sd s1, 0(a0)\n"
            }
            7 => {
                let skip = format!("skip{at}");
                call(113, &["li @, 1", "addi @, s0, 256"])
                    + &format!(
                        "ld t1, 264(s0)\nandi t1, t1, 64\nbeqz t1, {skip}\naddi s1, s1, 5\n{skip}:\n"
                    )
            }
            8 => {
                call(59, &["addi @, s0, 300", "li @, 0"])
                    + "sd s1, 0(s0)\nlw s2, 304(s0)\n"
                    + &call(64, &["addi @, s2, 0", "addi @, s0, 0", "li @, 8"])
                    + "lw s2, 300(s0)\n"
                    + &call(63, &["addi @, s2, 0", "addi @, s0, 136", "li @, 8"])
            }
            _ => {
                call(56, &["li @, -100", "addi @, s0, 512", "li @, 0", "li @, 0"])
                    + "addi s2, a0, 0\n"
                    + &call(63, &["addi @, s2, 0", "addi @, s0, 128", "li @, 8"])
            }
        };
    }
    text += "sd s1, 0(s0)\n";
    text += &call(64, &["li @, 1", "addi @, s0, 0", "li @, 8"]);
    text += "andi a0, s1, 63\nli a7, 94\necall\n";
    let image = assemble::Program::new(&text, 8192).image();
    let mut program = Program::of_image("drawn", image);
    program.process.root = Some(folder.to_path_buf());
    program.process.writable = true;
    program.process.stdin = Stdin::Bytes((0..100).collect());
    program.process.stdout = Output::Capture;
    program
}

/// Everything that a run leaves behind: exit, output, files.
type Left = (Stop, Vec<u8>, Vec<(String, Vec<u8>)>);

fn left(stop: Stop, output: &[u8], folder: &Path) -> Left {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect();
    files.sort();
    (stop, output.to_vec(), files)
}

/// A policy that does anything with any call.
fn any_policy(random: &mut Random) -> Policy {
    let mut policy = Policy::paper();
    for rule in &mut policy.rules {
        let keeps = random.below(3) == 0;
        if !keeps {
            rule.action = Action::ALL[random.below(7) as usize];
        }
    }
    policy.otherwise = Action::ALL[random.below(7) as usize];
    policy
}

#[test]
fn no_policy_changes_what_the_parent_leaves_and_strict_shadows_see_all_of_it() {
    for seed in 0..12 {
        let folder = || {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::write(folder.path().join("a"), b"sixteen bytes...").expect("written");
            folder
        };
        let alone = folder();
        let program = drawn(seed, alone.path(), true);
        let graphs = Graphs::new(&program.image);
        let mut machine = Machine::new(program.start().expect("a process"));
        let mut truth = Profiles::new(&graphs, TableShape::default());
        let stop = machine.run(&mut truth, u64::MAX);
        assert!(matches!(stop, Stop::Exit(_)), "{stop:?}");
        let expected = left(stop, machine.process.os.captured_stdout(), alone.path());

        let mut random = Random::new(seed + 1000);
        let sample = random.below(2000) + 1;
        let mut all = Vec::new();
        for when in [
            When::EndToEnd,
            When::Load {
                load: 2.0,
                period_ns: 300.0,
            },
            When::Convergence {
                load: 2.0,
                period_ns: 300.0,
            },
        ] {
            all.push((when, any_policy(&mut random)));
            all.push((when, Policy::paper()));
        }
        all.push((
            When::EndToEnd,
            Policy::named("strict").expect("a table").expect("readable"),
        ));
        for (when, policy) in all {
            let there = folder();
            let mut program = program.clone();
            program.process.root = Some(there.path().to_path_buf());
            let is_strict = policy.name == "strict";
            let options = ShadowOptions {
                when,
                policy: Arc::new(policy.compiled()),
                ..ShadowOptions::at_load(2.0, sample)
            };
            let timeline = Timeline::even(machine.retired.program, 1.0);
            let seen = profiled_to_any_end(&program, &graphs, &timeline, &options).expect("a run");
            let found = left(seen.stop, seen.process.os.captured_stdout(), there.path());
            assert_eq!(found, expected, "seed {seed}, {when:?}, {policy:?}");
            if is_strict {
                assert_eq!(seen.divergences, []);
                assert_equal(&truth, &seen.profiles);
            }
        }
    }
}

/// A loop, and behind it another one: shadows become rarer in each, and see both. The one that more shadows see weighs more.
#[test]
fn shadows_become_rarer_while_they_see_nothing_new() {
    let turn = |name: &str| format!("li s1, 300000\n{name}:\naddi s1, s1, -1\nbnez s1, {name}\n");
    let text = turn("first") + &turn("second") + "li a0, 0\nli a7, 94\necall\n";
    let image = assemble::Program::new(&text, 64).image();
    let program = Program::of_image("two loops", image);
    let graphs = Graphs::new(&program.image);
    let (truth, _) = perfect(&program, &graphs, (TableShape::default(), false)).expect("a run");
    let timeline = Timeline::even(1_200_000, 1.0);
    let mut always = ShadowOptions::at_load(1.0, 1000);
    always.costs.translate_ns = 0.0;
    let When::Load { load, period_ns } = always.when else {
        panic!("a load was asked for");
    };
    let converging = ShadowOptions {
        when: When::Convergence { load, period_ns },
        ..always.clone()
    };
    let [always, converging] = [always, converging].map(|options| {
        let seen = profiled(&program, &graphs, &timeline, &options).expect("a run");
        let found = overlap(&truth.by_edge(), &seen.profiles.by_edge()).expect("edges");
        (seen.shadows, found)
    });
    assert!(always.0 > 50 && always.1 > 0.9, "{always:?}");
    assert!(
        converging.0 < always.0 / 2 && converging.1 > 0.5,
        "{converging:?} and {always:?}"
    );
}
