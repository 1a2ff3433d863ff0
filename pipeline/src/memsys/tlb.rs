//! Translation lookaside buffers. Guest addresses are their own translations; only time and events
//! are modelled.

use super::contents::lines;
use super::replacement::Requester;
use super::stats::TlbStats;
use super::tags::Tags;
use crate::config::{L2TlbConfig, Replacement, TlbConfig};
use crate::contents::Contents;
use hps_isa::likely::{often, seldom};

/// Walks that may be under way for one first-level TLB.
const MAX_WALKS: usize = 8;

/// Groups of pages, by their last bits, of which it is known until when any waits for a walk.
const GROUPS: usize = 16;

/// The second-level TLB.
#[derive(Clone, Debug)]
pub(super) struct L2Tlb {
    /// `None` if the machine has no second-level TLB.
    tags: Option<Tags>,
    hit_cycles: u64,
    pub stats: TlbStats,
}

hps_isa::save_state! { L2Tlb { tags, hit_cycles: skip, stats } }

impl L2Tlb {
    pub fn new(config: &L2TlbConfig) -> Self {
        L2Tlb {
            tags: (config.entries > 0).then(|| tags(config.entries, config.ways)),
            hit_cycles: u64::from(config.hit_cycles),
            stats: TlbStats::default(),
        }
    }

    /// Forgets all pages.
    pub fn clear(&mut self) {
        if let Some(tags) = &mut self.tags {
            tags.clear();
        }
    }

    /// Pages in the TLB; `None` if the machine has no second-level TLB.
    pub fn contents(&self, page_shift: u32) -> Option<Contents> {
        let tags = self.tags.as_ref()?;
        Some(pages(tags, "l2_tlb", page_shift, |_| None))
    }

    /// Looks a page up and brings it in.
    fn access(&mut self, page: u64) -> bool {
        self.tags
            .as_mut()
            .is_some_and(|tags| hit_or_bring(tags, page))
    }
}

/// Outcome of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// The access begins this many cycles later; `missed` if it waits for a walk.
    After { delay: u64, missed: bool },
    /// Too many walks are under way until this cycle.
    Retry(u64),
}

/// A first-level TLB with the walks it waits for.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    tags: Tags,
    pub page_shift: u32,
    miss_cycles: u64,
    /// Page of the last translation, the newest of its set; looked at first.
    last_page: u64,
    /// Pages and the cycles in which their walks end.
    walks: [(u64, u64); MAX_WALKS],
    /// From this cycle on no walk for a page of a group is under way.
    quiet_from: [u64; GROUPS],
    pub stats: TlbStats,
    /// Misses of accesses that took no time.
    pub warmed: u64,
}

hps_isa::save_state! {
    Tlb {
        tags, page_shift: skip, miss_cycles: skip, last_page, walks, quiet_from, stats, warmed,
    }
}

fn tags(entries: u32, ways: u32) -> Tags {
    Tags::new((entries / ways) as usize, ways as usize, &Replacement::Lru)
}

/// The pages of tags, and when those are there that a walk is under way for.
fn pages(
    tags: &Tags,
    name: &'static str,
    shift: u32,
    ready: impl Fn(u64) -> Option<u64>,
) -> Contents {
    lines(tags, name, shift, |page| (ready(page), false))
}

fn hit_or_bring(tags: &mut Tags, page: u64) -> bool {
    let hit = tags.access(page, false, Requester::TRANSLATION);
    if !hit && let Some(way) = tags.choose(page, |_| false) {
        tags.fill(page, way, false, Requester::TRANSLATION);
    }
    hit
}

impl Tlb {
    pub fn new(config: &TlbConfig, page_bytes: u32) -> Self {
        Tlb {
            tags: tags(config.entries, config.ways),
            page_shift: page_bytes.trailing_zeros(),
            miss_cycles: u64::from(config.miss_cycles),
            last_page: u64::MAX,
            walks: [(0, 0); MAX_WALKS],
            quiet_from: [0; GROUPS],
            stats: TlbStats::default(),
            warmed: 0,
        }
    }

    /// Forgets all pages. Walks that are under way go on, for nobody.
    pub fn clear(&mut self) {
        self.tags.clear();
        self.last_page = u64::MAX;
        self.quiet_from = [0; GROUPS];
    }

    /// Whether a translation takes no time and changes nothing, which most do.
    #[inline(always)]
    pub fn is_quick(&self, now: u64, addr: u64) -> bool {
        let page = addr >> self.page_shift;
        if seldom(!self.tags.is_newest(page)) && page != self.last_page {
            return false;
        }
        often(self.is_quiet(now, page))
    }

    /// True: no walk for this page is under way.
    #[inline(always)]
    fn is_quiet(&self, now: u64, page: u64) -> bool {
        now >= self.quiet_from[page as usize % GROUPS]
    }

    /// Counts a translation that [was quick](Self::is_quick).
    #[inline(always)]
    pub fn count_quick(&mut self) {
        self.stats.access_events += 1;
    }

    /// Translates for an access at `now`.
    #[inline]
    pub fn translate(&mut self, now: u64, addr: u64, next: &mut L2Tlb) -> Translation {
        let page = addr >> self.page_shift;
        if self.is_quick(now, addr) {
            self.count_quick();
            return Translation::After {
                delay: 0,
                missed: false,
            };
        }
        self.translate_slowly(now, page, next)
    }

    fn translate_slowly(&mut self, now: u64, page: u64, next: &mut L2Tlb) -> Translation {
        if self.tags.access(page, false, Requester::TRANSLATION) {
            self.stats.access_events += 1;
            self.last_page = page;
            if self.is_quiet(now, page) {
                return Translation::After {
                    delay: 0,
                    missed: false,
                };
            }
            let walk = self.walks.iter().find(|w| w.0 == page && w.1 > now);
            // An access that lies before the walk would have begun it.
            let most = self.miss_cycles.max(next.hit_cycles);
            let delay = walk.map_or(0, |(_, end)| (end - now).min(most));
            self.stats.merge_events += u64::from(delay > 0);
            return Translation::After {
                delay,
                missed: delay > 0,
            };
        }
        let Some(slot) = self.walks.iter().position(|walk| walk.1 <= now) else {
            self.stats.walks_full_events += 1;
            return Translation::Retry(self.walks.iter().map(|walk| walk.1).min().unwrap_or(now));
        };
        self.stats.access_events += 1;
        self.stats.miss_events += 1;
        hit_or_bring(&mut self.tags, page);
        self.last_page = page;
        let delay = self.walk_cycles(page, next);
        self.walks[slot] = (page, now + delay);
        let quiet_from = &mut self.quiet_from[page as usize % GROUPS];
        *quiet_from = (now + delay).max(*quiet_from);
        Translation::After {
            delay,
            missed: true,
        }
    }

    fn walk_cycles(&self, page: u64, next: &mut L2Tlb) -> u64 {
        if next.tags.is_none() {
            return self.miss_cycles;
        }
        next.stats.access_events += 1;
        if next.access(page) {
            next.hit_cycles
        } else {
            next.stats.miss_events += 1;
            self.miss_cycles
        }
    }

    /// Whether a page is that of the last translation, so that using it changes nothing.
    #[inline(always)]
    pub fn is_last(&self, addr: u64) -> bool {
        addr >> self.page_shift == self.last_page
    }

    /// Whether a page is the newest of its set, so that using it changes nothing.
    #[inline(always)]
    pub fn is_newest(&self, addr: u64) -> bool {
        self.tags.is_newest(addr >> self.page_shift)
    }

    /// Pages in the TLB.
    pub fn contents(&self, name: &'static str, now: u64) -> Contents {
        let walk = |page| self.walks.iter().find(|w| w.0 == page && w.1 > now);
        let ready = |page| walk(page).map(|(_, end)| *end);
        pages(&self.tags, name, self.page_shift, ready)
    }

    /// Brings a page in without time or events.
    #[inline]
    pub fn warm(&mut self, addr: u64, next: &mut L2Tlb) {
        let page = addr >> self.page_shift;
        if page != self.last_page && !hit_or_bring(&mut self.tags, page) {
            self.warmed += 1;
            next.access(page);
        }
        self.last_page = page;
    }
}
