//! Profilers at their cost: the densest sampling point first, until one fits into the budget.

use hps_profile::ProfileKind;

use super::collected::PERIODS;
use super::costly::FREQUENCIES;
use super::exact::Exact;
use super::fits;
use super::undisturbed::Undisturbed;
use crate::measurement::{Unit, UnitRecord};

/// Sampling points of a profiler, the densest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    /// One in so many of the program's events or instructions.
    OneIn,
    /// A sample in so many cycles.
    Cycles,
}

/// A profiler that runs at its cost and competes for the budget, or several that share runs and so cost the same.
pub(super) trait Contender {
    /// Its name in results; the first one's where several share runs.
    fn name(&self) -> &'static str;

    /// The kind of profile that it collects; `None` for a profile of the program's time.
    fn kind(&self) -> Option<ProfileKind>;

    /// Its sampling points.
    fn sampling(&self) -> Sampling;

    /// The unit of work that runs it over one program at a sampling point.
    fn unit<'a>(
        &self,
        undisturbed: &'a Undisturbed<'a>,
        exact: &'a Exact<'a>,
        point: u64,
    ) -> Unit<'a>;
}

impl dyn Contender {
    /// Its sampling point at a step of the search, the densest at step 0; `None` behind the sparsest.
    pub fn point(&self, step: usize) -> Option<u64> {
        let points = match self.sampling() {
            Sampling::OneIn => FREQUENCIES,
            Sampling::Cycles => PERIODS,
        };
        points.get(step).copied()
    }

    /// Whether its mean overhead at a step stays within a budget. A run that failed does not.
    pub fn fits(&self, records: &[UnitRecord], step: usize, budget: f64) -> bool {
        let at = |point| fits(records, self.name(), self.kind(), point, budget);
        self.point(step).is_some_and(at)
    }
}
