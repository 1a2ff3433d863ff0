//! Copies of a memory, and pages that memories share until one of them writes to them.
//!
//! A memory that shares its pages with a copy puts their content into a *layer*, an anonymous file of the host. Both then
//! show that layer instead of pages of their own ([`Room::show`](super::Room::show)), and the host gives each a page of
//! its own when it writes there. So loads and stores are what they are without a copy. The first store to a page that
//! is shared takes the slow path, as the first store to any page does; that is how changed pages are known. The next
//! copy needs a new layer for these alone.
//!
//! A memory that would show more than [`MOST_RANGES`] ranges, or hold on to more than twice the pages that it has, puts
//! all its pages into one new layer. Content that does not fit into so many ranges is copied, and so it is where the
//! host has no such files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::regions::Regions;
use super::{Layer, Memory, MemoryError, PAGE_SHIFT, PAGE_SIZE, bits, page_indices};

/// Ranges of layers that a memory shows at most: the host has a table of them (some 65,000 for all its mappings).
const MOST_RANGES: usize = 128;
/// Ranges with so many bytes between them, which were never written, are shown as one.
const GAP: u64 = 16 * PAGE_SIZE;
/// Pages that a memory may hold on to beyond twice its own.
const FEW_PAGES: u64 = 256;

/// What a memory shares with others.
#[derive(Default)]
pub(super) struct Shares {
    /// Where it shows layers: the ends of ranges of whole pages by their starts.
    layers: BTreeMap<u64, (u64, Arc<Layer>)>,
    /// The same ranges, without the layers.
    shown: Regions,
    /// Pages of these ranges that have changed since.
    changed: Regions,
}

impl Shares {
    /// Whether a page is as its layer has it.
    fn has(&self, page: usize) -> bool {
        let addr = (page as u64) << PAGE_SHIFT;
        self.shown.contains(addr) && !self.changed.contains(addr)
    }

    /// A page changes. Says whether it was shared.
    pub(super) fn part_with(&mut self, page: usize) -> bool {
        let was_shared = self.has(page);
        if was_shared {
            let addr = (page as u64) << PAGE_SHIFT;
            self.changed.insert(addr..addr + PAGE_SIZE);
        }
        was_shared
    }

    /// A range shows a layer, as it is there.
    fn show(&mut self, range: Range<u64>, layer: &Arc<Layer>) {
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
        self.layers.insert(range.start, (range.end, layer.clone()));
        self.shown.remove(range.clone());
        self.changed.remove(range.clone());
        self.shown.insert(range);
    }

    /// Pages of all layers of which it shows a part.
    fn held_pages(&self) -> u64 {
        let mut layers: Vec<_> = self.layers.values().map(|(_, layer)| layer).collect();
        layers.sort_unstable_by_key(|layer| Arc::as_ptr(layer));
        layers.dedup_by_key(|layer| Arc::as_ptr(layer));
        layers.iter().map(|layer| layer.pages()).sum()
    }
}

impl Memory {
    /// A copy of this memory: content, permissions, limits.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub fn duplicate(&self) -> Result<Memory, MemoryError> {
        let mut copy = Memory::new(self.limit_bytes)?;
        self.copy_to(&mut copy)?;
        copy.thread_word = self.thread_word;
        Ok(copy)
    }

    /// Makes an empty memory a copy of this one.
    fn copy_to(&self, copy: &mut Memory) -> Result<(), MemoryError> {
        copy.take_state_of(self)?;
        // Nothing but zeros lies outside what is mapped and what was.
        for range in self.used.iter() {
            for page in page_indices(&range) {
                if self.page_byte(page) & bits::WRITTEN != 0 {
                    copy.page_content_mut(page)
                        .copy_from_slice(self.page_content(page));
                }
            }
        }
        Ok(())
    }

    /// Makes an empty memory a copy of this one. Both share each page until one of them writes to it.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses. This memory is then what it was.
    pub(crate) fn share_with(&mut self, copy: &mut Memory) -> Result<(), MemoryError> {
        if !self.put_into_layers().unwrap_or(false) {
            copy.copied_pages += self.written_pages;
            return self.copy_to(copy);
        }
        copy.take_state_of(self)?;
        let Some(shares) = &self.shares else {
            return Ok(());
        };
        for (&start, (end, layer)) in &shares.layers {
            copy.show(start..*end, layer)?;
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

    /// Puts every written page into a layer that this memory shows. `false`: it lies in too many ranges.
    fn put_into_layers(&mut self) -> Result<bool, MemoryError> {
        let shares = self.shares.get_or_insert_default();
        let shown: Vec<_> = shares.shown.iter().collect();
        let (held, ranges) = (shares.held_pages(), shares.layers.len());
        let mut runs = self.changed_runs();
        let new_pages: u64 = runs
            .iter()
            .map(|run| (run.end - run.start) / PAGE_SIZE)
            .sum();
        if ranges + runs.len() > MOST_RANGES
            || held + new_pages > 2 * self.written_pages + FEW_PAGES
        {
            runs.extend(shown);
            runs = joined(runs);
        }
        if runs.len() > MOST_RANGES {
            return Ok(false);
        }
        if runs.is_empty() {
            return Ok(true);
        }
        let mut layer = Layer::new()?;
        for part in runs.iter().flat_map(|run| self.written_parts(run)) {
            let len = (part.end - part.start) as usize;
            layer.put(part.start, self.content(part.start, len))?;
        }
        let layer = Arc::new(layer);
        for run in runs {
            self.show(run.clone(), &layer)?;
            for byte in self.page_bytes_mut(page_indices(&run)) {
                *byte &= !bits::FAST_W;
            }
        }
        Ok(true)
    }

    /// Ranges with all written pages that are not as a layer that is shown has them, and all others that are not.
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

    /// Shows no layer any more. Returns where it showed them: what lies there is zero now.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if the host refuses.
    pub(super) fn clear_shared(&mut self) -> Result<Regions, MemoryError> {
        let shown = self.shares.take().unwrap_or_default().shown;
        for range in shown.iter() {
            self.room_of(&range, |room, inside| room.clear(inside))?;
        }
        Ok(shown)
    }

    /// A page is written to: if it is shared, the host makes a copy of it.
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
        let shared: Vec<_> = shown.flat_map(|part| shares.changed.holes(part)).collect();
        for range in shared {
            for byte in self.page_bytes_mut(page_indices(&range)) {
                *byte &= !bits::FAST_W;
            }
        }
    }

    /// Pages that were copied because this memory wrote to them while others shared them, or as a whole.
    #[must_use]
    pub fn copied_pages(&self) -> u64 {
        self.copied_pages
    }
}

/// Ranges in ascending order, those that are near each other as one. None lies across the border of the window.
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
