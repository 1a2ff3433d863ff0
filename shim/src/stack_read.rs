//! Reading a thread's stack of tags while the thread changes it.
//!
//! The slot's word `depth` counts the changes of the stack in its upper half, so that an unchanged word
//! says that nothing was pushed or popped in between; a writer spends no store on it. A push writes the
//! word, the entry, the tag; a pop the word and the tag. Between a push's stores the tag is still that
//! of the entry below the top, between a pop's it is that of the entry that is gone: both are told from
//! what was read, and give the stack that the tag belongs to.

use std::sync::atomic::{Ordering, fence};

use crate::region::{STACK, Slot, changes_of, depth_of};

/// Stands for frames that were not read, because the stack changed meanwhile.
pub const MISSING: u64 = u64::MAX;
/// Stands for frames beyond those that a slot can show.
pub const DEEPER: u64 = u64::MAX - 1;

/// The words of a slot, each read when it is asked for: the slot's own, or a test's.
pub trait StackWords {
    /// Changes and depth.
    fn word(&self) -> u64;
    /// Tag of the thread.
    fn tag(&self) -> u64;
    /// Entry `at` from the outermost on.
    fn entry(&self, at: usize) -> u64;
}

impl StackWords for Slot {
    #[inline(always)]
    fn word(&self) -> u64 {
        self.depth.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn tag(&self) -> u64 {
        self.tag.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn entry(&self, at: usize) -> u64 {
        self.stack[at].load(Ordering::Relaxed)
    }
}

/// Whether a stack was read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The stack stood like this at some moment while it was read.
    Whole,
    /// The stack changed. The frames that are certain are there: the outermost ones that stayed, [`MISSING`], and the
    /// tag.
    Torn,
}

/// Reads a stack into `path`, outermost first; the last is what the thread is in. `path` keeps its
/// room, so nothing is allocated once it has held [`STACK`] entries and two more.
#[inline]
pub fn read_stack(words: &impl StackWords, path: &mut Vec<u64>) -> Reading {
    path.clear();
    let before = words.word();
    let tag = words.tag();
    let depth = depth_of(before);
    path.extend((0..depth.min(STACK)).map(|at| words.entry(at)));
    fence(Ordering::Acquire);
    let tag_after = words.tag();
    let after = words.word();
    if before == after && tag == tag_after {
        complete(path, depth, tag);
        return Reading::Whole;
    }
    path.truncate(stayed(before, after));
    path.extend([MISSING, tag]);
    Reading::Torn
}

/// Reading of a thread that is not there any more.
pub fn vanished(tag: u64, path: &mut Vec<u64>) -> Reading {
    path.clear();
    path.extend([MISSING, tag]);
    Reading::Torn
}

/// Makes the entries of an unchanged stack end with the tag.
#[inline]
fn complete(path: &mut Vec<u64>, depth: usize, tag: u64) {
    if tag == 0 {
        // In nothing: before the first push is done, or while the thread gives its slot back.
        path.clear();
    } else if depth > STACK {
        path.push(DEEPER);
    } else if path.last() == Some(&tag) {
        return;
    } else if path.len() > 1 && path[path.len() - 2] == tag {
        // A push under way: its entry may not even be written.
        path.pop();
        return;
    }
    // Also behind a stack: a pop under way, or a tag that the program set itself.
    path.push(tag);
}

/// How many of the outermost entries were there, and read, from the first word to the second.
///
/// With `c` changes of one entry each between the depths `a` and `b` the stack was never lower than
/// `(a + b - c) / 2`. The top entry may just have been written when it was read.
#[inline]
fn stayed(before: u64, after: u64) -> usize {
    let changes = changes_of(after).wrapping_sub(changes_of(before)) as usize;
    let (a, b) = (depth_of(before), depth_of(after));
    let lowest = (a + b).saturating_sub(changes) / 2;
    lowest.min(a.saturating_sub(1)).min(STACK)
}

#[cfg(test)]
mod tests;
