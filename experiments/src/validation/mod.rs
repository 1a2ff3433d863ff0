//! A program natively and in the simulator, side by side: calls, time by function, output.
//!
//! Native results come in as numbers ([`Native`]): nothing here runs on the host.

mod comparison;
mod counters;
mod functional;
mod functions;
mod graph;
mod observers;
mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hps_lab::{Faulted, LabError, Program};
use hps_pipeline::config::MachineConfig;
use hps_productions::{GridError, SamplePoint};
use hps_profile::{Profile, overlap_without_cut};
use hps_sim_core::machine::Stop;
use hps_system::image::ProgramImage;
use hps_system::process::{Process, ProcessConfig};

pub use comparison::{
    CallComparison, CallDifference, Comparison, FunctionRow, Origin, TimeComparison,
};
pub use counters::{CountedEvent, CountedProgram, EVENTS, NativeCount, NativelyCounted, count};
pub use functions::base_name;
pub use graph::{EdgeDifference, Edges, GraphComparison};
pub use observers::{
    CollectorComparison, CollectorSide, NativeCollector, ObservedTimes, Observers, PeriodComparison,
};

/// Shares are kept as whole numbers of this part of the whole.
pub const SHARE_UNIT: u64 = 1_000_000_000;
/// Time of several runs.
pub struct Times {
    /// Shares of time by function, in [`SHARE_UNIT`]: medians over the runs.
    pub shares: Profile<String>,
    /// Half of the runs lie closer to the median than this, averaged over functions by weight.
    pub spread: f64,
    /// Samples of all runs that say what the program was in.
    pub samples: u64,
    /// Mean cycles from sample to sample.
    pub mean_period: f64,
    /// Runs.
    pub runs: usize,
    /// Seconds of a run, median.
    pub seconds: f64,
    /// Counts of a performance monitoring unit, or why there is none.
    pub counted: Result<Counted, String>,
}

/// Counts of the processor in user mode, hooks included: medians over the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    /// Instructions.
    pub instructions: f64,
    /// Instructions for each cycle: the least, the median and the most of all runs.
    pub ipc: [f64; 3],
}

/// Observations of native runs.
pub struct Native {
    /// Entries by function, under the function's name.
    pub calls: BTreeMap<String, u64>,
    /// Calls by caller and callee.
    pub edges: Edges,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
    /// Time, if it was measured.
    pub times: Option<Times>,
    /// How far samples with time stamps are apart, if they were taken.
    pub periods: Option<ObservedTimes>,
    /// Calls that collectors found.
    pub collectors: Vec<NativeCollector>,
}

/// The simulated form of a program.
pub struct Simulated {
    /// The program.
    pub image: Arc<ProgramImage>,
    /// The program with hooks, which write a tag at each entry and exit of a function.
    pub instrumented: Option<Arc<ProgramImage>>,
    /// How both are started.
    pub process: ProcessConfig,
    /// Where the image comes from.
    pub origin: Origin,
    /// Expected output of the program, if known.
    pub expected: Option<&'static str>,
}

impl Simulated {
    /// The form without hooks, for runs beside observers.
    fn program(&self) -> Program {
        Program {
            name: self.image.name.clone(),
            image: Arc::clone(&self.image),
            input: String::new(),
            process: self.process.clone(),
            expected: None,
            region: None,
            root_contents: None,
            is_interpreted: false,
        }
    }
}

/// Why a program cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// The program cannot be simulated.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The sampling point is impossible.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The program faulted, or was stopped.
    #[error("{program}: in the simulator, {why}")]
    Faulted {
        /// The program.
        program: String,
        /// The fault, or why it was stopped.
        why: Faulted,
    },
    /// The program ended with another exit code than 0.
    #[error("{program}: ended with exit code {code} in the simulator")]
    Exit {
        /// The program.
        program: String,
        /// Exit code of the program.
        code: i32,
    },
    /// An observer in the simulation failed.
    #[error("{program}: {why}")]
    Observer {
        /// The program.
        program: String,
        /// Reason of the failure.
        why: String,
    },
    /// A program that is to write tags has no hooks.
    #[error(
        "{program}: it has no function {hook}; compile it with -finstrument-functions and link \
         shim/preload/hps_shim_stand_in.c"
    )]
    NoHook {
        /// The program.
        program: String,
        /// The function that it lacks.
        hook: String,
    },
}

impl ValidationError {
    fn unless_ended_well(stop: Stop, process: &Process) -> Result<(), ValidationError> {
        let program = || process.image.name.clone();
        match Faulted::or_exit_code(stop, process) {
            Ok(0) => Ok(()),
            Ok(code) => Err(ValidationError::Exit {
                program: program(),
                code,
            }),
            Err(why) => Err(ValidationError::Faulted {
                program: program(),
                why,
            }),
        }
    }
}

/// Runs the simulated form of a program, timed if there is a machine, and compares it with native runs. HPS samples at
/// `point`; what observers found is compared if they are there.
///
/// # Errors
/// The simulated form cannot be run, or does not end well.
pub fn compare(
    program: &str,
    native: &Native,
    simulated: &Simulated,
    machine: Option<&MachineConfig>,
    point: SamplePoint,
    observers: Option<&Observers<'_>>,
) -> Result<Comparison, ValidationError> {
    let observed: BTreeSet<String> = native.calls.keys().cloned().collect();
    let (image, process) = (&simulated.image, &simulated.process);
    let functional = functional::functional(image, process, &observed, point)?;
    let mut timed = comparison::Pipeline::default();
    let mut same_output = native.stdout == functional.stdout;
    if let Some(machine) = machine {
        timed.plain = Some(slots::plain(image, process, &observed, machine)?);
        if let Some(image) = &simulated.instrumented {
            let (cycles, stdout) = slots::instrumented(image, process, &observed, machine)?;
            timed.instrumented = Some(cycles);
            same_output &= native.stdout == stdout;
        }
    }

    let observed_inside = observers
        .map(|observers| observers.compare(native, simulated))
        .transpose()?;
    let inside = observed_inside.unwrap_or_default();
    let samples = inside.samples.as_ref();
    let times = native.times.as_ref();
    let calls = comparison::calls(&native.calls, &functional.calls);
    let time = times.map(|times| comparison::times(times, &functional, &timed, samples, &observed));
    let functions = comparison::functions(&native.calls, times, &functional, &timed, samples);
    let expected = simulated.expected.map(str::as_bytes);
    same_output &= expected.is_none_or(|expected| native.stdout == expected);
    let verdict = comparison::verdict(
        same_output,
        simulated.origin,
        &calls,
        time.as_ref(),
        &functions,
    );
    let counted = times.and_then(|t| t.counted.as_ref().ok());
    Ok(Comparison {
        program: program.to_owned(),
        isa: image.isa.name(),
        origin: simulated.origin,
        same_output,
        calls,
        call_graph: graph::compare(&native.edges, &functional.edges),
        periods: inside.periods,
        collectors: inside.collectors,
        time,
        hps_accuracy: overlap_without_cut(&functional.sampled, &functional.exhaustive),
        functions,
        samples: times.map_or(0, |t| t.samples),
        mean_period_cycles: times.map_or(0.0, |t| t.mean_period),
        runs: times.map_or(0, |t| t.runs),
        native_seconds: times.map_or(0.0, |t| t.seconds),
        instructions: functional.total_instructions,
        cycles: timed.plain.as_ref().map(|t| t.cycles),
        instrumented_cycles: timed.instrumented.as_ref().map(|t| t.cycles),
        simulated_ipc: timed.plain.as_ref().map(|t| t.ipc),
        native_instructions: counted.map(|c| c.instructions),
        native_ipc: counted.map(|c| c.ipc),
        native_counters_missing: times.and_then(|t| t.counted.clone().err()),
        verdict,
    })
}
