//! Sockets and what is under way between them. Everything happens inside the guest: there is no other host.
//!
//! `EAGAIN` means that a call has to wait, or is told so.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::errno::Errno;
use super::address::{Family, Name, destination, is_any, is_local, reaches};
use super::flow::ROOM_BYTES;

/// The most connections that wait to be accepted (Linux `net.core.somaxconn`).
const MOST_PENDING: usize = 4096;
/// All sockets, also those that wait to be accepted.
const MOST_SOCKETS: usize = 1 << 16;
/// Ports that are given where none is asked for (Linux `net.ipv4.ip_local_port_range`).
const FREE_PORTS: std::ops::Range<u16> = 32768..61000;
/// Ports below it are for the superuser.
const FIRST_PORT: u16 = 1024;

/// How a socket transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Style {
    /// Bytes in order.
    Stream,
    /// Messages.
    Datagram,
    /// Messages in order, between two ends.
    Sequenced,
}

/// State of a socket.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    Idle,
    Listening {
        backlog: usize,
        pending: VecDeque<u64>,
    },
    /// Connected to this peer, which may be closed.
    Connected(u64),
}

/// A message that has not been received.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Message {
    pub from: Name,
    pub bytes: Vec<u8>,
    /// Slots of the open files that come with it.
    pub rights: Vec<usize>,
}

/// A piece of a stream with which open files come. Receiving ends behind it, so that they are not taken for those of
/// another piece.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    /// How many bytes of the stream come before it.
    pub begin: u64,
    pub end: u64,
    /// Slots of the open files.
    pub rights: Vec<usize>,
}

/// A socket.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Socket {
    pub family: Family,
    pub style: Style,
    pub local: Name,
    pub remote: Name,
    pub(super) state: State,
    pub(super) bytes: VecDeque<u8>,
    pub(super) messages: VecDeque<Message>,
    /// Pieces of the stream with open files, in order.
    pub(super) pieces: VecDeque<Piece>,
    /// Bytes of the stream that were received.
    pub(super) taken: u64,
    /// Counted size of the stream and the messages, in bytes.
    pub(super) queued: usize,
    /// Nothing comes any more.
    pub(super) reads_end: bool,
    /// Nothing can be sent any more.
    pub(super) writes_end: bool,
    /// The other end is closed.
    pub(super) is_alone: bool,
    /// Error that the next call is told.
    pub error: Option<Errno>,
    /// A connection was made that the program was not told of.
    is_told_later: bool,
    /// Options and their values, by level and number.
    pub options: BTreeMap<(u64, u64), u64>,
    pub shares_address: bool,
    /// How long a call waits to receive, in nanoseconds.
    pub receive_timeout_ns: Option<u64>,
    pub(super) arrivals: u64,
    pub(super) departures: u64,
}

/// All sockets of a guest.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Network {
    pub(super) sockets: BTreeMap<u64, Socket>,
    last: u64,
    last_port: u16,
    /// Counted size of what all sockets keep, in bytes.
    pub(super) queued: usize,
    /// Open files under way.
    pub(super) in_flight: usize,
}

impl Network {
    pub(super) fn create(&mut self, family: Family, style: Style) -> Result<u64, Errno> {
        if self.sockets.len() >= MOST_SOCKETS {
            return Err(Errno::ENFILE);
        }
        self.last += 1;
        let socket = Socket {
            family,
            style,
            local: Name::None,
            remote: Name::None,
            state: State::Idle,
            bytes: VecDeque::new(),
            messages: VecDeque::new(),
            pieces: VecDeque::new(),
            taken: 0,
            queued: 0,
            reads_end: false,
            writes_end: false,
            is_alone: false,
            error: None,
            is_told_later: false,
            options: BTreeMap::new(),
            shares_address: false,
            receive_timeout_ns: None,
            arrivals: 0,
            departures: 0,
        };
        self.sockets.insert(self.last, socket);
        Ok(self.last)
    }

    pub(super) fn get(&mut self, id: u64) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&id).ok_or(Errno::EBADF)
    }

    /// Two ends of one connection.
    pub(super) fn join(&mut self, a: u64, b: u64) -> Result<(), Errno> {
        self.get(a)?.state = State::Connected(b);
        self.get(b)?.state = State::Connected(a);
        Ok(())
    }

    /// The last descriptor of a socket is closed. Gives the slots of open files that were not received.
    pub(super) fn close(&mut self, id: u64) -> Vec<usize> {
        let mut lost = Vec::new();
        self.remove(id, false, &mut lost);
        self.in_flight -= lost.len();
        lost
    }

    /// Removes a socket. `resets`: its other end is told that the connection broke, as it is if something was not
    /// read. `lost` gets the open files that were on the way to it.
    fn remove(&mut self, id: u64, resets: bool, lost: &mut Vec<usize>) {
        let Some(socket) = self.sockets.remove(&id) else {
            return;
        };
        lost.extend(socket.messages.into_iter().flat_map(|m| m.rights));
        lost.extend(socket.pieces.into_iter().flat_map(|p| p.rights));
        self.queued -= socket.queued;
        let resets = resets || socket.queued > 0;
        match socket.state {
            State::Idle => {}
            State::Listening { pending, .. } => {
                pending
                    .into_iter()
                    .for_each(|id| self.remove(id, true, lost));
            }
            State::Connected(other) => {
                if let Some(other) = self.sockets.get_mut(&other)
                    && other.style != Style::Datagram
                {
                    other.is_alone = true;
                    other.reads_end = true;
                    if resets {
                        other.error = Some(Errno::ECONNRESET);
                    }
                    // What is sent over TCP to nobody is found out by sending it.
                    other.writes_end |= resets || other.family == Family::Unix;
                    other.arrivals += 1;
                    other.departures += 1;
                }
            }
        }
    }

    /// Gives a socket a name.
    pub(super) fn bind(&mut self, id: u64, name: Name) -> Result<(), Errno> {
        let socket = self.get(id)?;
        if socket.local != Name::None {
            return Err(Errno::EINVAL);
        }
        let (is_stream, shares) = (socket.style == Style::Stream, socket.shares_address);
        let is_v6_only = socket.is_v6_only();
        let name = match name {
            Name::Port(ip, _) if !is_local(&ip) => return Err(Errno::EADDRNOTAVAIL),
            Name::Port(ip, 0) => Name::Port(ip, self.free_port(is_stream)?),
            Name::Port(_, port) if port < FIRST_PORT => return Err(Errno::EACCES),
            name => name,
        };
        let conflicts = |other: &Socket| match (&other.local, &name) {
            // Connections share the name of their listener.
            _ if other.style != Style::Datagram && matches!(other.state, State::Connected(_)) => {
                false
            }
            (Name::Port(theirs, port), Name::Port(ours, wanted)) => {
                let overlap =
                    reaches(theirs, other.is_v6_only(), ours) || reaches(ours, is_v6_only, theirs);
                let is_listener = matches!(other.state, State::Listening { .. });
                let may_share = shares && other.shares_address && !is_listener;
                port == wanted
                    && overlap
                    && (other.style == Style::Stream) == is_stream
                    && !may_share
            }
            (theirs, ours) => theirs == ours && *ours != Name::None,
        };
        if self.sockets.values().any(conflicts) {
            return Err(Errno::EADDRINUSE);
        }
        self.get(id)?.local = name;
        Ok(())
    }

    fn free_port(&mut self, is_stream: bool) -> Result<u16, Errno> {
        for _ in FREE_PORTS {
            let next = self.last_port.max(FREE_PORTS.start - 1) + 1;
            self.last_port = if FREE_PORTS.contains(&next) {
                next
            } else {
                FREE_PORTS.start
            };
            let port = self.last_port;
            let is_taken = |socket: &Socket| {
                socket.local.port() == Some(port) && (socket.style == Style::Stream) == is_stream
            };
            if !self.sockets.values().any(is_taken) {
                return Ok(port);
            }
        }
        Err(Errno::EADDRINUSE)
    }

    /// Gives a socket of the internet a port, if it has none, to send to `to`.
    pub(super) fn bind_to_any(&mut self, id: u64, to: &Name) -> Result<(), Errno> {
        let socket = self.get(id)?;
        let is_stream = socket.style == Style::Stream;
        match (to, &mut socket.local) {
            (Name::Port(ip, _), Name::None) => {
                let ip = destination(*ip);
                let port = self.free_port(is_stream)?;
                self.get(id)?.local = Name::Port(ip, port);
            }
            // A connection from all addresses comes from the one that it goes to.
            (Name::Port(to, _), Name::Port(ip, _)) if is_stream && is_any(ip) => {
                *ip = destination(*to);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn listen(&mut self, id: u64, backlog: u64) -> Result<(), Errno> {
        let backlog = (backlog as u32 as usize).clamp(1, MOST_PENDING);
        let socket = self.get(id)?;
        match (&mut socket.state, socket.style) {
            (_, Style::Datagram) => return Err(Errno::EOPNOTSUPP),
            (State::Connected(_), _) => return Err(Errno::EINVAL),
            (State::Listening { backlog: old, .. }, _) => {
                *old = backlog;
                return Ok(());
            }
            (State::Idle, _) => {}
        }
        if socket.local == Name::None {
            match socket.family {
                Family::Unix => return Err(Errno::EINVAL),
                Family::Inet => {
                    let any = Ipv4Addr::UNSPECIFIED.to_ipv6_mapped();
                    self.bind(id, Name::Port(any, 0))?;
                }
                Family::Inet6 => self.bind(id, Name::Port(Ipv6Addr::UNSPECIFIED, 0))?,
            }
        }
        self.get(id)?.state = State::Listening {
            backlog,
            pending: VecDeque::new(),
        };
        Ok(())
    }

    /// The socket that gets what is sent to `name`.
    pub(super) fn receiver(
        &self,
        name: &Name,
        style: Style,
        listens: bool,
        from: &Name,
    ) -> Option<u64> {
        let fits = |socket: &Socket| {
            let is_it = match (&socket.local, name) {
                (Name::Port(bound, port), Name::Port(to, wanted)) => {
                    port == wanted && reaches(bound, socket.is_v6_only(), &destination(*to))
                }
                (bound, wanted) => bound == wanted && *wanted != Name::None,
            };
            let is_partner = socket.remote == Name::None || socket.remote == *from;
            is_it
                && socket.style == style
                && listens == matches!(socket.state, State::Listening { .. })
                && (listens || is_partner)
        };
        self.sockets
            .iter()
            .find(|(_, socket)| fits(socket))
            .map(|(id, _)| *id)
    }

    /// Connects to the socket with a name. `waits` says whether the call can be told to wait.
    pub(super) fn connect(&mut self, id: u64, name: Name, waits: bool) -> Result<(), Errno> {
        let socket = self.get(id)?;
        let (family, style) = (socket.family, socket.style);
        if let Name::Port(ip, _) = &name
            && !is_local(ip)
        {
            return Err(Errno::ENETUNREACH);
        }
        if style == Style::Datagram {
            return self.associate(id, name);
        }
        match socket.state {
            State::Connected(_) if std::mem::take(&mut socket.is_told_later) => return Ok(()),
            State::Connected(_) => return Err(Errno::EISCONN),
            State::Listening { .. } => return Err(Errno::EINVAL),
            State::Idle => {}
        }
        if let Some(error) = socket.error.take() {
            return Err(error);
        }
        let refusal = if family == Family::Unix || waits {
            Errno::ECONNREFUSED
        } else {
            // It is told of later.
            socket.error = Some(Errno::ECONNREFUSED);
            Errno::EINPROGRESS
        };
        let Some(listener) = self.receiver(&name, style, true, &Name::None) else {
            return Err(refusal);
        };
        self.get(id)?.error = None;
        let State::Listening { backlog, pending } = &self.get(listener)?.state else {
            return Err(Errno::ECONNREFUSED);
        };
        if pending.len() > *backlog {
            return Err(Errno::EAGAIN);
        }
        self.bind_to_any(id, &name)?;
        let accepted = self.create(family, style)?;
        let server = self.get(listener)?;
        let (their_family, their_name) = (server.family, server.local.clone());
        if let State::Listening { pending, .. } = &mut server.state {
            pending.push_back(accepted);
        }
        server.arrivals += 1;
        let socket = self.get(id)?;
        let own_name = socket.local.clone();
        socket.remote = match &name {
            Name::Port(ip, port) => Name::Port(destination(*ip), *port),
            _ => name.clone(),
        };
        let is_told_later = family != Family::Unix && !waits;
        socket.is_told_later = is_told_later;
        socket.departures += 1;
        let local = match (&their_name, &socket.remote) {
            (Name::Port(..), remote) => remote.clone(),
            _ => their_name,
        };
        let end = self.get(accepted)?;
        end.family = their_family;
        end.local = local;
        end.remote = own_name;
        self.join(id, accepted)?;
        if is_told_later {
            Err(Errno::EINPROGRESS)
        } else {
            Ok(())
        }
    }

    /// Where a datagram socket sends from now on, and whom it hears.
    fn associate(&mut self, id: u64, name: Name) -> Result<(), Errno> {
        let family = self.get(id)?.family;
        if name == Name::None {
            let socket = self.get(id)?;
            socket.remote = Name::None;
            socket.state = State::Idle;
            return Ok(());
        }
        if family == Family::Unix {
            let other = self.receiver(&name, Style::Datagram, false, &Name::None);
            let other = other.ok_or(Errno::ECONNREFUSED)?;
            self.get(id)?.state = State::Connected(other);
        }
        self.bind_to_any(id, &name)?;
        self.get(id)?.remote = match name {
            Name::Port(ip, port) => Name::Port(destination(ip), port),
            name => name,
        };
        Ok(())
    }

    /// The next connection that waits to be accepted.
    pub(super) fn accept(&mut self, id: u64) -> Result<u64, Errno> {
        let socket = self.get(id)?;
        if socket.style == Style::Datagram {
            return Err(Errno::EOPNOTSUPP);
        }
        let State::Listening { pending, .. } = &mut socket.state else {
            return Err(Errno::EINVAL);
        };
        let accepted = pending.pop_front().ok_or(Errno::EAGAIN)?;
        socket.departures += 1;
        Ok(accepted)
    }

    /// `shutdown`.
    pub(super) fn shut(&mut self, id: u64, reads: bool, writes: bool) -> Result<(), Errno> {
        let socket = self.get(id)?;
        let State::Connected(other) = socket.state else {
            let has_partner = socket.style == Style::Datagram && socket.remote != Name::None;
            socket.reads_end |= reads && has_partner;
            socket.writes_end |= writes && has_partner;
            return if has_partner {
                Ok(())
            } else {
                Err(Errno::ENOTCONN)
            };
        };
        socket.reads_end |= reads;
        socket.writes_end |= writes;
        socket.arrivals += 1;
        let is_unix = socket.family == Family::Unix;
        if let Some(other) = self.sockets.get_mut(&other) {
            other.reads_end |= writes;
            other.writes_end |= reads && is_unix;
            other.arrivals += 1;
            other.departures += 1;
        }
        Ok(())
    }
}

impl Socket {
    pub(super) fn room(&self) -> usize {
        ROOM_BYTES.saturating_sub(self.queued)
    }

    pub(super) fn is_listening(&self) -> bool {
        matches!(self.state, State::Listening { .. })
    }

    /// A socket of IPv6 that gets nothing from IPv4 (`IPV6_V6ONLY`).
    pub(super) fn is_v6_only(&self) -> bool {
        /// `IPPROTO_IPV6` and `IPV6_V6ONLY`.
        const V6_ONLY: (u64, u64) = (41, 26);
        self.family == Family::Inet6 && self.options.get(&V6_ONLY).is_some_and(|value| *value != 0)
    }

    pub(super) fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_)) || self.remote != Name::None
    }
}
