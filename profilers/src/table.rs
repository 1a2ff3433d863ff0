//! Static instructions by number, found by address in a few host instructions.

use rustc_hash::FxHashMap;

use crate::beat::Key;

/// log2 of the bytes of a page of addresses.
const PAGE_SHIFT: u32 = 12;
/// Places of a page: instructions begin at even addresses.
const PLACES: usize = 1 << (PAGE_SHIFT - 1);
/// No instruction has been seen there.
const NONE: u32 = u32::MAX;

/// A number for each static instruction that has been seen, from 0 in the order of their first commits.
#[derive(Clone, Debug)]
pub struct InstructionTable {
    keys: Vec<Key>,
    /// The place in `pages` of each page of addresses.
    numbers: FxHashMap<u64, usize>,
    pages: Vec<[u32; PLACES]>,
    last_page: (u64, usize),
    /// Instructions of expansions, and those at odd addresses.
    others: FxHashMap<Key, u32>,
}

impl Default for InstructionTable {
    fn default() -> Self {
        InstructionTable {
            keys: Vec::new(),
            numbers: FxHashMap::default(),
            pages: Vec::new(),
            // No page has this number.
            last_page: (u64::MAX, 0),
            others: FxHashMap::default(),
        }
    }
}

impl InstructionTable {
    /// The number of an instruction.
    #[inline]
    pub fn number(&mut self, key: Key) -> usize {
        if key.disepc != hps_sim_core::ids::DisePc::NONE || key.pc & 1 != 0 {
            return self.number_of_other(key);
        }
        let page = key.pc >> PAGE_SHIFT;
        if page != self.last_page.0 {
            self.turn_to(page);
        }
        let place = (key.pc >> 1) as usize % PLACES;
        let number = &mut self.pages[self.last_page.1][place];
        if *number == NONE {
            *number = self.keys.len() as u32;
            self.keys.push(key);
        }
        *number as usize
    }

    #[cold]
    fn turn_to(&mut self, page: u64) {
        let next = self.pages.len();
        let at = *self.numbers.entry(page).or_insert(next);
        if at == next {
            self.pages.push([NONE; PLACES]);
        }
        self.last_page = (page, at);
    }

    #[cold]
    fn number_of_other(&mut self, key: Key) -> usize {
        let next = self.keys.len() as u32;
        let number = *self.others.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number as usize
    }

    /// The instructions by number.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}
