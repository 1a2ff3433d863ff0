//! Where a shadow does something else than its parent then really did.
//!
//! A shadow writes down where each transfer of control led ([`Log`]). The parent is held against it when it runs through
//! the same stretch ([`Comparison`]). The first difference is a divergence, and the last system call that the shadow
//! made before it is what caused it: between two calls, two processes in one state do the same.

use std::sync::atomic::Ordering;

use hps_isa::inst::Inst;
use hps_isa::probe::Probe;

use crate::policy::{MadeCall, Wire};

/// Transfers that a shadow's log holds. Divergences behind these are not found.
pub const MOST_TRANSFERS: usize = 1 << 24;

/// Where each transfer of control of a shadow led, as the low half of the address.
pub struct Log {
    targets: Vec<u32>,
    count: u64,
    wire: Wire,
}

impl Log {
    /// An empty log. `wire` tells the shadow's gate how long it is.
    #[must_use]
    pub fn new(wire: Wire) -> Log {
        wire.transfers.store(0, Ordering::Relaxed);
        Log {
            targets: Vec::new(),
            count: 0,
            wire,
        }
    }

    /// Ends the log. Instructions that the shadow has run through, and the calls that it has made.
    #[must_use]
    pub fn finish(self) -> Course {
        Course {
            calls: self.wire.take_calls(),
            targets: self.targets,
            count: self.count,
        }
    }
}

impl Probe for Log {
    const WANTS_CONTROL: bool = true;

    #[inline]
    fn control(&mut self, _pc: u64, _inst: &Inst, target: u64, _taken: bool) {
        self.count += 1;
        self.wire.transfers.store(self.count, Ordering::Relaxed);
        if self.targets.len() < MOST_TRANSFERS {
            self.targets.push(target as u32);
        }
    }
}

/// Execution of a shadow: targets of its transfers, and its system calls.
#[derive(Clone, Debug)]
pub struct Course {
    targets: Vec<u32>,
    count: u64,
    calls: Vec<MadeCall>,
}

impl Course {
    /// The calls that it has made.
    #[must_use]
    pub fn calls(&self) -> &[MadeCall] {
        &self.calls
    }

    /// Transfers of control that it has made.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.count
    }
}

/// A shadow that did something else than its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Transfers of control that both had made before.
    pub transfers: u64,
    /// The transfer that led elsewhere.
    pub pc: u64,
    /// The last system call of the shadow before it.
    pub cause: Option<MadeCall>,
}

/// The parent, on the stretch that a shadow has run through.
#[derive(Debug)]
pub struct Comparison {
    course: Course,
    at: usize,
    /// The first difference.
    pub divergence: Option<Divergence>,
}

impl Comparison {
    /// Of the parent, from the fork on, with what the shadow did.
    #[must_use]
    pub fn new(course: Course) -> Comparison {
        Comparison {
            course,
            at: 0,
            divergence: None,
        }
    }

    /// Whether there is nothing left to compare.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.divergence.is_some() || self.at >= self.course.targets.len()
    }

    /// Transfers of control that the shadow has made.
    #[must_use]
    pub fn transfers(&self) -> u64 {
        self.course.count
    }

    #[inline]
    fn compare(&mut self, pc: u64, target: u64) {
        if self.divergence.is_some() {
            return;
        }
        let Some(expected) = self.course.targets.get(self.at) else {
            return;
        };
        if *expected != target as u32 {
            let before = self.course.calls.iter().rev();
            let cause = before.copied().find(|c| c.transfers <= self.at as u64);
            self.divergence = Some(Divergence {
                transfers: self.at as u64,
                pc,
                cause,
            });
        }
        self.at += 1;
    }
}

/// Several comparisons at once: stretches of shadows overlap.
#[derive(Debug, Default)]
pub struct Comparisons(pub Vec<Comparison>);

impl Probe for Comparisons {
    const WANTS_CONTROL: bool = true;

    #[inline]
    fn control(&mut self, pc: u64, _inst: &Inst, target: u64, _taken: bool) {
        for comparison in &mut self.0 {
            comparison.compare(pc, target);
        }
    }
}
