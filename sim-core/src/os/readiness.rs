//! Calls that wait until descriptors are ready: `ppoll`, `select`.

use super::descriptors::Kind;
use super::errno::Errno;
use super::{Linux, StopReason};
use crate::memory::Memory;

const POLLIN: u16 = 1;
const POLLOUT: u16 = 4;
const POLLHUP: u16 = 16;
const POLLNVAL: u16 = 32;

impl Linux {
    /// Which of the events `wanted` a descriptor is ready for: everything at once, except a pipe that
    /// is empty or full.
    fn ready_events(&self, fd: u64, wanted: u16) -> u16 {
        match self.files.get(fd).map(|file| &file.kind) {
            Err(_) => POLLNVAL,
            Ok(Kind::PipeReader(end)) => {
                let pipe = end.lock();
                let data = if pipe.buffer.is_empty() {
                    0
                } else {
                    POLLIN & wanted
                };
                data | if pipe.writer_closed { POLLHUP } else { 0 }
            }
            Ok(Kind::PipeWriter(end)) if end.lock().is_full() => 0,
            Ok(_) => wanted & (POLLIN | POLLOUT),
        }
    }

    pub(super) fn ppoll(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fds, count, timeout, ..] = *a;
        if count > self.limits.descriptors() {
            return Err(Errno::EINVAL);
        }
        let mut ready = 0;
        for index in 0..count {
            let at = fds.wrapping_add(index * 8);
            let fd = mem.read::<4>(at)?;
            let wanted = mem.read::<2>(at.wrapping_add(4))? as u16;
            let events = if (fd as i32) < 0 {
                0
            } else {
                self.ready_events(fd, wanted)
            };
            mem.write_bytes(at.wrapping_add(6), &events.to_le_bytes())?;
            ready += u64::from(events != 0);
        }
        if ready == 0 && timeout == 0 {
            self.stop = Some(StopReason::Deadlock {
                waits_for: "an event (ppoll) that nobody can cause",
            });
        }
        Ok(ready)
    }

    /// `select`, and `pselect6`, whose mask of signals makes no difference: sets of descriptors to
    /// read, to write, and with exceptions, of which there are none.
    pub(super) fn select(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [count, readers, writers, exceptions, timeout, _] = *a;
        if count > self.limits.descriptors() {
            return Err(Errno::EINVAL);
        }
        let mut ready = 0;
        for (set, events) in [(readers, POLLIN), (writers, POLLOUT), (exceptions, 0)] {
            if set != 0 {
                ready += self.select_from(mem, set, count, events)?;
            }
        }
        if ready == 0 && timeout == 0 {
            self.stop = Some(StopReason::Deadlock {
                waits_for: "an event (select) that nobody can cause",
            });
        }
        Ok(ready)
    }

    /// Leaves the descriptors that are ready in a set, and returns how many they are.
    fn select_from(
        &self,
        mem: &mut Memory,
        set: u64,
        count: u64,
        events: u16,
    ) -> Result<u64, Errno> {
        let mut ready = 0;
        for first in (0..count).step_by(64) {
            let at = set.wrapping_add(first / 8);
            let wanted = mem.read::<8>(at)?;
            let mut found: u64 = 0;
            for bit in (0..64.min(count - first)).filter(|bit| wanted >> bit & 1 != 0) {
                match self.ready_events(first + bit, events) {
                    POLLNVAL => return Err(Errno::EBADF),
                    0 => {}
                    // The end of a pipe can be read.
                    POLLHUP if events != POLLIN => {}
                    _ => found |= 1 << bit,
                }
            }
            mem.write_bytes(at, &found.to_le_bytes())?;
            ready += u64::from(found.count_ones());
        }
        Ok(ready)
    }
}
