//! Leftovers of an observation in this process: none. One test alone in its process, so
//! that descriptors and threads can be counted.

#[path = "../../tests/support/left_out.rs"]
mod left_out;

use std::collections::BTreeMap;
use std::ffi::OsString;

use hps_shim::machine::Machine;
use hps_shim::plan::Plan;
use hps_shim::session::Request;
use hps_shim::spawn::Start;
use hps_shim::{ShimError, affinity};
use left_out::left_out;

fn descriptors() -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        if let Ok(target) = std::fs::read_link(entry.path()) {
            *kinds.entry(target.display().to_string()).or_default() += 1;
        }
    }
    // The listing's own.
    kinds.retain(|kind, _| !kind.ends_with("/fd"));
    kinds
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn affinity_descriptors_and_threads_are_as_before_also_after_a_crash() {
    let machine = Machine::find().unwrap();
    if machine.allowed.len() < 2 {
        left_out(
            "what observers leave behind",
            "only one CPU may be used, and the observer needs another",
        );
        return;
    }
    let events = match machine.software_refused {
        None => vec!["task-clock:u".parse().unwrap()],
        Some(_) => Vec::new(),
    };
    let request = Request {
        plan: Plan {
            events,
            may_interrupt: true,
            ..Plan::default()
        },
        ..Request::default()
    };
    let state = || (affinity::allowed().unwrap(), descriptors(), threads());
    let before = state();
    for text in ["sleep 0.05; kill -ABRT $$", "sleep 0.05", "exit 3"] {
        let start = Start {
            command: ["sh", "-c", text].map(OsString::from).to_vec(),
            ..Start::default()
        };
        // A shell writes no tags, but counters are there: where they are, there are samples.
        match request.run(&machine, start) {
            Ok(session) => assert!(session.watched.account.balances()),
            Err(error) => assert!(
                matches!(error, ShimError::NoTags { .. }) || text.starts_with("exit"),
                "{text}: {error}"
            ),
        }
        assert_eq!(state(), before, "{text}");
    }
    let nowhere = Start {
        command: vec!["/no/such".into()],
        ..Start::default()
    };
    assert!(request.run(&machine, nowhere).is_err());
    assert_eq!(state(), before);
}
