//! Observers of calls (Olsauskas-Warren, "High Frequency Dynamic Profiling of Managed Runtimes with SHIM", ANU 2015,
//! chapter 4): a tag stack whose entries are marked, a ring of calls, a ring of calls and returns.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pace::{Pace, Pacer};
use crate::preload::Variant;
use crate::region::{LIVE, Region, STACK, Slot, changes_of, depth_of};
use crate::rings::Rings;

/// The mark of an entry of the stack that nobody has seen.
const MARK: u64 = 1 << 62;
/// Bit that a return has beside its function.
const RETURNS: u64 = 1 << 63;
/// Different calls that are counted; further ones are lost.
const MOST_CALLS: usize = 1 << 18;

/// How calls are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Collector {
    /// New entries of the tag stack, so many from its top, or all.
    Stack(Option<usize>),
    /// A ring of calls of so many bytes.
    Pairs(usize),
    /// A ring of calls and returns of so many bytes.
    Sequence(usize),
}

impl Collector {
    /// Variant of the program's library that the collector needs.
    #[must_use]
    pub fn variant(self) -> Variant {
        match self {
            Collector::Stack(_) => Variant::New,
            Collector::Pairs(_) => Variant::Pairs,
            Collector::Sequence(_) => Variant::Sequence,
        }
    }

    /// The rings that it needs.
    ///
    /// # Errors
    /// Like [`Rings::create`].
    pub fn rings(self) -> Result<Option<Rings>, crate::ShimError> {
        match self {
            Collector::Stack(_) => Ok(None),
            Collector::Pairs(bytes) | Collector::Sequence(bytes) => Rings::create(bytes).map(Some),
        }
    }
}

/// `stack-2`, `stack-full`, `pairs-8k`, `sequence-1024k`.
impl FromStr for Collector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "`{text}` finds no calls: say stack-N or stack-full, pairs-SIZEk or sequence-SIZEk, such as stack-2, \
                 pairs-8k or sequence-1024k (sizes are powers of two from 4 to 65536)"
            )
        };
        let (name, size) = text.split_once('-').ok_or_else(refuse)?;
        let number = |digits: &str| digits.parse::<usize>().ok().filter(|n| *n > 0);
        if name == "stack" {
            return match (size, number(size)) {
                ("full", _) => Ok(Collector::Stack(None)),
                (_, Some(depth)) => Ok(Collector::Stack(Some(depth))),
                _ => Err(refuse()),
            };
        }
        let kilobytes = size.strip_suffix('k').and_then(number);
        let is_size = |n: &usize| n.is_power_of_two() && (4..=65_536).contains(n);
        let bytes = kilobytes.filter(is_size).ok_or_else(refuse)? << 10;
        match name {
            "pairs" => Ok(Collector::Pairs(bytes)),
            "sequence" => Ok(Collector::Sequence(bytes)),
            _ => Err(refuse()),
        }
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collector::Stack(None) => write!(f, "stack-full"),
            Collector::Stack(Some(depth)) => write!(f, "stack-{depth}"),
            Collector::Pairs(bytes) => write!(f, "pairs-{}k", bytes >> 10),
            Collector::Sequence(bytes) => write!(f, "sequence-{}k", bytes >> 10),
        }
    }
}

/// Calls that were found, by the addresses of caller and callee; caller 0 is what begins a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundCalls {
    /// How often each was found.
    pub calls: HashMap<(u64, u64), u64>,
    /// Calls for which there was no room.
    pub lost: u64,
    /// Calls that were read while the stack changed: caller and callee may never have been one.
    pub changed: u64,
    /// Calls whose caller the ring does not tell.
    pub orphans: u64,
    /// Times that the stack or a full ring was read.
    pub reads: u64,
}

impl FoundCalls {
    fn add(&mut self, caller: u64, callee: u64) {
        if let Some(count) = self.calls.get_mut(&(caller, callee)) {
            *count += 1;
        } else if self.calls.len() < MOST_CALLS {
            self.calls.insert((caller, callee), 1);
        } else {
            self.lost += 1;
        }
    }

    /// All calls that were counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Takes the new entries from the top of a stack, at most `most`, and marks them as seen. The first that was seen
    /// before ends the walk: nothing below can be new.
    fn take_stack(&mut self, slot: &Slot, most: usize) {
        let word = slot.depth.load(Ordering::Acquire);
        let depth = depth_of(word).min(STACK);
        self.reads += 1;
        for at in (0..depth).rev().take(most) {
            let entry = slot.stack[at].load(Ordering::Relaxed);
            if entry & MARK == 0 {
                return;
            }
            mark_as_seen(slot, at);
            let around = at
                .checked_sub(1)
                .map_or(0, |below| slot.stack[below].load(Ordering::Acquire));
            let after = slot.depth.load(Ordering::Acquire);
            self.changed += u64::from(changes_of(after) != changes_of(word));
            self.add(around & !MARK, entry & !MARK);
        }
    }

    /// Takes what a ring holds.
    fn take_ring(&mut self, rings: &Rings, ring: usize, collector: Collector, all: bool) {
        let mut waiting = None;
        let mut frames: Vec<u64> = Vec::new();
        let took = rings.read(ring, all, |word| match collector {
            Collector::Sequence(_) if word & RETURNS != 0 => {
                // Frames above it were skipped by `longjmp`. One that is not there was entered before the ring tells.
                let left = frames.iter().rposition(|f| f | RETURNS == word);
                frames.truncate(left.unwrap_or(0));
            }
            Collector::Sequence(_) => {
                match frames.last() {
                    Some(&caller) => self.add(caller, word),
                    None => self.orphans += 1,
                }
                frames.push(word);
            }
            _ => match waiting.take() {
                None => waiting = Some(word),
                Some(caller) => self.add(caller, word),
            },
        });
        self.reads += u64::from(took);
    }
}

/// Takes the mark off an entry by a store of its highest byte, so that a pop and a push in between lose no more than
/// the mark of the new entry.
fn mark_as_seen(slot: &Slot, at: usize) {
    let entry: *const AtomicU8 = std::ptr::from_ref(&slot.stack[at]).cast();
    // SAFETY: byte 7 lies in the word, of which it is the highest, words being little-endian. In this process only the
    // observer's thread touches the word; the program's stores are those of another process.
    unsafe { (*entry.add(7)).store(0, Ordering::Relaxed) };
}

/// Finds calls until `stop` is set, and then what rings still hold.
pub fn observe_calls(
    collector: Collector,
    region: &Region,
    rings: Option<&Rings>,
    pace: Pace,
    stop: &AtomicBool,
) -> FoundCalls {
    let mut found = FoundCalls::default();
    let mut pacer = Pacer::new(pace);
    while !stop.load(Ordering::Relaxed) {
        match (collector, rings) {
            (Collector::Stack(most), _) => {
                let live = |slot: &Slot| slot.live.load(Ordering::Relaxed) == LIVE;
                for (_, slot) in region.used_slots().filter(|(_, slot)| live(slot)) {
                    found.take_stack(slot, most.unwrap_or(usize::MAX));
                }
            }
            (_, Some(rings)) => {
                for ring in 0..rings.taken() {
                    found.take_ring(rings, ring, collector, false);
                }
            }
            _ => {}
        }
        pacer.wait(stop);
    }
    if let Some(rings) = rings {
        for ring in 0..rings.taken() {
            found.take_ring(rings, ring, collector, true);
        }
    }
    found
}

#[cfg(test)]
mod tests;
