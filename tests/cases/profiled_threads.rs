//! HPS on programs with threads: tables of hardware contexts, of threads, of all.

use std::collections::BTreeMap;

use serde_json::Value;

use super::build::{Isa, build};
use super::support::Hps;

/// Counts of a table: events by function, of those that threads run.
type Counts = BTreeMap<String, u64>;

/// All events are sampled. The tables of a profile of the program, and whose they are.
fn tables(isa: Isa, options: &[&str]) -> Vec<(String, Counts)> {
    let program = build(isa, "profiled_threads.c", &["-O1", "-pthread"]);
    let hps = Hps::new();
    let all = [
        "collect",
        "--kind",
        "method",
        "--burst",
        "1",
        "--one-in",
        "1",
        "--json=p.json",
    ];
    let run = hps.run(&[&all[..], options, &["--", &program]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = std::fs::read_to_string(hps.path("p.json")).expect("a profile");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let of_threads = |member: &Value| {
        let name = member["member"].as_str()?.split(' ').next()?.to_owned();
        let is_known = name == "leaf" || name.starts_with("work_");
        is_known.then(|| Some((name, member["weight"].as_u64()?)))?
    };
    let table = |table: &Value| {
        let owner = table["table_of"].as_str().expect("an owner").to_owned();
        (
            owner,
            list(&table["members"])
                .iter()
                .filter_map(of_threads)
                .collect(),
        )
    };
    list(&document["tables"]).iter().map(table).collect()
}

fn sum<'a>(tables: impl IntoIterator<Item = &'a (String, Counts)>) -> Counts {
    let mut sum = Counts::new();
    for (_, counts) in tables {
        for (name, count) in counts {
            *sum.entry(name.clone()).or_default() += count;
        }
    }
    sum
}

#[test]
fn each_thread_has_the_table_of_what_it_does() {
    for (isa, options) in [
        (Isa::Riscv64, &["--tables", "thread"][..]),
        (Isa::Alpha, &["--tables", "thread"]),
        (Isa::Riscv64, &["--tables", "thread", "--machine", "smt-2"]),
        (
            Isa::Riscv64,
            &["--tables", "thread", "--machine", "hps-4wide"],
        ),
    ] {
        let tables = tables(isa, options);
        assert_eq!(tables.len(), 5, "{options:?}: {tables:?}");
        assert!(tables[0].1.is_empty(), "the first thread works on nothing");
        for (number, (owner, counts)) in tables[1..].iter().enumerate() {
            let calls = 1000 * (number as u64 + 1);
            let names: Vec<&str> = counts.keys().map(String::as_str).collect();
            assert_eq!(
                names,
                ["leaf", &format!("work_{number}")],
                "{options:?}: {owner}"
            );
            assert_eq!(counts["leaf"], calls, "{options:?}: {owner}");
        }
    }
}

#[test]
fn contexts_have_tables_that_make_the_whole_profile() {
    let threads = tables(Isa::Riscv64, &["--tables", "thread"]);
    let whole = sum(&threads);
    assert_eq!(whole["leaf"], 10_000);
    for machine in ["smt-2", "cmp-4"] {
        let tables = tables(Isa::Riscv64, &["--machine", machine]);
        let busy = tables
            .iter()
            .filter(|(_, counts)| counts.contains_key("leaf"))
            .count();
        assert!(busy > 1, "{machine}: {tables:?}");
        assert!(
            tables
                .iter()
                .all(|(owner, _)| owner.starts_with("context "))
        );
        assert_eq!(sum(&tables), whole, "{machine}");
    }
}

#[test]
fn what_cannot_be_shared_says_so() {
    let program = build(Isa::Riscv64, "profiled_threads.c", &["-O1", "-pthread"]);
    let hps = Hps::new();
    let shared = [
        "collect",
        "--kind",
        "method",
        "--tables",
        "shared",
        "--machine",
        "cmp-4",
        "--",
    ];
    let run = hps.run(&[&shared[..], &[&program]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    // All contexts together: less would be the time of the first one alone.
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(!text.contains("overhead -"), "{text}");
    let streams = [
        "collect",
        "--kind",
        "data-stream",
        "--machine",
        "cmp-4",
        "--",
    ];
    let run = hps.run(&[&streams[..], &[&program]].concat());
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("one buffer"), "{}", run.stderr);
    let change = [
        "collect",
        "--change",
        "1000:1:10",
        "--machine",
        "cmp-4",
        "--",
    ];
    let run = hps.run(&[&change[..], &[&program]].concat());
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("--change goes with"), "{}", run.stderr);
}
