//! A database keeps samples, refuses what does not belong to it, and survives damage.

use std::fs;
use std::path::Path;

use super::file::beside;
use super::{Database, DatabaseError, Header, Places, UNKNOWN};
use crate::samples::{Counts, Event, Range};

fn header(event: Event) -> Header {
    Header {
        image: "bin/bwt".to_string(),
        image_hash: "0123456789abcdef".to_string(),
        build_id: Some("ab12".to_string()),
        root: None,
        places: Places::File,
        isa: "alpha".to_string(),
        machine: "(name: \"ev5\")".to_string(),
        machine_name: "ev5".to_string(),
        version: "1".to_string(),
        event,
        period: Range::PUBLISHED,
    }
}

fn counts(all: &[(u64, u64)]) -> Counts {
    let mut counts = Counts::new(Range::PUBLISHED);
    counts.by_pc = all.iter().copied().collect();
    counts
}

fn only(database: &Database) -> Vec<(u64, u64)> {
    let contents = database.read(&[]).expect("it can be read");
    assert_eq!(contents.images.len(), 1);
    let cycles = contents.images[0]
        .samples
        .of(Event::Cycles)
        .expect("cycles");
    cycles.by_pc.iter().map(|(pc, n)| (*pc, *n)).collect()
}

#[test]
fn samples_add_up_over_collections_and_epochs() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let header = header(Event::Cycles);
    let first = counts(&[(0x1_2000_0000, 3), (0x1_2000_0004, 1 << 40)]);
    database.add(&header, &first).expect("added");
    let second = counts(&[(0x1_2000_0000, 4), (u64::MAX, 1)]);
    Database::open(folder.path())
        .expect("there")
        .add(&header, &second)
        .expect("added");
    let sum = [(0x1_2000_0000, 7), (0x1_2000_0004, 1 << 40), (u64::MAX, 1)];
    assert_eq!(only(&database), sum);
    assert_eq!(database.new_epoch().expect("made"), 2);
    database.add(&header, &counts(&[(8, 1)])).expect("added");
    assert_eq!(only(&database).len(), 4);
    assert_eq!(database.epochs().expect("read"), [1, 2]);
    let last = database.read(&[2]).expect("read");
    assert_eq!(last.images[0].samples.at(Event::Cycles, 8), 1);
}

#[test]
fn edge_samples_are_kept_and_files_without_them_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let header = header(Event::Cycles);
    let mut all = counts(&[(4, 2), (8, 3)]);
    all.by_edge
        .extend([((4, u64::MAX), 2), ((4, 8), 300), ((1 << 40, 0), 1)]);
    database.add(&header, &all).expect("added");
    let path = database.add(&header, &all).expect("added");
    let contents = database.read(&[]).expect("read");
    let there = contents.images[0]
        .samples
        .of(Event::Cycles)
        .expect("cycles");
    let sum = [((4, 8), 600), ((4, u64::MAX), 4), ((1 << 40, 0), 2)];
    assert_eq!(
        there
            .by_edge
            .iter()
            .map(|(e, n)| (*e, *n))
            .collect::<Vec<_>>(),
        sum
    );
    // The format before: no number of addresses, no edges.
    fs::remove_file(&path).expect("removed");
    database
        .add(&header, &counts(&[(4, 2), (8, 3)]))
        .expect("added");
    let mut bytes = fs::read(&path).expect("read");
    bytes[7] = 1;
    let number = bytes
        .iter()
        .rposition(|byte| *byte == b'}')
        .expect("a header")
        + 1;
    assert_eq!(bytes.remove(number), 2);
    bytes.truncate(bytes.len() - 4);
    let sum = crc32fast::hash(&bytes).to_le_bytes();
    fs::write(&path, [bytes, sum.to_vec()].concat()).expect("written");
    assert_eq!(only(&database), [(4, 2), (8, 3)]);
}

/// Files of format 2 say nothing of the object: their addresses are those of the running program.
#[test]
fn samples_at_addresses_of_the_running_program_stay_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let path = database
        .add(&header(Event::Cycles), &counts(&[(4, 2)]))
        .expect("added");
    let bytes = fs::read(&path).expect("read");
    let length = u32::from_le_bytes(bytes[8..12].try_into().expect("four")) as usize;
    let json = std::str::from_utf8(&bytes[12..12 + length]).expect("a text");
    let mut old: serde_json::Value = serde_json::from_str(json).expect("a header");
    for key in ["build_id", "places"] {
        old.as_object_mut().expect("keys").remove(key).expect(key);
    }
    let old = old.to_string();
    let mut written = b"HPSDCPI\x02".to_vec();
    written.extend((old.len() as u32).to_le_bytes());
    written.extend(old.as_bytes());
    written.extend(&bytes[12 + length..bytes.len() - 4]);
    let sum = crc32fast::hash(&written).to_le_bytes();
    fs::write(&path, [written, sum.to_vec()].concat()).expect("written");
    assert_eq!(only(&database), [(4, 2)]);
    let there = &database.read(&[]).expect("read").images[0].header;
    assert_eq!((there.places, &there.build_id), (Places::Running, &None));
    let refused = database.add(&header(Event::Cycles), &counts(&[(4, 1)]));
    let text = refused.expect_err("refused").to_string();
    assert!(
        text.contains("addresses of the running program") && text.contains("--new-epoch"),
        "{text}"
    );
    database.new_epoch().expect("made");
    database
        .add(&header(Event::Cycles), &counts(&[(4, 1)]))
        .expect("added");
    assert_eq!(database.read(&[]).expect("read").images.len(), 2);
}

#[test]
fn code_outside_of_objects_has_a_file_and_objects_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let unknown = Header {
        image: UNKNOWN.to_string(),
        image_hash: String::new(),
        ..header(Event::Cycles)
    };
    let path = database.add(&unknown, &counts(&[(4, 2)])).expect("added");
    assert!(path.ends_with("unknown.cycles"), "{}", path.display());
    assert!(!database.kept("ab").exists());
    database.keep("ab", b"bytes").expect("kept");
    database.keep("ab", b"not written again").expect("kept");
    assert_eq!(fs::read(database.kept("ab")).expect("read"), b"bytes");
    assert_eq!(database.epochs().expect("read"), [1]);
}

#[test]
fn two_collections_at_once_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: &Path = folder.path();
    Database::create(path).expect("made");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let database = Database::open(path).expect("there");
                for _ in 0..50 {
                    let one = counts(&[(4, 1), (8, 2)]);
                    database.add(&header(Event::Cycles), &one).expect("added");
                }
            });
        }
    });
    let database = Database::open(path).expect("there");
    assert_eq!(only(&database), [(4, 100), (8, 200)]);
}

#[test]
fn a_damaged_file_costs_itself_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let path = database
        .add(&header(Event::Cycles), &counts(&[(4, 1)]))
        .expect("added");
    database
        .add(&header(Event::Imiss), &counts(&[(4, 9)]))
        .expect("added");
    let whole = fs::read(&path).expect("read");
    // Every truncation and every flipped bit is noticed.
    for at in 0..whole.len() {
        fs::write(&path, &whole[..at]).expect("written");
        let contents = database.read(&[]).expect("read");
        assert_eq!(contents.damaged.len(), 1, "cut at {at}");
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, flipped).expect("written");
        let contents = database.read(&[]).expect("read");
        assert_eq!(contents.damaged.len(), 1, "flipped at {at}");
        assert_eq!(contents.images[0].samples.at(Event::Imiss, 4), 9);
    }
    // The damaged file is put aside, and collection goes on.
    database
        .add(&header(Event::Cycles), &counts(&[(4, 5)]))
        .expect("added");
    assert!(beside(&path, "damaged").exists());
    let contents = database.read(&[]).expect("read");
    assert!(contents.damaged.is_empty());
    assert_eq!(contents.images[0].samples.at(Event::Cycles, 4), 5);
}

#[test]
fn samples_of_another_version_machine_or_period_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let there = header(Event::Cycles);
    database.add(&there, &counts(&[(4, 1)])).expect("added");
    let change = |change: fn(&mut Header)| {
        let mut other = header(Event::Cycles);
        change(&mut other);
        other
    };
    for (other, named) in [
        (change(|h| h.version = "2".to_string()), "version 1"),
        (change(|h| h.machine += " "), "another description of ev5"),
        (change(|h| h.period = Range::fixed(7)), "period"),
    ] {
        let refused = database
            .add(&other, &counts(&[(4, 1)]))
            .expect_err("refused");
        assert!(matches!(refused, DatabaseError::Other { .. }));
        let text = refused.to_string();
        assert!(
            text.contains(named) && text.contains("--new-epoch"),
            "{text}"
        );
    }
    assert_eq!(only(&database), [(4, 1)]);
    // Another program is another file.
    let other = change(|h| h.image_hash = "ffff".to_string());
    database.add(&other, &counts(&[(4, 1)])).expect("added");
    assert_eq!(database.read(&[]).expect("read").images.len(), 2);
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path()).expect("made");
    let header = header(Event::Cycles);
    let path = database.add(&header, &counts(&[(4, 1)])).expect("added");
    // A folder in the place of the temporary file stands for a disk that takes no more.
    let temporary = beside(&path, "new");
    fs::create_dir(&temporary).expect("made");
    let failed = database
        .add(&header, &counts(&[(4, 1)]))
        .expect_err("fails");
    assert!(failed.to_string().contains("is still there"), "{failed}");
    assert_eq!(only(&database), [(4, 1)]);
    let nowhere = Database::open(&folder.path().join("nowhere")).expect_err("absent");
    assert!(nowhere.to_string().contains("no database"), "{nowhere}");
}
