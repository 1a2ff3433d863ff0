//! Events that take samples: when an event has come so often, a record of the thread goes into the event's buffer, and a
//! signal to the owner of its descriptor.
//!
//! A machine looks at counters at the operating system's deadlines alone. An event that takes samples therefore asks
//! for a look at the earliest time at which it may have come often enough, and again until it has. A sample is taken
//! between two instructions of the program, with the address of the next one.

use serde::{Deserialize, Serialize};
use std::sync::{Mutex, Weak};

use hps_isa::bus::MemFault;
use hps_isa::memory::Memory;

use super::super::Linux;
use super::super::errno::Errno;
use super::super::record::Record;
use super::counts::Counts;
use super::{Buffer, Event, Now, PerfFile};
use crate::process::{OfferedEvents, Thread};

/// No machine counts more of an event in a nanosecond.
const MOST_IN_NS: u64 = 64;

/// Period of samples, in its unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Every {
    /// A number of events.
    Events(u64),
    /// A number of nanoseconds of the thread's own time, from the frequency in the field `freq`.
    Nanoseconds(u64),
}

impl Every {
    fn period(self) -> u64 {
        match self {
            Every::Events(period) | Every::Nanoseconds(period) => period,
        }
    }
}

/// How an event takes samples.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sampling {
    every: Every,
    /// `PERF_SAMPLE_*`: what a record holds.
    fields: u64,
    /// Other records end with what tells samples apart.
    marks_all: bool,
    /// At which progress the next sample is taken.
    next: u64,
    /// Count of the event at the last sample.
    counted: u64,
    /// Before that time it is not, in simulated nanoseconds.
    look_at_ns: u64,
    /// After so many samples the event is disabled; 0: never.
    left: u64,
    /// Records, or bytes of them, that wake who polls the descriptor.
    wakes: Wakes,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Wakes {
    /// After so many samples.
    Samples(u32),
    /// After so many bytes; 0: after half of the buffer.
    Bytes(u32),
}

const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const IDENTIFIER: u64 = 1 << 16;
const FIELDS: u64 = IP | TID | TIME | ADDR | READ | ID | CPU | PERIOD | STREAM_ID | IDENTIFIER;
/// `PERF_RECORD_SAMPLE`
const SAMPLE: u32 = 9;
/// `PERF_RECORD_LOST`
const LOST: u32 = 2;
/// `PERF_RECORD_MISC_USER`
const OF_USER: u16 = 2;

impl Sampling {
    /// How the event of a `struct perf_event_attr` takes samples; `None` if it only counts. The inner error says what of
    /// it there is not.
    pub(super) fn read(
        mem: &Memory,
        attributes: u64,
    ) -> Result<Result<Option<Sampling>, &'static str>, MemFault> {
        const FREQUENCY: u64 = 1 << 10;
        const WATERMARK: u64 = 1 << 14;
        const PRECISE: u64 = 3 << 15;
        const MARK_ALL: u64 = 1 << 18;
        let word = |at: u64| mem.read::<8>(attributes.wrapping_add(at));
        let (period, fields, options) = (word(16)?, word(24)?, word(40)?);
        let wakes = mem.read::<4>(attributes.wrapping_add(48))? as u32;
        if period == 0 {
            return Ok(Ok(None));
        }
        if fields & !FIELDS != 0 {
            return Ok(Err(
                "samples hold addresses, threads, times, processors, periods and counts, but no registers, stacks or data",
            ));
        }
        if options & PRECISE != 0 {
            return Ok(Err(
                "samples have the address of the next instruction, and none that is more precise (precise_ip)",
            ));
        }
        let every = match options & FREQUENCY {
            0 => Every::Events(period),
            _ => Every::Nanoseconds((1_000_000_000 / period).max(1)),
        };
        Ok(Ok(Some(Sampling {
            every,
            fields,
            marks_all: options & MARK_ALL != 0,
            next: every.period(),
            counted: 0,
            look_at_ns: 0,
            left: 0,
            wakes: match options & WATERMARK {
                0 if wakes > 0 => Wakes::Samples(wakes),
                _ => Wakes::Bytes(wakes),
            },
        })))
    }
}

/// Whom a record is of.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    pc: u64,
    pid: u32,
    tid: u32,
    processor: u32,
}

/// Outcome of a look.
pub(super) struct Sampled {
    /// The sample was the last one: the event is disabled.
    pub is_last: bool,
    /// Who polls the descriptor is woken.
    pub wakes: bool,
}

impl Event {
    /// Progress of the event, in the unit of the period.
    fn progress(&self, sampling: &Sampling, now: &Now) -> u64 {
        match sampling.every {
            Every::Events(_) => self.count(now),
            Every::Nanoseconds(_) => self.time(now),
        }
    }

    /// Plans the next look at the counter.
    pub(super) fn plan_look(&mut self, now: &Now) {
        let Some(sampling) = &self.sampling else {
            return;
        };
        let left = sampling.next.saturating_sub(self.progress(sampling, now));
        let wait_ns = match (sampling.every, self.counts) {
            // Tools open such events for their records alone.
            (Every::Events(_), Counts::Nothing) => u64::MAX,
            (Every::Nanoseconds(_), _) | (_, Counts::Nanoseconds) => left,
            _ => left / MOST_IN_NS,
        };
        let at_ns = now.at_ns.saturating_add(wait_ns.max(1));
        if let Some(sampling) = &mut self.sampling {
            sampling.look_at_ns = at_ns;
        }
    }

    /// `PERF_EVENT_IOC_REFRESH`: takes so many more samples.
    pub(super) fn refresh(&mut self, more: u64, now: &Now) -> Result<(), Errno> {
        let sampling = self.sampling.as_mut().ok_or(Errno::EINVAL)?;
        sampling.left += more & u64::from(u32::MAX);
        self.switch(true, now);
        Ok(())
    }

    /// `PERF_EVENT_IOC_PERIOD`: another period, or frequency, from now on.
    pub(super) fn set_period(&mut self, period: u64, now: &Now) -> Result<(), Errno> {
        let sampling = self.sampling.as_ref().ok_or(Errno::EINVAL)?;
        let progress = self.progress(sampling, now);
        if period == 0 {
            return Err(Errno::EINVAL);
        }
        let every = match sampling.every {
            Every::Events(_) => Every::Events(period),
            Every::Nanoseconds(_) => Every::Nanoseconds((1_000_000_000 / period).max(1)),
        };
        if let Some(sampling) = &mut self.sampling {
            sampling.every = every;
            sampling.next = progress.saturating_add(every.period());
        }
        self.plan_look(now);
        Ok(())
    }

    /// Takes a sample if the event has come often enough; several periods that have passed are one sample.
    fn take_sample(&mut self, mem: &mut Memory, place: Place, now: &Now) -> Option<Sampled> {
        if !self.is_enabled {
            return None;
        }
        let sampling = self.sampling.as_ref()?;
        let over = self.progress(sampling, now).checked_sub(sampling.next);
        let Some(over) = over else {
            self.plan_look(now);
            return None;
        };
        let period = sampling.every.period();
        let next = sampling.next.saturating_add(over - over % period);
        let wakes = self.write_sample(mem, place, now);
        let counted = self.count(now);
        let sampling = self.sampling.as_mut()?;
        sampling.next = next.saturating_add(period);
        sampling.counted = counted;
        let is_last = sampling.left == 1;
        sampling.left = sampling.left.saturating_sub(1);
        self.switch(!is_last, now);
        Some(Sampled { is_last, wakes })
    }

    /// Writes the record of a sample; says whether that wakes who polls the descriptor.
    fn write_sample(&mut self, mem: &mut Memory, place: Place, now: &Now) -> bool {
        let Some(sampling) = &self.sampling else {
            return false;
        };
        let lost = match self.buffer.as_ref().map(Buffer::lost) {
            None => return false,
            Some(0) => Vec::new(),
            Some(lost) => {
                let body = Record::new().u64(self.id).u64(lost);
                let marks = match sampling.marks_all {
                    true => self.marks(sampling.fields, place, now),
                    false => Vec::new(),
                };
                framed(LOST, 0, &body.bytes(&marks).done())
            }
        };
        let record = framed(SAMPLE, OF_USER, &self.sample(sampling, place, now));
        let wakes = sampling.wakes;
        let buffer = self.buffer.as_mut();
        buffer.is_some_and(|buffer| buffer.write(mem, &[lost, record].concat(), wakes))
    }

    /// The fields of a sample.
    fn sample(&self, sampling: &Sampling, place: Place, now: &Now) -> Vec<u8> {
        let has = |field| sampling.fields & field != 0;
        let processor = Record::new().u32(place.processor).u32(0).done();
        let thread = Record::new().u32(place.pid).u32(place.tid).done();
        let read: Vec<u8> = self
            .read(now)
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let counted = self.count(now).wrapping_sub(sampling.counted);
        let word = |value: u64| value.to_le_bytes().to_vec();
        let all = [
            (IDENTIFIER, word(self.id)),
            (IP, word(place.pc)),
            (TID, thread),
            (TIME, word(now.at_ns)),
            (ADDR, word(0)),
            (ID, word(self.id)),
            (STREAM_ID, word(self.id)),
            (CPU, processor),
            (PERIOD, word(counted)),
            (READ, read),
        ];
        let all = all.into_iter().filter(|(field, _)| has(*field));
        all.flat_map(|(_, bytes)| bytes).collect()
    }

    /// Fields that tell records of several events apart (`struct sample_id`).
    fn marks(&self, fields: u64, place: Place, now: &Now) -> Vec<u8> {
        let all = [
            (TID, u64::from(place.tid) << 32 | u64::from(place.pid)),
            (TIME, now.at_ns),
            (ID, self.id),
            (STREAM_ID, self.id),
            (CPU, u64::from(place.processor)),
            (IDENTIFIER, self.id),
        ];
        let all = all.into_iter().filter(|(field, _)| fields & field != 0);
        all.flat_map(|(_, word)| word.to_le_bytes()).collect()
    }
}

/// A record with its `struct perf_event_header`.
fn framed(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let header = Record::new().u32(kind).u16(misc);
    header.u16(8 + body.len() as u16).bytes(body).done()
}

/// Events that a process may count, and open events that take samples.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Samplers {
    /// Events that the machine counts for threads.
    pub(super) offered: OfferedEvents,
    /// Open events that take samples.
    #[serde(with = "crate::checkpoint::kept")]
    events: Vec<Weak<Mutex<Event>>>,
}

impl Samplers {
    pub(super) fn add(&mut self, file: &PerfFile) {
        self.events.retain(|event| event.strong_count() > 0);
        self.events.push(std::sync::Arc::downgrade(&file.0));
    }

    /// Samplers of a copy of the process, whose threads go on without events.
    pub(in super::super) fn of_copy(&self) -> Samplers {
        Samplers {
            offered: self.offered,
            events: Vec::new(),
        }
    }

    fn open(&self) -> impl Iterator<Item = PerfFile> {
        self.events.iter().filter_map(Weak::upgrade).map(PerfFile)
    }
}

impl Linux {
    /// Whether events of the process take samples.
    #[must_use]
    pub fn takes_samples(&self) -> bool {
        !self.samplers.events.is_empty()
    }

    /// When the counters of the thread on this context are to be looked at, in simulated nanoseconds.
    pub(in super::super) fn sampling_deadline_ns(&self) -> Option<u64> {
        let looks = self.samplers.open().filter_map(|file| {
            let event = file.lock();
            let is_here = event.is_enabled && self.threads.is_here(event.tid);
            Some(event.sampling.as_ref()?.look_at_ns).filter(|_| is_here)
        });
        looks.min()
    }

    /// Plans later looks at events that have not come often enough yet for a sample of `thread`.
    pub(crate) fn put_off_samples(&self, thread: &Thread, now_ns: u64) {
        let now = Now::of(thread, now_ns);
        for file in self.samplers.open() {
            let mut event = file.lock();
            let is_due = |e: &Event| {
                let sampling = e.sampling.as_ref();
                sampling.is_some_and(|s| e.progress(s, &now) >= s.next)
            };
            if event.tid == thread.tid && !is_due(&event) {
                event.plan_look(&now);
            }
        }
    }

    /// Takes the samples of the thread that runs which are due.
    pub(crate) fn take_samples(&mut self, thread: &mut Thread, mem: &mut Memory) {
        if self.samplers.events.is_empty() {
            return;
        }
        let now = Now::of(thread, self.time.now_ns);
        let place = Place {
            pc: thread.hart.pc,
            pid: self.pid,
            tid: thread.tid,
            processor: self.processor() as u32,
        };
        let files: Vec<PerfFile> = self.samplers.open().collect();
        for file in files {
            let mut event = file.lock();
            if event.tid != thread.tid {
                continue;
            }
            let Some(sampled) = event.take_sample(mem, place, &now) else {
                continue;
            };
            if sampled.wakes {
                event.notices.is_ready = true;
            }
            let notices = event.notices;
            drop(event);
            if sampled.wakes {
                self.wake_on_files();
            }
            self.notify(notices, sampled.is_last, thread);
        }
    }

    /// Buffers of events in a range of memory are gone.
    pub(in super::super) fn forget_buffers(&mut self, range: &std::ops::Range<u64>) {
        for file in self.samplers.open() {
            let mut event = file.lock();
            event.buffer.take_if(|buffer| buffer.overlaps(range));
        }
    }
}
