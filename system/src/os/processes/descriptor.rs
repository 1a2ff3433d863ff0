//! Descriptors of processes (`pidfd_open`, Linux `kernel/pid.c`, `fs/pidfs.c`).

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::abi::OpenFlags;
use super::super::errno::Errno;
use super::super::kinds::{Kind, Operations};
use super::super::readiness::READABLE;
use super::super::signal_calls::valid_signal;
use super::super::signals::SigInfo;
use super::Family;
use crate::process::Thread;

/// A process that a descriptor names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct ProcessFile {
    pid: u32,
    /// The process has ended; its parent may not have asked yet.
    #[serde(with = "crate::checkpoint::kept")]
    has_ended: Arc<AtomicBool>,
}

impl Operations for ProcessFile {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[pidfd]")
    }

    fn events(&self) -> u16 {
        match self.has_ended.load(Ordering::Relaxed) {
            true => READABLE,
            false => 0,
        }
    }
}

impl Family {
    /// A process has ended: whoever has a descriptor of it can see that.
    pub(super) fn show_end(&mut self, pid: u32) {
        if let Some(has_ended) = self.watched.remove(&pid) {
            has_ended.store(true, Ordering::Relaxed);
        }
    }
}

impl Linux {
    /// `pidfd_open`.
    pub(in super::super) fn pidfd_open(&mut self, pid: u64, flags: u64) -> Result<u64, Errno> {
        let rules = self.abi.open_rules();
        let flags = u64::from(flags as u32);
        if flags & !rules.nonblock != 0 || (pid as i32) <= 0 {
            return Err(Errno::EINVAL);
        }
        let pid = pid as u32;
        let member = self.family.members.get(&pid).ok_or(Errno::ESRCH)?;
        let has_ended = match member.end {
            Some(_) => Arc::new(AtomicBool::new(true)),
            None => Arc::clone(self.family.watched.entry(pid).or_default()),
        };
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: true,
            nonblock: flags & rules.nonblock != 0,
            ..OpenFlags::default()
        };
        self.open_unplaced(Kind::Process(ProcessFile { pid, has_ended }), flags)
    }

    /// The process that a descriptor names, and whether calls on it do not wait.
    pub(super) fn process_of(&self, fd: u64) -> Result<(u32, bool), Errno> {
        let file = self.files.get(fd)?;
        match &file.kind {
            Kind::Process(process) => Ok((process.pid, file.flags.nonblock)),
            _ => Err(Errno::EBADF),
        }
    }

    /// `pidfd_send_signal`, which says of the signal what `kill` does if the call says nothing.
    pub(in super::super) fn pidfd_send_signal(
        &mut self,
        thread: &Thread,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [fd, signal, info, flags, ..] = *a;
        if flags as u32 != 0 {
            return Err(Errno::EINVAL);
        }
        let (pid, _) = self.process_of(fd)?;
        let is_there = |member: &super::Member| member.end.is_none();
        if !self.family.members.get(&pid).is_some_and(is_there) {
            return Err(Errno::ESRCH);
        }
        let told = match info {
            0 => SigInfo {
                sender: Some((self.pid, self.credentials.uid())),
                ..SigInfo::default()
            },
            at => {
                let code = mem.read::<4>(at.wrapping_add(8))? as i32;
                if code >= 0 && pid != self.pid {
                    return Err(Errno::EPERM);
                }
                let first = mem.read::<4>(at.wrapping_add(16))? as u32;
                let second = mem.read::<4>(at.wrapping_add(20))? as u32;
                SigInfo {
                    sender: Some((first, second)),
                    value: mem.read::<8>(at.wrapping_add(24))?,
                    ..SigInfo::with_code(code)
                }
            }
        };
        let info = match signal as u32 {
            0 => None,
            signal => Some(SigInfo {
                signal: valid_signal(u64::from(signal))?,
                ..told
            }),
        };
        if let Some(info) = info {
            self.check_queue(thread, info)?;
        }
        self.send_to_processes(pid as i32, info)
    }
}
