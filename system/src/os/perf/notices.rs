//! Who hears of samples: the owner of a descriptor by a signal (`fcntl`: `F_SETOWN`, `F_SETSIG`, `O_ASYNC`), and who polls it.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::super::Linux;
use super::super::abi::FcntlCommand;
use super::super::errno::Errno;
use super::super::readiness::READABLE;
use super::super::record::Record;
use super::super::signals::{LAST_SIGNAL, SI_KERNEL, SigInfo, Signal};
use super::PerfFile;
use crate::process::Thread;

/// Who owns a descriptor: the kinds of `struct f_owner_ex`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Owner {
    #[default]
    Nobody,
    Thread(u32),
    Process(u32),
    Group(u32),
}

impl Owner {
    fn decode(kind: u64, number: u32) -> Result<Owner, Errno> {
        match (kind, number) {
            (0..=2, 0) => Ok(Owner::Nobody),
            (0, tid) => Ok(Owner::Thread(tid)),
            (1, pid) => Ok(Owner::Process(pid)),
            (2, group) => Ok(Owner::Group(group)),
            _ => Err(Errno::EINVAL),
        }
    }

    fn encode(self) -> (u32, u32) {
        match self {
            Owner::Thread(tid) => (0, tid),
            Owner::Nobody => (1, 0),
            Owner::Process(pid) => (1, pid),
            Owner::Group(group) => (2, group),
        }
    }
}

/// Notifications that are sent when an event has taken a sample.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Notices {
    owner: Owner,
    /// The signal; 0: `SIGIO`.
    signal: u8,
    /// The descriptor for which `O_ASYNC` is set.
    fd: Option<u32>,
    /// There is something for who polls.
    pub is_ready: bool,
}

impl PerfFile {
    /// Takes the events that the descriptor is ready for; there are none then until the next wake-up.
    pub(super) fn take_events(&self) -> u16 {
        match std::mem::take(&mut self.lock().notices.is_ready) {
            true => READABLE,
            false => 0,
        }
    }

    /// `O_ASYNC` of the descriptor.
    pub(in super::super) fn is_async(&self) -> bool {
        self.lock().notices.fd.is_some()
    }

    pub(in super::super) fn set_async(&self, fd: Option<u32>) {
        self.lock().notices.fd = fd;
    }
}

impl Linux {
    /// `fcntl` about who owns a descriptor and what is sent to him. Only events send something; an owner of other descriptors
    /// hears nothing.
    pub(in super::super) fn control_owner(
        &mut self,
        mem: &mut Memory,
        [fd, argument]: [u64; 2],
        command: FcntlCommand,
    ) -> Result<u64, Errno> {
        let Some(file) = self.perf_file(fd)? else {
            let sets = matches!(
                command,
                FcntlCommand::SetOwner | FcntlCommand::SetOwnerOfKind
            );
            return sets.then_some(0).ok_or(Errno::EINVAL);
        };
        let mut event = file.lock();
        let notices = &mut event.notices;
        match command {
            FcntlCommand::SetOwner => {
                let number = argument as i32;
                let kind = if number < 0 { 2 } else { 1 };
                notices.owner = Owner::decode(kind, number.unsigned_abs())?;
            }
            FcntlCommand::SetOwnerOfKind => {
                let kind = mem.read::<4>(argument)?;
                let number = mem.read::<4>(argument.wrapping_add(4))? as u32;
                notices.owner = Owner::decode(kind, number)?;
            }
            FcntlCommand::GetOwnerOfKind => {
                let (kind, number) = notices.owner.encode();
                let owner = Record::new().u32(kind).u32(number).done();
                mem.write_bytes(argument, &owner)?;
            }
            FcntlCommand::SetSignal if argument > u64::from(LAST_SIGNAL) => {
                return Err(Errno::EINVAL);
            }
            FcntlCommand::SetSignal => notices.signal = argument as u8,
            FcntlCommand::GetSignal => return Ok(u64::from(notices.signal)),
            _ => {
                let number = match notices.owner {
                    Owner::Nobody | Owner::Thread(_) => 0,
                    Owner::Process(pid) => i64::from(pid),
                    Owner::Group(group) => -i64::from(group),
                };
                return Ok(number as u64);
            }
        }
        Ok(0)
    }

    /// Sends the signal of a sample. `is_last`: the event is disabled now.
    pub(super) fn notify(&mut self, notices: Notices, is_last: bool, running: &mut Thread) {
        /// `si_code` and `si_band`: `POLL_IN` and `POLL_HUP`.
        const IN: (i32, u32) = (1, 0x41);
        const HANG_UP: (i32, u32) = (6, 0x18);
        let Some(fd) = notices.fd else { return };
        let (code, band) = if is_last { HANG_UP } else { IN };
        let info = match notices.signal {
            0 => SigInfo {
                signal: self.abi.signal_number(Signal::Io),
                code: SI_KERNEL,
                ..SigInfo::default()
            },
            signal => SigInfo {
                signal,
                code,
                sender: Some((band, 0)),
                value: u64::from(fd),
                ..SigInfo::default()
            },
        };
        // An owner that has ended hears nothing.
        match notices.owner {
            Owner::Nobody => {}
            Owner::Thread(tid) => self.send_to_thread(Some(running), tid, info),
            Owner::Process(pid) => drop(self.send_to_processes(pid as i32, Some(info))),
            Owner::Group(group) => drop(self.send_to_processes(-(group as i32), Some(info))),
        }
    }
}
