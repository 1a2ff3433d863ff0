//! How a process ends (Linux `kernel/exit.c`).

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::super::Linux;
use super::super::signals::{SIG_IGN, SigInfo};
use super::super::threads::WaitFor;
use super::{Family, INIT};
use crate::process::Thread;

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// With this exit code.
    Exited(u8),
    /// By this signal.
    Killed(u8),
}

impl End {
    /// Status that `wait4` tells (Linux `include/uapi/linux/wait.h`).
    pub(super) fn status(self) -> u32 {
        match self {
            End::Exited(code) => u32::from(code) << 8,
            End::Killed(signal) => u32::from(signal),
        }
    }

    /// The signal information that tells a parent of the end of `pid`.
    pub(super) fn told(self, signal: u8, (pid, uid): (u32, u32)) -> SigInfo {
        const CLD_EXITED: i32 = 1;
        const CLD_KILLED: i32 = 2;
        let (code, value) = match self {
            End::Exited(code) => (CLD_EXITED, code),
            End::Killed(signal) => (CLD_KILLED, signal),
        };
        SigInfo {
            signal,
            sender: Some((pid, uid)),
            value: u64::from(value),
            ..SigInfo::with_code(code)
        }
    }
}

impl Linux {
    /// A signal is about to end the process: returns the exit code that a shell shows.
    pub(crate) fn killed(&mut self, signal: u8) -> i32 {
        self.state.killed_by = Some(signal);
        128 + i32::from(signal)
    }

    /// The process whose turn it is ends, while there are others: with this exit code, or by the signal that it was
    /// killed by. `thread` is the one that has run.
    pub(crate) fn end_process(&mut self, thread: &Thread, mem: &mut Memory, code: i32) {
        let end = match self.state.killed_by {
            Some(signal) => End::Killed(signal),
            None => End::Exited(code as u8),
        };
        self.release_robust_lists(thread, mem);
        self.write_back(mem);
        self.files.close_all(false);
        self.end_watches();
        self.undo_semaphores();
        self.give_memory_back(mem);
        self.leave_children();
        let used_ns = self.busy_ns() + self.state.children_ns;
        let name = self.first_name();
        if let Some(member) = self.family.members.get_mut(&self.pid) {
            member.used_ns = used_ns;
            member.name = name;
        }
        self.tell_parent(end);
        self.wake_on_files();
    }

    /// Gives the memory back to the parent that has lent it, which goes on then. What is left is empty.
    pub(in super::super) fn give_memory_back(&mut self, mem: &mut Memory) {
        let member = self.family.members.get_mut(&self.pid);
        let lender = member.and_then(|member| member.lender.take());
        let Some(parent) = lender.and_then(|parent| self.family.parked.get_mut(&parent)) else {
            return;
        };
        std::mem::swap(mem, &mut parent.mem);
        let parent = &mut *parent.os;
        std::mem::swap(&mut self.space, &mut parent.space);
        parent.state.is_lent = false;
    }

    /// The children of a process that ends get another parent: the next ancestor that asked for such children
    /// (`PR_SET_CHILD_SUBREAPER`), or none of the run.
    fn leave_children(&mut self) {
        let pid = self.pid;
        let heir = self.family.heir_of(pid);
        let members = self.family.members.iter_mut();
        let left: Vec<u32> = members
            .filter(|(_, member)| member.parent == pid)
            .map(|(child, member)| {
                member.parent = heir;
                *child
            })
            .collect();
        for child in left {
            let Some(member) = self.family.members.get(&child) else {
                continue;
            };
            if let Some(end) = member.end {
                self.family.tell(child, end);
            }
        }
    }

    /// The first process has ended, and those that are left wait for what never comes.
    pub(crate) fn give_up_orphans(&mut self) {
        self.run.stop = None;
        let count = self.family.parked.len() + 1;
        self.run.warnings.once(&format!(
            "the run ends with processes that wait for ever ({count}): the first process has ended"
        ));
    }

    fn tell_parent(&mut self, end: End) {
        self.family.tell(self.pid, end);
    }
}

impl Family {
    fn heir_of(&self, pid: u32) -> u32 {
        let parent_of = |pid: &u32| self.members.get(pid).map(|member| member.parent);
        let reaps = |pid: &u32| {
            let guest = self.parked.get(pid);
            guest.is_some_and(|guest| guest.os.reaps_orphans())
        };
        std::iter::successors(parent_of(&pid), parent_of)
            .find(reaps)
            .unwrap_or(INIT)
    }

    /// Tells the parent of a process of its end. A process whose end nobody wants to know is forgotten.
    fn tell(&mut self, pid: u32, end: End) {
        let Some(member) = self.members.get_mut(&pid) else {
            return;
        };
        member.end = Some(end);
        self.show_end(pid);
        let Some(member) = self.members.get(&pid) else {
            return;
        };
        let (parent, end_signal, uid) = (member.parent, member.end_signal, member.uid);
        let Some(parent) = self.parked_mut(parent) else {
            self.members.remove(&pid);
            return;
        };
        let parent = &mut *parent.os;
        let rules = parent.abi.signal_rules();
        let action = parent.signals.actions[usize::from(rules.child)];
        let is_ignored = action.handler == SIG_IGN || action.flags & rules.no_child_wait != 0;
        if end_signal != 0 {
            parent.send_to_process(end.told(end_signal, (pid, uid)));
        }
        let waiting: Vec<u32> = parent
            .threads
            .all_parked()
            .filter(|thread| thread.waits_for_child())
            .map(|thread| thread.tid)
            .collect();
        for tid in waiting {
            parent.threads.wake(tid);
        }
        if is_ignored && end_signal == rules.child {
            self.members.remove(&pid);
        }
    }
}

impl Thread {
    fn waits_for_child(&self) -> bool {
        let waits_for = self.blocked.as_ref().map(|blocked| blocked.waits_for);
        waits_for == Some(WaitFor::Child)
    }
}
