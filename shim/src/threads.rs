//! Samples by thread, and what threads are called.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::region::Region;

/// Threads with counts of their own; those that come later are counted together.
pub const THREADS: usize = 64;

/// Samples of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTags {
    /// The kernel's id of the thread; `None`: all beyond the first [`THREADS`].
    pub thread: Option<u64>,
    /// All its samples.
    pub samples: u64,
    /// By tag, the most first, as far as the table of tags had room for them.
    pub tags: Vec<(u64, u64)>,
}

/// Counts samples by thread and by the tag's place in a table of tags.
#[derive(Debug)]
pub struct ThreadCounts {
    places: usize,
    threads: Vec<u64>,
    last: usize,
    samples: [u64; THREADS + 1],
    /// A row of places for each thread; the pages of threads that never come are never touched.
    counts: Vec<u64>,
}

impl ThreadCounts {
    /// Counts for a table of tags with `places` places.
    #[must_use]
    pub fn new(places: usize) -> Self {
        Self {
            places,
            threads: Vec::with_capacity(THREADS),
            last: THREADS,
            samples: [0; THREADS + 1],
            counts: vec![0; (THREADS + 1) * places],
        }
    }

    /// Counts a sample.
    #[inline(always)]
    pub fn add(&mut self, thread: u64, place: Option<usize>) {
        if self.threads.get(self.last) != Some(&thread) {
            self.last = self.row_of(thread);
        }
        self.samples[self.last] += 1;
        if let Some(place) = place {
            self.counts[self.last * self.places + place] += 1;
        }
    }

    #[inline(never)]
    fn row_of(&mut self, thread: u64) -> usize {
        if let Some(row) = self.threads.iter().position(|t| *t == thread) {
            return row;
        }
        if self.threads.len() < THREADS {
            self.threads.push(thread);
            return self.threads.len() - 1;
        }
        THREADS
    }

    /// Threads with their tags, the most samples first.
    pub fn result(&self, tag_at: impl Fn(usize) -> u64) -> Vec<ThreadTags> {
        let rows = (0..self.threads.len()).chain([THREADS]);
        let mut all: Vec<ThreadTags> = rows
            .filter(|&row| self.samples[row] > 0)
            .map(|row| {
                let counts = &self.counts[row * self.places..][..self.places];
                let seen = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                let mut tags: Vec<(u64, u64)> =
                    seen.map(|(place, &count)| (tag_at(place), count)).collect();
                tags.sort_unstable_by_key(|&(tag, count)| (std::cmp::Reverse(count), tag));
                ThreadTags {
                    thread: self.threads.get(row).copied(),
                    samples: self.samples[row],
                    tags,
                }
            })
            .collect();
        all.sort_by_key(|row| (std::cmp::Reverse(row.samples), row.thread));
        all
    }
}

/// Names of threads: `comm`, read while they live. Linux cuts it to 15 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadNames(BTreeMap<u64, Option<String>>);

impl ThreadNames {
    /// Reads the names of the threads that have slots of the region. A thread may be renamed: the last
    /// name counts.
    pub fn update(&mut self, region: &Region, pid: u32) {
        for (_, slot) in region.used_slots() {
            let thread = u64::from(slot.tid.load(Ordering::Relaxed));
            let known = self.0.entry(thread).or_default();
            if let Some(name) = name_of(pid, thread) {
                *known = Some(name);
            }
        }
    }

    /// Whether all threads that have slots were asked for their names.
    #[must_use]
    pub fn are_complete(&self, region: &Region) -> bool {
        region.used_slots().all(|(_, slot)| {
            self.0
                .contains_key(&u64::from(slot.tid.load(Ordering::Relaxed)))
        })
    }

    /// The name of a thread; `None` if it ended before it could be asked for.
    #[must_use]
    pub fn get(&self, thread: u64) -> Option<&str> {
        self.0.get(&thread)?.as_deref()
    }
}

/// The name of a thread of a process, or of one of its forked children, whose slots are in the same
/// region.
fn name_of(pid: u32, thread: u64) -> Option<String> {
    let read = |path: String| std::fs::read_to_string(path).ok();
    let text = read(format!("/proc/{pid}/task/{thread}/comm"))
        .or_else(|| read(format!("/proc/{thread}/comm")))?;
    let name = text.trim_end_matches('\n');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::TagCounts;

    #[test]
    fn each_thread_has_its_own_tags_and_none_is_lost() {
        let mut tags = TagCounts::new(8);
        let mut threads = ThreadCounts::new(tags.places());
        for i in 0..1_000_u64 {
            let (thread, tag) = if i % 4 == 0 { (70, i % 3) } else { (71, 100) };
            threads.add(thread, tags.add(tag));
        }
        threads.add(70, None);
        let result = threads.result(|place| tags.tag_at(place));
        let expected = [
            ThreadTags {
                thread: Some(71),
                samples: 750,
                tags: vec![(100, 750)],
            },
            ThreadTags {
                thread: Some(70),
                samples: 251,
                tags: vec![(0, 84), (1, 83), (2, 83)],
            },
        ];
        assert_eq!(result, expected);
    }

    #[test]
    fn threads_beyond_the_table_are_counted_together() {
        let mut threads = ThreadCounts::new(2);
        for thread in 0..THREADS as u64 + 30 {
            threads.add(thread, Some(1));
        }
        let result = threads.result(|place| place as u64 + 5);
        assert_eq!(result.len(), THREADS + 1);
        assert_eq!(
            result[0],
            ThreadTags {
                thread: None,
                samples: 30,
                tags: vec![(6, 30)],
            }
        );
        assert_eq!(result.iter().map(|row| row.samples).sum::<u64>(), 94);
    }

    #[test]
    fn names_are_read_while_threads_live() {
        let region = Region::create().unwrap();
        let mut names = ThreadNames::default();
        let thread = std::thread::scope(|scope| {
            let named = std::thread::Builder::new().name("some-worker".to_owned());
            let worker = named.spawn_scoped(scope, || {
                let slot = region.take_slot().unwrap();
                names.update(&region, std::process::id());
                u64::from(slot.tid.load(Ordering::Relaxed))
            });
            worker.unwrap().join().unwrap()
        });
        assert_eq!(names.get(thread), Some("some-worker"));
        assert!(names.are_complete(&region));
        // The thread has ended; its name stays.
        names.update(&region, std::process::id());
        assert_eq!(names.get(thread), Some("some-worker"));
        assert_eq!(names.get(1 << 40), None);
    }
}
