//! Exact profiles, and what profilers say of the same run.

use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::Arc;

use hps_lab::{Lab, LabError, VERSION, Watch};
use hps_profile::formats::{self, Format};
use hps_profile::symbolized::Header;
use hps_profilers::oracle::STATES;
use hps_profilers::registry::{self, PROFILERS, Profiler};
use hps_profilers::timeline::Timeline;
use hps_profilers::views::{
    Frames, FunctionMap, FunctionTime, InstructionTime, Level, Levels, MOST_FRAMES, Named, Stack,
    functions, instructions, lines, symbolized,
};
use hps_profilers::{Detail, ExactProfile, Key, Sampled, Unit};
use hps_system::symbols::Symbols;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::error::{Attention, TIMED_PART, said};
use crate::frame::{Column, Data, Frame, shown};
use crate::machine::AnyMachine;
use crate::program::AnyProgram;
use crate::run::{Run, timed};

/// Seed of random periods.
const SEED: u64 = 1;

/// Where each cycle of a run has gone, exactly, and what profilers have said of the same run.
#[pyclass(frozen, module = "hps._hps")]
pub struct Profile {
    run: Py<Run>,
    header: Header,
    exact: ExactProfile,
    timeline: Option<Timeline>,
    symbols: Arc<Symbols>,
    map: FunctionMap,
    instructions: Vec<InstructionTime>,
    functions: Vec<FunctionTime>,
    levels: Levels,
    sampled: Vec<Sampled>,
}

/// The profilers, in the order in which the leaderboard lists them.
#[pyfunction]
pub fn profilers() -> PyResult<Frame> {
    let text = |name, about, of: fn(&Profiler) -> &'static str| {
        let all = PROFILERS.iter().map(|profiler| Some(of(profiler)));
        Column::new(name, "text", about, all.collect::<Data>())
    };
    Frame::of(vec![
        text("name", "name of the profiler", |p| p.name),
        text("about", "the hardware that it models", |p| p.about),
        text("hardware", "what it takes", |p| p.hardware),
        text("counts", "what its period counts", |p| p.counts.describe()),
    ])
}

/// Names of profilers.
#[derive(FromPyObject)]
pub enum Names {
    One(String),
    Several(Vec<String>),
}

/// Runs a program on a machine and says where each cycle goes; `with_` names profilers that watch the same run.
#[pyfunction]
#[pyo3(signature = (program, machine=None, *, with_=Names::Several(Vec::new()), period=997, core="cycle", limit=None))]
pub fn profile<'py>(
    py: Python<'py>,
    program: AnyProgram<'py>,
    machine: Option<AnyMachine<'py>>,
    with_: Names,
    period: u64,
    core: &str,
    limit: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let program = program.program()?;
    let machine = timed(AnyMachine::or_standard(machine)?, core)?;
    let names = match with_ {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    };
    let samplers = names.iter().map(|name| {
        let found = registry::find(name).ok_or_else(|| {
            let all: Vec<&str> = PROFILERS.iter().map(|p| p.name).collect();
            PyKeyError::new_err(format!(
                "{name}: there is no such profiler; there are {}",
                all.join(", ")
            ))
        })?;
        Ok(((found.policy)(), found.period_of(period, SEED)))
    });
    let watch = Watch {
        contexts: Some(Detail::Rows),
        timeline: machine.config.chip.processors() == 1,
        samplers: samplers.collect::<PyResult<_>>()?,
        interpreted: true,
        ..Watch::default()
    };
    let attention = Attention::default();
    let lab = Lab::of(&program)
        .timed_by(&machine)
        .limit(limit.unwrap_or(u64::MAX))
        .in_parts(TIMED_PART, attention.watching());
    let found = attention.run(py, || {
        let truth = lab.watched(watch)?;
        let timing = truth.ran.timing.clone();
        let run = Run::of(&truth.ran, Some(timing));
        let named = truth.ran.process.symbols_of(1);
        let symbols = named.unwrap_or_else(|| Arc::clone(&program.image.symbols));
        let provenance = &truth.ran.provenance;
        let header = Header {
            program: provenance.program.clone(),
            program_hash: provenance.program_hash.clone(),
            version: VERSION.to_owned(),
            machine: machine.config.name.clone(),
            core: machine.core.name().to_owned(),
            command: format!("hps.profile({})", provenance.args.join(" ")),
            clock_mhz: Some(f64::from(machine.config.clock_mhz)),
        };
        let map = FunctionMap::new(&symbols, &truth.exact);
        let instructions = instructions(&truth.exact);
        let functions = functions(&truth.exact, &instructions, &map);
        let levels = Levels::new(&truth.exact, &symbols, &map);
        Ok((
            run,
            header,
            truth.exact,
            truth.timeline,
            truth.sampled,
            symbols,
            map,
            instructions,
            functions,
            levels,
        ))
    })?;
    let (run, header, exact, timeline, sampled, symbols, map, instructions, functions, levels) =
        found.map_err(|error: LabError| said(error))?;
    let run = Py::new(py, run)?;
    let profile = Profile {
        run,
        header,
        exact,
        timeline,
        symbols,
        map,
        instructions,
        functions,
        levels,
        sampled,
    };
    attention.result(py, profile)
}

/// Columns of time: cycles, share, and cycles by state.
fn time<'a>(profile: &Profile, stacks: impl Iterator<Item = &'a Stack> + Clone) -> Vec<Column> {
    let parts = profile.exact.units_per_cycle as f64;
    let all = (profile.exact.cycles as f64 * parts).max(1.0);
    let each = |of: &dyn Fn(&Stack) -> f64| stacks.clone().map(of).collect::<Vec<f64>>();
    let mut columns = vec![
        Column::new(
            "cycles",
            "cycles",
            "cycles that it owns",
            each(&|s| s.units() as f64 / parts),
        ),
        Column::new(
            "share",
            "share",
            "share of all cycles",
            each(&|s| s.units() as f64 / all),
        ),
    ];
    for (at, state) in STATES.iter().enumerate() {
        let about = format!("cycles of these in which it was {state}");
        columns.push(Column::new(
            &format!("{state}_cycles"),
            "cycles",
            &about,
            each(&|s| s.states()[at] as f64 / parts),
        ));
    }
    let mostly = stacks.map(|s| s.mostly().map(|(spent, _)| spent.label()));
    columns.push(Column::new(
        "mostly",
        "text",
        "the largest wait",
        mostly.collect::<Data>(),
    ));
    columns
}

impl Profile {
    fn function(&self, pc: u64) -> Option<&str> {
        self.map
            .find(pc)
            .map(|at| self.map.functions()[at].name.as_str())
    }

    fn sampled(&self, name: &str) -> PyResult<&Sampled> {
        self.sampled
            .iter()
            .find(|one| one.policy == name)
            .ok_or_else(|| {
                let all: Vec<&str> = self.sampled.iter().map(|one| one.policy).collect();
                PyKeyError::new_err(format!(
                    "{name} has not watched this run; there are: {}",
                    all.join(", ")
                ))
            })
    }

    /// Errors of weights by instruction, by the name of the level.
    fn errors_of(&self, weights: &[(Key, u64)]) -> BTreeMap<&'static str, f64> {
        let errors = self.levels.errors(weights.iter().copied());
        errors
            .into_iter()
            .map(|(level, error)| (level.name(), error))
            .collect()
    }
}

#[pymethods]
impl Profile {
    /// The run that the profile is of.
    #[getter]
    fn run(&self, py: Python<'_>) -> Py<Run> {
        self.run.clone_ref(py)
    }

    /// Cycles that have an owner.
    #[getter]
    fn cycles(&self) -> u64 {
        self.exact.cycles
    }

    /// Instructions that ran, by address.
    fn instructions(&self) -> PyResult<Frame> {
        let all = &self.instructions;
        let mut columns = vec![
            Column::new(
                "address",
                "address",
                "address of the instruction",
                all.iter().map(|i| i.key.pc).collect::<Vec<u64>>(),
            ),
            Column::new(
                "function",
                "text",
                "function that holds it",
                all.iter()
                    .map(|i| self.function(i.key.pc))
                    .collect::<Data>(),
            ),
            Column::new(
                "line",
                "text",
                "source line",
                all.iter()
                    .map(|i| self.symbols.source_line(i.key.pc))
                    .collect::<Data>(),
            ),
            Column::new(
                "commits",
                "instructions",
                "how often it committed",
                all.iter().map(|i| i.commits).collect::<Vec<u64>>(),
            ),
        ];
        columns.extend(time(self, all.iter().map(|i| &i.stack)));
        Frame::of(columns)
    }

    /// Functions, by their own time.
    fn functions(&self) -> PyResult<Frame> {
        let parts = self.exact.units_per_cycle as f64;
        let all = &self.functions;
        let of = |time: &FunctionTime| &self.map.functions()[time.function];
        let mut columns = vec![
            Column::new(
                "name",
                "text",
                "name of the function",
                all.iter()
                    .map(|t| Some(of(t).name.as_str()))
                    .collect::<Data>(),
            ),
            Column::new(
                "address",
                "address",
                "its entry",
                all.iter().map(|t| of(t).entry).collect::<Vec<u64>>(),
            ),
            Column::new(
                "file",
                "text",
                "its source file",
                all.iter()
                    .map(|t| self.map.file(&self.symbols, t.function))
                    .collect::<Data>(),
            ),
            Column::new(
                "calls",
                "calls",
                "how often it was called",
                all.iter().map(|t| t.calls).collect::<Vec<u64>>(),
            ),
            Column::new(
                "instructions",
                "instructions",
                "instructions that committed in it",
                all.iter().map(|t| t.commits).collect::<Vec<u64>>(),
            ),
        ];
        columns.extend(time(self, all.iter().map(|t| &t.own)));
        let inclusive = all.iter().map(|t| t.inclusive_units as f64 / parts);
        columns.push(Column::new(
            "inclusive_cycles",
            "cycles",
            "cycles while it was on the call stack",
            inclusive.collect::<Vec<f64>>(),
        ));
        Frame::of(columns)
    }

    /// Source lines, by their own time; none without a line table.
    fn lines(&self) -> PyResult<Frame> {
        let all = lines(&self.instructions, &self.symbols);
        let mut columns = vec![
            Column::new(
                "line",
                "text",
                "file and line",
                all.iter().map(|l| Some(l.line.as_str())).collect::<Data>(),
            ),
            Column::new(
                "instructions",
                "instructions",
                "instructions that committed",
                all.iter().map(|l| l.commits).collect::<Vec<u64>>(),
            ),
        ];
        columns.extend(time(self, all.iter().map(|l| &l.stack)));
        Frame::of(columns)
    }

    /// The profilers that have watched, and their errors: the share of time that each gives to the wrong member.
    fn errors(&self) -> PyResult<Frame> {
        let executed = self.exact.executed();
        let all: Vec<(&Sampled, BTreeMap<&str, f64>)> = self
            .sampled
            .iter()
            .map(|one| {
                let weights: Vec<(Key, u64)> = one.by_instruction(&executed).into_iter().collect();
                (one, self.errors_of(&weights))
            })
            .collect();
        let count =
            |of: fn(&Sampled) -> u64| all.iter().map(|(one, _)| of(one)).collect::<Vec<u64>>();
        let unit = |one: &Sampled| match one.period.unit {
            Unit::Cycles => "cycles",
            Unit::Instructions => "instructions",
            Unit::Events(_) => "events",
        };
        let mut columns = vec![
            Column::new(
                "profiler",
                "text",
                "name of the profiler",
                all.iter()
                    .map(|(one, _)| Some(one.policy))
                    .collect::<Data>(),
            ),
            Column::new(
                "period",
                "what it counts",
                "its mean period",
                count(|one| one.period.mean),
            ),
            Column::new(
                "counts",
                "text",
                "what its period counts",
                all.iter().map(|(one, _)| Some(unit(one))).collect::<Data>(),
            ),
            Column::new(
                "samples",
                "samples",
                "samples that it took",
                count(|one| one.credits.credited),
            ),
            Column::new(
                "lost",
                "samples",
                "samples that it lost",
                count(|one| one.credits.lost + one.credits.collided),
            ),
        ];
        for level in Level::ALL {
            let name = level.name();
            let about = format!("share of time that goes to the wrong {name}");
            columns.push(Column::new(
                name,
                "share",
                &about,
                all.iter()
                    .map(|(_, errors)| errors[name])
                    .collect::<Vec<f64>>(),
            ));
        }
        Frame::of(columns)
    }

    /// Samples of a profiler by instruction.
    fn samples(&self, profiler: &str) -> PyResult<Frame> {
        let sampled = self.sampled(profiler)?;
        let units = sampled.credits.units_per_sample.max(1) as f64;
        let mut weights: Vec<(Key, u64)> = sampled
            .by_instruction(&self.exact.executed())
            .into_iter()
            .collect();
        weights.sort_unstable();
        Frame::of(vec![
            Column::new(
                "address",
                "address",
                "address of the instruction",
                weights.iter().map(|(key, _)| key.pc).collect::<Vec<u64>>(),
            ),
            Column::new(
                "function",
                "text",
                "function that holds it",
                weights
                    .iter()
                    .map(|(key, _)| self.function(key.pc))
                    .collect::<Data>(),
            ),
            Column::new(
                "samples",
                "samples",
                "samples that were credited to it",
                weights
                    .iter()
                    .map(|(_, units_of)| *units_of as f64 / units)
                    .collect::<Vec<f64>>(),
            ),
        ])
    }

    /// The error of a profiler that has watched, or of a profile of one's own: weights by address. The share of time that
    /// goes to the wrong instruction, block, line or function.
    #[pyo3(signature = (profile, level="instruction"))]
    fn error(&self, profile: &Bound<'_, PyAny>, level: &str) -> PyResult<f64> {
        let weights: Vec<(Key, u64)> = match profile.extract::<String>() {
            Ok(name) => self
                .sampled(&name)?
                .by_instruction(&self.exact.executed())
                .into_iter()
                .collect(),
            Err(_) => {
                let mut weights = Vec::new();
                for item in profile.call_method0("items")?.try_iter()? {
                    let (address, weight): (u64, f64) = item?.extract()?;
                    if !(weight >= 0.0 && weight.is_finite()) {
                        return Err(PyValueError::new_err(format!(
                            "{address:#x}: the weight {weight} is not positive"
                        )));
                    }
                    // Weights are whole numbers; a share of a millionth counts.
                    weights.push((Key::of_program(address), (weight * 1e6).round() as u64));
                }
                weights
            }
        };
        let errors = self.errors_of(&weights);
        errors.get(level).copied().ok_or_else(|| {
            let all = Level::ALL.map(Level::name).join(", ");
            PyValueError::new_err(format!("{level}: there is no such level; there are {all}"))
        })
    }

    /// Writes the profile for another tool, in the format that the end of the name or `format` says: pprof, firefox,
    /// speedscope, callgrind, folded, perf-script, flame-graph, llvm-samples.
    #[pyo3(signature = (file, format=None))]
    fn export(&self, py: Python<'_>, file: PathBuf, format: Option<&str>) -> PyResult<()> {
        let found = match format {
            Some(name) => Format::from_name(name),
            None => Format::from_path(&file),
        };
        let format = found.ok_or_else(|| {
            let all = Format::ALL
                .map(|f| format!("{} (*{})", f.name(), f.extension()))
                .join(", ");
            PyValueError::new_err(format!(
                "{}: no format of this name; there are {all}",
                file.display()
            ))
        })?;
        let named = Named {
            exact: &self.exact,
            symbols: &self.symbols,
            map: &self.map,
            process: None,
        };
        py.detach(|| {
            let threads = Default::default();
            let profile = symbolized(
                self.header.clone(),
                (&[named], MOST_FRAMES),
                &threads,
                self.timeline.as_ref(),
                Frames::Nested,
            );
            let written = std::fs::File::create(&file).and_then(|out| {
                let mut out = BufWriter::new(out);
                formats::write(&profile, format, &mut out)?;
                std::io::Write::flush(&mut out)
            });
            written.map_err(|cause| {
                said(anyhow::anyhow!(
                    "{}: cannot be written: {cause}",
                    file.display()
                ))
            })
        })
    }

    /// The flame graph.
    fn flame<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "flame")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "profile_html")
    }

    fn __repr__(&self) -> String {
        let hottest = self.functions.first().map(|time| {
            let all = (self.exact.cycles * self.exact.units_per_cycle).max(1);
            let share = 100.0 * time.own.units() as f64 / all as f64;
            format!(
                "; {share:.1}% in {}",
                self.map.functions()[time.function].name
            )
        });
        format!(
            "<Profile {} on {}: {} cycles{}>",
            self.header.program,
            self.header.machine,
            self.exact.cycles,
            hottest.unwrap_or_default()
        )
    }
}
