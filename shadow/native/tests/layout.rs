//! The shared memory says the same to C and to Rust.

use std::mem::offset_of;
use std::process::Command;

use hps_shadow_native::layout::{Header, Layout, Slot, Unit};

#[test]
fn c_and_rust_agree_on_every_offset() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("layout");
    crate::support::compile("layout.c", &program, &[]);
    let output = Command::new(&program).output().expect("it runs").stdout;
    let text = String::from_utf8(output).expect("text");
    let seen: Vec<usize> = text
        .split_whitespace()
        .map(|n| n.parse().expect("a number"))
        .collect();
    let expected = [
        offset_of!(Header, mode),
        offset_of!(Header, supervisor),
        offset_of!(Header, pid),
        offset_of!(Header, closing),
        offset_of!(Header, sample),
        offset_of!(Header, load_millionths),
        offset_of!(Header, signals),
        offset_of!(Header, restarted),
        offset_of!(Header, spared),
        offset_of!(Header, is_attached),
        offset_of!(Header, by_turn),
        offset_of!(Header, private_pages),
        offset_of!(Header, huge),
        offset_of!(Header, expected_ns),
        offset_of!(Header, ended_ns),
        offset_of!(Header, alive_ns),
        offset_of!(Header, policy),
        offset_of!(Header, guard),
        offset_of!(Header, descriptor),
        offset_of!(Header, pretend),
        offset_of!(Header, calls),
        size_of::<Header>(),
        offset_of!(Slot, ending),
        offset_of!(Slot, sequence),
        offset_of!(Slot, units),
        offset_of!(Slot, head),
        offset_of!(Slot, tail),
        offset_of!(Slot, life_ns),
        offset_of!(Slot, held_ns),
        offset_of!(Slot, first),
        offset_of!(Slot, count),
        offset_of!(Slot, maps_bytes),
        offset_of!(Slot, is_apart),
        offset_of!(Slot, sample),
        offset_of!(Slot, thread),
        offset_of!(Slot, name),
        offset_of!(Slot, maps),
        offset_of!(Slot, unit),
        offset_of!(Slot, ring),
        offset_of!(Slot, value),
        size_of::<Slot>(),
        size_of::<Unit>(),
        offset_of!(Layout, slots),
        size_of::<Layout>(),
    ];
    assert_eq!(seen, expected);
}
