//! `signalfd`: blocked signals that are read from a descriptor (signalfd(2), Linux `fs/signalfd.c`).

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::duplicate::DuplicateError;
use super::errno::Errno;
use super::kinds::{Kind, Operations, Span, in_order};
use super::outcome::{Outcome, Unserved};
use super::readiness::READABLE;
use super::record::Record;
use super::signals::SigInfo;
use crate::process::Thread;

/// Size of `struct signalfd_siginfo`.
const INFO_BYTES: u64 = 128;
/// A timer of `timer_create` has expired.
const SI_TIMER: i32 = -2;

/// The signals that a descriptor gives.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SignalFile {
    mask: u64,
    /// One of them waits for the thread that makes the current call.
    is_ready: bool,
}

impl Operations for SignalFile {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[signalfd]")
    }

    fn events(&self) -> u16 {
        match self.is_ready {
            true => READABLE,
            false => 0,
        }
    }

    fn duplicate(&self, _has_place: bool) -> Result<Kind, DuplicateError> {
        Ok(Kind::Signal(*self))
    }

    /// Takes signals until the next one does not fit, those of the thread first.
    fn read(os: &mut Linux, thread: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        in_order(span.offset)?;
        let mask = os.files.own::<SignalFile>(span.fd)?.mask;
        let Span {
            addr,
            len,
            nonblock,
            ..
        } = *span;
        if len < INFO_BYTES {
            return Err(Errno::EINVAL.into());
        }
        let mut done = 0;
        while done + INFO_BYTES <= len {
            let at = addr.wrapping_add(done);
            if os.pending(thread) & mask == 0 {
                break;
            }
            if mem.writable_prefix_bytes(at, INFO_BYTES) < INFO_BYTES {
                return if done == 0 {
                    Err(Errno::EFAULT.into())
                } else {
                    Ok(done)
                };
            }
            let own = thread.signals.pending.take(mask);
            let Some(info) = own.or_else(|| os.signals.pending.take(mask)) else {
                break;
            };
            let child = os.abi.signal_rules().child;
            mem.write_bytes(at, &encode(&info, child))?;
            done += INFO_BYTES;
        }
        match done {
            0 => Err(Unserved::on_file(
                nonblock,
                "a signal (signalfd) that nobody sends",
            )),
            done => Ok(done),
        }
    }
}

impl Linux {
    pub(super) fn signalfd4(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [fd, mask, mask_bytes, flags, ..] = *a;
        let flags = self.abi.open_rules().unplaced(flags)?;
        let mask = match self.read_mask(mem, mask, mask_bytes)? {
            Some(mask) => mask,
            None if mask_bytes == 8 => return Err(Errno::EFAULT),
            None => return Err(Errno::EINVAL),
        };
        if fd as i32 != -1 {
            self.files.own::<SignalFile>(fd)?.mask = mask;
            return Ok(fd);
        }
        let file = SignalFile {
            mask,
            is_ready: false,
        };
        self.files.has_signals = true;
        self.open_unplaced(Kind::Signal(file), flags)
    }

    /// Says to descriptors of signals whether one of theirs waits for the thread that makes the call.
    pub(super) fn look_at_signals(&mut self, thread: &Thread) {
        if !self.files.has_signals {
            return;
        }
        let pending = self.pending(thread);
        for file in self.files.all_of::<SignalFile>() {
            file.is_ready = pending & file.mask != 0;
        }
    }

    /// A signal has been sent: whoever waits for a descriptor looks again.
    pub(super) fn wake_on_signal(&mut self) {
        if self.files.has_signals {
            self.threads.wake_on_files();
        }
    }
}

/// `struct signalfd_siginfo`.
fn encode(info: &SigInfo, child: u8) -> Vec<u8> {
    let (first, second) = info.sender.unwrap_or_default();
    let is_timer = info.code == SI_TIMER;
    let is_child = info.signal == child && info.code > 0;
    let when = |condition: bool, value: u32| if condition { value } else { 0 };
    let carried = if is_child { 0 } else { info.value };
    Record::new()
        .u32(u32::from(info.signal))
        .u32(0)
        .u32(info.code as u32)
        .u32(when(!is_timer, first))
        .u32(when(!is_timer, second))
        .u32(0)
        .u32(when(is_timer, first))
        .u32(0)
        .u32(when(is_timer, second))
        .u32(info.trap_number as u32)
        .u32(when(is_child, info.value as u32))
        .u32(carried as u32)
        .u64(carried)
        .u64(0)
        .u64(0)
        .u64(info.addr.unwrap_or(0))
        .pad_to(INFO_BYTES as usize)
        .done()
}
