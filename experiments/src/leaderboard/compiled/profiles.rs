//! The profiles of one run, as LLVM reads them.

use std::sync::Arc;

use hps_lab::{Lab, Program, TimedMachine, Watch};
use hps_profile::formats::{self, Format};
use hps_profile::symbolized::{Column, Header};
use hps_profile::{Profile, error_without_cut};
use hps_profilers::registry::Profiler;
use hps_profilers::views::{FunctionMap, symbolized_weights};
use hps_profilers::{ExactProfile, Key};
use hps_system::symbols::Symbols;

use super::super::passive::samples_of;
use super::{BRANCH_COUNTS, COVERAGE, EXACT_COUNTS, EXACT_CYCLE_SUMS, EXACT_CYCLES};

/// The column that makes the writer give a line the greatest weight of its instructions, as tools do that make such
/// profiles of samples: instructions of one block then agree.
const MOST: &str = "instructions";
/// Any other column is summed up over a line's instructions.
const SUM: &str = "cycles";

/// A profile for clang.
pub(super) struct ForClang {
    pub name: &'static str,
    /// LLVM's sample profile.
    pub text: Vec<u8>,
    /// `1 - overlap` by instruction with the cycles of the run.
    pub error: f64,
    /// `1 - overlap` by instruction with the numbers of executions.
    pub count_error: f64,
}

/// Runs a program once, and makes the profile of each profiler, of the oracle, and of what needs no profiler. A
/// profiler has one draw of its samples.
pub(super) fn collect(
    program: &Program,
    machine: &TimedMachine,
    profilers: &[&'static Profiler],
    samples: u64,
) -> Result<Vec<ForClang>, String> {
    let alone = Lab::of(program).timed_by(machine).run();
    let alone = alone.map_err(|e| e.to_string())?;
    let (cycles, instructions) = (alone.cycles(), alone.instructions());
    let samples = samples_of(cycles, samples);
    let samplers = profilers.iter().map(|profiler| {
        let period = profiler.period(cycles, instructions, samples, 1);
        ((profiler.policy)(), period)
    });
    let watch = Watch {
        samplers: samplers.collect(),
        ..Watch::default()
    };
    let truth = Lab::of(program).timed_by(machine).watched(watch);
    let truth = truth.map_err(|e| e.to_string())?;
    let exact = &truth.exact;
    let symbols = truth.ran.process.symbols();
    let run = Run {
        exact,
        functions: FunctionMap::new(&symbols, exact),
        symbols,
        cycles: exact.weights().collect(),
        counts: executions(exact).into_iter().collect(),
    };
    let executed = exact.executed();
    let mut all = vec![
        run.profile(EXACT_COUNTS, MOST, executions(exact))?,
        run.profile(EXACT_CYCLES, MOST, exact.weights().collect())?,
        run.profile(EXACT_CYCLE_SUMS, SUM, exact.weights().collect())?,
        run.profile(COVERAGE, MOST, coverage(&executed))?,
    ];
    for (profiler, sampled) in profilers.iter().zip(&truth.sampled) {
        let weights = sampled.by_instruction(&executed);
        all.push(run.profile(profiler.name, MOST, weights.into_iter().collect())?);
        if let Some(records) = &sampled.branches {
            let counts = records.executions(&executed);
            all.push(run.profile(BRANCH_COUNTS, MOST, counts.into_iter().collect())?);
        }
    }
    Ok(all)
}

type Weights = Vec<(Key, u64)>;

fn executions(exact: &ExactProfile) -> Weights {
    let rows = exact.rows.iter();
    rows.map(|row| (row.of.key, row.commits)).collect()
}

fn coverage(executed: &[u64]) -> Weights {
    let executed = executed.iter();
    executed.map(|&pc| (Key::of_program(pc), 1)).collect()
}

/// Source and reference of the profiles of a run.
struct Run<'a> {
    symbols: Arc<Symbols>,
    exact: &'a ExactProfile,
    functions: FunctionMap,
    cycles: Profile<Key>,
    counts: Profile<Key>,
}

impl Run<'_> {
    fn profile(
        &self,
        name: &'static str,
        column: &str,
        weights: Weights,
    ) -> Result<ForClang, String> {
        let as_profile: Profile<Key> = weights.iter().copied().collect();
        let symbolized = symbolized_weights(
            Header::default(),
            Column::new(column, "count"),
            weights,
            &self.symbols,
            &self.functions,
        );
        let mut text = Vec::new();
        formats::write(&symbolized, Format::LlvmSamples, &mut text).map_err(|e| e.to_string())?;
        if text.is_empty() {
            let rows = self.exact.rows.len();
            return Err(format!(
                "{name}: none of {rows} instructions has a function and a line"
            ));
        }
        Ok(ForClang {
            name,
            text,
            error: error_without_cut(&as_profile, &self.cycles),
            count_error: error_without_cut(&as_profile, &self.counts),
        })
    }
}
