//! The ways to collect a profile that Figure 7 puts side by side, and one timed run of any of them.
//!
//! This is the one place that knows how each is installed and read.

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_productions::point::COUNTER_MAX;
use hps_productions::scheme::Scheme as Framework;
use hps_productions::software::{SoftwareCollector, SoftwareOptions};
use hps_productions::{CollectedProfile, Collector, CollectorOptions, SamplePoint};
use hps_profile::ProfileKind;
use hps_system::process::Process;

use hps_lab::{Install, Lab, Program, Ran, TimedLoop, TimedMachine, dise_config};

/// A way to collect a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Conditional control in the DISE engine (HPS report, section 4.2).
    Hps,
    /// DISE without it: every event and every instruction of interest is expanded (section 4.1).
    PlainDise,
    /// Software bursty tracing: duplicated code, checks at method entries and back-edges.
    Software,
    /// Software bursty tracing with the published reductions of checks.
    SoftwareReduced,
}

/// Part of a scheme that runs. Each step adds something to the one before it; the cost of that is the difference of
/// whole runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The code is duplicated, without checks.
    Duplication,
    /// Events are counted, but nothing is instrumented; of plain DISE no burst begins.
    Counting,
    /// Events are counted, and bursts begin and end, but nothing is instrumented.
    CountingBursts,
    /// Everything, with a sparsity so large that no burst begins.
    NeverSampling,
    /// Everything.
    Whole,
}

/// Additional cost of a step over the one before it: a part of a bar of Figure 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Running in another place, beside a copy that is not used.
    Duplication,
    /// Deciding when to sample: counting events, beginning and ending bursts.
    Basic,
    /// Asking at each instruction of interest whether to sample now.
    Checks,
    /// Collecting samples.
    Sampling,
}

/// Runs whose difference is a cost that one part of a bar gives to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The run without the cost.
    pub without: Step,
    /// The run with it.
    pub with: Step,
    /// The part that holds it as the difference of neighbouring steps.
    pub from: Part,
    /// The part that it belongs to.
    pub to: Part,
}

impl Scheme {
    /// All of them, in the order of figures.
    pub const ALL: [Scheme; 4] = [
        Scheme::Hps,
        Scheme::PlainDise,
        Scheme::Software,
        Scheme::SoftwareReduced,
    ];

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Hps => "hps",
            Scheme::PlainDise => "plain_dise",
            Scheme::Software => "software",
            Scheme::SoftwareReduced => "software_reduced",
        }
    }

    /// For people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Scheme::Hps => "HPS",
            Scheme::PlainDise => "plain DISE",
            Scheme::Software => "software",
            Scheme::SoftwareReduced => "software, fewer checks",
        }
    }

    /// The point at which a step runs. HPS counts at the point itself, so that also the ends of bursts
    /// are seen to cost nothing. Plain DISE counts without an end in one run and at the point itself in
    /// another: what the beginning and the end of a burst cost there is the difference ([`Self::transfer`]).
    #[must_use]
    pub fn point(self, step: Step, point: SamplePoint) -> SamplePoint {
        match (self, step) {
            (_, Step::Whole | Step::CountingBursts) | (Scheme::Hps, Step::Counting) => point,
            _ => SamplePoint {
                sparsity: COUNTER_MAX,
                ..point
            },
        }
    }

    /// The steps from a run without any of it to the whole, each with what it adds.
    #[must_use]
    pub fn steps(self) -> &'static [(Step, Part)] {
        match self {
            Scheme::Hps | Scheme::PlainDise => &[
                (Step::Counting, Part::Basic),
                (Step::NeverSampling, Part::Checks),
                (Step::Whole, Part::Sampling),
            ],
            Scheme::Software | Scheme::SoftwareReduced => &[
                (Step::Duplication, Part::Duplication),
                (Step::NeverSampling, Part::Basic),
                (Step::Whole, Part::Sampling),
            ],
        }
    }
}

impl Scheme {
    /// The beginning and the end of bursts decide when to sample, so that they are basic overhead by the paper's
    /// definition (section 4.1). Plain DISE pays for both; the difference of its last two steps holds that as sampling.
    #[must_use]
    pub fn transfer(self) -> Option<Transfer> {
        (self == Scheme::PlainDise).then_some(Transfer {
            without: Step::Counting,
            with: Step::CountingBursts,
            from: Part::Sampling,
            to: Part::Basic,
        })
    }

    /// All runs of a bar.
    pub fn runs(self) -> impl Iterator<Item = Step> {
        let of_transfer = self.transfer().map(|transfer| transfer.with);
        self.steps()
            .iter()
            .map(|&(step, _)| step)
            .chain(of_transfer)
    }
}

impl Step {
    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::Duplication => "duplication",
            Step::Counting => "counting",
            Step::CountingBursts => "counting_bursts",
            Step::NeverSampling => "never_samples",
            Step::Whole => "whole",
        }
    }

    /// Whether one run serves all kinds of profile.
    #[must_use]
    pub fn is_for_all_kinds(self) -> bool {
        matches!(
            self,
            Step::Counting | Step::CountingBursts | Step::Duplication
        )
    }
}

impl Part {
    /// All of them, in the order of figures.
    pub const ALL: [Part; 4] = [Part::Sampling, Part::Basic, Part::Checks, Part::Duplication];

    /// The name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::Duplication => "duplication",
            Part::Basic => "basic",
            Part::Checks => "checks",
            Part::Sampling => "sampling",
        }
    }

    /// For people, in the words of the paper's Figure 7.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Part::Duplication => "duplicated code",
            Part::Basic => "basic overhead",
            Part::Checks => "instrumentation checks",
            Part::Sampling => "sampling overhead",
        }
    }
}

/// A timed run.
#[derive(Debug)]
pub struct Run {
    /// Cycles.
    pub cycles: u64,
    /// Instructions of the program.
    pub program_instructions: u64,
    /// Replacement instructions inserted, the trigger not counted.
    pub inserted_instructions: u64,
    /// Instructions of handlers.
    pub handler_instructions: u64,
    /// Collected profile.
    pub profile: CollectedProfile,
}

/// Times a program without DISE.
///
/// # Errors
/// How the program ended, if not well.
pub fn without(program: &Program, machine: &TimedMachine) -> Result<Run, String> {
    let nothing = |_: &Process| Ok(CollectedProfile::Nothing);
    timed(program, machine, NoEditor, nothing)
}

/// Times a step of a scheme that collects one kind of profile at a point.
///
/// # Errors
/// The scheme cannot be installed, or how the program ended, if not well.
pub fn run(
    (scheme, step): (Scheme, Step),
    kind: ProfileKind,
    point: SamplePoint,
    program: &Program,
    machine: &TimedMachine,
) -> Result<Run, String> {
    let point = scheme.point(step, point);
    let options = CollectorOptions {
        dise: dise_config(machine),
        // Traces are compared by number and digest.
        streams: None,
        ..CollectorOptions::default()
    };
    let kinds: &[ProfileKind] = match step {
        Step::Counting | Step::CountingBursts | Step::Duplication => &[],
        Step::NeverSampling | Step::Whole => &[kind],
    };
    let framework = match scheme {
        Scheme::Hps => Framework::Hps,
        Scheme::PlainDise => Framework::PlainDise,
        Scheme::Software | Scheme::SoftwareReduced => {
            let options = match step {
                Step::Duplication => SoftwareOptions::layout_only(),
                _ => SoftwareOptions {
                    reduced_checks: scheme == Scheme::SoftwareReduced,
                    streams: None,
                    ..SoftwareOptions::default()
                },
            };
            let kind = kinds.first().copied();
            let collector =
                SoftwareCollector::new(kind, point, &options).map_err(|e| e.to_string())?;
            return timed(program, machine, &collector, |process| {
                collector.read(process).map_err(|e| e.to_string())
            });
        }
    };
    let collector = Collector::of(framework, kinds, point, &options).map_err(|e| e.to_string())?;
    timed(program, machine, &collector, |process| {
        collector.read(process).map_err(|e| e.to_string())
    })
}

fn timed(
    program: &Program,
    machine: &TimedMachine,
    editor: impl Install<Editor: TimedLoop<NoProbe>>,
    read: impl FnOnce(&Process) -> Result<CollectedProfile, String>,
) -> Result<Run, String> {
    let run = Lab::of(program).timed_by(machine).edited_by(editor).run();
    let run = run.and_then(Ran::successful).map_err(|e| e.to_string())?;
    Ok(Run {
        cycles: run.cycles(),
        program_instructions: run.retired.program,
        inserted_instructions: run.retired.inserted,
        handler_instructions: run.retired.handler,
        profile: read(&run.process)?,
    })
}
