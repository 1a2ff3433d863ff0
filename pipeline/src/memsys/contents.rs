//! Contents of caches and TLBs in a cycle, for observers.

use super::level1::Level1;
use super::mshr::Mshrs;
use super::private::PrivateMemory;
use super::shared::SharedMemory;
use super::tags::Tags;
use crate::contents::{Contents, Held, Selector};

impl PrivateMemory {
    /// The tables that a core uses, its own and those of the chip that it reaches, as they are in cycle `now`.
    #[must_use]
    pub fn contents(&self, shared: &SharedMemory, now: u64) -> Vec<Contents> {
        let mut all = vec![level1(&self.l1i, "l1i", now), level1(&self.l1d, "l1d", now)];
        all.extend(shared.contents(self.link.core, now));
        all.push(self.itlb.contents("itlb", now));
        all.push(self.dtlb.contents("dtlb", now));
        all.extend(self.l2_tlb.contents(self.dtlb.page_shift));
        all.push(misses(
            &self.l1i.mshrs,
            "l1i_misses",
            self.l1i.line_shift,
            now,
        ));
        all.push(misses(
            &self.l1d.mshrs,
            "l1d_misses",
            self.l1d.line_shift,
            now,
        ));
        let buffer = self.link.write_buffer.as_ref();
        all.extend(buffer.map(|buffer| buffer.contents(now)));
        all
    }
}

fn level1(cache: &Level1, name: &'static str, now: u64) -> Contents {
    lines(&cache.tags, name, cache.line_shift, |line| {
        let prefetcher = cache.prefetcher.as_ref();
        let unused = prefetcher.is_some_and(|prefetcher| prefetcher.is_unused(line));
        (cache.mshrs.find(now, line).map(|fill| fill.end), unused)
    })
}

/// Contents of tags. `of` says of a line when it is there, if it is on its way, and whether it was prefetched and not
/// used.
pub(super) fn lines(
    tags: &Tags,
    name: &'static str,
    shift: u32,
    of: impl Fn(u64) -> (Option<u64>, bool),
) -> Contents {
    let (sets, ways, by_use) = tags.shape();
    let entries = tags.held().map(|held| match held {
        None => Held::Nothing,
        Some((line, dirty)) => {
            let (ready_cycle, unused) = of(line);
            Held::Line {
                address: line << shift,
                dirty,
                ready_cycle,
                unused,
            }
        }
    });
    Contents {
        name,
        sets,
        ways,
        selected_by: Selector::Address { shift },
        by_use,
        entries: entries.collect(),
    }
}

/// The lines that miss status holding registers wait for, the next first.
pub(super) fn misses(mshrs: &Mshrs, name: &'static str, shift: u32, now: u64) -> Contents {
    let mut busy: Vec<_> = mshrs.busy(now).collect();
    busy.reverse();
    let busy = busy.into_iter().map(|fill| Held::Moving {
        address: fill.line << shift,
        since_cycle: fill.start + 1,
        ready_cycle: Some(fill.end),
    });
    table(name, mshrs.count(), busy)
}

/// A table of one set, whose first entries are taken.
pub(super) fn table(
    name: &'static str,
    size: usize,
    taken: impl Iterator<Item = Held>,
) -> Contents {
    let mut entries: Vec<Held> = taken.collect();
    entries.resize(size.max(entries.len()), Held::Nothing);
    Contents {
        name,
        sets: 1,
        ways: entries.len(),
        selected_by: Selector::Other,
        by_use: false,
        entries,
    }
}
