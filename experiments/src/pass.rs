//! The functional pass of a program: the accuracies of all its points.

use hps_isa::editor::NoEditor;
use hps_lab::FunctionalLoop;
use hps_productions::grid::{EventTrace, MAX_POINTS, Phase, PhasedGrid};
use hps_productions::{GridProbe, GridResult, MethodMap, PointProfiles, SamplePoint};
use hps_profile::{
    Accuracy, Fraction, Profile, ProfileKind, StreamConfig, StreamProfile, accuracy,
};
use rayon::prelude::*;

use crate::phases::Phases;
use crate::plan::{Plan, Point};
use crate::row::AccuracyResult;
use crate::timed::watched;
use hps_lab::Program;

/// The profiles of all points from one functional run.
pub(crate) struct Pass {
    /// Event trace that every phase of every point samples from, if phases are asked for and the program is not too
    /// long.
    trace: Option<EventTrace>,
    grid: GridResult,
    methods: MethodMap,
    /// How streams are found.
    analysis: StreamConfig,
    /// Hot data streams: exhaustive, then each point.
    streams: Vec<Option<StreamProfile>>,
    /// References of the exhaustive trace and of each point.
    references: Vec<u64>,
    /// Points of the plan; those behind them have a period one event longer.
    planned: usize,
    /// Instructions of the program.
    pub instructions: u64,
}

/// On at most this many threads; 0 stands for 1.
pub(crate) fn functional_pass(
    plan: &Plan,
    program: &Program,
    with_memory: bool,
    threads: usize,
) -> Result<Pass, String> {
    let mut points: Vec<_> = plan.grid.iter().map(|(point, _)| *point).collect();
    if 2 * points.len() <= MAX_POINTS {
        // The report compares each point with one whose period is an event longer.
        points.extend(plan.grid.iter().map(|(p, _)| SamplePoint {
            sparsity: p.sparsity + 1,
            ..*p
        }));
    }
    if with_memory {
        let probe =
            GridProbe::with_memory(&points, Some(&plan.streams)).map_err(|e| e.to_string())?;
        let probe = probe.without_streams_from(plan.grid.len());
        run(plan, program, probe.on_threads(threads))
    } else {
        let probe = GridProbe::new(&points).map_err(|e| e.to_string())?;
        run(plan, program, probe)
    }
}

/// Runs a program under a grid, and keeps what phases need if they are asked for.
fn run<const MEMORY: bool>(
    plan: &Plan,
    program: &Program,
    grid: GridProbe<MEMORY>,
) -> Result<Pass, String>
where
    NoEditor: FunctionalLoop<GridProbe<MEMORY>> + FunctionalLoop<PhasedGrid<MEMORY>>,
{
    if plan.phases == 0 {
        let (grid, instructions) = watched(program, grid)?;
        return Ok(Pass::new(
            (grid.finish(), None),
            plan,
            program,
            instructions,
        ));
    }
    let (grid, instructions) = watched(program, PhasedGrid::new(grid))?;
    Ok(Pass::new(grid.finish(), plan, program, instructions))
}

impl Pass {
    fn new(
        (mut grid, trace): (GridResult, Option<EventTrace>),
        plan: &Plan,
        program: &Program,
        instructions: u64,
    ) -> Self {
        let methods = grid.method_map(&program.image.symbols);
        let recorders: Vec<_> = std::iter::once(&mut grid.exhaustive)
            .chain(&mut grid.points[..plan.grid.len()])
            .map(|profiles: &mut PointProfiles| profiles.stream.take())
            .collect();
        let references = recorders
            .iter()
            .map(|r| r.as_ref().map_or(0, |r| r.references()))
            .collect();
        let streams = recorders
            .into_par_iter()
            .map(|r| r.and_then(|r| r.finish()))
            .collect();
        Pass {
            trace,
            grid,
            methods,
            analysis: plan.streams.clone(),
            streams,
            references,
            planned: plan.grid.len(),
            instructions,
        }
    }

    fn method_overlap(&self, sampled: &PointProfiles) -> Accuracy {
        let entry = |address| self.methods.entry(address);
        let exact = self.grid.exhaustive.addresses.methods(entry);
        accuracy(
            &sampled.addresses.methods(entry),
            &exact,
            Fraction::NINETY_PERCENT,
        )
    }

    /// A point's accuracies over the plan's phases.
    pub fn phases(&self, plan: &Plan, point: &Point) -> Option<Phases> {
        let trace = self.trace.as_ref()?;
        let (at, _) = plan.grid[point.at];
        let numbers = 0..u64::from(plan.phases);
        let phases: Option<Vec<_>> = numbers
            .into_par_iter()
            .map(|number| self.at_phase(trace, point.profile, at, Phase::drawn(number)))
            .collect();
        phases.map(|phases| Phases::of(&phases))
    }

    /// Renormalized and capped accuracy at a phase, and whether anything was sampled. `None` if the references of data
    /// streams were not kept.
    fn at_phase(
        &self,
        trace: &EventTrace,
        kind: ProfileKind,
        point: SamplePoint,
        phase: Phase,
    ) -> Option<(f64, f64, bool)> {
        let (overlap, samples) = match kind {
            ProfileKind::Method => {
                let profiles = trace.profiles(point, phase);
                (self.method_overlap(&profiles), profiles.events())
            }
            ProfileKind::CallPair => {
                let sampled = trace.profiles(point, phase).call_pairs;
                let exact = &self.grid.exhaustive.call_pairs;
                let overlap = accuracy(&sampled, exact, Fraction::NINETY_PERCENT);
                (overlap, sampled.total())
            }
            ProfileKind::DataStream => {
                let exact = self.streams[0].as_ref()?;
                let recorder = trace
                    .references(point, phase, Some(&self.analysis))
                    .ok()??;
                let references = recorder.references();
                let sampled = recorder.finish()?.profile;
                let overlap = accuracy(&sampled, &exact.profile, Fraction::NINETY_PERCENT);
                (overlap, references)
            }
        };
        Some(match samples {
            0 => (0.0, 0.0, false),
            _ => (overlap.renormalized, overlap.capped, true),
        })
    }

    /// A point's accuracy at the engine's phase.
    pub fn accuracy(&self, point: &Point) -> AccuracyResult {
        let sampled = &self.grid.points[point.at];
        let exact = &self.grid.exhaustive;
        let cut = Fraction::NINETY_PERCENT;
        let (overlap, samples, population) = match point.profile {
            ProfileKind::Method => (
                self.method_overlap(sampled),
                sampled.events(),
                exact.events(),
            ),
            ProfileKind::CallPair => (
                accuracy(&sampled.call_pairs, &exact.call_pairs, cut),
                sampled.call_pairs.total(),
                exact.call_pairs.total(),
            ),
            ProfileKind::DataStream => {
                let profile = |i: usize| {
                    self.streams[i]
                        .as_ref()
                        .map_or_else(Profile::new, |s: &StreamProfile| s.profile.clone())
                };
                let overlap = accuracy(&profile(point.at + 1), &profile(0), cut);
                (overlap, self.references[point.at + 1], self.references[0])
            }
        };
        let detuned = self
            .grid
            .points
            .get(self.planned + point.at)
            .and_then(|other| match point.profile {
                ProfileKind::Method => Some(self.method_overlap(other).renormalized),
                ProfileKind::CallPair => {
                    Some(accuracy(&other.call_pairs, &exact.call_pairs, cut).renormalized)
                }
                ProfileKind::DataStream => None,
            });
        AccuracyResult {
            detuned,
            renormalized: overlap.renormalized,
            capped: overlap.capped,
            members_exact: overlap.members_exact as u64,
            members_sampled: overlap.members_sampled as u64,
            samples,
            population,
        }
    }
}
