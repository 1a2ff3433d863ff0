//! Measures what a profile is worth to a compiler: clang compiles a program with each profiler's profile, and the result runs
//! on the simulated machine.
//!
//! 1. A program is compiled without a profile, and runs under the oracle and all profilers that only watch
//!    ([`profiles`]).
//! 2. Each profile is written as LLVM's sample profile, and the program is compiled with it. Instrumentation has its
//!    own compilation and run ([`counters`]).
//! 3. Every result runs with its functions in several orders: the places of functions alone change the cycles of a
//!    program, and a gain that is smaller than that says nothing.
//!
//! Each executable must print what the program prints.

mod counters;
mod profiles;
mod worth;

pub use worth::{Figures, Profiled as ProfileWorth, Worth, worth};

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hps_lab::work_folder::WorkFolder;
use hps_lab::{Lab, Program, TimedMachine};
use hps_profile::{Summary, summarize};
use hps_profilers::registry::Profiler;
use hps_system::image::ProgramImage;
use hps_workloads::clang::{Clang, Objects, Profiled};

use crate::cluster::Effort;
use crate::measurement::{Measurement, Unit};

/// The name of the study in results.
pub const STUDY: &str = "leaderboard-compiled";
/// The row of the program without a profile.
pub const PLAIN: &str = "no-profile";
/// The row of the oracle's cycles.
pub const EXACT_CYCLES: &str = "exact-cycles";
/// The row of the oracle's cycles, each line with the sum over its instructions.
pub const EXACT_CYCLE_SUMS: &str = "exact-cycle-sums";
/// The row of exact numbers of executions.
pub const EXACT_COUNTS: &str = "exact-counts";
/// The row of a profile that knows of an instruction only that it has run.
pub const COVERAGE: &str = "coverage";
/// The row of executions in the ranges between branch records.
pub const BRANCH_COUNTS: &str = "lbr-counts";
/// The row of counters that the compiler inserts.
pub const INSTRUMENTATION: &str = "instrumentation";

/// How programs are compiled and measured.
#[derive(Clone, Debug)]
pub struct Compiling {
    /// The compiler.
    pub clang: Clang,
    /// Orders of functions in which each executable runs.
    pub orders: u32,
}

/// The unit that compiles a program with all profiles. There is none for a program without sources, or for another
/// instruction set than RISC-V.
pub(super) fn unit<'a>(
    program: &'a Program,
    machine: &'a TimedMachine,
    profilers: Vec<&'static Profiler>,
    samples: u64,
    compiling: &'a Compiling,
) -> Option<Unit<'a>> {
    let is_own = hps_workloads::find(&program.name).is_some_and(|workload| {
        workload.image(program.image.isa.name()) == Some(program.image.bytes())
    });
    if !is_own || program.image.isa.name() != "riscv64" {
        return None;
    }
    let names: Vec<&str> = profilers.iter().map(|p| p.name).collect();
    // One without a profile, one with counters, and one with each profiler's profile.
    let (orders, executables) = (compiling.orders, 2.0 + names.len() as f64);
    Some(Unit {
        study: STUDY,
        title: format!("{}: compiled with each profile", program.title()),
        key: serde_json::json!({
            "profilers": names,
            "samples": samples,
            "orders": compiling.orders,
            "clang": compiling.clang.version(),
        }),
        program,
        effort: Effort::runs(1.0, f64::from(orders) * executables, machine.core),
        run: Box::new(move || {
            let study = Study {
                program,
                machine,
                compiling,
            };
            study.run(&profilers, samples)
        }),
    })
}

struct Study<'a> {
    program: &'a Program,
    machine: &'a TimedMachine,
    compiling: &'a Compiling,
}

/// Cycles of an executable in each order of its functions.
type Cycles = Vec<f64>;

impl Study<'_> {
    fn run(
        &self,
        profilers: &[&'static Profiler],
        samples: u64,
    ) -> Result<Vec<Measurement>, String> {
        let folder = WorkFolder::new("compiled").map_err(|e| e.to_string())?;
        let mut known = BTreeMap::new();
        let plain = self.compile(Profiled::No)?;
        let base = self.cycles(&plain, &mut known)?;
        let mut measured = self.measurements(PLAIN, &base, &base);
        let trained = self.linked(&plain, None)?;
        for profile in profiles::collect(&trained, self.machine, profilers, samples)? {
            let file = folder.path().join(format!("{}.prof", profile.name));
            std::fs::write(&file, &profile.text).map_err(|e| e.to_string())?;
            let objects = self.compile(Profiled::BySamples(&file))?;
            let cycles = self.cycles(&objects, &mut known)?;
            measured.extend(self.measurements(profile.name, &base, &cycles));
            for (measure, value) in [
                ("error_ratio", profile.error),
                ("count_error_ratio", profile.count_error),
            ] {
                measured.push(self.measurement(profile.name, measure, value));
            }
        }
        let instrumented = self.linked(&self.compile(Profiled::Instrumented)?, None)?;
        let indexed = folder.path().join("counters.profdata");
        self.count(&instrumented, &indexed)?;
        let objects = self.compile(Profiled::ByCounters(&indexed))?;
        let cycles = self.cycles(&objects, &mut known)?;
        measured.extend(self.measurements(INSTRUMENTATION, &base, &cycles));
        Ok(measured)
    }

    /// Runs an instrumented program and writes its counters.
    fn count(&self, instrumented: &Program, indexed: &Path) -> Result<(), String> {
        let ran = Lab::of(instrumented).run().map_err(|e| e.to_string())?;
        let ran = ran.successful().map_err(|e| e.to_string())?;
        let raw = counters::raw_profile(&instrumented.image, &ran.process)?;
        let file = indexed.with_extension("profraw");
        std::fs::write(&file, raw).map_err(|e| e.to_string())?;
        let clang = &self.compiling.clang;
        clang.index(&file, indexed).map_err(|e| e.to_string())
    }

    fn compile(&self, profiled: Profiled<'_>) -> Result<Objects, String> {
        let clang = &self.compiling.clang;
        let objects = clang.compile(&self.program.name, profiled);
        objects.map_err(|e| e.to_string())
    }

    /// The program with another executable.
    fn linked(&self, objects: &Objects, order: Option<u32>) -> Result<Program, String> {
        let clang = &self.compiling.clang;
        let bytes = clang.link(objects, order).map_err(|e| e.to_string())?;
        let image = ProgramImage::parse(&bytes, &self.program.name).map_err(|e| e.to_string())?;
        Ok(Program {
            image: Arc::new(image),
            ..self.program.clone()
        })
    }

    /// Cycles in each order. `known` has those of executables that ran before, by their hashes.
    fn cycles(
        &self,
        objects: &Objects,
        known: &mut BTreeMap<String, u64>,
    ) -> Result<Cycles, String> {
        let orders = 1..=self.compiling.orders;
        let cycles = orders.map(|order| {
            let program = self.linked(objects, Some(order))?;
            if let Some(&cycles) = known.get(&program.image.hash) {
                return Ok(cycles as f64);
            }
            let ran = Lab::of(&program).timed_by(self.machine).run();
            let ran = ran.map_err(|e| e.to_string())?;
            let ran = ran.successful().map_err(|e| e.to_string())?;
            known.insert(program.image.hash.clone(), ran.cycles());
            Ok(ran.cycles() as f64)
        });
        cycles.collect()
    }

    /// The cycles of an executable, and what it gains: cycles of the plain program for each of its own, less one.
    fn measurements(&self, name: &str, base: &Cycles, cycles: &Cycles) -> Vec<Measurement> {
        let (before, after) = (summarize(base), summarize(cycles));
        let mut mean = self.measurement(name, "cycles", after.mean);
        mean.interval = after.half_width;
        let mut all = vec![mean];
        if name != PLAIN {
            let mut gain = self.measurement(name, "gain_ratio", before.mean / after.mean - 1.0);
            gain.interval = interval(&before, &after);
            all.push(gain);
        }
        all
    }

    fn measurement(&self, name: &str, measure: &str, value: f64) -> Measurement {
        Measurement::new(self.program, name, measure, value)
    }
}

/// Half the width of the 95% interval of a gain, to first order: both means vary by themselves.
fn interval(before: &Summary, after: &Summary) -> Option<f64> {
    let (before_half, after_half) = (before.half_width?, after.half_width?);
    let relative = (before_half / before.mean).hypot(after_half / after.mean);
    Some(before.mean / after.mean * relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_gain_holds_both_spreads() {
        let exact = summarize(&[200.0, 200.0]);
        let wide = summarize(&[99.0, 101.0]);
        assert_eq!(interval(&exact, &exact), Some(0.0));
        // Half of the width is 12.7 by t(1) = 12.706 and a standard error of 1, on a mean of 100; the gain is 1.
        let found = interval(&exact, &wide).expect("two values");
        assert!((found - 2.0 * 0.127_062).abs() < 1e-4, "{found}");
        assert_eq!(interval(&exact, &summarize(&[1.0])), None);
    }
}
