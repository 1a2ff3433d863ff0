//! Parents, groups and sessions, and signals to processes (Linux `kernel/sys.c`, `kernel/signal.c`).

use super::super::Linux;
use super::super::errno::Errno;
use super::super::signals::SigInfo;
use super::{INIT, Member};

impl Linux {
    /// The process itself, for 0, or the one that a call names, ended ones among them.
    fn member(&self, pid: u64) -> Result<(u32, Member), Errno> {
        let pid = match pid as u32 {
            0 => self.pid,
            pid => pid,
        };
        let member = self.family.members.get(&pid).ok_or(Errno::ESRCH)?;
        Ok((pid, *member))
    }

    /// `getppid`.
    pub(in super::super) fn parent(&self) -> u32 {
        self.member(0).map_or(INIT, |(_, member)| member.parent)
    }

    /// Group and session of the process.
    pub(in super::super) fn group_and_session(&self) -> (u32, u32) {
        let own = self.member(0);
        own.map_or((self.pid, self.pid), |(_, m)| (m.group, m.session))
    }

    /// Whether a call names a process that exists; 0 is the caller.
    pub(in super::super) fn has_process(&self, pid: u64) -> bool {
        self.member(pid).is_ok()
    }

    /// `getpgid`.
    pub(in super::super) fn getpgid(&self, pid: u64) -> Result<u64, Errno> {
        Ok(u64::from(self.member(pid)?.1.group))
    }

    /// `getsid`.
    pub(in super::super) fn getsid(&self, pid: u64) -> Result<u64, Errno> {
        Ok(u64::from(self.member(pid)?.1.session))
    }

    /// `setpgid`: of the process or a child that still runs the same program, to its own group or one of the session.
    pub(in super::super) fn setpgid(&mut self, pid: u64, group: u64) -> Result<u64, Errno> {
        if (group as i32) < 0 {
            return Err(Errno::EINVAL);
        }
        let (pid, member) = self.member(pid)?;
        let own = self.member(0)?.1;
        if pid != self.pid {
            if member.parent != self.pid {
                return Err(Errno::ESRCH);
            }
            if member.session != own.session {
                return Err(Errno::EPERM);
            }
            if member.has_executed {
                return Err(Errno::EACCES);
            }
        }
        if member.session == pid {
            return Err(Errno::EPERM);
        }
        let group = match group as u32 {
            0 => pid,
            group => group,
        };
        let mut all = self.family.members.values();
        if group != pid && !all.any(|m| m.group == group && m.session == own.session) {
            return Err(Errno::EPERM);
        }
        if let Some(member) = self.family.members.get_mut(&pid) {
            member.group = group;
        }
        Ok(0)
    }

    /// The process has another real user.
    pub(in super::super) fn note_user(&mut self, uid: u32) {
        if let Some(member) = self.family.members.get_mut(&self.pid) {
            member.uid = uid;
        }
    }

    /// `setsid`: the leader of a group cannot begin a session.
    pub(in super::super) fn setsid(&mut self) -> Result<u64, Errno> {
        let pid = self.pid;
        if self.family.members.values().any(|m| m.group == pid) {
            return Err(Errno::EPERM);
        }
        if let Some(member) = self.family.members.get_mut(&pid) {
            (member.group, member.session) = (pid, pid);
        }
        Ok(u64::from(pid))
    }

    /// Sends a signal to the processes that `kill` names; `None` only asks whether there are any.
    pub(in super::super) fn send_to_processes(
        &mut self,
        to: i32,
        info: Option<SigInfo>,
    ) -> Result<u64, Errno> {
        const ALL: i32 = -1;
        let own = self.pid;
        let uid = self.credentials.uid();
        let group = match to {
            0 => self.group_and_session().0,
            _ => to.unsigned_abs(),
        };
        let is_meant = |pid: u32, member: &Member| match to {
            1.. => pid == to as u32,
            ALL => pid != own,
            _ => member.group == group,
        };
        let members = self.family.members.iter();
        let meant: Vec<u32> = members
            .filter(|(pid, member)| is_meant(**pid, member))
            .map(|(pid, _)| *pid)
            .collect();
        if meant.is_empty() {
            return Err(Errno::ESRCH);
        }
        let is_allowed = |pid: &u32| {
            let other = self.family.parked.get(pid);
            *pid == own
                || other.is_none_or(|guest| self.credentials.may_signal(&guest.os.credentials))
        };
        let allowed: Vec<u32> = meant.into_iter().filter(is_allowed).collect();
        if allowed.is_empty() {
            return Err(Errno::EPERM);
        }
        let Some(info) = info else { return Ok(0) };
        for pid in allowed {
            let info = SigInfo {
                sender: info.sender.or(Some((own, uid))),
                ..info
            };
            if pid == own {
                self.send_to_process(info);
            } else if let Some(other) = self.other_process(pid) {
                let was_stopped = other.is_stopped();
                other.send_to_process(info);
                if was_stopped {
                    self.note_continued(pid);
                }
            }
        }
        Ok(0)
    }

    /// The operating system of a process that does not run.
    pub(in super::super) fn other_process(&mut self, pid: u32) -> Option<&mut Linux> {
        self.family.parked_mut(pid).map(|guest| &mut *guest.os)
    }
}
