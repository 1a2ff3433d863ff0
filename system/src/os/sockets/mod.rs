//! Sockets over the loopback and between the ends of a pair: Unix streams, datagrams and sequenced packets, TCP and
//! UDP over IPv4 and IPv6. Nothing leaves the guest.
//!
//! A socket that is bound to a path makes a file there, as on Linux, and so needs a root that can be written. Whoever
//! connects to the path finds the socket by the number of that file. Descriptors can be sent over Unix sockets
//! (`SCM_RIGHTS`), credentials cannot. A socket that is sent over itself and closed stays open: Linux would find that
//! nobody can receive it.

mod address;
mod flow;
mod messages;
mod network;
mod options;
mod rights;

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::host::sys::rustix::fs::{FileType, mknodat};

use self::address::{Family, Name, Wanted, decode};
use self::messages::NO_ROOM;
pub(super) use self::network::Network;
use self::network::Style;
pub use self::options::{SocketOption, SocketRules};
use hps_isa::memory::Memory;

use super::Linux;
use super::abi::{FileStat, OpenFlags};
use super::attributes::new_mode;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use super::gate::DescriptorKind;
use super::kinds::{Operations, Span, Whereabouts, in_order};
use super::outcome::{Outcome, Unserved};
use super::paths::{Last, Node, identity};
use super::readiness::{READABLE, WRITABLE};
use super::record::Record;
use super::stat::{S_IFSOCK, special_stat};
use super::threads::WaitFor;
use super::tree::AT_FDCWD;
use crate::process::Thread;

/// The longest `struct sockaddr` that a call takes, in bytes.
const MOST_NAME_BYTES: u64 = 128;
/// Which style a socket has, as opposed to flags of its descriptor.
const STYLE_BITS: u64 = 0xf;

/// An open socket. Dropping it closes the socket.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SocketEnd {
    #[serde(with = "crate::checkpoint::kept")]
    network: Arc<Mutex<Network>>,
    id: u64,
}

impl SocketEnd {
    fn lock(&self) -> MutexGuard<'_, Network> {
        lock(&self.network)
    }

    /// Closes the socket. Gives the slots of open files that were not received.
    pub(super) fn close(self) -> Vec<usize> {
        self.lock().close(self.id)
    }
}

impl Operations for SocketEnd {
    fn role(&self, _has_place: bool) -> DescriptorKind {
        DescriptorKind::Pipe
    }

    fn link(&self, number: u64) -> String {
        format!("socket:[{number}]")
    }

    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        Ok(special_stat(S_IFSOCK | 0o777, at.number))
    }

    fn bytes_to_read(&self) -> Result<u32, Errno> {
        Ok(self.lock().bytes_to_read(self.id)? as u32)
    }

    fn events(&self) -> u16 {
        self.lock().events(self.id)
    }

    fn activity(&self, events: u32) -> Option<u64> {
        let wants = |ready: u16| events & u32::from(ready) != 0;
        Some(
            self.lock()
                .activity(self.id, wants(READABLE), wants(WRITABLE)),
        )
    }

    /// A stream waits and goes on, if not everything was transferred.
    fn waits_for_room(&self) -> Option<&'static str> {
        let mut network = self.lock();
        let socket = network.get(self.id);
        let is_stream = socket.is_ok_and(|socket| socket.style == Style::Stream);
        is_stream.then_some(NO_ROOM)
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        let room = span.room_in_order(mem)?;
        let received = os.receive(mem, span.fd, &[(span.addr, room)], 0)?;
        os.files.release(received.rights);
        Ok(received.count)
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], offset: Option<u64>) -> Outcome {
        in_order(offset)?;
        os.write_socket(fd, bytes)
    }
}

impl Drop for SocketEnd {
    fn drop(&mut self) {
        self.lock().close(self.id);
    }
}

fn lock(network: &Mutex<Network>) -> MutexGuard<'_, Network> {
    network.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Linux {
    pub(in crate::os) fn socket(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let (family, style, flags) = self.socket_kind(a)?;
        let id = lock(&self.run.network).create(family, style)?;
        self.open_socket(id, flags)
    }

    pub(in crate::os) fn socketpair(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let (family, style, flags) = self.socket_kind(a)?;
        if family != Family::Unix {
            return Err(Errno::EOPNOTSUPP);
        }
        let mut ids = [0; 2];
        for id in &mut ids {
            *id = lock(&self.run.network).create(family, style)?;
        }
        lock(&self.run.network).join(ids[0], ids[1])?;
        let first = self.open_socket(ids[0], flags);
        let second = self.open_socket(ids[1], flags);
        let pair = match (first, second) {
            (Ok(first), Ok(second)) => [first, second],
            (Ok(fd), Err(errno)) | (Err(errno), Ok(fd)) => {
                self.files.close(fd)?;
                return Err(errno);
            }
            (Err(errno), Err(_)) => return Err(errno),
        };
        let record = Record::new().u32(pair[0] as u32).u32(pair[1] as u32);
        if let Err(fault) = mem.write_bytes(a[3], &record.done()) {
            for fd in pair {
                self.files.close(fd)?;
            }
            return Err(fault.into());
        }
        Ok(0)
    }

    /// The family, the style and the flags that a socket is to have.
    fn socket_kind(&self, a: &[u64; 6]) -> Result<(Family, Style, OpenFlags), Errno> {
        const STREAM: u64 = 1;
        const DATAGRAM: u64 = 2;
        const SEQUENCED: u64 = 5;
        const TCP: u64 = 6;
        const UDP: u64 = 17;
        let [family, kind, protocol] =
            [a[0], a[1], a[2]].map(|argument| u64::from(argument as u32));
        let flags = self.socket_flags(kind & !STYLE_BITS)?;
        let family = Family::of(family).ok_or(Errno::EAFNOSUPPORT)?;
        let (style, own_protocol) = match (kind & STYLE_BITS, family) {
            (STREAM, _) => (Style::Stream, TCP),
            (DATAGRAM, _) => (Style::Datagram, UDP),
            (SEQUENCED, Family::Unix) => (Style::Sequenced, 0),
            _ => return Err(Errno::ESOCKTNOSUPPORT),
        };
        let own_protocol = match family {
            Family::Unix => u64::from(family.number()),
            _ => own_protocol,
        };
        if protocol != 0 && protocol != own_protocol {
            return Err(Errno::EPROTONOSUPPORT);
        }
        Ok((family, style, flags))
    }

    /// The flags of a socket's descriptor.
    fn socket_flags(&self, flags: u64) -> Result<OpenFlags, Errno> {
        let cloexec = self.abi.open_rules().cloexec;
        let nonblock = self.abi.socket_rules().nonblock;
        if flags & !(cloexec | nonblock) != 0 {
            return Err(Errno::EINVAL);
        }
        Ok(OpenFlags {
            read: true,
            write: true,
            cloexec: flags & cloexec != 0,
            nonblock: flags & nonblock != 0,
            ..OpenFlags::default()
        })
    }

    /// Bytes that the host keeps for sockets.
    pub(super) fn sockets_bytes(&self) -> u64 {
        lock(&self.run.network).held_bytes()
    }

    fn open_socket(&mut self, id: u64, flags: OpenFlags) -> Result<u64, Errno> {
        let end = SocketEnd {
            network: Arc::clone(&self.run.network),
            id,
        };
        let number = Some(self.files.fresh_number());
        let file = OpenFile {
            kind: Kind::Socket(end),
            flags,
            path: None,
            number,
        };
        self.files.insert(file, self.limits.descriptors())
    }

    /// The socket of a descriptor, and whether its calls wait.
    fn socket_of(&self, fd: u64) -> Result<(u64, bool), Errno> {
        let file = self.opened(fd)?;
        match &file.kind {
            Kind::Socket(end) => Ok((end.id, !file.flags.nonblock)),
            _ => Err(Errno::ENOTSOCK),
        }
    }

    /// Lets a call that would have to wait do so, until `timeout_ns` have passed, if it `waits` at all.
    fn or_wait<T>(
        &self,
        result: Result<T, impl Into<Unserved>>,
        waits: bool,
        timeout_ns: Option<u64>,
        what: &'static str,
    ) -> Outcome<T> {
        let end = timeout_ns.map(|timeout| self.wait_end_ns(timeout));
        match result.map_err(Into::into) {
            Err(Unserved::Fails(Errno::EAGAIN))
                if waits && end.is_none_or(|end| end > self.time.now_ns) =>
            {
                Err(Unserved::wait(WaitFor::File(what), end))
            }
            result => result,
        }
    }

    /// Reads a `struct sockaddr` of `len` bytes.
    fn read_name(&self, mem: &Memory, at: u64, len: u64, family: Family) -> Result<Wanted, Errno> {
        let len = u64::from(len as u32);
        if len > MOST_NAME_BYTES {
            return Err(Errno::EINVAL);
        }
        decode(mem.readable(at, len)?, family)
    }

    /// The name that stands for what a program wants.
    fn name_of(&self, wanted: Wanted) -> Result<Name, Errno> {
        match wanted {
            Wanted::Nothing => Ok(Name::None),
            Wanted::Name(name) => Ok(name),
            Wanted::Path(path) => {
                let (dirfd, at) = self.on_host(AT_FDCWD as u64, &path, true)?;
                let place = self.resolve(dirfd, &at, true)?;
                let identity = identity(&place.existing()?.stat);
                Ok(Name::File { identity, path })
            }
        }
    }

    /// Writes a name where a call wants it: as much as there is room for, and its whole length.
    fn write_name(
        mem: &mut Memory,
        at: u64,
        len_at: u64,
        name: &Name,
        family: Family,
    ) -> Result<(), Errno> {
        if at == 0 {
            return Ok(());
        }
        let room = mem.read::<4>(len_at)? as i32;
        let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
        let bytes = name.encode(family);
        mem.write_bytes(at, &bytes[..bytes.len().min(room)])?;
        mem.write_bytes(len_at, &(bytes.len() as u32).to_le_bytes())?;
        Ok(())
    }

    pub(in crate::os) fn bind(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let done = self.try_bind(mem, a);
        if let Err(Errno::EROFS | Errno::ENOENT) = done
            && let Ok(Wanted::Path(path)) = self.read_name(mem, a[1], a[2], Family::Unix)
        {
            return self.noted(&path, done);
        }
        done
    }

    fn try_bind(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let (id, _) = self.socket_of(a[0])?;
        let family = lock(&self.run.network).get(id)?.family;
        let name = match self.read_name(mem, a[1], a[2], family)? {
            Wanted::Nothing => return Err(Errno::EAFNOSUPPORT),
            // Linux makes up a name of five digits.
            Wanted::Name(Name::None) => {
                let number = self.files.fresh_number();
                Name::Abstract(format!("{:05x}", number & 0xf_ffff).into_bytes())
            }
            Wanted::Name(name) => name,
            Wanted::Path(path) => {
                if lock(&self.run.network).get(id)?.local != Name::None {
                    return Err(Errno::EINVAL);
                }
                self.make_socket_file(path)?
            }
        };
        lock(&self.run.network).bind(id, name)?;
        Ok(0)
    }

    /// Makes the file of a socket.
    fn make_socket_file(&self, path: Vec<u8>) -> Result<Name, Errno> {
        let entrance = self.entrance(AT_FDCWD as u64, &path)?;
        let Last::Name(name) = &entrance.last else {
            return Err(Errno::EADDRINUSE);
        };
        if Node::named(&entrance.folder, name).is_ok() {
            return Err(Errno::EADDRINUSE);
        }
        self.writable_root()?;
        let mode = new_mode(0o777, self.tree.umask);
        mknodat(&entrance.folder, name, FileType::Socket, mode, 0).map_err(|errno| {
            match Errno::from(errno) {
                Errno::EEXIST => Errno::EADDRINUSE,
                errno => errno,
            }
        })?;
        let identity = identity(&Node::named(&entrance.folder, name)?.stat);
        Ok(Name::File { identity, path })
    }

    pub(in crate::os) fn listen(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let (id, _) = self.socket_of(a[0])?;
        lock(&self.run.network).listen(id, a[1]).map(|()| 0)
    }

    pub(in crate::os) fn connect(&mut self, mem: &Memory, a: &[u64; 6]) -> Outcome {
        let (id, waits) = self.socket_of(a[0])?;
        let (family, style) = {
            let mut network = lock(&self.run.network);
            let socket = network.get(id)?;
            (socket.family, socket.style)
        };
        let name = match self.read_name(mem, a[1], a[2], family)? {
            Wanted::Nothing if style != Style::Datagram => return Err(Errno::EINVAL.into()),
            wanted => self.name_of(wanted)?,
        };
        let done = lock(&self.run.network).connect(id, name, waits);
        self.or_wait(
            done,
            waits,
            None,
            "room among connections that only it accepts",
        )
        .map(|()| 0)
    }

    /// `accept4`, and `accept` without flags.
    pub(in crate::os) fn accept(&mut self, mem: &mut Memory, a: &[u64; 6], flags: u64) -> Outcome {
        let flags = self.socket_flags(u64::from(flags as u32))?;
        let (id, waits) = self.socket_of(a[0])?;
        let timeout = self.receive_timeout(id)?;
        let accepted = lock(&self.run.network).accept(id);
        let accepted = self.or_wait(
            accepted,
            waits,
            timeout,
            "a connection that only it can make",
        )?;
        let (family, remote) = {
            let mut network = lock(&self.run.network);
            let socket = network.get(accepted)?;
            (socket.family, socket.remote.clone())
        };
        let fd = self.open_socket(accepted, flags)?;
        if let Err(errno) = Linux::write_name(mem, a[1], a[2], &remote, family) {
            self.files.close(fd)?;
            return Err(errno.into());
        }
        Ok(fd)
    }

    pub(in crate::os) fn getsockname(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let (id, _) = self.socket_of(a[0])?;
        let mut network = lock(&self.run.network);
        let socket = network.get(id)?;
        mem.writable(a[1], 1)?;
        Linux::write_name(mem, a[1], a[2], &socket.local, socket.family).map(|()| 0)
    }

    pub(in crate::os) fn getpeername(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let (id, _) = self.socket_of(a[0])?;
        let mut network = lock(&self.run.network);
        let socket = network.get(id)?;
        if !socket.is_connected() {
            return Err(Errno::ENOTCONN);
        }
        mem.writable(a[1], 1)?;
        Linux::write_name(mem, a[1], a[2], &socket.remote, socket.family).map(|()| 0)
    }

    pub(in crate::os) fn shutdown(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let (id, _) = self.socket_of(a[0])?;
        let how = a[1] as u32;
        if how > 2 {
            return Err(Errno::EINVAL);
        }
        // SHUT_RD, SHUT_WR, SHUT_RDWR
        lock(&self.run.network)
            .shut(id, how != 1, how != 0)
            .map(|()| 0)
    }
}
