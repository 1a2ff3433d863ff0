//! The builder of runs.

use std::borrow::Cow;
use std::sync::Arc;

use hps_isa::editor::{DecodeEditor, NoEditor};
use hps_isa::probe::NoProbe;
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, Stdin};
use hps_system::process::{Process, ProcessConfig};
use hps_system::symbols::CodeLog;
use hps_workloads::{Size, Workload};

use crate::edit::PlacedEdit;
use crate::error::LabError;
use crate::guest::{GuestLimits, GuestOptions};
use crate::install::{Install, Installer};
use crate::mode::Functional;
use crate::program::Program;
use crate::region::Region;

/// A run that is being put together: a program and its surroundings, `M` the mode of simulation, `I` the installer of
/// the decode-stage editor, and `P` the probe that watches.
///
/// A run is functional ([`Functional`]) until [`on`](Self::on) names a machine ([`Timed`](crate::Timed)); by
/// [`sampled`](Lab::sampled) only units of it are timed ([`Sampled`](crate::Sampled)). Type parameters of a run are
/// type parameters of the simulator's loops: a run without editor and probe pays for none.
#[derive(Clone, Debug)]
pub struct Lab<'a, M = Functional, I = NoEditor, P = NoProbe> {
    pub(crate) program: Cow<'a, Program>,
    pub(crate) mode: M,
    pub(crate) installs: I,
    pub(crate) probe: P,
    pub(crate) limit: u64,
    pub(crate) warn: Option<fn(&str)>,
    pub(crate) names_contention: bool,
    pub(crate) parts: Option<Parts>,
    pub(crate) edits: Vec<PlacedEdit>,
}

/// A run in parts, between which somebody is asked whether it goes on.
#[derive(Clone)]
pub(crate) struct Parts {
    /// Instructions of a part.
    pub length: u64,
    /// Is told how many instructions of the program have run, and says whether the run goes on.
    pub goes_on: Arc<dyn Fn(u64) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Parts { length, goes_on: _ } = self;
        f.debug_struct("Parts")
            .field("length", length)
            .finish_non_exhaustive()
    }
}

impl Parts {
    /// Runs up to `limit` instructions by `run`, which is told whether a part is the first one, and its length.
    pub fn run<C>(
        &self,
        core: &mut C,
        limit: u64,
        mut run: impl FnMut(&mut C, bool, u64) -> Stop,
    ) -> Stop {
        let mut done = 0;
        loop {
            let part = self.length.max(1).min(limit - done);
            let stop = run(core, done == 0, part);
            done += part;
            if stop != Stop::Limit || done >= limit || !(self.goes_on)(done) {
                return stop;
            }
        }
    }
}

impl Lab<'static> {
    /// A run of the program of a file, or of the one of that name that comes with the project, without
    /// arguments: see [`Program::find`].
    ///
    /// # Errors
    /// There is no such program, or not for the instruction set.
    pub fn program(name: &str, isa: impl Into<Option<Isa>>) -> Result<Self, LabError> {
        Ok(Lab::new(Cow::Owned(Program::find(name, isa)?)))
    }

    /// A run of a program that comes with the project with an input of a size: see
    /// [`Program::workload`].
    ///
    /// # Errors
    /// The program has no image for the instruction set.
    pub fn workload(workload: &Workload, isa: Isa, size: Size) -> Result<Self, LabError> {
        Ok(Lab::new(Cow::Owned(Program::workload(
            workload, isa, size,
        )?)))
    }

    /// A run of an image that is in memory. The program has no arguments but its name, that of the image.
    #[must_use]
    pub fn image(image: Arc<ProgramImage>) -> Self {
        let name = image.name.clone();
        Lab::new(Cow::Owned(Program::of_image(&name, image)))
    }
}

impl<'a> Lab<'a> {
    /// A run of a loaded program.
    #[must_use]
    pub fn of(program: &'a Program) -> Self {
        Lab::new(Cow::Borrowed(program))
    }

    fn new(program: Cow<'a, Program>) -> Self {
        Lab {
            limit: program.limit(),
            program,
            mode: Functional,
            installs: NoEditor,
            probe: NoProbe,
            warn: None,
            names_contention: false,
            parts: None,
            edits: Vec::new(),
        }
    }
}

/// Settings that every run has.
impl<'a, M, I, P> Lab<'a, M, I, P> {
    /// Sets the arguments behind the program's name.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let all = &mut self.process_mut().args;
        all.truncate(1);
        all.extend(args.into_iter().map(Into::into));
        self
    }

    /// Replaces the program's surroundings: files, environment, streams, limits. The arguments stay.
    #[must_use]
    pub fn guest(mut self, options: &GuestOptions) -> Self {
        let process = self.process_mut();
        *process = options.process_config(std::mem::take(&mut process.args));
        self
    }

    /// Replaces the configuration of the process as a whole, arguments included.
    #[must_use]
    pub fn configured(mut self, process: ProcessConfig) -> Self {
        *self.process_mut() = process;
        self
    }

    /// Sets the limits of the run other than its instructions.
    #[must_use]
    pub fn limits(mut self, limits: &GuestLimits) -> Self {
        limits.apply(self.process_mut());
        self
    }

    /// Sets standard input.
    #[must_use]
    pub fn input(mut self, stdin: Stdin) -> Self {
        self.process_mut().stdin = stdin;
        self
    }

    /// Sets standard output.
    #[must_use]
    pub fn output(mut self, stdout: Output) -> Self {
        self.process_mut().stdout = stdout;
        self
    }

    /// Lets only this region of the program count.
    #[must_use]
    pub fn region(mut self, region: Region) -> Self {
        self.program.to_mut().region = Some(region);
        self
    }

    /// Limits the instructions of the program.
    #[must_use]
    pub fn limit(mut self, instructions: u64) -> Self {
        self.limit = instructions;
        self
    }

    /// Names the lines for which cores contend, in [`Timing::contended`](crate::Timing::contended), or does not: a timed run
    /// on a chip with several cores pays for it.
    #[must_use]
    pub fn naming_contention(mut self, names: bool) -> Self {
        self.names_contention = names;
        self
    }

    /// Asks between parts of so many instructions whether the run goes on, and says how many of the program's instructions
    /// have run; a run that does not ends as at its limit of instructions. Parts change no result.
    #[must_use]
    pub fn in_parts(
        mut self,
        length: u64,
        goes_on: Arc<dyn Fn(u64) -> bool + Send + Sync>,
    ) -> Self {
        self.parts = Some(Parts { length, goes_on });
        self
    }

    /// Makes these edits of the program's state on the way, in a run by `run` that is not in parts. They stand in the order
    /// of their positions.
    #[must_use]
    pub fn with_edits(mut self, edits: Vec<PlacedEdit>) -> Self {
        self.edits = edits;
        self
    }

    /// Passes warnings of the operating system layer to `warn` as they come.
    #[must_use]
    pub fn warnings_to(mut self, warn: fn(&str)) -> Self {
        self.warn = Some(warn);
        self
    }

    /// The limit of instructions.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.limit
    }

    /// The program.
    #[must_use]
    pub fn subject(&self) -> &Program {
        &self.program
    }

    /// Edits the run's decode stage by `&Collector`, `&SoftwareCollector`, `&Productions`, or any other [`Install`].
    #[must_use]
    pub fn edited_by<J: Install>(self, installs: J) -> Lab<'a, M, J, P> {
        self.map(|mode, _, probe| (mode, installs, probe))
    }

    /// Edits the run's decode stage by an editor that a function makes and installs.
    #[must_use]
    pub fn edited<F, E, X>(self, install: F) -> Lab<'a, M, Installer<F>, P>
    where
        F: FnOnce(&mut Process) -> Result<E, X>,
        E: DecodeEditor,
        X: std::fmt::Display,
    {
        self.map(|mode, _, probe| (mode, Installer(install), probe))
    }

    /// Watches the run with a probe; several go as a tuple. A functional run takes a
    /// [`Probe`](hps_isa::probe::Probe), a timed one a
    /// [`PipelineProbe`](hps_pipeline::core::PipelineProbe). The probe comes back in the result.
    #[must_use]
    pub fn watched_by<Q>(self, probe: Q) -> Lab<'a, M, I, Q> {
        self.map(|mode, installs, _| (mode, installs, probe))
    }

    pub(crate) fn map<N, J, Q>(
        self,
        change: impl FnOnce(M, I, P) -> (N, J, Q),
    ) -> Lab<'a, N, J, Q> {
        let (mode, installs, probe) = change(self.mode, self.installs, self.probe);
        Lab {
            program: self.program,
            mode,
            installs,
            probe,
            limit: self.limit,
            warn: self.warn,
            names_contention: self.names_contention,
            parts: self.parts,
            edits: self.edits,
        }
    }

    /// A record of the code that programs of the run map, for an observer that is there before the run.
    #[must_use]
    pub fn record_code(&mut self) -> CodeLog {
        let log = CodeLog::default();
        self.process_mut().code = Some(log.clone());
        log
    }

    fn process_mut(&mut self) -> &mut ProcessConfig {
        &mut self.program.to_mut().process
    }
}
