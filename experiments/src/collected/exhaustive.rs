//! The exhaustive profile beside one of HPS: every event of the program.

use std::sync::Arc;

use hps_isa::editor::NoEditor;
use hps_lab::{Faulted, FunctionalLoop, Lab, Program, host};
use hps_productions::point::COUNTER_MAX;
use hps_productions::{GridProbe, GridResult, MethodMap, PointProfiles, SamplePoint};
use hps_profile::{
    CallPair, Fraction, Profile, ProfileKind, StreamConfig, StreamProfile, accuracy,
};
use hps_system::symbols::{Entries, Symbols};

use super::CollectionError;

/// Exact profiles of a program.
pub(super) struct Truth {
    pub grid: GridResult,
    pub methods: MethodMap,
    pub symbols: Arc<Symbols>,
    pub streams: Option<StreamProfile>,
    pub exit_code: i32,
    /// Accuracy at the point and with a period one event longer, and samples there; not of data streams.
    accuracies: Option<[(f64, u64); 2]>,
}

/// How much more accurate a profile is with a period one event longer, in shares, before the period is taken to be in
/// step with the program's loops.
const IN_STEP: f64 = 0.1;

/// Samples below which an accuracy says nothing about the period.
const FEW_SAMPLES: u64 = 20;

impl Truth {
    /// A warning where the fixed period is in step with the program's loops.
    pub fn in_step(&self, point: SamplePoint) -> Option<String> {
        let [(fixed, samples), (detuned, others)] = self.accuracies?;
        let is_in_step = detuned > fixed + IN_STEP && samples.min(others) >= FEW_SAMPLES;
        is_in_step.then(|| {
            format!(
                "the fixed period of {} events is in step with the program's loops: with a period one event longer the \
                 accuracy is {:.1}% instead of {:.1}%",
                point.period(),
                100.0 * detuned,
                100.0 * fixed
            )
        })
    }
}

/// Counts everything, in a run on the functional machine.
pub(super) fn exhaustive(
    program: &Program,
    kind: ProfileKind,
    point: SamplePoint,
    streams: &StreamConfig,
    tail_calls: &Option<Arc<Entries>>,
) -> Result<Truth, CollectionError> {
    let (mut grid, symbols, exit_code) = if kind == ProfileKind::DataStream {
        let probe = GridProbe::with_memory(&[], Some(streams))?.on_threads(host::processors());
        watched(program, probe)?
    } else {
        let detuned = SamplePoint {
            sparsity: point.sparsity.saturating_add(1).min(COUNTER_MAX),
            ..point
        };
        let probe = GridProbe::new(&[point, detuned])?.with_tail_calls(tail_calls.clone());
        watched(program, probe)?
    };
    let methods = grid.method_map(&symbols);
    let exact = &grid.exhaustive;
    let at = |sampled: &PointProfiles| {
        let cut = Fraction::NINETY_PERCENT;
        let of_methods = |p: &PointProfiles| p.addresses.methods(|a| methods.entry(a));
        if kind == ProfileKind::Method {
            let overlap = accuracy(&of_methods(sampled), &of_methods(exact), cut);
            (overlap.renormalized, sampled.addresses.total())
        } else {
            let sampled = pairs(sampled);
            let overlap = accuracy(&sampled, &pairs(exact), cut);
            (overlap.renormalized, sampled.total())
        }
    };
    let accuracies = match &grid.points[..] {
        [fixed, detuned] => Some([at(fixed), at(detuned)]),
        _ => None,
    };
    let streams = grid
        .exhaustive
        .stream
        .take()
        .and_then(|recorder| recorder.finish());
    Ok(Truth {
        grid,
        methods,
        symbols,
        streams,
        exit_code,
        accuracies,
    })
}

/// Call pairs, with the tail calls that were counted.
pub(super) fn pairs(profiles: &PointProfiles) -> Profile<CallPair> {
    let mut pairs = profiles.call_pairs.clone();
    pairs.merge(&profiles.tail_calls);
    pairs
}

/// Data that samplers see of a whole run, the names of all that has run, and the program's exit code.
fn watched<const MEMORY: bool>(
    program: &Program,
    probe: GridProbe<MEMORY>,
) -> Result<(GridResult, Arc<Symbols>, i32), CollectionError>
where
    NoEditor: FunctionalLoop<GridProbe<MEMORY>>,
{
    let ran = Lab::of(program).watched_by(probe).run()?;
    let code = Faulted::or_exit_code(ran.stop, &ran.process)?;
    let symbols = ran.process.symbols();
    Ok((ran.probe.finish(), symbols, code))
}
