//! Futexes with priority inheritance: locks whose words hold the numbers of their owners (futex(2), Linux
//! `kernel/futex/pi.c`, `kernel/futex/requeue.c`).
//!
//! A program takes and gives back a lock that nobody waits for on its own. Where somebody waits, the kernel hands the lock
//! on, and the new owner has it before it runs again. Priorities do not matter to the order of threads here: nobody
//! inherits any, and the first that waits is the first that has the lock.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::outcome::{Outcome, Unserved};
use super::clone::{FUTEX_OWNER_DIED, FUTEX_TID, FUTEX_WAITERS};
use super::wait::WaitFor;

/// A lock that somebody waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Lock {
    owner: u32,
    /// Threads that wait for it, in the order in which they came.
    waiters: VecDeque<u32>,
}

/// A thread that waits to be moved to a lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Mover {
    tid: u32,
    /// The address of the lock.
    lock: u64,
}

/// The threads of a process that wait for locks, by the addresses of these.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PiFutexes {
    locks: BTreeMap<u64, Lock>,
    /// Who waits to be moved, by the addresses where they wait.
    conditions: BTreeMap<u64, VecDeque<Mover>>,
}

impl PiFutexes {
    pub(super) fn wait_for_lock(&mut self, addr: u64, owner: u32, tid: u32) {
        let new = || Lock {
            owner,
            waiters: VecDeque::new(),
        };
        let lock = self.locks.entry(addr).or_insert_with(new);
        lock.waiters.push_back(tid);
    }

    pub(super) fn wait_to_move(&mut self, addr: u64, lock: u64, tid: u32) {
        let queue = self.conditions.entry(addr).or_default();
        queue.push_back(Mover { tid, lock });
    }

    pub(super) fn leave_lock(&mut self, addr: u64, tid: u32) {
        if let Some(lock) = self.locks.get_mut(&addr) {
            lock.waiters.retain(|waiter| *waiter != tid);
            if lock.waiters.is_empty() {
                self.locks.remove(&addr);
            }
        }
    }

    pub(super) fn leave_condition(&mut self, addr: u64, tid: u32) {
        if let Some(queue) = self.conditions.get_mut(&addr) {
            queue.retain(|mover| mover.tid != tid);
            if queue.is_empty() {
                self.conditions.remove(&addr);
            }
        }
    }

    /// Whether somebody waits at an address for a lock, or to be moved to one.
    pub(super) fn is_waited_at(&self, addr: u64) -> bool {
        self.locks.contains_key(&addr) || self.conditions.contains_key(&addr)
    }

    /// The owner of the lock that a thread waits for.
    fn owner_awaited_by(&self, tid: u32) -> Option<u32> {
        let mut locks = self.locks.values();
        let lock = locks.find(|lock| lock.waiters.contains(&tid))?;
        Some(lock.owner)
    }

    /// The addresses of the locks of a thread that others of this process wait for.
    fn owned_by(&self, tid: u32) -> Vec<u64> {
        let owned = self.locks.iter().filter(|(_, lock)| lock.owner == tid);
        owned.map(|(addr, _)| *addr).collect()
    }
}

impl super::Threads {
    /// A thread that waits has the lock at `addr`.
    fn give_lock(&mut self, tid: u32) {
        if let Some(blocked) = self.parked_mut(tid).and_then(|t| t.blocked.as_mut()) {
            blocked.is_woken = true;
        }
        self.wake(tid);
    }

    /// A thread that waits at `addr` to be moved waits for its lock from now on.
    fn move_to_lock(&mut self, addr: u64, mover: Mover, owner: u32) {
        self.pi.leave_condition(addr, mover.tid);
        self.pi.wait_for_lock(mover.lock, owner, mover.tid);
        let thread = self.parked_mut(mover.tid);
        if let Some(blocked) = thread.and_then(|thread| thread.blocked.as_mut()) {
            blocked.waits_for = WaitFor::Lock {
                addr: mover.lock,
                owner,
                is_moved: true,
            };
        }
    }
}

impl Linux {
    /// `FUTEX_LOCK_PI`, `FUTEX_LOCK_PI2` and, if it only `tries`, `FUTEX_TRYLOCK_PI`. The time-out is absolute.
    pub(super) fn futex_lock(
        &mut self,
        mem: &mut Memory,
        addr: u64,
        until: Option<u64>,
        tries: bool,
    ) -> Outcome {
        if self.call.resumed.is_some_and(|resumed| resumed.is_woken) {
            // The one that gave the lock back has written the word.
            return Ok(0);
        }
        self.lock_or_wait(mem, addr, until, (tries, false))
    }

    fn lock_or_wait(
        &mut self,
        mem: &mut Memory,
        addr: u64,
        until: Option<u64>,
        (tries, is_moved): (bool, bool),
    ) -> Outcome {
        let tid = self.call.caller;
        let Some(owner) = self.take_lock(mem, addr, tid, 0)? else {
            return Ok(0);
        };
        if tries {
            return Err(Errno::EAGAIN.into());
        }
        if self.waits_for_itself(owner, tid) {
            return Err(Errno::EDEADLK.into());
        }
        if until.is_some_and(|until| until <= self.time.now_ns) {
            return Err(Errno::ETIMEDOUT.into());
        }
        let waits_for = WaitFor::Lock {
            addr,
            owner,
            is_moved,
        };
        Err(Unserved::wait(waits_for, until))
    }

    /// Takes a lock for a thread if nobody has it, with `flags` in its word; otherwise returns the owner, who has to ask
    /// the kernel to hand it on.
    fn take_lock(
        &mut self,
        mem: &mut Memory,
        addr: u64,
        tid: u32,
        flags: u32,
    ) -> Result<Option<u32>, Errno> {
        let word = mem.read::<4>(addr)? as u32;
        let holder = word & FUTEX_TID;
        if holder == tid {
            return Err(Errno::EDEADLK);
        }
        if let Some(owner) = self.owner_of_lock(addr) {
            let is_left = word & FUTEX_OWNER_DIED != 0 && holder == 0;
            return match holder == owner || is_left {
                true => Ok(Some(owner)),
                false => Err(Errno::EINVAL),
            };
        }
        if self.threads.is_waited_otherwise(addr) {
            return Err(Errno::EINVAL);
        }
        if holder == 0 {
            let taken = word & FUTEX_OWNER_DIED | tid | flags;
            mem.write_bytes(addr, &taken.to_le_bytes())?;
            return Ok(None);
        }
        mem.write_bytes(addr, &(word | FUTEX_WAITERS).to_le_bytes())?;
        let mut processes = std::iter::once(&*self).chain(self.other_processes());
        match processes.any(|os| os.threads.has(holder)) {
            true => Ok(Some(holder)),
            false => Err(Errno::ESRCH),
        }
    }

    /// `FUTEX_UNLOCK_PI`
    pub(super) fn futex_unlock(&mut self, mem: &mut Memory, addr: u64) -> Outcome {
        let word = mem.read::<4>(addr)? as u32;
        if word & FUTEX_TID != self.call.caller {
            return Err(Errno::EPERM.into());
        }
        match self.owner_of_lock(addr) {
            Some(owner) if owner != self.call.caller => return Err(Errno::EINVAL.into()),
            Some(_) => self.hand_on(mem, addr, 0)?,
            None if self.threads.is_waited_otherwise(addr) => return Err(Errno::EINVAL.into()),
            None => mem.write_bytes(addr, &[0; 4])?,
        }
        Ok(0)
    }

    /// Gives a lock to the first thread that waits for it, with `flags` in its word.
    fn hand_on(&mut self, mem: &mut Memory, addr: u64, flags: u32) -> Result<(), Errno> {
        let places = self.places_of_futex(addr);
        let first = places.iter().find_map(|(pid, at)| {
            let lock = self.process_threads(*pid)?.pi.locks.get(at)?;
            Some((*pid, *lock.waiters.front()?))
        });
        let Some((pid, tid)) = first else {
            return Ok(());
        };
        let word = FUTEX_WAITERS | tid | flags;
        mem.write_bytes(addr, &word.to_le_bytes())?;
        for (pid, at) in places {
            if let Some(threads) = self.process_threads(pid)
                && let Some(lock) = threads.pi.locks.get_mut(&at)
            {
                lock.owner = tid;
            }
        }
        if let Some(threads) = self.process_threads(pid) {
            threads.give_lock(tid);
        }
        Ok(())
    }

    /// The owner of a lock that somebody waits for.
    fn owner_of_lock(&mut self, addr: u64) -> Option<u32> {
        let places = self.places_of_futex(addr);
        places.into_iter().find_map(|(pid, at)| {
            let lock = self.process_threads(pid)?.pi.locks.get(&at)?;
            Some(lock.owner)
        })
    }

    /// Whether the owner of a lock waits, perhaps for others that do, for a lock of thread `tid`.
    fn waits_for_itself(&self, owner: u32, tid: u32) -> bool {
        let awaited = |waiter: &u32| {
            let mut processes = std::iter::once(self).chain(self.other_processes());
            processes.find_map(|os| os.threads.pi.owner_awaited_by(*waiter))
        };
        // No chain is followed any further, as in Linux.
        const MOST: usize = 1024;
        let mut chain = std::iter::successors(Some(owner), awaited).take(MOST);
        chain.any(|owner| owner == tid)
    }

    /// `FUTEX_WAIT_REQUEUE_PI`: waits at `addr` to be moved to the lock at `lock`, and has that lock when it returns.
    pub(super) fn futex_wait_to_move(
        &mut self,
        mem: &mut Memory,
        (addr, lock): (u64, u64),
        value: u64,
        until: Option<u64>,
    ) -> Outcome {
        if addr == lock || lock % 4 != 0 {
            return Err(Errno::EINVAL.into());
        }
        if let Some(resumed) = self.call.resumed {
            if resumed.is_woken {
                return Ok(0);
            }
            if until.is_some_and(|until| until <= self.time.now_ns) {
                return Err(Errno::ETIMEDOUT.into());
            }
            if matches!(resumed.waits_for, WaitFor::Lock { .. }) {
                return self.lock_or_wait(mem, lock, until, (false, true));
            }
        }
        if mem.read::<4>(addr)? as u32 != value as u32 {
            return Err(Errno::EAGAIN.into());
        }
        if until.is_some_and(|until| until <= self.time.now_ns) {
            return Err(Errno::ETIMEDOUT.into());
        }
        Err(Unserved::wait(WaitFor::Move { addr, lock }, until))
    }

    /// `FUTEX_CMP_REQUEUE_PI`: gives the lock at `lock` to the first thread that waits at `addr` to be moved there, and lets
    /// up to `most` others wait for it. Returns how many they are together.
    pub(super) fn futex_move(
        &mut self,
        mem: &mut Memory,
        (addr, lock): (u64, u64),
        (woken, most): (u64, u64),
        expected: u32,
    ) -> Outcome {
        if addr == lock || lock % 4 != 0 || woken as u32 != 1 || (most as i32) < 0 {
            return Err(Errno::EINVAL.into());
        }
        mem.readable(lock, 4)?;
        if mem.read::<4>(addr)? as u32 != expected {
            return Err(Errno::EAGAIN.into());
        }
        if self.threads.futexes.is_waited_at(addr) {
            return Err(Errno::EINVAL.into());
        }
        let flags = if most > 0 { FUTEX_WAITERS } else { 0 };
        let locks = self.places_of_futex(lock);
        let mut done = 0;
        for (pid, at) in self.places_of_futex(addr) {
            while done <= most
                && let Some(threads) = self.process_threads(pid)
                && let Some(mover) = threads
                    .pi
                    .conditions
                    .get(&at)
                    .and_then(|queue| queue.front())
            {
                let mover = *mover;
                if !locks.contains(&(pid, mover.lock)) {
                    return Err(Errno::EINVAL.into());
                }
                let owner = self.take_lock(mem, lock, mover.tid, flags)?;
                if owner.is_some_and(|owner| self.waits_for_itself(owner, mover.tid)) {
                    return Err(Errno::EDEADLK.into());
                }
                if let Some(threads) = self.process_threads(pid) {
                    match owner {
                        Some(owner) => threads.move_to_lock(at, mover, owner),
                        None => threads.give_lock(mover.tid),
                    }
                }
                done += 1;
            }
        }
        Ok(done)
    }

    /// A thread ends: hands on the locks that it holds and others wait for. They learn that their owner has died.
    pub(super) fn release_locks(&mut self, tid: u32, mem: &mut Memory) {
        let mut held = self.threads.pi.owned_by(tid);
        for os in self.other_processes() {
            for at in os.threads.pi.owned_by(tid) {
                if let Some((file, place)) = os.space.mappings.shared_place(at) {
                    held.extend(self.space.mappings.addresses_of(file, place).first());
                }
            }
        }
        held.sort_unstable();
        held.dedup();
        for addr in held {
            // A word that cannot be written keeps its waiters waiting.
            let _ = self.hand_on(mem, addr, FUTEX_OWNER_DIED);
        }
    }
}

impl super::Threads {
    /// Whether somebody waits at an address, but for no lock there.
    fn is_waited_otherwise(&self, addr: u64) -> bool {
        self.futexes.is_waited_at(addr) || self.pi.conditions.contains_key(&addr)
    }
}
