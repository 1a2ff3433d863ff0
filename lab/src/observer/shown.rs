//! Layout of the tags and counters that a program shows by itself through `hps_shim.h`, and a reader of them.
//!
//! The program makes its region as under any kernel (`HPS_SHIM_REGION=self`), at an address that is not known before.
//! The lab looks for it between two stretches of the run, and tells the observer where the slot of each thread is, in a
//! table by the low bits of the thread's number: "moving addresses are told to the observer now and then" (SHIM,
//! section 3). Tags of a thread before its slot is known count as no tag, for the observer and in the truth. Threads
//! that live at the same time and share these bits share a place of the table, and the last one has it.
//!
//! The layout is that of `shim/include/hps_shim.h`; a test of `hps-experiments` compares it with the native backend's.

use std::collections::BTreeMap;
use std::sync::Arc;

use hps_isa::editor::DecodeEditor;
use hps_isa::memory::Memory;
use hps_pipeline::core::{Chip, CyclesProbe};

use super::area::{self, SLOT_PLACES, SLOT_TABLE, TAG};
use super::paths::{Image, STACK};
use super::run::{memory, word};
use super::tally::Spent;
use super::watch::Watch;

/// The variable that names the region to the program, and what it says to one that makes its own.
pub const VARIABLE: (&str, &str) = ("HPS_SHIM_REGION", "self");
/// "HPSSHIM1", the first word of a region.
pub const MAGIC: u64 = 0x314d_4948_5353_5048;
/// The version of the layout, in the word behind [`MAGIC`].
pub const VERSION: u32 = 2;
/// Offset of the number of slots that were taken so far.
pub const THREADS_AT: u64 = 36;
/// Offset of the number of threads that found no slot. The number of names that found no place follows.
pub const REFUSED_AT: u64 = 40;
/// Offset of the first slot.
pub const SLOTS_AT: u64 = 4096;
/// Slots.
pub const SLOTS: usize = 64;
/// Bytes of a slot, whose first word is the tag.
pub const SLOT_BYTES: u64 = 2048;
/// Offset in a slot of the word that is 1 while a thread has the slot. The thread's number follows.
pub const LIVE_AT: u64 = 128;
/// Offset in a slot of the first of 8 counters.
pub const COUNTERS_AT: u64 = 192;
/// Counters of a slot.
pub const COUNTERS: usize = 8;
/// Offset in a slot of the outermost entry of the stack.
pub const STACK_AT: u64 = 256;
/// Offset of the first name.
pub const NAMES_AT: u64 = SLOTS_AT + SLOTS as u64 * SLOT_BYTES;
/// Names.
pub const NAMES: usize = 4096;
/// Bytes of a name: its state, its length, its text.
pub const NAME_BYTES: u64 = 128;
/// Bytes of a region.
pub const REGION_BYTES: u64 = NAMES_AT + NAMES as u64 * NAME_BYTES;
/// Counters of hardware and program in one sample, at most.
pub(super) const MOST_READ: usize = 3;
/// Tag and counters of a slot.
pub(super) type Words = [u64; 1 + COUNTERS];

/// The counters of a set, in ascending order: bit 0 stands for the first one.
pub fn own_counters(set: u8) -> impl Iterator<Item = usize> {
    (0..COUNTERS).filter(move |number| set >> number & 1 != 0)
}

/// Tags, names and threads that a program has shown when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Paths of the tag stack, outermost tags first, with the work done under each, if stacks are observed. Work under
    /// no tag has the path of tag 0 alone.
    pub paths: Vec<(Arc<[u64]>, Spent)>,
    /// Texts of small tags.
    pub names: BTreeMap<u64, String>,
    /// Slots that were taken.
    pub threads: u32,
    /// Threads that found no slot.
    pub refused: u32,
    /// Names that found no place.
    pub names_refused: u32,
}

/// The region of the program, as far as the lab knows it.
#[derive(Debug, Default)]
pub(super) struct Finder {
    region: Option<u64>,
    /// Epoch of the memory's layout at the last search for the region.
    epoch: u64,
    /// Threads of the slots in the table, by slot.
    told: Vec<u32>,
}

impl Finder {
    /// Looks for the region and for slots that were taken or given back, and tells the observer.
    pub fn look<E: DecodeEditor>(&mut self, chip: &mut Chip<E, CyclesProbe>) -> Result<(), String> {
        // A program that has ended has no memory to read.
        let Some(process) = chip.process_mut().observed_guest() else {
            return Ok(());
        };
        if self.region.is_none() || self.epoch != process.mem.layout_epoch() {
            let areas = process.os.shared_memory_files();
            let large = areas.iter().filter(|r| r.end - r.start >= REGION_BYTES);
            let known = |at: &u64| is_region(&process.mem, *at);
            let found = large.map(|range| range.start).find(known);
            self.epoch = process.mem.layout_epoch();
            if found != self.region {
                (self.region, self.told) = (found, Vec::new());
                set(&mut process.mem, SLOT_TABLE, &[TAG; SLOT_PLACES as usize])?;
                let cycle = chip.stats().cycles;
                let watch: &mut Watch = chip.probe_mut().probe_mut();
                watch.shown.begin(found);
                watch.show(cycle, true);
            }
        }
        let Some(region) = self.region else {
            return Ok(());
        };
        let mem = memory(chip.process_mut())?;
        let threads = half(mem, region + THREADS_AT).min(SLOTS as u32) as usize;
        self.told.resize(threads.max(self.told.len()), 0);
        for slot in 0..threads {
            let at = region + SLOTS_AT + slot as u64 * SLOT_BYTES;
            let mem = memory(chip.process_mut())?;
            let tid = match half(mem, at + LIVE_AT) {
                1 => half(mem, at + LIVE_AT + 4),
                _ => 0,
            };
            let before = std::mem::replace(&mut self.told[slot], tid);
            if tid == before {
                continue;
            }
            let place = |tid: u32| SLOT_TABLE + 8 * (u64::from(tid) % SLOT_PLACES);
            if before != 0 && word(mem, place(before))? == at {
                set(mem, place(before), &[TAG])?;
            }
            let (mut words, mut image) = (Words::default(), Image::default());
            if tid != 0 {
                set(mem, place(tid), &[at])?;
                words[0] = whole(mem, at);
                for (number, counter) in words[1..].iter_mut().enumerate() {
                    *counter = whole(mem, at + COUNTERS_AT + 8 * number as u64);
                }
                image.depth = whole(mem, at + 8);
                for (number, entry) in image.entries.iter_mut().enumerate() {
                    *entry = whole(mem, at + STACK_AT + 8 * number as u64);
                }
            }
            let cycle = chip.stats().cycles;
            let watch: &mut Watch = chip.probe_mut().probe_mut();
            watch.shown.slot_is_of(slot, tid, words, image);
            watch.show(cycle, true);
        }
        Ok(())
    }

    /// Reads the region when the program has ended.
    pub fn finish(&self, mem: &Memory) -> Option<Shown> {
        let region = self.region.filter(|at| is_region(mem, *at))?;
        let mut shown = Shown {
            threads: half(mem, region + THREADS_AT),
            refused: half(mem, region + REFUSED_AT),
            names_refused: half(mem, region + REFUSED_AT + 4),
            ..Shown::default()
        };
        for tag in 1..NAMES as u64 {
            let at = region + NAMES_AT + tag * NAME_BYTES;
            let (state, length) = (half(mem, at), half(mem, at + 4));
            let mut text = vec![0; (length as usize).min(NAME_BYTES as usize - 8)];
            if state == 2 && mem.read_bytes(at + 8, &mut text).is_ok() {
                let text = String::from_utf8_lossy(&text).into_owned();
                shown.names.insert(tag, text);
            }
        }
        Some(shown)
    }
}

/// Whether a region of this version begins at an address.
fn is_region(mem: &Memory, at: u64) -> bool {
    let mut first = [0; 8];
    let is_marked = mem.read_bytes(at, &mut first).is_ok() && u64::from_le_bytes(first) == MAGIC;
    is_marked && half(mem, at + 8) == VERSION
}

fn set(mem: &mut Memory, at: u64, words: &[u64]) -> Result<(), String> {
    area::words(mem, at, words).map_err(|error| error.to_string())
}

/// A word of the program's; 0 where it cannot be read.
fn whole(mem: &Memory, at: u64) -> u64 {
    let mut bytes = [0; 8];
    match mem.read_bytes(at, &mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => 0,
    }
}

/// A word of 32 bits of the program's; 0 where it cannot be read.
fn half(mem: &Memory, at: u64) -> u32 {
    let mut bytes = [0; 4];
    match mem.read_bytes(at, &mut bytes) {
        Ok(()) => u32::from_le_bytes(bytes),
        Err(_) => 0,
    }
}

/// The true words of the slots, by the stores that have committed, and the slot of the thread on the program's context.
#[derive(Clone, Debug)]
pub struct Slots {
    /// Address of the first slot; 0 without a region.
    first: u64,
    /// Tag, counters and stack of each slot. The last element is empty: it stands for threads without a slot.
    all: Vec<(Words, Image)>,
    threads: Vec<u32>,
    /// The thread on the context, and its slot.
    thread: u32,
    current: usize,
}

impl Slots {
    pub(super) fn none() -> Slots {
        Slots {
            first: 0,
            all: vec![(Words::default(), Image::default())],
            threads: Vec::new(),
            thread: 0,
            current: 0,
        }
    }

    /// Replaces the region of the program; `None` if it has none any more.
    fn begin(&mut self, region: Option<u64>) {
        let thread = self.thread;
        *self = Slots::none();
        self.thread = thread;
        if let Some(region) = region {
            self.first = region + SLOTS_AT;
            self.all.resize_with(SLOTS + 1, Default::default);
            self.threads = vec![0; SLOTS];
            self.current = SLOTS;
        }
    }

    fn slot_is_of(&mut self, slot: usize, thread: u32, words: Words, image: Image) {
        self.threads[slot] = thread;
        self.all[slot] = (words, image);
        self.find();
    }

    fn find(&mut self) {
        let found = self.threads.iter().position(|tid| *tid == self.thread);
        let found = found.filter(|_| self.thread != 0);
        self.current = found.unwrap_or(self.threads.len());
    }

    /// The words that the thread on the context shows.
    pub(super) fn now(&self) -> &(Words, Image) {
        &self.all[self.current]
    }

    /// Notes the thread of an instruction that commits on the program's first context. Gives whether it is another
    /// thread than that of the instruction before it.
    #[inline]
    pub(super) fn turn_to(&mut self, thread: u32) -> bool {
        if thread == self.thread {
            return false;
        }
        self.thread = thread;
        self.find();
        true
    }

    /// Notes a store. Gives the number of the word if it is one that the thread on the context shows; 0 is its tag.
    #[inline]
    pub(super) fn stored(&mut self, addr: u64, value: u64) -> Option<usize> {
        let offset = addr.wrapping_sub(self.first);
        if self.first == 0 || offset >= SLOTS as u64 * SLOT_BYTES {
            return None;
        }
        let (slot, at) = ((offset / SLOT_BYTES) as usize, offset % SLOT_BYTES);
        let (words, image) = &mut self.all[slot];
        let number = match at {
            0 => 0,
            8 => {
                image.depth = value;
                return None;
            }
            STACK_AT.. => {
                *image.entries.get_mut(((at - STACK_AT) / 8) as usize)? = value;
                return None;
            }
            _ => 1 + (at.checked_sub(COUNTERS_AT)? / 8) as usize,
        };
        *words.get_mut(number)? = value;
        (slot == self.current).then_some(number)
    }
}

const _: () = assert!(STACK_AT + 8 * STACK as u64 == SLOT_BYTES);
