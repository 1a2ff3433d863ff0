//! Profilers at their cost: the densest sampling point first, until one fits into the budget.

use hps_profile::ProfileKind;

use super::exact::Exact;
use super::fits;
use super::undisturbed::Undisturbed;
use crate::measurement::{Unit, UnitRecord};

/// The unit of work of a contender over one program at a sampling point.
type UnitOf = dyn for<'a> Fn(&'a Undisturbed<'a>, &'a Exact<'a>, u64) -> Unit<'a>;

/// A profiler that runs at its cost and competes for the budget, or several that share runs and so cost the same.
pub(super) struct Contender {
    /// Name in results; the first one's where several share runs.
    name: &'static str,
    /// The kind of profile that it collects; `None` for a profile of the program's time.
    kind: Option<ProfileKind>,
    /// Sampling points, the densest first: one in so many events, or periods in cycles.
    points: &'static [u64],
    unit: Box<UnitOf>,
}

impl Contender {
    pub fn new(
        name: &'static str,
        kind: Option<ProfileKind>,
        points: &'static [u64],
        unit: impl for<'a> Fn(&'a Undisturbed<'a>, &'a Exact<'a>, u64) -> Unit<'a> + 'static,
    ) -> Self {
        let unit = Box::new(unit);
        Contender {
            name,
            kind,
            points,
            unit,
        }
    }

    /// The unit over one program at a step of the search. Step 0 is the densest point; `None` behind the sparsest.
    pub fn unit<'a>(
        &self,
        undisturbed: &'a Undisturbed<'a>,
        exact: &'a Exact<'a>,
        step: usize,
    ) -> Option<Unit<'a>> {
        let point = *self.points.get(step)?;
        Some((self.unit)(undisturbed, exact, point))
    }

    /// Whether its mean overhead at a step stays within a budget. A run that failed does not.
    pub fn fits(&self, records: &[UnitRecord], step: usize, budget: f64) -> bool {
        let at = |&point| fits(records, self.name, self.kind, point, budget);
        self.points.get(step).is_some_and(at)
    }
}
