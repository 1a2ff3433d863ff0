//! Pipes: pages between two ends (Linux `fs/pipe.c`).
//!
//! A pipe holds as many buffers as its capacity has pages. A write fills what is left of the last buffer if the rest of
//! the write behind whole pages fits there, and takes new buffers for all else. A buffer is free again when everything in
//! it has been read. With `O_DIRECT` each write of up to a page is a packet, which one read takes.

use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::account::{NO_DEVICE, Seen};
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::gate::DescriptorKind;
use super::identity::capability;
use super::kinds::{Operations, Span, in_order};
use super::outcome::{Outcome, Returned, Unserved};
use super::readiness::{POLLERR, POLLHUP, READABLE, WRITABLE};
use super::record::Record;
use super::signals::Signal;
use crate::process::Thread;

/// Capacity of a new pipe, in bytes: a writer waits when it is full.
const PIPE_BYTES: usize = 65536;

/// A pipe and its copy.
pub(super) struct PipeCopy {
    of: Arc<Mutex<Pipe>>,
    copy: Arc<Mutex<Pipe>>,
}

/// Up to a page of what was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Buffer {
    bytes: Vec<u8>,
    /// The number of bytes that have been read.
    start: usize,
    is_packet: bool,
}

impl Buffer {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// A pipe inside the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pipe {
    buffers: VecDeque<Buffer>,
    page_bytes: usize,
    /// Buffers that it has at most.
    most: usize,
    /// Buffers that are charged to the guest's memory.
    charged: usize,
    readers: u32,
    writers: u32,
    /// How often it has been opened for reading and for writing.
    pub reader_openings: u64,
    pub writer_openings: u64,
    /// Threads that wait in `open` for a writer count as readers, and the other way round.
    pub waiting_readers: u32,
    pub waiting_writers: u32,
    /// Writes, and the end of the last writer.
    pub arrivals: u64,
    /// Reads that freed a buffer of a full pipe, and the end of the last reader.
    pub departures: u64,
}

impl Pipe {
    pub(super) fn new(page_bytes: u64) -> Pipe {
        let page_bytes = page_bytes as usize;
        Pipe {
            buffers: VecDeque::new(),
            page_bytes,
            most: PIPE_BYTES / page_bytes,
            charged: 0,
            readers: 0,
            writers: 0,
            reader_openings: 0,
            writer_openings: 0,
            waiting_readers: 0,
            waiting_writers: 0,
            arrivals: 0,
            departures: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.buffers.len() >= self.most
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Bytes to be read.
    pub(super) fn len(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.rest().len()).sum()
    }

    pub(super) fn has_reader(&self) -> bool {
        self.readers > 0 || self.waiting_readers > 0
    }

    pub(super) fn has_writer(&self) -> bool {
        self.writers > 0 || self.waiting_writers > 0
    }

    /// Nobody has it open or waits to open it.
    pub(super) fn is_unused(&self) -> bool {
        !self.has_reader() && !self.has_writer()
    }

    /// Bytes of a write of `len` bytes that go into the last buffer.
    fn rest_in_last(&self, len: usize, is_packet: bool) -> usize {
        let rest = len % self.page_bytes;
        let fits = |last: &Buffer| !last.is_packet && last.bytes.len() + rest <= self.page_bytes;
        match self.buffers.back() {
            Some(last) if !is_packet && fits(last) => rest,
            _ => 0,
        }
    }

    /// Buffers that are not charged yet and that a write of `len` bytes takes.
    fn uncharged(&self, len: usize, is_packet: bool) -> usize {
        let pages = (len - self.rest_in_last(len, is_packet)).div_ceil(self.page_bytes);
        let after = (self.buffers.len() + pages).min(self.most);
        after.saturating_sub(self.charged)
    }

    /// Bytes of the host's memory that are charged for it.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.charged * self.page_bytes) as u64
    }

    /// Takes what fits, and returns how many bytes that are.
    pub(super) fn write(&mut self, bytes: &[u8], is_packet: bool) -> usize {
        let mut done = self.rest_in_last(bytes.len(), is_packet);
        if let Some(last) = self.buffers.back_mut()
            && done > 0
        {
            // No more than the page that is charged.
            last.bytes.reserve_exact(self.page_bytes - last.bytes.len());
            last.bytes.extend(&bytes[..done]);
        }
        for piece in bytes[done..].chunks(self.page_bytes) {
            if self.is_full() {
                break;
            }
            done += piece.len();
            self.buffers.push_back(Buffer {
                bytes: piece.to_vec(),
                start: 0,
                is_packet,
            });
        }
        self.arrivals += u64::from(done > 0);
        done
    }

    /// Takes up to `most` bytes out, of one packet if the next bytes are one. What does not fit of a packet is lost.
    pub(super) fn read(&mut self, most: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(first) = self.buffers.front_mut()
        {
            let count = first.rest().len().min(most - taken.len());
            taken.extend(&first.rest()[..count]);
            first.start += count;
            let is_packet = first.is_packet;
            if is_packet || first.rest().is_empty() {
                self.departures += u64::from(self.is_full());
                self.buffers.pop_front();
            }
            if is_packet {
                break;
            }
        }
        if self.is_empty() {
            self.charged = self.charged.min(PIPE_BYTES / self.page_bytes);
        }
        taken
    }

    /// The first `most` bytes, which stay.
    pub(super) fn peek(&self, most: usize) -> Vec<u8> {
        let all = self.buffers.iter().flat_map(Buffer::rest);
        all.copied().take(most).collect()
    }

    /// Bytes that a write of several pages finds room for.
    pub(super) fn room(&self) -> usize {
        (self.most - self.buffers.len().min(self.most)) * self.page_bytes
    }

    fn capacity(&self) -> u64 {
        (self.most * self.page_bytes) as u64
    }
}

/// Reasons of waits.
pub(super) const NO_DATA: &str = "data in a pipe that only it writes";
pub(super) const NO_ROOM: &str = "room in a pipe that only it reads";

/// An end of a pipe, or both of one that was opened by its name; dropping it closes the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PipeEnd {
    #[serde(with = "crate::checkpoint::kept")]
    pipe: Arc<Mutex<Pipe>>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// A reader that was opened without waiting for a writer: how often the pipe had been opened for writing by then.
    /// Without another writer since, nobody has hung up.
    openings_before: Option<u64>,
}

impl PipeEnd {
    pub(super) fn pair(page_bytes: u64) -> (PipeEnd, PipeEnd) {
        let pipe = Arc::new(Mutex::new(Pipe::new(page_bytes)));
        let reader = PipeEnd::open(&pipe, true, false, false);
        (reader, PipeEnd::open(&pipe, false, true, false))
    }

    /// Opens an end. `is_early` says that it is a reader and there is no writer yet.
    pub(super) fn open(
        pipe: &Arc<Mutex<Pipe>>,
        reads: bool,
        writes: bool,
        is_early: bool,
    ) -> PipeEnd {
        let end = PipeEnd {
            pipe: Arc::clone(pipe),
            reads,
            writes,
            openings_before: is_early.then_some(lock(pipe).writer_openings),
        };
        let mut pipe = end.lock();
        pipe.readers += u32::from(reads);
        pipe.reader_openings += u64::from(reads);
        pipe.writers += u32::from(writes);
        pipe.writer_openings += u64::from(writes);
        drop(pipe);
        end
    }

    /// This end of a copy of the pipe. Ends of one pipe become ends of one copy, which `copies` remembers.
    pub(super) fn copy(&self, copies: &RefCell<Vec<PipeCopy>>) -> PipeEnd {
        let mut copies = copies.borrow_mut();
        let known = copies.iter().find(|c| Arc::ptr_eq(&c.of, &self.pipe));
        let pipe = known.map(|c| Arc::clone(&c.copy)).unwrap_or_else(|| {
            let copy = Arc::new(Mutex::new(self.lock().clone()));
            copies.push(PipeCopy {
                of: Arc::clone(&self.pipe),
                copy: Arc::clone(&copy),
            });
            copy
        });
        PipeEnd { pipe, ..*self }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Pipe> {
        lock(&self.pipe)
    }

    /// Tells the pipe from all others, as long as it is open.
    pub(super) fn number(&self) -> u64 {
        Arc::as_ptr(&self.pipe).addr() as u64
    }

    /// Whether both are ends of one pipe.
    pub(super) fn is_of(&self, other: &PipeEnd) -> bool {
        Arc::ptr_eq(&self.pipe, &other.pipe)
    }
}

impl Operations for PipeEnd {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::Pipe
    }

    fn is_fifo(&self) -> bool {
        true
    }

    fn bytes_to_read(&self) -> Result<u32, Errno> {
        Ok(self.lock().len() as u32)
    }

    fn events(&self) -> u16 {
        let pipe = self.lock();
        let mut events = 0;
        if self.reads {
            let had_writer = self.openings_before != Some(pipe.writer_openings);
            let has_hung_up = had_writer && !pipe.has_writer();
            events |= if pipe.is_empty() { 0 } else { READABLE };
            events |= if has_hung_up { POLLHUP } else { 0 };
        }
        if self.writes {
            events |= if pipe.is_full() { 0 } else { WRITABLE };
            events |= if pipe.has_reader() { 0 } else { POLLERR };
        }
        events
    }

    fn activity(&self, events: u32) -> Option<u64> {
        let pipe = self.lock();
        let wants = |ready: u16| events & u32::from(ready) != 0;
        Some(match (self.reads, self.writes) {
            (true, false) => pipe.arrivals,
            (false, _) => pipe.departures,
            (true, true) => {
                let arrivals = if wants(READABLE) { pipe.arrivals } else { 0 };
                let departures = if wants(WRITABLE) { pipe.departures } else { 0 };
                arrivals + departures
            }
        })
    }

    fn waits_for_room(&self) -> Option<&'static str> {
        Some(NO_ROOM)
    }

    fn held_bytes(&self, _has_place: bool, seen: &mut Seen<'_>) -> u64 {
        match seen.is_new((NO_DEVICE, self.number())) {
            true => self.lock().held_bytes(),
            false => 0,
        }
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        let room = span.room_in_order(mem)?;
        let mut pipe = os.pipe_end(span.fd)?.lock();
        if pipe.is_empty() && pipe.has_writer() && span.len > 0 {
            return Err(Unserved::on_file(span.nonblock, NO_DATA));
        }
        let taken = pipe.read(room as usize);
        mem.write_bytes(span.addr, &taken)?;
        Ok(taken.len() as u64)
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        os.charge_pipe(fd, bytes)?;
        in_order(offset)?;
        let flags = os.files.get(fd)?.flags;
        let mut pipe = os.pipe_end(fd)?.lock();
        if !pipe.has_reader() {
            return Err(Unserved::Raises(Signal::Pipe, Errno::EPIPE));
        }
        match pipe.write(bytes, flags.direct) {
            0 if !bytes.is_empty() => Err(Unserved::on_file(flags.nonblock, NO_ROOM)),
            written => Ok(written as u64),
        }
    }
}

impl Drop for PipeEnd {
    fn drop(&mut self) {
        let (reads, writes) = (self.reads, self.writes);
        let mut pipe = self.lock();
        if writes {
            pipe.writers -= 1;
            pipe.arrivals += u64::from(pipe.writers == 0);
        }
        if reads {
            pipe.readers -= 1;
            pipe.departures += u64::from(pipe.readers == 0);
        }
    }
}

pub(super) fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Linux {
    pub(super) fn pipe2(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        if a[1] as u32 as u64 & !(rules.cloexec | rules.nonblock | rules.direct) != 0 {
            return Err(Errno::EINVAL);
        }
        let (read_fd, write_fd) = self.open_pipe(a[1])?;
        let pair = Record::new()
            .u32(read_fd as u32)
            .u32(write_fd as u32)
            .done();
        if mem.write_bytes(a[0], &pair).is_err() {
            self.files.close(read_fd)?;
            self.files.close(write_fd)?;
            return Err(Errno::EFAULT);
        }
        Ok(0)
    }

    /// A pipe whose descriptors are both results of the call.
    pub(super) fn pipe_pair(&mut self) -> Result<Returned, Errno> {
        let (read_fd, write_fd) = self.open_pipe(0)?;
        Ok(Returned::both(read_fd, write_fd))
    }

    /// The reader and the writer of a new pipe.
    fn open_pipe(&mut self, flags: u64) -> Result<(u64, u64), Errno> {
        let asked = self.abi.open_rules().decode(flags);
        let (reader, writer) = PipeEnd::pair(self.abi.page_bytes());
        let limit = self.limits.descriptors();
        let number = self.files.fresh_number();
        let mut open = |end: PipeEnd| {
            let flags = OpenFlags {
                read: end.reads,
                write: end.writes,
                cloexec: asked.cloexec,
                nonblock: asked.nonblock,
                direct: asked.direct,
                ..OpenFlags::default()
            };
            let file = OpenFile {
                kind: Kind::Pipe(end),
                flags,
                path: None,
                number: Some(number),
            };
            self.files.insert(file, limit)
        };
        let read_fd = open(reader)?;
        match open(writer) {
            Ok(write_fd) => Ok((read_fd, write_fd)),
            Err(errno) => {
                self.files.close(read_fd)?;
                Err(errno)
            }
        }
    }

    pub(super) fn pipe_end(&self, fd: u64) -> Result<&PipeEnd, Errno> {
        match &self.files.get(fd)?.kind {
            Kind::Pipe(end) => Ok(end),
            _ => Err(Errno::EBADF),
        }
    }

    /// Charges the pages that a pipe is about to take for `bytes`.
    fn charge_pipe(&mut self, fd: u64, bytes: &[u8]) -> Result<(), Errno> {
        let direct = self.files.get(fd)?.flags.direct;
        let (pages, page_bytes) = {
            let pipe = self.pipe_end(fd)?.lock();
            let pages = pipe.uncharged(bytes.len(), direct);
            (pages, pipe.page_bytes)
        };
        if pages > 0 {
            self.charge((pages * page_bytes) as u64, Errno::ENOMEM)?;
            self.pipe_end(fd)?.lock().charged += pages;
        }
        Ok(())
    }

    /// `F_GETPIPE_SZ`.
    pub(super) fn pipe_size(&self, fd: u64) -> Result<u64, Errno> {
        Ok(self.pipe_end(fd)?.lock().capacity())
    }

    /// `F_SETPIPE_SZ`: whole pages, and a power of two of them.
    pub(super) fn set_pipe_size(&self, fd: u64, size: u64) -> Result<u64, Errno> {
        /// `/proc/sys/fs/pipe-max-size`.
        const MOST_BYTES: u64 = 1 << 20;
        /// The most that a process with privileges may have, so that a guest cannot fill the memory of the host.
        const MOST_BYTES_OF_ALL: u64 = 1 << 26;
        let mut pipe = self.pipe_end(fd)?.lock();
        let size = u64::from(size as u32);
        if size > 1 << 31 {
            return Err(Errno::EINVAL);
        }
        let size = size.max(self.abi.page_bytes()).next_power_of_two();
        let is_larger = size > MOST_BYTES && size > pipe.capacity();
        if is_larger && (size > MOST_BYTES_OF_ALL || !self.may(capability::SYS_RESOURCE)) {
            return Err(Errno::EPERM);
        }
        let most = size as usize / pipe.page_bytes;
        if pipe.buffers.len() > most {
            return Err(Errno::EBUSY);
        }
        pipe.most = most;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_no_room_until_all_of_it_is_read() {
        let mut pipe = Pipe::new(4096);
        pipe.most = 1;
        assert_eq!(pipe.write(&[1; 5000], false), 4096);
        assert!(pipe.is_full());
        assert_eq!(pipe.read(2048).len(), 2048);
        assert!(pipe.is_full());
        assert_eq!((pipe.write(&[2], false), pipe.departures), (0, 0));
        assert_eq!(pipe.read(4096).len(), 2048);
        assert_eq!((pipe.is_full(), pipe.departures), (false, 1));
    }

    #[test]
    fn short_writes_share_a_page_and_packets_do_not() {
        let mut pipe = Pipe::new(4096);
        pipe.most = 2;
        assert_eq!(pipe.write(&[1; 4000], false), 4000);
        assert_eq!(pipe.write(&[2; 96], false), 96);
        // 97 bytes do not fit behind 4096.
        assert_eq!(pipe.write(&[3; 97], false), 97);
        assert_eq!((pipe.is_full(), pipe.len()), (true, 4193));
        assert_eq!(pipe.read(5000).len(), 4193);
        assert_eq!(pipe.write(&[4; 3], true), 3);
        assert_eq!(pipe.write(&[5; 3], true), 3);
        assert_eq!(pipe.read(2), [4, 4]);
        assert_eq!(pipe.read(9), [5, 5, 5]);
    }
}
