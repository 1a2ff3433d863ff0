//! From a definition to points: programs and machines loaded, every point with its id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hps_lab::input::{self, InputError};
use hps_lab::{Expected, Files, GuestOptions, LabError, Program, VERSION};
use hps_pipeline::config::{ConfigError, MachineConfig};
use hps_pipeline::core::{CoreKind, NotDriven};
use hps_pipeline::sampled::SamplingPlan;
use hps_productions::{SamplePoint, SamplePointError};
use hps_profile::{ProfileKind, StreamConfig};
use hps_system::image::{Isa, LoadError, ProgramImage};
use hps_system::os::{Output, Stdin};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::sampled;
use crate::spec::{InputSize, OwnProgram, SweepSpec};

/// A definition that names something that does not exist.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No such program.
    #[error(
        "program {name}: there is none of that name; the programs that come with the project are {known}"
    )]
    UnknownProgram {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The program has no image for an instruction set.
    #[error("program {name}: there is no image of it for {isa}")]
    NoImage {
        /// The program.
        name: String,
        /// The instruction set asked for.
        isa: Isa,
    },
    /// A program cannot be loaded.
    #[error(transparent)]
    Program(#[from] LoadError),
    /// A program of a root folder cannot be used.
    #[error(transparent)]
    UnderRoot(#[from] LabError),
    /// A program's standard input cannot be read.
    #[error(transparent)]
    Stdin(#[from] InputError),
    /// A machine cannot be used.
    #[error(transparent)]
    Machine(#[from] ConfigError),
    /// The part of a program that counts cannot be had.
    #[error("program {name}: {problem}")]
    Part {
        /// The program.
        name: String,
        /// Why.
        problem: String,
    },
    /// Two different machines have one name.
    #[error(
        "machines: two different machines are named {name}; give each a name of its own, by which results tell them apart"
    )]
    OneName {
        /// The name.
        name: String,
    },
    /// A machine has no core of the kind asked for.
    #[error(
        "machine {machine} has no instruction-driven core: {reason}; leave out core, or the machine"
    )]
    Core {
        /// The machine.
        machine: String,
        /// Feature of the machine that the instruction-driven core lacks.
        reason: NotDriven,
    },
    /// A sampling point cannot be used.
    #[error(transparent)]
    Point(#[from] SamplePointError),
}

/// Bytes as digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A point of a plan.
#[derive(Clone, Debug)]
pub struct Point {
    /// Made from everything that determines the result.
    pub id: String,
    /// Index into [`Plan::programs`].
    pub program: usize,
    /// Index into [`Plan::machines`].
    pub machine: usize,
    /// Kind of profile.
    pub profile: ProfileKind,
    /// Index into [`Plan::grid`].
    pub at: usize,
    /// Whether the point is timed.
    pub timed: bool,
}

/// Everything that a sweep will do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Programs.
    pub programs: Vec<Program>,
    /// Machines.
    pub machines: Vec<MachineConfig>,
    /// Sampling points with their frequency as 1 in n.
    pub grid: Vec<(SamplePoint, u64)>,
    /// All points.
    pub points: Vec<Point>,
    /// Phases of each point besides the engine's.
    pub phases: u32,
    /// How data streams are analyzed.
    pub streams: StreamConfig,
    /// Data references are needed.
    pub wants_memory: bool,
    /// How machines are simulated.
    pub core: CoreKind,
    /// Set-ups in which points are timed.
    pub set_ups: u32,
    /// How timing is sampled, if it is.
    pub sampling: Option<SamplingPlan>,
}

impl Plan {
    /// Loads what a definition names. Relative paths are relative to `folder`.
    ///
    /// # Errors
    /// [`PlanError`] for the first thing that cannot be used.
    pub fn new(spec: &SweepSpec, folder: &Path) -> Result<Plan, PlanError> {
        let programs = load_programs(spec, folder)?;
        let machines = spec
            .machines
            .iter()
            .map(|name| MachineConfig::load(&located(name, folder)))
            .collect::<Result<Vec<_>, _>>()?;
        for machine in &machines {
            spec.core.check(machine).map_err(|reason| PlanError::Core {
                machine: machine.name.clone(),
                reason,
            })?;
        }
        for (at, one) in machines.iter().enumerate() {
            let is_other = |other: &&MachineConfig| {
                other.name == one.name && other.fingerprint() != one.fingerprint()
            };
            if machines[..at].iter().any(|other| is_other(&other)) {
                let name = one.name.clone();
                return Err(PlanError::OneName { name });
            }
        }
        Plan::of(programs, machines, spec)
    }

    /// Makes the plan for programs and machines that are loaded already. Those that the definition names are ignored.
    ///
    /// # Errors
    /// [`PlanError::Point`] if the definition holds an impossible point.
    pub fn of(
        mut programs: Vec<Program>,
        machines: Vec<MachineConfig>,
        spec: &SweepSpec,
    ) -> Result<Plan, PlanError> {
        for program in &mut programs {
            let process = &mut program.process;
            spec.limits
                .of_guest(process.memory_limit_bytes)
                .apply(process);
        }
        let mut grid = Vec::new();
        for &burst in &spec.bursts {
            for &one_in in &spec.one_in {
                grid.push((SamplePoint::from_frequency(burst, one_in)?, one_in));
            }
        }
        let mut plan = Plan {
            programs,
            machines,
            grid,
            points: Vec::new(),
            phases: spec.phases,
            streams: spec.streams.clone(),
            wants_memory: spec.profiles.contains(&ProfileKind::DataStream),
            core: spec.core,
            set_ups: spec.set_ups,
            sampling: spec.sample,
        };
        plan.points = plan.enumerate(spec);
        Ok(plan)
    }

    fn enumerate(&self, spec: &SweepSpec) -> Vec<Point> {
        let programs = self.programs.iter().map(Program::determined_by);
        let programs: Vec<serde_json::Value> = programs.collect();
        let machines = self.machines.iter().map(MachineConfig::fingerprint);
        let machines: Vec<String> = machines.collect();
        let mut points = Vec::new();
        for program in 0..programs.len() {
            for machine in 0..machines.len() {
                for &profile in &spec.profiles {
                    for (at, (point, _)) in self.grid.iter().enumerate() {
                        points.push(Point {
                            id: String::new(),
                            program,
                            machine,
                            profile,
                            at,
                            timed: spec.is_timed(profile, point.burst),
                        });
                    }
                }
            }
        }
        points.par_iter_mut().for_each(|point| {
            point.id = self.id(point, &programs[point.program], &machines[point.machine]);
        });
        points
    }

    fn id(&self, of: &Point, program: &serde_json::Value, fingerprint: &str) -> String {
        let (point, _) = self.grid[of.at];
        let timed = of.timed;
        // Accuracy does not depend on the machine; a timed point does.
        let mut description = serde_json::json!({
            "version": VERSION,
            "program": program,
            "profile": of.profile,
            "burst": point.burst,
            "sparsity": point.sparsity,
            "machine": fingerprint,
            "timed": timed,
            "streams": self.streams,
        });
        if self.phases > 0 {
            description["phases"] = serde_json::json!(self.phases);
        }
        if let (true, Some(sampling)) = (timed, self.sampling) {
            description["sampling"] = serde_json::json!(sampling);
            description["sampling_design"] = serde_json::json!(sampled::DESIGN);
        }
        if timed && self.set_ups > 1 {
            description["set_ups"] = serde_json::json!(self.set_ups);
        }
        if timed && self.core != CoreKind::Cycle {
            description["core"] = serde_json::json!(self.core);
        }
        hexadecimal(&Sha256::digest(description.to_string().as_bytes())[..16])
    }
}

/// A name that is a file relative to the definition's folder, or left as it is.
fn located(name: &str, folder: &Path) -> String {
    let path = folder.join(name);
    if name.contains(['/', '.']) && path.exists() {
        path.to_string_lossy().into_owned()
    } else {
        name.to_string()
    }
}

/// The programs that a definition names. Relative paths are relative to `folder`.
///
/// # Errors
/// [`PlanError`] for the first program that cannot be used.
pub fn load_programs(spec: &SweepSpec, folder: &Path) -> Result<Vec<Program>, PlanError> {
    let mut programs = Vec::new();
    let all = spec.programs.is_empty() && spec.own_programs.is_empty();
    let names: Vec<&str> = if all {
        hps_workloads::all().iter().map(|w| w.name).collect()
    } else {
        spec.programs.iter().map(String::as_str).collect()
    };
    for name in names {
        for &isa in &spec.isas {
            programs.push(workload(name, isa, spec.size)?);
        }
    }
    for own in &spec.own_programs {
        programs.push(own_program(own, folder)?);
    }
    if !spec.address_seeds.is_empty() {
        let at_all = |program: &Program| {
            let at = |&seed: &u64| at_addresses(program.clone(), seed);
            spec.address_seeds.iter().map(at).collect::<Vec<_>>()
        };
        programs = programs.iter().flat_map(at_all).collect();
    }
    Ok(programs)
}

/// The program at addresses that this seed draws. Results name the seed with the input.
fn at_addresses(mut program: Program, seed: u64) -> Program {
    program.process.address_seed = Some(seed);
    program.input = format!("{} addresses {seed}", program.input);
    program.input = program.input.trim_start().to_string();
    program
}

fn own_program(own: &OwnProgram, folder: &Path) -> Result<Program, PlanError> {
    let path: PathBuf = folder.join(&own.path);
    let mut args = vec![own.called.clone().unwrap_or_else(|| own.path.clone())];
    args.extend(own.args.iter().cloned());
    let guest = GuestOptions {
        files: own.root.as_ref().map_or(Files::None, |root| Files::Under {
            root: folder.join(root),
            writable: false,
        }),
        cwd: Some("/".to_string()),
        stdin: match &own.stdin {
            Some(file) => Stdin::Bytes(input::read_file(&folder.join(file))?),
            None => Stdin::Empty,
        },
        stdout: Output::Capture,
        ..GuestOptions::default()
    };
    // As `hps run` finds a program: a relative path is first one of the host.
    let is_hosts = args[0].contains('/') && !args[0].starts_with('/') && path.exists();
    let process = guest.process_config(args);
    let under_root = match &own.root {
        Some(_) if !is_hosts => Program::under_root(process.clone(), None)?,
        _ => None,
    };
    let mut program = match under_root {
        Some(program) => program,
        None => {
            let image = Arc::new(ProgramImage::load(&path)?);
            let program = Program::of_image(&own.path, image);
            Program { process, ..program }
        }
    };
    if let Some(name) = path.file_name() {
        program.name = name.to_string_lossy().into_owned();
    }
    let input = own.args.iter().cloned();
    let input = input.chain(own.stdin.iter().map(|file| format!("< {file}")));
    program.input = input.collect::<Vec<_>>().join(" ");
    program.expected = match own.expect_exit {
        0 => None,
        code => Some(Expected::ExitCode(code)),
    };
    let part_of = |name: &str, problem: String| PlanError::Part {
        name: name.to_string(),
        problem,
    };
    let region = own.part.region();
    program.region = region.map_err(|problem| part_of(&program.name, problem))?;
    let length = own.part.length(&program);
    let length = length.map_err(|cause| part_of(&program.name, cause.to_string()))?;
    if let Some(instructions) = length {
        program.expected = Some(Expected::Instructions(instructions));
    }
    Ok(program)
}

fn workload(name: &str, isa: Isa, size: InputSize) -> Result<Program, PlanError> {
    let Some(w) = hps_workloads::find(name) else {
        let known: Vec<_> = hps_workloads::all().iter().map(|w| w.name).collect();
        return Err(PlanError::UnknownProgram {
            name: name.to_string(),
            known: known.join(", "),
        });
    };
    let of_size = match size {
        InputSize::Small => hps_workloads::Size::Small,
        InputSize::Large => hps_workloads::Size::Large,
    };
    Program::workload(w, isa, of_size).map_err(|error| match error {
        LabError::Load(cause) => PlanError::Program(cause),
        _ => PlanError::NoImage {
            name: name.to_string(),
            isa,
        },
    })
}

/// The SPECint2000 programs in whose place a program stands, by its name in results.
#[must_use]
pub fn stands_for(program: &str) -> Option<String> {
    let own = hps_workloads::find(program).map(|w| w.stands_for.to_string());
    own.or_else(|| {
        let suite = hps_workloads::suite::all().ok()?;
        let found = suite.iter().find(|p| p.name == program)?;
        Some(found.stands_for.clone())
    })
}
