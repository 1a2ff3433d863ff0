//! Threads, and the timers that share their clock.

use super::build::{Isa, MODES, build, prints, run_in_all_modes};
use super::support::{Hps, Run};

fn text(run: &Run) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn threads_share_work() {
    prints(
        "thread_pthread.c",
        &["-O2", "-pthread"],
        &[],
        "sum 4950 from 4 threads\n",
    );
}

#[test]
fn openmp_shares_a_loop() {
    prints("thread_omp.c", &["-O2", "-fopenmp"], &[], "total 499500\n");
}

#[test]
fn cxx_threads_futures_and_exceptions() {
    let expected = "sum 328350, futures 285, once 1, shared 4000, thrown caught\n";
    prints("thread_cxx.cc", &["-O2", "-pthread"], &[], expected);
}

const TOGETHER: [&str; 14] = [
    "mutex",
    "atomic",
    "condition",
    "barrier",
    "spin",
    "semaphore",
    "pipe",
    "kill",
    "cancel",
    "robust",
    "timeout",
    "eventfd",
    "timerfd",
    "gettid",
];

fn all_ok() -> String {
    TOGETHER.map(|what| format!("{what:<10} ok\n")).concat()
}

#[test]
fn all_ways_to_work_together() {
    prints("threads.c", &["-O2", "-pthread"], &[], &all_ok());
}

#[test]
fn results_hold_in_any_interleaving_and_a_seed_gives_one() {
    let program = build(Isa::Riscv64, "threads.c", &["-O2", "-pthread"]);
    let mut counts = Vec::new();
    for seed in ["1", "2", "1", "3"] {
        let hps = Hps::new();
        let options = [
            "run",
            "--time-slice",
            "1500",
            "--thread-seed",
            seed,
            "--json=s.json",
            "--",
        ];
        let run = hps.run(&[&options[..], &[&program]].concat());
        assert_eq!(text(&run), all_ok(), "{seed}: {}", run.stderr);
        counts.push(std::fs::read_to_string(hps.path("s.json")).expect("statistics"));
    }
    let instructions = |at: usize| {
        let line = counts[at].lines().find(|l| l.contains("\"instructions\""));
        line.map(str::to_owned)
    };
    assert!(instructions(0).is_some(), "{}", counts[0]);
    assert_eq!(instructions(0), instructions(2), "one seed, two runs");
    assert_ne!(instructions(0), instructions(1), "two seeds, one run");
}

#[test]
fn many_threads_at_once_and_one_after_the_other() {
    let program = build(Isa::Riscv64, "thread_many.c", &["-O2", "-pthread"]);
    for (mode, count) in [(MODES[0], "10000"), (MODES[1], "300"), (MODES[2], "300")] {
        let run = Hps::new().run(&[&["run"], mode, &["--", &program, count]].concat());
        assert_eq!(
            text(&run),
            format!("64 2080\n{count} {count}\n"),
            "{mode:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_deadlock_names_its_threads() {
    let program = build(Isa::Riscv64, "thread_deadlock.c", &["-O2", "-pthread"]);
    run_in_all_modes(&[], &[&program], |mode, run| {
        assert_ne!(run.code, 0, "{mode}");
        for part in [
            "deadlock",
            "thread 1000: the futex at 0x",
            "thread 1001: the futex at 0x",
        ] {
            assert!(
                run.stderr.contains(part),
                "{mode}: {part} is not in {}",
                run.stderr
            );
        }
    });
}

#[test]
fn a_refused_thread_names_the_option_that_allows_it() {
    let program = build(Isa::Riscv64, "thread_pthread.c", &["-O2", "-pthread"]);
    run_in_all_modes(&["--max-threads", "1"], &[&program], |mode, run| {
        assert_eq!(run.code, 1, "{mode}");
        assert!(
            run.stderr.contains("--max-threads"),
            "{mode}: {}",
            run.stderr
        );
    });
}

#[test]
fn a_process_ends_with_its_threads() {
    for isa in Isa::BOTH {
        let program = build(isa, "thread_ends.c", &["-O2", "-pthread"]);
        for (how, code, said) in [
            ("exit", 3, ""),
            ("last", 0, "last\n"),
            ("fault", 139, ""),
            ("group", 5, ""),
        ] {
            run_in_all_modes(&[], &[&program, how], |mode, run| {
                assert_eq!(
                    (run.code, text(&run).as_str()),
                    (code, said),
                    "{isa:?} {mode} {how}: {}",
                    run.stderr
                );
            });
        }
    }
}

/// Processor time of threads and processes, on one processor and on several.
#[test]
fn clocks_of_processors_count_while_their_threads_run() {
    let modes = MODES.map(|mode| (mode, "1"));
    for isa in Isa::BOTH {
        let program = build(isa, "clocks.c", &["-O2", "-pthread"]);
        for (mode, count) in modes
            .into_iter()
            .chain([(&SEVERAL[..], "4"), (&SIBLINGS[..], "2")])
        {
            let run = Hps::new().run(&[&["run"], mode, &["--", &program, count]].concat());
            let expected = format!("{count} processors\n");
            assert_eq!(run.expect_code(0), expected, "{isa:?} {mode:?}");
        }
    }
}

#[test]
fn timers_raise_their_signals() {
    let expected = "itimer ok prof ok timer ok alarm 1\n";
    prints("timer_alarm.c", &["-O2"], &[], expected);
    // The part that counts begins while a timer runs.
    let program = build(Isa::Riscv64, "timer_alarm.c", &["-O2"]);
    for mode in MODES {
        let options = [&["run"], mode, &["--skip", "20000", "--", &program]].concat();
        let run = Hps::new().run(&options);
        assert_eq!(run.expect_code(0), expected, "{mode:?}");
    }
}

#[test]
fn signals_of_all_kinds() {
    let program = build(Isa::Riscv64, "signals_all.c", &["-O2"]);
    run_in_all_modes(&[], &[&program], |mode, run| {
        let text = text(&run);
        assert_eq!(text.lines().count(), 13, "{mode}: {text} {}", run.stderr);
        assert!(
            text.lines().all(|line| line.ends_with(" ok")),
            "{mode}: {text}"
        );
    });
}

/// Options for machines with several cores.
const SEVERAL: [&str; 2] = ["--machine", "cmp-4"];

/// Runs a program of `tests/cases/guest` on a machine, and returns what it prints.
fn on(machine: &[&str], isa: Isa, source: &str, arguments: &[&str]) -> String {
    let flags: &[&str] = match source {
        "thread_omp.c" => &["-O2", "-fopenmp"],
        _ => &["-O2", "-pthread"],
    };
    let program = build(isa, source, flags);
    let run = Hps::new().run(&[&["run"], machine, &["--", &program], arguments].concat());
    assert_eq!(run.code, 0, "{source}, {isa:?}: {}", run.stderr);
    text(&run)
}

#[test]
fn threads_run_on_four_cores_at_the_same_time() {
    let all_ok = all_ok();
    let cases: [(&str, &[&str], &str); 5] = [
        ("thread_pthread.c", &[], "sum 4950 from 4 threads\n"),
        ("thread_omp.c", &[], "total 499500\n"),
        (
            "thread_cxx.cc",
            &[],
            "sum 328350, futures 285, once 1, shared 4000, thrown caught\n",
        ),
        ("threads.c", &[], &all_ok),
        (
            "affinity.c",
            &[],
            "4 processors, 4 online, main on 3, wrong 0\n",
        ),
    ];
    for isa in Isa::BOTH {
        for (source, arguments, expected) in cases {
            assert_eq!(on(&SEVERAL, isa, source, arguments), expected, "{isa:?}");
        }
    }
}

/// Programs with threads on a machine of two processors.
fn threads_run_on_two(machine: &[&str; 2]) {
    let all_ok = all_ok();
    let cases: [(&str, &[&str], &str); 5] = [
        ("thread_omp.c", &[], "total 499500\n"),
        (
            "thread_cxx.cc",
            &[],
            "sum 328350, futures 285, once 1, shared 4000, thrown caught\n",
        ),
        ("threads.c", &[], &all_ok),
        ("thread_many.c", &["100"], "64 2080\n100 100\n"),
        (
            "affinity.c",
            &[],
            "2 processors, 2 online, main on 1, wrong 0\n",
        ),
    ];
    for isa in Isa::BOTH {
        for (source, arguments, expected) in cases {
            assert_eq!(on(machine, isa, source, arguments), expected, "{isa:?}");
        }
    }
}

/// Options for a core with two hardware threads.
const SIBLINGS: [&str; 2] = ["--machine", "smt-2"];

#[test]
fn threads_run_on_hardware_threads_at_the_same_time() {
    threads_run_on_two(&SIBLINGS);
}

/// Signals, timers, sleeps and sockets of a program with one thread, which has all contexts to itself.
#[test]
fn one_thread_does_on_several_contexts_what_it_does_on_one() {
    let cases: [(&str, &str); 2] = [
        (
            "sleep_advances_time.c",
            "nanosleep 1\ncpu 1\nrelative 1\nabsolute 1\ngetrandom 1\n",
        ),
        ("sock_echo.c", "tcp ping unix pong epoll 1\n"),
    ];
    for machine in [SEVERAL, SIBLINGS] {
        for isa in Isa::BOTH {
            for (source, expected) in cases {
                assert_eq!(
                    on(&machine, isa, source, &[]),
                    expected,
                    "{machine:?} {isa:?}"
                );
            }
        }
        let signals = on(&machine, Isa::Riscv64, "signals_all.c", &[]);
        let is_right = |line: &str| line.ends_with(" ok");
        assert!(signals.lines().all(is_right), "{machine:?}: {signals}");
        assert_eq!(signals.lines().count(), 13, "{machine:?}: {signals}");
    }
}

/// Cycles that `smt.c` prints for two loops on one core of `hps-4wide`, which adds four times in a cycle.
fn cycles_of(hps: &Hps, policy: &str, queues: &str, loops: [&str; 2]) -> [f64; 2] {
    let file = hps.path("smt.ron");
    let chip = format!("(contexts: 2, smt_policy: {policy}, smt_queues: {queues})");
    let text = format!("(name: \"smt\", base: \"hps-4wide\", chip: {chip})");
    std::fs::write(&file, text).expect("a file is written");
    let printed = on(&["--machine", &file], Isa::Riscv64, "smt.c", &loops);
    let mut cycles = printed
        .split_whitespace()
        .map(|n| n.parse().expect("a number"));
    [cycles.next(), cycles.next()].map(|n| n.expect("two numbers"))
}

fn is_near(cycles: f64, expected: f64) -> bool {
    (cycles / expected - 1.0).abs() < 0.02
}

/// 160,000 additions take 40,000 cycles and a branch for sixteen of them, at four instructions a cycle, or 160,000
/// cycles one after the other.
#[test]
fn hardware_threads_get_the_shares_that_their_policy_says() {
    const WIDE: f64 = 50_000.0;
    const CHAIN: f64 = 160_000.0;
    let hps = Hps::new();
    let of = |policy, loops| cycles_of(&hps, policy, "Partitioned", loops);
    for policy in ["RoundRobin", "Icount", "Priority"] {
        let [alone, none] = of(policy, ["wide", "none"]);
        assert!(is_near(alone, WIDE) && none == 0.0, "{policy}: {alone}");
    }
    // Two equal halves, or all that is left.
    for (policy, first, second) in [
        ("RoundRobin", 2.0 * WIDE, 2.0 * WIDE),
        ("Icount", 2.0 * WIDE, 2.0 * WIDE),
        ("Priority", WIDE, 2.0 * WIDE),
    ] {
        let [a, b] = of(policy, ["wide", "wide"]);
        assert!(is_near(a, first) && is_near(b, second), "{policy}: {a} {b}");
    }
    // Slots that one loop leaves, the other uses.
    let [a, b] = of("RoundRobin", ["chain", "chain"]);
    assert!(is_near(a, CHAIN) && is_near(b, CHAIN), "{a} {b}");
    // One slot at most, and only while the first one has nothing ready: nothing during its 50,000 cycles.
    let [a, b] = of("Background", ["wide", "wide"]);
    assert!(is_near(a, WIDE) && b > WIDE + 10.0 / 9.0 * CHAIN, "{a} {b}");
    // A chain that fills a shared window keeps the other loop out of it.
    let [_, shared] = cycles_of(&hps, "RoundRobin", "Shared", ["chain", "wide"]);
    let [_, divided] = of("RoundRobin", ["chain", "wide"]);
    assert!(shared > 2.0 * divided, "{shared} {divided}");
}

#[test]
fn slots_of_each_hardware_thread_sum_to_width_and_cycles() {
    let program = build(Isa::Riscv64, "smt.c", &["-O2", "-pthread"]);
    let hps = Hps::new();
    let run = hps.run(&[
        "run",
        "--machine",
        "smt-2",
        "--json=s.json",
        "--",
        &program,
        "wide",
        "chain",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(hps.path("s.json")).expect("statistics");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let contexts = document["cores"].as_array().expect("contexts");
    assert_eq!(contexts.len(), 2);
    let cycles = document["core"]["cycles"].as_u64().expect("a number");
    for one in contexts {
        let slots = one["cpi_stack"]["total_slots"].as_u64().expect("a number");
        assert_eq!(slots, 8 * cycles, "{one}");
        let parts = one["cpi_stack"]["parts"].as_array().expect("parts");
        let parts = parts
            .iter()
            .map(|part| part["slots"].as_u64().expect("a number"));
        assert_eq!(parts.sum::<u64>(), slots);
    }
}

/// Options for one wide core and a small one.
const BIG_LITTLE: [&str; 2] = ["--machine", "big-little"];

#[test]
fn threads_run_on_cores_that_differ() {
    threads_run_on_two(&BIG_LITTLE);
}

/// Sixteen additions a turn, a counter and its branch. On the wide core four additions to one register wait for each
/// other; on the small one two additions issue in a cycle, and then the counter, and the branch behind it: 8 + 2. A
/// chain of additions takes a cycle for each on both.
#[test]
fn a_thread_that_is_pinned_to_a_little_core_runs_at_its_speed() {
    const TURNS: f64 = 10_000.0;
    for loops in [
        ["wide", "none"],
        ["none", "wide"],
        ["wide", "wide"],
        ["chain", "chain"],
    ] {
        let printed = on(&BIG_LITTLE, Isa::Riscv64, "smt.c", &loops);
        let cycles = printed
            .split_whitespace()
            .map(|n| n.parse::<f64>().expect("a number"));
        for ((kind, cycles), wide) in loops.into_iter().zip(cycles).zip([4.0, 10.0]) {
            let is_right = match kind {
                "none" => cycles == 0.0,
                "wide" => is_near(cycles, wide * TURNS),
                _ => is_near(cycles, 16.0 * TURNS),
            };
            assert!(is_right, "{loops:?}: {printed}");
        }
    }
}

#[test]
fn slots_of_cores_that_differ_are_their_own_widths_and_cycles() {
    let program = build(Isa::Riscv64, "smt.c", &["-O2", "-pthread"]);
    let hps = Hps::new();
    let options = [
        "run",
        "--machine",
        "big-little",
        "--stats",
        "--json=s.json",
        "--",
    ];
    let run = hps.run(&[&options[..], &[&program, "wide", "chain"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(hps.path("s.json")).expect("statistics");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cycles = document["cycles"].as_u64().expect("a number");
    let cores = document["cores"].as_array().expect("cores");
    for (core, width) in cores.iter().zip([8, 2]) {
        let stack = &core["cpi_stack"];
        assert_eq!(stack["commit_width"].as_u64(), Some(width));
        assert_eq!(
            stack["total_slots"].as_u64(),
            Some(width * cycles),
            "{core}"
        );
    }
    let of_issue = |core: usize| {
        cores[core]["core"]["issue_dual_cycles"]
            .as_u64()
            .expect("a number")
    };
    assert_eq!(of_issue(0), 0, "a core that issues out of order");
    assert!(of_issue(1) > 0, "one that issues in order");
    let whole = &document["cpi_stack"];
    assert!(whole["commit_width"].is_null());
    assert_eq!(whole["total_slots"].as_u64(), Some(10 * cycles));
    assert_eq!(whole["total_cycles"].as_f64(), Some(2.0 * cycles as f64));
    // Parts say what the IPC says.
    assert_eq!(whole["contexts"].as_u64(), Some(2));
    let parts = whole["parts"].as_array().expect("parts");
    let cpi: f64 = parts.iter().filter_map(|part| part["cpi"].as_f64()).sum();
    let ipc = document["ipc"].as_f64().expect("a number");
    assert!((cpi * ipc - 1.0).abs() < 1e-9, "{cpi} {ipc}");
    let printed = format!("CPI stack: {:.4} cycles an instruction, in", 1.0 / ipc);
    assert!(run.stderr.contains(&printed), "{printed}: {}", run.stderr);
    let in_table = |core: &str| {
        let rows = run.stderr.lines();
        let rows = rows.skip_while(|line| !line.starts_with("core  instructions"));
        let rows = rows.take_while(|line| !line.is_empty());
        let rows = rows.map(|line| line.split_whitespace());
        rows.filter(|row| row.clone().next() == Some(core)).count()
    };
    assert_eq!((in_table("0"), in_table("1")), (1, 1), "{}", run.stderr);
}

#[test]
fn one_processor_is_what_one_core_has() {
    prints(
        "affinity.c",
        &["-O2", "-pthread"],
        &[],
        "1 processors, 1 online, main on 0, wrong 0\n",
    );
}

/// Outcomes that the memory model allows: total store order.
#[test]
fn litmus_tests_show_only_what_total_store_order_allows() {
    let hps = Hps::new();
    let siblings = hps.path("smt-4.ron");
    let text = "(name: \"smt-4\", base: \"hps-4wide\", chip: (contexts: 4))";
    std::fs::write(&siblings, text).expect("a file is written");
    let siblings = ["--machine", siblings.as_str()];
    let little = hps.path("little-3.ron");
    let text = "(name: \"little-3\", base: \"big-little\", chip: (cores: 4, little_cores: 3))";
    std::fs::write(&little, text).expect("a file is written");
    let little = ["--machine", little.as_str()];
    for (isa, machine) in [
        (Isa::Riscv64, SEVERAL),
        (Isa::Alpha, SEVERAL),
        (Isa::Riscv64, little),
        (Isa::Riscv64, siblings),
        (Isa::Alpha, siblings),
    ] {
        let printed = on(&machine, isa, "litmus.c", &["60"]);
        for line in printed.lines() {
            let (name, odd) = line.rsplit_once(' ').expect("a name and a count");
            assert!(name == "SB" || odd == "0", "{isa:?}: {line}");
        }
        assert_eq!(printed.lines().count(), 11);
        let stores = on(&machine, isa, "litmus.c", &["1000", "SB"]);
        assert_ne!(stores, "SB 0\n", "{isa:?}: a store is seen late");
    }
}

#[test]
fn lock_free_structures_lose_nothing_on_any_machine() {
    let hps = Hps::new();
    let bases = [
        "hps-4wide",
        "wide-8",
        "simplescalar-4wide",
        "tiny-2wide",
        "ev6",
    ];
    for (number, base) in bases.into_iter().enumerate() {
        let (isa, l2, coherence) = match number % 2 {
            0 => (Isa::Riscv64, "Shared", "Snooping"),
            _ => (Isa::Alpha, "Private", "Directory"),
        };
        let file = hps.path(&format!("{base}-3.ron"));
        let threads = match number {
            0 | 3 => "cores: 1, contexts: 3",
            1 => "cores: 2, contexts: 2, smt_policy: RoundRobin, smt_queues: Shared",
            _ => "cores: 3",
        };
        let chip = format!("({threads}, l2: {l2}, coherence: {coherence})");
        let text = format!("(name: \"{base}-3\", base: \"{base}\", chip: {chip})");
        std::fs::write(&file, text).expect("a file is written");
        let printed = on(&["--machine", &file], isa, "lock_free.c", &["60"]);
        assert_eq!(printed, "lost 0 0 0 0, torn 0\n", "{base}");
    }
    for isa in Isa::BOTH {
        let printed = on(&BIG_LITTLE, isa, "lock_free.c", &["60"]);
        assert_eq!(printed, "lost 0 0 0 0, torn 0\n", "big-little");
    }
}

#[test]
fn several_cores_refuse_what_does_not_go_with_them() {
    let program = build(Isa::Riscv64, "thread_pthread.c", &["-O2", "-pthread"]);
    let refused = [
        (
            &["--core", "instruction"][..],
            "it has several cores or contexts",
        ),
        (&["--sample"], "sampled timing"),
        (&["--productions", "hot_method"], "one core only"),
    ];
    for (options, why) in refused {
        let run = Hps::new().run(&[&["run"], &SEVERAL[..], options, &["--", &program]].concat());
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(why), "{options:?}: {}", run.stderr);
    }
}

/// Konata shows contexts as threads; what an instruction waits for comes from its own context.
#[test]
fn pipeline_logs_show_hardware_threads() {
    let program = build(Isa::Riscv64, "thread_pthread.c", &["-O2", "-pthread"]);
    let hps = Hps::new();
    for machine in ["smt-2", "cmp-4"] {
        let window = ["--trace-cycles", "0..400000", "--", &program];
        let run = hps.run(&[&["run", "--machine", machine, "--trace", "-"], &window[..]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let log = text(&run);
        let mut context_of = std::collections::HashMap::new();
        for row in log.lines().filter(|line| line.starts_with("I\t")) {
            let fields: Vec<&str> = row.split('\t').collect();
            context_of.insert(fields[1], fields[3]);
        }
        let contexts: std::collections::BTreeSet<_> = context_of.values().collect();
        assert!(contexts.len() > 1, "{machine}: {contexts:?}");
        let arrows = log.lines().filter(|line| line.starts_with("W\t"));
        for arrow in arrows {
            let fields: Vec<&str> = arrow.split('\t').collect();
            assert_eq!(context_of[fields[1]], context_of[fields[2]], "{arrow}");
        }
    }
}

/// Each context has the samplers once; what they find lies within the cycles of all of them.
#[test]
fn sampling_policies_watch_every_context() {
    let program = build(Isa::Riscv64, "profiled_threads.c", &["-O1", "-pthread"]);
    for machine in ["smt-2", "cmp-4"] {
        let hps = Hps::new();
        let with = ["--with", "tip,nci,lbr", "--json=p.json", "--", &program];
        let run = hps.run(&[&["profile", "--machine", machine], &with[..]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = text(&run);
        assert!(text.contains("tip"), "{machine}: {text}");
    }
}
