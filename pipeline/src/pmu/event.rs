//! Events that a counter of the PMU counts.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use hps_system::process::HardwareEvents;

use crate::model::CoreStats;

/// Event of a counter: cycles, instructions of the program that commit, any other event among [`CoreStats::COUNTERS`],
/// by its name there, or misses of the core's own caches and TLBs. Files hold the name.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    name: &'static str,
    read: Read,
}

type ReadCaches = fn(&HardwareEvents) -> u64;

/// Where an event is counted.
#[derive(Clone, Copy, Debug)]
enum Read {
    Core(fn(&CoreStats) -> u64),
    Caches(ReadCaches),
}

/// Misses of caches and TLBs, wrong paths included, by the names that [`MemoryStats`](crate::memsys::MemoryStats) has for
/// them.
const MISSES: [(&str, ReadCaches); 4] = [
    ("l1i.read_miss_events", |events| events.l1i_read_misses),
    ("l1d.read_miss_events", |events| events.l1d_read_misses),
    ("itlb.miss_events", |events| events.itlb_misses),
    ("dtlb.miss_events", |events| events.dtlb_misses),
];

/// Readings for all counters of a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readings<'a> {
    pub core: &'a CoreStats,
    pub caches: HardwareEvents,
}

impl<'a> From<&'a CoreStats> for Readings<'a> {
    /// Without caches.
    fn from(core: &'a CoreStats) -> Self {
        Readings {
            core,
            caches: HardwareEvents::default(),
        }
    }
}

/// A name that no event has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no event is called `{name}`; `cycles` and `instructions` are events, and so is every counter of a timed run"
)]
pub struct UnknownEvent {
    /// The name.
    pub name: String,
}

impl Event {
    /// Cycles: a counter of them is a timer.
    pub const CYCLES: Event = Event {
        name: "cycles",
        read: Read::Core(|stats| stats.cycles),
    };

    /// Instructions of the program that commit: those of handlers and sequences are not among them.
    pub const INSTRUCTIONS: Event = Event {
        name: "instructions",
        read: Read::Core(|stats| stats.commit_program_instructions),
    };

    /// The event of a name.
    ///
    /// # Errors
    /// [`UnknownEvent`].
    pub fn named(name: &str) -> Result<Event, UnknownEvent> {
        if name == Event::INSTRUCTIONS.name {
            return Ok(Event::INSTRUCTIONS);
        }
        if let Some(&(name, read)) = CoreStats::COUNTERS.iter().find(|(known, _)| *known == name) {
            let read = Read::Core(read);
            return Ok(Event { name, read });
        }
        let found = MISSES.into_iter().find(|(known, _)| *known == name);
        let (name, read) = found.ok_or_else(|| UnknownEvent {
            name: name.to_string(),
        })?;
        let read = Read::Caches(read);
        Ok(Event { name, read })
    }

    /// Name of the event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it counts cycles, so that the cycle of an overflow is known in advance.
    #[must_use]
    pub fn is_cycles(&self) -> bool {
        self.name == Event::CYCLES.name
    }

    /// How often it has happened.
    pub(crate) fn read<'a>(&self, from: impl Into<Readings<'a>>) -> u64 {
        let Readings { core, caches } = from.into();
        match self.read {
            Read::Core(read) => read(core),
            Read::Caches(read) => read(&caches),
        }
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.name == other.name
    }
}

impl Eq for Event {}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Event::named(&name).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memsys::MemoryStats;

    #[test]
    fn every_counter_of_a_run_is_an_event_that_reads_it() {
        let shown = ron::to_string(&CoreStats::default()).expect("numbers");
        let fields = shown.matches(':').count();
        assert_eq!(CoreStats::COUNTERS.len(), fields, "{shown}");
        for (name, _) in CoreStats::COUNTERS {
            assert!(shown.contains(&format!("{name}:0")), "{name} in {shown}");
            let event = Event::named(name).expect("a counter");
            assert_eq!(event.name(), *name);
            assert_eq!(event.read(&CoreStats::default()), 0);
        }
        let stats = CoreStats {
            cycles: 1,
            commit_program_instructions: 2,
            load_committed_events: 3,
            issue_block_limited_cycles: 4,
            ..CoreStats::default()
        };
        let read = |name: &str| Event::named(name).expect("an event").read(&stats);
        assert_eq!(read("cycles"), 1);
        assert_eq!(read("instructions"), 2);
        assert_eq!(read("commit_program_instructions"), 2);
        assert_eq!(read("load_committed_events"), 3);
        assert_eq!(read("issue_block_limited_cycles"), 4);
    }

    #[test]
    fn misses_are_called_as_the_memory_system_calls_them() {
        let caches = HardwareEvents {
            l1i_read_misses: 1,
            l1d_read_misses: 2,
            itlb_misses: 3,
            dtlb_misses: 4,
            ..HardwareEvents::default()
        };
        let core = &CoreStats::default();
        let read = |(name, _): (&str, _)| {
            assert!(MemoryStats::names().contains(&name), "{name}");
            Event::named(name)
                .expect("an event")
                .read(Readings { core, caches })
        };
        assert_eq!(MISSES.map(read), [1, 2, 3, 4]);
    }

    #[test]
    fn an_event_is_written_as_its_name() {
        let event = Event::named("load_committed_events").expect("an event");
        let text = ron::to_string(&event).expect("a name");
        assert_eq!(text, "\"load_committed_events\"");
        assert_eq!(ron::from_str::<Event>(&text), Ok(event));
        let error = ron::from_str::<Event>("\"loads\"").expect_err("no event");
        assert!(error.to_string().contains("`loads`"), "{error}");
    }
}
