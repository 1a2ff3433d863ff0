//! Calls that wait until descriptors are ready: `poll`, `ppoll`, `select`, `pselect6`.
//!
//! A call whose descriptors are not ready waits for what other threads, timers and signals do, and looks again.

use bitvec::BitArr;
use bitvec::array::BitArray;
use bitvec::field::BitField;
use bitvec::order::Lsb0;
use bitvec::view::BitView;
use hps_isa::memory::Memory;

use super::Linux;
use super::descriptors::Kind;
use super::errno::Errno;
use super::outcome::{Outcome, Unserved};
use super::record::read_words;
use super::threads::WaitFor;
use super::time::TimeFormat;
use crate::process::Thread;

/// `POLLIN` and `POLLRDNORM`.
pub(super) const READABLE: u16 = 0x041;
/// `POLLOUT` and `POLLWRNORM`.
pub(super) const WRITABLE: u16 = 0x104;
pub(super) const POLLERR: u16 = 8;
pub(super) const POLLHUP: u16 = 16;
/// `POLLRDHUP`
pub(super) const HANG_UP_OF_WRITER: u16 = 0x2000;
pub(super) const POLLNVAL: u16 = 32;
/// Size of the kernel's `sigset_t`.
const SIGSET_BYTES: u64 = 8;
const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// How long a call waits for an event that only another action can cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// For ever.
    Endless,
    /// Until this simulated time, in nanoseconds.
    Until(u64),
}

impl Linux {
    /// Which of the events `wanted` a descriptor is ready for; errors and hang-ups are always told. Everything
    /// is ready at once, except pipes, sockets, timers and counters.
    fn ready_events(&self, fd: u64, wanted: u16) -> u16 {
        match self.files.get(fd) {
            Ok(file) => self.file_events(&file.kind) & (wanted | POLLERR | POLLHUP | POLLNVAL),
            Err(_) => POLLNVAL,
        }
    }

    fn file_events(&self, kind: &Kind) -> u16 {
        match kind {
            Kind::Epoll(epoll) if self.files.has_ready(epoll) => READABLE,
            other => other.events(),
        }
    }

    /// `poll`, which takes milliseconds; a negative number of them is for ever.
    pub(super) fn poll(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fds, count, milliseconds, ..] = *a;
        let wait = self.wait_milliseconds(milliseconds);
        match self.poll_descriptors(mem, fds, count)? {
            0 => self.wait(wait, "an event (poll) that nobody can cause"),
            ready => Ok(ready),
        }
    }

    /// `ppoll`: the rest of the time-out is written back.
    pub(super) fn ppoll(&mut self, thread: &mut Thread, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fds, count, timeout, mask, mask_bytes, _] = *a;
        let wait = self.read_wait(mem, timeout, TimeFormat::Nanoseconds)?;
        let mask = self.read_mask(mem, mask, mask_bytes)?;
        let result = match self.poll_descriptors(mem, fds, count)? {
            0 => self.wait_masked(thread, wait, mask, "an event (ppoll) that nobody can cause"),
            ready => Ok(ready),
        };
        self.write_rest(mem, timeout, wait, TimeFormat::Nanoseconds);
        result
    }

    /// Tells of each descriptor of an array of `struct pollfd` what it is ready for, and returns how many are
    /// ready for something.
    fn poll_descriptors(&self, mem: &mut Memory, fds: u64, count: u64) -> Result<u64, Errno> {
        let count = u64::from(count as u32);
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
        Ok(ready)
    }

    /// `select`, whose time-out has a `format`. The rest of it is written back, except by OSF/1.
    pub(super) fn select(&mut self, mem: &mut Memory, a: &[u64; 6], format: TimeFormat) -> Outcome {
        let timeout = a[4];
        let wait = self.read_wait(mem, timeout, format)?;
        let result = match self.select_descriptors(mem, a)? {
            0 => self.wait(wait, "an event (select) that nobody can cause"),
            ready => Ok(ready),
        };
        self.write_rest(mem, timeout, wait, format);
        result
    }

    /// `pselect6`: the last argument is the address of a mask's address and size.
    pub(super) fn pselect6(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Outcome {
        let [.., timeout, signals] = *a;
        let [mask, mask_bytes] = match signals {
            0 => [0; 2],
            at => read_words(mem, at)?,
        };
        let wait = self.read_wait(mem, timeout, TimeFormat::Nanoseconds)?;
        let mask = self.read_mask(mem, mask, mask_bytes)?;
        let result = match self.select_descriptors(mem, a)? {
            0 => self.wait_masked(
                thread,
                wait,
                mask,
                "an event (pselect6) that nobody can cause",
            ),
            ready => Ok(ready),
        };
        self.write_rest(mem, timeout, wait, TimeFormat::Nanoseconds);
        result
    }

    /// Leaves the descriptors that are ready in the sets to read, to write and with exceptions (of which there
    /// are none), and returns how many they are. A descriptor that is not open leaves the sets as they are.
    fn select_descriptors(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [count, readers, writers, exceptions, ..] = *a;
        if count > self.limits.descriptors() {
            return Err(Errno::EINVAL);
        }
        // What each set wants to know. An error makes a descriptor readable and writable.
        let sets = [
            (readers, READABLE | POLLHUP | POLLERR),
            (writers, WRITABLE | POLLERR),
            (exceptions, 0),
        ];
        let mut found = Vec::new();
        for (set, events) in sets.into_iter().filter(|(set, _)| *set != 0) {
            for first in (0..count).step_by(64) {
                let at = set.wrapping_add(first / 8);
                let bits = self.select_word(mem.read::<8>(at)?, first, count, events)?;
                found.push((at, bits));
            }
        }
        let mut ready = 0;
        for (at, bits) in found {
            mem.write_bytes(at, &bits.to_le_bytes())?;
            ready += u64::from(bits.count_ones());
        }
        Ok(ready)
    }

    /// The descriptors of `wanted`, whose lowest bit stands for `first`, that are ready for one of `events`.
    fn select_word(&self, wanted: u64, first: u64, count: u64, events: u16) -> Result<u64, Errno> {
        // Halves: on hosts with 32 bits no set is made of larger words.
        let halves = [wanted as u32, (wanted >> 32) as u32];
        let mut found: BitArr!(for 64, in u32) = BitArray::ZERO;
        let asked = 64.min(count - first) as usize;
        for bit in halves.view_bits::<Lsb0>()[..asked].iter_ones() {
            match self.ready_events(first + bit as u64, events) {
                POLLNVAL => return Err(Errno::EBADF),
                ready => found.set(bit, ready & events != 0),
            }
        }
        Ok(found.load_le())
    }

    /// The end of a time-out of `nanos` that begins now.
    pub(super) fn wait_for(&self, nanos: u64) -> Wait {
        Wait::Until(self.wait_end_ns(nanos))
    }

    /// A time-out of `poll` and `epoll_wait`, in milliseconds; a negative one is for ever.
    pub(super) fn wait_milliseconds(&self, milliseconds: u64) -> Wait {
        match u64::try_from(milliseconds as i32) {
            Ok(waits) => self.wait_for(waits * NANOS_PER_MILLISECOND),
            Err(_) => Wait::Endless,
        }
    }

    /// Reads a time-out; a null address is for ever.
    pub(super) fn read_wait(
        &self,
        mem: &Memory,
        timeout: u64,
        format: TimeFormat,
    ) -> Result<Wait, Errno> {
        match timeout {
            0 => Ok(Wait::Endless),
            at => Ok(self.wait_for(format.read(mem, at)?)),
        }
    }

    /// Writes back what is left of a time-out. As in Linux, a place that cannot be written is no error.
    fn write_rest(&self, mem: &mut Memory, timeout: u64, wait: Wait, format: TimeFormat) {
        let Wait::Until(end) = wait else { return };
        if let Some(rest) = format.rest(end.saturating_sub(self.time.now_ns)) {
            let _ = mem.write_bytes(timeout, &rest);
        }
    }

    /// Reads the mask of signals that holds during a wait; a null address is none.
    pub(super) fn read_mask(
        &self,
        mem: &Memory,
        mask: u64,
        bytes: u64,
    ) -> Result<Option<u64>, Errno> {
        if mask == 0 {
            return Ok(None);
        }
        if bytes != SIGSET_BYTES {
            return Err(Errno::EINVAL);
        }
        Ok(Some(
            mem.read::<8>(mask)? & !self.abi.signal_rules().unstoppable(),
        ))
    }

    /// Waits, with the signals of `mask` blocked, for events none of which has come: until a pending signal
    /// that `mask` lets through, or the end of the time-out.
    pub(super) fn wait_masked(
        &mut self,
        thread: &mut Thread,
        wait: Wait,
        mask: Option<u64>,
        waits_for: &'static str,
    ) -> Outcome {
        if let Some(mask) = mask {
            thread.signals.suspend(mask);
        }
        self.wait(wait, waits_for)
    }

    /// Waits for events none of which has come, until the end of the time-out.
    fn wait(&mut self, wait: Wait, waits_for: &'static str) -> Outcome {
        match wait {
            Wait::Until(end) if end <= self.time.now_ns => Ok(0),
            Wait::Until(end) => Err(Unserved::wait(WaitFor::File(waits_for), Some(end))),
            Wait::Endless => Err(Unserved::wait(WaitFor::File(waits_for), None)),
        }
    }
}
