//! Tag stacks that a program shows by itself: the path in each cycle, and the time under each path.
//!
//! A push stores its depth, its entry and its tag, a pop its depth and its tag (`hps_shim.h`). The path changes when
//! the tag is stored: between these stores the old path still holds.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::tally::Spent;

/// Entries of a slot's stack.
pub const STACK: usize = 224;
/// Entry that stands for those beyond the slot's last one, as in the native backend.
pub const DEEPER: u64 = u64::MAX - 1;

/// Path of a thread that shows no tag.
const NOTHING: [u64; 1] = [0];

/// The words of a slot's stack.
#[derive(Clone, Debug)]
pub(super) struct Image {
    /// The word with the stack's depth.
    pub depth: u64,
    pub entries: Box<[u64; STACK]>,
}

impl Default for Image {
    fn default() -> Self {
        Image {
            depth: 0,
            entries: Box::new([0; STACK]),
        }
    }
}

/// Paths by cycle, of the thread on the program's first context. A path has the entries of the stack, outermost first,
/// and behind them the thread's tag, if it differs from the last entry.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    known: FxHashMap<Arc<[u64]>, usize>,
    /// All paths that have occurred, with the work done under each.
    all: Vec<(Arc<[u64]>, Spent)>,
    /// Cycles of changes, and the path that each led to.
    changes: VecDeque<(u64, usize)>,
    /// The path before the first change.
    before: usize,
    now: usize,
    /// Time of the last change: cycle and instructions.
    since: (u64, u64),
}

impl Paths {
    pub(super) fn new() -> Paths {
        let mut paths = Paths::default();
        paths.number(&NOTHING);
        paths
    }

    fn number(&mut self, path: &[u64]) -> usize {
        if let Some(number) = self.known.get(path) {
            return *number;
        }
        let path: Arc<[u64]> = path.into();
        self.known.insert(path.clone(), self.all.len());
        self.all.push((path, Spent::default()));
        self.all.len() - 1
    }

    /// Updates the path when a tag has been stored or another thread has come, after so many committed instructions.
    pub(super) fn change(&mut self, cycle: u64, instructions: u64, tag: u64, image: &Image) {
        let depth = image.depth as u32 as usize;
        let mut path = match tag {
            0 => NOTHING.to_vec(),
            _ => image.entries[..depth.min(STACK)].to_vec(),
        };
        if tag != 0 && depth > STACK {
            path.push(DEEPER);
        } else if tag != 0 && path.last() != Some(&tag) {
            path.push(tag);
        }
        let number = self.number(&path);
        if number != self.now {
            self.spend(cycle, instructions);
            self.now = number;
            self.changes.push_back((cycle, number));
        }
    }

    fn spend(&mut self, cycle: u64, instructions: u64) {
        self.all[self.now].1.add(Spent {
            cycles: cycle.saturating_sub(self.since.0),
            instructions: instructions - self.since.1,
        });
        self.since = (cycle, instructions);
    }

    /// Ends the last path with the program. Gives all paths with the work done under each.
    pub(super) fn finish(mut self, cycle: u64, instructions: u64) -> Vec<(Arc<[u64]>, Spent)> {
        self.spend(cycle, instructions);
        self.all
    }

    /// Whether the stack had this path in any cycle from `from` to `to`.
    #[must_use]
    pub fn ever(&self, path: &[u64], from: u64, to: u64) -> bool {
        let Some(number) = self.known.get(path) else {
            return false;
        };
        let first = self.changes.partition_point(|(of, _)| *of < from);
        let before = match first.checked_sub(1) {
            Some(last) => self.changes[last].1,
            None => self.before,
        };
        let later = self.changes.range(first..);
        before == *number
            || later
                .take_while(|(of, _)| *of <= to)
                .any(|(_, then)| then == number)
    }

    pub(super) fn forget(&mut self, cycle: u64) {
        while let Some(&(of, number)) = self.changes.front()
            && of < cycle
        {
            self.before = number;
            self.changes.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_where_they_were_and_their_time_sums_up() {
        let mut paths = Paths::new();
        let mut image = Image::default();
        (image.depth, image.entries[0]) = (1, 7);
        paths.change(10, 100, 7, &image);
        (image.depth, image.entries[1]) = (2, 8);
        paths.change(15, 120, 8, &image);
        // The program sets its tag without a push: the path has the tag behind the entries.
        paths.change(18, 130, 9, &image);
        image.depth = 1;
        paths.change(30, 150, 7, &image);
        image.depth = 0;
        paths.change(31, 151, 0, &image);
        let ever = |paths: &Paths, path: &[u64], from, to| paths.ever(path, from, to);
        assert!(ever(&paths, &[0], 0, 9) && !ever(&paths, &[7], 0, 9));
        assert!(ever(&paths, &[7], 0, 10) && ever(&paths, &[7], 15, 15));
        assert!(!ever(&paths, &[7], 16, 29) && ever(&paths, &[7, 8, 9], 20, 21));
        paths.forget(20);
        assert!(ever(&paths, &[7, 8, 9], 20, 21) && !ever(&paths, &[7, 8], 20, 29));
        let of = paths.finish(40, 200);
        let spent = |path: &[u64]| of.iter().find(|(p, _)| **p == *path).expect("it was").1;
        let made = |cycles, instructions| Spent {
            cycles,
            instructions,
        };
        assert_eq!(spent(&[7]), made(5 + 1, 20 + 1));
        assert_eq!(spent(&[7, 8]), made(3, 10));
        assert_eq!(spent(&[7, 8, 9]), made(12, 20));
        assert_eq!(spent(&[0]), made(10 + 9, 100 + 49));
    }

    #[test]
    fn a_stack_deeper_than_its_slot_says_so() {
        let (mut paths, mut image) = (Paths::new(), Image::default());
        image.entries.fill(3);
        image.depth = 5 << 32 | (STACK as u64 + 1);
        paths.change(1, 1, 4, &image);
        let mut path = vec![3; STACK];
        path.push(DEEPER);
        assert!(paths.ever(&path, 2, 2));
    }
}
