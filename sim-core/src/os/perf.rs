//! `perf_event_open` for counting: a thread counts its own cycles, instructions and time (Linux
//! `kernel/events/core.c`).
//!
//! The counters are those of the contexts that the thread was on, without what passed while it was on none. Nothing of
//! the kernel is simulated, so that nothing is counted that is not the program's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::{Kind, OpenFile};
use super::errno::Errno;
use crate::hart::GuestCounters;
use crate::memory::Memory;
use crate::process::Thread;

/// Quantity that an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    Cycles,
    Instructions,
    Nanoseconds,
    /// What this kernel never does.
    Nothing,
}

impl Counts {
    fn of(self, counters: GuestCounters) -> u64 {
        match self {
            Counts::Cycles => counters.cycle,
            Counts::Instructions => counters.instret,
            Counts::Nanoseconds => counters.time_ns,
            Counts::Nothing => 0,
        }
    }
}

/// A value that grows while its event is enabled.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    before: u64,
    /// The counter when the event was enabled last.
    from: u64,
}

impl Tally {
    fn value(self, is_enabled: bool, now: u64) -> u64 {
        match is_enabled {
            true => self.before.wrapping_add(now.wrapping_sub(self.from)),
            false => self.before,
        }
    }
}

/// An event.
#[derive(Debug)]
pub(super) struct Event {
    counts: Counts,
    /// The thread that it counts for.
    tid: u32,
    id: u64,
    format: u64,
    is_enabled: bool,
    tally: Tally,
    enabled_ns: Tally,
    /// Those that have this one as their leader.
    followers: Vec<PerfFile>,
}

/// An open event.
#[derive(Clone, Debug)]
pub(super) struct PerfFile(Arc<Mutex<Event>>);

impl PerfFile {
    fn lock(&self) -> MutexGuard<'_, Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const TOTAL_TIME_ENABLED: u64 = 1;
const TOTAL_TIME_RUNNING: u64 = 2;
const ID: u64 = 4;
const GROUP: u64 = 8;

impl Event {
    fn switch(&mut self, enable: bool, now: GuestCounters) {
        let was_enabled = std::mem::replace(&mut self.is_enabled, enable);
        let count = self.counts.of(now);
        for (tally, now) in [
            (&mut self.tally, count),
            (&mut self.enabled_ns, now.time_ns),
        ] {
            tally.before = tally.value(was_enabled, now);
            tally.from = now;
        }
    }

    fn reset(&mut self, now: GuestCounters) {
        self.tally = Tally {
            before: 0,
            from: self.counts.of(now),
        };
    }

    /// What `read` gives.
    fn read(&self, now: GuestCounters) -> Vec<u64> {
        let of = |event: &Event| event.tally.value(event.is_enabled, event.counts.of(now));
        let has = |flag| self.format & flag != 0;
        let time = self.enabled_ns.value(self.is_enabled, now.time_ns);
        let times = [TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING]
            .into_iter()
            .filter(|flag| has(*flag))
            .map(|_| time);
        let value = |event: &Event| {
            let id = has(ID).then_some(event.id);
            std::iter::once(of(event)).chain(id).collect::<Vec<u64>>()
        };
        if !has(GROUP) {
            let mut words = value(self);
            words.splice(1..1, times);
            return words;
        }
        let mut words = vec![1 + self.followers.len() as u64];
        words.extend(times);
        words.extend(value(self));
        for follower in &self.followers {
            words.extend(value(&follower.lock()));
        }
        words
    }
}

impl Linux {
    /// `perf_event_open`.
    pub(super) fn perf_event_open(
        &mut self,
        thread: &Thread,
        mem: &Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        const NO_GROUP: u64 = 1;
        const CLOEXEC: u64 = 8;
        const FORMATS: u64 = TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | ID | GROUP;
        const DISABLED: u64 = 1;
        const INHERIT: u64 = 1 << 1;
        const EXCLUDE_USER: u64 = 1 << 4;
        const ENABLE_ON_EXEC: u64 = 1 << 12;
        let [attributes, pid, cpu, group, flags, _] = *a;
        let word = |at: u64| mem.read::<8>(attributes.wrapping_add(at));
        let kind = mem.read::<4>(attributes)? as u32;
        let (config, period, format, options) = (word(8)?, word(16)?, word(32)?, word(40)?);
        let flags = u64::from(flags as u32);
        if flags & !(NO_GROUP | CLOEXEC) != 0 || format & !FORMATS != 0 {
            return Err(Errno::EINVAL);
        }
        let is_own = matches!(pid as u32, 0) || pid as u32 == thread.tid;
        let what = match (period, options & (INHERIT | ENABLE_ON_EXEC), cpu as i32) {
            (0, 0, -1) if is_own => None,
            (0, ..) => Some("an event of another thread, of one processor or of children"),
            _ => Some("an event that takes samples"),
        };
        if let Some(what) = what {
            self.warn_once(&format!("perf_event_open is refused (EOPNOTSUPP): {what}"));
            return Err(Errno::EOPNOTSUPP);
        }
        let counts = self.counted(kind, config)?;
        let leader = match group as i32 {
            -1 => None,
            _ => Some(self.perf_file(group)?.ok_or(Errno::EBADF)?),
        };
        let now = thread.own_counters();
        let is_enabled = options & DISABLED == 0;
        let event = Event {
            counts: match options & EXCLUDE_USER {
                0 => counts,
                _ => Counts::Nothing,
            },
            tid: thread.tid,
            id: self.family.next_event(),
            format,
            is_enabled,
            tally: Tally {
                before: 0,
                from: counts.of(now),
            },
            enabled_ns: Tally {
                before: 0,
                from: now.time_ns,
            },
            followers: Vec::new(),
        };
        let file = PerfFile(Arc::new(Mutex::new(event)));
        if let Some(leader) = leader
            && flags & NO_GROUP == 0
        {
            let mut leader = leader.lock();
            if leader.tid != thread.tid {
                return Err(Errno::EINVAL);
            }
            leader.followers.push(file.clone());
        }
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: flags & CLOEXEC != 0,
            ..OpenFlags::default()
        };
        self.files.insert(
            OpenFile {
                kind: Kind::Perf(file),
                flags,
                path: None,
                number: None,
            },
            self.limits.descriptors(),
        )
    }

    fn counted(&mut self, kind: u32, config: u64) -> Result<Counts, Errno> {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        match (kind, config) {
            // Also the cycles of a reference clock.
            (HARDWARE, 0 | 9) => Ok(Counts::Cycles),
            (HARDWARE, 1) => Ok(Counts::Instructions),
            // The clocks of a processor and of a task.
            (SOFTWARE, 0 | 1) => Ok(Counts::Nanoseconds),
            // Faults of pages and of alignment, emulations, and a dummy.
            (SOFTWARE, 2 | 5..=9) => Ok(Counts::Nothing),
            _ => {
                self.warn_once(&format!(
                    "perf_event_open is refused (ENOENT): event {config:#x} of type {kind} is not counted; cycles, \
                     instructions and clocks are"
                ));
                Err(Errno::ENOENT)
            }
        }
    }

    fn perf_file(&self, fd: u64) -> Result<Option<PerfFile>, Errno> {
        Ok(match &self.files.get(fd)?.kind {
            Kind::Perf(file) => Some(file.clone()),
            _ => None,
        })
    }

    /// Whether a descriptor is one of an event.
    pub(super) fn is_event(&self, fd: u64) -> bool {
        let file = self.files.get(fd);
        file.is_ok_and(|file| matches!(file.kind, Kind::Perf(_)))
    }

    /// The counters of the thread that an event counts for, if it is the caller or waits for its turn.
    fn counters_of(&self, tid: u32, caller: &Thread) -> Result<GuestCounters, Errno> {
        if tid == caller.tid {
            return Ok(caller.own_counters());
        }
        let parked = self.threads.parked(tid);
        parked.map(Thread::own_counters).ok_or(Errno::EBUSY)
    }

    /// `read` of an event.
    pub(super) fn read_event(
        &mut self,
        caller: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        let [fd, at, len, ..] = *a;
        let file = self.perf_file(fd)?.ok_or(Errno::EBADF)?;
        let event = file.lock();
        let words = event.read(self.counters_of(event.tid, caller)?);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if len < bytes.len() as u64 {
            return Err(Errno::ENOSPC);
        }
        mem.write_bytes(at, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// `ioctl` of an event. The numbers of both interfaces have the same last two bytes.
    pub(super) fn control_event(
        &mut self,
        caller: &Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        const ENABLE: u16 = 0x2400;
        const DISABLE: u16 = 0x2401;
        const RESET: u16 = 0x2403;
        const IDENTITY: u16 = 0x2407;
        const WHOLE_GROUP: u64 = 1;
        let [fd, request, argument, ..] = *a;
        let file = self.perf_file(fd)?.ok_or(Errno::EBADF)?;
        let mut event = file.lock();
        let now = self.counters_of(event.tid, caller)?;
        let change = |event: &mut Event| match request as u16 {
            ENABLE => event.switch(true, now),
            DISABLE => event.switch(false, now),
            _ => event.reset(now),
        };
        match request as u16 {
            ENABLE | DISABLE | RESET => {
                change(&mut event);
                if argument & WHOLE_GROUP != 0 {
                    for follower in &event.followers {
                        change(&mut follower.lock());
                    }
                }
            }
            IDENTITY => mem.write_bytes(argument, &event.id.to_le_bytes())?,
            _ => return Err(Errno::ENOTTY),
        }
        Ok(0)
    }
}
