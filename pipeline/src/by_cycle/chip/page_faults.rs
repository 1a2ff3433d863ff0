//! Page faults of a program and its copies: pages that they share until one of them writes.
//!
//! When a process has been copied, its first write to each page and that of each copy is a page fault, if the page has
//! content. What is in flight behind the store is squashed, and the operating system has the context for a number of
//! cycles. If another process still has the page, it then copies it: a load and a store for each line, as fast as the
//! caches of the context take them, and from then on the writer has the page in a frame of its own
//! ([`AddressSpace::move_page`](crate::memsys::AddressSpace)). A page that has no content yet is made at its first write with or without
//! copies: that is counted, and takes no time.
//!
//! The store itself has been performed when its fault is served: it is the store that has committed last. The list of
//! first writes that memory keeps ([`Memory::first_writes`]) also has pages that stores on wrong paths were dispatched to:
//! those count when a store commits, or at once if the operating system has written there. Where a wrong path was the
//! first to come to a page before a copy was made, the page counts as one with content.

use hps_isa::editor::DecodeEditor;
use hps_isa::memory::{PAGE_SIZE, page_align_down};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Context;
use super::Chip;
use super::copies::Copies;
use crate::memsys::AccessResult;
use crate::model::PipelineProbe;

/// Page faults of a process that shares pages with copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFaults {
    /// Pages that were copied, since another process still had them.
    pub copied_pages: u64,
    /// Pages that no other process had any more.
    pub reused_pages: u64,
    /// Pages without content, which are no faults of copying.
    pub made_pages: u64,
    /// Cycles in which the operating system had the context for faults that copied a page or found it unshared.
    pub cycles: u64,
}

/// The pages that a process has written since it was copied, or since it is a copy.
pub(super) struct Written {
    /// How much of the list that memory keeps has been looked at, and whether each page there had content.
    looked_at: usize,
    listed: FxHashMap<u64, bool>,
    /// Pages that were written for good.
    pages: FxHashSet<u64>,
    /// Stores that have been looked at, by position.
    stores: u64,
}

impl Written {
    /// Nothing, of the process of a context whose list of first writes is empty.
    pub fn nothing<E, P>(context: &Context<E, P>) -> Written {
        Written {
            looked_at: 0,
            listed: FxHashMap::default(),
            pages: FxHashSet::default(),
            stores: context.stores.commit,
        }
    }

    /// The pages that were written for the first time in the cycle that has passed, and whether each had content.
    fn new_pages<E, P>(&mut self, context: &Context<E, P>) -> Vec<(u64, bool)> {
        let (stores, before) = (&context.stores, self.stores);
        let pages_of = |position: u64| {
            let e = stores.get(position);
            let last = e.addr.wrapping_add(u64::from(e.size.max(1)) - 1);
            let pages = [e.addr, last].map(page_align_down);
            pages.into_iter().take(if e.size > 0 { 2 } else { 0 })
        };
        let mut new = Vec::new();
        let first_writes = context.process.mem.first_writes();
        for write in &first_writes[self.looked_at..] {
            let addr = write.addr();
            self.listed.insert(addr, write.had_content());
            // Stores that were dispatched in this cycle are in the queue. No other instruction writes.
            let is_of_store = (before..stores.tail).any(|at| pages_of(at).any(|page| page == addr));
            if !is_of_store && self.pages.insert(addr) {
                new.push((addr, write.had_content()));
            }
        }
        self.looked_at = first_writes.len();
        for page in (before..stores.commit).flat_map(pages_of) {
            if let Some(had_content) = self.listed.get(&page)
                && self.pages.insert(page)
            {
                new.push((page, *had_content));
            }
        }
        self.stores = stores.commit;
        new
    }
}

/// A page fault that takes time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The page is copied from one place to another.
    Copies { from: u64, to: u64 },
    /// The page is no longer shared.
    Reuses,
}

/// Service of the operating system for the first of the faults that wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Service {
    /// The cycle of its next step.
    cycle: u64,
    /// Bytes of the page that have been copied.
    copied: u64,
    /// The next line has been loaded.
    is_loaded: bool,
    /// When all accesses so far are done.
    done: u64,
    /// The cycle in which it took the context.
    from: u64,
}

impl<E: DecodeEditor, P: PipelineProbe> Chip<E, P> {
    /// Looks for first writes of the process on a context, after each of its turns, and begins to serve faults as soon as
    /// it can.
    pub(super) fn look_at_faults(&mut self, number: usize) {
        let is_watched = |copies: &Copies<P>| copies.sharers[number].written.is_some();
        if !self.copies.as_deref().is_some_and(is_watched) {
            return;
        }
        if number == 0 && self.turn != 0 {
            self.lend_to(0);
        }
        let Some(copies) = &mut self.copies else {
            return;
        };
        let Some(written) = &mut copies.sharers[number].written else {
            return;
        };
        for (addr, had_content) in written.new_pages(&self.processors[number].context) {
            self.note_write(number, addr, had_content);
        }
        self.begin_service(number);
    }

    /// A process has written to a page for the first time since it was copied, or since it is a copy.
    fn note_write(&mut self, number: usize, addr: u64, had_content: bool) {
        let Some(copies) = &mut self.copies else {
            return;
        };
        let place = |at: usize| self.processors[at].context.addresses.of(addr);
        let mine = place(number);
        let shares = |at: usize| {
            at != number && (at == 0 || copies.sharers[at].copy.is_some()) && place(at) == mine
        };
        let is_shared = (0..self.processors.len()).any(shares);
        let sharer = &mut copies.sharers[number];
        let faults = &mut sharer.faults;
        match (had_content, is_shared) {
            (true, true) => faults.copied_pages += 1,
            (true, false) => faults.reused_pages += 1,
            (false, _) => faults.made_pages += 1,
        }
        let moves = is_shared && (had_content || number > 0);
        let to = moves.then(|| {
            copies.frames += 1;
            let one = &mut self.processors[number];
            let to = one.context.addresses.move_page(addr, copies.frames);
            one.resources
                .memory
                .set_address_space(&one.context.addresses);
            to
        });
        if had_content {
            sharer.waiting.push_back(match to {
                Some(to) => Fault::Copies { from: mine, to },
                None => Fault::Reuses,
            });
        }
    }

    fn begin_service(&mut self, number: usize) {
        let Some(copies) = &mut self.copies else {
            return;
        };
        let sharer = &mut copies.sharers[number];
        let one = &mut self.processors[number];
        if sharer.waiting.is_empty()
            || sharer.service.is_some()
            || !one.context.is_between_instructions(&one.resources)
        {
            return;
        }
        let now = one.resources.now;
        sharer.service = Some(Service {
            cycle: now + copies.fault_cycles,
            copied: 0,
            is_loaded: false,
            done: 0,
            from: now,
        });
        self.empty(number);
        self.occupy_context(number, None);
    }

    /// The service with the next step: its cycle, and the context.
    pub(super) fn next_service(&self) -> Option<(u64, usize)> {
        let sharers = self.copies.as_ref()?.sharers.iter().enumerate();
        let steps =
            sharers.filter_map(|(number, of)| of.service.map(|service| (service.cycle, number)));
        steps.min()
    }

    /// The next step of a service: a line is copied, or a fault is over.
    pub(super) fn serve(&mut self, number: usize) {
        self.lend_core_to(number);
        let Some(copies) = &mut self.copies else {
            return;
        };
        let sharer = &mut copies.sharers[number];
        let (Some(fault), Some(service)) = (sharer.waiting.front(), &mut sharer.service) else {
            sharer.service = None;
            return;
        };
        let now = service.cycle;
        if let Fault::Copies { from, to } = *fault {
            let memory = &mut self.processors[number].resources.memory;
            memory.obey(&mut self.shared, now);
            if !service.is_loaded {
                let loaded = memory.load_at(&mut self.shared, now, from + service.copied);
                if !service.takes(loaded) {
                    return;
                }
                service.is_loaded = true;
            }
            let stored = memory.store_at(&mut self.shared, now, to + service.copied);
            if !service.takes(stored) {
                return;
            }
            service.is_loaded = false;
            service.copied += memory.line_bytes();
            service.cycle = now + 1;
            if service.copied < PAGE_SIZE {
                return;
            }
        }
        let over = now.max(service.done);
        sharer.waiting.pop_front();
        if sharer.waiting.is_empty() {
            let until = over + 1;
            sharer.faults.cycles += until - service.from;
            sharer.service = None;
            self.wake(number, until);
        } else {
            *service = Service {
                cycle: over + copies.fault_cycles,
                copied: 0,
                done: 0,
                ..*service
            };
        }
    }
}

impl Service {
    /// Whether an access is accepted; else it is tried again when it may be.
    fn takes(&mut self, result: AccessResult) -> bool {
        match result {
            AccessResult::Done(access) => {
                self.done = self.done.max(access.ready_cycle);
                true
            }
            AccessResult::Retry { at_cycle } => {
                self.cycle = at_cycle.max(self.cycle + 1);
                false
            }
        }
    }
}
