//! Stores: killed, damaged, shared.

use super::*;
use hps_profile::ProfileKind;

fn row(id: &str) -> Row {
    Row {
        id: id.to_string(),
        version: "0".into(),
        program: "p".into(),
        program_hash: String::new(),
        root_hash: None,
        input: "small".into(),
        isa: "riscv64".into(),
        profile: ProfileKind::Method,
        burst: 1,
        sparsity: 99,
        one_in: 100,
        machine: "m".into(),
        machine_fingerprint: String::new(),
        accuracy: None,
        phases: None,
        timing: None,
        failure: None,
    }
}

#[test]
fn a_killed_write_loses_only_its_own_row() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    let mut store = Store::open(&path).expect("new store");
    store.append(&row("a")).expect("append");
    store.append(&row("b")).expect("append");
    drop(store);
    let text = std::fs::read(&path).expect("read");
    std::fs::write(&path, &text[..text.len() - 7]).expect("cut");
    let mut store = Store::open(&path).expect("reopened");
    assert!(store.get("a").is_some() && store.get("b").is_none());
    store.append(&row("c")).expect("append");
    drop(store);
    assert_eq!(Store::open(&path).expect("again").len(), 2);
}

#[test]
fn damage_in_the_middle_is_refused_with_its_line() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    std::fs::write(&path, "{\"nonsense\": 1}\n{}\n").expect("write");
    let e = Store::open(&path).expect_err("damaged");
    assert!(e.to_string().contains("rows.jsonl:1"), "{e}");
}

#[test]
fn a_changed_digit_is_found() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    let mut store = Store::open(&path).expect("new store");
    for id in ["a", "b"] {
        store.append(&row(id)).expect("append");
    }
    drop(store);
    let text = std::fs::read_to_string(&path).expect("read");
    let changed = text.replacen("\"one_in\":100", "\"one_in\":900", 1);
    assert_ne!(text, changed);
    std::fs::write(&path, changed).expect("write");
    let said = Store::open(&path).expect_err("changed").to_string();
    assert!(
        said.contains("rows.jsonl:1") && said.contains("changed"),
        "{said}"
    );
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    let mut store = Store::open(&path).expect("new store");
    let said = Store::open(&path).expect_err("locked").to_string();
    let me = format!("process {}", std::process::id());
    assert!(said.contains(&me) && said.contains("--out"), "{said}");
    // The refused one has changed nothing.
    store.append(&row("a")).expect("append");
    drop(store);
    assert_eq!(Store::open(&path).expect("given back").len(), 1);
}

/// Many openers beside one another: whoever has the store appends one row and gives it back. No row is lost,
/// and nobody finds a damaged store.
#[test]
fn openers_in_turn_lose_nothing() {
    const OPENERS: usize = 6;
    const ROWS: usize = 40;
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    let append = |id: String| loop {
        match Store::open(&path) {
            Ok(mut store) => break store.append(&row(&id)).expect("append"),
            Err(StoreError::Locked { .. }) => std::thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    };
    std::thread::scope(|scope| {
        for opener in 0..OPENERS {
            scope.spawn(move || (0..ROWS).for_each(|n| append(format!("{opener}-{n}"))));
        }
    });
    assert_eq!(Store::open(&path).expect("whole").len(), OPENERS * ROWS);
}

#[test]
fn failed_points_run_again() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("rows.jsonl");
    let mut store = Store::open(&path).expect("new store");
    let mut failed = row("a");
    failed.failure = Some("why".into());
    store.append(&failed).expect("append");
    drop(store);
    assert!(Store::open(&path).expect("again").get("a").is_none());
}
