//! Options of sockets. Most are kept and have no effect.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::super::Linux;
use super::super::PID;
use super::super::errno::Errno;
use super::super::record::{Record, read_words};
use super::address::Family;
use super::flow::ROOM_BYTES;
use super::lock;
use super::network::{Socket, Style};

/// Differences between interfaces in calls on sockets.
#[derive(Clone, Copy, Debug)]
pub struct SocketRules {
    /// `SOCK_NONBLOCK`.
    pub nonblock: u64,
    /// `SOL_SOCKET`.
    pub level: u64,
    /// The numbers of options at this level.
    pub options: &'static [(u64, SocketOption)],
}

/// An option of `SOL_SOCKET`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SocketOption {
    /// `SO_TYPE`
    Type,
    /// `SO_ERROR`
    Error,
    /// `SO_DOMAIN`
    Domain,
    /// `SO_PROTOCOL`
    Protocol,
    /// `SO_ACCEPTCONN`
    Listens,
    /// `SO_PEERCRED`
    PeerCredentials,
    /// `SO_REUSEADDR` and `SO_REUSEPORT`
    SharesAddress,
    /// `SO_RCVTIMEO`
    ReceiveTimeout,
    /// `SO_LINGER`
    Linger,
    /// `SO_SNDBUF` and `SO_RCVBUF`
    Buffer,
    /// A number that is kept.
    Kept,
}

/// Levels of options beside `SOL_SOCKET`: IP, TCP, UDP and IPv6.
const PROTOCOL_LEVELS: [u64; 4] = [0, 6, 17, 41];
const NANOS_PER_MICROSECOND: u64 = 1000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Linux {
    pub(in crate::os) fn setsockopt(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, level, number, at, len, _] = *a;
        let (id, _) = self.socket_of(fd)?;
        let option = self.socket_option(level, number)?;
        let mut network = lock(&self.run.network);
        let socket = network.get(id)?;
        let wanted = match option {
            SocketOption::ReceiveTimeout => 16,
            SocketOption::Linger => 8,
            _ => 4,
        };
        if (len as u32) < wanted {
            return Err(Errno::EINVAL);
        }
        let value = mem.read::<4>(at)?;
        match option {
            SocketOption::Type
            | SocketOption::Error
            | SocketOption::Domain
            | SocketOption::Protocol
            | SocketOption::Listens
            | SocketOption::PeerCredentials => return Err(Errno::ENOPROTOOPT),
            SocketOption::SharesAddress => socket.shares_address = value != 0,
            SocketOption::ReceiveTimeout => {
                let [seconds, micros] = read_words(mem, at)?;
                let nanos = seconds
                    .saturating_mul(NANOS_PER_SECOND)
                    .saturating_add(micros.saturating_mul(NANOS_PER_MICROSECOND));
                socket.receive_timeout_ns = Some(nanos).filter(|nanos| *nanos != 0);
            }
            SocketOption::Linger | SocketOption::Buffer | SocketOption::Kept => {}
        }
        let kept = match option {
            SocketOption::Linger => mem.read::<8>(at)?,
            // Linux counts what it needs itself, too.
            SocketOption::Buffer => (value * 2).clamp(2304, 2 * ROOM_BYTES as u64),
            _ => value,
        };
        /// Options that one socket keeps.
        const MOST: usize = 64;
        if socket.options.len() < MOST || socket.options.contains_key(&(level, number)) {
            socket.options.insert((level, number), kept);
        }
        Ok(0)
    }

    pub(in crate::os) fn getsockopt(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [fd, level, number, at, len_at, _] = *a;
        let (id, _) = self.socket_of(fd)?;
        let option = self.socket_option(level, number)?;
        let room = mem.read::<4>(len_at)? as i32;
        let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
        let mut network = lock(&self.run.network);
        let socket = network.get(id)?;
        let kept = socket.options.get(&(level, number)).copied();
        let record = Record::new();
        let record = match option {
            SocketOption::ReceiveTimeout => {
                let nanos = socket.receive_timeout_ns.unwrap_or(0);
                let micros = nanos % NANOS_PER_SECOND / NANOS_PER_MICROSECOND;
                record.u64(nanos / NANOS_PER_SECOND).u64(micros)
            }
            SocketOption::Linger => record.u64(kept.unwrap_or(0)),
            SocketOption::PeerCredentials => {
                let own = &self.credentials;
                record.u32(PID).u32(own.euid()).u32(own.egid())
            }
            SocketOption::Error => {
                let error = socket.error.take();
                record.u32(error.map_or(0, |errno| u32::from(self.abi.errno_number(errno))))
            }
            SocketOption::Type => record.u32(type_number(socket.style)),
            SocketOption::Domain => record.u32(u32::from(socket.family.number())),
            SocketOption::Protocol => record.u32(protocol_number(socket)),
            SocketOption::Listens => record.u32(u32::from(socket.is_listening())),
            SocketOption::SharesAddress => record.u32(u32::from(socket.shares_address)),
            SocketOption::Buffer => record.u32(kept.unwrap_or(ROOM_BYTES as u64) as u32),
            SocketOption::Kept => record.u32(kept.unwrap_or(0) as u32),
        };
        let bytes = record.done();
        let told = bytes.len().min(room);
        mem.write_bytes(at, &bytes[..told])?;
        mem.write_bytes(len_at, &(told as u32).to_le_bytes())?;
        Ok(0)
    }

    fn socket_option(&self, level: u64, number: u64) -> Result<SocketOption, Errno> {
        let rules = self.abi.socket_rules();
        let (level, number) = (u64::from(level as u32), u64::from(number as u32));
        if level != rules.level {
            let is_known = PROTOCOL_LEVELS.contains(&level);
            return is_known
                .then_some(SocketOption::Kept)
                .ok_or(Errno::EOPNOTSUPP);
        }
        let found = rules.options.iter().find(|(known, _)| *known == number);
        found.map(|(_, option)| *option).ok_or(Errno::ENOPROTOOPT)
    }
}

/// `SOCK_*`.
fn type_number(style: Style) -> u32 {
    match style {
        Style::Stream => 1,
        Style::Datagram => 2,
        Style::Sequenced => 5,
    }
}

/// `IPPROTO_*`; Unix sockets have none.
fn protocol_number(socket: &Socket) -> u32 {
    match (socket.family, socket.style) {
        (Family::Unix, _) => 0,
        (_, Style::Stream) => 6,
        _ => 17,
    }
}
