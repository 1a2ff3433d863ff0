//! Memories of several runs of one program, on several threads of the host.

use std::collections::BTreeSet;
use std::thread;

use super::*;

/// Pages of each memory here.
const PAGES: u64 = 200;
const BYTES: usize = (PAGES * PAGE_SIZE) as usize;

/// The model of a memory: its bytes, and what is known of its pages.
#[derive(Clone)]
struct Model {
    bytes: Vec<u8>,
    /// Pages that have not been written since there was a layer.
    shared: BTreeSet<u64>,
    duplicates: u32,
    has_layer: bool,
    /// Pages in the order of the first write to each, since a point in time.
    first_writes: Vec<u64>,
}

impl Model {
    fn store(&mut self, offset: u64, value: u64) {
        let at = offset as usize;
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        for page in [offset / PAGE_SIZE, (offset + 7) / PAGE_SIZE] {
            self.shared.remove(&page);
            if !self.first_writes.contains(&page) {
                self.first_writes.push(page);
            }
        }
    }

    /// A copy: the second one makes a layer, and each eighth from then on if half of the pages have changed. Before that
    /// those share nothing.
    fn copy(&mut self) -> Model {
        self.duplicates += 1;
        let is_time = self.duplicates >= if self.has_layer { 8 } else { 2 };
        if is_time && self.shared.len() as u64 <= PAGES / 2 {
            self.shared = (0..PAGES).collect();
            self.duplicates = 0;
            self.has_layer = true;
        }
        let mut copy = Model {
            duplicates: 0,
            ..self.clone()
        };
        if self.shared.len() as u64 <= PAGES / 2 {
            copy.shared.clear();
            copy.has_layer = false;
        }
        copy
    }

    fn assert_is(&self, mem: &Memory) {
        assert_eq!(mem.shared_pages(), self.shared.len() as u64);
        let first_writes: Vec<_> = mem.dirty_pages().collect();
        let expected = self.first_writes.iter().map(|page| AT + page * PAGE_SIZE);
        assert!(expected.eq(first_writes));
        let mut bytes = vec![0; BYTES];
        mem.read_bytes(AT, &mut bytes).expect("it is readable");
        assert!(bytes == self.bytes, "content differs");
    }
}

/// A run: it writes, and begins others on threads of their own, which go on when it has ended, or end before.
fn run(mut mem: Memory, mut model: Model, mut random: Random, generations: u32) {
    thread::scope(|scope| {
        for _ in 0..500 {
            match random.below(30) {
                0 => {
                    mem.clear_dirty();
                    model.first_writes.clear();
                }
                1 if generations > 0 => {
                    let mut copy = mem.duplicate().expect("a copy");
                    let mut of_copy = model.copy();
                    if random.below(2) == 0 {
                        copy.clear_dirty();
                        of_copy.first_writes.clear();
                    }
                    let seed = Random(random.below(1 << 30) + 1);
                    scope.spawn(move || run(copy, of_copy, seed, generations - 1));
                }
                _ => {
                    let (offset, value) = (random.below(BYTES as u64 - 7), random.below(1 << 30));
                    mem.store::<8>(AT + offset, value).expect("it is writable");
                    model.store(offset, value);
                }
            }
        }
        model.assert_is(&mem);
        // The memory may be gone while its copies run.
        drop(mem);
    });
}

#[test]
fn runs_on_several_threads_read_what_full_copies_would() {
    for seed in 1..6 {
        let mut mem = numbered(PAGES);
        mem.clear_dirty();
        let mut bytes = vec![0; BYTES];
        mem.read_bytes(AT, &mut bytes).expect("it is readable");
        let model = Model {
            bytes,
            shared: BTreeSet::new(),
            duplicates: 0,
            has_layer: false,
            first_writes: Vec::new(),
        };
        run(mem, model, Random(seed), 2);
    }
}

/// A second duplicate, with which the memory begins to share.
fn second(mem: &mut Memory) -> Memory {
    let first = mem.duplicate().expect("a copy");
    assert_eq!(first.shared_pages(), 0);
    mem.duplicate().expect("a copy")
}

#[test]
fn a_page_is_shared_until_one_side_writes_to_it() {
    let mut mem = numbered(PAGES);
    let mut copy = second(&mut mem);
    assert_eq!((mem.shared_pages(), copy.shared_pages()), (200, 200));
    for _ in 0..2 {
        store(&mut mem, 3, 1);
        store(&mut copy, 4, 1);
        store(&mut copy, 5, 1);
    }
    assert_eq!((mem.shared_pages(), copy.shared_pages()), (199, 198));
    // Changed pages are copied, as long as they are less than half.
    let third = copy.duplicate().expect("a copy");
    assert_eq!((copy.shared_pages(), third.shared_pages()), (198, 198));
    let held = |mem: &Memory| mem.shares.as_ref().map(|shares| shares.held_pages());
    assert_eq!((held(&copy), held(&third)), (Some(200), Some(200)));
    assert_eq!([3, 4, 5].map(|page| load(&third, page)), [4, 1, 1]);
}

#[test]
fn few_pages_and_pages_in_many_ranges_are_copied() {
    let mut small = numbered(PAGES_A_RANGE - 1);
    let copy = second(&mut small);
    assert_eq!((small.shared_pages(), copy.shared_pages()), (0, 0));
    assert_eq!(load(&copy, 3), 4);
    let mut enough = numbered(PAGES_A_RANGE);
    let copy = second(&mut enough);
    assert_eq!((enough.shared_pages(), copy.shared_pages()), (8, 8));
    // Ten ranges of seven pages.
    let mut mem = memory();
    mem.map(AT, 1000 * PAGE_SIZE, Perm::RW).unwrap();
    for page in (0..1000).filter(|page| page % 100 < 7) {
        store(&mut mem, page, page + 1);
    }
    let copy = second(&mut mem);
    assert_eq!((mem.shared_pages(), copy.shared_pages()), (0, 0));
    assert_eq!(load(&copy, 906), 907);
}

#[test]
fn a_memory_that_has_become_small_lets_go_of_its_layer() {
    for left in [4, 40] {
        let mut mem = numbered(1000);
        let _copy = second(&mut mem);
        mem.unmap(AT + left * PAGE_SIZE, (1000 - left) * PAGE_SIZE)
            .unwrap();
        store(&mut mem, 1, 70);
        let copy = mem.duplicate().expect("a copy");
        for mem in [&mem, &copy] {
            let shares = mem.shares.as_ref().expect("it may share");
            assert!(shares.held_pages() <= left);
            assert_eq!([0, 1, 2, 3].map(|page| load(mem, page)), [1, 70, 3, 4]);
        }
    }
}

/// A child of the guest's process shares two pages; that there are runs beside it changes no count.
#[test]
fn what_processes_of_the_guest_copy_is_counted_as_without_duplicates() {
    let mut mem = numbered(PAGES);
    let mut before = mem.duplicate().expect("a copy");
    store(&mut mem, 0, 1);
    store(&mut before, 0, 1);
    assert_eq!((mem.copied_pages(), before.copied_pages()), (0, 0));
    let _child = sharing(&mut mem);
    store(&mut mem, 0, 2);
    store(&mut mem, 1, 2);
    let mut after = mem.duplicate().expect("a copy");
    for run in [&mut mem, &mut after] {
        // Two of these have been copied already.
        for page in 0..5 {
            store(run, page, 3);
        }
        run.protect(AT, PAGES * PAGE_SIZE, Perm::R).unwrap();
        run.protect(AT, PAGES * PAGE_SIZE, Perm::RW).unwrap();
        store(run, 5, 3);
        store(run, 6, 3);
        assert_eq!(run.copied_pages(), 7);
    }
}

/// The parent of a child gives up its layer. Counts of pages that the two share in the guest do not change.
#[test]
fn a_layer_that_is_given_up_changes_no_count() {
    let mut mem = numbered(1000);
    let _child = sharing(&mut mem);
    mem.unmap(AT + 4 * PAGE_SIZE, 996 * PAGE_SIZE).unwrap();
    let mut copy = mem.duplicate().expect("a copy");
    for run in [&mut mem, &mut copy] {
        assert_eq!(run.shared_pages(), 0);
        run.protect(AT, 4 * PAGE_SIZE, Perm::R).unwrap();
        run.protect(AT, 4 * PAGE_SIZE, Perm::RW).unwrap();
        store(run, 1, 3);
        store(run, 1, 4);
        assert_eq!(run.copied_pages(), 1);
    }
}

#[test]
fn thousands_of_duplicates_hold_on_to_a_bounded_number_of_pages() {
    let mut mem = numbered(PAGES);
    let mut alive = Vec::new();
    let mut random = Random(9);
    for round in 0..3000 {
        store(&mut mem, random.below(PAGES), round);
        // A place that is used once.
        let at = AT + (1000 + 100 * round) * PAGE_SIZE;
        mem.map(at, 2 * PAGE_SIZE, Perm::RW).unwrap();
        mem.store::<8>(at, round).unwrap();
        alive.push(mem.duplicate().expect("a copy"));
        mem.unmap(at, 2 * PAGE_SIZE).unwrap();
        if alive.len() > 20 {
            alive.swap_remove(random.below(20) as usize);
        }
        let shares = mem.shares.as_ref().expect("it shares");
        assert!(shares.held_pages() <= 2 * (PAGES + 1) + FEW_PAGES);
        assert!(shares.layers.len() as u64 <= (PAGES + 1) / PAGES_A_RANGE);
        assert!(round == 0 || 2 * mem.shared_pages() >= PAGES - 2);
    }
}
