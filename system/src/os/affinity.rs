//! Which processors a thread may run on (sched_setaffinity(2), getcpu(2)).

use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::outcome::Returned;
use super::record::write_optional;
use crate::process::Thread;

/// Bytes of a set of processors.
const SET_BYTES: u64 = 8;

impl Linux {
    /// The set of all processors.
    fn all_processors(&self) -> u64 {
        u64::MAX >> (64 - self.processors())
    }

    /// `sched_setaffinity`: processors that do not exist are left out.
    pub(super) fn sched_setaffinity(
        &mut self,
        thread: &mut Thread,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Result<Returned, Errno> {
        let [tid, bytes, mask, ..] = *a;
        let mut set = [0; SET_BYTES as usize];
        let given = (bytes as u32 as u64).min(SET_BYTES) as usize;
        mem.read_bytes(mask, &mut set[..given])?;
        let processors = u64::from_le_bytes(set) & self.all_processors();
        let tid = self.meant(thread, tid)?;
        if processors == 0 {
            return Err(Errno::EINVAL);
        }
        if tid != thread.tid {
            self.threads.set_processors_of(tid, processors);
            return Ok(Returned::default());
        }
        thread.scheduling.set_processors(processors);
        Ok(Returned {
            yields: processors >> self.processor() & 1 == 0,
            ..Returned::default()
        })
    }

    /// `sched_getaffinity`: the bytes of the set.
    pub(super) fn sched_getaffinity(
        &self,
        thread: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [tid, bytes, mask, ..] = *a;
        let tid = self.meant(thread, tid)?;
        if bytes < SET_BYTES || bytes % SET_BYTES != 0 {
            return Err(Errno::EINVAL);
        }
        let set = if tid == thread.tid {
            thread.scheduling.processors()
        } else {
            self.threads.processors_of(tid).ok_or(Errno::ESRCH)?
        };
        mem.write_bytes(mask, &(set & self.all_processors()).to_le_bytes())?;
        Ok(SET_BYTES)
    }

    /// The thread that a call names: 0 is the caller.
    fn meant(&self, thread: &Thread, tid: u64) -> Result<u32, Errno> {
        match tid as u32 {
            0 => Ok(thread.tid),
            tid if tid == thread.tid || self.threads.has_other(tid) => Ok(tid),
            // The first thread has ended before others.
            tid if tid == self.pid => Ok(thread.tid),
            _ => Err(Errno::ESRCH),
        }
    }

    /// `getcpu`: the processor, and the first node.
    pub(super) fn getcpu(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let processor = self.processor() as u32;
        write_optional(mem, a[0], &processor.to_le_bytes())?;
        write_optional(mem, a[1], &[0; 4])?;
        Ok(0)
    }
}
