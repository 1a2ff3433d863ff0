//! Memories that share pages, against memories that are copied.

use super::*;
use crate::bus::Bus;
use crate::memory::Perm;

const AT: u64 = 0x10_0000;

fn memory() -> Memory {
    Memory::new(1 << 30).expect("address space")
}

fn sharing(source: &mut Memory) -> Memory {
    let mut copy = memory();
    source.share_with(&mut copy).expect("a copy");
    copy
}

/// A memory with this many pages from [`AT`] on, each with its number in its first word.
fn numbered(pages: u64) -> Memory {
    let mut mem = memory();
    mem.map(AT, pages * PAGE_SIZE, Perm::RW).expect("room");
    for page in 0..pages {
        store(&mut mem, page, page + 1);
    }
    mem
}

fn store(mem: &mut Memory, page: u64, value: u64) {
    mem.store::<8>(AT + page * PAGE_SIZE, value)
        .expect("it is writable");
}

fn load(mem: &Memory, page: u64) -> u64 {
    mem.read::<8>(AT + page * PAGE_SIZE)
        .expect("it is readable")
}

#[test]
fn a_page_is_copied_at_the_first_write_of_each_side_and_never_again() {
    let mut parent = numbered(4);
    let mut child = sharing(&mut parent);
    assert_eq!((parent.copied_pages(), child.copied_pages()), (0, 0));
    for _ in 0..3 {
        store(&mut child, 1, 100);
        store(&mut parent, 2, 200);
    }
    assert_eq!([0, 1, 2, 3].map(|page| load(&parent, page)), [1, 2, 200, 4]);
    assert_eq!([0, 1, 2, 3].map(|page| load(&child, page)), [1, 100, 3, 4]);
    assert_eq!((parent.copied_pages(), child.copied_pages()), (1, 1));
    // A page that was never written is new, and no copy.
    child.map(AT + 4 * PAGE_SIZE, PAGE_SIZE, Perm::RW).unwrap();
    store(&mut child, 4, 500);
    assert_eq!(child.copied_pages(), 1);
    // Permissions that change do not hide a write.
    parent.protect(AT, 4 * PAGE_SIZE, Perm::R).unwrap();
    parent.protect(AT, 4 * PAGE_SIZE, Perm::RW).unwrap();
    store(&mut parent, 0, 300);
    store(&mut parent, 2, 301);
    assert_eq!((load(&child, 0), load(&child, 2)), (1, 3));
    assert_eq!(parent.copied_pages(), 2);
}

#[test]
fn a_second_copy_takes_a_layer_for_what_has_changed_only() {
    let mut parent = numbered(1000);
    let first = sharing(&mut parent);
    store(&mut parent, 7, 70);
    store(&mut parent, 900, 9000);
    let second = sharing(&mut parent);
    let shares = parent.shares.as_ref().expect("it shares");
    assert_eq!(shares.held_pages(), 1002);
    // The first layer is in three parts around the new one.
    assert_eq!(shares.layers.len(), 5);
    drop(first);
    assert_eq!(
        [6, 7, 8, 900].map(|page| load(&second, page)),
        [7, 70, 9, 9000]
    );
    // A copy of a copy, when the first of all is gone.
    let mut second = second;
    drop(parent);
    store(&mut second, 7, 71);
    let third = sharing(&mut second);
    drop(second);
    assert_eq!(
        [6, 7, 8, 900].map(|page| load(&third, page)),
        [7, 71, 9, 9000]
    );
}

#[test]
fn memory_that_is_unmapped_or_discarded_is_zero_in_later_copies() {
    let mut parent = numbered(8);
    let _first = sharing(&mut parent);
    parent.unmap(AT + PAGE_SIZE, PAGE_SIZE).unwrap();
    parent.map(AT + PAGE_SIZE, PAGE_SIZE, Perm::RW).unwrap();
    parent.discard(AT + 3 * PAGE_SIZE, PAGE_SIZE).unwrap();
    let child = sharing(&mut parent);
    for mem in [&parent, &child] {
        assert_eq!([0, 1, 2, 3, 4].map(|page| load(mem, page)), [1, 0, 3, 0, 5]);
    }
    assert_eq!(parent.copied_pages(), 0, "nothing was written");
}

#[test]
fn an_emptied_memory_is_as_new() {
    let mut parent = numbered(20);
    let mut child = sharing(&mut parent);
    store(&mut child, 3, 99);
    child.map(AT + 20 * PAGE_SIZE, PAGE_SIZE, Perm::RW).unwrap();
    store(&mut child, 20, 1);
    child.empty().expect("the host has memory");
    child.map(AT, 21 * PAGE_SIZE, Perm::RW).unwrap();
    for page in 0..21 {
        assert_eq!(load(&child, page), 0);
    }
    assert_eq!(load(&parent, 3), 4);
    assert_eq!(child.copied_pages(), 0);
}

#[test]
fn what_a_memory_holds_on_to_is_bounded_however_often_it_is_copied() {
    let mut parent = numbered(1000);
    let mut alive = Vec::new();
    for round in 0..300 {
        // All but one page, another one each time.
        for page in (0..1000).filter(|page| *page != round) {
            store(&mut parent, page, page + round);
        }
        alive.push(sharing(&mut parent));
        alive.truncate(2);
        let shares = parent.shares.as_ref().expect("it shares");
        assert!(shares.held_pages() <= 2 * 1000 + FEW_PAGES);
        assert!(shares.layers.len() <= MOST_RANGES);
    }
    assert_eq!(load(&alive[0], 5), 5);
    assert_eq!(load(&alive[1], 5), 6);
    assert_eq!(load(&parent, 5), 5 + 299);
}

#[test]
fn content_in_too_many_ranges_is_copied() {
    let mut parent = memory();
    let apart = 2 * GAP / PAGE_SIZE;
    let count = MOST_RANGES as u64 + 1;
    parent.map(AT, count * apart * PAGE_SIZE, Perm::RW).unwrap();
    for number in 0..count {
        store(&mut parent, number * apart, number + 1);
    }
    let mut child = sharing(&mut parent);
    assert_eq!(child.copied_pages(), count);
    store(&mut child, 0, 77);
    store(&mut parent, apart, 78);
    assert_eq!((load(&parent, 0), load(&child, 0)), (1, 77));
    assert_eq!((load(&parent, apart), load(&child, apart)), (78, 2));
}

#[test]
fn pages_above_the_window_are_shared_too() {
    const HIGH: u64 = Memory::HIGH + (1 << 30);
    let mut parent = numbered(2);
    parent.map(HIGH, 2 * PAGE_SIZE, Perm::RW).unwrap();
    parent.store::<8>(HIGH + 8, 5).unwrap();
    let mut child = sharing(&mut parent);
    child.store::<8>(HIGH + 8, 6).unwrap();
    store(&mut child, 0, 60);
    assert_eq!(parent.read::<8>(HIGH + 8), Ok(5));
    assert_eq!(child.read::<8>(HIGH + 8), Ok(6));
    assert_eq!((load(&parent, 0), load(&child, 0)), (1, 60));
    assert_eq!((parent.copied_pages(), child.copied_pages()), (0, 2));
}

/// Numbers that look random (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }
}

/// Changes a memory and the one that it has to equal in a random way.
fn change(both: [&mut Memory; 2], random: &mut Random, pages: u64) {
    let (first, len) = (random.below(pages), 1 + random.below(6));
    let (addr, bytes) = (AT + first * PAGE_SIZE, len * PAGE_SIZE);
    let (what, value, offset) = (random.below(12), random.below(1 << 30), random.below(4089));
    for mem in both {
        // Each may be refused, in both alike.
        let _ = match what {
            0 => mem.map(addr, bytes, Perm::RW).is_ok(),
            1 => mem.unmap(addr, bytes).is_ok(),
            2 => mem.discard(addr, bytes).is_ok(),
            3 => mem.protect(addr, bytes, Perm::R).is_ok(),
            4 => mem.protect(addr, bytes, Perm::RW).is_ok(),
            5 => mem.write_bytes(addr + offset, &[value as u8; 9000]).is_ok(),
            6 => mem.reserve(addr, bytes, Perm::RW).is_ok(),
            _ => mem.store::<8>(addr + offset, value).is_ok(),
        };
    }
}

/// Whether two memories cannot be told from each other.
fn are_equal(a: &Memory, b: &Memory) -> bool {
    let parts = |mem: &Memory| mem.mapped_parts().collect::<Vec<_>>();
    let numbers = |mem: &Memory| {
        [
            mem.mapped_bytes(),
            mem.resident_bytes(),
            mem.peak_resident_bytes(),
        ]
    };
    let content = |mem: &Memory| {
        let mut all = Vec::new();
        for range in mem.mapped_ranges() {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            mem.read_bytes_forced(range.start, &mut bytes)
                .expect("mapped");
            all.push(bytes);
        }
        all
    };
    parts(a) == parts(b) && numbers(a) == numbers(b) && content(a) == content(b)
}

/// A copy with pages of its own, whatever its size.
fn copied(source: &Memory) -> Memory {
    let mut copy = memory();
    source.copy_to(&mut copy, false).expect("a copy");
    copy
}

#[test]
fn families_of_sharing_memories_are_families_of_copies() {
    for seed in 1..11 {
        let mut random = Random(seed);
        let pages = 40 << (3 * (seed % 3));
        let mut alive = vec![(memory(), memory())];
        for _ in 0..400 {
            let at = random.below(alive.len() as u64) as usize;
            match random.below(8) {
                0 if alive.len() < 6 => {
                    let copied = copied(&alive[at].1);
                    let source = &mut alive[at].0;
                    let shared = match random.below(2) {
                        0 => sharing(source),
                        _ => source.duplicate().expect("a copy"),
                    };
                    alive.push((shared, copied));
                }
                1 if alive.len() > 1 => drop(alive.swap_remove(at)),
                _ => {
                    let (shared, copied) = &mut alive[at];
                    change([shared, copied], &mut random, pages);
                }
            }
        }
        for (at, (shared, copied)) in alive.iter().enumerate() {
            assert!(are_equal(shared, copied), "seed {seed}, memory {at}");
        }
    }
}

mod duplicates;
