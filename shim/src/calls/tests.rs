//! Stacks and rings as a program's library writes them.

use super::*;
use crate::region::{ENTRY_GONE, ENTRY_MORE};

fn push(slot: &Slot, function: u64) {
    let word = slot.depth.load(Ordering::Relaxed);
    slot.depth
        .store(word.wrapping_add(ENTRY_MORE), Ordering::Relaxed);
    slot.stack[depth_of(word)].store(function | MARK, Ordering::Relaxed);
}

fn pop(slot: &Slot) {
    let word = slot.depth.load(Ordering::Relaxed);
    slot.depth
        .store(word.wrapping_add(ENTRY_GONE), Ordering::Relaxed);
}

#[test]
fn each_entry_of_a_stack_is_found_once() {
    let region = Region::create().expect("a region");
    let slot = region.take_slot().expect("a slot");
    let mut found = FoundCalls::default();
    for function in [0x10, 0x20, 0x30] {
        push(slot, function);
    }
    found.take_stack(slot, usize::MAX);
    found.take_stack(slot, usize::MAX);
    let expected = [((0, 0x10), 1), ((0x10, 0x20), 1), ((0x20, 0x30), 1)];
    assert_eq!(found.calls, expected.into());
    // A second call of 0x30 is another one; the entries below it are not.
    pop(slot);
    push(slot, 0x30);
    found.take_stack(slot, usize::MAX);
    assert_eq!(found.calls[&(0x20, 0x30)], 2);
    assert_eq!(found.total(), 4);
    assert_eq!(found.changed, 0);
}

#[test]
fn a_limit_of_depth_leaves_lower_entries_new() {
    let region = Region::create().expect("a region");
    let slot = region.take_slot().expect("a slot");
    let mut found = FoundCalls::default();
    for function in [0x10, 0x20, 0x30, 0x40] {
        push(slot, function);
    }
    found.take_stack(slot, 2);
    assert_eq!(found.calls, [((0x20, 0x30), 1), ((0x30, 0x40), 1)].into());
    // Entries that were seen lie above those that were not, and end the next walk.
    found.take_stack(slot, 4);
    assert_eq!(found.total(), 2);
}

#[test]
fn callers_of_a_sequence_are_those_that_it_tells() {
    let rings = Rings::create(4096).expect("rings");
    let words = [
        0x10,
        0x20,
        0x20 | RETURNS,
        0x30,
        0x30 | RETURNS,
        0x10 | RETURNS,
        0x40,
    ];
    rings.fill(0, &words);
    let mut found = FoundCalls::default();
    found.take_ring(&rings, 0, Collector::Sequence(4096), true);
    assert_eq!(found.calls, [((0x10, 0x20), 1), ((0x10, 0x30), 1)].into());
    // The first call, and the one behind the return of the outermost known frame.
    assert_eq!(found.orphans, 2);
}

#[test]
fn pairs_are_callers_and_callees() {
    let rings = Rings::create(4096).expect("rings");
    rings.fill(5, &[0, 0x10, 0x10, 0x20, 0x10, 0x20]);
    let mut found = FoundCalls::default();
    found.take_ring(&rings, 5, Collector::Pairs(4096), true);
    assert_eq!(found.calls, [((0, 0x10), 1), ((0x10, 0x20), 2)].into());
}

#[test]
fn names_are_read_and_written() {
    for name in ["stack-2", "stack-full", "pairs-8k", "sequence-1024k"] {
        let collector: Collector = name.parse().expect("a collector");
        assert_eq!(collector.to_string(), name);
    }
    for name in [
        "stack", "stack-0", "pairs-3k", "pairs-8", "rings-8k", "pairs-2k",
    ] {
        let said = name.parse::<Collector>().expect_err("no collector");
        assert!(said.contains("finds no calls"), "{said}");
    }
}
