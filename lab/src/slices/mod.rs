//! Slices: a timed run in parts side by side, joined into the results of one run.
//!
//! A functional *pass* runs the program once, with its effects and its output, and leaves a checkpoint ahead of each slice.
//! A slice begins from its checkpoint: it runs functionally and warms caches and predictors, then it is timed for its
//! *run-in*, and then it counts, up to where the next slice counts. The run-in of a slice is the end of the slice before:
//! both time the same instructions, so that each joint tells how far the younger one is still off ([`Joints`]).
//!
//! Slices start while the pass goes on. Results of slices are files of the folder: a run that is killed, or that is done in
//! parts on several machines, times only what is missing.

mod account;
mod blocks;
mod choice;
mod folder;
mod joint;
mod pass;
mod regions;
mod slice;

use std::path::PathBuf;

use hps_isa::editor::NoEditor;
use hps_isa::probe::NoProbe;
use hps_pipeline::core::{CoreStats, CpiStack};
use hps_pipeline::memsys::MemoryStats;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::lab::Lab;
use crate::loops::{Attach, TimedLoop};
use crate::mode::Timed;
use crate::ran::{Ran, Timing};
use crate::region::WARM_BY_ALL;
use crate::truth::{Truth, Watch};

pub use blocks::{BlockVector, BlockVectors, DIMENSIONS};
pub use choice::{Choice, Chosen, Method};
pub use joint::{Joint, Joints};
pub use regions::{RegionsError, files_of};

use account::{Account, Watched};

/// The run as a whole.
type Joined = Ran<NoEditor, (), Timing>;

/// Windows of a run-in, whose cycles both slices of a joint tell.
pub const WINDOWS: usize = 4;

/// How a run is cut into slices.
#[derive(Clone, Debug)]
pub struct Slicing {
    /// Instructions of a slice.
    pub length: u64,
    /// Instructions that warm caches and predictors functionally ahead of a run-in. [`WARM_BY_ALL`]: all of them; the pass
    /// warms then, and takes longer, and each checkpoint has the caches and predictors. With fewer, a slice lacks what the
    /// program has used before, and its joint does not know.
    pub warm: u64,
    /// Instructions of a run-in: timed, and not counted.
    pub run_in: u64,
    /// Slices that are timed side by side; 0: one for each processor.
    pub jobs: usize,
    /// Keeps checkpoints and results of slices; `None`: a folder that is removed in the end.
    pub folder: Option<PathBuf>,
    /// The slices that are timed and what they stand for; `None`: all of them.
    pub choice: Option<Choice>,
    /// The part of the slices that is timed, of so many parts: slices in turn. Nothing is joined then.
    pub part: Option<(u64, u64)>,
    /// Is told how far the run has come.
    pub progress: fn(&Progress),
}

impl Slicing {
    /// Whether the choice has a slice.
    fn chooses(&self, slice: u64) -> bool {
        let chosen = |choice: &Choice| choice.chosen.iter().any(|one| one.slice == slice);
        self.choice.as_ref().is_none_or(chosen)
    }

    /// By how much the counts of a slice of so many instructions stand for more: the instructions of the run times its share
    /// of them, for each of its own.
    fn factor(&self, slice: u64, instructions: u64) -> Option<f64> {
        let choice = self.choice.as_ref()?;
        let one = choice.chosen.iter().find(|one| one.slice == slice)?;
        Some(one.weight * choice.instructions as f64 / instructions.max(1) as f64)
    }

    /// Checks that a slice is longer than its run-in.
    ///
    /// # Errors
    /// [`LabError::RunIn`].
    pub fn check(&self) -> Result<(), LabError> {
        let (length, run_in) = (self.length, self.run_in);
        match run_in < length {
            true => Ok(()),
            false => Err(LabError::RunIn { length, run_in }),
        }
    }

    /// Instructions by which a checkpoint lies ahead of its slice.
    fn ahead(&self) -> u64 {
        match self.warm {
            WARM_BY_ALL => self.run_in,
            warm => warm.saturating_add(self.run_in),
        }
    }

    /// Slices of so many instructions, warmed by all, with a fiftieth of them for a run-in, 1,000 to [`DEFAULT_RUN_IN`].
    #[must_use]
    pub fn of_length(length: u64) -> Slicing {
        Slicing {
            length: length.max(1),
            warm: WARM_BY_ALL,
            run_in: (length / 50).clamp(1_000, DEFAULT_RUN_IN),
            jobs: 0,
            folder: None,
            choice: None,
            part: None,
            progress: |_| {},
        }
    }
}

/// Default of [`Slicing::run_in`], for long slices.
pub const DEFAULT_RUN_IN: u64 = 200_000;

/// How far a run in slices has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Instructions that the pass has executed.
    pub passed: u64,
    /// True once the pass is at its end.
    pub has_passed: bool,
    /// Slices that are known so far.
    pub slices: u64,
    /// Slices that are timed.
    pub timed: u64,
}

/// A run in slices: its results, and how far its joints are off.
#[derive(Debug)]
pub struct Sliced<T> {
    /// Joined results; `None` if only a part of the slices was timed.
    pub joined: Option<T>,
    /// The joints, and the error that they make likely.
    pub joints: Joints,
    /// Half of the 95% interval of the cycles for choosing slices, in parts of them; `None` if all were timed, or nothing is
    /// known of it.
    pub sampling: Option<f64>,
    /// Cycles of the run.
    pub cycles: u64,
    /// Slices that this command has timed; results of the others were there.
    pub timed: u64,
}

impl<T> Sliced<T> {
    /// The run with other joined results.
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Sliced<U> {
        Sliced {
            joined: self.joined.map(change),
            joints: self.joints,
            sampling: self.sampling,
            cycles: self.cycles,
            timed: self.timed,
        }
    }
}

/// Counts of a slice, or the sum over slices.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Counts {
    core: CoreStats,
    /// Commit slots by cause, with signs: the slots of a cycle that two slices share are counted in one and taken away in the
    /// other.
    slots: Vec<i64>,
    memory: MemoryStats,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.core.add(&other.core);
        self.memory.add(&other.memory);
        self.slots
            .resize(self.slots.len().max(other.slots.len()), 0);
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            *mine += theirs;
        }
    }

    fn scale(&mut self, factor: f64) {
        self.core = self.core.scaled(factor);
        self.memory = self.memory.scaled(factor);
        for slots in &mut self.slots {
            *slots = (*slots as f64 * factor).round() as i64;
        }
    }

    fn timing(&self) -> Timing {
        let mut cpi = CpiStack::default();
        for (slots, &count) in cpi.slots.iter_mut().zip(&self.slots) {
            *slots = count.max(0) as u64;
        }
        Timing {
            core: self.core,
            cpi,
            memory: self.memory,
            contexts: Vec::new(),
            contended: Vec::new(),
        }
    }
}

impl<'a> Lab<'a, Timed<'a>, NoEditor, NoProbe> {
    /// Runs as [`run`](Self::run) does, in slices. Output and end are those of the functional pass.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run); the machine has several contexts; [`LabError::Checkpoint`].
    pub fn sliced(self, slicing: &Slicing) -> Result<Sliced<Joined>, LabError> {
        let (sliced, ()) = self.in_slices(slicing, &())?;
        Ok(sliced)
    }

    /// Runs as [`watched`](Self::watched) does, in slices. `watch` is asked for each slice, by its number: without calling
    /// contexts and time series, which slices do not keep.
    ///
    /// # Errors
    /// The errors of [`sliced`](Self::sliced).
    pub fn sliced_watched(
        self,
        slicing: &Slicing,
        watch: &(dyn Fn(u64) -> Watch + Sync),
    ) -> Result<Sliced<Truth<NoEditor>>, LabError> {
        let machine = self.machine().clone();
        let account = Watched::new(&machine, &self.program.image, watch);
        let (sliced, found) = self.in_slices(slicing, &account)?;
        Ok(sliced.map(|ran| account.truth(ran, found)))
    }

    /// Runs in slices, and joins what an account finds in each.
    fn in_slices<A: Account>(
        mut self,
        slicing: &Slicing,
        account: &A,
    ) -> Result<(Sliced<Joined>, A::Found), LabError>
    where
        NoEditor: TimedLoop<<A::Probe as Attach>::Loops>,
    {
        if self.machine().chip.has_peers() {
            return Err(LabError::NotSliced {
                machine: self.machine().name.clone(),
            });
        }
        crate::machine::check_core(self.machine(), self.core_kind())?;
        slicing.check()?;
        let folder = folder::Folder::open(slicing, &self, &account.describe())?;
        // Whoever reads the results asks the process of the pass for the names of its code.
        let _ = self.record_code();
        let subject = slice::Subject::of(&self, slicing);
        let done = pass::run(self, (slicing, &folder), &subject, account)?;
        let joints = Joints::of(&done.results, slicing.run_in);
        let mut counts = Counts::default();
        let mut found = A::Found::default();
        let cpis = done
            .results
            .iter()
            .map(|result| result.cycles() as f64 / result.instructions().max(1) as f64);
        let cpis: Vec<f64> = cpis.collect();
        for mut result in done.results {
            if let Some(factor) = slicing.factor(result.slice, result.instructions()) {
                result.counts.scale(factor);
                A::scale(&mut result.found, factor);
            }
            counts.add(&result.counts);
            A::join(&mut found, result.found);
        }
        // The sampling error of the cycles an instruction, in parts of them.
        let sampling = slicing.choice.as_ref().and_then(|choice| {
            let mean = counts.core.cycles as f64 / choice.instructions.max(1) as f64;
            Some(choice.half_width(&cpis)? / mean)
        });
        let joined = slicing
            .part
            .is_none()
            .then(|| done.pass.timed(counts.timing()));
        let sliced = Sliced {
            joined,
            joints,
            sampling,
            cycles: counts.core.cycles,
            timed: done.timed,
        };
        Ok((sliced, found))
    }
}
