//! Counts of the oracle for each static instruction, found by address in a few host instructions.

use hps_sim_core::ids::DisePc;
use rustc_hash::FxHashMap;

use crate::beat::Key;
use crate::contexts::{Code, NodeId};

/// log2 of the bytes of a page of addresses.
const PAGE_SHIFT: u32 = 12;
/// Places of a page: instructions begin at even addresses.
const PLACES: usize = 1 << (PAGE_SHIFT - 1);

/// The counts of an instruction in the calling context where it ran last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hot {
    /// Row in that context; [`Hot::NO_ROW`]: the instruction has not run yet.
    pub row: u32,
    /// The calling context; [`NodeId::ROOT`] if rows are of all contexts together.
    pub node: NodeId,
    /// Code of the instruction, if units of contexts are counted.
    pub code: Code,
    /// How often it has committed there since the row was turned to.
    pub commits: u64,
    /// Units of cycles in which it committed and nothing had happened to it, since then.
    pub computing: u64,
    /// Whether the instruction begins a basic block.
    pub begins_block: bool,
}

impl Hot {
    /// No row.
    pub const NO_ROW: u32 = u32::MAX;

    /// The state of an instruction that has not run.
    const EMPTY: Hot = Hot {
        row: Hot::NO_ROW,
        node: NodeId::ROOT,
        code: Code::UNKNOWN,
        commits: 0,
        computing: 0,
        begins_block: false,
    };
}

/// The counts of all static instructions.
#[derive(Clone, Debug)]
pub(crate) struct HotTable {
    /// The place in `pages` of each page of addresses.
    numbers: FxHashMap<u64, usize>,
    pages: Vec<Box<[Hot; PLACES]>>,
    last_page: (u64, usize),
    /// Instructions of expansions, and those at odd addresses.
    others: FxHashMap<Key, Hot>,
}

impl HotTable {
    pub fn new() -> Self {
        HotTable {
            numbers: FxHashMap::default(),
            pages: Vec::new(),
            // No page has this number.
            last_page: (u64::MAX, 0),
            others: FxHashMap::default(),
        }
    }

    /// The counts of an instruction.
    #[inline(always)]
    pub fn at(&mut self, key: Key) -> &mut Hot {
        if key.disepc != DisePc::NONE || key.pc & 1 != 0 {
            return self.others.entry(key).or_insert(Hot::EMPTY);
        }
        let page = key.pc >> PAGE_SHIFT;
        if page != self.last_page.0 {
            self.turn_to(page);
        }
        &mut self.pages[self.last_page.1][(key.pc >> 1) as usize % PLACES]
    }

    #[inline(never)]
    fn turn_to(&mut self, page: u64) {
        let next = self.pages.len();
        let at = *self.numbers.entry(page).or_insert(next);
        if at == next {
            self.pages.push(Box::new([Hot::EMPTY; PLACES]));
        }
        self.last_page = (page, at);
    }

    /// The counts of all instructions that have run.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Hot> {
        let others = self.others.values_mut();
        let pages = self.pages.iter_mut().flat_map(|page| page.iter_mut());
        pages.chain(others).filter(|hot| hot.row != Hot::NO_ROW)
    }
}
