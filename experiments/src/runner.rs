//! The runner: one functional pass a program for all accuracies, then timed runs in parallel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::Core;
use hps_productions::{
    Collector, CollectorOptions, GridProbe, GridResult, MethodMap, PointProfiles, SamplePoint,
};
use hps_profile::{Accuracy, Fraction, Profile, ProfileKind, StreamProfile, accuracy};
use hps_sim_core::editor::DecodeEditor;
use hps_sim_core::machine::{Machine, Stop};
use hps_sim_core::probe::{NoProbe, Probe};
use hps_sim_core::process::Process;
use rayon::prelude::*;

use crate::machine::dise_config;
use crate::plan::{Plan, Point, Program, VERSION};
use crate::row::{AccuracyResult, Row, TimingResult};
use crate::store::{Store, StoreError};

/// Hears of progress. Called from several threads.
pub trait Observer: Sync {
    /// This many units of work lie ahead: functional passes, baselines and timed points.
    fn planned(&self, units: u64) {
        let _ = units;
    }
    /// A unit is done.
    fn done(&self, what: &str) {
        let _ = what;
    }
}

/// Nobody listens.
impl Observer for () {}

/// The baseline of a program on a machine: cycles and instructions without DISE.
type Baseline = Result<(u64, u64), String>;

/// Runs every point of a plan that the store does not hold, and returns the rows of all points in
/// the order of the plan. Results do not depend on the number of threads.
///
/// # Errors
/// [`StoreError`] if results cannot be written; what was written stays. A point that fails is a
/// row that says why.
pub fn run(
    plan: &Plan,
    store: &Mutex<Store>,
    observer: &dyn Observer,
) -> Result<Vec<Row>, StoreError> {
    let missing: Vec<&Point> = {
        let store = store.lock().unwrap_or_else(PoisonError::into_inner);
        plan.points
            .iter()
            .filter(|p| store.get(&p.id).is_none())
            .collect()
    };
    let of_program = |i: usize| missing.iter().copied().filter(move |p| p.program == i);
    let mut units = 0;
    for i in 0..plan.programs.len() {
        units += u64::from(of_program(i).next().is_some());
        units += of_program(i).filter(|p| p.timed).count() as u64;
        units += (0..plan.machines.len())
            .filter(|&m| of_program(i).any(|p| p.timed && p.machine == m))
            .count() as u64;
    }
    observer.planned(units);
    let failed = Mutex::new(Vec::new());
    (0..plan.programs.len()).into_par_iter().try_for_each(|i| {
        let points: Vec<&Point> = of_program(i).collect();
        if points.is_empty() {
            return Ok(());
        }
        run_program(
            plan,
            i,
            &points,
            &Sink {
                store,
                failed: &failed,
            },
            observer,
        )
    })?;
    let store = store.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(plan
        .points
        .iter()
        .filter_map(|p| {
            store
                .get(&p.id)
                .cloned()
                .or_else(|| failed.iter().find(|r: &&Row| r.id == p.id).cloned())
        })
        .filter(|row| row.failure.is_none() || failed.iter().any(|r| r.id == row.id))
        .collect())
}

/// Where rows go.
struct Sink<'a> {
    store: &'a Mutex<Store>,
    failed: &'a Mutex<Vec<Row>>,
}

impl Sink<'_> {
    fn put(&self, row: Row) -> Result<(), StoreError> {
        self.store
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&row)?;
        if row.failure.is_some() {
            self.failed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(row);
        }
        Ok(())
    }
}

fn run_program(
    plan: &Plan,
    index: usize,
    points: &[&Point],
    sink: &Sink<'_>,
    observer: &dyn Observer,
) -> Result<(), StoreError> {
    let program = &plan.programs[index];
    let (pass, baselines) = rayon::join(
        || {
            let pass = guarded(|| functional_pass(plan, program));
            observer.done(&format!("{}: functional pass", program.name));
            pass
        },
        || baselines(plan, program, points, observer),
    );
    points.par_iter().try_for_each(|point| {
        let mut row = empty_row(plan, point);
        match &pass {
            Ok(pass) => {
                row.accuracy = Some(pass.accuracy(point));
                if point.timed {
                    match timed_point(plan, point, &baselines[point.machine], pass.instructions) {
                        Ok(timing) => row.timing = Some(timing),
                        Err(why) => row.failure = Some(why),
                    }
                }
            }
            Err(why) => row.failure = Some(why.clone()),
        }
        if point.timed {
            let (at, one_in) = plan.grid[point.at];
            observer.done(&format!(
                "{}: {}, burst {}, 1/{one_in}",
                program.name,
                point.profile.title(),
                at.burst
            ));
        }
        sink.put(row)
    })
}

fn baselines(
    plan: &Plan,
    program: &Program,
    points: &[&Point],
    observer: &dyn Observer,
) -> Vec<Baseline> {
    plan.machines
        .par_iter()
        .enumerate()
        .map(|(m, machine)| {
            if !points.iter().any(|p| p.timed && p.machine == m) {
                return Err("not timed".to_string());
            }
            let baseline = guarded(|| {
                let process = start(program)?;
                let core = timed_run(machine, process, hps_sim_core::editor::NoEditor, program)?;
                Ok((core.stats.cycles, core.stats.commit_program_instructions))
            });
            observer.done(&format!("{}: baseline on {}", program.name, machine.name));
            baseline
        })
        .collect()
}

/// A panic in a run is a defect of the lab, but one that costs one point only.
fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(format!("internal error: {text}"))
    })
}

fn start(program: &Program) -> Result<Process, String> {
    Process::new(program.image.clone(), &program.process).map_err(|e| e.to_string())
}

/// What a program's end and output must be for its results to count.
fn check_end(program: &Program, stop: Stop, process: &Process) -> Result<(), String> {
    match stop {
        Stop::Exit(0) => {}
        Stop::Exit(code) => return Err(format!("the program ended with exit code {code}")),
        Stop::Limit => return Err("the program was stopped at its instruction limit".to_string()),
        Stop::Fault(trap) => return Err(format!("the program faulted: {trap}")),
    }
    match program.expected {
        Some(expected) if process.os.captured_stdout() != expected.as_bytes() => {
            Err("the program printed something else than it should".to_string())
        }
        _ => Ok(()),
    }
}

/// The profiles of all points from one functional run.
struct Pass {
    grid: GridResult,
    methods: MethodMap,
    /// Hot data streams: exhaustive, then each point.
    streams: Vec<Option<StreamProfile>>,
    /// References of the exhaustive trace and of each point.
    references: Vec<u64>,
    /// Points of the plan; those behind them have a period one event longer.
    planned: usize,
    instructions: u64,
}

fn functional_pass(plan: &Plan, program: &Program) -> Result<Pass, String> {
    let mut points: Vec<_> = plan.grid.iter().map(|(point, _)| *point).collect();
    if 2 * points.len() <= hps_productions::grid::MAX_POINTS {
        // The same bursts with a period one event longer, for what the report says about them.
        points.extend(plan.grid.iter().map(|(p, _)| SamplePoint {
            sparsity: p.sparsity + 1,
            ..*p
        }));
    }
    if plan.wants_memory {
        let probe =
            GridProbe::with_memory(&points, Some(&plan.streams)).map_err(|e| e.to_string())?;
        let (probe, instructions) = run_functional(program, probe)?;
        Ok(Pass::new(probe.finish(), plan, program, instructions))
    } else {
        let probe = GridProbe::new(&points).map_err(|e| e.to_string())?;
        let (probe, instructions) = run_functional(program, probe)?;
        Ok(Pass::new(probe.finish(), plan, program, instructions))
    }
}

fn run_functional<P: Probe>(program: &Program, mut probe: P) -> Result<(P, u64), String> {
    let mut machine = Machine::new(start(program)?);
    let stop = machine.run(&mut probe, u64::MAX);
    check_end(program, stop, &machine.process)?;
    Ok((probe, machine.retired.program))
}

impl Pass {
    fn new(mut grid: GridResult, plan: &Plan, program: &Program, instructions: u64) -> Self {
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
            grid,
            methods,
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

    fn accuracy(&self, point: &Point) -> AccuracyResult {
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

fn timed_point(
    plan: &Plan,
    point: &Point,
    baseline: &Baseline,
    instructions: u64,
) -> Result<TimingResult, String> {
    let (baseline_cycles, baseline_instructions) = baseline.clone()?;
    guarded(|| {
        let program = &plan.programs[point.program];
        let machine = &plan.machines[point.machine];
        let options = CollectorOptions {
            dise: dise_config(machine),
            // Accuracy comes from the functional pass, which agrees count for count.
            streams: None,
            ..CollectorOptions::default()
        };
        let collector = Collector::new(point.profile, plan.grid[point.at].0, &options)
            .map_err(|e| e.to_string())?;
        let mut process = start(program)?;
        let engine = collector.install(&mut process).map_err(|e| e.to_string())?;
        let core = timed_run(machine, process, engine, program)?;
        let s = &core.stats;
        for (what, count) in [
            ("functional", instructions),
            ("baseline", baseline_instructions),
        ] {
            if s.commit_program_instructions != count {
                return Err(format!(
                    "the profiled run committed {} instructions of the program, the {what} run {count}",
                    s.commit_program_instructions
                ));
            }
        }
        Ok(TimingResult {
            baseline_cycles,
            cycles: s.cycles,
            overhead: s.cycles as f64 / baseline_cycles as f64 - 1.0,
            instructions: s.commit_program_instructions,
            inserted_instructions: s.commit_inserted_instructions,
            handler_instructions: s.commit_handler_instructions,
        })
    })
}

fn timed_run<E: DecodeEditor>(
    machine: &MachineConfig,
    process: Process,
    editor: E,
    program: &Program,
) -> Result<Core<E, NoProbe>, String> {
    let mut core = Core::with(machine, process, editor, NoProbe);
    let stop = core.run_to_end();
    check_end(program, stop, &core.process)?;
    Ok(core)
}

fn empty_row(plan: &Plan, point: &Point) -> Row {
    let program = &plan.programs[point.program];
    let machine = &plan.machines[point.machine];
    let (at, one_in) = plan.grid[point.at];
    Row {
        id: point.id.clone(),
        version: VERSION.to_string(),
        program: program.name.clone(),
        program_hash: program.image.hash.clone(),
        input: program.input.clone(),
        isa: "riscv64".to_string(),
        profile: point.profile,
        burst: at.burst,
        sparsity: at.sparsity,
        one_in,
        machine: machine.name.clone(),
        machine_fingerprint: machine.fingerprint(),
        accuracy: None,
        timing: None,
        failure: None,
    }
}
