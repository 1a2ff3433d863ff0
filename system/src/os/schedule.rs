//! Scheduling: policies, which make no difference to who runs, and processors ([`affinity`](super::affinity)).

use hps_isa::memory::Memory;
use serde::{Deserialize, Serialize};

use super::Linux;
use super::errno::Errno;
use super::identity::{Credentials, capability};
use super::record::Record;
use crate::process::Thread;

const NORMAL: u32 = 0;
const FIFO: u32 = 1;
const ROUND_ROBIN: u32 = 2;
const BATCH: u32 = 3;
const IDLE: u32 = 5;
const DEADLINE: u32 = 6;
const RESET_ON_FORK: u32 = 0x4000_0000;
/// The time slice that is reported, in nanoseconds.
const SLICE_NS: u64 = 4_000_000;

/// Whether a call names its caller: the number of the process is 0 by then.
fn is_own(pid: u64) -> bool {
    pid as u32 == 0
}

/// Refuses negative process numbers, and numbers of processes that do not exist.
fn check_process(pid: u64) -> Result<(), Errno> {
    if (pid as i32) < 0 {
        Err(Errno::EINVAL)
    } else if is_own(pid) {
        Ok(())
    } else {
        Err(Errno::ESRCH)
    }
}

/// `sched_get_priority_min` and `sched_get_priority_max` of a policy.
pub(super) fn priorities(policy: u64) -> Result<(u64, u64), Errno> {
    match policy as u32 {
        FIFO | ROUND_ROBIN => Ok((1, 99)),
        NORMAL | BATCH | IDLE | DEADLINE => Ok((0, 0)),
        _ => Err(Errno::EINVAL),
    }
}

/// `sched_getparam`: no policy that the process can have knows priorities.
pub(super) fn get_parameters(mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
    if a[1] == 0 {
        return Err(Errno::EINVAL);
    }
    check_process(a[0])?;
    mem.write_bytes(a[1], &[0; 4])?;
    Ok(0)
}

/// `sched_rr_get_interval`.
pub(super) fn time_slice(mem: &mut Memory, a: &[u64; 6]) -> Result<u64, Errno> {
    check_process(a[0])?;
    mem.write_bytes(a[1], &Record::new().u64(0).u64(SLICE_NS).done())?;
    Ok(0)
}

/// How a thread is scheduled, as it asks for it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Scheduling {
    /// The nice value, from -20 to 19.
    nice: i32,
    /// The policy (`SCHED_*`).
    policy: u32,
    /// The processors that it may run on, as a mask; those that do not exist do not count.
    processors: u64,
}

impl Default for Scheduling {
    fn default() -> Self {
        Scheduling {
            nice: 0,
            policy: NORMAL,
            processors: u64::MAX,
        }
    }
}

impl Scheduling {
    /// The processors that the thread may run on, as a mask.
    pub(crate) fn processors(&self) -> u64 {
        self.processors
    }

    pub(super) fn set_processors(&mut self, processors: u64) {
        self.processors = processors;
    }

    /// `getpriority`: the nice value, from -20 to 19, of what exists.
    pub(super) fn nice(&self, own: &Credentials, which: u64, who: u64) -> Result<i32, Errno> {
        const PROCESS: u64 = 0;
        const GROUP: u64 = 1;
        const USER: u64 = 2;
        let exists = match u64::from(which as u32) {
            PROCESS | GROUP => is_own(who),
            USER => who as u32 == 0 || who as u32 == own.uid(),
            _ => return Err(Errno::EINVAL),
        };
        if exists {
            Ok(self.nice)
        } else {
            Err(Errno::ESRCH)
        }
    }

    /// `setpriority`: without privileges a process only gets nicer. Only the caller can be meant, and nothing else changes.
    pub(super) fn set_nice(&mut self, own: &Credentials, a: &[u64; 6]) -> Result<u64, Errno> {
        let before = self.nice(own, a[0], a[1])?;
        let wanted = (a[2] as i32).clamp(-20, 19);
        if wanted < before && !own.may(capability::SYS_NICE) {
            return Err(Errno::EACCES);
        }
        self.nice = wanted;
        Ok(0)
    }

    pub(super) fn policy(&self, pid: u64) -> Result<u64, Errno> {
        check_process(pid)?;
        Ok(u64::from(self.policy))
    }

    pub(super) fn set_scheduler(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        let [pid, policy, parameters, ..] = *a;
        if (policy as i32) < 0 {
            return Err(Errno::EINVAL);
        }
        self.change_policy(mem, pid, Some(policy as u32), parameters)
    }

    pub(super) fn set_parameters(&mut self, mem: &Memory, a: &[u64; 6]) -> Result<u64, Errno> {
        self.change_policy(mem, a[0], None, a[1])
    }

    /// Sets a policy, or only its parameters. Without privileges a process can have neither a real-time policy
    /// nor leave the idle one.
    fn change_policy(
        &mut self,
        mem: &Memory,
        pid: u64,
        policy: Option<u32>,
        parameters: u64,
    ) -> Result<u64, Errno> {
        if parameters == 0 || (pid as i32) < 0 {
            return Err(Errno::EINVAL);
        }
        let priority = mem.read::<4>(parameters)?;
        check_process(pid)?;
        let wanted = policy.unwrap_or(self.policy);
        let kind = wanted & !RESET_ON_FORK;
        let (least, most) = match kind {
            // Its parameters need a call of their own.
            DEADLINE => return Err(Errno::EINVAL),
            _ => priorities(u64::from(kind))?,
        };
        if !(least..=most).contains(&priority) {
            return Err(Errno::EINVAL);
        }
        let leaves_idle = self.policy & !RESET_ON_FORK == IDLE && kind != IDLE;
        let drops_reset = self.policy & RESET_ON_FORK != 0 && wanted & RESET_ON_FORK == 0;
        if least > 0 || leaves_idle || drops_reset {
            return Err(Errno::EPERM);
        }
        self.policy = wanted;
        Ok(0)
    }
}

impl Linux {
    /// The arguments of a call whose first one is a process, in which 0 stands for the one that makes it.
    pub(super) fn own(&self, a: &[u64; 6]) -> [u64; 6] {
        self.own_at(0, a)
    }

    fn own_at(&self, place: usize, a: &[u64; 6]) -> [u64; 6] {
        let mut a = *a;
        if a[place] as u32 == self.pid {
            a[place] = 0;
        }
        a
    }

    /// The arguments of a call on the priorities of a process, a group or a user, in which 0 stands for the caller's.
    fn own_priority(&self, a: &[u64; 6]) -> [u64; 6] {
        const USER: u64 = 2;
        match a[0] {
            USER => *a,
            _ => self.own_at(1, a),
        }
    }

    /// `getpriority`: the nice value.
    pub(super) fn getpriority(&self, thread: &Thread, a: &[u64; 6]) -> Result<i32, Errno> {
        let a = self.own_priority(a);
        thread.scheduling.nice(&self.credentials, a[0], a[1])
    }

    pub(super) fn setpriority(&self, thread: &mut Thread, a: &[u64; 6]) -> Result<u64, Errno> {
        let a = self.own_priority(a);
        thread.scheduling.set_nice(&self.credentials, &a)
    }
}
