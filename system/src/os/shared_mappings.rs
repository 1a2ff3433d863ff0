//! Shared mappings of files that the guest may write.
//!
//! Mappings are copies of files. Before each system call, pages of shared mappings that were written go to
//! their file and to its other mappings; after a call that changes a file, its mappings get the new content. Private
//! mappings get it as long as they have never been writable; then they keep the content that they have, also in pages
//! that the program has not written.
//! Readers through a call thus see what was written. Where two mappings show one place of a file, a store to one is
//! stored in the other at once ([`Mirror`]).

use std::ops::Range;

use crate::host::sys::unix_fs::FileExt;

use super::Linux;
use super::calls::Call;
use super::descriptors::Kind;
use super::errno::Errno;
#[cfg(doc)]
use hps_isa::memory::Mirror;
use hps_isa::memory::{Memory, PAGE_SIZE};

impl Linux {
    /// Notes from now on which pages of writable shared mappings are written.
    pub(super) fn track_shared(&self, mem: &mut Memory) {
        if self.space.mappings.has_shared() || mem.is_tracking() {
            mem.track(self.space.mappings.writers(), self.space.mappings.mirrors());
        }
    }

    /// Writes the pages of shared mappings that were written to their files.
    pub(crate) fn write_back(&mut self, mem: &mut Memory) {
        for page in mem.take_tracked() {
            self.note_file_changes();
            self.family.stores += 1;
            for (part, file) in self.space.mappings.ranges.within(page..page + PAGE_SIZE) {
                if !file.writes {
                    continue;
                }
                let mut bytes = vec![0; (part.end - part.start) as usize];
                let read = mem.read_bytes_forced(part.start, &mut bytes);
                let size = file.size().unwrap_or(0);
                // Behind the end of the file there is nothing to be kept.
                let room = size.saturating_sub(file.offset()).min(bytes.len() as u64);
                // Memory of processes alone is no output.
                let counts = !file.is_in_memory(&self.family.shared_names);
                if read.is_err() || room == 0 || counts && !self.run.count_output(room) {
                    continue;
                }
                // As on Linux, a page that cannot be written is lost; `msync` is not told either.
                let _ = file
                    .host()
                    .write_all_at(&bytes[..room as usize], file.offset());
                self.note_written(Some(file.identity));
                if !counts {
                    self.charge_anyway(room);
                }
                let span = file.offset()..file.offset() + room;
                let _ = self
                    .space
                    .mappings
                    .refresh(mem, file.identity, span, part.start);
            }
        }
        // What was refreshed is the file's content already.
        mem.take_tracked();
    }

    /// Lets mappings end where their files end now that a call may have changed sizes, and gives those that show their files
    /// what it has changed. `result` is the call's.
    pub(super) fn show_changes(
        &mut self,
        mem: &mut Memory,
        call: Call,
        a: &[u64; 6],
        result: u64,
    ) -> Result<(), Errno> {
        const ALL: Range<u64> = 0..u64::MAX;
        let (fd, span) = match call {
            Call::Write | Call::Writev => (a[0], None),
            Call::Pwrite64 | Call::Pwritev => (a[0], Some(a[3]..a[3].saturating_add(result))),
            Call::Pwritev2 | Call::Ftruncate | Call::Fallocate | Call::Sendfile => {
                (a[0], Some(ALL))
            }
            Call::CopyFileRange | Call::Splice => (a[2], Some(ALL)),
            Call::Truncate | Call::Openat => {
                let empties = || self.abi.open_rules().decode(a[2]).truncate;
                if call == Call::Truncate || empties() {
                    self.note_written(None);
                }
                return self.space.mappings.fit(mem, self.abi.page_bytes(), None);
            }
            _ => return Ok(()),
        };
        let Kind::File(host) = &self.files.get(fd)?.kind else {
            return Ok(());
        };
        let span = match span {
            Some(span) => span,
            None => {
                use std::io::Seek;
                let end = (&*host).stream_position()?;
                end.saturating_sub(result)..end
            }
        };
        let identity = super::file_mappings::identity(host)?;
        self.note_written(Some(identity));
        self.space
            .mappings
            .fit(mem, self.abi.page_bytes(), Some(identity))?;
        self.space.mappings.refresh(mem, identity, span, u64::MAX)?;
        // The file has this content already.
        mem.take_tracked();
        Ok(())
    }
}
