//! A timed run under the oracle: the exact profile, and what profilers on the same run found.

use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CyclesProbe;
use hps_profilers::oracle::Charge;
use hps_profilers::policy::Policy;
use hps_profilers::timeline::Timeline;
use hps_profilers::views::FunctionMap;
use hps_profilers::{
    Beats, Detail, ExactProfile, Follow, Oracle, Period, Programs, Sampled, Samplers,
};
use hps_system::image::ProgramImage;
use hps_system::interpreted::{self, Reader};
use hps_system::symbols::{CodeLog, CodeWatch, Entries};

use crate::error::LabError;
use crate::install::Install;
use crate::lab::Lab;
use crate::loops::TimedLoop;
use crate::mode::Timed;
use crate::ran::{Ran, Timing};

/// Results that are wanted of a run beside its cycles.
#[derive(Default)]
pub struct Watch {
    /// Bounds on the calling contexts that are kept; `None`: they are not followed.
    pub contexts: Option<Detail>,
    /// Row that instructions of a decode-stage editor are charged to.
    pub charge: Charge,
    /// True for a time series.
    pub timeline: bool,
    /// The profilers that watch, with their periods.
    pub samplers: Vec<(Box<dyn Policy>, Period)>,
    /// The number of the program that is followed, of a run of several processes
    /// ([`Linux::program_number`](hps_system::os::Linux::program_number)); `None`: that of the run itself.
    pub program: Option<u32>,
    /// True if the contexts that are kept name functions that interpreters execute.
    pub interpreted: bool,
}

/// A run with its exact profile.
pub struct Truth<E> {
    /// The run.
    pub ran: Ran<E, (), Timing>,
    /// Cycles by instruction and cause.
    pub exact: ExactProfile,
    /// Cycles of each interval by cause, if a time series was asked for.
    pub timeline: Option<Timeline>,
    /// Samples of the profilers, in the order in which the profilers were given.
    pub sampled: Vec<Sampled>,
}

impl<E> Truth<E> {
    /// Takes the results out of the probe of a run.
    pub(crate) fn of(ran: Ran<E, Watching, Timing>) -> Self {
        let (ran, probe) = ran.without_probe();
        let ((oracle, (samplers, timeline)), interpreted) = probe.finish_reading();
        let exact = oracle.finish();
        Truth {
            ran,
            exact: ExactProfile {
                // One program is followed.
                interpreted: interpreted.into_values().next().unwrap_or_default(),
                ..exact
            },
            timeline,
            sampled: samplers.finish(),
        }
    }
}

/// A run, and the exact profiles of its programs in the order of their numbers.
pub type Apart<E> = (Ran<E, (), Timing>, Vec<Option<ExactProfile>>);

/// A run, and the samples of its profilers in the order in which the profilers were given.
pub type Polled<E> = (Ran<E, (), Timing>, Vec<Sampled>);

/// Samplers of a machine that commits so many instructions in a cycle.
fn samplers(width: u64, all: Vec<(Box<dyn Policy>, Period)>) -> Samplers {
    let mut samplers = Samplers::new(width);
    for (policy, period) in all {
        samplers.add(policy, period);
    }
    samplers
}

/// Probes of a watched run: the oracle, samplers, and a time series if it is asked for.
pub type Watching = Beats<(Oracle, (Samplers, Option<Timeline>))>;

/// The probe of a watched run, whose programs record their code in `log`.
pub(crate) fn probe(
    machine: &MachineConfig,
    (image, log): (&ProgramImage, &CodeLog),
    watch: Watch,
) -> Watching {
    let width = u64::from(machine.most_commit_width());
    let program = watch.program.unwrap_or(1);
    let code = || Some(CodeWatch::new(log.clone(), program));
    let is_named = watch.contexts.is_some() || watch.timeline;
    let functions = is_named.then(|| FunctionMap::named(&image.symbols));
    let functions = functions.unwrap_or_default();
    let follow = watch.contexts.map(|detail| Follow {
        entries: Entries::of(&image.symbols, image.isa),
        functions: functions.clone(),
        watch: code(),
        detail,
    });
    let samplers = samplers(width, watch.samplers);
    let timeline = watch.timeline.then(|| Timeline::new(functions, code()));
    let oracle = Oracle::new(width, watch.charge, follow);
    let beats = Beats::new((oracle, (samplers, timeline))).following(program);
    let readers = readers(image, log);
    match watch.interpreted && watch.contexts.is_some() && readers(program).is_some() {
        true => beats.reading(readers),
        false => beats,
    }
}

/// Makes readers of interpreters, by the numbers of programs, in a run of this image.
fn readers(
    image: &ProgramImage,
    log: &CodeLog,
) -> impl Fn(u32) -> Option<Reader> + Send + Sync + 'static {
    let (first_may_be_read, log) = (interpreted::may_be_read(image), log.clone());
    move |number| {
        // A program that is executed later is not known yet.
        let may_be_read = number > 1 || first_may_be_read;
        may_be_read.then(|| Reader::new(CodeWatch::new(log.clone(), number)))
    }
}

impl<I: Install<Editor: TimedLoop<CyclesProbe>>> Lab<'_, Timed<'_>, I, NoProbe> {
    /// Runs to the end of the program or to the limit, under the oracle and the profilers of `watch`. They change
    /// no cycle.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn watched(mut self, watch: Watch) -> Result<Truth<I::Editor>, LabError> {
        let log = self.record_code();
        let probe = probe(self.machine(), (&self.program.image, &log), watch);
        Ok(Truth::of(self.watched_by(probe).run()?))
    }
}

impl<I: Install<Editor: TimedLoop<CyclesProbe>>> Lab<'_, Timed<'_>, I, NoProbe> {
    /// Runs to the end of the program or to the limit, under an oracle for each program that processes of the run begin,
    /// which keep this detail of contexts, and name functions that interpreters execute if they are `interpreted`. Gives
    /// the run, and the profiles by the numbers of the programs, from 1 on; `None` of a program of which nothing has
    /// committed.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn watched_apart(
        mut self,
        detail: Detail,
        interpreted: bool,
    ) -> Result<Apart<I::Editor>, LabError> {
        let log = self.record_code();
        let width = u64::from(self.machine().most_commit_width());
        let image = &self.program.image;
        let entries = Entries::of(&image.symbols, image.isa);
        let functions = FunctionMap::named(&image.symbols);
        let readers = readers(image, &log);
        let programs = Programs::new(move |number| {
            let follow = Follow {
                entries: entries.clone(),
                functions: functions.clone(),
                watch: Some(CodeWatch::new(log.clone(), number)),
                detail,
            };
            Oracle::new(width, Charge::default(), Some(follow))
        });
        let mut probe = Beats::new(programs).following_all();
        if interpreted {
            probe = probe.reading(readers);
        }
        let (ran, probe) = self.watched_by(probe).run()?.without_probe();
        let (programs, mut interpreted) = probe.finish_reading();
        let mut exacts = programs.finish();
        for (number, exact) in (1..).zip(&mut exacts) {
            if let Some((exact, read)) = exact.as_mut().zip(interpreted.remove(&number)) {
                exact.interpreted = read;
            }
        }
        Ok((ran, exacts))
    }
}

impl<I: Install<Editor: TimedLoop<CyclesProbe>>> Lab<'_, Timed<'_>, I, NoProbe> {
    /// Runs to the end of the program or to the limit under these profilers alone. They change no cycle.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub fn polled(
        self,
        profilers: Vec<(Box<dyn Policy>, Period)>,
    ) -> Result<Polled<I::Editor>, LabError> {
        let width = u64::from(self.machine().most_commit_width());
        let probe = Beats::new(samplers(width, profilers));
        let (ran, probe) = self.watched_by(probe).run()?.without_probe();
        Ok((ran, probe.finish().finish()))
    }
}
