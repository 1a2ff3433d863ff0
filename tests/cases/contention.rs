//! Threads that contend for cache lines on chips with several cores: what that costs, against the machine's keys, and who is
//! named for it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::build::{Isa, build};
use super::support::Hps;

/// `cmp-4`, and the same cores with one second level, which snoop.
const MACHINES: [&str; 2] = ["cmp-4", "snooping.ron"];
const SNOOPING: &str =
    r#"(name: "snooping", base: "cmp-4", chip: (l2: Shared, coherence: Snooping))"#;

/// Operations of a thread.
const OPERATIONS: u64 = 60;

/// What a run of the program measured: cycles of the slowest thread by kind and number of threads. And its statistics.
struct Measured {
    cycles: BTreeMap<(char, u64), u64>,
    all: Value,
}

impl Measured {
    fn of(isa: Isa, machine: &str, kinds: &str) -> Measured {
        let program = build(isa, "contention.c", &["-O2", "-g", "-pthread"]);
        let hps = Hps::new();
        std::fs::write(hps.path("snooping.ron"), SNOOPING).expect("a machine");
        let operations = OPERATIONS.to_string();
        let run = hps.run(&[
            "run",
            "--machine",
            machine,
            "--by-function",
            "--stats-out",
            "s.json",
            "--",
            &program,
            &operations,
            kinds,
        ]);
        let text = run.expect_code(0);
        assert!(text.ends_with("counts are right\n"), "{text}");
        let mut cycles = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with("counts")) {
            let mut words = line.split(' ');
            let kind = words.next().and_then(|word| word.chars().next());
            let mut numbers = words.map(|word| word.parse::<u64>().expect("a number"));
            let threads = numbers.next().expect("threads");
            cycles.insert(
                (kind.expect("a kind"), threads),
                numbers.max().expect("cycles"),
            );
        }
        let text = std::fs::read_to_string(hps.path("s.json")).expect("statistics");
        let all = serde_json::from_str(&text).expect("JSON");
        Measured { cycles, all }
    }

    fn of_kind(&self, kind: char, threads: u64) -> u64 {
        self.cycles[&(kind, threads)]
    }

    /// Cycles from one operation to the next one, of all threads together.
    fn apart(&self, kind: char, threads: u64) -> f64 {
        self.of_kind(kind, threads) as f64 / (threads * OPERATIONS) as f64
    }

    /// What a contended line takes from core to core: the transfer, and its beats on the bus to level 1.
    fn hand_over_cycles(&self) -> f64 {
        let machine = &self.all["machine"]["configuration"];
        let key = |value: &Value| value.as_u64().expect("a number");
        let memory = &machine["memory"];
        let beats = key(&memory["l1d"]["line_bytes"])
            .div_ceil(key(&memory["l1_l2_bus"]["bytes_per_cycle"]));
        (key(&machine["chip"]["transfer_cycles"]) + beats) as f64
    }
}

#[test]
fn a_contended_word_is_changed_once_a_transfer_whatever_the_cores() {
    for isa in Isa::BOTH {
        for machine in MACHINES {
            let measured = Measured::of(isa, machine, "saA");
            let hand_over = measured.hand_over_cycles();
            for threads in 2..=4 {
                // One word, and words of one line: each operation takes the line from another core. The first and last
                // operations of a thread may find it alone.
                for kind in ['s', 'a'] {
                    let apart = measured.apart(kind, threads);
                    assert!(
                        apart > 0.9 * hand_over,
                        "{isa:?} {machine} {kind} {threads}: {apart} of {hand_over}"
                    );
                    // Alpha's loops of two instructions are begun again where another core comes between them.
                    assert!(
                        isa == Isa::Alpha || apart < 1.5 * hand_over,
                        "{machine} {kind} {threads}: {apart} of {hand_over}"
                    );
                }
                // A line each: nobody waits.
                let [contended, apart] = ['a', 'A'].map(|kind| measured.of_kind(kind, threads));
                assert!(
                    contended > 2 * apart,
                    "{isa:?} {machine} {threads}: {contended}, {apart}"
                );
            }
        }
    }
}

#[test]
fn four_cores_wait_in_a_queue_for_less_long() {
    let measured = Measured::of(Isa::Riscv64, "cmp-4", "tkm");
    let [set, ticket, queue] = ['t', 'k', 'm'].map(|kind| measured.of_kind(kind, 4));
    assert!(queue < set && queue < ticket, "{set}, {ticket}, {queue}");
}
