//! `perf_event_open`: a thread counts cycles, instructions, time, and events of branches, caches and TLBs, its own or those
//! of another thread of its process, and takes samples of itself (Linux `kernel/events/core.c`).
//!
//! Machines without time count no such events. The general events of caches are those of the level 1 data cache, as on
//! the Cortex processors of Arm (Linux `drivers/perf/arm_pmuv3.c`). The counters are those of the contexts that the thread was on, without what passed while it was on none. Nothing of
//! the kernel is simulated, so that nothing is counted that is not the program's, and a sample costs it nothing but the
//! handler of its signal.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod buffer;
mod counts;
mod notices;
mod samples;

use hps_isa::hart::GuestCounters;
use hps_isa::memory::Memory;

use super::Linux;
use super::abi::OpenFlags;
use super::descriptors::Kind;
use super::errno::Errno;
use super::kinds::{Operations, Span, in_order};
use super::outcome::Outcome;
use crate::process::{HardwareEvents, OfferedEvents, Thread};

use buffer::Buffer;
use counts::Counts;
use notices::Notices;
pub(super) use samples::Samplers;
use samples::Sampling;

/// Values of a thread's counters.
#[derive(Serialize, Deserialize)]
struct Now {
    counters: GuestCounters,
    events: HardwareEvents,
    /// Simulated time, in nanoseconds.
    at_ns: u64,
}

impl Now {
    fn of(thread: &Thread, at_ns: u64) -> Now {
        Now {
            counters: thread.own_counters(),
            events: thread.own_events(),
            at_ns,
        }
    }
}

/// A value that grows while its event is enabled.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Event {
    counts: Counts,
    /// The thread that it counts for.
    tid: u32,
    id: u64,
    format: u64,
    is_enabled: bool,
    tally: Tally,
    /// The part of it that `PERF_EVENT_IOC_RESET` has taken away.
    taken: u64,
    enabled_ns: Tally,
    /// Events that have this one as their leader.
    followers: Vec<PerfFile>,
    /// If it takes samples.
    sampling: Option<Sampling>,
    /// Buffer that is mapped into memory, if there is one.
    buffer: Option<Buffer>,
    notices: Notices,
}

/// An open event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PerfFile(#[serde(with = "crate::checkpoint::kept")] Arc<Mutex<Event>>);

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
    fn switch(&mut self, enable: bool, now: &Now) {
        let was_enabled = std::mem::replace(&mut self.is_enabled, enable);
        let count = self.counts.of(now);
        for (tally, now) in [
            (&mut self.tally, count),
            (&mut self.enabled_ns, now.counters.time_ns),
        ] {
            tally.before = tally.value(was_enabled, now);
            tally.from = now;
        }
        self.plan_look(now);
    }

    /// Count of the event since it is there.
    fn count(&self, now: &Now) -> u64 {
        self.tally.value(self.is_enabled, self.counts.of(now))
    }

    /// How long it has been enabled, in nanoseconds.
    fn time(&self, now: &Now) -> u64 {
        self.enabled_ns.value(self.is_enabled, now.counters.time_ns)
    }

    /// Words that `read` gives.
    fn read(&self, now: &Now) -> Vec<u64> {
        let of = |event: &Event| event.count(now).wrapping_sub(event.taken);
        let has = |flag| self.format & flag != 0;
        let time = self.time(now);
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
        let (config, format, options) = (word(8)?, word(32)?, word(40)?);
        let flags = u64::from(flags as u32);
        if flags & !(NO_GROUP | CLOEXEC) != 0 || format & !FORMATS != 0 {
            return Err(Errno::EINVAL);
        }
        let tid = match pid as u32 {
            0 => thread.tid,
            tid => tid,
        };
        if options & (INHERIT | ENABLE_ON_EXEC) != 0 || cpu as i32 != -1 {
            return Err(self.refuses("an event of one processor or of children"));
        }
        let sampling = match Sampling::read(mem, attributes)? {
            Ok(sampling) => sampling,
            Err(what) => return Err(self.refuses(what)),
        };
        let counts = self.counted(kind, config)?;
        let leader = match group as i32 {
            -1 => None,
            _ => Some(self.perf_file(group)?.ok_or(Errno::EBADF)?),
        };
        let now = self.counters_of(tid, thread)?;
        let is_enabled = options & DISABLED == 0;
        let is_sampled = sampling.is_some();
        let mut event = Event {
            counts: match options & EXCLUDE_USER {
                0 => counts,
                _ => Counts::Nothing,
            },
            tid,
            id: self.family.next_event(),
            format,
            is_enabled,
            tally: Tally {
                before: 0,
                from: counts.of(&now),
            },
            taken: 0,
            enabled_ns: Tally {
                before: 0,
                from: now.counters.time_ns,
            },
            followers: Vec::new(),
            sampling,
            buffer: None,
            notices: Notices::default(),
        };
        event.plan_look(&now);
        let file = PerfFile(Arc::new(Mutex::new(event)));
        if let Some(leader) = leader
            && flags & NO_GROUP == 0
        {
            let mut leader = leader.lock();
            if leader.tid != tid {
                return Err(Errno::EINVAL);
            }
            leader.followers.push(file.clone());
        }
        if is_sampled {
            self.samplers.add(&file);
        }
        let flags = OpenFlags {
            read: true,
            write: true,
            cloexec: flags & CLOEXEC != 0,
            ..OpenFlags::default()
        };
        self.open_unplaced(Kind::Perf(file), flags)
    }

    fn refuses(&mut self, what: &str) -> Errno {
        self.run
            .warnings
            .once(&format!("perf_event_open is refused (EOPNOTSUPP): {what}"));
        Errno::EOPNOTSUPP
    }

    fn counted(&mut self, kind: u32, config: u64) -> Result<Counts, Errno> {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        const CACHE: u32 = 3;
        let of_machine = match (kind, config) {
            // Also the cycles of a reference clock.
            (HARDWARE, 0 | 9) => return Ok(Counts::Cycles),
            (HARDWARE, 1) => return Ok(Counts::Instructions),
            // The clocks of a processor and of a task.
            (SOFTWARE, 0 | 1) => return Ok(Counts::Nanoseconds),
            // Faults of pages and of alignment, emulations, and a dummy.
            (SOFTWARE, 2 | 5..=9) => return Ok(Counts::Nothing),
            (HARDWARE, _) => Counts::of_hardware(config),
            (CACHE, _) => Counts::of_cache(config),
            _ => None,
        };
        let why = match (of_machine, self.samplers.offered) {
            (Some((counts, _)), OfferedEvents::All) => return Ok(counts),
            (Some((counts, true)), OfferedEvents::Branches) => return Ok(counts),
            (Some(_), OfferedEvents::None) => {
                "is counted by the cycle-driven core only (--machine), which has predictors and caches"
            }
            (Some(_), OfferedEvents::Branches) => {
                "is not counted by thread where hardware threads share the caches (chip.contexts)"
            }
            (None, _) => {
                "is not counted; cycles, instructions, clocks, branches, and reads and writes of level 1 caches and TLBs are"
            }
        };
        self.run.warnings.once(&format!(
            "perf_event_open is refused (ENOENT): event {config:#x} of type {kind} {why}"
        ));
        Err(Errno::ENOENT)
    }

    /// Says which events the machine counts for each thread, beside cycles, instructions and time.
    pub fn offer_events(&mut self, offered: OfferedEvents) {
        self.samplers.offered = offered;
    }

    pub(super) fn perf_file(&self, fd: u64) -> Result<Option<PerfFile>, Errno> {
        Ok(match &self.files.get(fd)?.kind {
            Kind::Perf(file) => Some(file.clone()),
            _ => None,
        })
    }

    /// The counters of a thread of this process that an event counts for, if it is the caller or waits for its turn.
    fn counters_of(&mut self, tid: u32, caller: &Thread) -> Result<Now, Errno> {
        if tid == caller.tid {
            return Ok(Now::of(caller, self.time.now_ns));
        }
        if let Some(parked) = self.threads.parked(tid) {
            return Ok(Now::of(parked, self.time.now_ns));
        }
        if self.threads.processors_of(tid).is_none() {
            if self.other_processes().any(|other| other.threads.has(tid)) {
                self.run.warnings.once(
                    "perf_event_open is refused (ESRCH): events count for threads of the process that opens them, and for \
                     no other process",
                );
            }
            return Err(Errno::ESRCH);
        }
        self.run.warnings.once(
            "perf_event_open and reads of its events are refused (EBUSY) while the thread that they count for runs on \
             another processor",
        );
        Err(Errno::EBUSY)
    }
}

impl Operations for PerfFile {
    fn anonymous(&self) -> Option<&'static str> {
        Some("[perf_event]")
    }

    /// A wake-up is told once, as by the kernel.
    fn events(&self) -> u16 {
        self.take_events()
    }

    fn read(os: &mut Linux, caller: &mut Thread, mem: &mut Memory, span: &Span) -> Outcome {
        in_order(span.offset)?;
        let file = os.files.own::<PerfFile>(span.fd)?.clone();
        let event = file.lock();
        let words = event.read(&os.counters_of(event.tid, caller)?);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if span.len < bytes.len() as u64 {
            return Err(Errno::ENOSPC.into());
        }
        mem.write_bytes(span.addr, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The numbers of both interfaces have the same last two bytes.
    fn control(
        os: &mut Linux,
        caller: &mut Thread,
        mem: &mut Memory,
        a: &[u64; 6],
    ) -> Result<u64, Errno> {
        const ENABLE: u16 = 0x2400;
        const DISABLE: u16 = 0x2401;
        const REFRESH: u16 = 0x2402;
        const RESET: u16 = 0x2403;
        const PERIOD: u16 = 0x2404;
        const IDENTITY: u16 = 0x2407;
        const WHOLE_GROUP: u64 = 1;
        let [fd, request, argument, ..] = *a;
        let file = os.files.own::<PerfFile>(fd)?.clone();
        let mut event = file.lock();
        let now = os.counters_of(event.tid, caller)?;
        let change = |event: &mut Event| match request as u16 {
            ENABLE => event.switch(true, &now),
            DISABLE => event.switch(false, &now),
            _ => event.taken = event.count(&now),
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
            REFRESH => event.refresh(argument, &now)?,
            PERIOD => event.set_period(mem.read::<8>(argument)?, &now)?,
            IDENTITY => mem.write_bytes(argument, &event.id.to_le_bytes())?,
            _ => return Err(Errno::ENOTTY),
        }
        Ok(0)
    }
}
