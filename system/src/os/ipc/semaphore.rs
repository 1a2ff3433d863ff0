//! Sets of semaphores.

use std::collections::BTreeMap;

use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::outcome::{Outcome, Unserved};
use super::super::record::Record;
use super::super::threads::WaitFor;
use super::super::time::TimeFormat;
use super::{
    ALTERS, CREATE, INFO, IPC_64, MOST, NOWAIT, PRIVATE, READS, RECORD_BYTES, REMOVE, SET, STAT,
};

const UNDO: u16 = 0x1000;
/// The largest value.
const LARGEST: i32 = 32767;
/// Semaphores in a set, and operations in a call.
const MOST_OF_SET: u64 = 32000;
const MOST_OPERATIONS: u64 = 500;
const GETPID: u64 = 11;
const GETVAL: u64 = 12;
const GETALL: u64 = 13;
const GETNCNT: u64 = 14;
const GETZCNT: u64 = 15;
const SETVAL: u64 = 16;
const SETALL: u64 = 17;
const SEM_STAT: u64 = 18;
const SEM_INFO: u64 = 19;
const SEM_STAT_ANY: u64 = 20;
const WAITS: &str = "a semaphore that nobody changes";

/// A set of semaphores.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(in super::super) struct Semaphores {
    /// Value of each, and the process that changed it last.
    values: Vec<(i32, u32)>,
    /// Changes of semaphores at the end of a process, by process and semaphore.
    undo: BTreeMap<(u32, usize), i32>,
    used_at: u64,
    changed_at: u64,
}

/// Bytes of a semaphore.
const BYTES: u64 = 8;

impl Semaphores {
    /// Bytes that the host keeps for the set.
    pub(super) fn held_bytes(&self) -> u64 {
        self.values.len() as u64 * BYTES + self.undo.len() as u64 * RECORD_BYTES
    }

    /// A process ends. Says whether values have changed.
    pub(super) fn undo(&mut self, pid: u32) -> bool {
        let mine: Vec<_> = self
            .undo
            .range((pid, 0)..=(pid, usize::MAX))
            .map(|(k, v)| (*k, *v))
            .collect();
        for ((_, number), adjusted) in &mine {
            self.undo.remove(&(pid, *number));
            let (value, last) = &mut self.values[*number];
            *value = (*value + adjusted).clamp(0, LARGEST);
            *last = pid;
        }
        !mine.is_empty()
    }
}

/// One operation of `semop`.
#[derive(Clone, Copy)]
struct Operation {
    number: usize,
    change: i32,
    flags: u16,
}

/// Why a list of operations has not been done.
enum Undone {
    Fails(Errno),
    /// One of them has to wait, or must not.
    Waits(bool),
}

impl Semaphores {
    /// Does all operations, or none.
    fn operate(&mut self, pid: u32, operations: &[Operation]) -> Result<(), Undone> {
        let before = self.values.clone();
        let undo_before = self.undo.clone();
        for operation in operations {
            let (value, last) = &mut self.values[operation.number];
            let new = *value + operation.change;
            let waits = match operation.change {
                0 => *value != 0,
                _ => new < 0,
            };
            let failure = if waits {
                Some(Undone::Waits(u64::from(operation.flags) & NOWAIT == 0))
            } else if new > LARGEST {
                Some(Undone::Fails(Errno::ERANGE))
            } else {
                None
            };
            if let Some(failure) = failure {
                self.values = before;
                self.undo = undo_before;
                return Err(failure);
            }
            (*value, *last) = (new, pid);
            if operation.flags & UNDO != 0 && operation.change != 0 {
                *self.undo.entry((pid, operation.number)).or_default() -= operation.change;
            }
        }
        Ok(())
    }
}

impl Linux {
    pub(in super::super) fn semget(&mut self, a: &[u64; 6]) -> Result<u64, Errno> {
        let [key, count, flags, ..] = *a;
        let now = self.date_seconds();
        if (count as i32) < 0 || count as u32 as u64 > MOST_OF_SET {
            return Err(Errno::EINVAL);
        }
        let count = count as u32 as usize;
        let check = |set: &Semaphores| match count > set.values.len() {
            true => Err(Errno::EINVAL),
            false => Ok(()),
        };
        let make = || match count {
            0 => Err(Errno::EINVAL),
            _ => Ok(Semaphores {
                values: vec![(0, 0); count],
                undo: BTreeMap::new(),
                used_at: 0,
                changed_at: now,
            }),
        };
        if flags & CREATE != 0 || key as i32 == PRIVATE {
            self.charge(count as u64 * BYTES, Errno::ENOMEM)?;
        }
        let sets = &mut self.family.ipc.semaphores;
        sets.open(&self.credentials, key as i32, flags, check, make)
    }

    /// `semop`, and `semtimedop` with the address of a time-out.
    pub(in super::super) fn semop(&mut self, mem: &Memory, a: &[u64; 6], timeout: u64) -> Outcome {
        let [id, list, count, ..] = *a;
        match u64::from(count as u32) {
            0 => return Err(Errno::EINVAL.into()),
            count if count > MOST_OPERATIONS => return Err(Errno::E2BIG.into()),
            _ => {}
        }
        let mut operations = Vec::new();
        for index in 0..u64::from(count as u32) {
            let at = list.wrapping_add(6 * index);
            operations.push(Operation {
                number: mem.read::<2>(at)? as usize,
                change: i32::from(mem.read::<2>(at.wrapping_add(2))? as i16),
                flags: mem.read::<2>(at.wrapping_add(4))? as u16,
            });
        }
        let undone = operations.iter().filter(|o| o.flags & UNDO != 0).count() as u64;
        self.check_room(undone * RECORD_BYTES, Errno::ENOMEM)?;
        let until = match timeout {
            0 => None,
            at => Some(self.wait_end_ns(TimeFormat::Nanoseconds.read(mem, at)?)),
        };
        let (pid, now) = (self.pid, self.date_seconds());
        let has_waited = self.call.resumed.is_some();
        let entry = match self.family.ipc.semaphores.get(id) {
            Err(_) if has_waited => return Err(Errno::EIDRM.into()),
            entry => entry?,
        };
        if operations
            .iter()
            .any(|operation| operation.number >= entry.object.values.len())
        {
            return Err(Errno::EFBIG.into());
        }
        let alters = operations.iter().any(|operation| operation.change != 0);
        entry
            .access
            .permit(&self.credentials, if alters { ALTERS } else { READS })?;
        match entry.object.operate(pid, &operations) {
            Ok(()) => {
                entry.object.used_at = now;
                if undone > 0 {
                    self.charge_anyway(undone * RECORD_BYTES);
                }
                if alters {
                    self.wake_on_files();
                }
                Ok(0)
            }
            Err(Undone::Fails(errno)) => Err(errno.into()),
            Err(Undone::Waits(false)) => Err(Errno::EAGAIN.into()),
            Err(Undone::Waits(true)) if until.is_some_and(|until| until <= self.time.now_ns) => {
                Err(Errno::EAGAIN.into())
            }
            Err(Undone::Waits(true)) => Err(Unserved::wait(WaitFor::File(WAITS), until)),
        }
    }

    pub(in super::super) fn semctl(
        &mut self,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [id, number, request, argument, ..] = *a;
        let request = u64::from(request as u32) & !IPC_64;
        let (now, pid) = (self.date_seconds(), self.pid);
        if matches!(request, INFO | SEM_INFO) {
            // map, sets, semaphores, undo structures, of a set, operations, undo entries, size, largest, most to undo
            let sets = &self.family.ipc.semaphores;
            let (used, all) = match request {
                INFO => (20, LARGEST as u32),
                _ => {
                    let all = sets
                        .iter()
                        .map(|(_, entry)| entry.object.values.len() as u32);
                    (sets.iter().count() as u32, all.sum())
                }
            };
            let most = MOST_OF_SET as u32;
            let words = [
                most,
                MOST as u32,
                most,
                most,
                most,
                MOST_OPERATIONS as u32,
                500,
                used,
                LARGEST as u32,
                all,
            ];
            let record = words.into_iter().fold(Record::new(), Record::u32);
            mem.write_bytes(argument, &record.done())?;
            return Ok(sets.highest());
        }
        let (id, result) = match request {
            SEM_STAT | SEM_STAT_ANY => {
                let (id, _) = self.family.ipc.semaphores.at_place(id)?;
                (id, id)
            }
            _ => (id, 0),
        };
        let waiting = self.waiting_on(mem, id, number);
        let entry = self.family.ipc.semaphores.get(id)?;
        let set = &mut entry.object;
        let one = |set: &Semaphores| {
            usize::try_from(number as i32)
                .ok()
                .filter(|n| *n < set.values.len())
        };
        match request {
            STAT | SEM_STAT | SEM_STAT_ANY => {
                if request != SEM_STAT_ANY {
                    entry.access.permit(&self.credentials, READS)?;
                }
                let record = entry.access.record().u64(set.used_at).u64(set.changed_at);
                let record = record.u64(set.values.len() as u64).pad_to(88);
                mem.write_bytes(argument, &record.done())?;
                return Ok(result);
            }
            SET => {
                mem.readable(argument, 88)?;
                entry.access.permit_change(&self.credentials)?;
                entry.access.change(mem, argument)?;
                set.changed_at = now;
                return Ok(0);
            }
            REMOVE => {
                entry.access.permit_change(&self.credentials)?;
                self.family.ipc.semaphores.remove(id);
                self.wake_on_files();
                return Ok(0);
            }
            GETALL => {
                entry.access.permit(&self.credentials, READS)?;
                let words = set.values.iter().map(|(value, _)| *value as u16);
                let record = words.fold(Record::new(), Record::u16);
                mem.write_bytes(argument, &record.done())?;
                return Ok(0);
            }
            SETALL => {
                entry.access.permit(&self.credentials, ALTERS)?;
                let bytes = mem.readable(argument, 2 * set.values.len() as u64)?;
                let words = bytes.as_chunks::<2>().0.iter();
                let values: Vec<i32> = words
                    .map(|word| i32::from(u16::from_le_bytes(*word)))
                    .collect();
                if values.iter().any(|value| *value > LARGEST) {
                    return Err(Errno::ERANGE);
                }
                set.values = values.into_iter().map(|value| (value, pid)).collect();
                set.undo.clear();
                set.changed_at = now;
            }
            GETVAL | GETPID | GETNCNT | GETZCNT => {
                entry.access.permit(&self.credentials, READS)?;
                let (value, last) = set.values[one(set).ok_or(Errno::EINVAL)?];
                return Ok(match request {
                    GETVAL => value as u64,
                    GETPID => u64::from(last),
                    GETNCNT => waiting.0,
                    _ => waiting.1,
                });
            }
            SETVAL => {
                let value = argument as i32;
                let index = one(set).ok_or(Errno::EINVAL)?;
                if !(0..=LARGEST).contains(&value) {
                    return Err(Errno::ERANGE);
                }
                entry.access.permit(&self.credentials, ALTERS)?;
                set.values[index] = (value, pid);
                set.undo.retain(|(_, number), _| *number != index);
                set.changed_at = now;
            }
            _ => return Err(Errno::EINVAL),
        }
        self.wake_on_files();
        Ok(0)
    }

    /// Threads that wait for a semaphore to grow, and for it to become zero. The first of a thread's operations is taken
    /// for the one that it waits in.
    fn waiting_on(&self, mem: &Memory, id: u64, number: u64) -> (u64, u64) {
        let (mut grows, mut zero) = (0, 0);
        let own = std::iter::once((self, mem));
        let others = self
            .process_numbers()
            .filter_map(|pid| self.parked_process(pid));
        for (os, mem) in own.chain(others) {
            for thread in os.threads.all_parked() {
                let waits_for = thread.blocked.as_ref().map(|blocked| blocked.waits_for);
                let [set, list, ..] = os.abi.arguments(&thread.hart);
                if waits_for != Some(WaitFor::File(WAITS)) || set as u32 != id as u32 {
                    continue;
                }
                match (mem.read::<2>(list), mem.read::<2>(list.wrapping_add(2))) {
                    (Ok(named), Ok(0)) if named == number => zero += 1,
                    (Ok(named), Ok(_)) if named == number => grows += 1,
                    _ => {}
                }
            }
        }
        (grows, zero)
    }
}
