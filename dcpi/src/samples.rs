//! Samples: how often each address was found, by event.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The event that a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Cycles of the processor.
    Cycles,
    /// Instructions of the right path for which fetch waited for the instruction cache, whether the TLB missed too or
    /// not.
    Imiss,
    /// Loads that missed the first-level data cache.
    Dmiss,
    /// Mispredicted control transfers.
    Branchmp,
    /// Loads that missed the data TLB.
    Dtbmiss,
    /// Instructions of the right path for which fetch waited for the instruction TLB.
    Itbmiss,
}

impl Event {
    /// All of them.
    pub const ALL: [Event; 6] = [
        Event::Cycles,
        Event::Imiss,
        Event::Dmiss,
        Event::Branchmp,
        Event::Dtbmiss,
        Event::Itbmiss,
    ];

    /// Name of the event in options, files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Event::Cycles => "cycles",
            Event::Imiss => "imiss",
            Event::Dmiss => "dmiss",
            Event::Branchmp => "branchmp",
            Event::Dtbmiss => "dtbmiss",
            Event::Itbmiss => "itbmiss",
        }
    }

    /// The event of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|e| e.name() == name)
    }
}

/// Periods between samples, drawn uniformly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Range {
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
}

impl Range {
    /// DCPI's for cycles: 60 K to 64 K.
    pub const PUBLISHED: Range = Range {
        least: 60 << 10,
        most: 64 << 10,
    };

    /// Between these two numbers; `None` if they are in the wrong order or the first is zero.
    #[must_use]
    pub fn new(least: u64, most: u64) -> Option<Range> {
        (least > 0 && least <= most).then_some(Range { least, most })
    }

    /// Periods of one length.
    #[must_use]
    pub fn fixed(length: u64) -> Range {
        let length = length.max(1);
        Range {
            least: length,
            most: length,
        }
    }

    /// The mean of the range.
    #[must_use]
    pub fn mean(self) -> f64 {
        (self.least as f64 + self.most as f64) / 2.0
    }
}

/// Target of an edge that leads out of its object, where samples are kept by object.
pub const ELSEWHERE: u64 = u64::MAX;

/// The samples of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Between two samples, in events.
    pub period: Range,
    /// Samples by address.
    pub by_pc: BTreeMap<u64, u64>,
    /// Edge samples: transfers of control that were seen at samples or behind them, from the address of the transfer to
    /// where the program went on.
    pub by_edge: BTreeMap<(u64, u64), u64>,
}

impl Counts {
    /// No samples at these periods.
    #[must_use]
    pub fn new(period: Range) -> Counts {
        Counts {
            period,
            by_pc: BTreeMap::new(),
            by_edge: BTreeMap::new(),
        }
    }

    /// Adds other samples of the same period.
    pub fn add(&mut self, other: &Counts) {
        for (pc, count) in &other.by_pc {
            *self.by_pc.entry(*pc).or_default() += count;
        }
        for (edge, count) in &other.by_edge {
            *self.by_edge.entry(*edge).or_default() += count;
        }
    }

    /// Whether nothing was sampled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pc.is_empty() && self.by_edge.is_empty()
    }

    /// All samples.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_pc.values().sum()
    }

    /// Samples at an address.
    #[must_use]
    pub fn at(&self, pc: u64) -> u64 {
        self.by_pc.get(&pc).copied().unwrap_or(0)
    }

    /// Samples in a range of addresses.
    #[must_use]
    pub fn within(&self, range: std::ops::Range<u64>) -> u64 {
        self.by_pc.range(range).map(|(_, count)| count).sum()
    }
}

/// The samples of a program, by event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// By event, for those that were sampled.
    pub events: BTreeMap<Event, Counts>,
}

impl Samples {
    /// The samples of an event, if it was sampled.
    #[must_use]
    pub fn of(&self, event: Event) -> Option<&Counts> {
        self.events.get(&event)
    }

    /// Samples of an event at an address.
    #[must_use]
    pub fn at(&self, event: Event, pc: u64) -> u64 {
        self.of(event).map_or(0, |c| c.at(pc))
    }
}
