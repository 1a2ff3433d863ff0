//! `hps reproduce shim-2015`: observers inside the machine beside a program of one's own.

use crate::guest::rounds;
use crate::support::{Hps, elf, reproduced};

#[test]
fn samples_of_a_program_of_ones_own_are_held_against_the_truth() {
    let hps = Hps::new();
    let path = hps.path("rounds");
    std::fs::write(&path, elf(&rounds("div t1, t1, s2"))).expect("an executable");
    let text = reproduced(&hps, &["shim-2015", "--program", &path]);
    for claim in [
        "[differs: none is above it before either] no kept sample has an IPC above the width of the machine",
        "[confirmed] counters that another core can read make IPC and tags free",
        "[not confirmed] a pair on two cores costs little when either side is slow",
        "[confirmed] invalidations explain what an observer on another core costs",
        "tag, same core: overhead falls with the period",
    ] {
        assert!(text.contains(claim), "{claim}: {text}");
    }
    // The program is too short for hundreds of samples in each of several intervals, of all or of a function, and for
    // an observer to be held up. Three figures of the paper have no study.
    assert_eq!(text.matches("[not measured]").count(), 4 + 3, "{text}");
}

/// Figure 1 where programs cannot read counters of instructions: shares of samples and what functions did are there.
#[test]
#[ignore = "takes more than a minute: scripts/nightly.sh"]
fn functions_are_told_at_three_periods_on_alpha_too() {
    let hps = Hps::new();
    let text = reproduced(&hps, &["shim-2015", "--program", "chess", "--isa", "alpha"]);
    for claim in [
        "few functions have most of the samples",
        "coarse samples hide how functions differ",
        "fine samples tell the IPC of each function",
    ] {
        let line = text.lines().find(|line| line.contains(claim));
        let line = line.unwrap_or_else(|| panic!("{claim}: {text}"));
        assert!(!line.contains("not measured"), "{line}");
    }
    let numbers = std::fs::read_to_string(hps.path("out/measurements.csv")).expect("a table");
    let of = |setting: &str, measure: &str| -> Vec<f64> {
        let named = |line: &&str| {
            ["functions-smt", setting, measure]
                .iter()
                .all(|part| line.contains(part))
        };
        let values = numbers.lines().filter(named);
        let values = values.filter_map(|line| line.split(',').find_map(|cell| cell.parse().ok()));
        values.collect()
    };
    // More functions are known from finer samples.
    let ranks = |every: &str| of(&format!("every={every},rank="), "true_function_ipc").len();
    assert!(ranks("1") > 20, "{numbers}");
    assert!(ranks("1") > ranks("100"), "{numbers}");
    for picture in ["share", "intervals", "ipc"] {
        let path = hps.path(&format!("out/figures/alpha-functions-{picture}.svg"));
        let drawn = std::fs::read_to_string(&path).expect("a picture");
        assert!(drawn.contains("figure 1("), "{picture}");
    }
}

#[test]
fn what_does_not_do_for_an_observer_is_refused() {
    let hps = Hps::new();
    for (options, why) in [
        (["--machine", "hps-4wide"], "two cores with two contexts"),
        (["--core", "instruction"], "a context of its own"),
        (["--only", "figure7"], "--only"),
    ] {
        let run = hps.run(&[&["reproduce", "shim-2015"][..], &options].concat());
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(why), "{options:?}: {}", run.stderr);
    }
}

#[test]
fn an_observer_beside_a_program_says_what_it_costs_and_sees() {
    let hps = Hps::new();
    let path = hps.path("rounds");
    std::fs::write(&path, elf(&rounds("div t1, t1, s2"))).expect("an executable");
    for options in [
        &["--ipc"][..],
        &["--placement", "cmp", "--sleep", "500", "--ipc"],
    ] {
        let run = hps.run(&[&["shim", "simulate"], options, &[&path]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        for what in [
            "overhead",
            "kept by double-time",
            "IPC by kept samples",
            "function of",
        ] {
            assert!(text.contains(what), "{what}: {text}");
        }
    }
    // A loop that calls nothing has a tag of its own.
    for isa in ["riscv64", "alpha"] {
        let begin = ["--max-instructions", "500000"];
        let args = ["shim", "simulate", "--loops", "--wait", "30", "--isa", isa];
        let args = [&args[..], &begin, &["bwt"]].concat();
        let run = hps.run(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let (_, heads) = text.split_once("loop head, or").expect("a table of places");
        // In the middle of its function, to which nothing returns there.
        let inner = heads.lines();
        let inner = inner.filter(|line| line.contains("_quicksort+0x") && !line.contains("+0x0 "));
        let shares = inner.filter_map(|line| line.split_whitespace().last());
        let share: f64 = shares
            .filter_map(|share| share.trim_end_matches('%').parse::<f64>().ok())
            .sum();
        assert!(share > 10.0, "{isa}: {text}");
    }
    for (options, why) in [
        (["--machine", "hps-4wide"], "chip.contexts is 1"),
        (["--wait=1", "--sleep=1"], "cannot be used with"),
        (["--ipc", "--machine=smt-2"], "has to select"),
    ] {
        let run = hps.run(&[&["shim", "simulate"][..], &options, &[&path]].concat());
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(why), "{options:?}: {}", run.stderr);
    }
}
