use super::*;
use crate::bus::Bus;

fn memory() -> Memory {
    Memory::new(64 << 20).expect("reserve")
}

#[test]
fn values_are_little_endian_and_zero_extended() {
    let mut m = memory();
    m.map(0x1000, 0x1000, Perm::RW).unwrap();
    m.store::<8>(0x1003, 0x8877_6655_4433_2211).unwrap();
    assert_eq!(m.load::<1>(0x1003), Ok(0x11));
    assert_eq!(m.load::<2>(0x1004), Ok(0x3322));
    assert_eq!(m.load::<4>(0x1007), Ok(0x8877_6655));
    assert_eq!(m.load::<8>(0x1003), Ok(0x8877_6655_4433_2211));
    m.store::<2>(0x1004, 0xffff_aaaa).unwrap();
    assert_eq!(m.load::<8>(0x1003), Ok(0x8877_6655_44aa_aa11));
}

#[test]
fn accesses_cross_pages_or_fault_as_a_whole() {
    let mut m = memory();
    m.map(0x1000, 0x2000, Perm::RW).unwrap();
    m.store::<8>(0x1ffd, 0x0102_0304_0506_0708).unwrap();
    assert_eq!(m.load::<8>(0x1ffd), Ok(0x0102_0304_0506_0708));
    // The second page of a crossing store is missing: nothing is written to the first.
    let before = m.load::<4>(0x2ffc).unwrap();
    assert_eq!(
        m.store::<8>(0x2ffc, u64::MAX),
        Err(MemFault {
            addr: 0x3000,
            unmapped: true
        })
    );
    assert_eq!(m.load::<4>(0x2ffc), Ok(before));
    assert_eq!(
        m.load::<8>(0x2ffc),
        Err(MemFault {
            addr: 0x3000,
            unmapped: true
        })
    );
    m.protect(0x2000, 0x1000, Perm::R).unwrap();
    assert_eq!(
        m.store::<8>(0x1ffd, 0),
        Err(MemFault {
            addr: 0x2000,
            unmapped: false
        })
    );
}

#[test]
fn permissions_are_enforced() {
    let mut m = memory();
    m.map(0x1000, 0x1000, Perm::R).unwrap();
    assert_eq!(
        m.store::<1>(0x1000, 1),
        Err(MemFault {
            addr: 0x1000,
            unmapped: false
        })
    );
    m.protect(0x1000, 0x1000, Perm::RW).unwrap();
    m.store::<1>(0x1000, 1).unwrap();
    m.protect(0x1000, 0x1000, Perm::NONE).unwrap();
    assert_eq!(
        m.load::<1>(0x1000),
        Err(MemFault {
            addr: 0x1000,
            unmapped: false
        })
    );
    assert_eq!(
        m.store::<1>(0x1000, 2),
        Err(MemFault {
            addr: 0x1000,
            unmapped: false
        })
    );
    m.protect(0x1000, 0x1000, Perm::R).unwrap();
    assert_eq!(
        m.store::<1>(0x1000, 2),
        Err(MemFault {
            addr: 0x1000,
            unmapped: false
        })
    );
    assert_eq!(m.load::<1>(0x1000), Ok(1));
}

#[test]
fn hostile_addresses_fault() {
    let mut m = memory();
    for addr in [
        0,
        0xfff,
        Memory::LIMIT - 1,
        Memory::LIMIT,
        1 << 63,
        u64::MAX - 3,
        u64::MAX,
    ] {
        assert!(m.load::<8>(addr).is_err(), "{addr:#x}");
        assert!(m.store::<8>(addr, 0).is_err(), "{addr:#x}");
        assert!(m.fetch_word(addr).is_err(), "{addr:#x}");
        assert!(m.read_cstr(addr, 10).is_err(), "{addr:#x}");
        assert!(m.readable(addr, u64::MAX).is_err(), "{addr:#x}");
        assert!(m.write_bytes_forced(addr, &[1]).is_err(), "{addr:#x}");
        assert!(!m.is_mapped(addr, 8), "{addr:#x}");
    }
    m.map(Memory::LIMIT - 0x1000, 0x1000, Perm::RWX).unwrap();
    assert!(m.load::<8>(Memory::LIMIT - 8).is_ok());
    assert_eq!(
        m.load::<8>(Memory::LIMIT - 7),
        Err(MemFault {
            addr: Memory::LIMIT,
            unmapped: true
        })
    );
}

#[test]
fn memory_mapped_again_is_zero() {
    let mut m = memory();
    m.map(0x1000, 0x3000, Perm::RW).unwrap();
    m.store::<8>(0x2000, 7).unwrap();
    m.unmap(0x2000, 0x1000).unwrap();
    assert!(m.load::<1>(0x2000).is_err());
    assert_eq!(m.load::<1>(0x1000), Ok(0));
    m.map(0x2000, 0x1000, Perm::R).unwrap();
    assert_eq!(m.load::<8>(0x2000), Ok(0));
    m.write_bytes_forced(0x2000, &[9]).unwrap();
    assert_eq!(m.load::<1>(0x2000), Ok(9));
    // Mapping over a mapping replaces it.
    m.map(0x1000, 0x3000, Perm::RW).unwrap();
    assert_eq!(m.load::<8>(0x2000), Ok(0));
    assert_eq!(m.mapped_bytes(), 0x3000);
}

#[test]
fn limit_is_kept() {
    let mut m = Memory::new(0x4000).unwrap();
    m.map(0x10000, 0x3000, Perm::RW).unwrap();
    assert_eq!(
        m.map(0x20000, 0x2000, Perm::RW),
        Err(MemoryError::LimitExceeded {
            len: 0x2000,
            limit: 0x4000
        })
    );
    // Overlap is not counted twice.
    m.map(0x11000, 0x3000, Perm::RW).unwrap();
    assert_eq!(m.mapped_bytes(), 0x4000);
    m.unmap(0x10000, 0x4000).unwrap();
    assert_eq!(m.mapped_bytes(), 0);
}

#[test]
fn pages_left_behind_count_against_the_host() {
    let mut m = Memory::new(0x4000).unwrap();
    let mut mapped = 0;
    for i in 0..100 {
        if m.map(0x10000 + i * 0x1000, 0x1000, Perm::RW).is_err() {
            break;
        }
        m.store::<1>(0x10000 + i * 0x1000, 1).unwrap();
        m.unmap(0x10000 + i * 0x1000, 0x1000).unwrap();
        mapped += 1;
    }
    assert_eq!(mapped, 8, "twice the limit of four pages");
    // Pages used before can be used again for ever.
    for _ in 0..100 {
        m.map(0x10000, 0x4000, Perm::RW).unwrap();
        m.store::<1>(0x12000, 1).unwrap();
        m.unmap(0x10000, 0x4000).unwrap();
    }
}

#[test]
fn ranges_are_checked() {
    let mut m = memory();
    for (addr, len) in [
        (0x1001, 0x1000),
        (0x1000, 0),
        (0x1000, 0x10),
        (Memory::LIMIT, 0x1000),
        (Memory::LIMIT - 0x1000, 0x2000),
        (!0xfff, 0x2000),
    ] {
        assert_eq!(
            m.map(addr, len, Perm::RW),
            Err(MemoryError::BadRange { addr, len })
        );
        assert_eq!(m.unmap(addr, len), Err(MemoryError::BadRange { addr, len }));
    }
    m.map(0x1000, 0x1000, Perm::RW).unwrap();
    assert_eq!(
        m.protect(0x1000, 0x2000, Perm::R),
        Err(MemoryError::NotMapped { addr: 0x2000 })
    );
    assert_eq!(m.permissions(0x1000), Some(Perm::RW));
}

#[test]
fn gaps_are_found_from_the_top() {
    let mut m = memory();
    assert_eq!(m.find_gap(0x1000, 0x1000, 0x10000), Some(0xf000));
    m.map(0xe000, 0x1000, Perm::NONE).unwrap();
    assert_eq!(m.find_gap(0x1000, 0x1000, 0x10000), Some(0xf000));
    assert_eq!(m.find_gap(0x2000, 0x1000, 0x10000), Some(0xc000));
    m.map(0xf000, 0x4000, Perm::R).unwrap();
    assert_eq!(m.find_gap(0x1000, 0x1000, 0x10000), Some(0xd000));
    assert_eq!(m.find_gap(0xd000, 0x1000, 0x10000), Some(0x1000));
    assert_eq!(m.find_gap(0xe000, 0x1000, 0x10000), None);
    assert_eq!(m.find_gap(0x1000, 0xe000, 0x10000), None);
    assert_eq!(m.find_gap(Memory::LIMIT * 2, 0, u64::MAX), None);
    assert_eq!(m.mapped_ranges().collect::<Vec<_>>(), vec![0xe000..0x13000]);
}

#[test]
fn dirty_pages_are_first_writes() {
    let mut m = memory();
    m.map(0x1000, 0x4000, Perm::RW).unwrap();
    m.store::<1>(0x3000, 1).unwrap();
    m.store::<8>(0x1ffc, 1).unwrap();
    m.store::<1>(0x3001, 1).unwrap();
    assert_eq!(
        m.dirty_pages().collect::<Vec<_>>(),
        vec![0x3000, 0x1000, 0x2000]
    );
    m.clear_dirty();
    assert_eq!(m.dirty_pages().count(), 0);
    assert_eq!(m.load::<1>(0x3000), Ok(1));
    m.store::<1>(0x3000, 2).unwrap();
    // Making a page writable again does not lose later writes.
    m.protect(0x4000, 0x1000, Perm::R).unwrap();
    m.protect(0x4000, 0x1000, Perm::RW).unwrap();
    m.store::<1>(0x4000, 2).unwrap();
    m.unmap(0x1000, 0x1000).unwrap();
    assert_eq!(
        m.dirty_pages().collect::<Vec<_>>(),
        vec![0x3000, 0x4000, 0x1000]
    );
}

#[test]
fn copied_pages_are_those_of_the_source() {
    let mut source = memory();
    source.map(0x1000, 0x4000, Perm::RW).unwrap();
    source.store::<1>(0x1000, 1).unwrap();
    let mut copy = source.duplicate().unwrap();
    source.clear_dirty();
    source.store::<1>(0x2000, 2).unwrap();
    // Pages that only the copy has written are restored, whether the source has ever written there or not.
    copy.clear_dirty();
    copy.store::<1>(0x1001, 9).unwrap();
    copy.store::<1>(0x4000, 9).unwrap();
    assert_eq!(copy.layout_epoch(), source.layout_epoch());
    let pages: Vec<u64> = source.dirty_pages().chain(copy.dirty_pages()).collect();
    copy.copy_pages(&source, &pages).unwrap();
    let bytes =
        |m: &mut Memory| [0x1000, 0x1001, 0x2000, 0x4000].map(|addr| m.load::<1>(addr).unwrap());
    assert_eq!(bytes(&mut copy), [1, 0, 2, 0]);
    assert_eq!(bytes(&mut source), [1, 0, 2, 0]);
    assert_eq!(copy.dirty_pages().count(), 0);
    copy.store::<1>(0x2000, 3).unwrap();
    assert_eq!(copy.dirty_pages().collect::<Vec<_>>(), vec![0x2000]);
    source.protect(0x1000, 0x1000, Perm::R).unwrap();
    assert_ne!(copy.layout_epoch(), source.layout_epoch());
}

#[test]
fn a_copy_follows_what_the_source_maps() {
    let mut source = memory();
    source.map(0x1000, 0x5000, Perm::RW).unwrap();
    for addr in [0x1000, 0x2000, 0x3000] {
        source.store::<1>(addr, 1).unwrap();
    }
    let mut copy = source.duplicate().unwrap();
    source.clear_dirty();
    copy.clear_dirty();
    for addr in [0x3001, 0x4000, 0x5000] {
        copy.store::<1>(addr, 9).unwrap();
    }
    // Of the unmapped pages, the source alone has written the first one, and the copy alone the other.
    source.unmap(0x1000, 0x1000).unwrap();
    source.unmap(0x5000, 0x1000).unwrap();
    source.protect(0x2000, 0x1000, Perm::R).unwrap();
    source.map(0x8000, 0x2000, Perm::RX).unwrap();
    source.map(0xa000, 0x2000, Perm::RW).unwrap();
    source.store::<1>(0xb000, 2).unwrap();
    // A mapping that comes and goes.
    source.map(0xe000, 0x1000, Perm::RW).unwrap();
    source.store::<1>(0xe000, 3).unwrap();
    source.unmap(0xe000, 0x1000).unwrap();
    let pages: Vec<u64> = source.dirty_pages().chain(copy.dirty_pages()).collect();
    copy.copy_pages(&source, &pages).unwrap();
    let mut fresh = source.duplicate().unwrap();
    fresh.clear_dirty();
    assert_eq!(copy.bytes.part(0, 0x1_0000), fresh.bytes.part(0, 0x1_0000));
    assert_eq!(copy.pages[..0x10], fresh.pages[..0x10]);
    assert!(copy.mapped_ranges().eq(fresh.mapped_ranges()));
    let rest = |m: &Memory| {
        let epochs = (m.code_epoch, m.layout_epoch);
        (m.mapped_bytes, m.retired_pages, epochs, m.dirty.clone())
    };
    assert_eq!(rest(&copy), rest(&fresh));
}

#[test]
fn fetch_reads_both_lengths_and_needs_x() {
    let mut m = memory();
    m.map(0x1000, 0x2000, Perm::RW).unwrap();
    m.write_bytes(0x1ffe, &[0x93, 0x00, 0x10, 0x00]).unwrap();
    m.write_bytes(0x1ffc, &[0x01, 0x00]).unwrap();
    assert_eq!(
        m.fetch_word(0x1ffc),
        Err(MemFault {
            addr: 0x1ffc,
            unmapped: false
        })
    );
    m.protect(0x1000, 0x1000, Perm::RX).unwrap();
    assert_eq!(m.fetch_word(0x1ffc), Ok(1));
    assert_eq!(
        m.fetch_word(0x1ffe),
        Err(MemFault {
            addr: 0x2000,
            unmapped: false
        })
    );
    m.protect(0x2000, 0x1000, Perm::X).unwrap();
    assert_eq!(m.fetch_word(0x1ffe), Ok(0x0010_0093));
    assert!(m.load::<1>(0x2000).is_err(), "execute-only");
}

#[test]
fn code_epoch_follows_executable_pages() {
    let mut m = memory();
    let start = m.code_epoch();
    m.map(0x1000, 0x1000, Perm::RW).unwrap();
    m.unmap(0x1000, 0x1000).unwrap();
    assert_eq!(m.code_epoch(), start);
    m.map(0x1000, 0x1000, Perm::RX).unwrap();
    let mapped = m.code_epoch();
    assert_ne!(mapped, start);
    m.protect(0x1000, 0x1000, Perm::RW).unwrap();
    let protected = m.code_epoch();
    assert_ne!(protected, mapped);
    m.protect(0x1000, 0x1000, Perm::RX).unwrap();
    let again = m.code_epoch();
    m.unmap(0x1000, 0x1000).unwrap();
    assert_ne!(m.code_epoch(), again);
}

#[test]
fn strings_end_at_zero_limit_or_fault() {
    let mut m = memory();
    m.map(0x1000, 0x1000, Perm::RW).unwrap();
    m.write_bytes(0x1ffb, b"abcd\0").unwrap();
    assert_eq!(m.read_cstr(0x1ffb, 100), Ok(Some(b"abcd".to_vec())));
    assert_eq!(m.read_cstr(0x1ffb, 4), Ok(Some(b"abcd".to_vec())));
    assert_eq!(m.read_cstr(0x1ffb, 3), Ok(None));
    m.write_bytes(0x1fff, b"e").unwrap();
    assert_eq!(
        m.read_cstr(0x1ffb, 100),
        Err(MemFault {
            addr: 0x2000,
            unmapped: true
        })
    );
}

#[test]
fn reserve_failure_names_the_remedy() {
    let text = MemoryError::Reserve {
        bytes: 1 << 34,
        cause: "no".to_owned(),
    }
    .to_string();
    assert!(text.contains("vm.overcommit_memory"), "{text}");
}

#[test]
fn what_is_unreadable_or_unwritable_faults_at_its_first_byte() {
    let mut m = memory();
    m.map(0x1000, 0x1000, Perm::R).unwrap();
    m.map(0x2000, 0x1000, Perm::W).unwrap();
    for addr in [
        0,
        0xfff,
        0x1000,
        0x1fff,
        0x2000,
        0x3000,
        Memory::LIMIT,
        u64::MAX,
    ] {
        assert_eq!(
            m.is_unreadable(addr),
            m.load::<1>(addr).is_err(),
            "{addr:#x}"
        );
        assert_eq!(
            m.is_unwritable(addr),
            m.check_store::<1>(addr).is_err(),
            "{addr:#x}"
        );
    }
}

/// 64 GiB and more are reserved under a limit of 64 MiB; 100 written pages count.
#[test]
fn a_reservation_counts_where_it_is_written() {
    let mut m = memory();
    let at = 0x20_0000_0000;
    m.reserve(at, 64 << 30, Perm::RW).unwrap();
    assert_eq!(m.mapped_bytes(), 0);
    for page in 0..100 {
        m.store::<8>(at + page * 0x1000_0000, page).unwrap();
        m.store::<8>(at + page * 0x1000_0000 + 8, page).unwrap();
    }
    assert_eq!(m.mapped_bytes(), 100 * PAGE_SIZE);
    assert_eq!(m.load::<8>(at + 0x1000), Ok(0));
    let copy = m.duplicate().unwrap();
    assert_eq!(copy.mapped_bytes(), m.mapped_bytes());
    assert_eq!(copy.read::<8>(at + 99 * 0x1000_0000), Ok(99));
    // Written reserved pages are given back to the limit, and a part that is mapped anew counts as a whole.
    m.map(at, 0x10_0000, Perm::RW).unwrap();
    assert_eq!(m.mapped_bytes(), 99 * PAGE_SIZE + 0x10_0000);
    m.unmap(at, 64 << 30).unwrap();
    assert_eq!(m.mapped_bytes(), 0);
    assert!(!m.is_limit_reached());
}

/// The limit is 16384 pages.
#[test]
fn writes_to_a_reservation_end_at_the_limit() {
    let mut m = memory();
    m.reserve(0x10_0000_0000, 1 << 30, Perm::RW).unwrap();
    for page in 0..16384 {
        m.store::<1>(0x10_0000_0000 + page * PAGE_SIZE, 1).unwrap();
    }
    let beyond = 0x10_0000_0000 + 16384 * PAGE_SIZE;
    assert_eq!(
        m.store::<1>(beyond, 1),
        Err(MemFault {
            addr: beyond,
            unmapped: false
        })
    );
    assert!(m.is_limit_reached());
    assert_eq!(m.load::<1>(beyond), Ok(0));
    m.unmap(0x10_0000_0000, PAGE_SIZE).unwrap();
    m.store::<1>(beyond, 1).unwrap();
}

/// Host pages that were left behind count also where they are reserved again, so that host memory stays below
/// twice the limit however often a guest does so.
#[test]
fn pages_left_behind_count_under_reservations() {
    let mut m = memory();
    let fill = |m: &mut Memory, at: u64| {
        m.map(at, 48 << 20, Perm::RW)?;
        for page in 0..(48 << 20) / PAGE_SIZE {
            m.store::<1>(at + page * PAGE_SIZE, 1).unwrap();
        }
        m.unmap(at, 48 << 20)?;
        m.reserve(at, 48 << 20, Perm::RW)
    };
    fill(&mut m, 0x1000_0000).unwrap();
    fill(&mut m, 0x2000_0000).unwrap();
    let refused = fill(&mut m, 0x3000_0000);
    assert!(matches!(refused, Err(MemoryError::LimitExceeded { .. })));
    // Written again, they are mapped and no longer left behind.
    m.store::<1>(0x1000_0000, 1).unwrap();
    assert_eq!(m.mapped_bytes(), PAGE_SIZE);
}

/// Pages that were written behind a change of permissions are zero when they are mapped again.
#[test]
fn pages_mapped_again_and_protected_are_zeroed_when_they_go() {
    let mut m = memory();
    for _ in 0..3 {
        m.map(0x4000, 0x1000, Perm::R).unwrap();
        m.protect(0x4000, 0x1000, Perm::RW).unwrap();
        assert_eq!(m.load::<8>(0x4000), Ok(0));
        m.store::<8>(0x4000, 7).unwrap();
        m.unmap(0x4000, 0x1000).unwrap();
    }
}

#[test]
fn nothing_is_mapped_across_the_border_of_the_window() {
    const BORDER: u64 = Memory::WINDOW;
    let mut m = memory();
    for (addr, len) in [
        (BORDER, 0x1000),
        (BORDER - 0x2000, 0x3000),
        (BORDER, 1 << 30),
    ] {
        let refused = Err(MemoryError::BadRange { addr, len });
        assert_eq!(m.map(addr, len, Perm::RW), refused);
        assert_eq!(m.reserve(addr, len, Perm::RW), refused);
    }
    m.map(BORDER - 0x1000, 0x1000, Perm::RW).unwrap();
    let high = Memory::HIGH;
    m.map(high, 0x1000, Perm::RWX).unwrap();
    m.store::<8>(high, 0x1122_3344_5566_7788).unwrap();
    assert_eq!(m.load::<2>(high + 3), Ok(0x4455));
    assert_eq!(m.fetch_four_bytes(high), Ok(0x5566_7788));
    assert!(m.load::<8>(BORDER - 8).is_ok() && m.load::<8>(BORDER - 7).is_err());
    assert!(m.load::<8>(high + 0xffc).is_err() && m.load::<1>(high - 1).is_err());
    // Both sides at once.
    m.unmap(BORDER - 0x4000, 1 << 20).unwrap();
    assert_eq!(m.mapped_bytes(), 0);
    assert!(m.is_unreadable(high) && m.is_unwritable(high));
}

#[test]
fn memory_above_the_window_is_copied_and_followed() {
    let at = Memory::LIMIT - 0x4000;
    let mut source = memory();
    let mut copy = source.duplicate().unwrap();
    source.clear_dirty();
    source.map(at, 0x4000, Perm::RW).unwrap();
    source.store::<4>(at + 0x1000, 7).unwrap();
    let pages: Vec<u64> = source.dirty_pages().collect();
    assert_eq!(pages, [at + 0x1000]);
    copy.copy_pages(&source, &pages).unwrap();
    let second = source.duplicate().unwrap();
    for followed in [&copy, &second] {
        assert_eq!(followed.read::<4>(at + 0x1000), Ok(7));
        assert_eq!(followed.read::<4>(at), Ok(0));
        assert_eq!(followed.resident_bytes(), 0x1000);
    }
    source.unmap(at, 0x4000).unwrap();
    source.map(at, 0x4000, Perm::RW).unwrap();
    assert_eq!(source.read::<4>(at + 0x1000), Ok(0));
}

#[test]
fn an_emptied_memory_is_as_good_as_a_new_one() {
    let mut mem = Memory::new(1 << 20).unwrap();
    mem.map(0x10000, 4 * PAGE_SIZE, Perm::RWX).unwrap();
    mem.write_bytes(0x10ffc, b"over two pages").unwrap();
    mem.unmap(0x12000, PAGE_SIZE).unwrap();
    assert!(mem.is_worth_reuse());
    mem.empty().expect("the host has memory");
    assert_eq!((mem.mapped_bytes(), mem.resident_bytes()), (0, 0));
    assert_eq!(mem.permissions(0x10000), None);
    assert!(mem.read::<4>(0x10ffc).is_err());
    mem.map(0x10000, 4 * PAGE_SIZE, Perm::RW).unwrap();
    let mut bytes = vec![1; 4 * PAGE_SIZE as usize];
    mem.read_bytes(0x10000, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
    assert_eq!(mem.dirty_pages().count(), 0);
}
