//! The HPS paper's evaluation, whole: what its figures need, run and kept.

use crate::cluster::Keep;
use crate::measurement::{Unit, UnitRecord, run_units};
use crate::plan::{Plan, PlanError};
use crate::row::Row;
use crate::runner::{self, Observer};
use crate::spec::{SweepSpec, Timing};
use crate::store::StoreError;
use crate::studies::{self, StudyOptions};
use crate::{figure6, figure7};
use hps_lab::Program;
use hps_lab::TimedMachine;
use std::collections::HashSet;

/// The figures of the paper's evaluation.
pub const FIGURES: [&str; 5] = ["figure6", "figure7", "figure8", "figure9", "figure10"];

/// All names that [`Reproduction::only`] may hold.
#[must_use]
pub fn chapters() -> Vec<&'static str> {
    FIGURES.into_iter().chain(studies::NAMES).collect()
}

/// Results to be made again, with which programs, on which machine.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The programs; those of one instruction set stand together.
    pub programs: Vec<Program>,
    /// The machine that all of them are timed on.
    pub machine: TimedMachine,
    /// Names out of [`FIGURES`] and of studies; empty: all.
    pub only: Vec<String>,
}

/// A part of the reproduction cannot be run or kept.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The sweep of Figures 8 to 10.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Results.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Points of the sweep behind Figures 8 to 10.
    pub rows: Vec<Row>,
    /// Units of work of everything else.
    pub records: Vec<UnitRecord>,
}

impl Outcome {
    /// Failed points and units: a title and the reason.
    #[must_use]
    pub fn failures(&self) -> Vec<(String, &str)> {
        let rows = self.rows.iter().filter_map(|r| {
            let what = format!(
                "{} ({}): {}, burst {}, 1/{}",
                r.program,
                r.isa,
                r.profile.title(),
                r.burst,
                r.one_in
            );
            Some((what, r.failure.as_deref()?))
        });
        let records = self.records.iter().filter_map(UnitRecord::failed_unit);
        rows.chain(records).collect()
    }
}

impl Reproduction {
    /// Whether a figure or study is asked for.
    #[must_use]
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// Whether a unit links a program again, which nobody asked for by name, and cannot be done here.
    fn lacks_link(&self, unit: &Unit<'_>) -> bool {
        let name = studies::link_order::NAME;
        unit.study == name
            && self.only.is_empty()
            && !studies::link_order::can_link(std::slice::from_ref(unit.program))
    }

    /// The sweep behind Figures 8 to 10, if one of them is asked for.
    fn plan(&self) -> Result<Option<Plan>, PlanError> {
        let timed = self.wants("figure8") || self.wants("figure9");
        if !timed && !self.wants("figure10") {
            return Ok(None);
        }
        let spec = SweepSpec {
            timing: if timed {
                Timing::PaperPoints
            } else {
                Timing::Off
            },
            core: self.machine.core,
            ..SweepSpec::default()
        };
        let machines = vec![self.machine.config.clone()];
        Plan::of(self.programs.clone(), machines, &spec).map(Some)
    }

    /// The units of the studies, for the programs of each instruction set by themselves.
    fn studies(&self) -> Vec<Unit<'_>> {
        let options = StudyOptions::default();
        let alike = |a: &Program, b: &Program| a.image.isa == b.image.isa;
        let mut units: Vec<Unit<'_>> = Vec::new();
        let mut known = HashSet::new();
        for programs in self.programs.chunk_by(alike) {
            let of_isa = studies::units(programs, &self.machine, &options);
            // Programs of a study's own come with every instruction set.
            units.extend(
                of_isa
                    .into_iter()
                    .filter(|unit| known.insert(unit.id(&self.machine))),
            );
        }
        units
    }

    /// Runs what is asked for and not kept yet: `results.jsonl` has the points of the sweep and
    /// `units.jsonl` the other units of work. A killed run loses only what it was at.
    ///
    /// # Errors
    /// [`ReproduceError`] if results cannot be read or written. What fails is a result that says
    /// why, and runs again next time.
    pub fn run(&self, keep: &Keep, observer: &dyn Observer) -> Result<Outcome, ReproduceError> {
        let plan = self.plan()?;
        let (row_store, unit_store) = (keep.rows()?, keep.units()?);
        let truths = figure7::truths(&self.programs);
        let mut units = figure6::units(&self.programs);
        units.extend(figure7::units(&self.programs, &truths, &self.machine));
        units.extend(self.studies());
        units.retain(|unit| self.wants(unit.study) && !self.lacks_link(unit));
        // Beside each other, so that the end of the one does not leave processors idle.
        let (rows, records) = rayon::join(
            || match &plan {
                Some(plan) => runner::run(plan, &row_store, observer),
                None => Ok(Vec::new()),
            },
            || run_units(&units, &self.machine, &unit_store, observer),
        );
        let outcome = Outcome {
            rows: rows?,
            records: records?,
        };
        keep.tidy(row_store)?;
        keep.tidy(unit_store)?;
        Ok(outcome)
    }
}
