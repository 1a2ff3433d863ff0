//! Profiles of programs that calls, jumps and periods make hard.

use std::io::Write;
use std::process::{Command, Stdio};

use hps_profile::AnyProfileDocument;
use hps_system::image::ProgramImage;

use super::build::{Isa, build};
use super::support::{Hps, exit_with};

/// Shares of the ten equal functions in a sampled profile, in percent.
fn shares(hps: &Hps, options: &[&str], program: &str) -> (Vec<f64>, String) {
    let file = hps.path("profile.json");
    let begin: &[&str] = &["collect", "--kind", "method", &format!("--json={file}")];
    let order = [begin, options, &[program]].concat();
    let run = hps.run(&order);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read(&file).expect("a profile");
    let document: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let members = document["sampled"]["members"].as_array().expect("members");
    let weight = |m: &serde_json::Value| m["weight"].as_f64().expect("a weight");
    let total: f64 = members.iter().map(weight).sum();
    (
        members.iter().map(|m| 100.0 * weight(m) / total).collect(),
        run.stderr,
    )
}

/// Ten events a round, each a tenth of all: a fixed period of 100 events meets the same one each time.
#[test]
fn a_period_in_step_with_a_loop_is_named_and_a_random_one_is_not_in_step() {
    for isa in Isa::BOTH {
        let program = build(isa, "prof_alias.c", &["-O2"]);
        let hps = Hps::new();
        let (fixed, said) = shares(&hps, &[], &program);
        assert!(
            fixed.iter().any(|share| *share > 90.0),
            "{isa:?}: {fixed:?}"
        );
        assert!(
            said.contains("warning") && said.contains("--random-period"),
            "{isa:?}: {said}"
        );
        let (random, said) = shares(&hps, &["--random-period"], &program);
        assert!(!said.contains("warning"), "{isa:?}: {said}");
        // 2,000 samples: a standard deviation of 0.7 points.
        let near = random
            .iter()
            .filter(|share| (7.0..13.0).contains(*share))
            .count();
        assert_eq!(near, 10, "{isa:?}: {random:?}");
    }
}

/// The program ends with 3 unless it reads the line: by a file and by a pipe, in the run that finds the truth and
/// in the one that collects.
#[test]
fn standard_input_reaches_the_program_in_every_run() {
    let hps = Hps::new();
    let program = build(Isa::Riscv64, "reads_a_line.c", &["-O2"]);
    std::fs::write(hps.path("line.txt"), "open sesame\n").expect("a file");
    let with = |options: &[&str]| hps.run(&[&["profile"], options, &[&program]].concat());
    with(&["--stdin", "line.txt"]).expect_code(0);
    let run = with(&[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("exit code 3"), "{}", run.stderr);
    let mut piped = Command::new(env!("CARGO_BIN_EXE_hps"))
        .args(["profile", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut pipe = piped.stdin.take().expect("a pipe");
    pipe.write_all(b"open sesame\n").expect("room in the pipe");
    drop(pipe);
    assert_eq!(piped.wait().expect("it ends").code(), Some(0));
}

/// Reads the document of an exact profile.
fn exact(hps: &Hps, options: &[&str], program: &[&str]) -> (serde_json::Value, String) {
    let file = hps.path("exact.json");
    let begin: &[&str] = &["profile", &format!("--json={file}")];
    let run = hps.run(&[begin, options, program].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read(&file).expect("a profile");
    let document = serde_json::from_slice(&text).expect("JSON");
    (document, String::from_utf8_lossy(&run.stdout).into_owned())
}

fn number(value: &serde_json::Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("a number: {value}"))
}

/// Every cycle has an owner: units of functions and of instructions sum to the cycles, on both cores and sets.
#[test]
fn an_exact_profile_conserves_cycles() {
    let hps = Hps::new();
    for isa in ["riscv64", "alpha"] {
        for core in ["cycle", "instruction"] {
            let options = [
                "--isa",
                isa,
                "--core",
                core,
                "--max-instructions",
                "150000",
                "--with",
                "tip,ibs",
            ];
            let (document, _) = exact(&hps, &options, &["bwt", "small"]);
            let all = number(&document["cycles"]) * number(&document["units_per_cycle"]);
            for list in ["functions", "static_instructions"] {
                let rows = document[list].as_array().expect("a list");
                let sum: u64 = rows.iter().map(|row| number(&row["own"]["units"])).sum();
                assert_eq!(sum, all, "{list}, {isa}, {core}");
                for row in rows {
                    let spent = row["own"]["spent"].as_object().expect("a stack");
                    let events = row["own"]["events"].as_object().expect("a stack");
                    let units = number(&row["own"]["units"]);
                    assert_eq!(spent.values().map(number).sum::<u64>(), units);
                    assert_eq!(events.values().map(number).sum::<u64>(), units);
                }
            }
            let errors = |at: usize| &document["profilers"][at]["errors"];
            let tip = errors(0)["function"].as_f64().expect("an error");
            let ibs = errors(1)["instruction"].as_f64().expect("an error");
            assert!(tip < 0.2 && ibs > tip, "{isa}, {core}: {tip}, {ibs}");
        }
    }
}

/// A program without symbols, and one without lines, have profiles all the same, and say what is missing.
#[test]
fn what_a_program_does_not_name_is_named_for_it() {
    let hps = Hps::new();
    std::fs::write(hps.path("line.txt"), "open sesame\n").expect("a file");
    for isa in Isa::BOTH {
        let named = build(isa, "reads_a_line.c", &["-O2", "-g"]);
        let (document, shown) = exact(&hps, &["--stdin", "line.txt"], &[&named]);
        let functions = document["functions"].as_array().expect("a list");
        assert!(functions.iter().any(|f| f["name"] == "main"), "{isa:?}");
        assert!(shown.contains("reads_a_line.c:"), "{isa:?}: {shown}");
        let stripped = build(isa, "reads_a_line.c", &["-O2", "-s"]);
        let (document, shown) = exact(&hps, &["--stdin", "line.txt"], &[&stripped]);
        let functions = document["functions"].as_array().expect("a list");
        let unnamed =
            |f: &serde_json::Value| f["name"].as_str().is_some_and(|n| n.starts_with("sub_"));
        assert!(functions.iter().all(unnamed), "{isa:?}: {functions:?}");
        assert!(functions.len() > 5, "{isa:?}: what is called is told apart");
        assert!(
            shown.contains("names no function") && shown.contains("-g"),
            "{isa:?}: {shown}"
        );
    }
}

#[test]
fn what_is_asked_for_and_missing_is_named_with_what_there_is() {
    let hps = Hps::new();
    let fails = |options: &[&str], says: &str| {
        let limit = ["profile", "--max-instructions", "20000"];
        let run = hps.run(&[&limit, options, &["bwt", "small"]].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(says), "{}", run.stderr);
    };
    fails(
        &["--with", "tipp"],
        "no such profiler; there are software, interrupt, dcpi, ibs",
    );
    fails(&["--annotate", "mainn"], "no such function");
    fails(&["--annotate", "0x3"], "no function holds this address");
    fails(&["--period", "10"], "--with");
}

#[test]
fn names_of_cxx_are_readable_and_equal_ones_stay_apart() {
    let other = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cases/guest/prof_cxx_other.cc"
    );
    let program = build(Isa::Riscv64, "prof_cxx.cc", &["-O2", other]);
    let run = Hps::new().run(&["collect", "--kind", "method", "--top", "60", &program]);
    let text = run.expect_code(0);
    let lines_with = |name: &str| text.lines().filter(|line| line.ends_with(name)).count();
    assert_eq!(lines_with(" ns::Box<int>::add(int)"), 1, "{text}");
    assert_eq!(lines_with(" ns::Box<double>::add(double)"), 1, "{text}");
    // One static function in each of the two files.
    assert_eq!(lines_with(" helper(int)"), 2, "{text}");
}

/// A saved profile.
fn saved(hps: &Hps, file: &str) -> AnyProfileDocument {
    let path = hps.path(file);
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    AnyProfileDocument::read(file).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every cycle is in each of them, whatever the key.
#[test]
fn saved_exact_profiles_hold_every_cycle_over_each_key() {
    let hps = Hps::new();
    let (folder, json) = (hps.path("all"), hps.path("exact.json"));
    let order = [
        "profile",
        "--max-instructions",
        "100000",
        "--out",
        &folder,
        &format!("--json={json}"),
        "minicc",
        "small",
    ];
    let run = hps.run(&order);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read(&json).expect("a file");
    let exact: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let cycles = exact["cycles"].as_u64().expect("cycles");
    for kind in [
        "instruction",
        "block",
        "line",
        "function",
        "context",
        "event_stack",
        "time_slice",
    ] {
        let profile = saved(&hps, &format!("all/{kind}.json"));
        let header = profile.header();
        assert_eq!((header.kind.name(), &*header.unit), (kind, "cycles"));
        assert_eq!(header.total, cycles * header.parts, "{kind}");
        assert!(profile.len() > 20, "{kind}: {}", profile.len());
    }
    let overlap = |other| {
        let functions = saved(&hps, "all/function.json");
        functions.overlap_without_cut(&saved(&hps, other))
    };
    assert_eq!(overlap("all/function.json"), Some(1.0));
    assert_eq!(overlap("all/block.json"), None);
}

/// Shadows end to end see what there is, so that both folders hold the same.
#[test]
fn saved_profiles_of_shadows_are_over_their_keys() {
    let hps = Hps::new();
    let folder = hps.path("shadows");
    let run = hps.run(&[
        "shadow",
        "simulate",
        "--end-to-end",
        "--out",
        &folder,
        "lz",
        "small",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (file, kind) in [
        ("path", "path"),
        ("long_path", "path"),
        ("edge", "edge"),
        ("call_pair", "call_pair"),
        ("value", "value"),
    ] {
        let seen = saved(&hps, &format!("shadows/{file}.json"));
        let perfect = saved(&hps, &format!("shadows/perfect/{file}.json"));
        assert_eq!(seen.header().kind.name(), kind);
        assert_eq!(seen.header().unit, "events");
        assert!(perfect.len() > 20, "{file}: {}", perfect.len());
        let overlap = seen.overlap_without_cut(&perfect).expect("one kind");
        assert!(overlap > 0.999, "{file}: {overlap}");
    }
}

/// Profile of a program with children: cycles by function, those of other programs, and its head.
struct Followed {
    functions: Vec<(String, u64)>,
    cycles: u64,
    other_cycles: u64,
    head: String,
}

fn followed(program: &str, options: &[&str]) -> Followed {
    let hps = Hps::new();
    let file = hps.path("profile.json");
    let run = hps.run(
        &[
            &["profile", &format!("--json={file}")],
            options,
            &["--", program],
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{options:?}: {}", run.stderr);
    let text = std::fs::read(&file).expect("a profile");
    let document: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let number = |value: &serde_json::Value| value.as_u64().expect("a number");
    let units = number(&document["units_per_cycle"]);
    let functions = document["functions"].as_array().expect("functions");
    let functions = functions.iter().map(|f| {
        let name = f["name"].as_str().expect("a name").to_owned();
        (name, number(&f["own"]["units"]) / units)
    });
    Followed {
        functions: functions.collect(),
        cycles: number(&document["cycles"]),
        other_cycles: number(&document["other_cycles"]),
        head: String::from_utf8_lossy(&run.stdout).into_owned(),
    }
}

impl Followed {
    fn cycles_of(&self, function: &str) -> u64 {
        let found = self.functions.iter().find(|(name, _)| name == function);
        found.map_or(0, |(_, cycles)| *cycles)
    }
}

const WORKERS: [&str; 3] = ["parent_works", "first_child_works", "second_child_works"];

/// Each process has most of its cycles in a function of its own, and none in those of the others. All cycles of the run
/// are those of one of the three.
#[test]
fn a_profile_is_of_the_first_process_or_of_the_one_that_is_asked_for() {
    for (isa, machine) in [
        (Isa::Riscv64, "hps-4wide"),
        (Isa::Alpha, "hps-4wide"),
        (Isa::Riscv64, "cmp-4"),
        (Isa::Riscv64, "smt-2"),
    ] {
        let program = build(isa, "prof_children.c", &["-O2"]);
        let what = format!("{isa:?}, {machine}");
        let mut sum = 0;
        let mut all = Vec::new();
        for (at, worker) in WORKERS.into_iter().enumerate() {
            let number = (at + 1).to_string();
            let options: &[&str] = match at {
                0 => &["--machine", machine],
                _ => &["--machine", machine, "--process", &number],
            };
            let seen = followed(&program, options);
            for other in WORKERS {
                let cycles = seen.cycles_of(other);
                match other == worker {
                    true => assert!(2 * cycles > seen.cycles, "{what}: {other} {cycles}"),
                    false => assert_eq!(cycles, 0, "{what}: {other}"),
                }
            }
            let says = format!("this is program {number} of the 3 that its processes have begun");
            assert!(seen.head.contains(&says), "{what}: {}", seen.head);
            sum += seen.cycles;
            all.push(seen.cycles + seen.other_cycles);
        }
        assert_eq!(all, [sum, sum, sum], "{what}");
    }
}

/// One run has the profiles that runs which each follow one program have, and their sums.
#[test]
fn profiles_of_all_processes_are_those_of_each() {
    for (isa, machine) in [(Isa::Riscv64, "hps-4wide"), (Isa::Alpha, "cmp-4")] {
        let program = build(isa, "prof_children.c", &["-O2"]);
        let hps = Hps::new();
        let profile = |process: &str, more: &[&str]| -> serde_json::Value {
            let options = ["profile", "--machine", machine, "--json=p.json", "--force"];
            let options = [
                &options[..],
                &["--process", process],
                more,
                &["--", &program],
            ];
            let run = hps.run(&options.concat());
            assert_eq!(run.code, 0, "{machine}: {}", run.stderr);
            let written = std::fs::read(hps.path("p.json")).expect("a profile");
            let mut document: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
            if let Some(document) = document.as_object_mut() {
                document.remove("contended_lines");
            }
            document
        };
        let all = profile("all", &["--export", "perf-script:p.txt"]);
        let programs = all["programs"].as_array().expect("programs");
        let mut cycles = 0;
        for (at, one) in programs.iter().enumerate() {
            assert_eq!(
                (&one["number"], &one["pid"]),
                (&(at + 1).into(), &(at + 1000).into())
            );
            let alone = profile(&(at + 1).to_string(), &[]);
            assert!(
                one["profile"] == alone,
                "{isa:?} {machine}: program {}",
                at + 1
            );
            cycles += alone["cycles"].as_u64().expect("a number");
        }
        assert_eq!((programs.len(), &all["cycles"]), (3, &cycles.into()));
        let units = |one: &serde_json::Value| one["own"]["units"].as_u64().expect("a number");
        let functions = all["functions"].as_array().expect("functions");
        let sum: u64 = functions.iter().map(units).sum();
        assert_eq!(
            sum,
            cycles * all["units_per_cycle"].as_u64().expect("a number")
        );
        for worker in WORKERS {
            let found = functions.iter().filter(|f| f["name"] == worker);
            assert_eq!(found.count(), 1, "{worker}");
        }
        let exported = std::fs::read_to_string(hps.path("p.txt")).expect("an export");
        for (pid, worker) in (1000..).zip(WORKERS) {
            let of_worker = exported.split("\n\n").find(|one| one.contains(worker));
            let head = of_worker.and_then(|one| one.trim_start().lines().next());
            assert!(
                head.is_some_and(|head| head.contains(&format!("({pid})"))),
                "{head:?}"
            );
        }
    }
}

#[test]
fn a_sampling_profiler_of_one_process_takes_its_samples_only() {
    let program = build(Isa::Riscv64, "prof_children.c", &["-O2"]);
    let seen = followed(&program, &["--with", "tip", "--period", "97"]);
    let row = seen.head.lines().find(|line| line.starts_with("tip "));
    let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
    let samples: u64 = row[3].replace(',', "").parse().expect("samples");
    // One in 97 cycles, of those of this process.
    assert!(
        samples.abs_diff(seen.cycles / 97) < 50,
        "{row:?} {}",
        seen.cycles
    );
}

#[test]
fn a_process_that_there_is_not_is_named() {
    let hps = Hps::new();
    let program = build(Isa::Riscv64, "prof_children.c", &["-O2"]);
    let run = hps.run(&["profile", "--process", "4", "--", &program]);
    assert_ne!(run.code, 0);
    let says = "--process 4: the processes of the program have begun 3 programs only";
    assert!(run.stderr.contains(says), "{}", run.stderr);
}

/// Builds a case whose functions lie in the order of their source.
fn in_source_order(isa: Isa, source: &str) -> (String, FunctionNames) {
    let program = build(isa, source, &["-O2", "-fno-toplevel-reorder"]);
    let bytes = std::fs::read(&program).expect("the executable");
    let image = ProgramImage::parse(&bytes, &program).expect("an executable");
    let functions = image.symbols.functions().iter();
    let names = functions.map(|f| (f.addr, f.name.clone())).collect();
    (program, names)
}

type FunctionNames = std::collections::HashMap<u64, String>;

/// Members of a profile that HPS collects of every event, by the name of their last address, and those of the truth.
fn collected(
    hps: &Hps,
    kind: &str,
    options: &[&str],
    case: &(String, FunctionNames),
) -> [Counts; 2] {
    let file = hps.path("collected.json");
    let begin: &[&str] = &[
        "collect",
        "--one-in",
        "1",
        &format!("--json={file}"),
        "--kind",
        kind,
    ];
    let run = hps.run(&[begin, options, &[&case.0]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read(&file).expect("a profile");
    let document: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    ["sampled", "exhaustive"].map(|which| {
        let mut counts = Counts::new();
        for member in document[which]["members"].as_array().expect("members") {
            let member_is = &member["member"];
            let last = member_is.get("target").unwrap_or(member_is);
            let text = last.as_str().expect("an address").trim_start_matches("0x");
            let address = u64::from_str_radix(text, 16).expect("an address");
            let name = case.1.get(&address).cloned().unwrap_or_default();
            *counts.entry(name).or_default() += number(&member["weight"]);
        }
        counts
    })
}

type Counts = std::collections::BTreeMap<String, u64>;

#[track_caller]
fn expect_counts(what: &str, counts: &Counts, expected: &[(&str, u64)]) {
    for (name, count) in expected {
        let found = counts.get(*name).copied().unwrap_or(0);
        assert_eq!(found, *count, "{name}, {what}: {counts:?}");
    }
}

/// Functions that jumps enter are in every profile, and as often as they are entered: in the exact one, on both cores,
/// and in those that HPS collects, whose tables equal what a functional pass counts.
#[test]
fn a_function_that_only_jumps_enter_is_in_every_profile() {
    let calls: &[(&str, u64)] = &[("f", 1000), ("g", 1000), ("jumper", 500), ("cb", 700)];
    let jumps: &[(&str, u64)] = &[
        ("first", 300),
        ("forward", 300),
        ("through", 200),
        ("by_pointer", 200),
        ("table", 100),
    ];
    let hps = Hps::new();
    for isa in Isa::BOTH {
        for (source, expected) in [("prof_calls.c", calls), ("tail_calls.c", jumps)] {
            let case = in_source_order(isa, source);
            for core in ["cycle", "instruction"] {
                let (document, _) = exact(&hps, &["--core", core], &[&case.0]);
                let functions = document["functions"].as_array().expect("a list");
                let named = |f: &serde_json::Value| {
                    let name = f["name"].as_str().expect("a name").to_owned();
                    (name, number(&f["calls"]))
                };
                let counts: Counts = functions.iter().map(named).collect();
                let what = format!("{source}, {isa:?}, {core}");
                expect_counts(&what, &counts, expected);
                if source == "prof_calls.c" {
                    // By signals; and by jumps, on Alpha to behind the instructions that load the global pointer. The C library
                    // calls it once more.
                    expect_counts(&what, &counts, &[("handler", 10), ("__sigsetjmp", 501)]);
                }
            }
            let what = format!("{source}, {isa:?}");
            let [sampled, truth] = collected(&hps, "method", &[], &case);
            assert_eq!(sampled, truth, "{what}");
            expect_counts(&what, &truth, expected);
            let [sampled, truth] = collected(&hps, "call-pair", &["--tail-calls"], &case);
            assert_eq!(sampled, truth, "{what}");
            expect_counts(&what, &truth, expected);
        }
        // Calls and back-edges alone count, as the HPS report defines its profiles.
        let case = in_source_order(isa, "tail_calls.c");
        // Alpha's compiler calls through pointers and never jumps.
        let by_pointer = if isa == Isa::Alpha { 200 } else { 0 };
        let left_out = [("first", 300), ("forward", 0), ("by_pointer", by_pointer)];
        for (kind, options) in [("method", &["--tail-calls=no"][..]), ("call-pair", &[])] {
            let [sampled, truth] = collected(&hps, kind, options, &case);
            assert_eq!(sampled, truth, "{kind}, {isa:?}");
            expect_counts(kind, &truth, &left_out);
        }
    }
}

/// A program that only exits refers to no data.
#[test]
fn a_program_without_hot_streams_is_given_no_accuracy() {
    let hps = Hps::new();
    let program = hps.program("exits", &exit_with(0));
    let run = hps.run(&["collect", "--kind", "data-stream", &program]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("is empty"), "{}", run.stderr);
    assert!(run.stdout.is_empty());
}
