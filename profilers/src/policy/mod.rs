//! Sampling policies: which instruction a profiler blames when its sample is due.
//!
//! A policy is one file. It sees the beat that holds the cycle of its sample, and later beats if it asks to wait
//! for them, and credits the sample. It never changes the run.

pub(crate) mod dispatch;
pub(crate) mod interrupt;
pub(crate) mod lbr;
pub(crate) mod lci;
pub(crate) mod nci;
pub(crate) mod pebs;
pub(crate) mod software;
pub(crate) mod spe;
pub(crate) mod timed_pebs;
pub(crate) mod tip;

use hps_isa::state::SaveState;
use hps_pipeline::core::Stretch;

pub use dispatch::{DispatchTag, RowTag};
pub use interrupt::Interrupt;
pub use lbr::{BranchRecords, Lbr};
pub use lci::{CommittedBefore, LastCommitted};
pub use nci::{NextCommitting, NextGroup};
pub use pebs::Pebs;
pub use software::Software;
pub use spe::OperationTag;
pub use timed_pebs::TimedPebs;
pub use tip::{Tea, Tip};

use crate::beat::Beat;
use crate::sampler::Credits;

/// The cycle in which a sample is due.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The beat that holds it.
    pub beat: &'a Beat<'a>,
    /// The cycle.
    pub cycle: u64,
    /// The cycle in which the period ended: `cycle`, or of periods of commits the one before.
    pub overflow_cycle: u64,
    /// The stretch that holds it; none if the group of the beat commits in it.
    pub stretch: Option<&'a Stretch>,
}

impl<'a> Moment<'a> {
    /// A cycle of a beat, and that in which the period ended.
    #[must_use]
    pub fn new(beat: &'a Beat<'a>, cycle: u64, overflow_cycle: u64) -> Self {
        Moment {
            beat,
            cycle,
            overflow_cycle,
            stretch: beat.stretch_at(cycle),
        }
    }
}

/// A policy in the state of another one: for a further hardware context, which has hardware of its own.
pub trait Again {
    /// Makes the same policy once more.
    fn again(&self) -> Box<dyn Policy>;
}

impl<P: Policy + Clone + 'static> Again for P {
    fn again(&self) -> Box<dyn Policy> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Policy> {
    fn clone(&self) -> Self {
        (**self).again()
    }
}

/// Which instruction a profiler blames. It knows of one hardware context.
pub trait Policy: Again + SaveState + Send {
    /// The name under which it is registered.
    fn name(&self) -> &'static str;

    /// Takes a sample. `true` if the policy waits: [`Policy::resume`] is then called with this beat and later ones.
    fn sample(&mut self, moment: &Moment<'_>, credits: &mut Credits) -> bool;

    /// Sees the beat of its sample, after all samples in it, or a later beat. `true` if the policy waits on.
    fn resume(&mut self, beat: &Beat<'_>, credits: &mut Credits) -> bool {
        let _ = (beat, credits);
        false
    }

    /// Whether it follows one sample at a time: what is due while one is under way is not taken.
    fn has_one_tag(&self) -> bool {
        false
    }

    /// Whether it tells the events of what it blames, so that its profile is one of event stacks.
    fn tells_events(&self) -> bool {
        false
    }

    /// Whether it wants to see every beat.
    fn watches(&self) -> bool {
        false
    }

    /// Any beat, before a sample in it is taken.
    fn watch(&mut self, beat: &Beat<'_>) {
        let _ = beat;
    }

    /// The run is over: samples that it waits for are lost.
    fn finish(&mut self, credits: &mut Credits) {
        let _ = credits;
    }

    /// The branch records that it has kept, if it keeps any.
    fn branches(&self) -> Option<&BranchRecords> {
        None
    }
}
