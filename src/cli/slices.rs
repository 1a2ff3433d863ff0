//! Options of runs in slices.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hps_experiments::cluster::Part;

/// A run in slices that are timed side by side.
#[derive(Clone, Debug, Default, Args)]
pub struct SliceArgs {
    /// Cut the timed run into this many slices, and join what they find. The run is as long as --max-instructions says, or a
    /// functional run finds that first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub slices: Option<u64>,
    /// Cut the timed run into slices of this many instructions, which start while a functional run goes on
    #[arg(long, value_name = "N", conflicts_with = "slices", value_parser = clap::value_parser!(u64).range(1..))]
    pub slice_length: Option<u64>,
    /// Instructions in front of a slice that warm its caches and predictors functionally [default: all, so that the functional
    /// run warms and takes longer]. With fewer, what the program has used before is missing
    #[arg(long, value_name = "N")]
    pub slice_warm: Option<u64>,
    /// Instructions that are timed in front of a slice and not counted [default: 1/50 of a slice, at most 200,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub slice_run_in: Option<u64>,
    /// Time only some slices, which stand for the others
    #[arg(long, value_enum, value_name = "METHOD")]
    pub choose: Option<Choose>,
    /// Slices that are chosen at most
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub choose_most: u64,
    /// Write the chosen slices and their weights as SimPoint does: PREFIX.simpoints, PREFIX.weights
    #[arg(long, value_name = "PREFIX", requires = "choose")]
    pub regions_out: Option<PathBuf>,
    /// Time the slices of such files
    #[arg(long, value_name = "PREFIX", conflicts_with = "choose")]
    pub regions: Option<PathBuf>,
    /// Keep checkpoints and results of slices in this folder: the same command times only what is missing there
    #[arg(long, value_name = "DIR")]
    pub slices_in: Option<PathBuf>,
    /// Time only part I of N of the slices, and leave the results in --slices-in: the command without this option joins them
    #[arg(long, value_name = "I/N", requires = "slices_in")]
    pub slice_part: Option<Part>,
    /// Time the run without slices, too, and tell by how much the joined one differs
    #[arg(long, conflicts_with = "slice_part")]
    pub slices_check: bool,
    /// Threads for slices, or for the units of --sample; 0: one for each processor [default: 0 for slices, 1 for --sample].
    /// Results do not depend on it
    #[arg(long, id = "slice_jobs", value_name = "N")]
    pub jobs: Option<usize>,
}

/// Ways to choose slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// Clusters of slices by the code that they are in (SimPoint), and of each the one in its middle
    Simpoint,
    /// At equal distances; the error has an interval
    Systematic,
    /// Clusters as for SimPoint, and of each some at random; the error has an interval
    Stratified,
}

impl SliceArgs {
    /// Whether the run is cut into slices.
    pub fn is_sliced(&self) -> bool {
        self.slices.is_some() || self.slice_length.is_some()
    }

    /// An option that goes with slices only and was given without them.
    pub fn stray(&self) -> Option<&'static str> {
        let all = [
            (self.slice_warm.is_some(), "--slice-warm"),
            (self.slice_run_in.is_some(), "--slice-run-in"),
            (self.slices_in.is_some(), "--slices-in"),
            (self.slices_check, "--slices-check"),
            (self.choose.is_some(), "--choose"),
            (self.regions.is_some(), "--regions"),
        ];
        super::first_given(&all).filter(|_| !self.is_sliced())
    }
}
