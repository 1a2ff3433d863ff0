//! Users, groups of users and capabilities: who a process is, and what it may do (Linux `kernel/sys.c`,
//! `kernel/capability.c`, `security/commoncap.c`).
//!
//! Threads of a process share them: the C libraries see to it that they change together.

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::errno::Errno;
use super::record::Record;
use crate::process::Thread;

/// An identity that stays as it is.
const UNCHANGED: u32 = u32::MAX;
/// The most supplementary groups (`NGROUPS_MAX`).
const MOST_GROUPS: usize = 65536;

/// A user and a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The number of the user; 0 is root.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
}

impl Default for Owner {
    /// A user without privileges.
    fn default() -> Self {
        Owner {
            uid: 1000,
            gid: 1000,
        }
    }
}

/// Capabilities, as bits of their numbers (Linux `include/uapi/linux/capability.h`).
pub(super) mod capability {
    pub const CHOWN: u64 = 1;
    pub const DAC_OVERRIDE: u64 = 1 << 1;
    pub const FOWNER: u64 = 1 << 3;
    pub const KILL: u64 = 1 << 5;
    pub const SETGID: u64 = 1 << 6;
    pub const SETUID: u64 = 1 << 7;
    pub const SETPCAP: u64 = 1 << 8;
    pub const IPC_LOCK: u64 = 1 << 14;
    pub const IPC_OWNER: u64 = 1 << 15;
    pub const SYS_CHROOT: u64 = 1 << 18;
    pub const SYS_ADMIN: u64 = 1 << 21;
    pub const SYS_NICE: u64 = 1 << 23;
    pub const SYS_RESOURCE: u64 = 1 << 24;
    pub const SYS_TIME: u64 = 1 << 25;
    /// The number of the last one (`CAP_CHECKPOINT_RESTORE`).
    pub const LAST: u64 = 40;
    pub const ALL: u64 = (1 << (LAST + 1)) - 1;
}

/// The users, or groups, that a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ids {
    real: u32,
    effective: u32,
    saved: u32,
    /// The one that counts for files.
    of_files: u32,
}

impl Ids {
    fn of(id: u32) -> Ids {
        Ids {
            real: id,
            effective: id,
            saved: id,
            of_files: id,
        }
    }

    fn has(&self, id: u32) -> bool {
        id == self.real || id == self.effective || id == self.saved
    }

    /// `setuid` and `setgid`.
    pub(super) fn set(&mut self, id: u32, is_privileged: bool) -> Result<(), Errno> {
        if id == UNCHANGED {
            return Err(Errno::EINVAL);
        }
        if is_privileged {
            *self = Ids::of(id);
        } else if id == self.real || id == self.saved {
            (self.effective, self.of_files) = (id, id);
        } else {
            return Err(Errno::EPERM);
        }
        Ok(())
    }

    /// `setreuid` and `setregid`.
    pub(super) fn set_two(
        &mut self,
        real: u32,
        effective: u32,
        is_privileged: bool,
    ) -> Result<(), Errno> {
        let may_be_real = real == UNCHANGED || real == self.real || real == self.effective;
        let may_be_effective = effective == UNCHANGED || self.has(effective);
        if !(is_privileged || may_be_real && may_be_effective) {
            return Err(Errno::EPERM);
        }
        let before = self.real;
        set(&mut self.real, real);
        set(&mut self.effective, effective);
        if real != UNCHANGED || effective != UNCHANGED && effective != before {
            self.saved = self.effective;
        }
        self.of_files = self.effective;
        Ok(())
    }

    /// `setresuid` and `setresgid`.
    pub(super) fn set_three(&mut self, wanted: [u32; 3], is_privileged: bool) -> Result<(), Errno> {
        let may_be = |id: &u32| *id == UNCHANGED || self.has(*id);
        if !is_privileged && !wanted.iter().all(may_be) {
            return Err(Errno::EPERM);
        }
        set(&mut self.real, wanted[0]);
        set(&mut self.effective, wanted[1]);
        set(&mut self.saved, wanted[2]);
        self.of_files = self.effective;
        Ok(())
    }

    /// `setfsuid` and `setfsgid`: returns the one before, also where the new one is refused.
    pub(super) fn set_of_files(&mut self, id: u32, is_privileged: bool) -> u64 {
        let before = self.of_files;
        if id != UNCHANGED && (is_privileged || self.has(id) || id == before) {
            self.of_files = id;
        }
        u64::from(before)
    }

    fn words(&self) -> [u32; 4] {
        [self.real, self.effective, self.saved, self.of_files]
    }
}

fn set(id: &mut u32, wanted: u32) {
    if wanted != UNCHANGED {
        *id = wanted;
    }
}

/// Who a process is, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Credentials {
    user: Ids,
    group: Ids,
    groups: Vec<u32>,
    permitted: u64,
    effective: u64,
    inheritable: u64,
    ambient: u64,
    bounding: u64,
    secure_bits: u32,
}

impl Credentials {
    /// Credentials of a user's program. Root has all capabilities, others have none.
    pub(super) fn of(owner: Owner) -> Credentials {
        let capabilities = if owner.uid == 0 { capability::ALL } else { 0 };
        Credentials {
            user: Ids::of(owner.uid),
            group: Ids::of(owner.gid),
            groups: Vec::new(),
            permitted: capabilities,
            effective: capabilities,
            inheritable: 0,
            ambient: 0,
            bounding: capability::ALL,
            secure_bits: 0,
        }
    }

    /// Whether the process may use a capability.
    pub(super) fn may(&self, capability: u64) -> bool {
        self.effective & capability != 0
    }

    /// The real user.
    pub(super) fn uid(&self) -> u32 {
        self.user.real
    }

    /// The effective user.
    pub(super) fn euid(&self) -> u32 {
        self.user.effective
    }

    /// The real group.
    pub(super) fn gid(&self) -> u32 {
        self.group.real
    }

    /// The effective group.
    pub(super) fn egid(&self) -> u32 {
        self.group.effective
    }

    /// Whether the process belongs to a group.
    pub(super) fn is_in_group(&self, gid: u32) -> bool {
        self.group.effective == gid || self.groups.contains(&gid)
    }

    /// Whether the process may send signals to one with these credentials.
    pub(super) fn may_signal(&self, other: &Credentials) -> bool {
        let of_other = [other.user.real, other.user.saved];
        self.may(capability::KILL)
            || of_other.contains(&self.user.effective)
            || of_other.contains(&self.user.real)
    }

    /// The bits of a mode (4 read, 2 write, 1 execute) that the process has on what `owner` owns. `by_real` asks for the
    /// real user and group.
    pub(super) fn access(&self, mode: u32, owner: Owner, by_real: bool) -> u32 {
        let (user, group) = match by_real {
            true => (self.user.real, self.group.real),
            false => (self.user.of_files, self.group.of_files),
        };
        let is_root = match by_real {
            true => user == 0,
            false => self.may(capability::DAC_OVERRIDE),
        };
        if is_root {
            let executable = u32::from(mode & 0o111 != 0 || mode & 0o170_000 == 0o040_000);
            return 6 | executable;
        }
        let bits = if user == owner.uid {
            mode >> 6
        } else if group == owner.gid || self.groups.contains(&owner.gid) {
            mode >> 3
        } else {
            mode
        };
        bits & 7
    }

    /// Whether the process may change the mode of what `owner` owns.
    pub(super) fn owns(&self, owner: Owner) -> bool {
        self.may(capability::FOWNER) || self.user.of_files == owner.uid
    }

    /// Checks that the process may give what `owner` owns to another user and group.
    pub(super) fn check_new_owner(&self, owner: Owner, wanted: [u64; 2]) -> Result<(), Errno> {
        let [uid, gid] = wanted.map(|id| id as u32);
        let is_own = self.user.of_files == owner.uid;
        let has_group = self.group.of_files == gid || self.groups.contains(&gid);
        let may_be_user = uid == UNCHANGED || is_own && uid == owner.uid;
        let may_be_group = gid == UNCHANGED || is_own && (has_group || gid == owner.gid);
        match self.may(capability::CHOWN) || may_be_user && may_be_group {
            true => Ok(()),
            false => Err(Errno::EPERM),
        }
    }

    /// Rows of `/proc/self/status`.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let ids = |ids: &Ids| ids.words().map(|id| id.to_string()).join("\t");
        let set = |capabilities: u64| format!("{capabilities:016x}");
        vec![
            ("Uid", ids(&self.user)),
            ("Gid", ids(&self.group)),
            (
                "Groups",
                self.groups.iter().map(|id| format!("{id} ")).collect(),
            ),
            ("CapInh", set(self.inheritable)),
            ("CapPrm", set(self.permitted)),
            ("CapEff", set(self.effective)),
            ("CapBnd", set(self.bounding)),
            ("CapAmb", set(self.ambient)),
        ]
    }

    /// The user has changed: capabilities go when nothing of root is left, unless the thread keeps those permitted
    /// (`cap_emulate_setxuid`).
    fn fix_capabilities(&mut self, before: Ids, keeps: bool) {
        let is_root = |ids: &Ids| ids.real == 0 || ids.effective == 0 || ids.saved == 0;
        if is_root(&before) && !is_root(&self.user) {
            if !keeps {
                self.permitted = 0;
                self.effective = 0;
            }
            self.ambient = 0;
        }
        match (before.effective, self.user.effective) {
            (0, new) if new != 0 => self.effective = 0,
            (old, 0) if old != 0 => self.effective = self.permitted,
            _ => {}
        }
    }

    /// The process executes a program.
    pub(super) fn execute(&mut self) {
        self.user.saved = self.user.effective;
        self.group.saved = self.group.effective;
        self.user.of_files = self.user.effective;
        self.group.of_files = self.group.effective;
        let is_root = self.user.real == 0 || self.user.effective == 0;
        if is_root {
            self.permitted = self.inheritable | self.bounding;
            self.ambient = 0;
        } else {
            self.permitted = self.ambient;
        }
        self.effective = match self.user.effective {
            0 => self.permitted,
            _ => self.ambient,
        };
    }
}

impl Linux {
    /// Real and effective user, real and effective group of the process.
    pub(crate) fn ids(&self) -> [u32; 4] {
        let own = &self.credentials;
        [own.uid(), own.euid(), own.gid(), own.egid()]
    }

    /// Whether the process may use a capability.
    pub(super) fn may(&self, capability: u64) -> bool {
        self.credentials.may(capability)
    }

    /// Changes which users the process is, with the right to become anybody or without.
    pub(super) fn change_users(
        &mut self,
        thread: &Thread,
        change: impl FnOnce(&mut Ids, bool) -> Result<(), Errno>,
    ) -> Result<u64, Errno> {
        let may_be_all = self.may(capability::SETUID);
        let own = &mut self.credentials;
        let before = own.user;
        change(&mut own.user, may_be_all)?;
        if own.user != before {
            own.fix_capabilities(before, thread.attributes.keeps_capabilities());
            let uid = own.uid();
            self.note_user(uid);
        }
        Ok(0)
    }

    /// Changes which groups the process is, with the right to become any or without.
    pub(super) fn change_groups(
        &mut self,
        change: impl FnOnce(&mut Ids, bool) -> Result<(), Errno>,
    ) -> Result<u64, Errno> {
        let may_be_all = self.may(capability::SETGID);
        change(&mut self.credentials.group, may_be_all).map(|()| 0)
    }

    pub(super) fn set_user_of_files(&mut self, id: u32) -> u64 {
        let may_be_all = self.may(capability::SETUID);
        self.credentials.user.set_of_files(id, may_be_all)
    }

    pub(super) fn set_group_of_files(&mut self, id: u32) -> u64 {
        let may_be_all = self.may(capability::SETGID);
        self.credentials.group.set_of_files(id, may_be_all)
    }

    pub(super) fn getresuid(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        write_ids(mem, a, self.credentials.user).map(|()| 0)
    }

    pub(super) fn getresgid(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        write_ids(mem, a, self.credentials.group).map(|()| 0)
    }

    pub(super) fn getgroups(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let groups = &self.credentials.groups;
        let room = usize::try_from(a[0] as i32).map_err(|_| Errno::EINVAL)?;
        if room > 0 {
            if room < groups.len() {
                return Err(Errno::EINVAL);
            }
            let bytes: Vec<u8> = groups.iter().flat_map(|id| id.to_le_bytes()).collect();
            mem.write_bytes(a[1], &bytes)?;
        }
        Ok(groups.len() as u64)
    }

    pub(super) fn setgroups(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        if !self.may(capability::SETGID) {
            return Err(Errno::EPERM);
        }
        let count = a[0] as u32 as usize;
        if count > MOST_GROUPS {
            return Err(Errno::EINVAL);
        }
        let bytes = mem.readable(a[1], 4 * count as u64)?;
        let words = bytes.as_chunks::<4>().0.iter();
        let mut groups: Vec<u32> = words.map(|word| u32::from_le_bytes(*word)).collect();
        groups.sort_unstable();
        self.credentials.groups = groups;
        Ok(0)
    }

    /// How many pairs of words the version in a header of capabilities has, and the process that the header names. A
    /// version that is not known is answered with the one to use.
    fn capability_header(mem: &mut Memory, header: u64) -> Result<(usize, i32), Errno> {
        const PREFERRED: u32 = 0x2008_0522;
        let version = mem.read::<4>(header)? as u32;
        let words = match version {
            0x1998_0330 => 1,
            0x2007_1026 | PREFERRED => 2,
            _ => {
                mem.write_bytes(header, &PREFERRED.to_le_bytes())?;
                return Err(Errno::EINVAL);
            }
        };
        Ok((words, mem.read::<4>(header.wrapping_add(4))? as i32))
    }

    pub(super) fn capget(&self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [header, data, ..] = *a;
        let (words, pid) = match Linux::capability_header(mem, header) {
            Err(Errno::EINVAL) if data == 0 => return Ok(0),
            found => found?,
        };
        if data == 0 {
            return Ok(0);
        }
        let pid = u32::try_from(pid).map_err(|_| Errno::EINVAL)?;
        let asked = match pid {
            0 => &self.credentials,
            _ if pid == self.pid || self.threads.has_other(pid) => &self.credentials,
            _ => {
                let mut others = self.other_processes();
                let other = others.find(|os| os.pid == pid).ok_or(Errno::ESRCH)?;
                &other.credentials
            }
        };
        let sets = [asked.effective, asked.permitted, asked.inheritable];
        let record = (0..words).fold(Record::new(), |record, word| {
            sets.iter().fold(record, |record, set| {
                record.u32((set >> (32 * word)) as u32)
            })
        });
        mem.write_bytes(data, &record.done())?;
        Ok(0)
    }

    pub(super) fn capset(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [header, data, ..] = *a;
        let (words, pid) = Linux::capability_header(mem, header)?;
        if pid != 0 && pid != self.pid as i32 {
            return Err(Errno::EPERM);
        }
        let mut sets = [0u64; 3];
        for (index, word) in (0..words * 3).zip(0u64..) {
            let value = mem.read::<4>(data.wrapping_add(4 * word))?;
            sets[index % 3] |= value << (32 * (index / 3));
        }
        let [effective, permitted, inheritable] = sets.map(|set| set & capability::ALL);
        let may_all = self.may(capability::SETPCAP);
        let own = &mut self.credentials;
        let is_within = |set: u64, bound: u64| set & !bound == 0;
        let allowed = (may_all || is_within(inheritable, own.inheritable | own.permitted))
            && is_within(inheritable, own.inheritable | own.bounding)
            && is_within(permitted, own.permitted)
            && is_within(effective, permitted);
        if !allowed {
            return Err(Errno::EPERM);
        }
        own.effective = effective;
        own.permitted = permitted;
        own.inheritable = inheritable;
        own.ambient &= permitted & inheritable;
        Ok(0)
    }

    /// The requests of `prctl` that are about capabilities; `None` if it is none of them.
    pub(super) fn control_capabilities(&mut self, a: &[u64; 6]) -> Option<Result<u64, Errno>> {
        const CAPBSET_READ: u32 = 23;
        const CAPBSET_DROP: u32 = 24;
        const GET_SECUREBITS: u32 = 27;
        const SET_SECUREBITS: u32 = 28;
        const CAP_AMBIENT: u32 = 47;
        /// Each of the four bits and its lock.
        const SECURE_BITS: u64 = 0xff;
        let [option, value, ..] = *a;
        let may_all = self.may(capability::SETPCAP);
        let own = &mut self.credentials;
        Some(match option as u32 {
            CAPBSET_READ | CAPBSET_DROP if value > capability::LAST => Err(Errno::EINVAL),
            CAPBSET_READ => Ok(own.bounding >> value & 1),
            CAPBSET_DROP | SET_SECUREBITS if !may_all => Err(Errno::EPERM),
            CAPBSET_DROP => {
                own.bounding &= !(1 << value);
                Ok(0)
            }
            GET_SECUREBITS => Ok(u64::from(own.secure_bits)),
            SET_SECUREBITS if value & !SECURE_BITS != 0 => Err(Errno::EPERM),
            SET_SECUREBITS => {
                own.secure_bits = value as u32;
                Ok(0)
            }
            CAP_AMBIENT => own.control_ambient(&[a[1], a[2], a[3], a[4]]),
            _ => return None,
        })
    }
}

impl Credentials {
    fn control_ambient(&mut self, a: &[u64; 4]) -> Result<u64, Errno> {
        const IS_SET: u64 = 1;
        const RAISE: u64 = 2;
        const LOWER: u64 = 3;
        const CLEAR_ALL: u64 = 4;
        let [request, number, ..] = *a;
        if request == CLEAR_ALL {
            if a[1..] != [0; 3] {
                return Err(Errno::EINVAL);
            }
            self.ambient = 0;
            return Ok(0);
        }
        if a[2..] != [0; 2] || number > capability::LAST {
            return Err(Errno::EINVAL);
        }
        let bit = 1 << number;
        match request {
            IS_SET => return Ok(self.ambient >> number & 1),
            RAISE if self.permitted & self.inheritable & bit == 0 => return Err(Errno::EPERM),
            RAISE => self.ambient |= bit,
            LOWER => self.ambient &= !bit,
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }
}

/// Writes real, effective and saved identity to where the arguments say.
fn write_ids(mem: &mut Memory, a: &[u64; 6], ids: Ids) -> Result<(), Errno> {
    for (at, id) in a.iter().zip(ids.words()).take(3) {
        mem.write_bytes(*at, &id.to_le_bytes())?;
    }
    Ok(())
}

/// The first three arguments as numbers of users or groups.
pub(super) fn ids(a: &[u64; 6]) -> [u32; 3] {
    [a[0], a[1], a[2]].map(|id| id as u32)
}
