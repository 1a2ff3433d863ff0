//! Units of the weights of profiles.

use std::fmt::Debug;
use std::hash::Hash;

/// Unit of a profile's weights. Profiles of different units cannot be added.
pub trait Unit: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync + 'static {
    /// Name of the unit in files.
    const NAME: &'static str;
}

/// Events: calls and backward branches, executions, references of data streams (their heat), samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Events;

impl Unit for Events {
    const NAME: &'static str = "events";
}

/// Cycles, in equal parts: 12 to a cycle where up to four instructions commit in one, so that the share of each is a
/// whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cycles;

impl Unit for Cycles {
    const NAME: &'static str = "cycles";
}
