//! Memory in checkpoints: what is known of each page, and the content of those that were written.
//!
//! Pages that memories share lie in each of them afterwards; the first write to one still counts as a copy.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::chunks::{get, put};

use super::regions::Regions;
use super::sharing::Shares;
use super::tracked::Tracked;
use super::{FirstWrite, Memory, PAGE_SIZE, Perm, ThreadWord, bits, page_indices};

/// A memory without its host memory.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// Whether the memory is a real one, not a stand-in.
    is_whole: bool,
    limit_bytes: u64,
    regions: Regions,
    used: Regions,
    absent: BTreeMap<usize, Perm>,
    mapped_bytes: u64,
    reserved_pages: u64,
    is_refused: bool,
    tracked: Tracked,
    of_family: Option<Regions>,
    copied_pages: u64,
    retired_pages: u64,
    written_pages: u64,
    peak_written_pages: u64,
    dirty: Vec<FirstWrite>,
    code_epoch: u64,
    layout_epoch: u64,
    thread_word: Option<ThreadWord>,
    /// The bytes of the pages of `used`, as runs of equal ones.
    pages: Vec<(u64, u8)>,
    /// Chunks with the content of written pages, in ascending order.
    chunks: Vec<u64>,
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pages: Vec<(u64, u8)> = Vec::new();
        let mut chunks = Vec::new();
        for page in self.used.iter().flat_map(|range| page_indices(&range)) {
            let byte = self.page_byte(page);
            match pages.last_mut() {
                Some((count, last)) if *last == byte => *count += 1,
                _ => pages.push((1, byte)),
            }
            if byte & bits::WRITTEN != 0 {
                let chunk = put(self.page_content(page));
                chunks.push(chunk.ok_or_else(|| S::Error::custom("a page cannot be stored"))?);
            }
        }
        let saved = Saved {
            is_whole: self.bytes.is_whole(),
            limit_bytes: self.limit_bytes,
            regions: self.regions.clone(),
            used: self.used.clone(),
            absent: self.absent.clone(),
            mapped_bytes: self.mapped_bytes,
            reserved_pages: self.reserved_pages,
            is_refused: self.is_refused,
            tracked: self.tracked.clone(),
            of_family: self.shares.as_ref().map(|shares| shares.of_family.clone()),
            copied_pages: self.copied_pages,
            retired_pages: self.retired_pages,
            written_pages: self.written_pages,
            peak_written_pages: self.peak_written_pages,
            dirty: self.dirty.clone(),
            code_epoch: self.code_epoch,
            layout_epoch: self.layout_epoch,
            thread_word: self.thread_word,
            pages,
            chunks,
        };
        saved.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::deserialize(deserializer)?;
        if !saved.is_whole {
            return Memory::vacant().map_err(D::Error::custom);
        }
        let mut mem = Memory::new(saved.limit_bytes).map_err(D::Error::custom)?;
        mem.fill(&saved).map_err(D::Error::custom)?;
        Ok(Memory {
            regions: saved.regions,
            used: saved.used,
            absent: saved.absent,
            mapped_bytes: saved.mapped_bytes,
            reserved_pages: saved.reserved_pages,
            is_refused: saved.is_refused,
            tracked: saved.tracked,
            shares: saved.of_family.map(Shares::of_family),
            copied_pages: saved.copied_pages,
            retired_pages: saved.retired_pages,
            written_pages: saved.written_pages,
            peak_written_pages: saved.peak_written_pages,
            dirty: saved.dirty,
            code_epoch: saved.code_epoch,
            layout_epoch: saved.layout_epoch,
            thread_word: saved.thread_word,
            ..mem
        })
    }
}

impl Memory {
    /// Fills the pages of an empty memory.
    fn fill(&mut self, saved: &Saved) -> Result<(), String> {
        let mut runs = saved.pages.iter();
        let mut chunks = saved.chunks.iter();
        let mut content = Vec::with_capacity(PAGE_SIZE as usize);
        let mut run = (0, 0);
        for range in saved.used.iter() {
            let Range { start, end } = &range;
            if start >= end || *end > Memory::LIMIT || start % PAGE_SIZE != 0 {
                return Err("a range of memory lies outside of the address space".to_owned());
            }
            self.prepare(&range).map_err(|cause| cause.to_string())?;
            for page in page_indices(&range) {
                while run.0 == 0 {
                    run = *runs.next().ok_or("pages are missing")?;
                }
                run.0 -= 1;
                *self.page_byte_mut(page) = run.1;
                if run.1 & bits::WRITTEN != 0 {
                    content.clear();
                    let chunk = chunks.next().ok_or("contents of pages are missing")?;
                    get(*chunk, &mut content).ok_or("a page cannot be read")?;
                    if content.len() as u64 != PAGE_SIZE {
                        return Err("a page has another length than pages have".to_owned());
                    }
                    self.page_content_mut(page).copy_from_slice(&content);
                }
            }
        }
        Ok(())
    }
}
