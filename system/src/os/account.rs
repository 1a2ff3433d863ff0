//! The account of what the host keeps for a guest: the memory of its processes, and what lies in pipes, sockets, files in
//! memory, queues of inotify, objects of System V, open files of `/proc`, programs that processes run, and threads.
//!
//! `--memory-limit` is the limit of all together. What lies beside the memory of processes is counted now and then, and
//! in between what may have come is added, so that a call costs an addition: see [`Linux::charge`].

use serde::{Deserialize, Serialize};
use std::mem::size_of;

use hps_isa::memory::Memory;
use rustc_hash::FxHashSet;

use crate::host::sys::unix_fs::MetadataExt;
use crate::process::{ProgramUsage, Thread};

use super::Linux;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::shared_names::SharedNames;

/// When so much may have come since the last count, the next one is due, in bytes.
const RECOUNT_BYTES: u64 = 1 << 20;
/// Bytes of an open file beside what it holds.
const OPEN_FILE_BYTES: u64 = 256;
/// Bytes of an entry of an open folder of `/proc`.
pub(super) const ENTRY_BYTES: u64 = 64;
/// Bytes of a program's place in reports.
const PROGRAM_BYTES: u64 = 8 + size_of::<ProgramUsage>() as u64;
/// Bytes of a block that `stat` counts.
const BLOCK_BYTES: u64 = 512;
/// Stands for a device where a pipe is told apart from files.
pub(super) const NO_DEVICE: u64 = u64::MAX;

/// Bytes of a thread that does not run.
pub(super) const THREAD_BYTES: u64 = size_of::<Thread>() as u64;

/// Memory that is kept for a guest beside that of its processes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Account {
    /// The most memory of all processes together, with what is kept beside it, in bytes; `None` as long as a single
    /// process has all of it.
    limit: Option<u64>,
    /// Memory that the process whose turn it is has mapped, in bytes.
    mapped: u64,
    /// The limit of its memory, in bytes.
    own_limit: u64,
    /// Memory that was kept at the last count, in bytes.
    counted: u64,
    /// Memory that may have come since the last count, in bytes.
    since: u64,
    /// Programs that processes have run, in bytes. They are kept for reports.
    pub(super) programs: u64,
}

impl Account {
    fn kept(&self) -> u64 {
        self.counted + self.since
    }
}

impl Linux {
    /// A system call begins: says how much memory the process may have, which has `mem`.
    #[inline]
    pub(crate) fn begin_account(&mut self, mem: &mut Memory) {
        let account = &mut self.family.account;
        account.mapped = mem.mapped_bytes();
        match account.limit {
            Some(_) => self.limit_memory(mem),
            None => account.own_limit = mem.limit_bytes(),
        }
    }

    /// Says how much memory the process may have beside other processes and what is kept.
    fn limit_memory(&mut self, mem: &mut Memory) {
        if self.family.account.since > RECOUNT_BYTES {
            self.recount();
        }
        mem.set_limit(self.memory_left());
    }

    /// There are several processes from now on, which have the limit of `mem` together. Returns it, in bytes.
    pub(super) fn share_account(&mut self, mem: &Memory) -> u64 {
        *(self.family.account.limit).get_or_insert(mem.limit_bytes())
    }

    /// The most memory that the process may have whose turn it is, in bytes, beside other processes and what is kept.
    pub(super) fn memory_left(&self) -> u64 {
        let account = &self.family.account;
        let taken = self.family.mapped_bytes() + account.kept();
        account
            .limit
            .unwrap_or(account.own_limit)
            .saturating_sub(taken)
    }

    /// How much more the host may keep for the guest, in bytes.
    pub(super) fn room_left(&self) -> u64 {
        self.memory_left()
            .saturating_sub(self.family.account.mapped)
    }

    /// Memory that the guest has and that is free, in bytes, as the program sees it.
    pub(super) fn memory_in_all(&self, mem: &Memory) -> (u64, u64) {
        let account = &self.family.account;
        let total = account.limit.unwrap_or(mem.limit_bytes());
        let taken = self.family.mapped_bytes() + account.kept() + mem.mapped_bytes();
        (total, total.saturating_sub(taken))
    }

    /// The host is about to keep so many bytes more for the guest.
    ///
    /// # Errors
    /// `refusal` if the limit on memory does not allow it.
    pub(super) fn charge(&mut self, bytes: u64, refusal: Errno) -> Result<(), Errno> {
        self.check_room(bytes, refusal)?;
        self.charge_anyway(bytes);
        Ok(())
    }

    /// Whether the limit on memory allows so many bytes more.
    ///
    /// # Errors
    /// `refusal` if it does not.
    pub(super) fn check_room(&mut self, bytes: u64, refusal: Errno) -> Result<(), Errno> {
        if self.fits(bytes) {
            return Ok(());
        }
        self.run.warnings.once(
            "a call is refused for want of memory: what lies in pipes, sockets, files in memory and programs counts as \
             memory of the program (--memory-limit raises it)",
        );
        Err(refusal)
    }

    /// The host keeps so many bytes more, which cannot be refused any more.
    pub(super) fn charge_anyway(&mut self, bytes: u64) {
        let account = &mut self.family.account;
        account.limit.get_or_insert(account.own_limit);
        account.since += bytes;
    }

    /// The host keeps a program for reports.
    pub(super) fn charge_program(&mut self, bytes: u64) {
        self.family.account.programs += bytes;
        self.charge_anyway(bytes);
    }

    /// Whether so many bytes more fit into the account.
    fn fits(&mut self, bytes: u64) -> bool {
        let fits = |os: &Linux| {
            let wanted = os.family.account.mapped.saturating_add(bytes);
            wanted <= os.memory_left()
        };
        if self.family.account.since + bytes > RECOUNT_BYTES || !fits(self) {
            self.recount();
        }
        fits(self)
    }

    /// Counts what is kept.
    fn recount(&mut self) {
        let counted = self.kept_bytes();
        let account = &mut self.family.account;
        (account.counted, account.since) = (counted, 0);
    }

    fn kept_bytes(&self) -> u64 {
        let names = &self.family.shared_names;
        let mut seen = Seen {
            names,
            all: FxHashSet::default(),
        };
        let files = self.files.files.iter().flatten();
        let open: u64 = files
            .map(|(file, _)| {
                let has_place = file.path.is_some();
                OPEN_FILE_BYTES + file.kind.held_bytes(has_place, &mut seen)
            })
            .sum();
        let ipc = &self.family.ipc;
        let mut own = ipc.held_bytes();
        for host in names.files().chain(ipc.segment_files()) {
            own += seen.memory_file_bytes(host);
        }
        for os in std::iter::once(self).chain(self.other_processes()) {
            own += os.threads.count() as u64 * THREAD_BYTES;
            for host in os.space.mappings.files_in_memory(names) {
                own += seen.memory_file_bytes(&host);
            }
        }
        let programs = self.later_programs().len() as u64 * PROGRAM_BYTES;
        open + own + self.sockets_bytes() + programs + self.family.account.programs
    }
}

/// Files and pipes that a count has seen already.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pub names: &'a SharedNames,
    all: FxHashSet<(u64, u64)>,
}

impl Seen<'_> {
    /// Whether what this number of a device stands for has not been seen.
    pub(super) fn is_new(&mut self, number: (u64, u64)) -> bool {
        self.all.insert(number)
    }

    /// Bytes that the host has for a file in memory, which counts once.
    pub(super) fn memory_file_bytes(&mut self, host: &std::fs::File) -> u64 {
        match host.metadata() {
            Ok(told) if self.is_new((told.dev(), told.ino())) => told.blocks() * BLOCK_BYTES,
            _ => 0,
        }
    }
}

impl OpenFile {
    /// Whether it is a file that the guest has in memory.
    pub(super) fn is_in_memory(&self, names: &SharedNames) -> bool {
        match &self.kind {
            Kind::File(host) => self.path.is_none() || names.may_hold(host),
            _ => false,
        }
    }
}
