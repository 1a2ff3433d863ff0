//! The shared region as a writer sees it, version 2: the structures of `hps_shim.h`.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// "HPSSHIM1" in memory order.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HPSSHIM1");
/// The version of the layout.
pub const VERSION: u32 = 2;
/// Threads that a region can show.
pub const SLOTS: usize = 64;
/// Entries of a thread's stack of tags.
pub const STACK: usize = 224;
/// Added to [`Slot::depth`] by a push: an entry, and a change in the upper half.
pub const ENTRY_MORE: u64 = (1 << 32) + 1;
/// Added to [`Slot::depth`] for each entry that goes.
pub const ENTRY_GONE: u64 = (1 << 32) - 1;
/// Counters of a thread.
pub const COUNTERS: usize = 8;
/// Rows of the table of names.
pub const NAMES: usize = 4096;
/// Bytes of one name's text.
pub const NAME_TEXT_BYTES: usize = 120;

/// [`Slot::live`]: a thread writes it.
pub const LIVE: u32 = 1;
/// [`Slot::live`]: its thread ended; the slot may be taken again.
pub const ENDED: u32 = 2;
/// [`Name::state`]: nothing there.
pub const NAME_EMPTY: u32 = 0;
/// [`Name::state`]: somebody writes it.
pub const NAME_WRITING: u32 = 1;
/// [`Name::state`]: length and text may be read.
pub const NAME_READY: u32 = 2;

/// `hps_shim_header`, filled up to the first slot.
#[repr(C)]
pub struct Header {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub slot_count: AtomicU32,
    pub slot_bytes: AtomicU32,
    pub name_count: AtomicU32,
    pub region_bytes: AtomicU64,
    /// The observed process, 0 until it has mapped the region.
    pub pid: AtomicU32,
    /// Slots taken so far.
    pub threads: AtomicU32,
    /// Threads that found no free slot.
    pub refused: AtomicU32,
    /// Names that did not fit into the table.
    pub names_refused: AtomicU32,
    /// 1: a program that asks for it waits until this is 0.
    pub gate: AtomicU32,
    pad: [u8; 4096 - 52],
}

/// `hps_shim_slot`.
#[repr(C, align(128))]
pub struct Slot {
    pub tag: AtomicU64,
    /// Entries in the lower half, changes in the upper.
    pub depth: AtomicU64,
    pad0: [u64; 14],
    pub live: AtomicU32,
    pub tid: AtomicU32,
    pub generation: AtomicU64,
    pad1: [u64; 6],
    pub counters: [AtomicU64; COUNTERS],
    pub stack: [AtomicU64; STACK],
}

/// `hps_shim_name`.
#[repr(C)]
pub struct Name {
    pub state: AtomicU32,
    pub length: AtomicU32,
    pub text: [AtomicU8; NAME_TEXT_BYTES],
}

/// `hps_shim_region`.
#[repr(C)]
pub struct Layout {
    pub header: Header,
    pub slots: [Slot; SLOTS],
    pub names: [Name; NAMES],
}

/// Bytes of the region.
pub const REGION_BYTES: usize = size_of::<Layout>();
const _: () = assert!(REGION_BYTES == 659_456);
