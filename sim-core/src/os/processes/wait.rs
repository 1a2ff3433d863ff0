//! `wait4` and `waitid` (Linux `kernel/exit.c`). Processes are not stopped and continued, so that all that there is to
//! wait for is an end.

use super::super::Linux;
use super::super::errno::Errno;
use super::super::record::{Record, write_optional};
use super::super::threads::WaitFor;
use super::super::time::used;
use super::Member;
use super::end::End;
use crate::memory::Memory;

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

impl Linux {
    /// `wait4`. Of the resources that a child has used, its time is told.
    pub(in super::super) fn wait4(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
        is_osf: bool,
    ) -> Result<u64, Errno> {
        let [pid, status, options, rusage, ..] = *a;
        let options = u64::from(options as u32);
        if options & !(WNOHANG | WSTOPPED | WCONTINUED | WNOTHREAD | WALL | WCLONE) != 0 {
            return Err(Errno::EINVAL);
        }
        let which = match pid as i32 {
            i32::MIN => return Err(Errno::ESRCH),
            -1 => Which::Any,
            0 => Which::Group(self.group_and_session().0),
            pid @ 1.. => Which::Process(pid as u32),
            group => Which::Group(group.unsigned_abs()),
        };
        let Some((pid, end)) = self.ended_child(which, options | WEXITED)? else {
            return Ok(0);
        };
        write_optional(mem, status, &end.status().to_le_bytes())?;
        let time_bytes = if is_osf { OSF_TIME_BYTES } else { TIME_BYTES };
        self.tell_resources(mem, pid, rusage, time_bytes)?;
        self.reap(pid);
        Ok(u64::from(pid))
    }

    /// `waitid`.
    pub(in super::super) fn waitid(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        const ALL: u64 = 0;
        const PROCESS: u64 = 1;
        const GROUP: u64 = 2;
        const KINDS: u64 = WEXITED | WSTOPPED | WCONTINUED;
        let [kind, id, info, options, rusage, _] = *a;
        let options = u64::from(options as u32);
        if options & !(WNOHANG | KINDS | WNOWAIT | WNOTHREAD | WALL | WCLONE) != 0
            || options & KINDS == 0
        {
            return Err(Errno::EINVAL);
        }
        let which = match (u64::from(kind as u32), id as i32) {
            (ALL, _) => Which::Any,
            (PROCESS, pid @ 1..) => Which::Process(pid as u32),
            (GROUP, 0) => Which::Group(self.group_and_session().0),
            (GROUP, group @ 1..) => Which::Group(group as u32),
            _ => return Err(Errno::EINVAL),
        };
        let ended = self.ended_child(which, options)?;
        let told = match ended {
            None => Record::new().pad_to(28).done(),
            Some((pid, end)) => {
                let signal = self.abi.signal_rules().child;
                let told = end.told(signal, pid).encode();
                told[..28].to_vec()
            }
        };
        write_optional(mem, info, &told)?;
        if let Some((pid, _)) = ended {
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

    /// Forgets a child that has ended; its time counts as that of children.
    fn reap(&mut self, pid: u32) {
        if let Some(child) = self.family.members.remove(&pid) {
            self.share.of_children_ns += child.used_ns;
        }
    }

    /// The first child of those that a call waits for that has ended; `None` if none has and the call does not wait.
    fn ended_child(&mut self, which: Which, options: u64) -> Result<Option<(u32, End)>, Errno> {
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
            .map(|(pid, member)| (*pid, member.end))
            .peekable();
        if meant.peek().is_none() {
            return Err(Errno::ECHILD);
        }
        let ended = meant.find_map(|(pid, end)| Some((pid, end?)));
        match ended {
            Some(ended) if options & WEXITED != 0 => Ok(Some(ended)),
            _ if options & WNOHANG != 0 => Ok(None),
            _ => Err(self.must_wait(WaitFor::Child, None)),
        }
    }
}
