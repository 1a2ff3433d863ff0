//! Runs at several sampling points that have their beginning in common.
//!
//! Until the first event is sampled, runs at points of the same profile differ in nothing but how far
//! the first counter is from its maximum. So the run with the greatest sparsity goes ahead, and just
//! before another one would sample for the first time, it is duplicated and the duplicate's counter
//! put forward. What comes out is the same to the cycle.

use hps_dise::DiseEngine;
use hps_isa::hart::Hart;

use super::Collector;
use crate::point::{COUNTER_MAX, SAMPLE_FREQ};
use crate::scheme::Scheme;

impl Collector {
    /// Turns a run of `other` into the run that this collector would have made from the beginning. `other` collects
    /// the same profile with the same burst length and an equal or greater sparsity. Returns `false` and changes
    /// nothing if an event has been sampled (or may have been, on a path still in flight), if the collectors differ
    /// in more than sparsity, or if one of them is not of [`Scheme::Hps`], whose state is a counter alone.
    ///
    /// The engine is that of a duplicate, since it gets this collector's consumer.
    #[must_use]
    pub fn take_over(&self, other: &Self, hart: &mut Hart, engine: &mut DiseEngine) -> bool {
        let same_scheme = self.scheme == Scheme::Hps && other.scheme == Scheme::Hps;
        let is_same = same_scheme
            && (
                &self.kinds,
                self.point.burst,
                &self.dise,
                self.guest_range(),
            ) == (
                &other.kinds,
                other.point.burst,
                &other.dise,
                other.guest_range(),
            );
        let by = other.point.sparsity.checked_sub(self.point.sparsity);
        let by = by.and_then(|by| u32::try_from(by).ok());
        let (Some(counter), Some(by)) = (sampling_counter(engine), by) else {
            return false;
        };
        if !is_same
            || !has_begun_with(other, hart)
            || !others_as_in_the_beginning(counter, hart, engine)
            || !engine.advance_counter(counter, by)
        {
            return false;
        }
        for (register, value) in self.point.registers() {
            hart.r[usize::from(register)] = value;
        }
        self.attach(engine);
        true
    }

    /// Puts a run that has not begun ahead in its schedule: the first burst comes so many events earlier, at most behind the next
    /// one.
    /// The engine is the one that [`install`](Self::install) gave.
    ///
    /// Returns `false` and changes nothing if the collector is not of [`Scheme::Hps`].
    #[must_use]
    pub fn put_ahead(&self, engine: &mut DiseEngine, events: u64) -> bool {
        let most = self.events_left(engine).saturating_sub(1);
        let events = u32::try_from(events.min(most));
        match (self.scheme, sampling_counter(engine), events) {
            (Scheme::Hps, Some(counter), Ok(events)) => engine.advance_counter(counter, events),
            _ => false,
        }
    }

    /// Events until the next burst begins, on the predicted path.
    #[must_use]
    pub fn events_left(&self, engine: &DiseEngine) -> u64 {
        let value = sampling_counter(engine)
            .and_then(|counter| engine.counters().get(usize::from(counter)))
            .map_or(COUNTER_MAX, |&value| u64::from(value));
        COUNTER_MAX - value
    }
}

/// The counter whose overflow turns sampling on.
fn sampling_counter(engine: &DiseEngine) -> Option<u8> {
    let mut initial = engine.initial_assignments().iter();
    initial
        .find(|(_, register)| *register == SAMPLE_FREQ)
        .map(|(counter, _)| *counter)
}

/// The sampling registers still hold what this collector put there.
fn has_begun_with(collector: &Collector, hart: &Hart) -> bool {
    let mut registers = collector.point.registers().into_iter();
    registers.all(|(register, value)| hart.r[usize::from(register)] == value)
}

/// Every counter but one has its first value: no burst has ended.
fn others_as_in_the_beginning(counter: u8, hart: &Hart, engine: &DiseEngine) -> bool {
    let first = |number: u8| -> u32 {
        let mut initial = engine.initial_assignments().iter();
        initial
            .find(|(counter, _)| *counter == number)
            .map_or(0, |(_, register)| hart.r[usize::from(*register)] as u32)
    };
    let mut counters = (0..).zip(engine.counters());
    counters.all(|(number, &value)| number == counter || value == first(number))
}
