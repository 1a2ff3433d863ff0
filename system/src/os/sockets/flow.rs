//! Data that sockets send and receive, and events for which they are ready.

use super::super::errno::Errno;
use super::super::readiness::{HANG_UP_OF_WRITER, POLLERR, POLLHUP, READABLE, WRITABLE};
use super::address::{Family, Name, is_local};
use super::network::{Message, Network, Piece, State, Style};

/// Room for what has not been received, in bytes (Linux `net.core.rmem_default`).
pub(super) const ROOM_BYTES: usize = 212_992;
/// Limit on the data that all sockets together keep for the guest, in bytes.
const MOST_BYTES: usize = 64 << 20;
/// Bytes that are counted for each message beside its own.
const MESSAGE_BYTES: usize = 64;
/// Messages that wait for the receiver of a Unix datagram socket (Linux `net.unix.max_dgram_qlen`).
const MOST_MESSAGES: usize = 10;
/// The most bytes in a packet of IPv4, without its headers.
const MOST_INTERNET_BYTES: usize = 65_507;

impl Network {
    /// Sends bytes of a stream, as many as there is room for, and with them the open files `rights`, which are left
    /// where nothing takes them.
    pub(super) fn send_bytes(
        &mut self,
        id: u64,
        bytes: &[u8],
        rights: &mut Vec<usize>,
    ) -> Result<usize, Errno> {
        let room = MOST_BYTES.saturating_sub(self.queued);
        let socket = self.get(id)?;
        // A broken Unix stream tells why to those who receive.
        let is_shut = socket.family == Family::Unix && socket.writes_end;
        if let Some(error) = socket.error.take_if(|_| !is_shut) {
            return Err(error);
        }
        let State::Connected(other) = socket.state else {
            return Err(if socket.family == Family::Unix {
                Errno::ENOTCONN
            } else {
                Errno::EPIPE
            });
        };
        if socket.writes_end {
            return Err(Errno::EPIPE);
        }
        if socket.is_alone {
            // Nobody takes it, which the next call is told.
            socket.writes_end = true;
            return Ok(bytes.len());
        }
        let other = self.get(other)?;
        let count = bytes.len().min(room).min(other.room());
        if count == 0 && !bytes.is_empty() {
            return Err(Errno::EAGAIN);
        }
        if !other.reads_end {
            let begin = other.taken + other.bytes.len() as u64;
            other.bytes.extend(&bytes[..count]);
            other.queued += count;
            other.arrivals += u64::from(count > 0);
            if count > 0 && !rights.is_empty() {
                let rights = std::mem::take(rights);
                let in_flight = rights.len();
                let end = begin + count as u64;
                other.pieces.push_back(Piece { begin, end, rights });
                self.in_flight += in_flight;
            }
            self.queued += count;
        }
        Ok(count)
    }

    /// Sends a message to `to`, or to where the socket is connected, and with it the open files `rights`, which are left
    /// where nothing takes them.
    pub(super) fn send_message(
        &mut self,
        id: u64,
        to: Option<&Name>,
        bytes: &[u8],
        rights: &mut Vec<usize>,
    ) -> Result<usize, Errno> {
        let counted = bytes.len() + MESSAGE_BYTES;
        let is_full = self.queued + counted > MOST_BYTES;
        let socket = self.get(id)?;
        let (style, family) = (socket.style, socket.family);
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        if bytes.len() > ROOM_BYTES - MESSAGE_BYTES
            || (family != Family::Unix && bytes.len() > MOST_INTERNET_BYTES)
        {
            return Err(Errno::EMSGSIZE);
        }
        if socket.writes_end {
            return Err(Errno::EPIPE);
        }
        let receiver = match (to, &socket.state) {
            (Some(_), _) if style == Style::Sequenced => return Err(Errno::EISCONN),
            (None, State::Connected(other)) => {
                let other = *other;
                Some(other).filter(|other| self.sockets.contains_key(other))
            }
            (to, _) => {
                let to = to.unwrap_or(&socket.remote).clone();
                if to == Name::None {
                    return Err(if family == Family::Unix || style == Style::Sequenced {
                        Errno::ENOTCONN
                    } else {
                        Errno::EDESTADDRREQ
                    });
                }
                if let Name::Port(ip, _) = &to
                    && !is_local(ip)
                {
                    return Err(Errno::ENETUNREACH);
                }
                self.bind_to_any(id, &to)?;
                let from = self.get(id)?.local.clone();
                self.receiver(&to, style, false, &from)
            }
        };
        let Some(receiver) = receiver else {
            return self.sent_to_nobody(id, family, bytes.len());
        };
        let from = self.get(id)?.local.clone();
        let other = self.get(receiver)?;
        if is_full
            || other.room() < counted
            || (family == Family::Unix && other.messages.len() > MOST_MESSAGES)
        {
            // The internet loses what there is no room for.
            return if family == Family::Unix {
                Err(Errno::EAGAIN)
            } else {
                Ok(bytes.len())
            };
        }
        if !other.reads_end {
            let rights = std::mem::take(rights);
            let in_flight = rights.len();
            other.messages.push_back(Message {
                from,
                bytes: bytes.to_vec(),
                rights,
            });
            other.queued += counted;
            other.arrivals += 1;
            self.queued += counted;
            self.in_flight += in_flight;
        }
        Ok(bytes.len())
    }

    /// The internet says later that nobody was there, to those that are connected; Unix says it at once.
    fn sent_to_nobody(&mut self, id: u64, family: Family, len: usize) -> Result<usize, Errno> {
        let socket = self.get(id)?;
        if family == Family::Unix {
            return Err(match socket.style {
                Style::Datagram => Errno::ECONNREFUSED,
                _ => Errno::EPIPE,
            });
        }
        if socket.remote != Name::None {
            socket.error = Some(Errno::ECONNREFUSED);
        }
        Ok(len)
    }

    /// Why there is nothing to be received: `None` at the end of what comes.
    fn nothing(&mut self, id: u64) -> Result<(), Errno> {
        let socket = self.get(id)?;
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        match &socket.state {
            _ if socket.reads_end => Ok(()),
            State::Connected(_) => Err(Errno::EAGAIN),
            _ if socket.style == Style::Datagram => Err(Errno::EAGAIN),
            _ if socket.family == Family::Unix => Err(Errno::EINVAL),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Takes up to `buffer.len()` bytes of a stream, or looks at them; 0 at its end. The bytes end behind the first piece
    /// with open files, whose slots are given. They are those of files that are still under way if it `peeks`.
    pub(super) fn receive_bytes(
        &mut self,
        id: u64,
        buffer: &mut [u8],
        peeks: bool,
    ) -> Result<(usize, Vec<usize>), Errno> {
        let socket = self.get(id)?;
        if socket.bytes.is_empty() {
            return self.nothing(id).map(|()| (0, Vec::new()));
        }
        let mut count = socket.bytes.len().min(buffer.len());
        let taken = socket.taken;
        let first = socket.pieces.front();
        let first = first.filter(|piece| piece.begin < taken + count as u64);
        let mut rights = Vec::new();
        if let Some(piece) = first {
            count = count.min((piece.end - taken) as usize);
            rights.clone_from(&piece.rights);
        }
        if peeks {
            buffer
                .iter_mut()
                .zip(&socket.bytes)
                .take(count)
                .for_each(|(to, from)| *to = *from);
            return Ok((count, rights));
        }
        for (to, from) in buffer.iter_mut().zip(socket.bytes.drain(..count)) {
            *to = from;
        }
        socket.taken += count as u64;
        if !rights.is_empty() {
            socket.pieces.pop_front();
        }
        self.in_flight -= rights.len();
        self.was_taken(id, count)?;
        Ok((count, rights))
    }

    /// Takes a message, or gives a copy of it; `None` at the end of what comes.
    pub(super) fn receive_message(
        &mut self,
        id: u64,
        peeks: bool,
    ) -> Result<Option<Message>, Errno> {
        let socket = self.get(id)?;
        let Some(message) = socket.messages.front() else {
            return self.nothing(id).map(|()| None);
        };
        if peeks {
            return Ok(Some(Message {
                from: message.from.clone(),
                bytes: message.bytes.clone(),
                rights: message.rights.clone(),
            }));
        }
        let message = socket.messages.pop_front();
        let counted = message
            .as_ref()
            .map_or(0, |m| m.bytes.len() + MESSAGE_BYTES);
        self.in_flight -= message.as_ref().map_or(0, |m| m.rights.len());
        self.was_taken(id, counted)?;
        Ok(message)
    }

    fn was_taken(&mut self, id: u64, counted: usize) -> Result<(), Errno> {
        let socket = self.get(id)?;
        socket.queued -= counted;
        let state = &socket.state;
        let other = match state {
            State::Connected(other) => Some(*other),
            _ => None,
        };
        self.queued -= counted;
        if let Some(other) = other.and_then(|other| self.sockets.get_mut(&other)) {
            other.departures += 1;
        }
        Ok(())
    }

    /// Bytes that one call can receive.
    pub(super) fn bytes_to_read(&mut self, id: u64) -> Result<usize, Errno> {
        let socket = self.get(id)?;
        if socket.is_listening() {
            return Err(Errno::EINVAL);
        }
        let first = socket.messages.front().map(|message| message.bytes.len());
        Ok(first.unwrap_or(socket.bytes.len()))
    }

    /// Bytes that the host keeps for all sockets.
    pub(super) fn held_bytes(&self) -> u64 {
        let sockets = self.sockets.len() * std::mem::size_of::<super::network::Socket>();
        (self.queued + sockets) as u64
    }

    /// Events for which a socket is ready.
    pub(super) fn events(&self, id: u64) -> u16 {
        let Some(socket) = self.sockets.get(&id) else {
            return 0;
        };
        let when = |condition, event| if condition { event } else { 0 };
        let room = |other: &u64| match self.sockets.get(other) {
            Some(other) => other.room() > 0,
            None => true,
        };
        let has_some = !socket.bytes.is_empty() || !socket.messages.is_empty();
        let (reads, writes) = match &socket.state {
            State::Listening { pending, .. } => (!pending.is_empty(), false),
            State::Connected(other) => (has_some, socket.writes_end || room(other)),
            State::Idle => (has_some, true),
        };
        let is_new = socket.state == State::Idle && socket.style != Style::Datagram;
        let both_end = socket.reads_end && socket.writes_end;
        when(
            reads || socket.reads_end || socket.error.is_some(),
            READABLE,
        ) | when(writes, WRITABLE)
            | when(socket.reads_end, HANG_UP_OF_WRITER)
            | when(socket.error.is_some(), POLLERR)
            | when(is_new || both_end, POLLHUP)
    }

    /// How often a socket has become ready to be read or to be written.
    pub(super) fn activity(&self, id: u64, reads: bool, writes: bool) -> u64 {
        let socket = self.sockets.get(&id);
        socket.map_or(0, |socket| {
            u64::from(reads) * socket.arrivals + u64::from(writes) * socket.departures
        })
    }
}
