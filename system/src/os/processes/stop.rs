//! Processes that are stopped and continued (Linux `kernel/signal.c`: `prepare_signal`, `get_signal`).
//!
//! No thread of a stopped process has a turn; what it waits for may come meanwhile. A signal that continues it, or that
//! ends it (SIGKILL), lets it go on.

use serde::{Deserialize, Serialize};

use super::super::Linux;
use super::super::signals::{SIG_DFL, SIG_IGN, SIGKILL, SigInfo, bit};
use super::super::threads::WaitFor;
use crate::process::Thread;

/// Change of a child that has not ended, which its parent can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// The child was stopped by this signal.
    Stopped(u8),
    /// The child goes on.
    Continued,
}

impl Change {
    /// Status that `wait4` tells (Linux `include/uapi/linux/wait.h`).
    pub(super) fn status(self) -> u32 {
        match self {
            Change::Stopped(signal) => u32::from(signal) << 8 | 0x7f,
            Change::Continued => 0xffff,
        }
    }

    /// The signal information that tells a parent of the change of `pid`, as signal `child`.
    pub(super) fn told(self, child: u8, (pid, uid): (u32, u32), going_on: u8) -> SigInfo {
        const CLD_STOPPED: i32 = 5;
        const CLD_CONTINUED: i32 = 6;
        let (code, value) = match self {
            Change::Stopped(signal) => (CLD_STOPPED, signal),
            Change::Continued => (CLD_CONTINUED, going_on),
        };
        SigInfo {
            signal: child,
            sender: Some((pid, uid)),
            value: u64::from(value),
            ..SigInfo::with_code(code)
        }
    }
}

impl Linux {
    /// Whether the process is stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.is_stopped
    }

    /// A signal is sent to the process or to one of its threads, here `running` or another one. Signals that stop and
    /// signals that continue take each other back. A process that is stopped goes on because of the latter and of
    /// SIGKILL.
    pub(in super::super) fn prepare_for(&mut self, signal: u8, mut running: Option<&mut Thread>) {
        let rules = self.abi.signal_rules();
        let is_continue = signal == rules.go_on;
        if is_continue || rules.stops.contains(&signal) {
            let gone: &[u8] = match is_continue {
                true => &rules.stops,
                false => std::slice::from_ref(&rules.go_on),
            };
            self.look_at_timers_again();
            for signal in gone {
                self.signals.pending.discard(*signal);
                if let Some(thread) = &mut running {
                    thread.signals.pending.discard(*signal);
                }
                self.threads.discard_signal(*signal);
            }
        }
        self.state.is_stopped &= !(is_continue || signal == SIGKILL);
    }

    /// Another process was stopped, and may go on because of a signal: tells its parent.
    pub(in super::super) fn note_continued(&mut self, pid: u32) {
        if let Some(other) = self.other_process(pid)
            && !other.is_stopped()
            && other.signals.pending.set & bit(SIGKILL) == 0
        {
            self.tell_of(pid, Change::Continued);
        }
    }

    /// Takes the signals of a thread that stop its process. The process is stopped then, unless it is one of a group that
    /// nobody outside could continue and the signal is not SIGSTOP.
    pub(in super::super) fn take_stops(&mut self, thread: &mut Thread) {
        let rules = self.abi.signal_rules();
        let pending = self.pending(thread) & !thread.signals.blocked;
        for signal in rules.stops {
            let action = self.signals.actions[usize::from(signal)];
            if pending & bit(signal) == 0 || action.handler != SIG_DFL {
                continue;
            }
            thread.signals.pending.discard(signal);
            self.signals.pending.discard(signal);
            if signal == rules.stop || !self.is_group_orphaned() {
                self.stop_by(signal);
            }
        }
    }

    fn stop_by(&mut self, signal: u8) {
        if std::mem::replace(&mut self.state.is_stopped, true) {
            return;
        }
        self.threads.let_all_look();
        self.tell_of(self.pid, Change::Stopped(signal));
    }

    /// Whether no process of the group has a parent in another group of its session.
    fn is_group_orphaned(&self) -> bool {
        let members = &self.family.members;
        let (group, session) = self.group_and_session();
        let mut own = members.values().filter(|member| member.group == group);
        !own.any(|member| {
            let parent = members.get(&member.parent);
            parent.is_some_and(|p| p.group != group && p.session == session && p.end.is_none())
        })
    }

    /// A child is stopped or goes on: tells its parent, which may be this process.
    pub(in super::super) fn tell_of(&mut self, pid: u32, change: Change) {
        let Some(member) = self.family.members.get_mut(&pid) else {
            return;
        };
        member.change = Some(change);
        let (parent, who) = (member.parent, (pid, member.uid));
        if parent == self.pid {
            self.hear_of(who, change);
        } else if let Some(parent) = self.family.parked_mut(parent) {
            parent.os.hear_of(who, change);
        }
    }

    fn hear_of(&mut self, who: (u32, u32), change: Change) {
        let rules = self.abi.signal_rules();
        let action = self.signals.actions[usize::from(rules.child)];
        if action.handler != SIG_IGN && action.flags & rules.no_child_stop == 0 {
            self.send_to_process(change.told(rules.child, who, rules.go_on));
        }
        let waiting: Vec<u32> = self
            .threads
            .all_parked()
            .filter(|thread| {
                let waits_for = thread.blocked.as_ref().map(|blocked| blocked.waits_for);
                waits_for == Some(WaitFor::Child)
            })
            .map(|thread| thread.tid)
            .collect();
        for tid in waiting {
            self.threads.wake(tid);
        }
    }
}
