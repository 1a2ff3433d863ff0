//! The loops whose host instructions `hps dev bench --counts` has counted: the first instructions of a program in one of
//! them.

use std::error::Error;

use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CoreKind;
use hps_pipeline::sampled::SamplingPlan;
use hps_productions::{GridProbe, SamplePoint};
use hps_profile::StreamConfig;

use crate::end::EndError;
use crate::lab::Lab;
use crate::program::Program;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedLoop {
    /// The functional machine.
    Functional,
    /// With the paper's whole grid of samplers.
    Samplers,
    /// With the samplers and the hot data streams of the exhaustive trace.
    Grid,
    /// The cycle-driven core.
    Timed,
    /// The instruction-driven core.
    Instruction,
    /// Sampled timing by the default plan.
    Sampled,
}

impl CountedLoop {
    /// All loops, in the order of their declaration.
    pub const ALL: [CountedLoop; 6] = [
        CountedLoop::Functional,
        CountedLoop::Samplers,
        CountedLoop::Grid,
        CountedLoop::Timed,
        CountedLoop::Instruction,
        CountedLoop::Sampled,
    ];

    /// The name that `hps dev bench --without` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CountedLoop::Functional => "functional",
            CountedLoop::Samplers => "samplers",
            CountedLoop::Grid => "grid",
            CountedLoop::Timed => "timed",
            CountedLoop::Instruction => "instruction",
            CountedLoop::Sampled => "sampled",
        }
    }

    /// Runs so many instructions of a program.
    ///
    /// # Errors
    /// The errors of a run; a program that ends before.
    pub fn run(
        self,
        program: &Program,
        machine: &MachineConfig,
        instructions: u64,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let lab = Lab::of(program).limit(instructions);
        let end = match self {
            CountedLoop::Functional => lab.run()?.end(),
            CountedLoop::Samplers | CountedLoop::Grid => {
                let mut probe = grid()?;
                if self == CountedLoop::Samplers {
                    probe = probe.without_exhaustive_streams();
                }
                let (ran, probe) = lab.watched_by(probe).run()?.without_probe();
                let _ = probe.finish();
                ran.end()
            }
            CountedLoop::Timed => lab.on_machine(machine).core(CoreKind::Cycle).run()?.end(),
            CountedLoop::Instruction => {
                let lab = lab.on_machine(machine).core(CoreKind::Instruction);
                lab.run()?.end()
            }
            CountedLoop::Sampled => {
                let lab = lab.on_machine(machine).sampled(SamplingPlan::default())?;
                lab.run()?.end()
            }
        };
        if end != EndError::Limit {
            let name = &program.name;
            return Err(format!("{name}: it was to run {instructions} instructions: {end}").into());
        }
        Ok(())
    }
}

/// The samplers of the paper's whole grid.
///
/// # Errors
/// The errors of [`GridProbe::with_memory`]: none, for these points.
pub fn grid() -> Result<GridProbe<true>, Box<dyn Error + Send + Sync>> {
    let points = SamplePoint::paper_grid();
    let streams = StreamConfig::default();
    Ok(GridProbe::with_memory(&points, Some(&streams))?)
}
