//! Dependences, search and the overview of the time line.

use super::*;
use crate::protocol::{Sought, SourceView};

fn rows(session: &mut Session, only_committed: bool) -> Vec<Row> {
    let request = Request::Rows {
        first: 0,
        count: 5000,
        only_committed,
    };
    match session.answer(request) {
        Answer::Rows { rows } => rows,
        other => panic!("{other:?}"),
    }
}

/// Random branches over loads, stores and products, so that there are wrong paths and values in flight.
const MIXED: &str = "
_start: li s0, 120
        la s1, cells
        li s2, 88172645
loop:   slli t0, s2, 13
        xor s2, s2, t0
        srli t0, s2, 7
        xor s2, s2, t0
        andi t1, s2, 1
        beqz t1, even
        mul t2, s2, t1
        sd t2, 0(s1)
even:   ld t3, 0(s1)
        add t4, t4, t3
        addi s0, s0, -1
        bnez s0, loop
        li a7, 93
        ecall
        .data
cells:  .zero 64
";

#[test]
fn sources_are_the_last_writers_of_the_program() {
    let (mut session, summary) = started(assembly(MIXED));
    let all = rows(&mut session, true);
    assert_eq!(all.len() as u64, summary.committed_rows);
    assert!(all.iter().all(|row| !row.squashed));
    // The second implementation: committed rows are the program's order, and the text says what each writes.
    let mut writer: BTreeMap<String, u64> = BTreeMap::new();
    let (mut checked, mut forwarded) = (0, 0);
    for row in &all {
        for SourceView {
            row: from,
            register,
            ready,
            ..
        } in &row.sources
        {
            if register == "memory" {
                let store = all.iter().find(|one| one.index == *from);
                let store = store.expect("a store that committed");
                assert_eq!(store.address, row.address);
                forwarded += 1;
                continue;
            }
            assert_eq!(
                writer.get(register),
                Some(from),
                "{} reads {register}",
                row.text
            );
            let is_data = row.text.starts_with("sd");
            let (ready, execute) = (ready.expect("it committed"), row.execute);
            assert!(is_data || execute.is_none_or(|at| at >= ready), "{row:?}");
            checked += 1;
        }
        let (name, operands) = row.text.split_once(' ').unwrap_or((&row.text, ""));
        if !matches!(name, "sd" | "beq" | "bne" | "beqz" | "bnez" | "ecall") {
            let to = operands.split(',').next().unwrap_or_default().trim();
            writer.insert(to.to_owned(), row.index);
        }
    }
    assert!(checked > 500 && forwarded > 50, "{checked} {forwarded}");
}

#[test]
fn a_wrong_path_reads_what_stands_in_front_of_its_branch() {
    let (mut session, _) = started(assembly(MIXED));
    let all = rows(&mut session, false);
    let wrong: Vec<&Row> = all.iter().filter(|row| row.squashed).collect();
    assert!(wrong.len() > 50, "{}", wrong.len());
    let right = all.iter().filter(|row| !row.squashed);
    for source in right.flat_map(|row| &row.sources) {
        assert!(!all[source.row as usize].squashed, "{source:?}");
    }
    assert!(wrong.iter().any(|row| !row.sources.is_empty()));
}

#[test]
fn words_numbers_and_the_longest_wait_are_found() {
    let (mut session, _) = started(assembly(MIXED));
    let all = rows(&mut session, false);
    let mut seek = |from, backwards, what| {
        let request = Request::Seek {
            from,
            backwards,
            only_committed: true,
            what,
        };
        match session.answer(request) {
            Answer::Sought { row } => row.map(|row| row.index),
            other => panic!("{other:?}"),
        }
    };
    let text = |text: &str| Sought::Text {
        text: text.to_owned(),
    };
    let fits = |row: &&Row| !row.squashed && row.text.starts_with("mul");
    let first = all.iter().find(fits).map(|row| row.index);
    assert_eq!(seek(0, false, text("MUL ")), first);
    let last = all.iter().rev().find(fits).map(|row| row.index);
    assert_eq!(seek(all.len() as u64, true, text("mul ")), last);
    assert_eq!(seek(0, false, text("#12")), Some(12));
    assert_eq!(seek(0, false, text("fdiv")), None);
    // The first instruction waits for the cold instruction cache longer than any other.
    let wait = seek(0, false, Sought::LongestWait { rank: 0 });
    assert_eq!(wait, Some(0));
    assert_eq!(seek(0, false, Sought::LongestWait { rank: 100_000 }), None);
}

#[test]
fn an_overview_counts_each_cycle_once() {
    let (mut session, summary) = started(assembly(MIXED));
    for parts in [1, 7, 4096] {
        let request = Request::Overview {
            first: 0,
            end: summary.cycles,
            parts,
            context: 0,
        };
        let Answer::Overview { parts: found } = session.answer(request) else {
            panic!("no overview");
        };
        assert_eq!(found.len() as u64, parts);
        let sum = |of: fn(&crate::protocol::Share) -> u64| found.iter().map(of).sum::<u64>();
        let all = [
            sum(|p| p.computing),
            sum(|p| p.stalled),
            sum(|p| p.flushed),
            sum(|p| p.drained),
        ];
        assert_eq!(all.iter().sum::<u64>(), summary.cycles);
        assert!(all.iter().all(|&cycles| cycles > 0), "{all:?}");
    }
    let view = ask!(
        session,
        Request::Cycle {
            cycle: summary.steady,
            context: 0
        },
        Answer::Cycle
    );
    let heads = view
        .committed
        .iter()
        .filter(|row| row.text.starts_with("slli"));
    assert_eq!(heads.count(), 1);
}

#[test]
fn states_are_those_of_their_cycles() {
    let (mut session, summary) = started(example(BRANCHES, "wide-8"));
    let request = Request::States {
        first: 0,
        count: summary.cycles,
        context: 0,
    };
    let states = match session.answer(request) {
        Answer::States { states } => states,
        other => panic!("{other:?}"),
    };
    assert!(states.iter().any(|one| one.cause == "mispredict"));
    for cycle in (1..summary.cycles).step_by(11) {
        let view = ask!(session, Request::Cycle { cycle, context: 0 }, Answer::Cycle);
        let mut spans = states.iter();
        let span = spans.find(|one| (one.first..one.end).contains(&cycle));
        let said = span.map(|one| format!("{}: {}", one.state, one.cause));
        assert_eq!(said.unwrap_or_else(|| "computing".to_owned()), view.state);
    }
}
