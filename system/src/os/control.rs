//! `prctl`, `personality`, `membarrier`: attributes of guest and thread that are kept and told, with little effect.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use hps_isa::memory::Memory;

use super::Linux;
use super::errno::Errno;
use super::signals::LAST_SIGNAL;
use crate::process::Thread;

/// How far timers may be late, in nanoseconds.
const TIMER_SLACK_NS: u64 = 50_000;

/// Attributes of the guest that it sets and asks for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Attributes {
    dumpable: bool,
    reaps: bool,
    huge_pages_disabled: bool,
    /// Registrations for `membarrier`, as its commands.
    barriers: u32,
    /// Names that threads have given themselves, also those of threads that have ended.
    names: BTreeMap<u32, [u8; Thread::NAME_BYTES]>,
}

impl Default for Attributes {
    fn default() -> Self {
        Attributes {
            dumpable: true,
            reaps: false,
            huge_pages_disabled: false,
            barriers: 0,
            names: BTreeMap::new(),
        }
    }
}

/// Attributes of a thread that it sets and asks for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ThreadAttributes {
    personality: u32,
    death_signal: u32,
    keeps_capabilities: bool,
    no_new_privileges: bool,
    timer_slack_ns: u64,
}

impl Default for ThreadAttributes {
    fn default() -> Self {
        ThreadAttributes {
            personality: 0,
            death_signal: 0,
            keeps_capabilities: false,
            no_new_privileges: false,
            timer_slack_ns: TIMER_SLACK_NS,
        }
    }
}

impl Linux {
    /// Whether the process wants the children of descendants that end (`PR_SET_CHILD_SUBREAPER`).
    pub(super) fn reaps_orphans(&self) -> bool {
        self.attributes.reaps
    }

    /// The names that threads have given themselves, by the threads' numbers.
    #[must_use]
    pub fn thread_names(&self) -> BTreeMap<u32, String> {
        let names = self.attributes.names.iter();
        names
            .map(|(&number, name)| (number, Thread::readable_name(name)))
            .collect()
    }
}

impl ThreadAttributes {
    /// Whether capabilities stay permitted when the user changes (`PR_SET_KEEPCAPS`).
    pub(super) fn keeps_capabilities(&self) -> bool {
        self.keeps_capabilities
    }

    /// `personality`: every one is kept, and none has an effect.
    pub(super) fn set_personality(&mut self, wanted: u64) -> u64 {
        const ASK: u32 = u32::MAX;
        let before = self.personality;
        if wanted as u32 != ASK {
            self.personality = wanted as u32;
        }
        u64::from(before)
    }
}

impl Linux {
    pub(super) fn prctl(
        &mut self,
        thread: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        const SET_PDEATHSIG: u32 = 1;
        const GET_PDEATHSIG: u32 = 2;
        const GET_DUMPABLE: u32 = 3;
        const SET_DUMPABLE: u32 = 4;
        const GET_KEEPCAPS: u32 = 7;
        const SET_KEEPCAPS: u32 = 8;
        const GET_TIMING: u32 = 13;
        const SET_TIMING: u32 = 14;
        const SET_NAME: u32 = 15;
        const GET_NAME: u32 = 16;
        const GET_SECCOMP: u32 = 21;
        const SET_TIMERSLACK: u32 = 29;
        const GET_TIMERSLACK: u32 = 30;
        const SET_CHILD_SUBREAPER: u32 = 36;
        const GET_CHILD_SUBREAPER: u32 = 37;
        const SET_NO_NEW_PRIVS: u32 = 38;
        const GET_NO_NEW_PRIVS: u32 = 39;
        const SET_THP_DISABLE: u32 = 41;
        const GET_THP_DISABLE: u32 = 42;
        if let Some(result) = self.control_capabilities(a) {
            return result;
        }
        let [option, value, ..] = *a;
        let rest_is_zero = a[2..5] == [0; 3];
        let shared = &mut self.attributes;
        let own = &mut thread.attributes;
        match option as u32 {
            SET_PDEATHSIG if value > u64::from(LAST_SIGNAL) => return Err(Errno::EINVAL),
            SET_PDEATHSIG => own.death_signal = value as u32,
            GET_PDEATHSIG => mem.write_bytes(value, &own.death_signal.to_le_bytes())?,
            GET_DUMPABLE => return Ok(u64::from(shared.dumpable)),
            SET_DUMPABLE => shared.dumpable = flag(value)?,
            GET_KEEPCAPS => return Ok(u64::from(own.keeps_capabilities)),
            SET_KEEPCAPS => own.keeps_capabilities = flag(value)?,
            // Statistical timing is all there is.
            GET_TIMING => {}
            SET_TIMING if value != 0 => return Err(Errno::EINVAL),
            SET_TIMING => {}
            SET_NAME => {
                let available = mem.readable_prefix_bytes(value, Thread::NAME_BYTES as u64 - 1);
                let bytes = mem.readable(value, available)?;
                if bytes.is_empty() {
                    return Err(Errno::EFAULT);
                }
                let len = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
                thread.name = [0; Thread::NAME_BYTES];
                thread.name[..len].copy_from_slice(&bytes[..len]);
                shared.names.insert(thread.tid, thread.name);
            }
            GET_NAME => mem.write_bytes(value, &thread.name)?,
            GET_SECCOMP => {}
            SET_TIMERSLACK => {
                own.timer_slack_ns = match value {
                    0 => TIMER_SLACK_NS,
                    nanos => nanos,
                };
            }
            GET_TIMERSLACK => return Ok(own.timer_slack_ns),
            SET_CHILD_SUBREAPER => shared.reaps = value != 0,
            GET_CHILD_SUBREAPER => {
                mem.write_bytes(value, &u32::from(shared.reaps).to_le_bytes())?
            }
            SET_NO_NEW_PRIVS if value == 1 && rest_is_zero => own.no_new_privileges = true,
            GET_NO_NEW_PRIVS if value == 0 && rest_is_zero => {
                return Ok(u64::from(own.no_new_privileges));
            }
            SET_THP_DISABLE if rest_is_zero => shared.huge_pages_disabled = value != 0,
            GET_THP_DISABLE if value == 0 && rest_is_zero => {
                return Ok(u64::from(shared.huge_pages_disabled));
            }
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }

    /// `membarrier`: there is no other thread whose memory accesses need ordering.
    pub(super) fn membarrier(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        const QUERY: u32 = 0;
        const GLOBAL: u32 = 1;
        const GLOBAL_EXPEDITED: u32 = 2;
        const REGISTER_GLOBAL_EXPEDITED: u32 = 4;
        const PRIVATE_EXPEDITED: u32 = 8;
        const REGISTER_PRIVATE_EXPEDITED: u32 = 16;
        const ALL: u32 = 31;
        let [command, flags, ..] = *a;
        if flags as u32 != 0 {
            return Err(Errno::EINVAL);
        }
        let barriers = &mut self.attributes.barriers;
        match command as u32 {
            QUERY => return Ok(u64::from(ALL)),
            GLOBAL | GLOBAL_EXPEDITED => {}
            command @ (REGISTER_GLOBAL_EXPEDITED | REGISTER_PRIVATE_EXPEDITED) => {
                *barriers |= command;
            }
            PRIVATE_EXPEDITED if *barriers & REGISTER_PRIVATE_EXPEDITED == 0 => {
                return Err(Errno::EPERM);
            }
            PRIVATE_EXPEDITED => {}
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }
}

fn flag(value: u64) -> Result<bool, Errno> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Errno::EINVAL),
    }
}
