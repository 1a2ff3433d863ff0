//! The tag stacks that a program shows by itself, as samples have them, and as they were.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hps_lab::observer::{Reads, Reckoning, Spent, StackRead};
use hps_shim::stack_read::{Reading, StackWords, read_stack};

/// The stacks of a run's samples, put together as the native observer does ([`read_stack`]).
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Samples by path, outermost tags first: whole stacks alone.
    pub paths: HashMap<Vec<u64>, u64>,
    /// Stacks that were read whole.
    pub whole: u64,
    /// Stacks that changed while they were read.
    pub torn: u64,
    /// Stacks that had more entries than were read.
    pub deep: u64,
    /// Stacks that were read whole, and were never so meanwhile.
    pub invalid: u64,
    path: Vec<u64>,
}

impl Stacks {
    /// Takes the next sample.
    pub fn see(&mut self, stack: &StackRead<'_>, reads: &Reads, reckoning: &Reckoning) {
        let words = Words {
            stack,
            words: Cell::new(0),
            tags: Cell::new(0),
        };
        if stack.word as u32 as usize > stack.entries.len() {
            self.deep += 1;
            return;
        }
        if read_stack(&words, &mut self.path) == Reading::Torn {
            self.torn += 1;
            return;
        }
        self.whole += 1;
        *self.paths.entry(self.path.clone()).or_default() += 1;
        let ever = |paths: &hps_lab::observer::paths::Paths| {
            paths.ever(&self.path, reads.tag, reads.walk.1)
        };
        self.invalid += u64::from(!reckoning.paths().is_some_and(ever));
    }

    /// By tag, the share of whole stacks that hold it.
    #[must_use]
    pub fn totals(&self) -> HashMap<u64, f64> {
        let paths = self.paths.iter();
        totals(paths.map(|(path, samples)| (&path[..], *samples as f64)))
    }

    /// The overlap of samples by path with cycles by path.
    #[must_use]
    pub fn overlap(&self, truth: &[(Arc<[u64]>, Spent)]) -> f64 {
        let cycles: f64 = truth.iter().map(|(_, spent)| spent.cycles as f64).sum();
        let common = truth.iter().map(|(path, spent)| {
            let sampled = self.paths.get(&path[..]).copied().unwrap_or(0) as f64;
            (sampled / self.whole.max(1) as f64).min(spent.cycles as f64 / cycles.max(1.0))
        });
        common.sum()
    }
}

/// By tag, the share of the cycles of the paths that hold it.
#[must_use]
pub fn true_totals(truth: &[(Arc<[u64]>, Spent)]) -> HashMap<u64, f64> {
    totals(
        truth
            .iter()
            .map(|(path, spent)| (&path[..], spent.cycles as f64)),
    )
}

fn totals<'a>(paths: impl Iterator<Item = (&'a [u64], f64)>) -> HashMap<u64, f64> {
    let (mut by_tag, mut all) = (HashMap::new(), 0.0);
    for (path, weight) in paths {
        all += weight;
        for tag in distinct(path) {
            *by_tag.entry(tag).or_default() += weight;
        }
    }
    by_tag.values_mut().for_each(|share| *share /= all);
    by_tag
}

/// The tags of a path, a recursive one once.
fn distinct(path: &[u64]) -> HashSet<u64> {
    path.iter().copied().collect()
}

/// The words of a sample, each as it was read then.
struct Words<'a> {
    stack: &'a StackRead<'a>,
    /// How often the two that are read twice have been asked for.
    words: Cell<u32>,
    tags: Cell<u32>,
}

impl StackWords for Words<'_> {
    fn word(&self) -> u64 {
        match self.words.replace(1) {
            0 => self.stack.word,
            _ => self.stack.word_after,
        }
    }

    fn tag(&self) -> u64 {
        match self.tags.replace(1) {
            0 => self.stack.tag,
            _ => self.stack.tag_after,
        }
    }

    fn entry(&self, at: usize) -> u64 {
        self.stack.entries[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_lab::observer::{paths, shown};
    use hps_shim::region;

    /// The lab's program knows the layout by itself, since it knows no native backend.
    #[test]
    fn the_layout_of_a_region_is_that_of_the_native_backend() {
        assert_eq!(shown::MAGIC, region::MAGIC);
        assert_eq!(shown::VERSION, region::VERSION);
        assert_eq!(shown::SLOTS_AT as usize, region::HEADER_BYTES);
        assert_eq!(shown::SLOTS, region::SLOTS);
        assert_eq!(shown::SLOT_BYTES as usize, region::SLOT_BYTES);
        assert_eq!(shown::COUNTERS, region::COUNTERS);
        assert_eq!(paths::STACK, region::STACK);
        assert_eq!(paths::DEEPER, hps_shim::stack_read::DEEPER);
        assert_eq!(shown::NAMES, region::NAMES);
        assert_eq!(shown::REGION_BYTES as usize, region::REGION_BYTES);
        let of = |place: usize| place as u64;
        use std::mem::offset_of;
        assert_eq!(shown::THREADS_AT, of(offset_of!(region::Header, threads)));
        assert_eq!(shown::REFUSED_AT, of(offset_of!(region::Header, refused)));
        assert_eq!(shown::LIVE_AT, of(offset_of!(region::Slot, live)));
        assert_eq!(shown::COUNTERS_AT, of(offset_of!(region::Slot, counters)));
        assert_eq!(shown::STACK_AT, of(offset_of!(region::Slot, stack)));
        assert_eq!(shown::NAMES_AT, of(offset_of!(region::Layout, names)));
        assert_eq!(shown::VARIABLE.0, region::REGION_VARIABLE);
    }

    #[test]
    fn a_function_that_calls_itself_counts_once_in_a_stack() {
        let work = |cycles| Spent {
            cycles,
            instructions: 0,
        };
        let truth = [(vec![1, 2, 2].into(), work(30)), (vec![1].into(), work(10))];
        let totals = true_totals(&truth);
        assert_eq!((totals[&1], totals[&2]), (1.0, 0.75));
        let mut stacks = Stacks {
            whole: 4,
            ..Stacks::default()
        };
        stacks.paths = [(vec![1, 2, 2], 2), (vec![1], 1), (vec![3], 1)].into();
        // 0.5 of 0.75, and 0.25 of 0.25.
        assert_eq!(stacks.overlap(&truth), 0.75);
        assert_eq!(stacks.totals()[&2], 0.5);
    }
}
