//! Shadow profiling (Moseley, Shye, Reddi, Grunwald, Peri: "Shadow Profiling: Hiding Instrumentation Costs with
//! Parallelism", CGO 2007): short-lived copies of a program run instrumented while the program goes on.
//!
//! The parent runs on the functional machine, and what it takes is known from an undisturbed run on a timed machine
//! ([`Timeline`]). Signals, forks and page faults are charged to it as [`Costs`] says. A shadow is a
//! [`Fork`]: it runs with the probes of [`Profiles`] until it has the instructions of a sample, or its policy of system
//! calls ends it. All shadows add to one set of profiles.
//!
//! A shadow is run to its end at its fork: when the next one begins depends on how long it lives. Runs that know
//! nothing of each other go side by side on the cores of the host.
//!
//! Or the parent runs on a timed chip, and shadows on other contexts of it ([`profiled_on_chip`]): then they compete for
//! caches and buses, and what that costs is measured.

mod on_chip;
mod outcome;
mod run;
mod seen;
mod timeline;
mod triggers;

use std::sync::Arc;

use hps_shadow::Graphs;
use hps_shadow::control::Costs;
use hps_shadow::policy::{CompiledPolicy, Policy};
use hps_shadow::profiles::Profiles;
use hps_shadow::values::TableShape;
use hps_sim_core::machine::{Machine, Stop};

use crate::error::LabError;
use crate::program::Program;

pub use on_chip::{Alone, ChipRun, Following, OnChip, profiled_on_chip};
pub use outcome::{End, ShadowOutcome};
pub use timeline::Timeline;

/// Rules for the times at which shadows begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// At a signal, if on average fewer shadows are alive than the load.
    Load {
        /// Shadows that are alive on average.
        load: f64,
        /// Time between two signals, in nanoseconds.
        period_ns: f64,
    },
    /// At a signal, if the load allows it and the program is in a phase that shadows have not seen often enough. Phases
    /// differ if their times of an instruction differ by more than a share.
    Phase {
        /// Shadows that are alive on average, at most.
        load: f64,
        /// Time between two signals, in nanoseconds.
        period_ns: f64,
    },
    /// At a signal, if the load allows it and shadows still see edges that earlier shadows have not seen. While they
    /// see none, more and more signals are passed over. Profiles are not weighed anew: stretches with fewer shadows
    /// weigh less.
    Convergence {
        /// Shadows that are alive on average, at most.
        load: f64,
        /// Time between two signals, in nanoseconds.
        period_ns: f64,
    },
    /// Each at the instruction where the shadow before it ended: the whole run is seen. No costs are charged.
    EndToEnd,
}

/// Settings of a run with shadows.
#[derive(Clone, Debug)]
pub struct ShadowOptions {
    /// Instructions of a shadow.
    pub sample: u64,
    /// Rule for the times at which shadows begin.
    pub when: When,
    /// Policy of the shadows' system calls.
    pub policy: Arc<CompiledPolicy>,
    /// Costs of shadows.
    pub costs: Costs,
    /// Tables of values.
    pub tables: TableShape,
    /// True if hot data streams are wanted, too: each shadow's references are a burst.
    pub streams: bool,
}

impl ShadowOptions {
    /// Samples of so many instructions at a load, with the paper's policy, and twenty signals in the life of a shadow.
    #[must_use]
    pub fn at_load(load: f64, sample: u64) -> ShadowOptions {
        let costs = Costs::default();
        let period_ns = (sample as f64 * costs.slowdown / 20.0).max(1000.0);
        ShadowOptions {
            sample,
            when: When::Load { load, period_ns },
            policy: Arc::new(Policy::paper().compiled()),
            costs,
            tables: TableShape::default(),
            streams: false,
        }
    }

    /// Samples of so many instructions, end to end.
    #[must_use]
    pub fn end_to_end(sample: u64) -> ShadowOptions {
        ShadowOptions {
            when: When::EndToEnd,
            ..ShadowOptions::at_load(1.0, sample)
        }
    }
}

/// The perfect profiles of a program: over its whole run; hot data streams if they are asked for.
///
/// # Errors
/// The program cannot be loaded, or does not end as it must.
pub fn perfect<'a>(
    program: &Program,
    graphs: &'a Graphs<'a>,
    (tables, streams): (TableShape, bool),
) -> Result<(Profiles<'a>, Stop), LabError> {
    let mut machine = Machine::new(program.start()?);
    let mut profiles = Profiles::new(graphs, tables).with_streams(streams);
    let stop = machine.run(&mut profiles, u64::MAX);
    program.check_end(stop, &machine.process)?;
    Ok((profiles, stop))
}

/// Profiles a program by shadows.
///
/// # Errors
/// The program cannot be loaded or does not end as it must, or the host refuses memory.
pub fn profiled<'a>(
    program: &Program,
    graphs: &'a Graphs<'a>,
    timeline: &Timeline,
    options: &ShadowOptions,
) -> Result<ShadowOutcome<'a>, LabError> {
    let outcome = profiled_to_any_end(program, graphs, timeline, options)?;
    program.check_end(outcome.stop, &outcome.process)?;
    Ok(outcome)
}

/// Profiles a program by shadows as [`profiled`] does. The program may end in any way.
///
/// # Errors
/// The program cannot be loaded, or the host refuses memory.
pub fn profiled_to_any_end<'a>(
    program: &Program,
    graphs: &'a Graphs<'a>,
    timeline: &Timeline,
    options: &ShadowOptions,
) -> Result<ShadowOutcome<'a>, LabError> {
    Ok(run::Run::new(program.start()?, graphs, timeline, options).run()?)
}
