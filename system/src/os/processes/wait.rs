//! `wait4` and `waitid` (Linux `kernel/exit.c`).

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::outcome::{Outcome, Unserved};
use super::super::record::{Record, write_optional};
use super::super::threads::WaitFor;
use super::super::time::used;
use super::Member;
use super::end::End;
use super::stop::Change;

const WNOHANG: u64 = 1;
const WSTOPPED: u64 = 2;
const WEXITED: u64 = 4;
const WCONTINUED: u64 = 8;
const WNOWAIT: u64 = 0x0100_0000;
/// Only children of the calling thread: all threads have the same here.
const WNOTHREAD: u64 = 0x2000_0000;
/// Children whose end is told by any signal, or by another one than SIGCHLD.
const WALL: u64 = 0x4000_0000;
const WCLONE: u64 = 0x8000_0000;

/// Size of each of the times in `struct rusage`, and in that of OSF/1.
const TIME_BYTES: usize = 16;
const OSF_TIME_BYTES: usize = 8;

/// Which children a call waits for.
#[derive(Clone, Copy)]
enum Which {
    Any,
    Process(u32),
    Group(u32),
}

/// End or change of a child, as its parent is told.
#[derive(Clone, Copy)]
enum News {
    End(End),
    Change(Change),
}

impl News {
    /// End or change of a child that a call with these options is told, if there is one.
    fn of(member: &Member, options: u64) -> Option<News> {
        if let Some(end) = member.end {
            return (options & WEXITED != 0).then_some(News::End(end));
        }
        let asks = match member.change? {
            Change::Stopped(_) => WSTOPPED,
            Change::Continued => WCONTINUED,
        };
        (options & asks != 0).then_some(News::Change(member.change?))
    }
}

impl Linux {
    /// `wait4`. Of the resources that a child has used, its time is told.
    pub(in super::super) fn wait4(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
        is_osf: bool,
    ) -> Outcome {
        let [pid, status, options, rusage, ..] = *a;
        let options = u64::from(options as u32);
        if options & !(WNOHANG | WSTOPPED | WCONTINUED | WNOTHREAD | WALL | WCLONE) != 0 {
            return Err(Errno::EINVAL.into());
        }
        let which = match pid as i32 {
            i32::MIN => return Err(Errno::ESRCH.into()),
            -1 => Which::Any,
            0 => Which::Group(self.group_and_session().0),
            pid @ 1.. => Which::Process(pid as u32),
            group => Which::Group(group.unsigned_abs()),
        };
        let Some((pid, news)) = self.changed_child(which, options | WEXITED)? else {
            return Ok(0);
        };
        let told = match news {
            News::End(end) => end.status(),
            News::Change(change) => change.status(),
        };
        write_optional(mem, status, &told.to_le_bytes())?;
        let time_bytes = if is_osf { OSF_TIME_BYTES } else { TIME_BYTES };
        self.tell_resources(mem, pid, rusage, time_bytes)?;
        self.reap(pid);
        Ok(u64::from(pid))
    }

    /// `waitid`.
    pub(in super::super) fn waitid(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        const ALL: u64 = 0;
        const PROCESS: u64 = 1;
        const GROUP: u64 = 2;
        const DESCRIPTOR: u64 = 3;
        const KINDS: u64 = WEXITED | WSTOPPED | WCONTINUED;
        let [kind, id, info, options, rusage, _] = *a;
        let mut options = u64::from(options as u32);
        if options & !(WNOHANG | KINDS | WNOWAIT | WNOTHREAD | WALL | WCLONE) != 0
            || options & KINDS == 0
        {
            return Err(Errno::EINVAL.into());
        }
        let mut refuses_to_wait = false;
        let which = match (u64::from(kind as u32), id as i32) {
            (ALL, _) => Which::Any,
            (PROCESS, pid @ 1..) => Which::Process(pid as u32),
            (GROUP, 0) => Which::Group(self.group_and_session().0),
            (GROUP, group @ 1..) => Which::Group(group as u32),
            (DESCRIPTOR, fd @ 0..) => {
                let (pid, never_waits) = self.process_of(fd as u64)?;
                if never_waits && options & WNOHANG == 0 {
                    refuses_to_wait = true;
                    options |= WNOHANG;
                }
                Which::Process(pid)
            }
            _ => return Err(Errno::EINVAL.into()),
        };
        let changed = self.changed_child(which, options)?;
        if changed.is_none() && refuses_to_wait {
            return Err(Errno::EAGAIN.into());
        }
        let rules = self.abi.signal_rules();
        let told = match changed {
            None => Record::new().pad_to(28).done(),
            Some((pid, news)) => {
                let who = (pid, self.family.user_of(pid));
                let told = match news {
                    News::End(end) => end.told(rules.child, who),
                    News::Change(change) => change.told(rules.child, who, rules.go_on),
                };
                told.encode()[..28].to_vec()
            }
        };
        write_optional(mem, info, &told)?;
        if let Some((pid, _)) = changed {
            self.tell_resources(mem, pid, rusage, TIME_BYTES)?;
            if options & WNOWAIT == 0 {
                self.reap(pid);
            }
        }
        Ok(0)
    }

    fn tell_resources(
        &self,
        mem: &mut Memory,
        pid: u32,
        rusage: u64,
        time_bytes: usize,
    ) -> Result<(), Errno> {
        let used_ns = self.family.members.get(&pid).map_or(0, |m| m.used_ns);
        Ok(write_optional(mem, rusage, &used(used_ns, 0, time_bytes))?)
    }

    /// The parent has been told of a child. Forgets one that has ended; its time counts as that of children.
    fn reap(&mut self, pid: u32) {
        let members = &mut self.family.members;
        if let Some(child) = members.get_mut(&pid)
            && child.end.is_none()
        {
            child.change = None;
        } else if let Some(child) = members.remove(&pid) {
            self.state.children_ns += child.used_ns;
        }
    }

    /// The first child of those that a call waits for of which there is news; `None` if there is none and the call does
    /// not wait.
    fn changed_child(&mut self, which: Which, options: u64) -> Outcome<Option<(u32, News)>> {
        let child_signal = self.abi.signal_rules().child;
        let own = self.pid;
        let is_meant = |pid: u32, member: &Member| {
            let is_named = match which {
                Which::Any => true,
                Which::Process(wanted) => pid == wanted,
                Which::Group(group) => member.group == group,
            };
            let is_clone = member.end_signal != child_signal;
            let is_of_kind = options & WALL != 0 || is_clone == (options & WCLONE != 0);
            member.parent == own && is_named && is_of_kind
        };
        let members = self.family.members.iter();
        let mut meant = members
            .filter(|(pid, member)| is_meant(**pid, member))
            .map(|(pid, member)| (*pid, News::of(member, options)))
            .peekable();
        if meant.peek().is_none() {
            return Err(Errno::ECHILD.into());
        }
        match meant.find_map(|(pid, news)| Some((pid, news?))) {
            Some(changed) => Ok(Some(changed)),
            None if options & WNOHANG != 0 => Ok(None),
            None => Err(Unserved::wait(WaitFor::Child, None)),
        }
    }
}
