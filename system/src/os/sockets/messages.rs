//! Calls that send and receive.

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::files::{MAX_TRANSFER_BYTES, iovecs};
use super::super::outcome::{Outcome, Unserved};
use super::super::record::Record;
use super::super::signals::Signal;
use super::address::{Name, Wanted};
use super::flow::ROOM_BYTES;
use super::lock;
use super::network::Style;
use super::rights::Control;

/// `MSG_*`.
mod flag {
    pub const OUT_OF_BAND: u64 = 1;
    pub const PEEK: u64 = 2;
    pub const TRUNCATED: u64 = 0x20;
    pub const DONT_WAIT: u64 = 0x40;
    pub const WAIT_ALL: u64 = 0x100;
    pub const ERROR_QUEUE: u64 = 0x2000;
    pub const NO_SIGNAL: u64 = 0x4000;
    pub const CONTROL_TRUNCATED: u64 = 8;
    pub const CLOSED_AT_EXEC: u64 = 0x4000_0000;
}

const NO_DATA: &str = "data from a socket that only it writes";
pub(super) const NO_ROOM: &str = "room in a socket that only it reads";

/// Offsets in a `struct msghdr`, and its size with the length behind it in a `struct mmsghdr`.
mod header {
    pub const NAME_LEN: u64 = 8;
    pub const CONTROL_LEN: u64 = 40;
    pub const FLAGS: u64 = 48;
    pub const BYTES: u64 = 56;
    pub const STRIDE: u64 = 64;
}

/// A `struct msghdr`.
struct Header {
    name: u64,
    name_len: u64,
    vectors: Vec<(u64, u64)>,
    control: Control,
}

impl Header {
    fn read(mem: &Memory, at: u64) -> Result<Header, Errno> {
        let words: [u64; 6] = super::super::record::read_words(mem, at)?;
        let [name, name_len, vectors, count, at, len] = words;
        Ok(Header {
            name,
            name_len: u64::from(name_len as u32),
            vectors: iovecs(mem, vectors, count)?,
            control: Control { at, len },
        })
    }
}

/// Data that a call has received.
pub(super) struct Received {
    pub count: u64,
    /// How long the message was, as far as that is longer.
    whole: u64,
    from: Option<Name>,
    /// Slots of open files that have come with it, which nobody holds.
    pub rights: Vec<usize>,
}

impl Linux {
    /// How long a call on a socket waits to receive (`SO_RCVTIMEO`), in nanoseconds.
    pub(super) fn receive_timeout(&self, id: u64) -> Result<Option<u64>, Errno> {
        Ok(lock(&self.run.network).get(id)?.receive_timeout_ns)
    }

    pub(in crate::os) fn sendto(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, flags, name, name_len] = *a;
        let vectors = [(addr, len.min(MAX_TRANSFER_BYTES))];
        self.send_to(mem, fd, &vectors, flags, (name, name_len), &mut Vec::new())
    }

    pub(in crate::os) fn sendmsg(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let [fd, at, flags, ..] = *a;
        let (id, _) = self.socket_of(fd)?;
        let header = Header::read(mem, at)?;
        let is_begun = self.call.resumed.is_some_and(|resumed| resumed.done > 0);
        let mut rights = match is_begun {
            // They went with the first piece.
            true => Vec::new(),
            false => self.rights_to_send(mem, id, header.control)?,
        };
        let name = (header.name, header.name_len);
        let sent = self.send_to(mem, fd, &header.vectors, flags, name, &mut rights);
        self.files.release(rights);
        sent
    }

    pub(in crate::os) fn sendmmsg(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, at, count, flags, ..] = *a;
        self.each_message(mem, at, count, |os, mem, at, is_first| {
            let flags = if is_first {
                flags
            } else {
                flags | flag::DONT_WAIT
            };
            os.sendmsg(mem, &[fd, at, flags, 0, 0, 0])
        })
    }

    pub(in crate::os) fn recvmmsg(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, at, count, flags, ..] = *a;
        self.each_message(mem, at, count, |os, mem, at, is_first| {
            let flags = if is_first {
                flags
            } else {
                flags | flag::DONT_WAIT
            };
            os.recvmsg(mem, &[fd, at, flags, 0, 0, 0])
        })
    }

    /// Goes through an array of `struct mmsghdr`; an error counts if it is the first message's.
    fn each_message(
        &mut self,
        mem: &mut Memory,
        at: u64,
        count: u64,
        mut transfer: impl FnMut(&mut Linux, &mut Memory, u64, bool) -> Outcome,
    ) -> Outcome {
        const MOST: u64 = 1024;
        for index in 0..u64::from(count as u32).min(MOST) {
            let at = at.wrapping_add(index * header::STRIDE);
            match transfer(self, mem, at, index == 0) {
                Ok(len) => {
                    mem.write_bytes(at.wrapping_add(header::BYTES), &(len as u32).to_le_bytes())?;
                }
                Err(errno) if index == 0 => return Err(errno),
                Err(_) => return Ok(index),
            }
        }
        Ok(u64::from(count as u32).min(MOST))
    }

    /// Sends what lies in `vectors`, to the name at an address if there is one, with open files, which are left in
    /// `rights` if they are not sent.
    fn send_to(
        &mut self,
        mem: &Memory,
        fd: u64,
        vectors: &[(u64, u64)],
        flags: u64,
        (name, name_len): (u64, u64),
        rights: &mut Vec<usize>,
    ) -> Outcome {
        let (id, waits) = self.socket_of(fd)?;
        if flags & flag::OUT_OF_BAND != 0 {
            return Err(Errno::EOPNOTSUPP.into());
        }
        let waits = waits && flags & flag::DONT_WAIT == 0;
        let (family, style, is_connected) = {
            let mut network = lock(&self.run.network);
            let socket = network.get(id)?;
            (socket.family, socket.style, socket.is_connected())
        };
        let to = match name {
            0 => None,
            at if style == Style::Datagram => {
                let wanted = self.read_name(mem, at, name_len, family)?;
                match wanted {
                    Wanted::Nothing => return Err(Errno::EAFNOSUPPORT.into()),
                    wanted => Some(self.name_of(wanted)?),
                }
            }
            // Streams ignore the name, or say that they have a partner already.
            _ if family == super::Family::Unix && is_connected => return Err(Errno::EISCONN.into()),
            _ => None,
        };
        let signals = flags & flag::NO_SIGNAL == 0;
        if style != Style::Stream {
            let total: u64 = vectors.iter().map(|(_, len)| len).sum();
            if total > ROOM_BYTES as u64 {
                return Err(Errno::EMSGSIZE.into());
            }
            let bytes = gather(mem, vectors, 0, total)?;
            self.charge(total, Errno::ENOBUFS)?;
            let sent = lock(&self.run.network).send_message(id, to.as_ref(), &bytes, rights);
            return self.or_wait(sent.map(|n| n as u64), waits, None, NO_ROOM);
        }
        self.send_stream(mem, id, vectors, (waits, signals), rights)
    }

    /// Sends all bytes of a stream; what there is no room for waits.
    fn send_stream(
        &mut self,
        mem: &Memory,
        id: u64,
        vectors: &[(u64, u64)],
        (waits, signals): (bool, bool),
        rights: &mut Vec<usize>,
    ) -> Outcome {
        let total: u64 = vectors.iter().map(|(_, len)| len).sum();
        let mut done = self
            .call
            .resumed
            .map_or(0, |resumed| resumed.done)
            .min(total);
        loop {
            let bytes = gather(mem, vectors, done, (total - done).min(ROOM_BYTES as u64));
            let sent = match bytes {
                Ok(bytes) => self.send_piece(id, &bytes, signals, rights),
                Err(errno) => Err(errno.into()),
            };
            match sent {
                Ok(count) => done += count,
                Err(Unserved::Fails(Errno::EAGAIN)) if waits => {
                    return Err(Unserved::wait_behind(done, NO_ROOM));
                }
                Err(unserved) if done == 0 => return Err(unserved),
                Err(_) => return Ok(done),
            }
            if done == total {
                return Ok(done);
            }
        }
    }

    /// Sends bytes of a stream as far as there is room.
    fn send_piece(
        &mut self,
        id: u64,
        bytes: &[u8],
        signals: bool,
        rights: &mut Vec<usize>,
    ) -> Outcome {
        self.charge(bytes.len() as u64, Errno::ENOBUFS)?;
        match lock(&self.run.network).send_bytes(id, bytes, rights) {
            Err(Errno::EPIPE) if signals => Err(Unserved::Raises(Signal::Pipe, Errno::EPIPE)),
            sent => Ok(sent? as u64),
        }
    }

    /// `write` on a socket, as far as there is room.
    pub(super) fn write_socket(&mut self, fd: u64, bytes: &[u8]) -> Outcome {
        let (id, waits) = self.socket_of(fd)?;
        let style = lock(&self.run.network).get(id)?.style;
        let sent = if style == Style::Stream {
            self.send_piece(id, bytes, true, &mut Vec::new())
        } else {
            self.charge(bytes.len() as u64, Errno::ENOBUFS)?;
            let sent = lock(&self.run.network).send_message(id, None, bytes, &mut Vec::new());
            sent.map(|count| count as u64).map_err(Unserved::from)
        };
        self.or_wait(sent, waits, None, NO_ROOM)
    }

    pub(in crate::os) fn recvfrom(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, addr, len, flags, name, name_len] = *a;
        let vectors = [(addr, len.min(MAX_TRANSFER_BYTES))];
        let mut received = self.receive(mem, fd, &vectors, flags)?;
        self.files.release(std::mem::take(&mut received.rights));
        let (id, _) = self.socket_of(fd)?;
        let family = lock(&self.run.network).get(id)?.family;
        if let Some(from) = &received.from {
            Linux::write_name(mem, name, name_len, from, family)?;
        } else if name != 0 {
            mem.write_bytes(name_len, &[0; 4])?;
        }
        Ok(received.told(flags))
    }

    pub(in crate::os) fn recvmsg(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [fd, at, flags, ..] = *a;
        self.socket_of(fd)?;
        let header = Header::read(mem, at)?;
        let mut received = self.receive(mem, fd, &header.vectors, flags)?;
        let rights = std::mem::take(&mut received.rights);
        let at_exec = flags & flag::CLOSED_AT_EXEC;
        let (used, is_control_cut) = self.hand_out(mem, rights, header.control, at_exec != 0);
        let (id, _) = self.socket_of(fd)?;
        let family = lock(&self.run.network).get(id)?.family;
        let name = match &received.from {
            Some(from) if header.name != 0 => from.encode(family),
            _ => Vec::new(),
        };
        let fits = name.len().min(header.name_len as usize);
        mem.write_bytes(header.name, &name[..fits])?;
        let len_at = at.wrapping_add(header::NAME_LEN);
        mem.write_bytes(len_at, &(name.len() as u32).to_le_bytes())?;
        let control_len = at.wrapping_add(header::CONTROL_LEN);
        mem.write_bytes(control_len, &used.to_le_bytes())?;
        let is_cut = received.whole > received.count;
        let when = |condition, bit| if condition { bit } else { 0 };
        let told =
            at_exec | when(is_cut, flag::TRUNCATED) | when(is_control_cut, flag::CONTROL_TRUNCATED);
        let told = Record::new().u32(told as u32);
        mem.write_bytes(at.wrapping_add(header::FLAGS), &told.done())?;
        Ok(received.told(flags))
    }

    /// Receives into `vectors`.
    pub(super) fn receive(
        &mut self,
        mem: &mut Memory,
        fd: u64,
        vectors: &[(u64, u64)],
        flags: u64,
    ) -> Outcome<Received> {
        let (id, waits) = self.socket_of(fd)?;
        let waits = waits && flags & flag::DONT_WAIT == 0;
        if flags & flag::OUT_OF_BAND != 0 {
            return Err(Errno::EINVAL.into());
        }
        if flags & flag::ERROR_QUEUE != 0 {
            return Err(Errno::EAGAIN.into());
        }
        let peeks = flags & flag::PEEK != 0;
        let timeout = self.receive_timeout(id)?;
        let style = lock(&self.run.network).get(id)?.style;
        let (room, total) = room_of(mem, vectors)?;
        if style != Style::Stream {
            let message = lock(&self.run.network).receive_message(id, peeks);
            let message = self.or_wait(message, waits, timeout, NO_DATA)?;
            let Some(message) = message else {
                return Ok(Received {
                    count: 0,
                    whole: 0,
                    from: None,
                    rights: Vec::new(),
                });
            };
            let whole = message.bytes.len() as u64;
            let count = whole.min(room);
            let rights = self.received_rights(message.rights, peeks);
            if let Err(errno) = scatter(mem, vectors, 0, &message.bytes[..count as usize]) {
                self.files.release(rights);
                return Err(errno.into());
            }
            return Ok(Received {
                count,
                whole,
                from: Some(message.from),
                rights,
            });
        }
        let before = self
            .call
            .resumed
            .map_or(0, |resumed| resumed.done)
            .min(total);
        let mut done = before;
        let mut buffer = vec![0; (room - before.min(room)).min(ROOM_BYTES as u64) as usize];
        let count = match total - before {
            0 => Ok((0, Vec::new())),
            _ => lock(&self.run.network).receive_bytes(id, &mut buffer, peeks),
        };
        let mut rights = Vec::new();
        let count = match count {
            Ok((count, slots)) => {
                rights = self.received_rights(slots, peeks);
                if let Err(errno) = scatter(mem, vectors, before, &buffer[..count]) {
                    self.files.release(rights);
                    return Err(errno.into());
                }
                done += count as u64;
                Ok(count)
            }
            Err(errno) => Err(errno),
        };
        let waits_for_all = waits && flags & flag::WAIT_ALL != 0 && !peeks && rights.is_empty();
        match count {
            // The rest comes later, unless the end has come.
            Ok(1..) | Err(Errno::EAGAIN) if waits_for_all && done < room && done > 0 => {
                return Err(Unserved::wait_behind(done, NO_DATA));
            }
            Ok(_) => {}
            Err(_) if done > 0 => {}
            Err(errno) => {
                self.or_wait(Err::<(), _>(errno), waits, timeout, NO_DATA)?;
            }
        }
        Ok(Received {
            count: done,
            whole: done,
            from: None,
            rights,
        })
    }
}

impl Received {
    /// The result of a call: with `MSG_TRUNC` the length of the whole message.
    fn told(&self, flags: u64) -> u64 {
        if flags & flag::TRUNCATED != 0 {
            self.whole
        } else {
            self.count
        }
    }
}

/// How many bytes there is room for in front of the first one that cannot be written, and how many are wanted.
fn room_of(mem: &Memory, vectors: &[(u64, u64)]) -> Result<(u64, u64), Errno> {
    let total = vectors.iter().map(|(_, len)| len).sum();
    let mut room = 0;
    for &(addr, len) in vectors {
        let allowed = mem.writable_prefix_bytes(addr, len);
        room += allowed;
        if allowed < len {
            break;
        }
    }
    if room == 0 && total > 0 {
        return Err(Errno::EFAULT);
    }
    Ok((room, total))
}

/// The `len` bytes of buffers behind the first `skipped`.
fn gather(mem: &Memory, vectors: &[(u64, u64)], skipped: u64, len: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::with_capacity(len as usize);
    let mut skipped = skipped;
    for &(addr, size) in vectors {
        let skip = skipped.min(size);
        skipped -= skip;
        let wanted = (size - skip).min(len - bytes.len() as u64);
        bytes.extend(mem.readable(addr.wrapping_add(skip), wanted)?);
    }
    Ok(bytes)
}

/// Writes into buffers, behind the first `skipped` bytes.
fn scatter(
    mem: &mut Memory,
    vectors: &[(u64, u64)],
    skipped: u64,
    bytes: &[u8],
) -> Result<(), Errno> {
    let (mut skipped, mut rest) = (skipped, bytes);
    for &(addr, size) in vectors {
        let skip = skipped.min(size);
        skipped -= skip;
        let (now, later) = rest.split_at(rest.len().min((size - skip) as usize));
        mem.write_bytes(addr.wrapping_add(skip), now)?;
        rest = later;
    }
    Ok(())
}
