//! Signals between threads: who gets one, and whether it ends a wait.

use super::super::Linux;
use super::super::errno::Errno;
use super::super::signals::{FIRST_REALTIME, SI_USER, SIG_DFL, SIG_IGN, SigInfo, bit};
use super::wait::WaitFor;
use crate::process::Thread;

impl Linux {
    /// Whether a signal waits that ends a wait of the thread: `Some` if it does, and then whether its action lets the
    /// program make the call again.
    pub(in super::super) fn interrupting(&self, thread: &Thread) -> Option<bool> {
        let rules = self.abi.signal_rules();
        let mut ready = self.pending(thread) & !thread.signals.blocked;
        while ready != 0 {
            let signal = ready.trailing_zeros() as u8 + 1;
            let action = self.signals.actions[usize::from(signal)];
            match action.handler {
                SIG_IGN => {}
                SIG_DFL if rules.is_ignored_by_default(signal) => {}
                _ => return Some(action.handler != SIG_DFL && action.flags & rules.restart != 0),
            }
            ready &= ready - 1;
        }
        None
    }

    /// Makes a signal pending for the process, and wakes a thread that waits and takes it.
    pub(in super::super) fn send_to_process(&mut self, info: SigInfo) {
        self.prepare_for(info.signal, None);
        self.signals.pending.post(info);
        self.wake_on_signal();
        let takes = |thread: &Thread| self.wakes(thread, info.signal);
        let tid = self.threads.all_parked().find(|t| takes(t)).map(|t| t.tid);
        if let Some(tid) = tid {
            self.threads.wake(tid);
        } else {
            self.threads.let_another_look(bit(info.signal));
        }
    }

    /// Makes a signal pending for a thread, which may be the one that runs, if it is still there.
    pub(in super::super) fn send_to_thread(
        &mut self,
        mut running: Option<&mut Thread>,
        tid: u32,
        info: SigInfo,
    ) {
        self.prepare_for(info.signal, running.as_deref_mut());
        if let Some(running) = running
            && running.tid == tid
        {
            running.signals.pending.post(info);
            return;
        }
        let Some(thread) = self.threads.parked_mut(tid) else {
            self.threads.post_elsewhere(tid, info);
            return;
        };
        thread.signals.pending.post(info);
        self.wake_on_signal();
        if let Some(thread) = self.threads.parked(tid)
            && self.wakes(thread, info.signal)
        {
            self.threads.wake(tid);
        }
    }

    /// Whether a signal ends the wait of a thread. One that is ignored does not, unless the thread waits for it.
    fn wakes(&self, thread: &Thread, signal: u8) -> bool {
        let Some(blocked) = &thread.blocked else {
            return false;
        };
        let awaited = blocked.waits_for.signals();
        let taken = if self.is_ignored(signal) {
            0
        } else {
            !thread.signals.blocked
        };
        bit(signal) & (awaited | taken) != 0
    }

    /// Whether a signal that a program sends can wait with what it says of itself: those that count have to, but for those
    /// of `kill`. `thread` makes the call.
    ///
    /// # Errors
    /// `EAGAIN` if as many wait as may.
    pub(in super::super) fn check_queue(
        &self,
        thread: &Thread,
        info: SigInfo,
    ) -> Result<(), Errno> {
        if info.signal < FIRST_REALTIME || info.code == SI_USER {
            return Ok(());
        }
        let of_process = |os: &Linux| os.signals.pending.len() + os.threads.signals_waiting();
        let others: u64 = self.other_processes().map(of_process).sum();
        let waiting = thread.signals.pending.len() + of_process(self) + others;
        match waiting < self.limits.pending_signals() {
            true => Ok(()),
            false => Err(Errno::EAGAIN),
        }
    }

    /// Whether the action of a signal is to ignore it.
    pub(in super::super) fn is_ignored(&self, signal: u8) -> bool {
        match self.signals.actions[usize::from(signal)].handler {
            SIG_DFL => self.abi.signal_rules().is_ignored_by_default(signal),
            handler => handler == SIG_IGN,
        }
    }
}

impl Thread {
    /// Whether a signal that is ignored stays for the thread, which blocks it or waits for it.
    pub(in super::super) fn keeps(&self, signal: u8) -> bool {
        let waits_for = self.blocked.as_ref().map(|blocked| blocked.waits_for);
        let awaited = waits_for.map_or(0, WaitFor::signals);
        (self.signals.blocked | awaited) & bit(signal) != 0
    }
}
