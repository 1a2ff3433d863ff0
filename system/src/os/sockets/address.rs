//! Names of sockets: files, abstract names, and ports of the loopback.

use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::errno::Errno;
use super::super::record::Record;

/// The longest path in a `struct sockaddr_un`, in bytes.
const PATH_BYTES: usize = 108;
/// Size of a `struct sockaddr_in`, in bytes.
const INET_BYTES: usize = 16;
/// Size of a `struct sockaddr_in6`, and of one without its last field, in bytes.
const INET6_BYTES: usize = 28;
const SHORT_INET6_BYTES: usize = 24;
/// Where the address begins in a `struct sockaddr_in6`.
const INET6_ADDRESS: usize = 8;
/// `AF_UNSPEC`
const UNSPECIFIED: u16 = 0;

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Family {
    Unix,
    Inet,
    Inet6,
}

impl Family {
    /// The family with this `AF_*`.
    pub(super) fn of(number: u64) -> Option<Family> {
        [Family::Unix, Family::Inet, Family::Inet6]
            .into_iter()
            .find(|family| u64::from(family.number()) == number)
    }

    /// Number of the family, `AF_*`.
    pub(super) fn number(self) -> u16 {
        match self {
            Family::Unix => 1,
            Family::Inet => 2,
            Family::Inet6 => 10,
        }
    }
}

/// The name of a socket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Name {
    #[default]
    None,
    /// A file of the host, by its device and number, with the path that it was bound to.
    File {
        #[serde(with = "crate::checkpoint::identity")]
        identity: (u64, u64),
        path: Vec<u8>,
    },
    Abstract(Vec<u8>),
    /// An address and a port. Addresses of IPv4 are mapped ones.
    Port(Ipv6Addr, u16),
}

/// Address that a program writes into a `struct sockaddr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// No name: for `connect`, the end of an association.
    Nothing,
    /// A path, which stands for a file.
    Path(Vec<u8>),
    Name(Name),
}

/// Decodes a `struct sockaddr` for a socket of `family`.
///
/// # Errors
/// `EINVAL` where it is too short, `EAFNOSUPPORT` for another family.
pub(super) fn decode(bytes: &[u8], family: Family) -> Result<Wanted, Errno> {
    let Some(&number) = bytes.first_chunk() else {
        return Err(Errno::EINVAL);
    };
    let number = u16::from_le_bytes(number);
    if number == UNSPECIFIED {
        return Ok(Wanted::Nothing);
    }
    if number != family.number() {
        return Err(match family {
            Family::Unix => Errno::EINVAL,
            _ => Errno::EAFNOSUPPORT,
        });
    }
    let port = || Ok::<_, Errno>(u16::from_be_bytes(*chunk_at(bytes, 2)?));
    match family {
        Family::Unix => decode_path(&bytes[2..]),
        Family::Inet if bytes.len() < INET_BYTES => Err(Errno::EINVAL),
        Family::Inet => {
            let ip = Ipv4Addr::from(*chunk_at::<4>(bytes, 4)?);
            Ok(Wanted::Name(Name::Port(ip.to_ipv6_mapped(), port()?)))
        }
        Family::Inet6 if bytes.len() < SHORT_INET6_BYTES => Err(Errno::EINVAL),
        Family::Inet6 => {
            let ip = Ipv6Addr::from(*chunk_at::<16>(bytes, INET6_ADDRESS)?);
            Ok(Wanted::Name(Name::Port(ip, port()?)))
        }
    }
}

fn chunk_at<const N: usize>(bytes: &[u8], at: usize) -> Result<&[u8; N], Errno> {
    let rest = bytes.get(at..).ok_or(Errno::EINVAL)?;
    rest.first_chunk().ok_or(Errno::EINVAL)
}

fn decode_path(path: &[u8]) -> Result<Wanted, Errno> {
    if path.len() > PATH_BYTES {
        return Err(Errno::EINVAL);
    }
    Ok(match path {
        [] => Wanted::Name(Name::None),
        [0, name @ ..] => Wanted::Name(Name::Abstract(name.to_vec())),
        path => {
            let end = path.iter().position(|&byte| byte == 0);
            Wanted::Path(path[..end.unwrap_or(path.len())].to_vec())
        }
    })
}

impl Name {
    /// The name's `struct sockaddr` for a socket of `family`.
    pub(super) fn encode(&self, family: Family) -> Vec<u8> {
        let record = Record::new().u16(family.number());
        let none = Name::Port(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped(), 0);
        match (family, self) {
            (Family::Unix, Name::File { path, .. }) => record.bytes(path).bytes(&[0]).done(),
            (Family::Unix, Name::Abstract(name)) => record.bytes(&[0]).bytes(name).done(),
            (Family::Unix, _) => record.done(),
            (Family::Inet, Name::Port(ip, port)) => {
                let ip = ip.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
                let record = record.bytes(&port.to_be_bytes()).bytes(&ip.octets());
                record.pad_to(INET_BYTES).done()
            }
            (Family::Inet6, Name::Port(ip, port)) => {
                let record = record.bytes(&port.to_be_bytes()).pad_to(INET6_ADDRESS);
                record.bytes(&ip.octets()).pad_to(INET6_BYTES).done()
            }
            (Family::Inet, _) => none.encode(family),
            (Family::Inet6, _) => Name::Port(Ipv6Addr::UNSPECIFIED, 0).encode(family),
        }
    }

    /// The port, if it has one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Name::Port(_, port) => Some(*port),
            _ => None,
        }
    }
}

/// No address in particular: all of them.
pub(super) fn is_any(ip: &Ipv6Addr) -> bool {
    ip.is_unspecified() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_unspecified())
}

/// An address of this host: there is only the loopback.
pub(super) fn is_local(ip: &Ipv6Addr) -> bool {
    is_any(ip) || ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
}

/// Where what is sent to `ip` arrives.
pub(super) fn destination(ip: Ipv6Addr) -> Ipv6Addr {
    match ip.to_ipv4_mapped() {
        _ if !is_any(&ip) => ip,
        Some(_) => Ipv4Addr::LOCALHOST.to_ipv6_mapped(),
        None => Ipv6Addr::LOCALHOST,
    }
}

/// Whether a socket that is bound to `bound`, for IPv6 only or for both, gets what is sent to `to`.
pub(super) fn reaches(bound: &Ipv6Addr, is_v6_only: bool, to: &Ipv6Addr) -> bool {
    let is_mapped = to.to_ipv4_mapped().is_some();
    bound == to
        || (bound.is_unspecified() && !(is_v6_only && is_mapped))
        || (is_any(bound) && !bound.is_unspecified() && is_mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_as_they_are_decoded() {
        let port = |ip: &str, port| Name::Port(ip.parse().unwrap(), port);
        let mapped = port("::ffff:127.0.0.1", 0x1234);
        let bytes = mapped.encode(Family::Inet);
        assert_eq!(bytes[..8], [2, 0, 0x12, 0x34, 127, 0, 0, 1]);
        assert_eq!(bytes.len(), 16);
        for (family, name) in [
            (Family::Inet, mapped),
            (Family::Inet6, port("::1", 80)),
            (Family::Unix, Name::Abstract(b"a\0b".to_vec())),
        ] {
            assert_eq!(decode(&name.encode(family), family), Ok(Wanted::Name(name)));
        }
        assert_eq!(
            decode(b"\x01\0/a/b\0rest", Family::Unix),
            Ok(Wanted::Path(b"/a/b".to_vec()))
        );
        assert_eq!(decode(&bytes, Family::Inet6), Err(Errno::EAFNOSUPPORT));
        assert_eq!(decode(&bytes[..15], Family::Inet), Err(Errno::EINVAL));
        assert_eq!(decode(&[0, 0], Family::Inet), Ok(Wanted::Nothing));
    }

    #[test]
    fn any_address_gets_what_is_sent_to_the_loopback() {
        let ip = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let loopback = ip("::ffff:127.0.0.1");
        assert!(reaches(&ip("::"), false, &loopback) && reaches(&ip("::"), true, &ip("::1")));
        assert!(!reaches(&ip("::"), true, &loopback));
        assert!(reaches(&ip("::ffff:0.0.0.0"), false, &loopback));
        assert!(!reaches(&ip("::ffff:0.0.0.0"), false, &ip("::1")));
        assert!(!reaches(&ip("::1"), false, &loopback));
        assert_eq!(destination(ip("::ffff:0.0.0.0")), loopback);
        assert!(!is_local(&ip("::ffff:10.0.0.1")));
    }
}
