//! Predecoded code, shared by the functional machine and the pipeline.
//!
//! A page of guest code is an array of slots, one for each halfword at which an instruction may
//! begin. A slot keeps the decoded instruction and the static part of the editor's match, so that
//! both are decided once per address (design decision 3).

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::bus::MemFault;
use crate::editor::DecodeEditor;
use crate::ids::DisePc;
use crate::inst::{Inst, Op, OpClass};
use crate::isa::Isa;
use crate::layout;
use crate::memory::Memory;
use crate::state::{SaveState, Saved, StateError, save_value};
use crate::trap::{Trap, TrapCause};

/// log2 of the bytes in a page.
pub const PAGE_SHIFT: u32 = 12;
/// Slots in a page: one per halfword.
pub const SLOTS: usize = 1 << (PAGE_SHIFT - 1);

/// One decoded instruction.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slot {
    /// The instruction. `len == 0` marks a slot that has not been decoded.
    pub inst: Inst,
    /// The editor's static mask; of a new layout, whose the instruction is (`editor::laid`).
    pub mask: u32,
    /// For the owner of the cache: any number it wants to keep beside the instruction.
    pub note: u32,
}

const EMPTY: Slot = Slot {
    inst: Inst::illegal(0),
    mask: 0,
    note: 0,
};

/// All decoded pages of one address space.
pub struct CodeCache {
    isa: Isa,
    pages: Vec<Box<[Slot; SLOTS]>>,
    /// Page number of each of them.
    numbers: Vec<usize>,
    /// Page number to index in `pages` plus one; zero: absent. Committed by the host page by page.
    index: Vec<u32>,
    /// Page number to index in `pages` plus one, for pages above the window of memory's fast path.
    high: FxHashMap<usize, u32>,
    epoch: u64,
    generation: u32,
    /// Prefetches are decoded as what accesses the cache.
    touches: bool,
}

impl Clone for CodeCache {
    fn clone(&self) -> Self {
        // Not the whole index: the host would commit all of it.
        let mut index = vec![0; self.index.len()];
        for &number in &self.numbers {
            if let Some(place) = index.get_mut(number) {
                *place = self.index[number];
            }
        }
        CodeCache {
            pages: self.pages.clone(),
            numbers: self.numbers.clone(),
            index,
            high: self.high.clone(),
            ..*self
        }
    }
}

impl CodeCache {
    /// An empty cache of code of one instruction set.
    #[must_use]
    pub fn new(isa: Isa) -> Self {
        CodeCache {
            isa,
            pages: Vec::new(),
            numbers: Vec::new(),
            index: vec![0; (Memory::WINDOW >> PAGE_SHIFT) as usize],
            high: FxHashMap::default(),
            epoch: 0,
            generation: 0,
            touches: false,
        }
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Decodes prefetches of data as what accesses the cache ([`Inst::as_touch`]), or as the no-operations that they are to
    /// a program.
    pub fn perform_prefetches(&mut self, touches: bool) {
        if self.touches != touches {
            self.touches = touches;
            self.clear();
        }
    }

    /// Throws everything away. Only the index entries in use are reset: the index is large.
    pub fn clear(&mut self) {
        for number in self.numbers.drain(..) {
            if let Some(place) = self.index.get_mut(number) {
                *place = 0;
            }
        }
        self.high.clear();
        self.pages.clear();
    }

    /// Whether everything here was decoded while executable memory was at this epoch.
    #[must_use]
    pub fn is_in_step(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }

    /// Throws everything away if executable memory or the editor's tables have changed. Returns
    /// whether it did.
    #[inline]
    pub fn sync<E: DecodeEditor>(&mut self, mem: &Memory, editor: &E) -> bool {
        let stale = self.epoch != mem.code_epoch() || self.generation != editor.generation();
        if stale {
            self.epoch = mem.code_epoch();
            self.generation = editor.generation();
            self.clear();
        }
        stale
    }

    /// The page that holds `pc`, made if absent.
    ///
    /// # Errors
    /// A fetch fault if `pc` is outside the address space.
    #[inline]
    pub fn page(&mut self, pc: u64) -> Result<usize, TrapCause> {
        match self.index.get((pc >> PAGE_SHIFT) as usize) {
            Some(0) => Ok(self.add_page(pc)),
            Some(&n) => Ok(n as usize - 1),
            None => self.high_page(pc),
        }
    }

    #[cold]
    fn high_page(&mut self, pc: u64) -> Result<usize, TrapCause> {
        match self.high.get(&((pc >> PAGE_SHIFT) as usize)) {
            Some(&n) => Ok(n as usize - 1),
            None if pc < Memory::LIMIT => Ok(self.add_page(pc)),
            None => Err(TrapCause::FetchFault),
        }
    }

    #[cold]
    fn add_page(&mut self, pc: u64) -> usize {
        let page = vec![EMPTY; SLOTS].into_boxed_slice();
        let Ok(page) = page.try_into() else {
            unreachable!("the length of the vector is SLOTS")
        };
        self.pages.push(page);
        let (number, place) = ((pc >> PAGE_SHIFT) as usize, self.pages.len() as u32);
        self.numbers.push(number);
        match self.index.get_mut(number) {
            Some(entry) => *entry = place,
            None => {
                self.high.insert(number, place);
            }
        }
        self.pages.len() - 1
    }

    /// The slots of a page found with [`CodeCache::page`].
    #[inline]
    #[must_use]
    pub fn slots(&self, page: usize) -> &[Slot; SLOTS] {
        &self.pages[page]
    }

    /// Decodes the instruction at `pc` into its slot.
    ///
    /// # Errors
    /// A fetch fault where nothing executable is mapped, or a misaligned address.
    #[cold]
    pub fn fill<E: DecodeEditor>(
        &mut self,
        page: usize,
        pc: u64,
        mem: &Memory,
        editor: &E,
    ) -> Result<(), TrapCause> {
        if pc & (self.isa.instruction_align() - 1) != 0 {
            return Err(TrapCause::FetchMisaligned);
        }
        if E::RELAYOUT
            && let Some(laid) = editor.laid_out(pc)
        {
            self.pages[page][((pc >> 1) as usize) & (SLOTS - 1)] = Slot {
                inst: laid.inst,
                mask: laid.origin,
                note: 0,
            };
            return Ok(());
        }
        let word = fetch(mem, self.isa, pc).map_err(|_| TrapCause::FetchFault)?;
        let mut inst = self.isa.decode(word);
        if needs_handler(&inst) && !(layout::HANDLER_BASE..layout::HANDLER_END).contains(&pc) {
            inst = Inst::illegal(inst.len);
        }
        let slot = &mut self.pages[page][((pc >> 1) as usize) & (SLOTS - 1)];
        slot.inst = inst;
        slot.mask = if E::RELAYOUT {
            0
        } else {
            editor.static_mask(pc, &inst)
        };
        if self.touches {
            slot.inst = inst.as_touch().unwrap_or(inst);
        }
        slot.note = 0;
        Ok(())
    }

    /// The slot of the instruction at `pc`, decoded.
    ///
    /// # Errors
    /// A fetch fault where nothing executable is mapped, or a misaligned address.
    #[inline]
    pub fn lookup<E: DecodeEditor>(
        &mut self,
        pc: u64,
        mem: &Memory,
        editor: &E,
    ) -> Result<&mut Slot, TrapCause> {
        let page = self.page(pc)?;
        let at = ((pc >> 1) as usize) & (SLOTS - 1);
        if self.pages[page][at].inst.len == 0 || pc & 1 != 0 {
            self.fill(page, pc, mem, editor)?;
        }
        Ok(&mut self.pages[page][at])
    }
}

/// All that has been decoded is saved, since memory may say something else by now: a program that writes code has the old
/// one until it says that it has done so. The notes of the owner are not saved.
impl SaveState for CodeCache {
    fn save_to(&self, to: &mut Vec<u8>) {
        save_value(&(self.epoch, self.generation, self.touches), to);
        let decoded: Vec<_> = self
            .numbers
            .iter()
            .zip(&self.pages)
            .map(|(number, slots)| {
                let slots = (0_u16..).zip(slots.iter());
                let slots = slots.filter(|(_, slot)| slot.inst.len != 0);
                let slots: Vec<_> = slots.map(|(at, slot)| (at, slot.inst, slot.mask)).collect();
                (*number, slots)
            })
            .collect();
        save_value(&decoded, to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.clear();
        (self.epoch, self.generation) = from.value()?;
        from.expect(&self.touches, "prefetches that access the cache")?;
        for (number, slots) in from.value::<Vec<(usize, Vec<(u16, Inst, u32)>)>>()? {
            let pc = (number as u64) << PAGE_SHIFT;
            let page = self.page(pc).map_err(|_| StateError::Malformed)?;
            for (at, inst, mask) in slots {
                let slot = self.pages[page].get_mut(usize::from(at));
                let slot = slot.ok_or(StateError::Malformed)?;
                *slot = Slot {
                    inst,
                    mask,
                    note: 0,
                };
            }
        }
        Ok(())
    }
}

/// DISE operations exist in guest memory only inside handlers.
fn needs_handler(inst: &Inst) -> bool {
    matches!(
        inst.class,
        OpClass::DiseBranch | OpClass::DiseCall | OpClass::DiseReturn | OpClass::DiseDrain
    ) || inst.op == Op::DiseMove
}

/// The encoding of the instruction at `pc`.
fn fetch(mem: &Memory, isa: Isa, pc: u64) -> Result<u32, MemFault> {
    match isa {
        Isa::Riscv64 => mem.fetch_word(pc),
        Isa::Alpha => mem.fetch_four_bytes(pc),
    }
}

/// A trap at `pc`, with the encoding found there.
#[must_use]
pub fn trap_at(mem: &Memory, isa: Isa, pc: u64, cause: TrapCause) -> Trap {
    Trap {
        cause,
        pc,
        encoding: fetch(mem, isa, pc).unwrap_or(0),
    }
}

/// Where a handler returns to: the position behind the call in the sequence of a trigger, or the
/// program's instruction that an interrupt kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandlerLink {
    /// The trigger, or the interrupted instruction.
    pub pc: u64,
    /// The replacement instruction to go on with; none behind an interrupt.
    pub disepc: DisePc,
}

impl HandlerLink {
    /// Of the handler of an interrupt that came in front of the instruction at `pc`.
    #[must_use]
    pub const fn of_interrupt(pc: u64) -> Self {
        HandlerLink {
            pc,
            disepc: DisePc::NONE,
        }
    }

    /// Whether the handler is that of an interrupt: a call lies in an expansion, and so does what
    /// follows it.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        self.disepc == DisePc::NONE
    }
}
