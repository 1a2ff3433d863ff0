//! Events at a known cycle other than becoming ready: few at a time, in a short list.

use serde::{Deserialize, Serialize};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A mispredicted transfer resolves.
    Resolve,
    /// A store has found a younger load that ran too early.
    Violation,
}

/// Event of the instruction at a position, in a cycle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Event {
    pub kind: EventKind,
    pub position: u64,
    pub cycle: u64,
}

/// Future events in the order in which they were added.
#[derive(Clone, Default)]
pub struct Events {
    list: Vec<Event>,
    /// The first of their cycles, or the end of time.
    next: u64,
}

hps_isa::save_state! { Events { list, next } }

impl Events {
    pub fn new(capacity: usize) -> Self {
        Events {
            list: Vec::with_capacity(capacity),
            next: u64::MAX,
        }
    }

    pub fn push(&mut self, kind: EventKind, position: u64, cycle: u64) {
        self.list.push(Event {
            kind,
            position,
            cycle,
        });
        self.next = self.next.min(cycle);
    }

    /// The first cycle that has an event.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes the oldest addition that is due in cycle `now`.
    pub fn take_due(&mut self, now: u64) -> Option<Event> {
        let at = self.list.iter().position(|e| e.cycle <= now)?;
        let event = self.list.remove(at);
        self.find_next();
        Some(event)
    }

    /// Drops the events of positions from `first` on.
    pub fn squash(&mut self, first: u64) {
        self.list.retain(|e| e.position < first);
        self.find_next();
    }

    fn find_next(&mut self) {
        self.next = self.list.iter().map(|e| e.cycle).min().unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_events_come_in_the_order_in_which_they_were_added() {
        let mut events = Events::new(4);
        for (position, cycle) in [(5, 9), (6, 7), (7, 9), (8, 9), (4, 12)] {
            events.push(EventKind::Resolve, position, cycle);
        }
        assert_eq!(events.next(), 7);
        assert!(events.take_due(6).is_none());
        assert_eq!(events.take_due(7).map(|e| e.position), Some(6));
        assert_eq!(events.take_due(9).map(|e| e.position), Some(5));
        events.squash(8);
        assert_eq!(events.take_due(9).map(|e| e.position), Some(7));
        assert!(events.take_due(9).is_none());
        assert_eq!(events.next(), 12);
    }
}
