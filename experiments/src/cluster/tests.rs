//! Parts that are killed, overlap and come in any order, and stores that do not belong together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hps_isa::random::Random;
use hps_lab::{Program, TimedMachine};

use super::*;
use crate::measurement::{Measurement, Unit, UnitRecord, run_units};
use crate::spec::SweepSpec;
use crate::store::{Records, StoreError};

/// Environment variable with the order to the process of a part: folder, part, number of parts.
const PART: &str = "HPS_TEST_PART";

pub(super) fn program() -> Program {
    let spec = SweepSpec {
        programs: vec!["bwt".to_string()],
        ..SweepSpec::default()
    };
    let plan = crate::Plan::new(&spec, Path::new(".")).expect("a program of the project");
    plan.programs[0].clone()
}

/// A run of 20 units that take some time each, of which two fail.
fn run(keep: &Keep, machine: &TimedMachine) -> Result<Vec<UnitRecord>, StoreError> {
    let program = &program();
    let unit = |key: u32| Unit {
        study: "test",
        title: format!("unit {key}"),
        key: serde_json::json!({ "key": key }),
        program,
        effort: Effort::runs(0.0, f64::from(1 + key % 5), machine.core),
        run: Box::new(move || {
            std::thread::sleep(Duration::from_micros(300));
            match key {
                7 | 8 => Err(format!("unit {key} always fails")),
                _ => {
                    let value = 1.0 / f64::from(key + 3);
                    Ok(vec![Measurement::new(program, "hps", "cycles", value)])
                }
            }
        }),
    };
    let units: Vec<_> = (0..20).map(unit).collect();
    let store = keep.units()?;
    let records = run_units(&units, machine, &store, &())?;
    keep.tidy(store)?;
    Ok(records)
}

fn carry_out(order: &Order, folder: &Path) -> Came<Vec<UnitRecord>> {
    let machine = TimedMachine::default();
    let came = order.carry_out(folder, |keep| Ok::<_, ClusterError>(run(keep, &machine)?));
    came.unwrap_or_else(|e| panic!("{e}"))
}

/// A plan of the run with costs that were not measured.
fn plan(folder: &Path) {
    let (keep, agenda) = Keep::nothing(folder);
    run(&keep, &TimedMachine::default()).expect("an agenda");
    let agenda = agenda.lock().expect("filled");
    let size = Size {
        instructions: 1000,
        memory_bytes: 0,
    };
    plan_file::write_sized(&agenda, &folder.join(PLAN_FILE), |_| (vec![size], 1.0))
        .expect("a plan");
}

/// No test by itself: what the process of a part does.
#[test]
fn process_of_a_part() {
    let Ok(told) = std::env::var(PART) else {
        return;
    };
    let mut words = told.split(' ');
    let folder = PathBuf::from(words.next().expect("a folder"));
    let part = words.next().expect("a part").parse().expect("I/N");
    carry_out(&Order::Part(part), &folder);
}

fn process(folder: &Path, number: usize, of: usize) -> Child {
    let told = format!("{} {number}/{of}", folder.display());
    Command::new(std::env::current_exe().expect("the test"))
        .args(["--exact", "cluster::tests::process_of_a_part"])
        .env(PART, told)
        .env("RAYON_NUM_THREADS", "2")
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

fn shuffle<T>(draws: &mut Random, all: &mut [T]) {
    for at in (1..all.len()).rev() {
        all.swap(at, draws.below(at as u64 + 1) as usize);
    }
}

fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join(UNITS)).expect("a store")
}

/// 100 cases: the plan is cut twice, into different numbers of parts; processes of parts are killed at random moments,
/// go on or do not; stores are joined in random order, some twice, some too early. The result has the bytes of one run.
#[test]
fn parts_that_are_killed_and_overlap_join_into_the_bytes_of_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = folder.path().join("one");
    let Came::Results(records) = carry_out(&Order::Whole, &one) else {
        panic!("a whole run has results");
    };
    let wanted = bytes(&one);
    let planned = folder.path().join("planned");
    plan(&planned);
    let mut killed = 0;
    for case in 0..100 {
        let mut draws = Random::new(case);
        let of = [1 + draws.below(3) as usize, 1 + draws.below(5) as usize];
        let out = folder.path().join(format!("{case}"));
        std::fs::create_dir_all(&out).expect("a folder");
        std::fs::copy(planned.join(PLAN_FILE), out.join(PLAN_FILE)).expect("the plan");
        let parts = (1..=of[0]).map(|n| (n, of[0]));
        let mut parts: Vec<_> = parts.chain((1..=of[1]).map(|n| (n, of[1]))).collect();
        shuffle(&mut draws, &mut parts);
        // Half of the second cut is left out.
        parts.truncate(of[0] + of[1] / 2);
        parts.dedup();
        for pair in parts.chunks(2) {
            let mut running: Vec<Child> = pair.iter().map(|p| process(&out, p.0, p.1)).collect();
            for child in &mut running {
                if draws.below(2) == 0 {
                    std::thread::sleep(Duration::from_micros(draws.below(12_000)));
                    child.kill().expect("SIGKILL");
                    killed += 1;
                }
            }
            for child in &mut running {
                child.wait().expect("it ends");
            }
        }
        let mut stores = part_folders(&out).expect("folders");
        shuffle(&mut draws, &mut stores);
        let twice = stores.first().cloned();
        stores.extend(twice);
        let (early, late) = stores.split_at(stores.len() / 2);
        merge(&out, early).expect("some of the stores");
        merge(&out, late).expect("the others");
        // A new plan has the missing pieces; failures of the parts are tried again there.
        let done = carry_out(&Order::Whole, &out);
        assert!(
            matches!(done, Came::Results(found) if found == records),
            "case {case}"
        );
        assert_eq!(bytes(&out), wanted, "case {case}");
    }
    assert!(killed >= 50, "{killed}");
}

#[test]
fn parts_alone_make_a_whole_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, parts) = (folder.path().join("one"), folder.path().join("parts"));
    let Came::Results(wanted) = carry_out(&Order::Whole, &one) else {
        panic!("a whole run has results");
    };
    plan(&parts);
    let status = || match carry_out(&Order::Status, &parts) {
        Came::Status(status) => (status.done, status.failed.len(), status.missing.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(status(), (0, 0, 20));
    let mut pieces = 0;
    for number in [3, 1, 4, 2] {
        let part = Part { number, of: 4 };
        for _ in 0..2 {
            let Came::Part(done) = carry_out(&Order::Part(part), &parts) else {
                panic!("a part");
            };
            // The second time there is nothing left to do, and what failed is not tried again.
            assert_eq!(done.failed, store_of(&done.folder).1, "part {number}");
            pieces += done.pieces;
        }
        if number == 1 {
            let Came::Status(missing) = carry_out(&Order::Merge, &parts) else {
                panic!("half of it is missing");
            };
            assert!(!missing.is_whole());
        }
    }
    assert_eq!(pieces, 2 * 20);
    assert_eq!(status(), (18, 2, 0));
    assert!(matches!(carry_out(&Order::Merge, &parts), Came::Results(found) if found == wanted));
    assert_eq!(bytes(&parts), bytes(&one));
    let retried = carry_out(&Order::Retry(vec!["unit 7".to_string()]), &parts);
    assert!(matches!(retried, Came::Results(found) if found == wanted));
    assert_eq!(bytes(&parts), bytes(&one));
    let machine = TimedMachine::default();
    let refused = Order::Retry(vec!["unit 1".to_string()])
        .carry_out(&parts, |keep| Ok::<_, ClusterError>(run(keep, &machine)?))
        .expect_err("it did not fail")
        .to_string();
    assert!(refused.contains("unit 8"), "{refused}");
}

#[test]
fn status_names_what_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    plan(folder);
    let planned = PlanFile::read(&folder.join(PLAN_FILE)).expect("a plan");
    let part = Part { number: 1, of: 2 };
    let range = planned.part(part);
    let pieces = range.len();
    let ids = planned.ids[range].iter().map(|id| id.to_string());
    let own = folder.join(PARTS).join(part.folder(&planned.head.plan));
    let status = || match carry_out(&Order::Status, folder) {
        Came::Status(status) => status,
        other => panic!("{other:?}"),
    };
    // The part has begun its first piece, and holds the lock of its store.
    let store = Keep::part(&own, folder, ids.collect()).units();
    let mut store = store.expect("a store").into_inner().expect("unlocked");
    store.begin(&planned.ids[0]);
    let seen = status();
    assert_eq!(seen.running.len(), 1);
    assert!(seen.running[0].starts_with("unit 0 (test)"), "{seen:?}");
    assert_eq!((seen.done, seen.missing.len()), (0, 19));
    assert!(seen.parts[0].is_running && seen.parts[0].pieces == Some(pieces));
    // Whoever had begun it is gone.
    drop(store);
    let seen = status();
    assert!(seen.running.is_empty() && !seen.parts[0].is_running);
    assert_eq!(seen.missing.len(), 20);
}

/// Pieces done and failed in a part's store.
fn store_of(folder: &Path) -> (usize, usize) {
    let text = String::from_utf8(bytes(folder)).expect("text");
    let failed = text.lines().filter(|line| line.contains("always fails"));
    let failed = failed.count();
    (text.lines().count() - failed, failed)
}

#[test]
fn what_does_not_belong_together_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = folder.path().join("one");
    carry_out(&Order::Whole, &one);
    let before = bytes(&one);
    let refused = |other: &Path| {
        let error = merge(&one, &[other.to_path_buf()]).expect_err("refused");
        assert_eq!(bytes(&one), before, "nothing was changed");
        error.to_string()
    };
    let mut machine = TimedMachine::default();
    machine.config.window.rob_entries = 96;
    let other = folder.path().join("machine");
    run(&Keep::all(&other), &machine).expect("a run");
    let said = refused(&other);
    let rob = TimedMachine::default().config.window.rob_entries;
    let wanted = format!("window.rob_entries {rob} against 96");
    assert!(
        said.contains(&wanted) && said.contains("machine/units.jsonl:1"),
        "{said}"
    );
    // Records of another version, another program, and another result of the same piece.
    let mut changes: HashMap<&str, fn(&mut UnitRecord)> = HashMap::new();
    changes.insert("version 0.0.0", |r| r.version = "0.0.0".into());
    changes.insert("SHA-256", |r| r.program_hash = "0".repeat(64));
    changes.insert("another one", |r| r.measurements[0].value = 0.5);
    for (what, change) in changes {
        let other = folder.path().join(what);
        let store = Records::<UnitRecord>::look(&one.join(UNITS)).expect("a store");
        let records = run_units_of(&store);
        let mut changed = Records::open(&other.join(UNITS)).expect("a store");
        for mut record in records {
            change(&mut record);
            changed.append(&record).expect("written");
        }
        drop(changed);
        let said = refused(&other);
        assert!(
            said.contains(what.split(' ').next_back().expect("a word")),
            "{said}"
        );
    }
    // A plan for another machine.
    let planned = folder.path().join("planned");
    plan(&planned);
    let part = Order::Part(Part { number: 1, of: 2 });
    let said = part
        .carry_out(&planned, |keep| Ok::<_, ClusterError>(run(keep, &machine)?))
        .expect_err("another machine")
        .to_string();
    assert!(said.contains("rob_entries"), "{said}");
}

/// The records of a store that did not fail.
fn run_units_of(store: &Records<UnitRecord>) -> Vec<UnitRecord> {
    let (keep, agenda) = Keep::nothing(Path::new("nowhere"));
    run(&keep, &TimedMachine::default()).expect("an agenda");
    let agenda = agenda.lock().expect("filled");
    let ids = agenda.pieces.iter().map(|piece| &*piece.id);
    ids.filter_map(|id| store.get(id).cloned()).collect()
}

/// Lines with right checksums may still hold numbers that no plan has.
#[test]
fn a_forged_plan_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let planned = folder.path().join("planned");
    plan(&planned);
    let text = std::fs::read_to_string(planned.join(PLAN_FILE)).expect("the plan");
    let lines: Vec<serde_json::Value> = (text.lines())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let path = folder.path().join("forged.jsonl");
    let forge = |at: usize, key: &str, value: serde_json::Value| {
        let mut all = lines.clone();
        all[at][key] = value;
        let encoded = all.iter_mut().map(|line| {
            line.as_object_mut().expect("a record").remove("crc32");
            crate::store::line::encode(line).expect("a line")
        });
        std::fs::write(&path, encoded.collect::<String>()).expect("written");
        super::PlanFile::read(&path)
    };
    forge(1, "seconds", 2.5.into()).expect("a plan");
    let pieces = lines.len() - 1;
    for (at, key, value) in [
        (pieces, "needs", serde_json::json!([999_999_999, 1])),
        (1, "seconds", (-1.0).into()),
        (1, "seconds", 1e308.into()),
        (0, "seconds", 1e308.into()),
        (0, "shared", serde_json::json!([1e300])),
        (0, "plan", "../../../tmp/x".into()),
        (0, "plan", "$(touch x)00".into()),
    ] {
        let said = forge(at, key, value.clone())
            .expect_err("refused")
            .to_string();
        let place = format!("forged.jsonl:{}: ", at + 1);
        assert!(said.contains(&place), "{key} {value}: {said}");
    }
    let said = forge(0, "pieces", u64::MAX.into()).expect_err("refused");
    assert!(said.to_string().contains("not whole"), "{said}");
    assert!("1/99999999999".parse::<super::Part>().is_err());
}
