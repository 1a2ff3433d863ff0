//! The loader on programs for Alpha: ELF files of Linux, ECOFF files of OSF/1, wrong ones and damaged
//! ones. The last cases are the fuzz test of the ECOFF loader.

use std::sync::Arc;

use crate::loader_support::Elf;
use crate::loader_support::ecoff::{DATA_BASE, Ecoff, HEADERS, TEXT_BASE};
use hps_isa::layout;
use hps_isa::memory::Perm;
use hps_sim_core::machine::{Machine, Stop};
use hps_system::image::{Isa, LoadError, ProgramImage};
use hps_system::os::OsInterface;
use hps_system::process::{Process, ProcessConfig};
use proptest::prelude::*;

fn parse(file: &Ecoff) -> Result<ProgramImage, LoadError> {
    ProgramImage::parse(&file.build(), "prog")
}

/// The message of a refusal, which names the file and these words.
fn refused(bytes: &[u8], words: &[&str]) {
    let text = ProgramImage::parse(bytes, "prog")
        .expect_err("must be refused")
        .to_string();
    assert!(text.starts_with("prog: "), "{text}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

/// The file with other bytes at an offset.
fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = Ecoff::default().build();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn an_elf_program_for_alpha() {
    let image = ProgramImage::parse(&Elf::alpha().build(), "prog").unwrap();
    assert_eq!((image.isa, image.os), (Isa::Alpha, OsInterface::Linux));
    assert_eq!(image.entry, 0x10200);
    let process = Process::new(Arc::new(image), &ProcessConfig::default()).unwrap();
    // Pages of 8 KiB.
    assert_eq!(process.mem.permissions(0x11fff), Some(Perm::RX));
    assert_eq!(process.mem.permissions(0x13fff), Some(Perm::RW));
    assert_eq!(process.mem.permissions(0x14000), None);
    assert_eq!(
        process.mem.permissions(layout::STACK_TOP),
        Some(Perm::RW),
        "the stack's last page"
    );
}

#[test]
fn elf_messages_name_the_right_remedy() {
    let mut elf = Elf::alpha();
    elf.others = vec![(3, 0)];
    refused(&elf.build_with_size(1), &["PT_INTERP", "size", "damaged"]);
    let mut elf = Elf::alpha();
    elf.entry = 0x10202;
    refused(&elf.build(), &["e_entry", "damaged"]);
    let mut elf = Elf::alpha();
    elf.machine = 62;
    refused(
        &elf.build(),
        &["e_machine", "not for Alpha", "riscv64 or alpha"],
    );
    // The flag that RISC-V has for the embedded base means nothing here.
    let mut bytes = Elf::alpha().build();
    bytes[48] |= 8;
    assert!(ProgramImage::parse(&bytes, "prog").is_ok());
}

#[test]
fn an_ecoff_program() {
    let image = parse(&Ecoff::default()).unwrap();
    assert_eq!((image.isa, image.os), (Isa::Alpha, OsInterface::Osf1));
    assert_eq!(image.entry, TEXT_BASE + HEADERS as u64);
    assert_eq!(image.global_pointer, Some(DATA_BASE + 0x8000));
    let places: Vec<_> = image
        .segments
        .iter()
        .map(|s| (s.addr, s.mem_bytes, s.file_range.len(), s.perm))
        .collect();
    assert_eq!(
        places,
        [
            (TEXT_BASE, 0x2000, 0x2000, Perm::RX),
            (DATA_BASE, 0x2000, 0x2000, Perm::RW),
            (DATA_BASE + 0x2000, 0x1230, 0, Perm::RW)
        ]
    );
    assert_eq!(&image.segment_bytes(&image.segments[1])[..9], b"some data");
    let function = |addr| image.symbols.function_at(addr).map(|f| f.name.as_str());
    assert_eq!(function(image.entry), Some("__start"));
    assert_eq!(function(image.entry + 4), Some("local"));
    assert_eq!(image.symbols.address_of("value"), Some(DATA_BASE));
    assert_eq!(image.symbols.address_of("missing"), None);
    assert_eq!(image.symbols.source_line(image.entry), None);
}

#[test]
fn every_a_out_magic_has_its_text_offset() {
    for (aout_magic, perm) in [(0o407, Perm::RWX), (0o410, Perm::RX), (0o413, Perm::RX)] {
        let file = Ecoff {
            aout_magic,
            ..Ecoff::default()
        };
        let image = parse(&file).unwrap();
        assert_eq!(image.segments[0].perm, perm, "{aout_magic:#o}");
        let process = Process::new(Arc::new(image), &ProcessConfig::default()).unwrap();
        // The headers are part of the text only of the last kind.
        assert_eq!(
            process.mem.read::<2>(TEXT_BASE).ok(),
            Some(if aout_magic == 0o413 { 0o603 } else { 0 })
        );
        assert_eq!(
            process.mem.fetch_four_bytes(process.thread.hart.pc),
            Ok(0x201f_0001)
        );
        assert_eq!(process.mem.readable(DATA_BASE, 9), Ok(&b"some data"[..]));
        assert_eq!(process.mem.read::<8>(DATA_BASE + 0x3228), Ok(0));
        // exit(argc)
        assert_eq!(Machine::new(process).run_to_end(), Stop::Exit(1));
    }
}

#[test]
fn the_older_magic_and_stripped_files_load() {
    let image = parse(&Ecoff {
        magic: 0o605,
        ..Ecoff::default()
    });
    assert_eq!(image.unwrap().os, OsInterface::Osf1);
    let image = ProgramImage::parse(&patched(8, &[0; 12]), "prog").unwrap();
    assert!(image.symbols.functions().is_empty());
}

#[test]
fn sections_count_where_the_a_out_header_does_not_fit() {
    // data_start as objcopy writes it.
    let at = 24 + 8 + 5 * 8;
    let image = ProgramImage::parse(&patched(at, &TEXT_BASE.to_le_bytes()), "prog").unwrap();
    let places: Vec<_> = image
        .segments
        .iter()
        .map(|s| (s.addr, s.mem_bytes))
        .collect();
    assert_eq!(
        places,
        [
            (TEXT_BASE + HEADERS as u64, 8),
            (DATA_BASE, 9),
            (DATA_BASE + 0x2000, 0x1230)
        ]
    );
}

#[test]
fn wrong_ecoff_files_are_named() {
    let flags = |flags| {
        Ecoff {
            flags,
            ..Ecoff::default()
        }
        .build()
    };
    refused(&flags(0x3007), &["f_flags", "call_shared", "-non_shared"]);
    refused(&flags(0x2007), &["f_flags", "shared library"]);
    refused(&flags(0x1005), &["f_flags", "not linked"]);
    refused(
        &patched(0, &0o610u16.to_le_bytes()),
        &["f_magic", "compressed"],
    );
    // The flags of the second section.
    refused(
        &patched(24 + 80 + 64 + 60, &0x2000u32.to_le_bytes()),
        &["section header 1, s_flags", "dynamic"],
    );
}

#[test]
fn damaged_ecoff_files_are_named() {
    let section = |index: usize, field: usize| 24 + 80 + index * 64 + 8 + field * 8;
    let whole = Ecoff::default().build();
    refused(&whole[..20], &["file header", "20 bytes", "damaged"]);
    refused(&whole[..60], &["a.out header", "60 bytes"]);
    refused(&whole[..200], &["f_nscns", "behind the end"]);
    refused(&patched(2, &[0, 0]), &["f_nscns", "0 sections"]);
    refused(&patched(2, &[0xff, 0xff]), &["f_nscns"]);
    refused(&patched(20, &[79, 0]), &["f_opthdr", "79"]);
    refused(&patched(24, &[0; 2]), &["a.out header, magic", "0o413"]);
    refused(&patched(24 + 8 + 3 * 8, &[1, 0]), &["a.out header, entry"]);
    refused(
        &patched(24 + 8 + 3 * 8, &DATA_BASE.to_le_bytes()),
        &["a.out header, entry", "executable"],
    );
    refused(
        &patched(section(1, 3), &u64::MAX.to_le_bytes()),
        &["section header 1, s_scnptr"],
    );
    refused(
        &patched(section(1, 2), &u64::MAX.to_le_bytes()),
        &["section header 1, s_size", "overflow"],
    );
    refused(
        &patched(section(1, 1), &0u64.to_le_bytes()),
        &["section header 1, s_vaddr", "outside"],
    );
    refused(
        &patched(section(2, 1), &layout::HANDLER_BASE.to_le_bytes()),
        &["section header 2, s_vaddr", "outside", "0x140000000"],
    );
    let text = TEXT_BASE + HEADERS as u64;
    refused(
        &patched(section(1, 1), &text.to_le_bytes()),
        &["s_vaddr", "overlaps"],
    );
    refused(b"\x83", &["not an ELF file, nor an ECOFF file"]);
}

#[test]
fn osf_programs_start_with_their_registers() {
    let image = Arc::new(parse(&Ecoff::default()).unwrap());
    let config = ProcessConfig {
        args: vec!["prog".into(), "one".into()],
        env: vec![("A".into(), "b".into())],
        ..ProcessConfig::default()
    };
    let process = Process::new(Arc::clone(&image), &config).unwrap();
    let r = &process.thread.hart.r;
    let word = |addr| process.mem.read::<8>(addr).unwrap();
    let sp = r[30];
    assert_eq!((r[27], r[29]), (image.entry, DATA_BASE + 0x8000));
    assert_eq!((r[16], r[17], r[18]), (2, sp + 8, sp + 32));
    assert_eq!((word(sp), word(sp + 24), word(sp + 40)), (2, 0, 0));
    let text = |addr| process.mem.read_cstr(word(addr), 99).unwrap().unwrap();
    assert_eq!(
        (text(sp + 16), text(sp + 32)),
        (b"one".to_vec(), b"A=b".to_vec())
    );
    // The heap begins at the very end of the bss.
    assert_eq!(image.end(), DATA_BASE + 0x3230);
}

/// Loading may fail, but not otherwise; what loads can also be started within its limits.
fn survives(bytes: &[u8]) {
    let Ok(image) = ProgramImage::parse(bytes, "fuzz") else {
        return;
    };
    let _ = image.symbols.source_line(image.entry);
    let _ = image.symbols.function_at(image.entry);
    let sound = parse(&Ecoff::default()).unwrap();
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
        assert!(process.mem.fetch_four_bytes(process.thread.hart.pc).is_ok());
    }
}

#[test]
fn every_truncation_survives() {
    let bytes = Ecoff::default().build();
    for len in (0..HEADERS + 8)
        .chain((HEADERS + 8..0x4000).step_by(509))
        .chain(0x4000..bytes.len())
    {
        survives(&bytes[..len]);
    }
}

/// Every bit of the headers and of the symbols, the only places where one bit decides much.
#[test]
fn every_flipped_header_bit_survives() {
    let bytes = Ecoff::default().build();
    for bit in (0..HEADERS * 8).chain(0x4000 * 8..bytes.len() * 8) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        survives(&damaged);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_survives(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = Ecoff::default().build();
        for (index, value) in changes {
            // Half of the damage goes to the headers, the rest to the symbols.
            let at = index.index((HEADERS + bytes.len() - 0x4000) * 2);
            let at = if at < bytes.len() - 0x4000 { 0x4000 + at } else { at % HEADERS };
            bytes[at] = value;
        }
        survives(&bytes);
    }

    #[test]
    fn extreme_fields_survive(field in 0usize..37, value in prop::sample::select(vec![
        0u64, 1, 0xfff, 0x1000, 0x1fff, 0x2000, 0x7fff_ffff, 0x8000_0000, 1 << 33, 1 << 62, i64::MAX as u64, 1 << 63, u64::MAX - 0xfff, u64::MAX,
    ])) {
        let mut bytes = Ecoff::default().build();
        bytes[field * 8..field * 8 + 8].copy_from_slice(&value.to_le_bytes());
        survives(&bytes);
        // ... and a file of the right kind all the same.
        bytes[..2].copy_from_slice(&0o603u16.to_le_bytes());
        survives(&bytes);
    }

    #[test]
    fn noise_survives(noise in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = Ecoff::default().build();
        bytes.truncate(104);
        bytes.extend(noise);
        survives(&bytes);
    }
}
