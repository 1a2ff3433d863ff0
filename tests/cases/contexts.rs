//! Calling contexts and call counts where programs make them hard, and the files that hold them.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::build::{Isa, build};
use super::support::{Hps, Run};

const CONTEXTS_FLAGS: [&str; 5] = [
    "-O1",
    "-g",
    "-pthread",
    "-fno-optimize-sibling-calls",
    "-finstrument-functions",
];

/// Both cores, several cores, and several contexts of one.
const EVERYWHERE: [&[&str]; 4] = [
    &["--machine", "hps-4wide", "--core", "cycle"],
    &["--machine", "hps-4wide", "--core", "instruction"],
    &["--machine", "cmp-4"],
    &["--machine", "smt-2"],
];

fn profile(hps: &Hps, options: &[&str], command: &[&str]) -> Run {
    let run = hps.run(&[&["profile", "--json=exact.json"], options, command].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

/// Calls by function.
fn calls(hps: &Hps) -> BTreeMap<String, u64> {
    let text = std::fs::read(hps.path("exact.json")).expect("a profile");
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    let functions = document["functions"].as_array().expect("a list");
    let of = |f: &Value| {
        let name = f["name"].as_str().expect("a name").to_owned();
        (name, f["calls"].as_u64().expect("a number"))
    };
    functions.iter().map(of).collect()
}

/// The functions on each stack of a folded profile, outermost first, with the weight.
fn stacks(hps: &Hps, file: &str) -> Vec<(Vec<String>, u64)> {
    let text = std::fs::read_to_string(hps.path(file)).expect("stacks");
    let stack = |line: &str| {
        let (names, weight) = line.rsplit_once(' ').expect("a weight");
        let names = names.split(';').map(str::to_owned).collect();
        (names, weight.parse().expect("a number"))
    };
    text.lines().map(stack).collect()
}

/// Callers by function, of those that the program counts itself.
const CALLERS: [(&str, &[&str]); 21] = [
    ("second_work", &["second"]),
    ("first_work", &["first"]),
    ("interrupted", &["outer"]),
    ("tick_work", &["tick"]),
    ("busy", &["outer", "tail"]),
    ("outer", &["main"]),
    ("alternate_work", &["alternate", "jumps_out"]),
    ("left", &["stays"]),
    ("raises", &["on_thread"]),
    ("stays", &["on_thread"]),
    ("threads", &["main"]),
    ("work_a", &["co_a"]),
    ("work_b", &["co_b"]),
    ("prepare", &["coroutines"]),
    ("coroutines", &["main"]),
    ("yields", &["deep", "green_main"]),
    ("green_work", &["deep"]),
    ("deep", &["deep", "green_main"]),
    ("resume", &["green_threads"]),
    ("green_threads", &["main"]),
    ("tail", &["main"]),
];

/// The program counts the calls of its functions itself. No stack becomes deeper by signals or switches.
#[test]
fn calls_and_callers_are_those_that_the_program_counts() {
    for isa in Isa::BOTH {
        let program = build(isa, "contexts.c", &CONTEXTS_FLAGS);
        for core in EVERYWHERE {
            let hps = Hps::new();
            let own = hps.run(&[&["run"], core, &[&program]].concat());
            let export = [core, &["--export", "s.folded"]].concat();
            profile(&hps, &export, &[&program]);
            let found = calls(&hps);
            let own = String::from_utf8_lossy(&own.stdout).into_owned();
            assert_eq!(own.lines().count(), 31, "{own}");
            for line in own.lines() {
                let (name, count) = line.split_once(' ').expect("a count");
                let found = found.get(name).map(u64::to_string);
                assert_eq!(found.as_deref(), Some(count), "{name}, {isa:?}, {core:?}");
            }
            let mut callers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (stack, _) in stacks(&hps, "s.folded") {
                // 31 calls of `deep`, a handler of a handler, and what the C library puts around them.
                assert!(stack.len() < 55, "{isa:?}, {core:?}: {stack:?}");
                for pair in stack.windows(2) {
                    let callers = callers.entry(pair[1].clone()).or_default();
                    callers.insert(pair[0].clone());
                }
                let has = |name: &str| stack.iter().any(|f| f == name);
                assert!(!(has("co_a") && has("co_b")), "{stack:?}");
                assert!(!(has("green_main") && has("main")), "{stack:?}");
                assert!(!(has("co_a") && has("main")), "{stack:?}");
                assert!(!(has("on_thread") && has("main")), "{stack:?}");
            }
            for (name, expected) in CALLERS {
                let found: Vec<&str> = callers[name].iter().map(String::as_str).collect();
                assert_eq!(found, expected, "callers of {name}, {isa:?}, {core:?}");
            }
        }
    }
}

/// How often a stack was there when a function that runs straight through was called, outermost function first.
type Calls = BTreeMap<Vec<String>, u64>;

/// The calls of leaves by their stacks, of a profile in which each instruction has its stack and its count.
fn calls_by_stack(hps: &Hps, file: &str, leaves: &[&str]) -> BTreeMap<String, Calls> {
    let text = std::fs::read_to_string(hps.path(file)).expect("stacks");
    let mut of_instruction: BTreeMap<(Vec<&str>, &str), u64> = BTreeMap::new();
    let is_sample = |text: &&str| text.contains(" instructions: ");
    for sample in text.split("\n\n").filter(is_sample) {
        let mut lines = sample.lines().filter(|line| !line.starts_with('#'));
        let head = lines.next().expect("a head");
        let mut words = head.split_whitespace().rev();
        let weight: u64 = words.nth(1).expect(head).parse().expect(head);
        let place = |line| str::split_whitespace(line).nth(1)?.split_once('+');
        let mut frames: Vec<(&str, &str)> = lines.map_while(place).collect();
        frames.reverse();
        if let Some(&(leaf, offset)) = frames.last()
            && leaves.contains(&leaf)
        {
            let stack = frames.iter().map(|(name, _)| *name).collect();
            *of_instruction.entry((stack, offset)).or_default() += weight;
        }
    }
    // Each instruction of a leaf executes once in a call.
    let mut calls: BTreeMap<String, Calls> = BTreeMap::new();
    for ((stack, _), count) in of_instruction {
        let leaf = calls.entry(stack[stack.len() - 1].to_owned()).or_default();
        let stack = stack.into_iter().map(str::to_owned).collect();
        let known = leaf.entry(stack).or_default();
        *known = count.max(*known);
    }
    calls
}

/// Futures have no stacks: an executor polls them, and they each other. Goroutines have some that grow: the call that finds
/// no room goes on in a copy of its stack, and its callers stay what they were.
#[test]
fn futures_and_goroutines_have_exact_contexts() {
    let names = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
    // Ten tasks read, in three polls; ten others wait for a timer first, in four.
    let of_futures = [
        ("executor poll_read parse", 20),
        ("executor poll_read finish", 10),
        ("executor poll_both poll_timer tick", 40),
        ("executor poll_both poll_read parse", 20),
        ("executor poll_both poll_read finish", 10),
    ];
    // Two goroutines run twenty times each: ten times down 24 calls, and ten times up again. A stack grows in the ninth
    // and in the seventeenth call, once.
    let down = |calls: usize, rest: &str| format!("routine {}{rest}", "recurse ".repeat(calls));
    let of_routines = (1..=24).map(|calls| (down(calls, "work"), 20));
    let growing = [9, 17].map(|calls| (down(calls, "morestack newstack"), 2));
    for isa in Isa::BOTH {
        let flags = ["-O1", "-g", "-fno-optimize-sibling-calls"];
        let program = build(isa, "executors.c", &flags);
        for core in EVERYWHERE {
            let hps = Hps::new();
            let export = [core, &["--export", "perf-script-all:s.perf"]].concat();
            profile(&hps, &export, &[&program]);
            let leaves = ["parse", "finish", "tick", "work", "newstack"];
            let found = calls_by_stack(&hps, "s.perf", &leaves);
            for leaf in &leaves[..3] {
                let below_main = found[*leaf].iter().map(|(stack, calls)| {
                    let main = stack.iter().position(|f| f == "main").expect("below main");
                    (stack[main + 1..].to_vec(), *calls)
                });
                let expected = of_futures.iter().filter(|(stack, _)| stack.ends_with(leaf));
                let expected: Calls = expected.map(|(stack, n)| (names(stack), *n)).collect();
                let below_main: Calls = below_main.collect();
                assert_eq!(below_main, expected, "{leaf}, {isa:?}, {core:?}");
            }
            let expected: Calls = of_routines.clone().map(|(s, n)| (names(&s), n)).collect();
            assert_eq!(found["work"], expected, "{isa:?}, {core:?}");
            let expected: Calls = growing.iter().map(|(s, n)| (names(s), *n)).collect();
            assert_eq!(found["newstack"], expected, "{isa:?}, {core:?}");
        }
    }
}

/// The return from handlers of signals is one function with a name, in the profile and in all that it is written as.
#[test]
fn the_return_from_signals_has_a_name() {
    const NAME: &str = "[signal return]";
    for isa in Isa::BOTH {
        let program = build(isa, "signal_return.c", &["-O1"]);
        let hps = Hps::new();
        let files = [
            "s.folded",
            "s.perf",
            "s.speedscope.json",
            "s.firefox.json",
            "s.callgrind",
        ];
        let mut options = vec!["--top", "1000"];
        options.extend(files.iter().flat_map(|file| ["--export", file]));
        let run = profile(&hps, &options, &[&program]);
        let printed = String::from_utf8_lossy(&run.stdout).into_owned();
        let has_name = |line: &&str| line.ends_with(NAME);
        assert_eq!(
            printed.lines().filter(has_name).count(),
            1,
            "{isa:?}: {printed}"
        );
        assert!(calls(&hps).contains_key(NAME), "{isa:?}");
        for file in files {
            let text = std::fs::read_to_string(hps.path(file)).expect(file);
            assert!(text.contains(NAME), "{isa:?}: {file}");
            // A listing has addresses beside names.
            let is_listing = ["s.perf", "s.callgrind"].contains(&file);
            assert!(is_listing || !text.contains("3f8000"), "{isa:?}: {file}");
        }
        let unnamed = |(stack, _): &(Vec<String>, u64)| stack.iter().any(|f| f.starts_with("0x"));
        assert!(!stacks(&hps, "s.folded").iter().any(unnamed), "{isa:?}");
    }
}

/// 4,001 calls one inside the other. Files hold the outermost calls and the innermost function, and say so.
#[test]
fn deep_recursion_is_counted_and_its_files_stay_small() {
    let flags = ["-O1", "-g", "-fno-optimize-sibling-calls"];
    let program = build(Isa::Riscv64, "deep.c", &flags);
    let hps = Hps::new();
    let files = [
        "s.folded",
        "s.perf",
        "s.speedscope.json",
        "s.pb.gz",
        "s.firefox.json",
        "s.callgrind",
        "s.svg",
    ];
    let mut options = vec!["--out", "saved"];
    options.extend(files.iter().flat_map(|file| ["--export", file]));
    let run = profile(&hps, &options, &[&program, "4000"]);
    assert_eq!(calls(&hps)["down"], 4_001);
    assert!(
        run.stderr.contains("--export: stacks are up to 400"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("saved: contexts are"), "{}", run.stderr);
    for file in files {
        let bytes = std::fs::metadata(hps.path(file)).expect(file).len();
        assert!(bytes < 50_000_000, "{file} has {bytes} bytes");
    }
    let text = std::fs::read_to_string(hps.path("s.perf")).expect("text");
    assert!(text.contains("# note: stacks are up to 400"), "{text:.500}");
    // The recursive function has its cycles, and is called by itself wherever stacks are cut.
    let all = stacks(&hps, "s.folded");
    let whole: u64 = all.iter().map(|(_, weight)| weight).sum();
    let of_down = all
        .iter()
        .filter(|(stack, _)| stack.ends_with(&["down".to_owned()]));
    let of_down: u64 = of_down.map(|(_, weight)| weight).sum();
    // Each of 4,001 calls executes 15 instructions, of which at most four commit in a cycle.
    assert!(of_down >= 4_001 * 15 / 4, "{of_down} of {whole}");
    let is_cut = |stack: &[String]| stack.iter().any(|f| f == "(deeper calls)");
    assert!(all.iter().any(|(stack, _)| is_cut(stack)));
    // Sixteen levels are held whole.
    let run = profile(&hps, &["--export", "flat.folded"], &[&program, "16"]);
    assert!(!run.stderr.contains("note"), "{}", run.stderr);
    assert!(
        stacks(&hps, "flat.folded")
            .iter()
            .all(|(stack, _)| !is_cut(stack))
    );
}

/// Messages of a tool of valgrind on the command, on standard error.
fn under_valgrind(hps: &Hps, tool: &[&str], args: &[&str]) -> String {
    let output = Command::new("valgrind")
        .args(tool)
        .arg(env!("CARGO_BIN_EXE_hps"))
        .args(args)
        .current_dir(hps.path("."))
        .stdin(Stdio::null())
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Host instructions of the command.
fn host_instructions(hps: &Hps, args: &[&str]) -> u64 {
    let tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let said = under_valgrind(hps, &tool, args);
    let (_, count) = said.split_once("Collected : ").expect("a count");
    let count = count.split_whitespace().next().expect("a count");
    count.parse().expect("a number")
}

/// Bytes that the command has allocated at most at one time.
fn peak_bytes(hps: &Hps, args: &[&str]) -> u64 {
    let tool = [
        "--tool=massif",
        "--massif-out-file=massif.out",
        "--peak-inaccuracy=0",
    ];
    under_valgrind(hps, &tool, args);
    let text = std::fs::read_to_string(hps.path("massif.out")).expect("a file");
    let bytes = text
        .lines()
        .filter_map(|line| line.strip_prefix("mem_heap_B="));
    let bytes = bytes.map(|bytes| bytes.parse().expect("a number"));
    bytes.max().expect("a snapshot")
}

/// Two depths of a recursion in which each path is a context, by which all else is taken off: 2^7 - 1 and 2^10 - 1 contexts.
#[test]
#[ignore = "six runs under valgrind: scripts/nightly.sh"]
fn a_context_takes_few_bytes_and_few_host_instructions() {
    let flags = ["-O1", "-g", "-fno-optimize-sibling-calls"];
    let program = build(Isa::Riscv64, "tree.c", &flags);
    let hps = Hps::new();
    let contexts = (1 << 10) - (1 << 7);
    let run = ["run", "--machine", "hps-4wide", "--core", "instruction"];
    let profile = ["profile", "--core", "instruction"];
    let of_context = |measure: fn(&Hps, &[&str]) -> u64, command: &[&str]| {
        let [less, more] =
            ["6", "9"].map(|depth| measure(&hps, &[command, &[&program, depth]].concat()));
        more.saturating_sub(less) as f64 / f64::from(contexts)
    };
    let plain = of_context(host_instructions, &run);
    let profiled = of_context(host_instructions, &profile);
    assert!(
        profiled < 2.6 * plain,
        "{profiled} host instructions for a context, {plain} without the profile"
    );
    // Nodes, their links and units, in vectors that are up to twice as long as what they hold, and the walk over them.
    let bytes = of_context(peak_bytes, &profile);
    assert!(bytes < 250.0, "{bytes} bytes for a context");
}

/// GCC puts the rare part of `work` elsewhere as `work.cold`: a jump to it is no call, and its cycles are those of `work`.
#[test]
fn rare_parts_are_parts_of_their_functions() {
    for isa in Isa::BOTH {
        let flags = ["-O2", "-g", "-freorder-blocks-and-partition"];
        let program = build(isa, "cold_part.c", &flags);
        let hps = Hps::new();
        let export = ["--export", "s.folded", "--export", "s.afdo"];
        profile(&hps, &export, &[&program]);
        let calls = calls(&hps);
        assert_eq!((calls["work"], calls["slow"]), (1_000, 1_000), "{isa:?}");
        assert!(!calls.contains_key("work.cold"), "{isa:?}");
        let slow = stacks(&hps, "s.folded");
        let callers = slow
            .iter()
            .filter(|(stack, _)| stack.ends_with(&["slow".to_owned()]));
        for (stack, _) in callers {
            assert_eq!(stack[stack.len() - 2], "work", "{isa:?}: {stack:?}");
        }
        let samples = std::fs::read_to_string(hps.path("s.afdo")).expect("text");
        assert!(
            samples.contains("work:") && !samples.contains("cold"),
            "{samples}"
        );
    }
}

/// Threads have their own names, with spaces, brackets and colons, which readers of a header can tell from its numbers.
#[test]
fn threads_have_their_names_in_files() {
    let program = build(Isa::Riscv64, "thread_names.c", &["-O1", "-g", "-pthread"]);
    let hps = Hps::new();
    let export = ["--export", "s.perf", "--export", "s.speedscope.json"];
    profile(&hps, &export, &[&program]);
    let mut cycles: BTreeMap<String, u64> = BTreeMap::new();
    let text = std::fs::read_to_string(hps.path("s.perf")).expect("text");
    let mut lines = text.lines();
    while let Some(head) = lines.next() {
        if head.starts_with('#') || !head.ends_with(": ") {
            continue;
        }
        let words: Vec<&str> = head.split_whitespace().collect();
        let [name, of, "[000]", _, weight, "cycles:"] = words[..] else {
            panic!("{head}");
        };
        let (process, thread) = of.split_once('/').expect("two numbers");
        assert!(process.parse::<u32>().is_ok() && thread.parse::<u32>().is_ok());
        if lines.next().is_some_and(|frame| frame.contains(" w+0x")) {
            *cycles.entry(name.to_owned()).or_default() += weight.parse::<u64>().expect(head);
        }
    }
    let names: Vec<&str> = cycles.keys().map(String::as_str).collect();
    assert_eq!(names, ["[ET_NET_0]", "a:_1_2/3"]);
    let ratio = cycles["[ET_NET_0]"] as f64 / cycles["a:_1_2/3"] as f64;
    assert!((2.9..3.1).contains(&ratio), "{cycles:?}");
    let text = std::fs::read_to_string(hps.path("s.speedscope.json")).expect("text");
    for name in ["\"[ET_NET 0] (", "\"a: 1 2/3 ("] {
        assert!(text.contains(name), "{name}");
    }
}

/// Two static functions of one name are two, told apart by their files.
#[test]
fn functions_of_one_name_are_named_with_their_files() {
    let other = super::build::sources().join("same_b.c");
    let other = other.display().to_string();
    let program = build(Isa::Riscv64, "same_a.c", &["-O1", "-g", &other]);
    let hps = Hps::new();
    let run = profile(&hps, &[], &[&program]);
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    for file in ["work (same_a.c)", "work (same_b.c)"] {
        assert!(shown.contains(file), "{shown}");
    }
    let run = hps.run(&["profile", "--annotate", "work", &program]);
    assert_ne!(run.code, 0);
    for part in [
        "2 functions of this name",
        "same_a.c",
        "same_b.c",
        "FILE:NAME",
    ] {
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
    let run = profile(&hps, &["--annotate", "same_b.c:work"], &[&program]);
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        shown.contains("same_b.c:2") && !shown.contains("same_a.c:"),
        "{shown}"
    );
}

/// Debug information beside the program: split by object file, or all of it in a file that the program names.
#[test]
fn debug_information_beside_the_program_is_read() {
    let hps = Hps::new();
    let inlined = |program: &str| {
        let run = profile(&hps, &["--export", "s.folded"], &[program]);
        let stacks = stacks(&hps, "s.folded");
        let ends = ["work".to_owned(), "mixed".to_owned()];
        let is_known = stacks.iter().any(|(stack, _)| stack.ends_with(&ends));
        (is_known, String::from_utf8_lossy(&run.stdout).into_owned())
    };
    let split = build(Isa::Alpha, "inlined.c", &["-O2", "-g", "-gsplit-dwarf"]);
    let (is_known, said) = inlined(&split);
    assert!(is_known && !said.contains("debug information"), "{said}");
    // Compilers for RISC-V leave sizes in it to relocations, which are lost.
    let split = build(Isa::Riscv64, "inlined.c", &["-O2", "-g", "-gsplit-dwarf"]);
    let (is_known, said) = inlined(&split);
    assert!(
        is_known != said.contains("note: its split debug information (.dwo) says of no function"),
        "{said}"
    );
    let whole = build(Isa::Riscv64, "inlined.c", &["-O2", "-g"]);
    let objcopy = |arguments: &[&str]| {
        let mut command = std::process::Command::new("riscv64-linux-gnu-objcopy");
        let done = command.current_dir(hps.path(".")).args(arguments).status();
        assert!(done.expect("objcopy runs").success(), "{arguments:?}");
    };
    objcopy(&["--only-keep-debug", &whole, "p.debug"]);
    objcopy(&["--strip-debug", "--add-gnu-debuglink=p.debug", &whole, "p"]);
    let program = hps.path("p");
    let (is_known, said) = inlined(&program);
    assert!(is_known && !said.contains("debug information"), "{said}");
    // Another program's information is not taken.
    objcopy(&["--only-keep-debug", &split, "p.debug"]);
    let (is_known, said) = inlined(&program);
    assert!(!is_known, "of another program");
    for part in [
        "note: its debug information was looked for as",
        "p.debug",
        "/usr/lib/debug/",
    ] {
        assert!(said.contains(part), "{said}");
    }
    // LLVM's samples are by line.
    let run = hps.run(&["profile", "--export", "s.afdo", &program]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("no line table"), "{}", run.stderr);
}

/// Exports hold what several contexts did at the same time, each cycle of a thread once, and by thread where the format does.
#[test]
fn exports_of_several_contexts_hold_all_threads() {
    let program = build(Isa::Riscv64, "profiled_threads.c", &["-O1", "-pthread"]);
    for machine in ["cmp-4", "smt-2"] {
        let hps = Hps::new();
        let files = ["--export", "s.folded", "--export", "t.firefox.json"];
        profile(
            &hps,
            &[&["--machine", machine], &files[..]].concat(),
            &[&program],
        );
        let read = |file: &str| -> Value {
            let text = std::fs::read(hps.path(file)).expect("a file");
            serde_json::from_slice(&text).expect("JSON")
        };
        let stacks = stacks(&hps, "s.folded");
        let sum: u64 = stacks.iter().map(|(_, weight)| weight).sum();
        assert_eq!(
            Some(sum),
            read("exact.json")["cycles"].as_u64(),
            "{machine}"
        );
        for number in 0..4 {
            let work = format!("work_{number}");
            let is_there = stacks.iter().any(|(stack, _)| stack.contains(&work));
            assert!(is_there, "{machine}: {work}");
        }
        let threads = &read("t.firefox.json")["threads"];
        assert_eq!(threads.as_array().map(Vec::len), Some(5), "{machine}");
    }
}
