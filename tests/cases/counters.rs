//! Counters that programs read.

use super::build::{Isa, MODES, build};
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
