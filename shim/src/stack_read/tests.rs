//! A model of the writer that moves between any two loads of the reader.

use std::cell::Cell;

use super::*;
use crate::region::{CHANGE, ENTRY_GONE, ENTRY_MORE};

/// One store of the writer.
#[derive(Debug, Clone, Copy)]
enum Store {
    Word(u64),
    Entry(usize, u64),
    Tag(u64),
}

/// Step of the program.
#[derive(Debug, Clone, Copy)]
enum Step {
    Push(u64),
    Pop,
}

/// The stores of a program, and the path that the thread is on after each of them. It changes with the
/// tag.
fn stores(steps: &[Step]) -> Vec<(Store, Vec<u64>)> {
    let (mut word, mut stack, mut path) = (0_u64, Vec::<u64>::new(), vec![0]);
    let mut all = vec![(Store::Tag(0), path.clone())];
    for &step in steps {
        let tag = match step {
            Step::Push(tag) => {
                word = word.wrapping_add(ENTRY_MORE);
                all.push((Store::Word(word), path.clone()));
                if stack.len() < STACK {
                    all.push((Store::Entry(stack.len(), tag), path.clone()));
                }
                stack.push(tag);
                tag
            }
            Step::Pop => {
                word = word.wrapping_add(ENTRY_GONE);
                all.push((Store::Word(word), path.clone()));
                stack.pop();
                stack.last().copied().unwrap_or(0)
            }
        };
        path = if stack.is_empty() {
            vec![0]
        } else {
            stack.clone()
        };
        all.push((Store::Tag(tag), path.clone()));
    }
    all
}

/// Memory that the writer changes before chosen loads: `moves[i]` stores before load `i`.
struct Staged<'a> {
    stores: &'a [(Store, Vec<u64>)],
    moves: Vec<usize>,
    loads: Cell<usize>,
    done: Cell<usize>,
    word: Cell<u64>,
    tag: Cell<u64>,
    entries: Vec<Cell<u64>>,
}

impl<'a> Staged<'a> {
    /// After the first `from` stores.
    fn new(stores: &'a [(Store, Vec<u64>)], from: usize, moves: Vec<usize>) -> Self {
        let entries = stores.iter().map(|(store, _)| match store {
            Store::Entry(at, _) => at + 1,
            _ => 0,
        });
        let staged = Self {
            stores,
            moves,
            entries: vec![Cell::new(0xdead); entries.max().unwrap_or(0)],
            loads: Cell::new(0),
            done: Cell::new(0),
            word: Cell::new(0),
            tag: Cell::new(0),
        };
        staged.write(from);
        staged
    }

    fn write(&self, count: usize) {
        for _ in 0..count {
            let Some((store, _)) = self.stores.get(self.done.get()) else {
                return;
            };
            match *store {
                Store::Word(word) => self.word.set(word),
                Store::Entry(at, tag) => self.entries[at].set(tag),
                Store::Tag(tag) => self.tag.set(tag),
            }
            self.done.set(self.done.get() + 1);
        }
    }

    fn load(&self) {
        let load = self.loads.replace(self.loads.get() + 1);
        self.write(self.moves.get(load).copied().unwrap_or(0));
    }

    /// The path that the thread is on now.
    fn path(&self) -> &'a [u64] {
        match self.done.get() {
            0 => &[0],
            done => &self.stores[done - 1].1,
        }
    }
}

impl StackWords for Staged<'_> {
    fn word(&self) -> u64 {
        self.load();
        self.word.get()
    }
    fn tag(&self) -> u64 {
        self.load();
        self.tag.get()
    }
    fn entry(&self, at: usize) -> u64 {
        self.load();
        self.entries[at].get()
    }
}

/// Reads once under a schedule and checks what must hold. True if it was whole.
fn check(stores: &[(Store, Vec<u64>)], from: usize, moves: &[usize]) -> bool {
    // The window begins with the first load, so the stores before it are no part of it.
    let mut within = moves.to_vec();
    within[0] = 0;
    let staged = Staged::new(stores, from + moves[0], within);
    let (begin, first) = (staged.done.get(), staged.path());
    let mut path = Vec::new();
    let reading = read_stack(&staged, &mut path);
    let during = stores[begin..staged.done.get()].iter();
    let window: Vec<&[u64]> = std::iter::once(first)
        .chain(during.map(|(_, path)| path.as_slice()))
        .collect();
    let about = || format!("{path:?} of {window:?}, from {from}, {moves:?}");
    match reading {
        Reading::Whole => assert!(window.contains(&path.as_slice()), "whole: {}", about()),
        Reading::Torn => {
            let [certain @ .., MISSING, tag] = path.as_slice() else {
                panic!("torn without a mark: {}", about());
            };
            let known = |p: &&[u64]| p.starts_with(certain);
            assert!(window.iter().all(known), "certain: {}", about());
            let was_in = window.iter().any(|p| p.last() == Some(tag));
            assert!(was_in, "the tag: {}", about());
        }
    }
    reading == Reading::Whole
}

use Step::{Pop, Push};

/// Calls whose stacks have the same depths and tops and other middles, which a reader that compares
/// only depth and top takes for each other.
const STEPS: [Step; 24] = [
    Push(1),
    Push(2),
    Push(3),
    Push(9),
    Pop,
    Pop,
    Pop,
    Push(4),
    Push(5),
    Push(9),
    Pop,
    Pop,
    Pop,
    Push(2),
    Push(3),
    Push(9),
    Pop,
    Pop,
    Pop,
    Push(4),
    Push(5),
    Push(9),
    Pop,
    Pop,
];

#[test]
fn a_writer_that_moves_at_any_two_places_fools_nobody() {
    let stores = stores(&STEPS);
    let (mut whole, mut torn) = (0_u64, 0_u64);
    // At most 4 entries: loads of word, tag, entries, tag, word.
    const LOADS: usize = 8;
    for from in 0..stores.len() {
        let left = stores.len() - from;
        for (first, second) in (0..LOADS).flat_map(|a| (a..LOADS).map(move |b| (a, b))) {
            for (far, further) in (0..=left).flat_map(|a| (0..=left - a).map(move |b| (a, b))) {
                let mut moves = [0; LOADS];
                moves[first] += far;
                moves[second] += further;
                match check(&stores, from, &moves) {
                    true => whole += 1,
                    false => torn += 1,
                }
            }
        }
    }
    // Both happen, or the model shows nothing.
    assert!(
        whole > 10_000 && torn > 10_000,
        "{whole} whole, {torn} torn"
    );
}

#[test]
fn a_writer_that_moves_before_every_load_fools_nobody() {
    let stores = stores(&STEPS);
    let mut seed = 0x1234_5678_9abc_def0_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let mut torn = 0;
    for _ in 0..200_000 {
        let from = random(stores.len());
        let most = 1 + random(4);
        let moves: [usize; 8] = std::array::from_fn(|_| random(most));
        torn += u32::from(!check(&stores, from, &moves));
    }
    assert!(torn > 1_000, "{torn}");
}

#[test]
fn stacks_deeper_than_a_slot_are_marked() {
    let steps: Vec<Step> = (1..=300).map(Push).collect();
    let stores = stores(&steps);
    let staged = Staged::new(&stores, stores.len(), Vec::new());
    let mut path = Vec::new();
    assert_eq!(read_stack(&staged, &mut path), Reading::Whole);
    let mut expected: Vec<u64> = (1..=STACK as u64).collect();
    expected.extend([DEEPER, 300]);
    assert_eq!(path, expected);
}

#[test]
fn tags_beside_the_stack_come_last() {
    let region = crate::Region::create().unwrap();
    let slot = region.take_slot().unwrap();
    let mut path = Vec::new();
    let mut read = || {
        assert_eq!(read_stack(slot, &mut path), Reading::Whole);
        path.clone()
    };
    assert_eq!(read(), [0]);
    slot.set(7);
    assert_eq!(read(), [7]);
    slot.depth.store(5 * CHANGE + 2, Ordering::Relaxed);
    slot.stack[0].store(70, Ordering::Relaxed);
    slot.stack[1].store(71, Ordering::Relaxed);
    slot.set(71);
    assert_eq!(read(), [70, 71]);
    slot.set(99);
    assert_eq!(read(), [70, 71, 99]);
    // A push under way, or a tag that was set back to the caller's: the same.
    slot.set(70);
    assert_eq!(read(), [70]);
    slot.depth.store(6 * CHANGE + 1, Ordering::Relaxed);
    slot.set(0);
    assert_eq!(read(), [0]);
}
