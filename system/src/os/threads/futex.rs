//! Futexes: words of memory that threads wait on (futex(2), Linux `kernel/futex/`).

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use hps_isa::memory::Memory;
use rustc_hash::FxHashMap;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::outcome::{Outcome, Unserved};
use super::super::time::TimeFormat;
use super::wait::WaitFor;

const PRIVATE: u32 = 0x80;
const CLOCK_REALTIME: u32 = 0x100;

const WAIT: u32 = 0;
const WAKE: u32 = 1;
const REQUEUE: u32 = 3;
const CMP_REQUEUE: u32 = 4;
const WAKE_OP: u32 = 5;
const LOCK_PI: u32 = 6;
const UNLOCK_PI: u32 = 7;
const TRYLOCK_PI: u32 = 8;
const WAIT_BITSET: u32 = 9;
const WAKE_BITSET: u32 = 10;
const WAIT_REQUEUE_PI: u32 = 11;
const CMP_REQUEUE_PI: u32 = 12;
const LOCK_PI2: u32 = 13;
const ALL_BITS: u32 = u32::MAX;

/// Who waits at each address, in the order in which they came.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Futexes {
    queues: FxHashMap<u64, VecDeque<(u32, u32)>>,
}

impl Futexes {
    pub(super) fn wait(&mut self, addr: u64, tid: u32, bits: u32) {
        self.queues.entry(addr).or_default().push_back((tid, bits));
    }

    pub(super) fn forget(&mut self, addr: u64, tid: u32) {
        if let Some(queue) = self.queues.get_mut(&addr) {
            queue.retain(|(waiter, _)| *waiter != tid);
            if queue.is_empty() {
                self.queues.remove(&addr);
            }
        }
    }

    /// Whether somebody waits at an address.
    pub(super) fn is_waited_at(&self, addr: u64) -> bool {
        self.queues.contains_key(&addr)
    }

    /// The first one there that waits for one of `bits`.
    fn first(&self, addr: u64, bits: u32) -> Option<u32> {
        let queue = self.queues.get(&addr)?;
        let found = queue.iter().find(|(_, wanted)| wanted & bits != 0);
        found.map(|(tid, _)| *tid)
    }
}

impl super::Threads {
    /// Wakes up to `most` threads that wait at `addr` for one of `bits`, and says how many.
    pub(in super::super) fn wake_futex(&mut self, addr: u64, most: u64, bits: u32) -> u64 {
        let mut woken = 0;
        while woken < most
            && let Some(tid) = self.futexes.first(addr, bits)
        {
            if let Some(blocked) = self.parked_mut(tid).and_then(|t| t.blocked.as_mut()) {
                blocked.is_woken = true;
            }
            self.wake(tid);
            woken += 1;
        }
        woken
    }

    /// Lets up to `most` threads that wait at `from` wait at `to` instead, and says how many.
    fn requeue_futex(&mut self, from: u64, to: u64, most: u64) -> u64 {
        let mut moved = 0;
        // Nobody is moved twice, also where both places are one.
        let waiting = self.futexes.queues.get(&from).map_or(0, VecDeque::len);
        while moved < most.min(waiting as u64)
            && let Some(tid) = self.futexes.first(from, ALL_BITS)
        {
            self.futexes.forget(from, tid);
            if let Some(blocked) = self.parked_mut(tid).and_then(|t| t.blocked.as_mut())
                && let WaitFor::Futex { addr, bits } = &mut blocked.waits_for
            {
                *addr = to;
                let bits = *bits;
                self.futexes.wait(to, tid, bits);
            }
            moved += 1;
        }
        moved
    }
}

impl Linux {
    pub(in super::super) fn futex(&mut self, mem: &mut Memory, a: &[u64; 6]) -> Outcome {
        let [addr, operation, value, timeout, second, third] = *a;
        let operation = operation as u32;
        let command = operation & !(PRIVATE | CLOCK_REALTIME);
        let may_be_realtime = matches!(command, WAIT | WAIT_BITSET | WAIT_REQUEUE_PI | LOCK_PI2);
        if operation & CLOCK_REALTIME != 0 && !may_be_realtime {
            return Err(Errno::ENOSYS.into());
        }
        if addr % 4 != 0 {
            return Err(Errno::EINVAL.into());
        }
        match command {
            WAIT => self.futex_wait(mem, addr, value, (operation, timeout), ALL_BITS),
            WAIT_BITSET | WAKE_BITSET if third as u32 == 0 => Err(Errno::EINVAL.into()),
            WAIT_BITSET => self.futex_wait(mem, addr, value, (operation, timeout), third as u32),
            WAKE => self.futex_wake(mem, addr, value, ALL_BITS),
            WAKE_BITSET => self.futex_wake(mem, addr, value, third as u32),
            REQUEUE | CMP_REQUEUE => {
                let is_other =
                    command == CMP_REQUEUE && mem.read::<4>(addr)? as u32 != third as u32;
                mem.readable(addr, 4)?;
                mem.readable(second, 4)?;
                if self.threads.pi.is_waited_at(addr) {
                    return Err(Errno::EINVAL.into());
                }
                if (value as i32) < 0 || (timeout as i32) < 0 || second % 4 != 0 {
                    return Err(Errno::EINVAL.into());
                }
                if is_other {
                    return Err(Errno::EAGAIN.into());
                }
                let woken = self.wake_futex(addr, value, ALL_BITS);
                let moved = self.threads.requeue_futex(addr, second, timeout);
                // REQUEUE tells only of those that were woken.
                Ok(woken + if command == CMP_REQUEUE { moved } else { 0 })
            }
            LOCK_PI | LOCK_PI2 => {
                let is_realtime = command == LOCK_PI || operation & CLOCK_REALTIME != 0;
                let until = self.futex_end(mem, timeout, is_realtime)?;
                self.futex_lock(mem, addr, until, false)
            }
            TRYLOCK_PI => self.futex_lock(mem, addr, None, true),
            UNLOCK_PI => self.futex_unlock(mem, addr),
            WAIT_REQUEUE_PI => {
                let until = self.futex_end(mem, timeout, operation & CLOCK_REALTIME != 0)?;
                self.futex_wait_to_move(mem, (addr, second), value, until)
            }
            CMP_REQUEUE_PI => self.futex_move(mem, (addr, second), (value, timeout), third as u32),
            WAKE_OP => self.futex_wake_op(mem, [addr, second], [value, timeout], third as u32),
            _ => Err(Errno::ENOSYS.into()),
        }
    }

    fn futex_wait(
        &mut self,
        mem: &Memory,
        addr: u64,
        value: u64,
        (operation, timeout): (u32, u64),
        bits: u32,
    ) -> Outcome {
        let is_absolute = operation & !(PRIVATE | CLOCK_REALTIME) == WAIT_BITSET;
        if let Some(resumed) = self.call.resumed {
            return match resumed.until_ns {
                _ if resumed.is_woken => Ok(0),
                Some(until) if until <= self.time.now_ns => Err(Errno::ETIMEDOUT.into()),
                // While it looked, for a signal, it could not be woken.
                _ if mem.read::<4>(addr)? as u32 != value as u32 => Err(Errno::EAGAIN.into()),
                until => Err(Unserved::wait(WaitFor::Futex { addr, bits }, until)),
            };
        }
        let until = match timeout {
            0 => None,
            at if !is_absolute => {
                let nanos = TimeFormat::Nanoseconds.read(mem, at)?;
                Some(self.time.now_ns.saturating_add(nanos))
            }
            at => self.futex_end(mem, at, operation & CLOCK_REALTIME != 0)?,
        };
        if mem.read::<4>(addr)? as u32 != value as u32 {
            return Err(Errno::EAGAIN.into());
        }
        if until.is_some_and(|until| until <= self.time.now_ns) {
            return Err(Errno::ETIMEDOUT.into());
        }
        Err(Unserved::wait(WaitFor::Futex { addr, bits }, until))
    }

    /// The end of a wait at an absolute time, which lies at `at`, in simulated nanoseconds; a null address is none.
    fn futex_end(&self, mem: &Memory, at: u64, is_realtime: bool) -> Result<Option<u64>, Errno> {
        if let Some(resumed) = self.call.resumed {
            return Ok(resumed.until_ns);
        }
        if at == 0 {
            return Ok(None);
        }
        let nanos = TimeFormat::Nanoseconds.read(mem, at)?;
        let epoch_ns = if is_realtime { self.time.start_ns } else { 0 };
        Ok(Some(nanos.saturating_sub(epoch_ns)))
    }

    fn futex_wake(&mut self, mem: &Memory, addr: u64, most: u64, bits: u32) -> Outcome {
        mem.readable(addr, 4)?;
        if self.threads.pi.is_waited_at(addr) {
            return Err(Errno::EINVAL.into());
        }
        // As in Linux, a count below one wakes one.
        let most = (most as i32).max(1) as u64;
        Ok(self.wake_futex(addr, most, bits))
    }

    /// Wakes up to `most` threads, those of this process first. Returns how many.
    pub(super) fn wake_futex(&mut self, addr: u64, most: u64, bits: u32) -> u64 {
        let woken = self.threads.wake_futex(addr, most, bits);
        if woken < most && self.family.has_others() {
            return woken + self.wake_shared_futex(addr, most - woken, bits);
        }
        woken
    }

    /// `FUTEX_WAKE_OP`: changes the second word, wakes waiters of the first, and of the second if its old value
    /// compares as asked.
    fn futex_wake_op(
        &mut self,
        mem: &mut Memory,
        [first, second]: [u64; 2],
        [most, most_of_second]: [u64; 2],
        encoded: u32,
    ) -> Outcome {
        const SHIFTED: u32 = 8;
        let operation = encoded >> 28;
        let compare = encoded >> 24 & 15;
        let sign_extend = |value: u32| ((value << 20) as i32 >> 20) as u32;
        let argument = sign_extend(encoded >> 12 & 0xfff);
        let expected = sign_extend(encoded & 0xfff) as i32;
        let argument = match operation & SHIFTED {
            0 => argument,
            _ => 1 << (argument & 31),
        };
        mem.readable(first, 4)?;
        if second % 4 != 0 {
            return Err(Errno::EINVAL.into());
        }
        let old = mem.read::<4>(second)? as u32;
        let new = match operation & !SHIFTED {
            0 => argument,
            1 => old.wrapping_add(argument),
            2 => old | argument,
            3 => old & !argument,
            4 => old ^ argument,
            _ => return Err(Errno::ENOSYS.into()),
        };
        mem.write_bytes(second, &new.to_le_bytes())?;
        let old = old as i32;
        let holds = match compare {
            0 => old == expected,
            1 => old != expected,
            2 => old < expected,
            3 => old <= expected,
            4 => old > expected,
            5 => old >= expected,
            _ => return Err(Errno::ENOSYS.into()),
        };
        let at_least_one = |count: u64| (count as i32).max(1) as u64;
        let mut woken = self.wake_futex(first, at_least_one(most), ALL_BITS);
        if holds {
            let most = at_least_one(most_of_second);
            woken += self.wake_futex(second, most, ALL_BITS);
        }
        Ok(woken)
    }
}
