//! Threads that contend for cache lines on chips with several cores: what that costs, against the machine's keys, and who is
//! named for it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::build::{Isa, build};
use super::support::Hps;

/// `cmp-4` with eight cores, and the same cores with one second level, which snoop.
const MACHINES: [(&str, &str); 2] = [
    (
        "directory.ron",
        r#"(name: "directory", base: "cmp-4", chip: (cores: 8))"#,
    ),
    (
        "snooping.ron",
        r#"(name: "snooping", base: "cmp-4", chip: (cores: 8, l2: Shared, coherence: Snooping))"#,
    ),
];

/// Operations of a thread.
const OPERATIONS: u64 = 60;

/// Measurements of a run of the program: cycles of the slowest thread by kind and number of threads. And its statistics.
struct Measured {
    cycles: BTreeMap<(char, u64), u64>,
    all: Value,
}

impl Measured {
    fn of(isa: Isa, machine: (&str, &str), threads: u64, kinds: &str) -> Measured {
        let most = format!("-DTHREADS={threads}");
        let program = build(isa, "contention.c", &["-O2", "-g", "-pthread", &most]);
        let hps = Hps::new();
        let (machine, keys) = machine;
        std::fs::write(hps.path(machine), keys).expect("a machine");
        let operations = OPERATIONS.to_string();
        let run = hps.run(&[
            "run",
            "--machine",
            machine,
            "--by-function",
            "--json=s.json",
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

    /// Cycles of a contended line from core to core: the transfer, and its beats on the bus to level 1.
    fn hand_over_cycles(&self) -> f64 {
        let key = |value: &Value| value.as_u64().expect("a number");
        let memory = &self.all["machine"]["configuration"]["memory"];
        let beats = key(&memory["l1d"]["line_bytes"])
            .div_ceil(key(&memory["l1_l2_bus"]["bytes_per_cycle"]));
        self.chip_key("transfer_cycles") + beats as f64
    }

    fn chip_key(&self, name: &str) -> f64 {
        let chip = &self.all["machine"]["configuration"]["chip"];
        chip[name].as_f64().expect("a number")
    }
}

#[test]
fn a_contended_line_is_changed_once_a_transfer_whatever_the_cores() {
    for isa in Isa::BOTH {
        for machine in MACHINES {
            let measured = Measured::of(isa, machine, 4, "saAlL");
            let hand_over = measured.hand_over_cycles();
            for threads in 2..=4 {
                // One word, and words of one line: each operation takes the line from another core. The first and last
                // operations of a thread may find it alone.
                for kind in ['s', 'a'] {
                    let apart = measured.apart(kind, threads);
                    // Alpha's loops of two instructions are begun again where another core comes between them.
                    assert!(
                        apart > 0.9 * hand_over && (isa == Isa::Alpha || apart < 1.5 * hand_over),
                        "{isa:?} {machine:?} {kind} {threads}: {apart} of {hand_over}"
                    );
                }
                // Plain stores: the one that waits for the line, and those that follow it within the time for which the
                // line is kept.
                let at_once = 1.0 + measured.chip_key("keep_cycles");
                let apart = measured.apart('l', threads);
                assert!(
                    apart > 0.9 * hand_over / at_once && apart < hand_over,
                    "{isa:?} {machine:?} {threads}: {apart} of {hand_over} for {at_once}"
                );
                // A line each: nobody waits.
                for (contended, apart, ratio) in [('a', 'A', 2.0), ('l', 'L', 1.5)] {
                    let contended = measured.of_kind(contended, threads) as f64;
                    let apart = measured.of_kind(apart, threads) as f64;
                    assert!(
                        contended > ratio * apart,
                        "{isa:?} {machine:?} {threads}: {contended}, {apart}"
                    );
                }
            }
        }
    }
}

/// Whatever threads do with a line, its transfers follow one another.
#[test]
fn transfers_of_a_line_take_no_more_than_the_run() {
    for machine in MACHINES {
        let measured = Measured::of(Isa::Riscv64, machine, 4, "lsr");
        let cycles = measured.all["core"]["cycles"].as_f64().expect("cycles");
        let lines = measured.all["contended_lines"].as_array().expect("lines");
        let mut transfers = lines.iter().map(|line| line["transfer_events"].as_f64());
        let most = transfers.next().flatten().expect("a line");
        let taken = most * measured.chip_key("transfer_cycles");
        assert!(
            taken > 0.1 * cycles && taken < cycles,
            "{machine:?}: {taken} {cycles}"
        );
    }
}

#[test]
fn waiting_in_a_queue_takes_as_long_however_many_wait() {
    for machine in MACHINES {
        let measured = Measured::of(Isa::Riscv64, machine, 8, "tm");
        let queue = |threads| measured.apart('m', threads);
        let set = |threads| measured.apart('t', threads);
        for threads in 4..=8 {
            let (queue_of_four, queue) = (queue(4), queue(threads));
            assert!(
                queue < set(threads) && (queue / queue_of_four - 1.0).abs() < 0.05,
                "{machine:?} {threads}: {queue} {}",
                set(threads)
            );
        }
        assert!(set(8) > 1.4 * set(4), "{machine:?}: {} {}", set(4), set(8));
    }
}

#[test]
fn statistics_name_the_lines_that_contend_and_the_instructions() {
    let measured = Measured::of(Isa::Riscv64, MACHINES[0], 4, "a");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let number = |value: &Value| value.as_u64().expect("a number");
    let line = &measured.all["contended_lines"][0];
    // Two, three and four threads; each of their operations is a transfer but for a few at the ends.
    let operations = 9 * OPERATIONS;
    let transfers = number(&line["transfer_events"]);
    assert!(
        transfers > operations * 9 / 10 && transfers <= operations + 20,
        "{transfers} of {operations}"
    );
    for (core, of_core) in list(&line["cores"]).iter().enumerate() {
        assert_eq!(number(&of_core["number"]), core as u64);
        let offsets: Vec<u64> = list(&of_core["offsets"]).iter().map(number).collect();
        assert!(offsets.contains(&(8 * core as u64)), "{core}: {offsets:?}");
    }
    for one in &list(&line["instructions"])[..4] {
        let place = one["place"].as_str().expect("a place");
        assert_eq!(one["kind"], "atomic");
        assert_eq!(number(&one["offset"]), 8 * number(&one["core"]));
        assert!(
            place.starts_with("operate+") && place.contains("contention.c:"),
            "{place}"
        );
        assert!(number(&one["wait_cycles"]) > number(&one["request_events"]) * 30);
    }
    // The function that waits has the cycles, by their cause.
    let functions = list(&measured.all["by_function"]);
    let operate = functions.iter().find(|f| f["function"] == "operate");
    let parts = list(&operate.expect("a function")["stack"]["parts"]);
    let largest = parts.iter().max_by_key(|part| part["slots"].as_u64());
    assert_eq!(largest.expect("a part")["cause"], "coherence");
}
