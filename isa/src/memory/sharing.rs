//! Copies of a memory, and pages that memories share until one of them writes to them.
//!
//! A memory that shares its pages with a copy puts their content into a *layer*, a part of an anonymous file of the host.
//! Both then show that layer instead of pages of their own ([`Room::show`](super::Room::show)), and the host gives each a page of
//! its own when it writes there. So loads and stores are what they are without a copy. The first store to a page that
//! is shared takes the slow path, as the first store to any page does; that is how changed pages are known. The next
//! copy needs a new layer for these alone.
//!
//! A memory that would show more than [`MOST_RANGES`] ranges, or hold on to more than twice the pages that it has, puts
//! all its pages into one new layer. Content that does not fit into so many ranges is copied, and so it is where the
//! host has no such files.
//!
//! Two kinds of copies are made so.
//!
//! - A child process of the guest shares all pages with its parent ([`Memory::share_with`]). Pages that they
//!   copy then are a statistic of the run ([`Memory::copied_pages`]).
//! - A second run of the same program ([`Memory::duplicate`]) shares pages as far as that takes less time, and no
//!   statistic shows it. Letting the host copy a page at the first write takes longer than copying it at once
//!   (docs/measurements/duplicates.md). So the first duplicate has pages of its own; the second one makes a layer; from
//!   then on duplicates share what has not changed since, and copy what has. When half of the pages have changed, they
//!   share nothing until there is a new layer. The runs may go on in different threads of the host.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::regions::Regions;
use super::{Layer, Memory, MemoryError, PAGE_SHIFT, PAGE_SIZE, bits, count_with, page_indices};

/// Ranges of layers that a memory shows at most: the host has a table of them (some 65,000 for all its mappings).
const MOST_RANGES: usize = 128;
/// Ranges with so many bytes between them, which were never written, are shown as one.
const GAP: u64 = 16 * PAGE_SIZE;
/// Pages that a memory may hold on to beyond twice its own.
const FEW_PAGES: u64 = 256;
/// Pages that a memory has at least for each range of a layer that is made for duplicates; else copying them is faster.
const PAGES_A_RANGE: u64 = 8;
/// Duplicates from the beginning to the first layer, and from one layer to the next, at least.
const UNTIL_FIRST_LAYER: u32 = 2;
const UNTIL_NEXT_LAYER: u32 = 8;

/// Layers of pages that a memory shares with others.
#[derive(Default)]
pub(super) struct Shares {
    /// Layers that the memory shows, each with the end of its range of whole pages, by the start of the range.
    layers: BTreeMap<u64, (u64, Arc<Layer>)>,
    /// Ranges of `layers`.
    shown: Regions,
    /// Pages of these ranges that have changed since the memory shows the layer.
    changed: Regions,
    /// Ranges of pages that processes of the guest share: the first write to each page copies it.
    pub(super) of_family: Regions,
    /// Duplicates since the last layer.
    duplicates: u32,
}

impl Shares {
    /// Pages of these ranges are shared by processes of the guest, and lie in each memory all the same.
    pub(super) fn of_family(of_family: Regions) -> Box<Shares> {
        Box::new(Shares {
            of_family,
            ..Shares::default()
        })
    }

    /// Whether a page has the content of its layer.
    fn has(&self, page: usize) -> bool {
        let addr = (page as u64) << PAGE_SHIFT;
        self.shown.contains(addr) && !self.changed.contains(addr)
    }

    /// A page changes. Says whether processes of the guest shared it.
    pub(super) fn part_with(&mut self, page: usize) -> bool {
        let addr = (page as u64) << PAGE_SHIFT;
        if self.has(page) {
            self.changed.insert(addr..addr + PAGE_SIZE);
        }
        let is_of_family = self.of_family.contains(addr);
        if is_of_family {
            self.of_family.remove(addr..addr + PAGE_SIZE);
        }
        is_of_family
    }

    /// A range shows a layer, as it is there.
    fn show(&mut self, range: Range<u64>, layer: &Arc<Layer>) {
        self.hide(&range);
        self.layers.insert(range.start, (range.end, layer.clone()));
        self.shown.insert(range);
    }

    /// A range shows no layer any more.
    fn hide(&mut self, range: &Range<u64>) {
        let mut cut = Vec::new();
        let before = self.layers.range(..range.start).next_back();
        let inside = self.layers.range(range.clone());
        for (&start, (end, layer)) in before.into_iter().chain(inside) {
            if *end > range.start {
                cut.push((start..*end, layer.clone()));
            }
        }
        for (old, layer) in cut {
            self.layers.remove(&old.start);
            if old.start < range.start {
                let part = (range.start, layer.clone());
                self.layers.insert(old.start, part);
            }
            if range.end < old.end {
                self.layers.insert(range.end, (old.end, layer));
            }
        }
        self.shown.remove(range.clone());
        self.changed.remove(range.clone());
    }

    /// Number of pages of all layers of which the memory shows a part.
    fn held_pages(&self) -> u64 {
        let mut layers: Vec<_> = self.layers.values().map(|(_, layer)| layer).collect();
        layers.sort_unstable_by_key(|layer| Arc::as_ptr(layer));
        layers.dedup_by_key(|layer| Arc::as_ptr(layer));
        layers.iter().map(|layer| layer.pages()).sum()
    }
}

impl Memory {
    /// A copy of this memory: content, permissions, limits. Both share pages until one of them writes, as far as that takes
    /// less time than copying them.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub fn duplicate(&mut self) -> Result<Memory, MemoryError> {
        // If that fails, more pages are copied.
        let _ = self.prepare_duplicate();
        let mut copy = Memory::new(self.limit_bytes)?;
        let shows = 2 * self.shared_pages() > self.written_pages;
        if self.copy_to(&mut copy, shows).is_err() {
            copy = Memory::new(self.limit_bytes)?;
            self.copy_to(&mut copy, false)?;
        }
        if let Some(shares) = &self.shares {
            copy.shares.get_or_insert_default().of_family = shares.of_family.clone();
        }
        copy.copied_pages = self.copied_pages;
        copy.thread_word = self.thread_word;
        Ok(copy)
    }

    /// Makes a new layer if this and further duplicates share enough of it.
    fn prepare_duplicate(&mut self) -> Result<(), MemoryError> {
        let own_pages = self.written_pages - self.shared_pages();
        let holds_much = self.holds_much(0);
        let shares = self.shares.get_or_insert_default();
        shares.duplicates += 1;
        let until_layer = if shares.layers.is_empty() {
            UNTIL_FIRST_LAYER
        } else {
            UNTIL_NEXT_LAYER
        };
        let pays = shares.duplicates >= until_layer && 2 * own_pages >= self.written_pages;
        if pays || holds_much {
            shares.duplicates = 0;
            let most_ranges = (self.written_pages / PAGES_A_RANGE).min(MOST_RANGES as u64);
            self.put_into_layers(most_ranges as usize)?;
        }
        Ok(())
    }

    /// Makes an empty memory a copy of this one, for a child process. Both share each page until one of them writes to it.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses. This memory is then what it was.
    pub fn share_with(&mut self, copy: &mut Memory) -> Result<(), MemoryError> {
        if !self.put_into_layers(MOST_RANGES).unwrap_or(false) {
            copy.copied_pages += self.written_pages;
            return self.copy_to(copy, false);
        }
        self.copy_to(copy, true)?;
        for side in [self, copy] {
            if let Some(shares) = &mut side.shares {
                shares.of_family = shares.shown.clone();
            }
        }
        Ok(())
    }

    /// Makes an empty memory a copy of this one. With `shows`, the copy shows layers where this memory does; otherwise
    /// all its pages are its own.
    fn copy_to(&self, copy: &mut Memory, shows: bool) -> Result<(), MemoryError> {
        copy.take_state_of(self)?;
        let nothing = Shares::default();
        let shares = self.shares.as_deref().filter(|_| shows);
        let shares = shares.unwrap_or(&nothing);
        for (&start, (end, layer)) in &shares.layers {
            // Long changed runs are not shown in the copy: the host would copy pages of the layer that are overwritten
            // below.
            let mut parts = Regions::default();
            parts.insert(start..*end);
            let changed = shares.changed.overlaps(start..*end);
            changed.filter(is_long).for_each(|run| {
                parts.remove(run);
            });
            for part in parts.iter() {
                copy.show(part, layer)?;
            }
        }
        // Memory that was never mapped holds zeros only.
        let others = self.used.iter().flat_map(|range| shares.shown.holes(range));
        for page in shares
            .changed
            .iter()
            .chain(others)
            .flat_map(|range| page_indices(&range))
        {
            if self.page_byte(page) & bits::WRITTEN != 0 {
                copy.page_content_mut(page)
                    .copy_from_slice(self.page_content(page));
            } else if copy.shares.as_ref().is_some_and(|shares| shares.has(page)) {
                copy.page_content_mut(page).fill(0);
            }
        }
        Ok(())
    }

    /// Takes over everything but content.
    fn take_state_of(&mut self, source: &Memory) -> Result<(), MemoryError> {
        for range in source.used.iter() {
            self.prepare(&range)?;
            let range = page_indices(&range);
            self.page_bytes_mut(range.clone())
                .copy_from_slice(source.page_bytes(range));
        }
        self.limit_bytes = source.limit_bytes;
        self.regions = source.regions.clone();
        self.absent.clone_from(&source.absent);
        self.used = source.used.clone();
        self.mapped_bytes = source.mapped_bytes;
        self.reserved_pages = source.reserved_pages;
        (self.tracked.mirrors).clone_from(&source.tracked.mirrors);
        self.is_refused = source.is_refused;
        self.retired_pages = source.retired_pages;
        self.written_pages = source.written_pages;
        self.peak_written_pages = source.peak_written_pages;
        self.dirty = source.dirty.clone();
        self.code_epoch = source.code_epoch;
        self.layout_epoch = source.layout_epoch;
        Ok(())
    }

    /// Puts every written page into a layer that this memory shows. `false` if the pages lie in more than `most_ranges`
    /// ranges.
    fn put_into_layers(&mut self, most_ranges: usize) -> Result<bool, MemoryError> {
        let ranges = self.shares.get_or_insert_default().layers.len();
        let mut runs = self.changed_runs();
        let new_pages = runs.iter().map(|run| (run.end - run.start) / PAGE_SIZE);
        let begins_again = ranges + runs.len() > most_ranges || self.holds_much(new_pages.sum());
        if begins_again {
            let used = self.used.iter();
            runs = joined(used.flat_map(|range| self.written_parts(&range)).collect());
        }
        if runs.len() > most_ranges {
            if self.holds_much(0) {
                self.take_back()?;
            }
            return Ok(false);
        }
        if !runs.is_empty() {
            self.put_into_layer(&runs)?;
        }
        if begins_again {
            self.hide_all_but(&runs)?;
        }
        Ok(true)
    }

    /// Whether this memory would hold too many pages of layers with `new_pages` more.
    fn holds_much(&self, new_pages: u64) -> bool {
        let held = self.shares.as_ref().map_or(0, |shares| shares.held_pages());
        held + new_pages > 2 * self.written_pages + FEW_PAGES
    }

    /// Makes pages that are shared pages of its own.
    fn take_back(&mut self) -> Result<(), MemoryError> {
        let used = self.used.iter();
        let parts: Vec<_> = used.flat_map(|range| self.written_parts(&range)).collect();
        let of = |part: &Range<u64>| self.content(part.start, (part.end - part.start) as usize);
        let contents: Vec<_> = parts.iter().map(|part| of(part).to_vec()).collect();
        self.hide_all_but(&[])?;
        for (part, content) in parts.iter().zip(contents) {
            self.content_mut(part.start, content.len())
                .copy_from_slice(&content);
        }
        Ok(())
    }

    /// Puts the written pages of ranges into a new layer, and shows it there.
    fn put_into_layer(&mut self, runs: &[Range<u64>]) -> Result<(), MemoryError> {
        let mut layer = Layer::new()?;
        for part in runs.iter().flat_map(|run| self.written_parts(run)) {
            let len = (part.end - part.start) as usize;
            layer.put(part.start, self.content(part.start, len))?;
        }
        let layer = Arc::new(layer);
        for run in runs {
            self.show(run.clone(), &layer)?;
            for byte in self.page_bytes_mut(page_indices(run)) {
                *byte &= !bits::FAST_W;
            }
        }
        Ok(())
    }

    /// Shows layers in these ranges alone. Memory elsewhere that showed a layer becomes zero.
    fn hide_all_but(&mut self, runs: &[Range<u64>]) -> Result<(), MemoryError> {
        let Some(shares) = &self.shares else {
            return Ok(());
        };
        let mut others = shares.shown.clone();
        for run in runs {
            others.remove(run.clone());
        }
        for range in others.iter() {
            self.room_of(&range, |room, inside| room.clear(inside))?;
            if let Some(shares) = &mut self.shares {
                shares.hide(&range);
            }
        }
        Ok(())
    }

    /// Ranges that hold all pages that have changed since their layer was shown, and all written pages that no layer
    /// shows.
    fn changed_runs(&self) -> Vec<Range<u64>> {
        let Some(shares) = &self.shares else {
            return Vec::new();
        };
        let mut runs: Vec<_> = shares.changed.iter().collect();
        for range in self.used.iter() {
            for hole in shares.shown.holes(range) {
                runs.extend(self.written_parts(&hole));
            }
        }
        joined(runs)
    }

    /// The parts of a range of whole pages that were written.
    fn written_parts(&self, range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'_> {
        let is_written = |byte: &u8| byte & bits::WRITTEN != 0;
        let mut start = range.start;
        let pages = self.page_bytes(page_indices(range));
        let parts = pages.chunk_by(move |a, b| is_written(a) == is_written(b));
        parts.filter_map(move |part| {
            let whole = start..start + part.len() as u64 * PAGE_SIZE;
            start = whole.end;
            is_written(&part[0]).then_some(whole)
        })
    }

    /// Shows a layer in a range of whole pages.
    fn show(&mut self, range: Range<u64>, layer: &Arc<Layer>) -> Result<(), MemoryError> {
        self.room_of(&range, |room, inside| room.show(inside, layer, range.start))?;
        self.shares.get_or_insert_default().show(range, layer);
        Ok(())
    }

    /// Shows no layer any more. Returns the ranges that showed layers: their memory is zero now.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub(super) fn clear_shared(&mut self) -> Result<Regions, MemoryError> {
        let shares = self.shares.take().unwrap_or_default();
        for range in shares.shown.iter() {
            self.room_of(&range, |room, inside| room.clear(inside))?;
        }
        Ok(shares.shown)
    }

    /// A page is written to: if it is shared, the host makes a copy of it. A copy for a process of the guest counts.
    pub(super) fn part_with(&mut self, page: usize) {
        let is_written = self.page_byte(page) & bits::WRITTEN != 0;
        if let Some(shares) = &mut self.shares
            && shares.part_with(page)
        {
            self.copied_pages += u64::from(is_written);
        }
    }

    /// Lets the next write to each page of a range be noted that is shared.
    pub(super) fn slow_shared_down(&mut self, range: &Range<u64>) {
        let Some(shares) = &self.shares else {
            return;
        };
        let shown = shares.shown.overlaps(range.clone());
        let own = shown.flat_map(|part| shares.changed.holes(part));
        let shared: Vec<_> = own
            .chain(shares.of_family.overlaps(range.clone()))
            .collect();
        for range in shared {
            for byte in self.page_bytes_mut(page_indices(&range)) {
                *byte &= !bits::FAST_W;
            }
        }
    }

    /// Pages that a process of the guest copied because it wrote to them while others shared them, or as a whole.
    #[must_use]
    pub fn copied_pages(&self) -> u64 {
        self.copied_pages
    }

    /// Written pages that the host keeps once for this memory and its copies, or for copies that are gone.
    #[must_use]
    pub fn shared_pages(&self) -> u64 {
        let Some(shares) = &self.shares else {
            return 0;
        };
        let shown = shares.shown.iter();
        let unchanged = shown.flat_map(|range| shares.changed.holes(range));
        unchanged
            .map(|range| count_with(self.page_bytes(page_indices(&range)), bits::WRITTEN))
            .sum()
    }
}

/// Whether a range is longer than a gap over which [`joined`] joins its neighbours.
fn is_long(range: &Range<u64>) -> bool {
    range.end - range.start > GAP
}

/// Ranges in ascending order, those that are near each other as one. No range lies across the border of the window.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last)
                if range.start <= last.end + GAP
                    && (range.start < Memory::WINDOW) == (last.start < Memory::WINDOW) =>
            {
                last.end = last.end.max(range.end);
            }
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests;
