//! Findings in each slice, and how they are joined.

use std::sync::Arc;

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_pipeline::config::MachineConfig;
use hps_pipeline::core::CyclesProbe;
use hps_profilers::policy::BranchRecords;
use hps_profilers::{Credits, ExactProfile, JoinedProfile, Oracle, Period, Sampled};
use hps_system::image::ProgramImage;
use hps_system::symbols::CodeLog;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Joined;
use crate::loops::Attach;
use crate::truth::{Truth, Watch, Watching, probe};

/// Watches slices. A probe is attached at the beginning of a run-in: what it has found when the slice begins to count, its
/// *mark*, is taken away from what it has found in the end.
pub(super) trait Account: Sync {
    type Probe: Attach;
    type Mark;
    type Found: Default + Send + Serialize + DeserializeOwned;

    /// Settings that determine what is found.
    fn describe(&self) -> String;

    /// A probe for the slice of this number, whose programs record their code in `log`.
    fn probe(&self, slice: u64, log: &CodeLog) -> Self::Probe;

    /// The mark of a probe.
    fn mark(probe: &<Self::Probe as Attach>::Loops) -> Self::Mark;

    /// Findings of a probe since its mark, at the end.
    fn found(probe: Self::Probe, mark: Self::Mark) -> Self::Found;

    /// Lets what was found stand for so many times as much.
    fn scale(found: &mut Self::Found, factor: f64);

    /// Adds what was found in another slice.
    fn join(found: &mut Self::Found, other: Self::Found);
}

impl Account for () {
    type Probe = NoProbe;
    type Mark = ();
    type Found = ();

    fn describe(&self) -> String {
        String::new()
    }

    fn probe(&self, _: u64, _: &CodeLog) -> NoProbe {
        NoProbe
    }

    fn mark(NoProbe: &NoProbe) {}

    fn found(NoProbe: NoProbe, (): ()) {}

    fn scale((): &mut (), _: f64) {}

    fn join((): &mut (), (): ()) {}
}

/// The oracle and the profilers of a watch.
pub(super) struct Watched<'a> {
    machine: &'a MachineConfig,
    image: Arc<ProgramImage>,
    watch: &'a (dyn Fn(u64) -> Watch + Sync),
}

impl<'a> Watched<'a> {
    pub fn new(
        machine: &'a MachineConfig,
        image: &Arc<ProgramImage>,
        watch: &'a (dyn Fn(u64) -> Watch + Sync),
    ) -> Self {
        Watched {
            machine,
            image: Arc::clone(image),
            watch,
        }
    }

    /// The profilers with their periods.
    fn samplers(&self) -> Vec<(&'static str, Period)> {
        let samplers = (self.watch)(0).samplers;
        samplers
            .iter()
            .map(|(policy, period)| (policy.name(), *period))
            .collect()
    }

    /// The joined results of a run.
    pub fn truth(&self, ran: Joined, found: Found) -> Truth<NoEditor> {
        let samplers = self.samplers().into_iter().zip(found.samples);
        let sampled = samplers.map(|((policy, period), (credits, branches))| Sampled {
            policy,
            period,
            credits,
            branches,
        });
        Truth {
            ran,
            exact: found.exact.finish(),
            timeline: None,
            sampled: sampled.collect(),
        }
    }
}

/// Findings of the oracle and of the profilers.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Found {
    exact: JoinedProfile,
    samples: Vec<(Credits, Option<BranchRecords>)>,
}

impl Account for Watched<'_> {
    type Probe = Watching;
    type Mark = (ExactProfile, Vec<Sampled>);
    type Found = Found;

    fn describe(&self) -> String {
        let watch = (self.watch)(0);
        format!(
            "{:?} {:?} {:?}",
            watch.program,
            watch.charge,
            self.samplers()
        )
    }

    fn probe(&self, slice: u64, log: &CodeLog) -> Watching {
        let watch = Watch {
            contexts: None,
            timeline: false,
            interpreted: false,
            ..(self.watch)(slice)
        };
        probe(self.machine, (&self.image, log), watch)
    }

    fn mark(probe: &CyclesProbe) -> Self::Mark {
        let watching: &Watching = probe.probe();
        let oracle: Oracle = watching.so_far(|(oracle, _)| oracle.clone());
        let (_, (samplers, _)) = watching.observer();
        (oracle.finish(), samplers.so_far())
    }

    fn found(probe: Watching, (exact, sampled): Self::Mark) -> Found {
        let ((oracle, (samplers, _)), _) = probe.finish_reading();
        let samples = samplers.finish().into_iter().zip(sampled);
        let samples = samples.map(|(mut all, before)| {
            all.credits.subtract(&before.credits);
            if let (Some(all), Some(before)) = (&mut all.branches, &before.branches) {
                all.subtract(before);
            }
            (all.credits, all.branches)
        });
        Found {
            exact: JoinedProfile::between(&exact, &oracle.finish()),
            samples: samples.collect(),
        }
    }

    fn scale(found: &mut Found, factor: f64) {
        found.exact.scale(factor);
        for (credits, branches) in &mut found.samples {
            credits.scale(factor);
            if let Some(branches) = branches {
                branches.scale(factor);
            }
        }
    }

    fn join(found: &mut Found, other: Found) {
        found.exact.merge(other.exact);
        if found.samples.is_empty() {
            found.samples = other.samples;
            return;
        }
        for (mine, (credits, branches)) in found.samples.iter_mut().zip(other.samples) {
            mine.0.add(credits);
            if let (Some(mine), Some(branches)) = (&mut mine.1, &branches) {
                mine.add(branches);
            }
        }
    }
}
