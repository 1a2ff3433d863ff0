//! Common parts of the studies: profiles of any kind, references to compare with, checked runs.

use hps_dise::{DiseEngine, DiseStats};
use hps_isa::editor::DecodeEditor;
use hps_isa::editor::NoEditor;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::core::CoreStats;
use hps_productions::{
    CollectedProfile, Collector, CollectorOptions, GridProbe, MethodMap, PointProfiles,
    SamplePoint, Scheme, StreamRecorder,
};
use hps_profile::{
    Accuracy, CallPair, DataStream, Fraction, Method, Profile, ProfileKind, StreamConfig, accuracy,
    overlap_without_cut,
};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};
use crate::timed::check_end;
use hps_lab::{Core, FunctionalLoop, Install, Lab, Program, Ran, TimedLoop, TimedMachine};

/// A unit for each of these programs.
pub(super) fn unit_of_each<'a, F>(
    programs: &'a [Program],
    study: &'static str,
    what: &str,
    key: &serde_json::Value,
    effort: Effort,
    measure: F,
) -> Vec<Unit<'a>>
where
    F: Fn(&Program) -> Result<Vec<Measurement>, String> + Clone + Send + Sync + 'a,
{
    let unit = |program: &'a Program| {
        let measure = measure.clone();
        Unit {
            study,
            title: format!("{}: {what}", program.title()),
            key: key.clone(),
            program,
            effort,
            run: Box::new(move || measure(program)),
        }
    };
    programs.iter().map(unit).collect()
}

/// A profile of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyProfile {
    /// Hot methods.
    Method(Profile<Method>),
    /// Hot call pairs.
    CallPair(Profile<CallPair>),
    /// Hot data streams.
    DataStream(Profile<DataStream>),
}

impl AnyProfile {
    /// The accuracy of this sampled profile against an exact one of the same kind; nothing agrees
    /// between kinds.
    #[must_use]
    pub fn accuracy(&self, exact: &AnyProfile) -> Accuracy {
        let cut = Fraction::NINETY_PERCENT;
        match (self, exact) {
            (Self::Method(a), Self::Method(b)) => accuracy(a, b, cut),
            (Self::CallPair(a), Self::CallPair(b)) => accuracy(a, b, cut),
            (Self::DataStream(a), Self::DataStream(b)) => accuracy(a, b, cut),
            _ => Accuracy {
                renormalized: 0.0,
                capped: 0.0,
                members_exact: 0,
                members_sampled: 0,
            },
        }
    }

    /// The overlap of whole profiles of the same kind.
    #[must_use]
    pub fn overlap(&self, other: &AnyProfile) -> f64 {
        match (self, other) {
            (Self::Method(a), Self::Method(b)) => overlap_without_cut(a, b),
            (Self::CallPair(a), Self::CallPair(b)) => overlap_without_cut(a, b),
            (Self::DataStream(a), Self::DataStream(b)) => overlap_without_cut(a, b),
            _ => 0.0,
        }
    }

    /// The sum of all weights: events, calls, or heat.
    #[must_use]
    pub fn total(&self) -> u64 {
        match self {
            Self::Method(p) => p.total(),
            Self::CallPair(p) => p.total(),
            Self::DataStream(p) => p.total(),
        }
    }
}

/// The exhaustive profiles of a run, and the traces of some points, to compare others with.
pub struct Reference {
    /// Everything.
    pub exhaustive: PointProfiles,
    /// Exactly what each point samples; references as numbers and digests.
    pub points: Vec<PointProfiles>,
    /// Which method an address belongs to.
    pub methods: MethodMap,
    /// Hot data streams of the whole trace; empty if they were not asked for.
    streams: Profile<DataStream>,
    /// References of the program.
    pub references: u64,
    /// Instructions of the program.
    pub instructions: u64,
}

impl Reference {
    /// One functional pass over the first `limit` instructions of a program.
    ///
    /// # Errors
    /// Why the program cannot be run, or what went wrong in it.
    pub fn of(
        program: &Program,
        limit: u64,
        points: &[SamplePoint],
        with_streams: bool,
    ) -> Result<Reference, String> {
        let config = with_streams.then(StreamConfig::default);
        let probe = GridProbe::with_memory(points, config.as_ref()).map_err(|e| e.to_string())?;
        let (probe, instructions) = functional(program, limit, probe.without_streams_from(0))?;
        let mut grid = probe.finish();
        let methods = grid.method_map(&program.image.symbols);
        let recorder = grid.exhaustive.stream.take();
        let references = grid.memory_references.unwrap_or(0);
        let streams = recorder.and_then(StreamRecorder::finish);
        Ok(Reference {
            exhaustive: grid.exhaustive,
            points: grid.points,
            methods,
            streams: streams.map_or_else(Profile::new, |s| s.profile),
            references,
            instructions,
        })
    }

    /// The exhaustive profile of a kind.
    #[must_use]
    pub fn exact(&self, kind: ProfileKind) -> AnyProfile {
        match kind {
            ProfileKind::Method => AnyProfile::Method(self.by_method(&self.exhaustive)),
            ProfileKind::CallPair => AnyProfile::CallPair(self.exhaustive.call_pairs.clone()),
            ProfileKind::DataStream => AnyProfile::DataStream(self.streams.clone()),
        }
    }

    /// Events, calls or references of the program: what a kind of profile takes samples of.
    #[must_use]
    pub fn population(&self, kind: ProfileKind) -> u64 {
        match kind {
            ProfileKind::Method => self.exhaustive.events(),
            ProfileKind::CallPair => self.exhaustive.call_pairs.total(),
            ProfileKind::DataStream => self.references,
        }
    }

    /// Samples that a point must take, by definition.
    #[must_use]
    pub fn samples(&self, kind: ProfileKind, point: usize) -> u64 {
        let sampled = &self.points[point];
        match kind {
            ProfileKind::Method => sampled.events(),
            ProfileKind::CallPair => sampled.call_pairs.total(),
            ProfileKind::DataStream => sampled
                .stream
                .as_ref()
                .map_or(0, StreamRecorder::references),
        }
    }

    /// Profile sampled at a point.
    ///
    /// # Errors
    /// For data streams, whose samples are kept as numbers only.
    pub fn sampled(&self, kind: ProfileKind, point: usize) -> Result<Collected, String> {
        let sampled = &self.points[point];
        let profile = match kind {
            ProfileKind::Method => AnyProfile::Method(self.by_method(sampled)),
            ProfileKind::CallPair => AnyProfile::CallPair(sampled.call_pairs.clone()),
            ProfileKind::DataStream => return Err("sampled streams are not analyzed".to_string()),
        };
        Ok(Collected {
            profile,
            samples: self.samples(kind, point),
        })
    }

    fn by_method(&self, profiles: &PointProfiles) -> Profile<Method> {
        profiles
            .addresses
            .methods(|address| self.methods.entry(address))
    }
}

/// Result of a collecting run: the profile and how many samples it took.
pub struct Collected {
    /// The profile.
    pub profile: AnyProfile,
    /// Events, calls or references.
    pub samples: u64,
}

impl Collected {
    /// From what handlers left in guest memory.
    ///
    /// # Errors
    /// If a table was too small for the profile.
    pub fn new(collected: CollectedProfile, methods: &MethodMap) -> Result<Collected, String> {
        let full = |lost: u64| match lost {
            0 => Ok(()),
            _ => Err(format!(
                "{lost} samples found no room in the handler's table"
            )),
        };
        Ok(match collected {
            CollectedProfile::Method { addresses, lost } => {
                full(lost)?;
                Collected {
                    samples: addresses.total(),
                    profile: AnyProfile::Method(addresses.methods(|a| methods.entry(a))),
                }
            }
            CollectedProfile::CallPair { call_pairs, lost } => {
                full(lost)?;
                Collected {
                    samples: call_pairs.total(),
                    profile: AnyProfile::CallPair(call_pairs),
                }
            }
            CollectedProfile::DataStream(recorder) => Collected {
                samples: recorder.references(),
                profile: AnyProfile::DataStream(
                    recorder.finish().map_or_else(Profile::new, |s| s.profile),
                ),
            },
            CollectedProfile::Nothing => return Err("nothing was collected".to_string()),
        })
    }
}

/// A collector of one or several kinds.
///
/// # Errors
/// An impossible point, table or engine.
pub fn collect(
    kinds: &[ProfileKind],
    point: SamplePoint,
    options: &CollectorOptions,
) -> Result<Collector, String> {
    Collector::of(Scheme::Hps, kinds, point, options).map_err(|e| e.to_string())
}

/// Runs the first `limit` instructions of a program in the functional machine under a probe; gives
/// the probe back, and the number of instructions.
///
/// # Errors
/// Why the program cannot be run, or what went wrong in it.
pub fn functional<P: Probe>(program: &Program, limit: u64, probe: P) -> Result<(P, u64), String>
where
    NoEditor: FunctionalLoop<P>,
{
    let run = Lab::of(program).watched_by(probe).limit(limit).run();
    let run = run
        .and_then(Ran::successful_so_far)
        .map_err(|e| e.to_string())?;
    let instructions = run.instructions();
    Ok((run.probe, instructions))
}

/// A run may stop at its limit; if it ends by itself, it must end well.
///
/// # Errors
/// How the program ended, if not well.
pub fn check_stop(program: &Program, stop: Stop, process: &Process) -> Result<(), String> {
    match stop {
        Stop::Limit => Ok(()),
        stop => check_end(program, stop, process),
    }
}

/// A timed run that has ended, or stopped at its limit.
pub struct Timed<E: DecodeEditor> {
    /// Counters of the core, before it was drained.
    pub stats: CoreStats,
    /// The core, drained: its process is precise.
    pub core: Core<E, NoProbe>,
}

/// Times the first `limit` instructions of a program without DISE.
///
/// # Errors
/// Why the program cannot be run, or what went wrong in it.
pub fn timed_alone(
    program: &Program,
    machine: &TimedMachine,
    limit: u64,
) -> Result<CoreStats, String> {
    let core = Lab::of(program).timed_by(machine).open();
    let core = core.map_err(|e| e.to_string())?;
    Ok(timed(program, core, limit)?.stats)
}

/// Times the first `limit` instructions of a program while a profile is collected.
///
/// # Errors
/// Why the program cannot be run, or what went wrong in it.
pub fn timed_profiled(
    program: &Program,
    machine: &TimedMachine,
    collector: &Collector,
    limit: u64,
) -> Result<Timed<DiseEngine>, String> {
    timed_installed(program, machine, collector, limit)
}

/// Times the first `limit` instructions of a program with an editor.
///
/// # Errors
/// Why the program cannot be run, or what went wrong in it.
pub fn timed_installed<I: Install<Editor: TimedLoop<NoProbe>>>(
    program: &Program,
    machine: &TimedMachine,
    editor: I,
    limit: u64,
) -> Result<Timed<I::Editor>, String> {
    let core = Lab::of(program)
        .timed_by(machine)
        .edited_by(editor)
        .open()
        .map_err(|e| e.to_string())?;
    timed(program, core, limit)
}

fn timed<E: TimedLoop<NoProbe>>(
    program: &Program,
    mut core: Core<E, NoProbe>,
    limit: u64,
) -> Result<Timed<E>, String> {
    let stop = core.run(limit);
    check_stop(program, stop, core.process())?;
    let stats = *core.stats();
    core.drain_to_boundary();
    Ok(Timed { stats, core })
}

impl Timed<DiseEngine> {
    /// Counters of the engine.
    #[must_use]
    pub fn dise(&self) -> &DiseStats {
        self.core.editor().stats()
    }

    /// The profile that the run left.
    ///
    /// # Errors
    /// If there is none, or a table was too small for it.
    pub fn collected(
        &self,
        collector: &Collector,
        methods: &MethodMap,
    ) -> Result<Collected, String> {
        let collected = collector.read(self.core.process());
        Collected::new(collected.map_err(|e| e.to_string())?, methods)
    }
}

/// Cycles added, as a share of the cycles without.
#[must_use]
pub fn overhead(with: &CoreStats, without: &CoreStats) -> f64 {
    with.cycles as f64 / without.cycles as f64 - 1.0
}

/// How long a run without DISE was.
#[must_use]
pub fn extent(label: &Label, alone: &CoreStats) -> Vec<Measurement> {
    let instructions = alone.commit_program_instructions;
    vec![
        label.is("cycles", alone.cycles as f64),
        label.is("instructions", instructions as f64),
    ]
}

/// Refuses to compare runs of different length.
///
/// # Errors
/// Both lengths.
pub fn same_instructions(a: &CoreStats, b: u64) -> Result<(), String> {
    let a = a.commit_program_instructions;
    if a == b {
        return Ok(());
    }
    Err(format!(
        "one run committed {a} instructions of the program, the other {b}"
    ))
}

/// Common fields of many measurements.
#[derive(Clone)]
pub struct Label(Measurement);

impl Label {
    /// A label for a program whose profile is collected by `scheme`.
    #[must_use]
    pub fn new(program: &Program, scheme: &str) -> Label {
        Label(Measurement::new(program, scheme, "", 0.0))
    }

    /// Adds the kind of profile.
    #[must_use]
    pub fn kind(mut self, kind: ProfileKind) -> Label {
        self.0.profile = Some(kind);
        self
    }

    /// At a burst length and a frequency of 1 in n.
    #[must_use]
    pub fn at(mut self, burst: u64, one_in: u64) -> Label {
        self.0.burst = Some(burst);
        self.0.one_in = Some(one_in);
        self
    }

    /// With something else varied.
    #[must_use]
    pub fn setting(mut self, setting: impl Into<String>) -> Label {
        self.0.setting = setting.into();
        self
    }

    /// At a place on the axis of what is varied.
    #[must_use]
    pub fn x(mut self, x: f64) -> Label {
        self.0.x = Some(x);
        self
    }

    /// The number itself.
    #[must_use]
    pub fn is(&self, measure: &str, value: f64) -> Measurement {
        Measurement {
            measure: measure.to_string(),
            value,
            ..self.0.clone()
        }
    }
}
