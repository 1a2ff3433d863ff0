//! Specification of a sweep: programs × profiles × bursts × frequencies × machines, as a RON file.

use serde::{Deserialize, Serialize};

use hps_pipeline::core::CoreKind;
use hps_pipeline::sampled::SamplingPlan;
use hps_profile::{ProfileKind, StreamConfig};
use hps_system::image::Isa;

use crate::limits::RunLimits;
use crate::part::Part;

/// Phases of each point that are measured if nothing else is said.
const DEFAULT_PHASES: u32 = 30;
/// Most set-ups of a point.
const MOST_SET_UPS: u32 = 1000;
/// Most phases of a point.
const MOST_PHASES: u32 = 10_000;

/// Which points are timed besides the accuracy that every point gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// No point is timed: accuracy only.
    Off,
    /// The points of the paper's Figure 8: burst 100 for data streams, 1 for the others.
    PaperPoints,
    /// The whole grid.
    All,
}

/// Input size of the programs that come with the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputSize {
    /// 5 to 8 million instructions.
    Small,
    /// 300 million instructions and more.
    Large,
}

impl InputSize {
    /// The argument that selects it, which is also its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            InputSize::Small => "small",
            InputSize::Large => "large",
        }
    }
}

/// A program that does not come with the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnProgram {
    /// Path of an executable for one of the instruction sets; with `root`, also a program of that folder, by its path there or
    /// by its name in the usual folders of programs.
    pub path: String,
    /// Name that the program is told as its own, `argv[0]`; the path as it is written here if none is given. The text lies on the
    /// program's stack: commands that name a program alike run it alike, cycle for cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The host folder that it sees as `/`.
    #[serde(default)]
    pub root: Option<String>,
    /// The file that it reads as its standard input, from the beginning in every run; empty if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// The exit code with which it must end for its results to count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expect_exit: i32,
    /// The part of it that counts.
    #[serde(default, skip_serializing_if = "Part::is_all")]
    pub part: Part,
}

/// Exit code 0 is not mentioned.
fn is_zero(code: &i32) -> bool {
    *code == 0
}

/// A sweep. Every key has a default; the default of all is the paper's grid over all programs that
/// come with the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SweepSpec {
    /// Names of programs that come with the project; empty: all, unless `own_programs` are given.
    pub programs: Vec<String>,
    /// Instruction sets of the programs that come with the project, as names in quotes: each program
    /// runs on each of them.
    #[serde(with = "isa_names")]
    pub isas: Vec<Isa>,
    /// Other programs.
    pub own_programs: Vec<OwnProgram>,
    /// Seeds by which addresses of programs are drawn: each program runs with each of them. Empty: addresses are fixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub address_seeds: Vec<u64>,
    /// Input of the programs that come with the project.
    pub size: InputSize,
    /// Kinds of profile.
    pub profiles: Vec<ProfileKind>,
    /// Burst lengths, in events.
    pub bursts: Vec<u64>,
    /// Frequencies as 1 in n.
    pub one_in: Vec<u64>,
    /// Phases of each point's schedule, drawn evenly, over which accuracies get their mean, spread and interval; 0: only
    /// the engine's own phase.
    pub phases: u32,
    /// How hot data streams are found.
    pub streams: StreamConfig,
    /// Machines: names of presets, or files.
    pub machines: Vec<String>,
    /// How machines are simulated.
    pub core: CoreKind,
    /// Parts of the sweep that are timed.
    pub timing: Timing,
    /// Set-ups in which overheads are measured, the configured one and others whose environment is larger; each is timed
    /// whole.
    pub set_ups: u32,
    /// Times units of the runs instead of whole runs; `None` if every cycle is simulated.
    pub sample: Option<SamplingPlan>,
    /// Limits of each run.
    pub limits: RunLimits,
}

impl Default for SweepSpec {
    fn default() -> Self {
        SweepSpec {
            programs: Vec::new(),
            isas: vec![Isa::Riscv64],
            own_programs: Vec::new(),
            address_seeds: Vec::new(),
            size: InputSize::Small,
            profiles: ProfileKind::ALL.to_vec(),
            bursts: vec![1, 10, 50, 100],
            one_in: vec![100, 500, 1000, 5000, 10000],
            phases: DEFAULT_PHASES,
            streams: StreamConfig::default(),
            machines: vec!["hps-4wide".to_string()],
            core: CoreKind::default(),
            timing: Timing::PaperPoints,
            set_ups: 1,
            sample: None,
            limits: RunLimits::default(),
        }
    }
}

/// A sweep definition that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The text is not a sweep definition.
    #[error(
        "{file}:{line}:{column}: {message}; the keys are programs, isas, own_programs, address_seeds, size, profiles, bursts, one_in, phases, streams, machines, core, timing, set_ups, sample, limits"
    )]
    Syntax {
        /// File.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Error in the file.
        message: String,
    },
    /// A value is impossible.
    #[error("{file}: {key}: {message}")]
    Value {
        /// File.
        file: String,
        /// Key.
        key: &'static str,
        /// Error in the value, and what would be allowed.
        message: String,
    },
}

impl SweepSpec {
    /// Reads a definition.
    ///
    /// # Errors
    /// [`SpecError`] with the place.
    pub fn from_ron(text: &str, file: &str) -> Result<Self, SpecError> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let spec: SweepSpec = options.from_str(text).map_err(|e| SpecError::Syntax {
            file: file.to_string(),
            line: e.span.start.line,
            column: e.span.start.col,
            message: e.code.to_string(),
        })?;
        spec.check(file)?;
        Ok(spec)
    }

    /// Refuses impossible values.
    ///
    /// # Errors
    /// [`SpecError::Value`] with the key.
    pub fn check(&self, file: &str) -> Result<(), SpecError> {
        let bad = |key, message: &str| {
            Err(SpecError::Value {
                file: file.to_string(),
                key,
                message: message.to_string(),
            })
        };
        if self.profiles.is_empty() {
            return bad(
                "profiles",
                "name at least one of method, call_pair, data_stream",
            );
        }
        if self.isas.is_empty() {
            return bad("isas", "name at least one of \"riscv64\", \"alpha\"");
        }
        if (1..self.isas.len()).any(|at| self.isas[..at].contains(&self.isas[at])) {
            return bad("isas", "name each instruction set once");
        }
        if (1..self.address_seeds.len())
            .any(|at| self.address_seeds[..at].contains(&self.address_seeds[at]))
        {
            return bad("address_seeds", "name each seed once");
        }
        if self.machines.is_empty() {
            return bad("machines", "name at least one machine (hps machine show)");
        }
        if self.bursts.is_empty() || self.bursts.iter().any(|&b| b == 0 || b > 1 << 30) {
            return bad(
                "bursts",
                "name at least one burst length, each from 1 to 2^30",
            );
        }
        if self.one_in.is_empty() || self.one_in.iter().any(|&n| n == 0 || n > 1 << 30) {
            return bad(
                "one_in",
                "name at least one frequency 1/n, each n from 1 to 2^30",
            );
        }
        let longest = self.bursts.iter().max().unwrap_or(&1);
        let rarest = self.one_in.iter().max().unwrap_or(&1);
        if longest.saturating_mul(rarest - 1) >= u64::from(u32::MAX) {
            return bad(
                "one_in",
                "burst * (n - 1) must stay below 2^32, the range of a DISE counter",
            );
        }
        if self.phases == 1 || self.phases > MOST_PHASES {
            return bad(
                "phases",
                "give 0 for the engine's own phase alone, or from 2 to 10000: one value has no spread",
            );
        }
        if !(1..=MOST_SET_UPS).contains(&self.set_ups) {
            return bad(
                "set_ups",
                "give 1 for the configured one alone, or up to 1000",
            );
        }
        if self.set_ups > 1 && self.sample.is_some() {
            return bad(
                "set_ups",
                "several set-ups are timed whole; leave out sample",
            );
        }
        if let Err(error) = self.streams.validate() {
            return bad("streams", &error.to_string());
        }
        if let Some(Err(error)) = self.sample.map(|plan| plan.validate()) {
            return bad("sample", &error.to_string());
        }
        if self.sample.is_some() && self.core != CoreKind::Cycle {
            return bad(
                "sample",
                "units are timed on the cycle-driven core; leave out core",
            );
        }
        if let Some(problem) = self.limits.problem() {
            return bad("limits", problem);
        }
        if self.bursts.len() * self.one_in.len() > 64 {
            return bad(
                "bursts",
                "one pass feeds at most 64 points (bursts × frequencies)",
            );
        }
        Ok(())
    }

    /// Whether a point is to be timed.
    #[must_use]
    pub fn is_timed(&self, profile: ProfileKind, burst: u64) -> bool {
        match self.timing {
            Timing::Off => false,
            Timing::All => true,
            Timing::PaperPoints => burst == paper_burst(profile),
        }
    }
}

/// Instruction sets by their names.
mod isa_names {
    use hps_system::image::Isa;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(isas: &[Isa], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(isas.iter().map(|isa| isa.name()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Isa>, D::Error> {
        let isa = |name: &String| {
            Isa::from_name(name).ok_or_else(|| {
                let known = Isa::ALL.map(|isa| format!("{:?}", isa.name())).join(", ");
                D::Error::custom(format!(
                    "there is no instruction set {name:?}; there are {known}"
                ))
            })
        };
        Vec::<String>::deserialize(from)?.iter().map(isa).collect()
    }
}

/// The burst length at which the paper's Figure 8 shows a kind of profile.
#[must_use]
pub fn paper_burst(profile: ProfileKind) -> u64 {
    if profile == ProfileKind::DataStream {
        100
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_definition_is_the_papers_grid() {
        let spec = SweepSpec::from_ron("()", "x.ron").expect("defaults are valid");
        assert_eq!(spec, SweepSpec::default());
        assert_eq!(spec.bursts.len() * spec.one_in.len(), 20);
    }

    #[test]
    fn instruction_sets_are_read_as_they_are_written() {
        let spec = SweepSpec::from_ron("(isas: [\"alpha\", \"riscv64\"])", "x.ron").expect("valid");
        assert_eq!(spec.isas, [Isa::Alpha, Isa::Riscv64]);
        let text = ron::to_string(&spec).expect("written");
        assert_eq!(SweepSpec::from_ron(&text, "x.ron").expect("read"), spec);
    }

    #[test]
    fn a_sampling_plan_has_defaults_of_its_own() {
        let spec = SweepSpec::from_ron("(sample: (period: 20000))", "x.ron").expect("valid");
        let wanted = SamplingPlan {
            period: 20_000,
            ..SamplingPlan::default()
        };
        assert_eq!(spec.sample, Some(wanted));
        let text = ron::to_string(&spec).expect("written");
        assert_eq!(SweepSpec::from_ron(&text, "x.ron").expect("read"), spec);
    }

    #[test]
    fn the_core_is_part_of_a_definition() {
        let spec = SweepSpec::from_ron("(core: Instruction)", "x.ron").expect("valid");
        assert_eq!(spec.core, CoreKind::Instruction);
        let both = "(core: Instruction, sample: ())";
        let e = SweepSpec::from_ron(both, "x.ron").expect_err("units need the other core");
        assert!(e.to_string().contains("cycle-driven"), "{e}");
    }

    #[test]
    fn each_program_runs_with_each_seed_of_addresses() {
        let text = "(programs: [\"parse\", \"chess\"], address_seeds: [7, 9])";
        let spec = SweepSpec::from_ron(text, "x.ron").expect("valid");
        let programs = crate::load_programs(&spec, std::path::Path::new(".")).expect("programs");
        let found = programs.iter().map(|program| {
            let seed = program.process.address_seed;
            (program.name.as_str(), seed, program.input.as_str())
        });
        let expected = [
            ("parse", Some(7), "small addresses 7"),
            ("parse", Some(9), "small addresses 9"),
            ("chess", Some(7), "small addresses 7"),
            ("chess", Some(9), "small addresses 9"),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let e = SweepSpec::from_ron("(address_seeds: [1, 1])", "x.ron").expect_err("twice");
        assert!(e.to_string().contains("address_seeds"), "{e}");
    }

    #[test]
    fn limits_have_defaults_of_their_own() {
        let spec = SweepSpec::from_ron("(limits: (time_s: 5))", "x.ron").expect("valid");
        let wanted = RunLimits {
            time_s: 5,
            ..RunLimits::default()
        };
        assert_eq!(spec.limits, wanted);
        let none = "(limits: (open_files: 0))";
        let e = SweepSpec::from_ron(none, "x.ron").expect_err("no streams");
        assert!(e.to_string().contains("limits: open_files"), "{e}");
    }

    #[test]
    fn errors_name_the_place() {
        let e = SweepSpec::from_ron("(\n  burts: [1],\n)", "x.ron").expect_err("unknown key");
        assert!(e.to_string().starts_with("x.ron:2:"), "{e}");
        let e = SweepSpec::from_ron("(isas: [\"pdp11\"])", "x.ron").expect_err("no such ISA");
        assert!(e.to_string().contains("riscv64"), "{e}");
        let twice = "(isas: [\"alpha\", \"alpha\"])";
        let e = SweepSpec::from_ron(twice, "x.ron").expect_err("twice the same");
        assert!(e.to_string().contains("isas"), "{e}");
        let short = "(sample: (period: 1999))";
        let e = SweepSpec::from_ron(short, "x.ron").expect_err("units overlap");
        assert!(e.to_string().contains("sample: a period of 1999"), "{e}");
        let e = SweepSpec::from_ron("(bursts: [0])", "x.ron").expect_err("zero burst");
        assert!(e.to_string().contains("bursts"), "{e}");
    }
}
