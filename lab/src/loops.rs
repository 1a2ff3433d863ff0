//! The loops of the simulator, each compiled once.
//!
//! The work of a run for each instruction is generic in its decode-stage editor and its probe, so that it pays for neither
//! where there is none. Such a loop is large, and what is generic is compiled in each crate that calls it. So the pairs of
//! an editor and a probe that several crates run are named here, and compiled here; a crate names pairs with probes of its
//! own by [`timed_loops!`](crate::timed_loops) and [`functional_loops!`](crate::functional_loops).
//!
//! `run` takes pairs that are named. A caller with another one says `run_here`: its crate compiles the loop.

use std::ops::{Deref, DerefMut};

use hps_isa::editor::DecodeEditor;
use hps_isa::probe::{NoProbe, Probe};
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{Chip, CoreKind, EitherCore, Finished, NotSimulated, PipelineProbe};
use hps_pipeline::sampled::{SampledRun, SamplingError, SamplingPlan};
use hps_sim_core::machine::{Machine, Stop};
use hps_system::os::DuplicateError;
use hps_system::process::Process;

/// An editor whose functional loops under a probe are compiled: see [`functional_loops!`](crate::functional_loops).
#[diagnostic::on_unimplemented(
    message = "no crate has compiled the functional loop of `{Self}` under `{P}`",
    note = "call `run_here` instead of `run`, which compiles it in this crate"
)]
pub trait FunctionalLoop<P: Probe>: DecodeEditor + Sized {
    /// Runs up to `limit` instructions of the program, as [`Machine::run`] does.
    fn run(machine: &mut Machine<Self>, probe: &mut P, limit: u64) -> Stop;
}

/// An editor whose loops under a probe are compiled for the cycle-driven core alone, for a caller that drives a chip.
pub trait ChipLoop<P: PipelineProbe>: DecodeEditor + Sized {
    /// Runs a chip as [`Chip::run`] does.
    fn run_chip(chip: &mut Chip<Self, P>, limit: u64) -> Stop;

    /// Runs a chip to the end of a cycle as [`Chip::run_to_cycle`] does.
    fn run_chip_to(chip: &mut Chip<Self, P>, cycle: u64) -> Option<Stop>;
}

/// An editor whose timed loops under a probe are compiled: see [`timed_loops!`](crate::timed_loops).
#[diagnostic::on_unimplemented(
    message = "no crate has compiled the timed loops of `{Self}` under `{P}`",
    note = "call `run_here` instead of `run`, which compiles them in this crate"
)]
pub trait TimedLoop<P: PipelineProbe>: ChipLoop<P> {
    /// Makes a core as [`EitherCore::with`] does.
    ///
    /// # Errors
    /// The errors of that function.
    fn core(
        kind: CoreKind,
        config: &MachineConfig,
        process: Process,
        editor: Self,
        probe: P,
    ) -> Result<EitherCore<Self, P>, NotSimulated>;

    /// Runs a core as [`EitherCore::run`] does.
    fn run(core: &mut EitherCore<Self, P>, limit: u64) -> Stop;

    /// Goes on with a core's run as [`EitherCore::go_on`] does.
    fn go_on(core: &mut EitherCore<Self, P>, limit: u64) -> Stop;

    /// Ends a core's life as [`EitherCore::finish`] does.
    fn finish(core: EitherCore<Self, P>) -> Finished<Self, P>;
}

/// A probe of a timed run: no probe, with loops of its own, or one behind dynamic calls, with the loops of its group.
#[diagnostic::on_unimplemented(
    message = "no crate has attached `{Self}` to timed loops",
    note = "name it in `attach!`, or call `run_here` instead of `run`, which compiles loops for it in this crate"
)]
pub trait Attach: PipelineProbe + Sized {
    /// The probe for which loops are compiled.
    type Loops: PipelineProbe;

    /// Makes that probe of this one.
    fn attach(self) -> Self::Loops;

    /// Takes this probe out of that one.
    fn detach(probe: Self::Loops) -> Self;
}

/// Attaches probes to the loops of a group, `attach! { CyclesProbe: Probe, Probe; StagesProbe: Probe }`, or one to its
/// own, `attach! { Probe }`.
#[macro_export]
macro_rules! attach {
    ($probe:ty) => {
        impl $crate::Attach for $probe {
            type Loops = Self;

            fn attach(self) -> Self {
                self
            }

            fn detach(probe: Self) -> Self {
                probe
            }
        }
    };
    ($($group:ident: $($probe:ty),+);+ $(;)?) => {
        $($(
            impl $crate::Attach for $probe {
                type Loops = ::hps_pipeline::core::$group;

                fn attach(self) -> Self::Loops {
                    Self::Loops::new(self)
                }

                fn detach(probe: Self::Loops) -> Self {
                    probe.into_probe()
                }
            }
        )+)+
    };
}

/// An editor whose loops of sampled timing are compiled.
pub trait SampledLoop: DecodeEditor + Clone + Send {
    /// Begins a run as [`SampledRun::with_editor`] does.
    ///
    /// # Errors
    /// The errors of that function.
    fn sampled(
        config: &MachineConfig,
        process: Process,
        editor: Self,
        plan: SamplingPlan,
    ) -> Result<SampledRun<Self>, SamplingError>;

    /// Runs as [`SampledRun::run`] does.
    ///
    /// # Errors
    /// The errors of that function.
    fn run_units(run: &mut SampledRun<Self>, limit: u64) -> Result<Stop, SamplingError>;
}

/// Compiles the functional loops of editors under probes: `functional_loops! { Editor: Probe, Probe; Editor: Probe }`.
#[macro_export]
macro_rules! functional_loops {
    ($($editor:ty: $($probe:ty),+);+ $(;)?) => {
        $($(
            impl $crate::FunctionalLoop<$probe> for $editor {
                fn run(
                    machine: &mut ::hps_sim_core::machine::Machine<Self>,
                    probe: &mut $probe,
                    limit: u64,
                ) -> ::hps_sim_core::machine::Stop {
                    machine.run(probe, limit)
                }
            }
        )+)+
    };
}

/// Compiles the timed loops of editors under probes, of both cores:
/// `timed_loops! { Editor: Probe, Probe; Editor: Probe }`.
#[macro_export]
macro_rules! timed_loops {
    ($($editor:ty: $($probe:ty),+);+ $(;)?) => {
        $($(
            impl $crate::ChipLoop<$probe> for $editor {
                fn run_chip(
                    chip: &mut ::hps_pipeline::core::Chip<Self, $probe>,
                    limit: u64,
                ) -> ::hps_sim_core::machine::Stop {
                    chip.run(limit)
                }

                fn run_chip_to(
                    chip: &mut ::hps_pipeline::core::Chip<Self, $probe>,
                    cycle: u64,
                ) -> ::std::option::Option<::hps_sim_core::machine::Stop> {
                    chip.run_to_cycle(cycle)
                }
            }

            impl $crate::TimedLoop<$probe> for $editor {
                fn core(
                    kind: ::hps_pipeline::core::CoreKind,
                    config: &::hps_pipeline::config::MachineConfig,
                    process: ::hps_system::process::Process,
                    editor: Self,
                    probe: $probe,
                ) -> ::std::result::Result<
                    ::hps_pipeline::core::EitherCore<Self, $probe>,
                    ::hps_pipeline::core::NotSimulated,
                > {
                    ::hps_pipeline::core::EitherCore::with(kind, config, process, editor, probe)
                }

                fn run(
                    core: &mut ::hps_pipeline::core::EitherCore<Self, $probe>,
                    limit: u64,
                ) -> ::hps_sim_core::machine::Stop {
                    core.run(limit)
                }

                fn go_on(
                    core: &mut ::hps_pipeline::core::EitherCore<Self, $probe>,
                    limit: u64,
                ) -> ::hps_sim_core::machine::Stop {
                    core.go_on(limit)
                }

                fn finish(
                    core: ::hps_pipeline::core::EitherCore<Self, $probe>,
                ) -> ::hps_pipeline::core::Finished<Self, $probe> {
                    core.finish()
                }
            }
        )+)+
    };
}

attach! { NoProbe }

/// Compiles the loops of sampled timing.
#[allow(unused_macros)]
macro_rules! sampled_loops {
    ($($editor:ty),+) => {
        $(
            impl SampledLoop for $editor {
                fn sampled(
                    config: &MachineConfig,
                    process: Process,
                    editor: Self,
                    plan: SamplingPlan,
                ) -> Result<SampledRun<Self>, SamplingError> {
                    SampledRun::with_editor(config, process, editor, plan)
                }

                fn run_units(run: &mut SampledRun<Self>, limit: u64) -> Result<Stop, SamplingError> {
                    run.run(limit)
                }
            }
        )+
    };
}

mod pairs;

/// A core whose loops are compiled, for a caller that steps it.
pub struct Core<E: DecodeEditor, P: PipelineProbe>(pub(crate) EitherCore<E, P>);

impl<E: TimedLoop<P>, P: PipelineProbe> Core<E, P> {
    /// Runs until `limit` further instructions of the program have committed, or until it ends.
    pub fn run(&mut self, limit: u64) -> Stop {
        E::run(&mut self.0, limit)
    }

    /// Runs to the end of the program.
    pub fn run_to_end(&mut self) -> Stop {
        self.run(u64::MAX)
    }

    /// Ends the run, with every slot of its last cycle accounted for.
    #[must_use]
    pub fn finish(self) -> Finished<E, P> {
        E::finish(self.0)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Core<E, P> {
    /// The core itself. Running it instantiates the loops in the caller's crate.
    #[must_use]
    pub fn into_inner(self) -> EitherCore<E, P> {
        self.0
    }
}

impl<E: DecodeEditor + Clone, P: PipelineProbe + Clone> Core<E, P> {
    /// A second core in the same state, as [`EitherCore::duplicate`] makes it.
    ///
    /// # Errors
    /// The errors of that function.
    pub fn duplicate(&mut self) -> Result<Self, DuplicateError> {
        self.0.duplicate().map(Core)
    }
}

impl<E: DecodeEditor, P: PipelineProbe> Deref for Core<E, P> {
    type Target = EitherCore<E, P>;

    fn deref(&self) -> &EitherCore<E, P> {
        &self.0
    }
}

impl<E: DecodeEditor, P: PipelineProbe> DerefMut for Core<E, P> {
    fn deref_mut(&mut self) -> &mut EitherCore<E, P> {
        &mut self.0
    }
}
