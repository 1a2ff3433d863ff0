//! Cost of instrumentation that is executed as guest code, in every place and all the time: the slowdown of shadows
//! that is a key elsewhere.
//!
//! Two means put it into a program: productions of the DISE engine, which expand instructions in decode, and a new layout
//! of the code, in which what is inserted is fetched like the rest. Both run the same handlers, which count in hash tables
//! and buffers in guest memory. Neither translates while the program runs.

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_lab::{Install, Lab, Productions, Program, Ran, TimedLoop, TimedMachine, dise_config};
use hps_productions::{
    Checks, Collector, CollectorOptions, SamplePoint, SoftwareCollector, SoftwareOptions,
};
use hps_profile::ProfileKind;
use rayon::prelude::*;

use crate::measurement::Measurement;

/// Instructions of the program, from its beginning, of which the slowdown is measured.
pub const INSTRUCTIONS: u64 = 1_000_000;

/// The setting of the variant with the slowdown of the key, which translates nothing either.
pub const BY_KEY: &str = "executed=key";

/// Kinds of profile that instrumentation collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Calls by site and target, in a hash table.
    Calls,
    /// Entries of methods and back-edges by target, in a hash table.
    Methods,
    /// Outcomes of conditional branches, in a hash table.
    Branches,
    /// Acyclic paths across functions, in a hash table.
    Paths,
    /// Addresses of data references, in a buffer: what hot data streams are made of.
    References,
    /// The most frequent values of each instruction.
    Values,
}

/// Means of putting instrumentation into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Productions expand instructions in decode.
    Dise,
    /// The code lies elsewhere, with instrumentation in it.
    Layout,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::Calls,
        Kind::Methods,
        Kind::Branches,
        Kind::Paths,
        Kind::References,
        Kind::Values,
    ];

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Calls => "calls",
            Kind::Methods => "methods",
            Kind::Branches => "branches",
            Kind::Paths => "paths",
            Kind::References => "references",
            Kind::Values => "values",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Kind::Calls => "calls",
            Kind::Methods => "method entries and back-edges",
            Kind::Branches => "branch outcomes (edges)",
            Kind::Paths => "paths across functions",
            Kind::References => "data references (streams)",
            Kind::Values => "values",
        }
    }

    /// Source of the instrumentation: a profile of HPS, by both means, or a production file, by DISE alone.
    fn source(self) -> Result<ProfileKind, &'static str> {
        match self {
            Kind::Calls => Ok(ProfileKind::CallPair),
            Kind::Methods => Ok(ProfileKind::Method),
            Kind::References => Ok(ProfileKind::DataStream),
            Kind::Branches | Kind::Paths | Kind::Values => Err(self.name()),
        }
    }

    /// The setting of a variant in which shadows are slowed down as much as this kind was measured to do.
    #[must_use]
    pub fn variant(self) -> String {
        format!("executed={}", self.name())
    }
}

impl Means {
    /// All of them.
    pub const ALL: [Means; 2] = [Means::Dise, Means::Layout];

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Means::Dise => "dise",
            Means::Layout => "layout",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Means::Dise => "DISE",
            Means::Layout => "new layout",
        }
    }

    /// Whether it can execute instrumentation of a kind. The new layout inserts in front of instructions only: what a
    /// branch or a computation does is known behind it.
    #[must_use]
    pub fn executes(self, kind: Kind) -> bool {
        self == Means::Dise || kind.source().is_ok()
    }
}

/// Cycles and instructions of the beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Timed {
    cycles: u64,
    /// Instructions of the program.
    program: u64,
    /// Instructions of instrumentation.
    added: u64,
}

impl Timed {
    fn cycles_per_instruction(&self) -> f64 {
        self.cycles as f64 / self.program.max(1) as f64
    }
}

/// A program, the machine that times it, and instructions of the program.
type Of<'a> = (&'a Program, &'a TimedMachine, u64);

/// Slowdowns of a program by instrumentation.
pub(super) struct Slowdowns {
    /// Of each kind by each means that executes it.
    pub measured: Vec<Measurement>,
    /// The slowdown of each kind by DISE.
    pub by_dise: Vec<(Kind, f64)>,
}

/// Measures the slowdown of each kind by each means that executes it, over so many instructions of the program.
pub(super) fn slowdowns(
    program: &Program,
    machine: &TimedMachine,
    instructions: u64,
) -> Result<Slowdowns, String> {
    let alone = timed((program, machine, instructions), NoEditor)?;
    let all = Kind::ALL
        .into_iter()
        .flat_map(|kind| Means::ALL.map(|means| (kind, means)));
    let wanted: Vec<_> = all.filter(|(kind, means)| means.executes(*kind)).collect();
    let runs: Result<Vec<_>, String> = wanted
        .into_par_iter()
        .with_max_len(1)
        .map(|(kind, means)| {
            let run = run((kind, means), (program, machine, instructions));
            let run = run.map_err(|why| format!("{} by {}: {why}", kind.title(), means.title()));
            Ok((kind, means, run?))
        })
        .collect();
    let (mut measured, mut by_dise) = (Vec::new(), Vec::new());
    for (kind, means, run) in runs? {
        let slowdown = run.cycles_per_instruction() / alone.cycles_per_instruction();
        if means == Means::Dise {
            by_dise.push((kind, slowdown));
        }
        let added = run.added as f64 / run.program.max(1) as f64;
        for (measure, value) in [
            ("slowdown_ratio", slowdown),
            ("added_per_instruction", added),
        ] {
            measured.push(Measurement {
                setting: kind.name().to_string(),
                ..Measurement::new(program, means.name(), measure, value)
            });
        }
    }
    Ok(Slowdowns { measured, by_dise })
}

fn run((kind, means): (Kind, Means), of @ (program, machine, _): Of<'_>) -> Result<Timed, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let point = SamplePoint::EXHAUSTIVE;
    match (kind.source(), means) {
        (Ok(kind), Means::Dise) => {
            let options = CollectorOptions {
                dise: dise_config(machine),
                streams: None,
                ..CollectorOptions::default()
            };
            let collector = Collector::new(kind, point, &options).map_err(|e| text(&e))?;
            timed(of, &collector)
        }
        (Ok(kind), Means::Layout) => {
            let options = SoftwareOptions {
                checks: Checks::None,
                streams: None,
                ..SoftwareOptions::default()
            };
            let collector =
                SoftwareCollector::new(Some(kind), point, &options).map_err(|e| text(&e))?;
            timed(of, &collector)
        }
        (Err(file), _) => {
            let isa = program.image.isa;
            let productions = Productions::load(isa, &[file.to_string()], Default::default())
                .and_then(|loaded| loaded.on(&machine.config))
                .map_err(|e| text(&e))?;
            timed(of, &productions)
        }
    }
}

fn timed(
    (program, machine, instructions): Of<'_>,
    editor: impl Install<Editor: TimedLoop<NoProbe>>,
) -> Result<Timed, String> {
    let lab = Lab::of(program).timed_by(machine).edited_by(editor);
    let run = lab
        .limit(instructions)
        .run()
        .and_then(Ran::successful_so_far);
    let run = run.map_err(|e| e.to_string())?;
    Ok(Timed {
        cycles: run.cycles(),
        program: run.retired.program,
        added: run.retired.total() - run.retired.program,
    })
}

#[cfg(test)]
mod tests {
    use hps_lab::{CoreKind, Isa};
    use hps_workloads::Size;

    use super::*;
    use crate::cluster::Keep;
    use crate::shadow::{Data, ShadowStudy, claims};

    fn study(isa: Isa, chips: &[&str]) -> ShadowStudy {
        let load = |name, core| TimedMachine::load(name, core).expect("a machine");
        let workload = hps_workloads::find("place").expect("comes with the project");
        ShadowStudy {
            programs: vec![Program::workload(workload, isa, Size::Small).expect("an image")],
            machine: load("hps-4wide", CoreKind::Instruction),
            samples: vec![10_000, 30_000],
            chips: chips
                .iter()
                .map(|name| load(name, CoreKind::Cycle))
                .collect(),
        }
    }

    #[test]
    fn every_kind_is_executed_by_each_means_that_can() {
        for isa in Isa::ALL {
            let study = study(isa, &[]);
            let Slowdowns { measured, by_dise } =
                slowdowns(&study.programs[0], &study.machine, 200_000).expect("a run");
            let kinds: Vec<Kind> = by_dise.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, Kind::ALL);
            let of = |kind: Kind, means: Means, measure: &str| {
                let mut all = measured.iter();
                let found = all.find(|m| {
                    (m.setting.as_str(), m.scheme.as_str(), m.measure.as_str())
                        == (kind.name(), means.name(), measure)
                });
                found.map(|m| m.value)
            };
            for kind in Kind::ALL {
                for means in Means::ALL {
                    let added = of(kind, means, "added_per_instruction");
                    let slowdown = of(kind, means, "slowdown_ratio");
                    assert_eq!(
                        slowdown.is_some(),
                        means.executes(kind),
                        "{kind:?} {means:?}"
                    );
                    // Nothing that is executed comes for nothing.
                    let costs = added.is_none_or(|a| a > 0.0) && slowdown.is_none_or(|s| s > 0.98);
                    assert!(costs, "{kind:?} {means:?}: {added:?}, {slowdown:?}");
                }
            }
            let dise = |kind| of(kind, Means::Dise, "slowdown_ratio");
            assert!(dise(Kind::Values) > dise(Kind::Branches));
            assert!(dise(Kind::Branches) > dise(Kind::Calls));
        }
    }

    #[test]
    fn what_is_stored_is_read_back_and_judged() {
        let folder = tempfile::tempdir().expect("a folder");
        let study = study(Isa::Riscv64, &["smt-2"]);
        let run = || study.run(&Keep::all(folder.path()), &()).expect("written");
        let records = run();
        assert_eq!(records.len(), 3);
        let failures: Vec<_> = records
            .iter()
            .filter_map(|r| r.failure.as_deref())
            .collect();
        assert!(failures.is_empty(), "{failures:?}");
        assert_eq!(run(), records);
        let machines: Vec<&str> = records.iter().map(|r| r.machine.as_str()).collect();
        assert_eq!(machines, ["hps-4wide", "hps-4wide", "smt-2"]);
        let data = Data::of(&records, "riscv64", &study.samples);
        assert_eq!(
            (data.machine(), data.programs()),
            ("hps-4wide", vec!["place"])
        );
        assert_eq!(data.chips(), ["smt-2"]);
        let mean = |setting: &str| data.mean(setting, "coverage_ratio");
        assert!(Kind::ALL.iter().all(|kind| mean(&kind.variant()).is_some()));
        // Slower shadows see less of a program.
        assert!(mean(&Kind::Values.variant()) < mean(&Kind::Calls.variant()));
        let claims = claims(&data, "riscv64");
        let of_chip = claims.iter().filter(|c| c.claim.contains("smt-2"));
        assert_eq!(of_chip.count(), 2);
        let undecided = claims.iter().filter(|c| c.here.is_empty());
        assert_eq!(undecided.count(), 0);
    }
}
