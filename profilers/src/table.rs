//! Counts of the oracle for each static instruction, found by address in a few host instructions.

use hps_isa::ids::DisePc;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::beat::Key;
use crate::contexts::{Code, NodeId};

/// log2 of the bytes of a page of addresses.
const PAGE_SHIFT: u32 = 12;
/// Places of a page: instructions begin at even addresses.
const PLACES: usize = 1 << (PAGE_SHIFT - 1);

/// The counts of an instruction in the calling context where it ran last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// Of each page the instructions that have run.
impl SaveState for HotTable {
    fn save_to(&self, to: &mut Vec<u8>) {
        let HotTable {
            numbers,
            pages,
            last_page,
            others,
        } = self;
        numbers.save_to(to);
        let ran = |page: &[Hot; PLACES]| -> Vec<(u16, Hot)> {
            let places = (0..).zip(page.iter().copied());
            places.filter(|(_, hot)| *hot != Hot::EMPTY).collect()
        };
        let pages: Vec<_> = pages.iter().map(|page| ran(page)).collect();
        save_value(&pages, to);
        last_page.save_to(to);
        others.save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.numbers.restore_from(from)?;
        self.pages.clear();
        for ran in from.value::<Vec<Vec<(u16, Hot)>>>()? {
            let mut page = Box::new([Hot::EMPTY; PLACES]);
            for (at, hot) in ran {
                *page.get_mut(usize::from(at)).ok_or(StateError::Malformed)? = hot;
            }
            self.pages.push(page);
        }
        self.last_page.restore_from(from)?;
        self.others.restore_from(from)
    }
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
