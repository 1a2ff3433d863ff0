//! Tags and counters that a Rust program shows to SHIM's observer (`hps shim`), as the header
//! `hps_shim.h` does for C and C++.
//!
//! ```
//! let parsing = hps_shim_tags::name("parsing"); // once: a small tag with a text
//! {
//!     let _in = hps_shim_tags::scope(parsing); // what this thread is in, until the end of the block
//!     hps_shim_tags::count(0, 17); // one of 8 counters of this thread
//! }
//! hps_shim_tags::tag(parsing); // from now on
//! ```
//!
//! The program and the observer share a region that the environment variable `HPS_SHIM_REGION`
//! names; with the value `self` the program makes one, and an observer may come later. Without the
//! variable nothing is mapped and every call costs two tests. Threads take a slot at their first
//! tag and give it back when they end; a forked child takes slots of its own; a program that the
//! observed one executes is not observed. Once a thread has its slot, its signal handlers may use
//! everything but [`name`].
//!
//! Tag 0 says nothing. Tags below 65536 are small ids, those from 65536 on addresses of code.
#![warn(missing_docs)]

mod layout;
mod region;

use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};
use std::time::Duration;

use layout::{
    COUNTERS, ENDED, ENTRY_GONE, ENTRY_MORE, LIVE, NAME_EMPTY, NAME_READY, NAME_TEXT_BYTES,
    NAME_WRITING, NAMES, STACK, Slot,
};

thread_local! {
    /// This thread's slot.
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
    /// Whether the thread is just taking a slot (a signal handler may come in between), or found none.
    static TAKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether somebody may observe this process. Opens the region at the first call.
pub fn is_observed() -> bool {
    region::open().is_some()
}

/// Says what this thread is in from now on: one plain store.
#[inline]
pub fn tag(tag: u64) {
    if let Some(slot) = own() {
        slot.tag.store(tag, Ordering::Relaxed);
    }
}

/// Says what this thread is in until the matching [`pop`].
#[inline]
pub fn push(tag: u64) {
    if let Some(slot) = own() {
        let word = slot.depth.load(Ordering::Relaxed);
        // In this order, so that a signal handler finds and leaves the stack consistent, and an
        // observer knows what it read; on x86-64 these are plain stores.
        slot.depth
            .store(word.wrapping_add(ENTRY_MORE), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        if let Some(entry) = slot.stack.get(word as u32 as usize) {
            entry.store(tag, Ordering::Release);
        }
        compiler_fence(Ordering::SeqCst);
        slot.tag.store(tag, Ordering::Release);
    }
}

/// Says that this thread is again in what it was in before the last [`push`]. Deeper than the
/// stack of 224 tags the one below is not known and is 0.
#[inline]
pub fn pop() {
    if let Some(slot) = own() {
        let word = slot.depth.load(Ordering::Relaxed);
        let Some(depth) = (word as u32).checked_sub(1) else {
            return;
        };
        slot.depth
            .store(word.wrapping_add(ENTRY_GONE), Ordering::Release);
        compiler_fence(Ordering::SeqCst);
        let below = depth
            .checked_sub(1)
            .filter(|&below| below < STACK as u32)
            .map_or(0, |below| {
                slot.stack[below as usize].load(Ordering::Relaxed)
            });
        slot.tag.store(below, Ordering::Release);
    }
}

/// Tag of this thread while the value lives; see [`scope`].
#[derive(Debug)]
#[must_use = "the tag is gone as soon as the value is dropped"]
pub struct Scope {
    /// The slot is the thread's own.
    not_send: std::marker::PhantomData<*const ()>,
}

/// Says what this thread is in until the value is dropped: [`push`] and [`pop`].
#[inline]
pub fn scope(tag: u64) -> Scope {
    push(tag);
    Scope {
        not_send: std::marker::PhantomData,
    }
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        pop();
    }
}

/// Adds to counter 0 to 7 of this thread, which wraps around. A counter that does not exist is
/// left alone.
#[inline]
pub fn count(counter: usize, amount: u64) {
    if let Some(slot) = own()
        && counter < COUNTERS
    {
        let counter = &slot.counters[counter];
        let sum = counter.load(Ordering::Relaxed).wrapping_add(amount);
        counter.store(sum, Ordering::Relaxed);
    }
}

/// A small tag with this text (its first 120 bytes), the same for the same text; 0 if no observer
/// runs or the table of 4,095 names is full. Two threads that name the same text at the same
/// moment may get two tags with one text. It searches the table: not for inner loops.
pub fn name(text: &str) -> u64 {
    let Some(region) = region::open() else {
        return 0;
    };
    let mut length = text.len().min(NAME_TEXT_BYTES);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    let text = &text.as_bytes()[..length];
    for (tag, name) in region.names.iter().enumerate().take(NAMES).skip(1) {
        let state = name.state.load(Ordering::Acquire);
        if state == NAME_READY && name.length.load(Ordering::Relaxed) as usize == length {
            let same = name.text.iter().zip(text);
            if same.fold(true, |so_far, (a, &b)| {
                so_far && a.load(Ordering::Relaxed) == b
            }) {
                return tag as u64;
            }
        }
        let free = state == NAME_EMPTY
            && name
                .state
                .compare_exchange(
                    NAME_EMPTY,
                    NAME_WRITING,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                )
                .is_ok();
        if free {
            for (to, &from) in name.text.iter().zip(text) {
                to.store(from, Ordering::Relaxed);
            }
            name.length.store(length as u32, Ordering::Relaxed);
            name.state.store(NAME_READY, Ordering::Release);
            return tag as u64;
        }
    }
    region.header.names_refused.fetch_add(1, Ordering::Relaxed);
    0
}

/// Gives this thread's slot back before the thread ends; the next tag takes one again.
pub fn leave() {
    if let Some(slot) = SLOT.get() {
        region::at_thread_end(std::ptr::null());
        release(slot);
    }
}

/// Waits until the observer lets the program run on, at most 10 seconds: for programs that are
/// over soon.
pub fn wait() {
    let Some(region) = region::open() else { return };
    for _ in 0..10_000 {
        if region.header.gate.load(Ordering::Acquire) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// This thread's slot.
#[inline(always)]
fn own() -> Option<&'static Slot> {
    match SLOT.get() {
        Some(slot) => Some(slot),
        None if region::is_off() => None,
        None => take(),
    }
}

#[cold]
#[inline(never)]
fn take() -> Option<&'static Slot> {
    let region = region::open()?;
    if TAKING.replace(true) {
        return None;
    }
    for (index, slot) in region.slots.iter().enumerate() {
        let seen = slot.live.load(Ordering::Relaxed);
        let taken = seen != LIVE
            && slot
                .live
                .compare_exchange(seen, LIVE, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok();
        if !taken {
            continue;
        }
        // SAFETY: the call takes nothing and cannot fail.
        let tid = unsafe { libc::gettid() };
        slot.tid.store(tid.cast_unsigned(), Ordering::Relaxed);
        slot.tag.store(0, Ordering::Relaxed);
        let word = slot.depth.load(Ordering::Relaxed);
        let gone = ENTRY_GONE.wrapping_mul(u64::from(word as u32));
        slot.depth.store(word.wrapping_add(gone), Ordering::Relaxed);
        slot.generation.fetch_add(1, Ordering::Relaxed);
        region
            .header
            .threads
            .fetch_max(index as u32 + 1, Ordering::Release);
        region::at_thread_end(slot);
        SLOT.set(Some(slot));
        TAKING.set(false);
        return Some(slot);
    }
    // Not asked again: the next tags of this thread cost little.
    region.header.refused.fetch_add(1, Ordering::Relaxed);
    None
}

fn release(slot: &Slot) {
    forget();
    slot.tag.store(0, Ordering::Relaxed);
    slot.live.store(ENDED, Ordering::Release);
}

/// This thread has no slot (any more). Thread-local words without destructors are there until the
/// very end of a thread.
fn forget() {
    SLOT.set(None);
}
