//! The devices of `/dev` that are made up.

use hps_isa::memory::Memory;

use super::locate::Made;
use super::opened::stat;
use super::tree::{self, Device};
use crate::os::Linux;
use crate::os::abi::FileStat;
use crate::os::duplicate::DuplicateError;
use crate::os::errno::Errno;
use crate::os::kinds::{Kind, Operations, Span, Whereabouts};
use crate::os::outcome::Outcome;
use crate::os::stat::{S_IFIFO, special_stat};
use crate::process::Thread;

impl Operations for Device {
    fn stat(&self, at: &Whereabouts) -> Result<FileStat, Errno> {
        let path = at.path.and_then(|path| String::from_utf8(path.text()).ok());
        let made = path.and_then(|path| {
            let node = tree::node(&path)?;
            Some(stat(&Made { path, node }))
        });
        // A device without a path stands for a pipe that a copy of the program does not have.
        Ok(made.unwrap_or_else(|| special_stat(S_IFIFO | 0o600, at.number)))
    }

    fn seek(&mut self, _offset: i64, _whence: u64) -> Result<u64, Errno> {
        Ok(0)
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Device(*self))
    }

    fn read(os: &mut Linux, _: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        let room = span.room(mem)?;
        match os.files.own::<Device>(span.fd)? {
            Device::Null | Device::Terminal => return Ok(0),
            Device::Zero | Device::Full => mem.writable(span.addr, room)?.fill(0),
            Device::Random | Device::Urandom => os.run.random.fill(mem.writable(span.addr, room)?),
        }
        Ok(room)
    }

    fn write(os: &mut Linux, fd: u64, bytes: &[u8], _offset: Option<u64>) -> Outcome {
        match os.files.own::<Device>(fd)? {
            Device::Full if !bytes.is_empty() => Err(Errno::ENOSPC.into()),
            _ => Ok(bytes.len() as u64),
        }
    }
}
