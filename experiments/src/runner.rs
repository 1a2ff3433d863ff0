//! The runner: one functional pass a program for all accuracies, then timed runs in parallel.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hps_pipeline::config::MachineConfig;
use hps_pipeline::sampled::SamplingPlan;
use hps_profile::ProfileKind;
use rayon::prelude::*;

use crate::cluster::agenda::{Effort, Offer, State};
use crate::cluster::{Keep, cost};
use crate::pass::functional_pass;
use crate::plan::{Plan, Point};
use crate::row::{Row, TimingResult};
use crate::sampled::{self, UnitBaseline};
use crate::set_ups::{SetUps, in_set_up};
use crate::store::{Store, StoreError};
use crate::timed::{self, Alone, Family, guarded};
use hps_lab::{Program, VERSION};

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
    /// A point is measured; its row is kept.
    fn kept(&self, row: &Row) {
        let _ = row;
    }
}

/// An observer that ignores progress.
impl Observer for () {}

/// Runs every point of a plan that is asked for and not kept yet, keeps each, and returns the rows that are there then
/// in the order of the plan.
///
/// # Errors
/// Like [`run`].
pub fn run_plan(plan: &Plan, keep: &Keep, observer: &dyn Observer) -> Result<Vec<Row>, StoreError> {
    let store = keep.rows()?;
    let rows = run(plan, &store, observer)?;
    keep.tidy(store)?;
    Ok(rows)
}

/// Runs every point of a plan that the store wants (see [`crate::Records::wants`]), and returns the rows of all points that the
/// store then has in the order of the plan. Results do not depend on the number of threads.
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
        offer(plan, &store);
        plan.points.iter().filter(|p| store.wants(&p.id)).collect()
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
    let programs = (0..plan.programs.len()).filter(|&i| of_program(i).next().is_some());
    // Passes of several programs run side by side; few programs leave threads to each.
    let threads = rayon::current_num_threads() / programs.count().max(1);
    (0..plan.programs.len()).into_par_iter().try_for_each(|i| {
        let points: Vec<&Point> = of_program(i).collect();
        if points.is_empty() {
            return Ok(());
        }
        run_program(plan, i, &points, threads, &Sink { store }, observer)
    })?;
    let store = store.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = plan.points.iter().filter_map(|p| store.outcome(&p.id));
    Ok(rows.cloned().collect())
}

/// Tells the agenda of all points, if there is one.
fn offer(plan: &Plan, store: &Store) {
    let Some(mut agenda) = store.scope().agenda() else {
        return;
    };
    let on_machine = match plan.sampling {
        Some(_) => cost::SAMPLED,
        None => cost::timed(plan.core),
    };
    let of_program = match plan.wants_memory {
        true => cost::STREAMS,
        false => cost::PASS,
    };
    let machines = plan.machines.iter();
    let machines: Vec<u32> = machines
        .map(|machine| agenda.machine(&machine.name, machine.fingerprint()))
        .collect();
    let programs = plan.programs.iter();
    let programs: Vec<u32> = programs.map(|program| agenda.program(program)).collect();
    for point in &plan.points {
        agenda.offer(Offer {
            id: &point.id,
            name: name(plan, point),
            program: programs[point.program],
            machine: machines[point.machine],
            effort: Effort {
                own: if point.timed { on_machine } else { 0.0 },
                first: None,
                of_program,
                on_machine: if point.timed { on_machine } else { 0.0 },
            },
            state: State::of(store.outcome(&point.id)),
        });
    }
}

/// The name of a point, for people.
fn name(plan: &Plan, point: &Point) -> String {
    let (at, one_in) = plan.grid[point.at];
    format!(
        "{}: {}, burst {}, 1/{one_in} on {}",
        plan.programs[point.program].title(),
        point.profile.title(),
        at.burst,
        plan.machines[point.machine].name,
    )
}

/// Where rows go.
struct Sink<'a> {
    store: &'a Mutex<Store>,
}

impl Sink<'_> {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run_program(
    plan: &Plan,
    index: usize,
    points: &[&Point],
    threads: usize,
    sink: &Sink<'_>,
    observer: &dyn Observer,
) -> Result<(), StoreError> {
    let program = &plan.programs[index];
    {
        let mut store = sink.store();
        points.iter().for_each(|point| store.begin(&point.id));
    }
    let with_memory = points.iter().any(|p| p.profile == ProfileKind::DataStream);
    let (pass, baselines) = rayon::join(
        || {
            let pass = guarded(|| functional_pass(plan, program, with_memory, threads));
            observer.done(&format!("{}: functional pass", program.title()));
            pass
        },
        || Baselines::new(plan, program, points, observer),
    );
    let failed_write = Mutex::new(None);
    let put = |point: &Point, timing: Option<Result<TimingResult, String>>| {
        let mut row = empty_row(plan, point);
        match &pass {
            Ok(pass) => {
                row.accuracy = Some(pass.accuracy(point));
                row.phases = pass.phases(plan, point);
            }
            Err(why) => row.failure = Some(why.clone()),
        }
        match timing {
            Some(Ok(timing)) if row.failure.is_none() => row.timing = Some(timing),
            Some(Err(why)) if row.failure.is_none() => row.failure = Some(why),
            _ => {}
        }
        if point.timed {
            observer.done(&name(plan, point));
        }
        let kept = {
            let mut store = sink.store();
            let kept = store.append(&row);
            // Rows of untimed points, which take no time of their own, are synced together.
            kept.and_then(|()| if point.timed { store.sync() } else { Ok(()) })
        };
        match kept {
            Ok(()) => observer.kept(&row),
            Err(error) => {
                *failed_write.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    };
    let (timed, others): (Vec<&Point>, Vec<&Point>) = points.iter().partition(|p| p.timed);
    others.par_iter().for_each(|point| put(point, None));
    sink.store().sync()?;
    match &pass {
        Err(_) => timed.iter().for_each(|point| put(point, None)),
        Ok(pass) => {
            let may_go_on = || !failed_write.lock().is_ok_and(|error| error.is_some());
            let done = |point: &Point, timing| put(point, Some(timing));
            baselines.time(plan, timed, pass.instructions, &may_go_on, &done);
        }
    }
    failed_write
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// Points that differ in sparsity alone, in ascending order of it.
fn families<'a>(plan: &Plan, mut points: Vec<&'a Point>) -> Vec<Vec<&'a Point>> {
    let family = |p: &Point| (p.machine, p.profile, plan.grid[p.at].0.burst);
    points.sort_by_key(|p| (family(p), plan.grid[p.at].0.sparsity));
    points
        .chunk_by(|a, b| family(a) == family(b))
        .map(<[_]>::to_vec)
        .collect()
}

/// A program in a set-up, and its run without DISE there.
struct InSetUp {
    program: Program,
    alone: Alone,
}

/// Times a family of points in the configured set-up, and in others if there are any, whose results only give the spread.
fn in_all(
    plan: &Plan,
    set_ups: &[InSetUp],
    points: &[&Point],
    instructions: u64,
    done: &(dyn Fn(&Point, Result<TimingResult, String>) + Sync),
) {
    let family = |set_up: &'_ InSetUp, instructions, done: &'_ (dyn Fn(&Point, _) + Sync)| {
        let family = Family {
            plan,
            program: &set_up.program,
            baseline: set_up.alone,
            instructions,
        };
        family.run(points, done);
    };
    let Some((configured, others)) = set_ups.split_first() else {
        return;
    };
    if others.is_empty() {
        return family(configured, Some(instructions), done);
    }
    let overheads: Mutex<BTreeMap<String, Vec<Result<f64, String>>>> = Mutex::default();
    others.par_iter().for_each(|set_up| {
        family(
            set_up,
            None,
            &|point: &Point, timing: Result<TimingResult, String>| {
                let mut overheads = overheads.lock().unwrap_or_else(PoisonError::into_inner);
                let of = overheads.entry(point.id.clone()).or_default();
                of.push(timing.map(|timing| timing.overhead));
            },
        );
    });
    let overheads = overheads
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    family(configured, Some(instructions), &|point: &Point,
                                             timing: Result<
        TimingResult,
        String,
    >| {
        let timing = timing.and_then(|timing| {
            let of = overheads.get(&point.id).cloned().unwrap_or_default();
            let mut of: Vec<f64> = of.into_iter().collect::<Result<_, _>>()?;
            // Set-ups end in any order; sums of numbers depend on theirs.
            of.push(timing.overhead);
            of.sort_by(f64::total_cmp);
            Ok(TimingResult {
                set_ups: SetUps::of(&of),
                ..timing
            })
        });
        done(point, timing);
    });
}

/// The program without DISE on each machine.
enum Baselines {
    /// For each machine the program in each set-up.
    Exact(Vec<Result<Vec<InSetUp>, String>>),
    Sampled(SamplingPlan, Vec<UnitBaseline>),
}

impl Baselines {
    fn new(plan: &Plan, program: &Program, points: &[&Point], observer: &dyn Observer) -> Self {
        let of = |machine: &MachineConfig| {
            let number = 0..plan.set_ups;
            let set_up = number.into_par_iter().map(|number| {
                let program = in_set_up(program, number);
                let alone = timed::baseline(&program, machine, plan.core)?;
                Ok(InSetUp { program, alone })
            });
            set_up.collect()
        };
        match plan.sampling {
            None => Baselines::Exact(on_machines(plan, program, points, observer, of)),
            Some(sampling) => {
                let of = |machine: &MachineConfig| sampled::baseline(program, machine, sampling);
                let units = on_machines(plan, program, points, observer, of);
                Baselines::Sampled(sampling, units)
            }
        }
    }

    /// Times points of one program, and tells `done` of each, from several threads.
    fn time(
        &self,
        plan: &Plan,
        points: Vec<&Point>,
        instructions: u64,
        may_go_on: &(dyn Fn() -> bool + Sync),
        done: &(dyn Fn(&Point, Result<TimingResult, String>) + Sync),
    ) {
        match self {
            Baselines::Exact(baselines) => {
                families(plan, points).par_iter().for_each(|points| {
                    if !may_go_on() {
                        return;
                    }
                    match &baselines[points[0].machine] {
                        Ok(set_ups) => in_all(plan, set_ups, points, instructions, done),
                        Err(why) => points
                            .iter()
                            .for_each(|point| done(point, Err(why.clone()))),
                    }
                });
            }
            // One piece a point: each is a whole run.
            Baselines::Sampled(sampling, baselines) => {
                points.par_iter().with_max_len(1).for_each(|&point| {
                    if !may_go_on() {
                        return;
                    }
                    let timing = match &baselines[point.machine] {
                        Ok(units) => sampled::point(plan, *sampling, point, units, instructions),
                        Err(why) => Err(why.clone()),
                    };
                    done(point, timing);
                });
            }
        }
    }
}

/// A baseline on each machine that times a point.
fn on_machines<B: Send>(
    plan: &Plan,
    program: &Program,
    points: &[&Point],
    observer: &dyn Observer,
    baseline: impl Fn(&MachineConfig) -> Result<B, String> + Sync,
) -> Vec<Result<B, String>> {
    plan.machines
        .par_iter()
        .enumerate()
        .map(|(m, machine)| {
            if !points.iter().any(|p| p.timed && p.machine == m) {
                return Err("not timed".to_string());
            }
            let baseline = baseline(machine);
            observer.done(&format!(
                "{}: baseline on {}",
                program.title(),
                machine.name
            ));
            baseline
        })
        .collect()
}

pub(crate) fn empty_row(plan: &Plan, point: &Point) -> Row {
    let program = &plan.programs[point.program];
    let machine = &plan.machines[point.machine];
    let (at, one_in) = plan.grid[point.at];
    Row {
        id: point.id.clone(),
        version: VERSION.to_string(),
        program: program.name.clone(),
        program_hash: program.image.hash.clone(),
        root_hash: program.root_hash(),
        input: program.input.clone(),
        isa: program.image.isa.name().to_string(),
        profile: point.profile,
        burst: at.burst,
        sparsity: at.sparsity,
        one_in,
        machine: machine.name.clone(),
        machine_fingerprint: machine.fingerprint(),
        accuracy: None,
        phases: None,
        timing: None,
        failure: None,
    }
}
