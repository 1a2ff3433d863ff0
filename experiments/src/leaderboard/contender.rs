//! Profilers at their cost: at a usual sampling point, or at the points that a search for a budget asks for.

use std::collections::HashSet;

use hps_profile::ProfileKind;

use super::board::{Form, overheads};
use super::exact::Exact;
use super::search;
use super::undisturbed::Undisturbed;
use crate::measurement::{Unit, UnitRecord};

/// A run at a sampling point: one in so many events or a period in cycles, and which of several runs it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub point: u64,
    pub run: u64,
    pub runs: u64,
}

impl At {
    /// A distance between samples for this run: each further run samples a little more rarely, so that its samples lie
    /// elsewhere. For profilers whose schedule cannot begin elsewhere.
    pub fn shifted(&self, distance: u64) -> u64 {
        distance + (u128::from(distance) * u128::from(self.run) / 256) as u64
    }
}

/// The unit of work of a contender over one program.
type UnitOf = dyn for<'a> Fn(&'a Undisturbed<'a>, &'a Exact<'a>, At) -> Unit<'a>;

/// A profiler that runs at its cost and competes for the budget, or several that share runs and so cost the same.
pub(super) struct Contender {
    /// Name in results; the first one's where several share runs.
    name: &'static str,
    /// The kind of profile that it collects; `None` for a profile of the program's time.
    kind: Option<ProfileKind>,
    /// How it samples.
    form: Form,
    unit: Box<UnitOf>,
}

impl Contender {
    pub fn new(
        name: &'static str,
        kind: Option<ProfileKind>,
        form: Form,
        unit: impl for<'a> Fn(&'a Undisturbed<'a>, &'a Exact<'a>, At) -> Unit<'a> + 'static,
    ) -> Self {
        let unit = Box::new(unit);
        Contender {
            name,
            kind,
            form,
            unit,
        }
    }

    /// The units over one program at a point.
    pub fn units<'a>(
        &'a self,
        undisturbed: &'a Undisturbed<'a>,
        exact: &'a Exact<'a>,
        point: u64,
        runs: u64,
    ) -> impl Iterator<Item = Unit<'a>> {
        let at = move |run| At { point, run, runs };
        (0..runs).map(move |run| (self.unit)(undisturbed, exact, at(run)))
    }

    /// Points to run next by what is known: those of the searches for all budgets, or the usual one. None twice.
    pub fn wanted(
        &self,
        records: &[UnitRecord],
        budgets: &[f64],
        asked: &mut HashSet<(&'static str, Option<ProfileKind>, u64)>,
    ) -> Vec<u64> {
        let points = self.form.points();
        let mut wanted = match budgets {
            [] => vec![self.form.usual_point()],
            _ => {
                let tried = overheads(records, self.name, self.kind);
                let known = (&*tried, search::MOST * budgets.len());
                let next = |&budget| search::next(&points, self.form.usual_point(), known, budget);
                budgets.iter().filter_map(next).collect()
            }
        };
        wanted.retain(|&point| asked.insert((self.name, self.kind, point)));
        wanted
    }
}
