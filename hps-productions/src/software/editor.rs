//! Queries of a machine about the new layout.

use std::sync::Arc;

use hps_dise::DiseEngine;
use hps_isa::editor::{DecodeEditor, LaidOut, laid};
use hps_isa::inst::Inst;

use super::code::Code;
use super::copies::{BASE, CHECKING, Copies, INSTRUMENTED, Origin};
use super::{LayoutStatistics, slots};

/// The layout of a process's code, in a form that answers quickly.
#[derive(Debug)]
pub(super) struct Layout {
    pub code: Code,
    pub copies: Copies,
    /// For each halfword from [`BASE`]: the number of the item that begins there, plus one.
    pub index: Vec<u32>,
    /// The copy in which code from elsewhere is entered.
    pub first: usize,
}

impl Layout {
    pub fn new(code: Code, copies: Copies, first: usize) -> Self {
        let mut index = vec![0; ((copies.end - BASE) / 2) as usize];
        for (at, item) in copies.items.iter().enumerate() {
            index[((item.addr - BASE) / 2) as usize] = at as u32 + 1;
        }
        Layout {
            code,
            copies,
            index,
            first,
        }
    }

    fn item(&self, pc: u64) -> Option<usize> {
        let offset = pc.checked_sub(BASE)?;
        let at = *self.index.get((offset / 2) as usize)?;
        (at as usize).checked_sub(1).filter(|_| pc & 1 == 0)
    }

    /// The copy that an address lies in, or else the one to be entered.
    fn copy_of(&self, pc: u64) -> usize {
        if pc < BASE || pc >= self.copies.routines {
            self.first
        } else if pc < self.copies.instrumented {
            CHECKING
        } else {
            INSTRUMENTED
        }
    }

    pub fn place(&self, from: u64, target: u64) -> u64 {
        match self.code.index.find(target) {
            Some(at) => self.copies.places[self.copy_of(from)][at],
            None => target,
        }
    }
}

/// Duplicated code with checks, as a machine sees it: see [`software`](super).
///
/// A clone shares the layout. Like that of a DISE engine, the consumer of data streams stays with the
/// original.
#[derive(Clone, Debug)]
pub struct SoftwareEditor {
    pub(super) layout: Arc<Layout>,
    /// Where data streams are drained to.
    pub(super) consumer: Option<DiseEngine>,
}

hps_isa::save_state! { SoftwareEditor { layout: skip, consumer } }

impl SoftwareEditor {
    /// The address in the program's own code of the instruction at `pc`; `pc` if it lies in no copy.
    #[must_use]
    pub fn original_address(&self, pc: u64) -> u64 {
        let item = self.layout.item(pc);
        item.map_or(pc, |at| self.layout.copies.items[at].original)
    }

    /// Whether an address lies in the instrumented copy.
    #[must_use]
    pub fn is_instrumented(&self, pc: u64) -> bool {
        (self.layout.copies.instrumented..self.layout.copies.routines).contains(&pc)
    }

    /// Statistics of the layout.
    #[must_use]
    pub fn statistics(&self) -> LayoutStatistics {
        self.layout.copies.statistics
    }
}

impl DecodeEditor for SoftwareEditor {
    const ENABLED: bool = false;
    const RELAYOUT: bool = true;

    fn laid_out(&self, pc: u64) -> Option<LaidOut> {
        let layout = &*self.layout;
        if let Some(at) = layout.item(pc) {
            let item = &layout.copies.items[at];
            let origin = match item.origin {
                Origin::Program => 0,
                Origin::Inserted => laid::INSERTED,
                Origin::Routine => laid::INSERTED | laid::HANDLER,
            };
            return Some(LaidOut {
                inst: item.inst,
                origin,
            });
        }
        // At an original address lies a jump into the copy.
        let at = layout.code.index.find(pc)?;
        let place = layout.copies.places[layout.first][at];
        let inst = Inst {
            imm: place.wrapping_sub(pc) as i64,
            len: layout.code.list[at].inst.len,
            ..slots::jump(layout.code.isa)
        };
        Some(LaidOut {
            inst,
            origin: laid::INSERTED,
        })
    }

    fn place(&self, from: u64, target: u64) -> u64 {
        self.layout.place(from, target)
    }

    fn original(&self, pc: u64) -> u64 {
        self.original_address(pc)
    }

    fn drain(&mut self, read: &mut dyn FnMut(u64, &mut [u8]) -> bool) {
        if let Some(consumer) = &mut self.consumer {
            consumer.drain(read);
        }
    }
}
