//! The pairs of an editor and a probe whose loops are compiled here.
//!
//! Loops take most of the time of a build. Unit tests run none and compile none: functions that panic stand in their place.

use hps_dcpi::collect as dcpi;
use hps_dise::DiseEngine;
use hps_isa::editor::{Interruptible, NoEditor};
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::{CyclesProbe, StagesProbe, Warm};
use hps_pipeline::kanata::KanataLog;
use hps_pipeline::sampled::{SampledRun, SamplingError, SamplingPlan};
use hps_pipeline::stacks::FunctionStacks;
use hps_productions::grid::PhasedGrid;
use hps_productions::{GridProbe, SoftwareEditor, UniqueAddresses};
use hps_profilers::{Beats, Programs, Samplers};
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

use super::SampledLoop;
use crate::observer::watch as observer;
use crate::shadow::Following;
use crate::truth::Watching;

attach! {
    CyclesProbe: Watching, Beats<Programs>, Beats<Samplers>, observer::Watch, Following;
    StagesProbe: FunctionStacks, (KanataLog, FunctionStacks), dcpi::Observer;
}

/// All pairs.
macro_rules! pairs {
    ($functional:ident, $timed:ident, $sampled:ident) => {
        $functional! {
            NoEditor: NoProbe, GridProbe<true>, GridProbe<false>, PhasedGrid<false>, PhasedGrid<true>;
            NoEditor: (GridProbe<true>, UniqueAddresses), Warm;
            DiseEngine: NoProbe;
            SoftwareEditor: NoProbe;
        }
        $timed! {
            NoEditor: NoProbe, CyclesProbe, StagesProbe;
            DiseEngine: NoProbe, CyclesProbe, StagesProbe;
            SoftwareEditor: NoProbe, CyclesProbe;
            Interruptible<NoEditor>: CyclesProbe;
            Interruptible<DiseEngine>: CyclesProbe;
        }
        $sampled!(NoEditor, DiseEngine, SoftwareEditor);
    };
}

#[cfg(not(test))]
pairs!(functional_loops, timed_loops, sampled_loops);
#[cfg(test)]
pairs!(no_functional_loops, no_timed_loops, no_sampled_loops);

#[cfg(test)]
use absent::{no_functional_loops, no_sampled_loops, no_timed_loops};

#[cfg(test)]
mod absent {
    //! Loops that are not compiled.

    /// Takes the place of a loop.
    #[cold]
    pub(super) fn absent() -> ! {
        panic!("unit tests of hps-lab have no loops")
    }

    macro_rules! no_functional_loops {
        ($($editor:ty: $($probe:ty),+);+ $(;)?) => {
            $($(
                impl $crate::FunctionalLoop<$probe> for $editor {
                    fn run(
                        _: &mut ::hps_sim_core::machine::Machine<Self>,
                        _: &mut $probe,
                        _: u64,
                    ) -> Stop {
                        absent::absent()
                    }
                }
            )+)+
        };
    }

    macro_rules! no_timed_loops {
        ($($editor:ty: $($probe:ty),+);+ $(;)?) => {
            $($(
                impl $crate::ChipLoop<$probe> for $editor {
                    fn run_chip(_: &mut ::hps_pipeline::core::Chip<Self, $probe>, _: u64) -> Stop {
                        absent::absent()
                    }

                    fn run_chip_to(_: &mut ::hps_pipeline::core::Chip<Self, $probe>, _: u64) -> Option<Stop> {
                        absent::absent()
                    }
                }

                impl $crate::TimedLoop<$probe> for $editor {
                    fn core(
                        _: ::hps_pipeline::core::CoreKind,
                        _: &MachineConfig,
                        _: Process,
                        _: Self,
                        _: $probe,
                    ) -> Result<
                        ::hps_pipeline::core::EitherCore<Self, $probe>,
                        ::hps_pipeline::core::NotSimulated,
                    > {
                        absent::absent()
                    }

                    fn run(_: &mut ::hps_pipeline::core::EitherCore<Self, $probe>, _: u64) -> Stop {
                        absent::absent()
                    }

                    fn go_on(_: &mut ::hps_pipeline::core::EitherCore<Self, $probe>, _: u64) -> Stop {
                        absent::absent()
                    }

                    fn finish(
                        _: ::hps_pipeline::core::EitherCore<Self, $probe>,
                    ) -> ::hps_pipeline::core::Finished<Self, $probe> {
                        absent::absent()
                    }
                }
            )+)+
        };
    }

    macro_rules! no_sampled_loops {
        ($($editor:ty),+) => {
            $(
                impl SampledLoop for $editor {
                    fn sampled(
                        _: &MachineConfig,
                        _: Process,
                        _: Self,
                        _: SamplingPlan,
                    ) -> Result<SampledRun<Self>, SamplingError> {
                        absent::absent()
                    }

                    fn run_units(_: &mut SampledRun<Self>, _: u64) -> Result<Stop, SamplingError> {
                        absent::absent()
                    }
                }
            )+
        };
    }

    pub(super) use {no_functional_loops, no_sampled_loops, no_timed_loops};
}
