//! Signals that wait for a process or a thread.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use super::signals::{FIRST_REALTIME, LAST_SIGNAL, SigInfo, bit};

/// Most signals that wait (`RLIMIT_SIGPENDING`).
pub(super) const MOST_QUEUED: usize = 4096;

/// Signals that wait for delivery: real-time signals as often as they were sent, all others once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// Signal 1 is the lowest bit.
    pub(super) set: u64,
    #[serde(with = "hps_isa::state::array")]
    infos: [SigInfo; LAST_SIGNAL as usize + 1],
    /// Real-time signals behind the first one of their number.
    queue: VecDeque<SigInfo>,
}

impl Default for Pending {
    fn default() -> Self {
        Pending {
            set: 0,
            infos: [SigInfo::default(); LAST_SIGNAL as usize + 1],
            queue: VecDeque::new(),
        }
    }
}

impl Pending {
    /// Adds a signal, unless it already waits and is none that counts.
    pub(super) fn post(&mut self, info: SigInfo) {
        if self.set & bit(info.signal) == 0 {
            self.set |= bit(info.signal);
            self.infos[usize::from(info.signal)] = info;
        } else if info.signal >= FIRST_REALTIME && self.queue.len() < MOST_QUEUED {
            self.queue.push_back(info);
        }
    }

    /// How many signals wait.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.set.count_ones()) + self.queue.len() as u64
    }

    /// The signal of a number, or of a timer if it is one that counts, if it waits.
    pub(super) fn waiting(&mut self, signal: u8, code: i32, timer: u32) -> Option<&mut SigInfo> {
        if self.set & bit(signal) == 0 {
            return None;
        }
        let first = &mut self.infos[usize::from(signal)];
        let is_it = |info: &SigInfo| {
            let of_timer = info.code == code && info.sender.is_some_and(|(id, _)| id == timer);
            info.signal == signal && (of_timer || signal < FIRST_REALTIME)
        };
        match is_it(first) {
            true => Some(first),
            false => self.queue.iter_mut().find(|info| is_it(info)),
        }
    }

    pub(super) fn discard(&mut self, signal: u8) {
        self.set &= !bit(signal);
        self.queue.retain(|info| info.signal != signal);
    }

    /// Removes the signal with the least number among those of `mask`.
    pub(super) fn take(&mut self, mask: u64) -> Option<SigInfo> {
        let ready = self.set & mask;
        if ready == 0 {
            return None;
        }
        let signal = ready.trailing_zeros() as u8 + 1;
        let info = self.infos[usize::from(signal)];
        match self.queue.iter().position(|info| info.signal == signal) {
            Some(next) => {
                if let Some(next) = self.queue.remove(next) {
                    self.infos[usize::from(signal)] = next;
                }
            }
            None => self.set &= !bit(signal),
        }
        Some(info)
    }
}
