//! The profiles of shadows, and the perfect profiles of the same kinds: one probe collects both.

use hps_isa::inst::{Inst, OpClass};
use hps_isa::probe::Probe;
use hps_profile::{HotStreamAnalyzer, StreamConfig, StreamProfile};

use crate::graphs::Graphs;
use crate::paths::PathProfiler;
use crate::values::{TableShape, ValueProfiler};

/// Paths, edges, calls and values of the stretches of a run that it is shown, and hot data streams if they are asked for.
///
/// Memory is bounded: by the limits of [`paths`](crate::paths) and of the analysis of streams, and by the program's code
/// for the rest.
pub struct Profiles<'a> {
    /// Paths, edges and calls.
    pub paths: PathProfiler<'a>,
    /// Values.
    pub values: ValueProfiler,
    /// Data references. Each stretch is a burst: no stream spans two of them.
    streams: Option<Box<HotStreamAnalyzer>>,
}

impl<'a> Profiles<'a> {
    /// Empty profiles of a program, without hot data streams.
    #[must_use]
    pub fn new(graphs: &'a Graphs<'a>, shape: TableShape) -> Profiles<'a> {
        Profiles {
            paths: PathProfiler::new(graphs),
            values: ValueProfiler::new(shape),
            streams: None,
        }
    }

    /// Also looks for hot data streams, as the HPS report defines them, or does not.
    ///
    /// # Panics
    /// Never: the default settings of the analysis are in their ranges.
    #[must_use]
    pub fn with_streams(mut self, wanted: bool) -> Profiles<'a> {
        self.streams = wanted.then(|| {
            let analyzer = HotStreamAnalyzer::new(StreamConfig::default());
            Box::new(analyzer.expect("the defaults are in their ranges"))
        });
        self
    }

    /// Ends the current sequence: the next events do not follow on the last ones.
    pub fn interrupt(&mut self) {
        self.paths.interrupt();
        if let Some(streams) = &mut self.streams
            && streams.trace_length() > 0
        {
            streams.push_terminator();
        }
    }

    /// The hot data streams so far, if they were asked for.
    #[must_use]
    pub fn streams(&self) -> Option<StreamProfile> {
        let analyzer = self.streams.as_deref()?;
        Some(analyzer.clone().finish())
    }
}

impl Probe for Profiles<'_> {
    const WANTS_CONTROL: bool = true;
    const WANTS_VALUES: bool = true;
    const WANTS_MEMORY: bool = true;

    #[inline]
    fn value(&mut self, pc: u64, _inst: &Inst, value: u64) {
        self.values.add(pc, value);
    }

    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, _taken: bool) {
        self.paths.transfer(pc, inst, target);
    }

    #[inline(always)]
    fn memory_quickly(&mut self, _: OpClass, _: u64) -> bool {
        self.streams.is_none()
    }

    #[inline]
    fn memory(&mut self, _: u64, _: &Inst, addr: u64) {
        if let Some(streams) = &mut self.streams {
            streams.push(addr);
        }
    }
}
