//! Whole runs and shadows of native programs, against what the programs themselves say.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{Bench, contents, is_forked, processes_of};
use hps_shadow::policy::{Action, Policy};
use hps_shadow_native::outcome::{Ending, Shadow};
use hps_shadow_native::{Mode, Profiles, Request};
use hps_shim::symbols::Symbolizer;

/// Calls by the names of caller and callee.
fn named(profiles: &Profiles, symbols: &mut Symbolizer) -> BTreeMap<(String, String), u64> {
    let mut calls = BTreeMap::new();
    for (&(site, target), count) in &profiles.calls {
        let pair = (
            symbols.resolve(site).to_string(),
            symbols.resolve(target).to_string(),
        );
        *calls.entry(pair).or_insert(0) += count;
    }
    calls
}

#[test]
fn each_way_of_moving_control_works_as_a_copy_and_is_counted() {
    let bench = Bench::new();
    for (flags, turns) in [
        (&["-fcf-protection=none"][..], 3000_u64),
        (&["-no-pie", "-fcf-protection=full"], 500),
    ] {
        let program = bench.compile("flow.c", flags);
        let (natively, copied) = (bench.path("natively"), bench.path("copied"));
        let turns_text = turns.to_string();
        let alone = Command::new(&program)
            .arg(&natively)
            .arg(&turns_text)
            .status();
        let code = alone.expect("it runs").code();
        let command = [program.as_path(), &copied, Path::new(&turns_text)];
        let mut session = bench
            .request(Mode::Whole, &command)
            .run(&bench.library)
            .expect("it runs");
        assert_eq!(Some(i32::from(session.code)), code);
        let said = std::fs::read_to_string(&copied).expect("its results");
        assert_eq!(
            said,
            std::fs::read_to_string(&natively).expect("its results")
        );
        let numbers: Vec<u64> = said
            .split_whitespace()
            .skip(2)
            .map(|n| n.parse().expect("a number"))
            .collect();
        let (whole, run) = session.whole.expect("a whole run");
        assert_eq!((run.ending, session.damaged), (Ending::ProgramEnded, 0));
        assert_eq!(whole.instructions(), run.instructions);

        let calls = named(&whole, &mut session.symbols);
        let count = |caller: &str, callee: &str| {
            calls
                .get(&(caller.to_string(), callee.to_string()))
                .copied()
                .unwrap_or(0)
        };
        assert_eq!(count("caller", "leaf"), turns);
        assert_eq!(
            count("caller", "leaf") + count("indirect", "leaf"),
            numbers[0]
        );
        assert_eq!(count("indirect", "other"), turns);
        assert_eq!(count("indirect", "pops"), 2 * turns);
        assert_eq!(count("deep", "deep"), 20);
        assert_eq!(count("main", "conditions"), turns);
        // Turns of the three loops, counted by the program.
        let back = whole.edges.iter().filter(|((from, to), _)| {
            to <= from && session.symbols.resolve(*from).to_string() == "loops"
        });
        assert_eq!(back.map(|(_, count)| count).sum::<u64>(), numbers[1]);
        // The caller passes what it was called with; `pops` takes its arguments on the stack.
        let passed = whole
            .arguments()
            .tables()
            .iter()
            .filter(|(site, _)| session.symbols.resolve(*site).to_string() == "deep");
        let passed: Vec<_> = passed
            .map(|(_, table)| (table.executions, table.values.len()))
            .collect();
        // 19 to 0, of which the table holds ten; and longjmp's buffer.
        assert_eq!(
            passed.iter().map(|(executions, _)| executions).sum::<u64>(),
            21,
            "{passed:?}"
        );
        // Each of the 16 conditions is asked once a turn.
        let asked = whole.edges.iter().filter(|((from, to), _)| {
            let place = session.symbols.resolve(*from);
            place.to_string() == "conditions" && session.symbols.resolve(*to).entry == place.entry
        });
        let mut by_branch = BTreeMap::new();
        for ((from, _), count) in asked {
            *by_branch.entry(from).or_insert(0) += count;
        }
        assert_eq!(
            by_branch.values().filter(|count| **count == turns).count(),
            16
        );
    }
}

#[test]
fn samples_end_to_end_equal_the_whole_run_count_for_count() {
    let bench = Bench::new();
    let program = bench.compile("flow.c", &[]);
    for sample in [20_000, 170_001] {
        let request = Request {
            sample,
            ..bench.request(Mode::EndToEnd, &[&program])
        };
        let session = request.run(&bench.library).expect("it runs");
        let (whole, run) = session.whole.expect("a whole run");
        // flow.c takes more than 800,000 instructions.
        assert!(
            session.shadows.len() as u64 > 700_000 / sample,
            "{}",
            session.shadows.len()
        );
        assert_eq!(session.damaged, 0);
        let sum: u64 = session
            .shadows
            .iter()
            .map(|shadow| shadow.instructions)
            .sum();
        assert_eq!(sum, run.instructions);
        assert!(session.profiles.within.all.len() > 50);
        assert!(session.profiles == whole, "sample {sample}");
    }
}

/// The program that others watch, in a fresh folder: what is there when it has ended.
fn world(
    bench: &Bench,
    name: &str,
    turns: u32,
    run: impl FnOnce(&[&Path]) -> i32,
) -> (i32, BTreeMap<String, Vec<u8>>) {
    let folder = bench.path(name);
    std::fs::create_dir(&folder).expect("a folder");
    let input: Vec<u8> = (0..6000_u32).map(|i| ((i * i) >> 5) as u8).collect();
    std::fs::write(folder.join("input"), input).expect("a file");
    let code = run(&[&bench.path("world"), &folder, Path::new(&turns.to_string())]);
    (code, contents(&folder))
}

/// A policy that treats every call in a way of its own.
fn drawn(seed: u64) -> Policy {
    let mut policy = Policy::paper();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Action::ALL[state as usize % Action::ALL.len()]
    };
    for rule in &mut policy.rules {
        rule.action = draw();
    }
    policy.otherwise = draw();
    policy
}

#[test]
fn whatever_the_policy_nothing_outside_of_shadows_changes() {
    let bench = Bench::new();
    bench.compile("world.c", &[]);
    let expected = world(&bench, "alone", 3, |command| {
        let status = Command::new(command[0]).args(&command[1..]).status();
        status.expect("it runs").code().expect("a code")
    });
    assert_eq!(expected.0, 7);
    assert!(expected.1.len() > 4, "{:?}", expected.1.keys());
    let all_run = |mut policy: Policy| {
        policy
            .rules
            .iter_mut()
            .for_each(|rule| rule.action = Action::Run);
        policy.otherwise = Action::Run;
        policy
    };
    let mut policies: Vec<Policy> = Policy::NAMES
        .iter()
        .filter_map(|name| Policy::named(name))
        .map(|policy| policy.expect("it comes with the lab"))
        .collect();
    policies.push(all_run(Policy::paper()));
    policies.extend((0..8).map(drawn));
    let mut endings = BTreeMap::new();
    for (number, policy) in policies.iter().enumerate() {
        let compiled = policy.compiled();
        let seen = world(&bench, &format!("shadows-{number}"), 3, |command| {
            let request = Request {
                policy: &compiled,
                load: 3.0,
                sample: 3_000_000,
                ..bench.request(Mode::Sample, command)
            };
            let session = request.run(&bench.library).expect("it runs");
            for (ending, count) in session.endings {
                *endings.entry(ending).or_insert(0) += count;
            }
            i32::from(session.code)
        });
        assert!(
            seen == expected,
            "{policy:?}: {seen:?} instead of {expected:?}"
        );
    }
    // Shadows reached calls that end them or that others would notice.
    let at_calls = endings.keys().filter(|end| end.contains(": "));
    assert!(at_calls.count() > 1, "{endings:?}");
    assert_eq!(processes_of(&bench.path("world")), [0; 0]);
}

#[test]
fn shadows_hold_nothing_that_their_program_has_given_up() {
    let bench = Bench::new();
    let program = bench.compile("holds.c", &[]);
    let in_folder = |name: String, rounds: &str, turns: &str, run: &dyn Fn(&[&Path]) -> i32| {
        let folder = bench.path(&name);
        std::fs::create_dir(&folder).expect("a folder");
        let code = run(&[&program, &folder, Path::new(rounds), Path::new(turns)]);
        let said = std::fs::read_to_string(folder.join("said")).unwrap_or_default();
        (code, said)
    };
    for (mode, policy, sample, rounds, turns, least) in [
        (Mode::EndToEnd, "paper", 20_000, "250", "12000", 1000),
        (Mode::EndToEnd, "strict", 20_000, "250", "12000", 1000),
        (Mode::Sample, "pretend", 3_000_000, "40", "2000000", 15),
    ] {
        let alone = in_folder(format!("{policy}-alone"), rounds, turns, &|command| {
            let status = Command::new(command[0]).args(&command[1..]).status();
            status.expect("it runs").code().expect("a code")
        });
        let forks = Cell::new(0);
        let beside = in_folder(policy.to_string(), rounds, turns, &|command| {
            let named = Policy::named(policy).expect("a policy");
            let compiled = named.expect("it can be read").compiled();
            let request = Request {
                policy: &compiled,
                sample,
                load: 3.0,
                ..bench.request(mode, command)
            };
            let session = request.run(&bench.library).expect("it runs");
            forks.set(session.shadows.len());
            i32::from(session.code)
        });
        assert_eq!(alone.0, 0, "{alone:?}");
        assert_eq!(beside, alone, "{policy}");
        assert!(forks.get() >= least, "{policy}: {forks:?}");
    }
}

/// A shadow that reads a file has it open, which refuses a lease for writing.
#[test]
fn a_program_gets_its_leases_beside_shadows_that_read() {
    let bench = Bench::new();
    let program = bench.compile("lease.c", &[]);
    let mut shadows = 0;
    let mut ended = 0;
    for run in 0..5 {
        let file = bench.path(&format!("file-{run}"));
        let policy = Policy::named("paper").expect("a policy");
        let compiled = policy.expect("it can be read").compiled();
        let request = Request {
            policy: &compiled,
            sample: 100_000_000,
            load: 3.0,
            ..bench.request(Mode::Sample, &[&program, &file, Path::new("300000")])
        };
        let session = request.run(&bench.library).expect("it runs");
        assert_eq!(session.code, 0, "run {run}: {:?}", session.shadows);
        shadows += session.shadows.len();
        let killed = |shadow: &&Shadow| shadow.ending == Ending::Killed;
        ended += session.shadows.iter().filter(killed).count();
    }
    assert!(shadows >= 5 && ended >= 1, "{shadows} {ended}");
}

#[test]
fn a_program_that_runs_as_copies_does_what_it_does_alone() {
    let bench = Bench::new();
    bench.compile("world.c", &[]);
    let run = |command: &[&Path]| Command::new(command[0]).args(&command[1..]).status();
    let expected = world(&bench, "alone", 3, |command| {
        run(command).expect("it runs").code().expect("a code")
    });
    let seen = world(&bench, "whole", 3, |command| {
        let session = bench
            .request(Mode::Whole, command)
            .run(&bench.library)
            .expect("it runs");
        let (_, run) = session.whole.expect("a whole run");
        assert_eq!(run.ending, Ending::ProgramEnded);
        // Three children and three threads.
        assert_eq!(session.monitor.threads, 6);
        i32::from(session.code)
    });
    assert!(seen == expected, "{seen:?} instead of {expected:?}");
}

#[test]
fn shadows_see_the_hot_function_and_their_calls_are_counted() {
    let bench = Bench::new();
    bench.compile("world.c", &[]);
    let mut session = None;
    world(&bench, "sampled", 40, |command| {
        let run = bench
            .request(Mode::Sample, command)
            .run(&bench.library)
            .expect("it runs");
        let code = i32::from(run.code);
        session = Some(run);
        code
    });
    let mut session = session.expect("a session");
    assert!(!session.shadows.is_empty());
    assert_eq!(session.monitor.forks as usize, session.shadows.len());
    let mut functions = BTreeMap::new();
    for ((start, _), entered) in &session.profiles.blocks {
        let name = session.symbols.resolve(*start).to_string();
        *functions.entry(name).or_insert(0) += entered.count * u64::from(entered.instructions);
    }
    let hottest = functions
        .iter()
        .max_by_key(|(_, weight)| **weight)
        .expect("functions");
    assert_eq!(hottest.0, "work", "{functions:?}");
}

#[test]
fn shadows_end_with_a_program_that_is_killed() {
    let bench = Bench::new();
    let program = bench.compile("forever.c", &[]);
    let request = Request {
        load: 4.0,
        sample: 1 << 40,
        ..bench.request(Mode::Sample, &[&program])
    };
    std::thread::scope(|scope| {
        let session = scope.spawn(|| request.run(&bench.library).expect("it runs"));
        // The program, and at least two shadows of it.
        while processes_of(&program).len() < 3 {
            std::thread::yield_now();
        }
        let mut processes = processes_of(&program).into_iter();
        let first = processes.find(|pid| !is_forked(*pid)).expect("the program");
        let status = Command::new("kill")
            .args(["-9", &first.to_string()])
            .status();
        assert!(status.expect("it runs").success());
        let session = session.join().expect("a session");
        assert_eq!(session.code, 128 + 9);
        assert_eq!(processes_of(&program), [0; 0]);
        assert!(session.shadows.len() >= 2);
        assert!(
            session
                .shadows
                .iter()
                .all(|shadow| shadow.ending == Ending::Closed)
        );
    });
}

#[test]
fn what_cannot_be_profiled_is_named() {
    let bench = Bench::new();
    let refused = |command: &[&Path]| match bench.request(Mode::Sample, command).run(&bench.library)
    {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it is profiled"),
    };
    assert!(refused(&[Path::new("/nowhere/at-all")]).contains("/nowhere/at-all"));
    assert!(refused(&[]).contains("no program"));
}

/// A number of 0 or less would name a group of processes, ours among them: one function alone kills, and looks first.
#[test]
fn processes_are_killed_in_one_place_that_looks_at_their_number() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("preload");
    let mut kills = Vec::new();
    for file in std::fs::read_dir(folder).expect("the library's sources") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        let lines = text.lines().filter(|line| line.contains("kernel(NR_kill"));
        kills.extend(lines.map(|line| line.trim().to_owned()));
    }
    assert_eq!(kills, ["if (pid > 0) kernel(NR_kill, pid, 9, 0, 0);"]);
}
