//! Machines that go on where another one is, in memory that both share until one of them writes.

use hps_isa::code::CodeCache;
use hps_isa::memory::MemoryError;
use hps_system::process::Process;

use super::{Machine, RetiredCounts, functional_counters};

/// A machine that can begin again and again where its parent is at that time, in a run without effects on the host
/// (see [`Linux::forked`](hps_system::os::Linux::forked)).
///
/// A fork keeps its memory between two beginnings. Of the parent's pages it copies those that one of the two has
/// written since: the others are equal already. The parent pays nothing while no fork is used: it notes its dirty pages
/// anyway.
///
/// The owner of forks of a machine takes the list of the machine's dirty pages at every fork, tells all forks of it
/// ([`Fork::note`]) and starts a new one ([`Memory::clear_dirty`](hps_isa::memory::Memory::clear_dirty)). The length of
/// the list is, at any time, the number of pages that the parent has written since its last fork: of page faults that
/// an operating system takes which shares pages until they are written.
pub struct Fork {
    machine: Machine,
    /// Addresses of pages that the parent has changed since this fork last began.
    stale: Vec<u64>,
    layout_epoch: u64,
    code_epoch: u64,
}

impl Fork {
    /// A fork that has begun where the parent is.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn of(parent: &mut Machine) -> Result<Fork, MemoryError> {
        let process = parent.process.forked()?;
        let mut fork = Fork {
            layout_epoch: process.mem.layout_epoch(),
            code_epoch: process.mem.code_epoch(),
            machine: Machine::new(process),
            stale: Vec::new(),
        };
        fork.take_counters(parent);
        Ok(fork)
    }

    /// Notes pages that the parent has changed, by their addresses.
    pub fn note(&mut self, pages: &[u64]) {
        self.stale.extend(pages);
    }

    /// Begins again where the parent is.
    ///
    /// # Errors
    /// If the host refuses memory.
    pub fn begin(&mut self, parent: &mut Machine) -> Result<(), MemoryError> {
        let mem = &self.machine.process.mem;
        let same_layout = mem.layout_epoch() == self.layout_epoch;
        // An epoch of the fork's own may be one of the parent's for other code.
        if mem.code_epoch() != self.code_epoch {
            self.machine.code = CodeCache::new(self.machine.process.image.isa);
            self.machine.threaded = self.machine.threaded.fresh();
        }
        let mut pages = std::mem::take(&mut self.stale);
        pages.extend(mem.dirty_pages());
        pages.sort_unstable();
        pages.dedup();
        let process = &mut self.machine.process;
        let os = parent.process.os.forked();
        let pages_of_both = same_layout.then_some(&pages[..]);
        process.follow_as(&mut parent.process, pages_of_both, os)?;
        pages.clear();
        self.stale = pages;
        self.layout_epoch = parent.process.mem.layout_epoch();
        self.code_epoch = parent.process.mem.code_epoch();
        self.take_counters(parent);
        Ok(())
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The process as the fork has left it.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.machine.process
    }

    /// Pages that the fork has written since it began.
    #[must_use]
    pub fn written_pages(&self) -> u64 {
        self.machine.process.mem.dirty_pages().count() as u64
    }

    /// Instructions of the program since the fork began.
    #[must_use]
    pub fn retired(&self) -> u64 {
        self.machine.retired.program
    }

    fn take_counters(&mut self, parent: &Machine) {
        self.machine.retired = RetiredCounts::default();
        self.machine.process.counters_before =
            functional_counters(parent.retired.program).plus(parent.process.counters_before);
    }
}
