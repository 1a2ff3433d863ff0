use super::*;
use std::io::Write;

/// The number behind `#define NAME` in the C header.
fn defined(name: &str) -> u64 {
    let header = include_str!("../../include/hps_shim.h");
    let line = header
        .lines()
        .find_map(|line| line.strip_prefix(&format!("#define {name} ")))
        .unwrap_or_else(|| panic!("{name} is not defined"));
    let word = line.split_whitespace().next().unwrap();
    let word = word.trim_start_matches("UINT64_C(").trim_end_matches(')');
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => word.parse().unwrap(),
    }
}

#[test]
fn the_c_header_says_the_same() {
    for (name, value) in [
        ("HPS_SHIM_MAGIC", MAGIC),
        ("HPS_SHIM_VERSION", u64::from(VERSION)),
        ("HPS_SHIM_HEADER_BYTES", HEADER_BYTES as u64),
        ("HPS_SHIM_SLOTS", SLOTS as u64),
        ("HPS_SHIM_SLOT_BYTES", SLOT_BYTES as u64),
        ("HPS_SHIM_STACK", STACK as u64),
        ("HPS_SHIM_ENTRY_MORE", ENTRY_MORE),
        ("HPS_SHIM_ENTRY_GONE", ENTRY_GONE),
        ("HPS_SHIM_COUNTERS", COUNTERS as u64),
        ("HPS_SHIM_NAMES", NAMES as u64),
        ("HPS_SHIM_NAME_TEXT_BYTES", NAME_TEXT_BYTES as u64),
        ("HPS_SHIM_REGION_BYTES", REGION_BYTES as u64),
        ("HPS_SHIM_FIRST_ADDRESS", FIRST_ADDRESS),
    ] {
        assert_eq!(defined(name), value, "{name}");
    }
    assert_eq!(&MAGIC.to_le_bytes(), b"HPSSHIM1");
}

#[test]
fn lines_are_where_the_description_says() {
    use std::mem::offset_of;
    assert_eq!(offset_of!(Slot, live), 128);
    assert_eq!(offset_of!(Slot, counters), 192);
    assert_eq!(offset_of!(Slot, stack), 256);
    assert_eq!(offset_of!(Layout, slots), HEADER_BYTES);
    assert_eq!(offset_of!(Layout, names), HEADER_BYTES + SLOTS * SLOT_BYTES);
}

#[test]
fn two_mappings_show_one_region() {
    let one = Region::create().unwrap();
    let two = Region::open(&one.path()).unwrap();
    let slot = two.take_slot().unwrap();
    slot.set(77);
    let seen: Vec<u64> = one
        .used_slots()
        .map(|(_, slot)| slot.tag.load(Ordering::Relaxed))
        .collect();
    assert_eq!(seen, [77]);
    assert!(two.set_name(5, "fünf"));
    assert_eq!(one.name(5).as_deref(), Some("fünf"));
    assert_eq!(one.name(6), None);
    assert!(!two.set_name(NAMES as u64, "too far"));
    assert_eq!(one.layout().header.names_refused.load(Ordering::Relaxed), 1);
}

#[test]
fn long_names_are_cut_between_letters() {
    let region = Region::create().unwrap();
    let long = "ü".repeat(100);
    region.set_name(1, &format!("x{long}"));
    let name = region.name(1).unwrap();
    assert_eq!(name, format!("x{}", "ü".repeat(59)));
}

#[test]
fn more_threads_than_slots_are_counted() {
    let region = Region::create().unwrap();
    for _ in 0..SLOTS {
        assert!(region.take_slot().is_some());
    }
    assert!(region.take_slot().is_none());
    let header = &region.layout().header;
    assert_eq!(header.refused.load(Ordering::Relaxed), 1);
    // A slot whose thread ended is taken again.
    region.layout().slots[9]
        .live
        .store(ENDED, Ordering::Relaxed);
    let slot = region.take_slot().unwrap();
    assert_eq!(slot.generation.load(Ordering::Relaxed), 2);
}

#[test]
fn what_could_kill_the_observer_or_is_no_region_is_refused() {
    let refused = |path: &Path| match Region::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![0; REGION_BYTES]).unwrap();
    assert!(refused(file.path()).contains("sealed"));
    assert!(refused(Path::new("/no/such")).contains("/no/such"));
    let region = Region::create().unwrap();
    // Nobody can take its pages away.
    assert!(rustix::fs::ftruncate(&region, 0).is_err());
    region.layout().header.version.store(9, Ordering::Relaxed);
    assert!(refused(&region.path()).contains("version 9"));
    region.layout().header.magic.store(1, Ordering::Relaxed);
    assert!(refused(&region.path()).contains("begins with"));
}
