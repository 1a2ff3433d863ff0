//! Counters that programs read, and the date.

use super::build::{Isa, MODES, build, prints};
use super::support::{Hps, Run};

fn run(hps: &Hps, counters: &str, options: &[&str]) -> Run {
    let file = hps.path("counters.ron");
    let text = format!("(name: \"counters\", base: \"hps-4wide\", counters: ({counters}))");
    std::fs::write(&file, text).expect("a file is written");
    let program = build(Isa::Riscv64, "counters.c", &["-O2"]);
    hps.run(&[&["run", "--machine", &file], options, &["--", &program]].concat())
}

const SELECTED: &str =
    "selected: [\"instructions\", \"instructions of core\", \"l1d.read_miss_events\"]";

#[test]
fn programs_read_what_the_machine_selects_at_its_cost() {
    let hps = Hps::new();
    let mut cycles = Vec::new();
    for cost in ["", ", read_cycles: 25", ", waits_for_stores: false"] {
        let run = run(&hps, &format!("{SELECTED}{cost}"), &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let (apart, read) = text.trim().rsplit_once(' ').expect("words");
        assert_eq!(apart, "apart 1 1, misses 1, read in", "{text}");
        cycles.push(read.parse::<u64>().expect("a number"));
    }
    assert_eq!(cycles[1], cycles[0] + 25);
    assert!(cycles[2] <= cycles[0]);
}

#[test]
fn counters_that_are_not_selected_are_illegal_and_wrong_ones_refused() {
    let hps = Hps::new();
    let none = run(&hps, "read_cycles: 1", &[]);
    assert!(
        none.stderr.contains("illegal instruction"),
        "{}",
        none.stderr
    );
    for (counters, options, why) in [
        (
            "selected: [\"loads\"]",
            &[][..],
            "no event is called `loads`",
        ),
        (
            "selected: [\"instructions of processor 1\"]",
            &[],
            "there is no processor 1",
        ),
        (
            "selected: [\"instructions of me\"]",
            &[],
            "`me` is nobody's",
        ),
        (
            SELECTED,
            &["--core", "instruction"],
            "what its counters count",
        ),
    ] {
        let run = run(&hps, counters, options);
        assert_ne!(run.code, 0);
        assert!(run.stderr.contains(why), "{counters}: {}", run.stderr);
    }
}

#[test]
fn programs_count_themselves_with_perf_event_open() {
    const EXPECTED: &str = "open 1\nmore 4000\nfew 1\ndisabled 1\ngroup 48 2 1\ncounts 1 1\nshort -1 1\nown 1 1\nunknown 1\n";
    for isa in Isa::BOTH {
        let program = build(isa, "perf_self.c", &["-O2", "-pthread"]);
        for mode in [MODES[0], MODES[1], MODES[2], &["--machine", "cmp-4"]] {
            let run = Hps::new().run(&[&["run"], mode, &["--", &program]].concat());
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(text, EXPECTED, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

/// Lines of 64 bytes that the program loads, and pages of 4 KiB that they are in.
const LINES: i64 = 4096;
const PAGES: i64 = LINES / 64;

/// Counts of `perf_events.c` where the machine has all events: at least, and at most.
const EVENTS: [(&str, i64, i64); 7] = [
    ("branches", 10_000, 10_100),
    // A predictor is right about half of the tosses of a coin.
    ("tossed", 3_500, 6_500),
    ("loads", 10_000, 10_200),
    ("stores", 10_000, 10_200),
    ("misses", LINES, LINES + 100),
    ("pages", PAGES, PAGES + 20),
    // Once for each line that fetch comes to; the loop lies in one or two.
    ("fetches", 1, 25_000),
];

#[test]
fn programs_count_events_of_branches_and_caches_and_those_of_other_threads() {
    for isa in Isa::BOTH {
        let program = build(isa, "perf_events.c", &["-O2", "-pthread"]);
        for (mode, offered) in [
            (MODES[0], ""),
            (MODES[1], "all"),
            (MODES[2], ""),
            (&["--machine", "cmp-4"], "all"),
            (&["--machine", "big-little"], "all"),
            (&["--machine", "smt-2"], "branches"),
        ] {
            let run = Hps::new().run(&[&["run"], mode, &["--", &program]].concat());
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            let what = format!("{isa:?} {mode:?}: {text} {}", run.stderr);
            assert_eq!(run.code, 0, "{what}");
            let said = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_else(|| panic!("{name}: {what}")).trim()
            };
            for (name, least, most) in EVENTS {
                let is_offered = match offered {
                    "branches" => ["branches", "tossed"].contains(&name),
                    offered => offered == "all",
                };
                if is_offered {
                    let count: i64 = said(name).parse().expect(&what);
                    assert!((least..=most).contains(&count), "{name}: {what}");
                } else {
                    assert_eq!(said(name), "refused 1", "{what}");
                }
            }
            assert_eq!(said("nodes"), "refused 1", "{what}");
            assert_eq!((said("other"), said("nobody")), ("1", "1"), "{what}");
            assert!(run.stderr.contains("perf_event_open is refused"), "{what}");
        }
    }
}

#[test]
fn programs_take_samples_of_themselves_with_perf_event_open() {
    // 1,000 instructions are a period; the first loop has three times as many as the second one.
    const EXPECTED: &str = "mapped 1, twice 0\nfirst 60, second 20, wrong 0\nevents 1\nfits 1\nlost 1\nset 1 1 1 1\n\
                            three 3, the last 1, right 3\nlater 3 4\nno owner 1\nnothing 0\nwoken 1\nsome 1, early 0\n\
                            refused 1 1 1\nunmapped\nnever 1\n";
    for isa in Isa::BOTH {
        let program = build(isa, "perf_samples.c", &["-O2", "-pthread"]);
        for mode in [
            MODES[0],
            MODES[1],
            MODES[2],
            &["--machine", "cmp-4"],
            &["--machine", "smt-2"],
        ] {
            // The instruction-driven core looks at counters every 64 instructions.
            let expected = match mode == MODES[2] {
                true => &EXPECTED.replace("first 60, second 20", "first 59, second 21"),
                false => EXPECTED,
            };
            let run = Hps::new().run(&[&["run"], mode, &["--", &program]].concat());
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            assert_eq!(text, expected, "{isa:?} {mode:?}: {}", run.stderr);
        }
    }
}

/// Days since 1970 by hand: 365 to 1971; 30 * 365 + 7 = 10,957 to 2000, since seven of these years are leap years, and
/// 59 more to the 29th of February.
#[test]
fn a_run_begins_on_the_date_that_is_asked_for() {
    let day = 24 * 3600;
    let (second, leap) = ((365 * day).to_string(), (11_016 * day + 5).to_string());
    let dates: [(&[&str], &str); 3] = [
        (&["--start-time", &second], "1971-01-01 00:00:00 Friday"),
        (&["--start-time", &leap], "2000-02-29 00:00:05 Tuesday"),
        (&[], "2026-01-01 00:00:00 Thursday"),
    ];
    for (options, expected) in dates {
        let expected = format!("{expected}\nall clocks agree\n");
        prints("start_time.c", &["-O2"], options, &expected);
    }
    let run = Hps::new().run(&["run", "--start-time", "4102444801", "bwt"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--start-time"), "{}", run.stderr);
}
