//! The profiles of shadows, and the perfect profiles of the same kinds: one probe collects both.

use hps_sim_core::inst::Inst;
use hps_sim_core::probe::Probe;

use crate::graphs::Graphs;
use crate::paths::PathProfiler;
use crate::values::{TableShape, ValueProfiler};

/// Paths, edges, calls and values of the stretches of a run that it is shown.
///
/// Memory is bounded: by the limits of [`paths`](crate::paths), and by the program's code for the rest.
pub struct Profiles<'a> {
    /// Paths, edges and calls.
    pub paths: PathProfiler<'a>,
    /// Values.
    pub values: ValueProfiler,
}

impl<'a> Profiles<'a> {
    /// Empty profiles of a program.
    #[must_use]
    pub fn new(graphs: &'a Graphs<'a>, shape: TableShape) -> Profiles<'a> {
        Profiles {
            paths: PathProfiler::new(graphs),
            values: ValueProfiler::new(shape),
        }
    }
}

impl Probe for Profiles<'_> {
    const WANTS_CONTROL: bool = true;
    const WANTS_VALUES: bool = true;

    #[inline]
    fn value(&mut self, pc: u64, _inst: &Inst, value: u64) {
        self.values.add(pc, value);
    }

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        self.paths.transfer(pc, inst, target);
    }
}
