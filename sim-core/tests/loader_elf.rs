//! The loader on good, wrong and damaged files.
//!
//! The cases at the end are the fuzz test of the loader: whatever a file says, loading it neither
//! panics nor takes memory out of proportion.

use std::sync::Arc;

use crate::loader_support::{self, Elf, Load, R, W, X};
use hps_isa::layout;
use hps_isa::memory::Perm;
use hps_system::image::{LoadError, ProgramImage};
use hps_system::process::{Process, ProcessConfig};
use proptest::prelude::*;

fn parse(elf: &Elf) -> Result<ProgramImage, LoadError> {
    ProgramImage::parse(&elf.build(), "prog")
}

/// The message of a refusal, which names the file.
fn refusal(bytes: &[u8]) -> String {
    let text = ProgramImage::parse(bytes, "prog")
        .expect_err("must be refused")
        .to_string();
    assert!(text.starts_with("prog: "), "{text}");
    text
}

fn refused(elf: &Elf, words: &[&str]) {
    let text = refusal(&elf.build());
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

#[test]
fn a_static_program() {
    let image = parse(&Elf::default()).unwrap();
    assert_eq!(image.entry, 0x10200);
    assert!(!image.is_pie);
    assert_eq!(image.segments.len(), 2);
    assert_eq!(image.segments[0].perm, Perm::RX);
    assert_eq!(image.segments[1].perm, Perm::RW);
    assert_eq!(image.segment_bytes(&image.segments[1]), b"data");
    assert_eq!(image.end(), 0x13800);
    assert_eq!(image.program_headers.addr, 0x10040);
    assert_eq!(image.program_headers.count, 4);
    assert_eq!(image.hash.len(), 64);
    assert_eq!(
        image.symbols.function_at(0x10200).map(|f| f.name.as_str()),
        Some("_start")
    );
    assert_eq!(
        image.symbols.function_at(0x10206).map(|f| f.name.as_str()),
        Some("foo::bar(int)")
    );
    assert_eq!(image.symbols.address_of("value"), Some(0x12800));
    assert_eq!(image.symbols.source_line(0x10200), None);
}

#[test]
fn a_position_independent_program() {
    let mut elf = Elf {
        kind: 3,
        entry: 0x200,
        ..Elf::default()
    };
    elf.loads[0].addr = 0;
    elf.loads[1].addr = 0x2800;
    elf.others = vec![];
    elf.symbols = vec![("_start", 0x200, 8, loader_support::GLOBAL_FUNCTION)];
    let image = parse(&elf).unwrap();
    assert!(image.is_pie);
    assert_eq!(image.entry, layout::PIE_BASE + 0x200);
    assert_eq!(image.segments[1].addr, layout::PIE_BASE + 0x2800);
    // Without PT_PHDR the table is found through the segment that holds it.
    assert_eq!(image.program_headers.addr, layout::PIE_BASE + 64);
    assert_eq!(
        image.symbols.address_of("_start"),
        Some(layout::PIE_BASE + 0x200)
    );
}

#[test]
fn the_hash_is_that_of_the_file() {
    let bytes = Elf::default().build();
    let image = ProgramImage::parse(&bytes, "prog").unwrap();
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    assert_ne!(
        ProgramImage::parse(&other, "prog").map(|i| i.hash).ok(),
        Some(image.hash)
    );
}

#[test]
fn wrong_files_are_named() {
    assert!(refusal(b"").contains("not an ELF file"));
    assert!(refusal(b"text\n").contains("not an ELF file"));
    assert!(refusal(b"#!/bin/sh\n").contains("a script for /bin/sh"));
    refused(
        &Elf {
            machine: 62,
            ..Elf::default()
        },
        &["e_machine", "not for RISC-V", "riscv64"],
    );
    refused(
        &Elf {
            kind: 1,
            ..Elf::default()
        },
        &["e_type", "not linked"],
    );
    refused(
        &Elf {
            kind: 4,
            ..Elf::default()
        },
        &["e_type", "core dump"],
    );
    let dynamic = Elf {
        others: vec![(3, 0)],
        ..Elf::default()
    };
    for (size, problem) in [(0, "size"), (1, "size"), (4097, "size"), (5, "no end")] {
        let message = refusal(&dynamic.build_with_size(size));
        for words in ["PT_INTERP", problem, "damaged"] {
            assert!(message.contains(words), "{size}: {message}");
        }
    }
    refused(
        &Elf {
            loads: vec![],
            ..Elf::default()
        },
        &["PT_LOAD"],
    );
    refused(
        &Elf {
            kind: 3,
            entry: 0,
            ..Elf::default()
        },
        &["e_entry", "shared library"],
    );
    let mut bytes = Elf::default().build();
    bytes[48] |= 8;
    assert!(refusal(&bytes).contains("RVE"));
    let mut bytes = Elf::default().build();
    bytes[4] = 1;
    assert!(refusal(&bytes).contains("32-bit"));
    bytes[4] = 2;
    bytes[5] = 2;
    assert!(refusal(&bytes).contains("big-endian"));
}

#[test]
fn contradictions_are_named() {
    let with = |change: &dyn Fn(&mut Elf)| {
        let mut elf = Elf::default();
        change(&mut elf);
        elf
    };
    refused(&with(&|e| e.entry = 0x12800), &["e_entry", "damaged"]);
    refused(&with(&|e| e.entry = 0x10101), &["e_entry"]);
    refused(
        &with(&|e| e.loads[1].mem_bytes = 1),
        &["program header 1, p_filesz"],
    );
    refused(&with(&|e| e.loads[0].mem_bytes = 0x3000), &["overlaps"]);
    refused(
        &with(&|e| e.loads[1].mem_bytes = u64::MAX),
        &["program header 1", "overflow"],
    );
    refused(
        &with(&|e| e.loads[1].mem_bytes = 1 << 40),
        &["program header 1", "outside"],
    );
    refused(
        &with(&|e| e.loads[1].addr = 0xffff_ffff_8000_0800),
        &["outside"],
    );
    refused(&with(&|e| e.loads[0].addr = 0), &["outside"]);
    refused(
        &with(&|e| e.loads[1].addr = layout::HANDLER_BASE + 0x800),
        &["outside"],
    );
    let mut bytes = Elf::default().build();
    bytes[54] = 57;
    assert!(refusal(&bytes).contains("e_phentsize"));
    let mut bytes = Elf::default().build();
    bytes[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&bytes).contains("e_phoff"));
    let mut bytes = Elf::default().build();
    bytes[56..58].copy_from_slice(&u16::MAX.to_le_bytes());
    assert!(refusal(&bytes).contains("e_phnum"));
}

#[test]
fn more_memory_than_allowed_is_refused_at_start() {
    let mut elf = Elf::default();
    elf.loads[1].mem_bytes = 1 << 30;
    let image = Arc::new(parse(&elf).unwrap());
    let config = ProcessConfig {
        memory_limit_bytes: 1 << 28,
        ..ProcessConfig::default()
    };
    let text = Process::new(image, &config).unwrap_err().to_string();
    assert!(text.contains("memory limit"), "{text}");
}

#[test]
fn segments_that_share_a_page_keep_their_bytes() {
    let mut elf = Elf::default();
    elf.loads[1] = Load {
        addr: 0x10800,
        bytes: b"data".to_vec(),
        mem_bytes: 4,
        flags: R | W,
    };
    let process = Process::new(Arc::new(parse(&elf).unwrap()), &ProcessConfig::default()).unwrap();
    assert_eq!(process.mem.read::<4>(0x10200), Ok(0x05d0_0893));
    assert_eq!(process.mem.readable(0x10800, 4), Ok(&b"data"[..]));
    assert_eq!(process.mem.permissions(0x10000), Some(Perm::RWX));
}

#[test]
fn unusual_permissions_are_kept() {
    let mut elf = Elf::default();
    elf.loads[0].flags = X;
    elf.loads[1].flags = W;
    let process = Process::new(Arc::new(parse(&elf).unwrap()), &ProcessConfig::default()).unwrap();
    assert!(process.mem.fetch_word(0x10200).is_ok());
    assert!(process.mem.read::<4>(0x10200).is_err());
    assert_eq!(process.mem.permissions(0x12000), Some(Perm::RW));
}

/// Loading may fail, but not otherwise; what loads can also be started within its limits.
fn survives(bytes: &[u8]) {
    let sound = parse(&Elf::default()).unwrap();
    if let Ok(image) = ProgramImage::parse(bytes, "fuzz") {
        let _ = image.symbols.source_line(image.entry);
        let _ = image.symbols.function_at(image.entry);
        if (image.entry, &image.segments) == (sound.entry, &sound.segments) {
            // Starting it would show nothing new.
            return;
        }
        let config = ProcessConfig {
            memory_limit_bytes: 32 << 20,
            ..ProcessConfig::default()
        };
        if let Ok(process) = Process::new(Arc::new(image), &config) {
            assert!(process.mem.mapped_bytes() <= 32 << 20);
            let _ = process.mem.fetch_word(process.thread.hart.pc);
        }
    }
}

#[test]
fn every_truncation_survives() {
    let bytes = Elf::default().build();
    for len in (0..400).chain((400..bytes.len()).step_by(37)) {
        survives(&bytes[..len]);
    }
}

/// Every bit of the headers, the only place where one bit decides much.
#[test]
fn every_flipped_header_bit_survives() {
    let bytes = Elf::default().build();
    let sections = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    for bit in (0..(64 + 4 * 56) * 8).chain(sections * 8..bytes.len() * 8) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        survives(&damaged);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_survives(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = Elf::default().build();
        for (index, value) in changes {
            // Half of the damage goes to the headers.
            let at = index.index(bytes.len() * 2);
            let at = if at < bytes.len() { at } else { at % 288 };
            bytes[at] = value;
        }
        survives(&bytes);
    }

    #[test]
    fn extreme_fields_survive(field in 3usize..36, value in prop::sample::select(vec![
        0u64, 1, 0xfff, 0x1000, 0x7fff_ffff, 0x8000_0000, 1 << 34, 1 << 62, i64::MAX as u64, 1 << 63, u64::MAX - 0xfff, u64::MAX,
    ])) {
        let mut bytes = Elf::default().build();
        bytes[field * 8..field * 8 + 8].copy_from_slice(&value.to_le_bytes());
        survives(&bytes);
    }

    #[test]
    fn noise_survives(noise in prop::collection::vec(any::<u8>(), 0..600)) {
        survives(&noise);
        let mut bytes = Elf::default().build();
        bytes.truncate(64);
        bytes.extend(noise);
        survives(&bytes);
    }
}
