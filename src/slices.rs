//! Runs in slices: what the options ask for, how far the run has come, and how far the joints are off.

use std::sync::{LazyLock, Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use hps_lab::slices::{BlockVectors, Choice, Joints, Method, Progress, Sliced, Slicing, files_of};
use hps_lab::{Program, WARM_BY_ALL};
use indicatif::ProgressBar;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Choose, SliceArgs};
use crate::progress;
use crate::text::grouped;

/// How the run of a program of at most `limit` instructions is cut. `None`: it is not. `lacking` names the first option that
/// was given and does not go with slices.
pub fn slicing(
    args: &SliceArgs,
    lacking: Option<&str>,
    program: &Program,
    limit: u64,
) -> anyhow::Result<Option<Slicing>> {
    if let Some(option) = args.stray() {
        bail!("{option} goes with --slices or --slice-length");
    }
    if !args.is_sliced() {
        return Ok(None);
    }
    if let Some(option) = lacking {
        bail!("{option} does not go with slices");
    }
    let length = match (args.slice_length, args.slices) {
        (Some(length), _) => length,
        (None, Some(slices)) => {
            let all = match limit {
                u64::MAX => program.length()?,
                limit => limit,
            };
            all.div_ceil(slices).max(1)
        }
        (None, None) => return Ok(None),
    };
    if let Some(path) = args.slices_in.as_deref().filter(|path| path.is_file()) {
        bail!(
            "--slices-in {}: this is a file; name a folder",
            path.display()
        );
    }
    let default = Slicing::of_length(length);
    let slicing = Slicing {
        warm: args.slice_warm.unwrap_or(WARM_BY_ALL),
        run_in: args.slice_run_in.unwrap_or(default.run_in),
        jobs: args.jobs.unwrap_or(0),
        folder: args.slices_in.clone(),
        part: args
            .slice_part
            .map(|part| (part.number as u64, part.of as u64)),
        progress: tell,
        ..default
    };
    slicing.check()?;
    Ok(Some(Slicing {
        choice: choice(args, program, length, limit)?,
        ..slicing
    }))
}

/// The slices that are timed, if not all are.
fn choice(
    args: &SliceArgs,
    program: &Program,
    length: u64,
    limit: u64,
) -> anyhow::Result<Option<Choice>> {
    let method = args.choose.map(|choose| match choose {
        Choose::Simpoint => Method::Simpoint,
        Choose::Systematic => Method::Systematic,
        Choose::Stratified => Method::Stratified,
    });
    if method.is_none() && args.regions.is_none() {
        return Ok(None);
    }
    if let Some(prefix) = &args.regions_out {
        for path in files_of(prefix) {
            ensure!(
                !path.exists(),
                "{} exists: remove it, or choose another name for --regions-out",
                path.display()
            );
        }
    }
    let vectors = BlockVectors::of(program, length, limit)?;
    let (slices, instructions) = (vectors.vectors.len() as u64, vectors.all_instructions());
    let choice = match (method, &args.regions) {
        (Some(method), _) => Choice::new(method, &vectors, args.choose_most as usize),
        (None, Some(prefix)) => Choice::read(prefix, slices, instructions)
            .context("--regions PREFIX reads PREFIX.simpoints and PREFIX.weights")?,
        (None, None) => return Ok(None),
    };
    if let Some(prefix) = &args.regions_out {
        choice.write(prefix)?;
    }
    Ok(Some(choice))
}

/// The bar of the run.
static BAR: LazyLock<Mutex<Option<ProgressBar>>> = LazyLock::new(Mutex::default);

/// Shows how far a run has come.
fn tell(progress: &Progress) {
    let mut bar = BAR.lock().unwrap_or_else(PoisonError::into_inner);
    let bar = bar.get_or_insert_with(|| progress::bar(0, "slices"));
    bar.set_length(progress.slices);
    bar.set_position(progress.timed);
    bar.set_message(match progress.has_passed {
        true => String::new(),
        false => format!(
            "{} million instructions passed",
            progress.passed / 1_000_000
        ),
    });
}

/// Takes the bar away.
pub fn end_progress() {
    if let Some(bar) = BAR.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// A run in slices, as documents say it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SlicesDocument {
    /// Instructions of a slice.
    pub slice_instructions: u64,
    /// Instructions of functional warming in front of a run-in; null: all.
    pub warm_instructions: Option<u64>,
    /// Instructions of a run-in.
    pub run_in_instructions: u64,
    /// Slices that were joined.
    pub slices: u64,
    /// Slices among them whose results an earlier command had left.
    pub found_slices: u64,
    /// The slices that stand for the run, if not all were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Half of the 95% interval of the cycles for choosing slices, in parts of them; null if nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_half_width: Option<f64>,
    /// The error that the joints make likely, in parts of the cycles: above 0, the joined run has too many.
    pub expected_error: f64,
    /// Half of the 95% interval around it.
    pub half_width: f64,
    /// Error of each joint in its run-in, in parts of the cycles there.
    pub run_in_errors: Vec<f64>,
    /// Cycles of the run without slices, if it was timed, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub straight_cycles: Option<u64>,
    /// The joined cycles less these, in parts of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The share of time that the joined exact profile and that of the run without slices give to the same instructions, if
    /// both are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<f64>,
}

impl SlicesDocument {
    /// The document of a run; `straight` are the cycles of the run without slices.
    pub fn new<T>(slicing: &Slicing, sliced: &Sliced<T>, straight: Option<u64>) -> Self {
        let Joints {
            all,
            slices,
            error,
            half_width,
            ..
        } = &sliced.joints;
        SlicesDocument {
            slice_instructions: slicing.length,
            warm_instructions: (slicing.warm != WARM_BY_ALL).then_some(slicing.warm),
            run_in_instructions: slicing.run_in,
            slices: *slices,
            found_slices: slices - sliced.timed,
            choice: slicing.choice.clone(),
            sampling_half_width: sliced.sampling,
            expected_error: *error,
            half_width: *half_width,
            run_in_errors: all.iter().map(|joint| joint.run_in_error()).collect(),
            straight_cycles: straight,
            difference: straight
                .map(|straight| (sliced.cycles as f64 - straight as f64) / straight.max(1) as f64),
            overlap: None,
        }
    }

    /// The document as a sentence.
    pub fn sentence(&self) -> String {
        if let Some(choice) = &self.choice {
            return self.sentence_of(choice);
        }
        let text = format!(
            "{} of {} instructions; by what both sides of the joints time, the cycles are {} ± {:.3}% off",
            plural(self.slices, "slice"),
            grouped(self.slice_instructions),
            percent(self.expected_error),
            100.0 * self.half_width,
        );
        text + &self.compared()
    }

    /// The document of a run of which some slices were timed, as a sentence.
    fn sentence_of(&self, choice: &Choice) -> String {
        let known = match (self.sampling_half_width, choice.method) {
            (Some(width), _) => format!("the cycles are within ± {:.2}%", 100.0 * width),
            (None, Some(Method::Simpoint)) => "SimPoint tells no interval".to_string(),
            (None, _) => "no interval is known".to_string(),
        };
        let text = format!(
            "{} of {} of {} instructions, which stand for the others; {known}",
            grouped(self.slices),
            plural(choice.slices, "slice"),
            grouped(self.slice_instructions),
        );
        text + &self.compared()
    }

    /// The comparison with the run without slices, if there is one.
    fn compared(&self) -> String {
        let mut text = String::new();
        if let (Some(straight), Some(difference)) = (self.straight_cycles, self.difference) {
            text += &format!(
                "; without slices there are {} cycles, from which the joined ones differ by {}",
                grouped(straight),
                percent(difference)
            );
        }
        if let Some(overlap) = self.overlap {
            text += &format!("; the profiles overlap by {:.3}%", 100.0 * overlap);
        }
        text
    }
}

/// Says what a part of the slices has left.
pub fn say_part<T>(slicing: &Slicing, sliced: &Sliced<T>) {
    let (part, of) = slicing.part.unwrap_or((1, 1));
    let folder = slicing
        .folder
        .as_deref()
        .unwrap_or(std::path::Path::new("."));
    say!(
        "hps: part {part} of {of}: {} timed, {} in {}; the command without --slice-part joins all",
        plural(sliced.timed, "slice"),
        plural(sliced.joints.slices, "result"),
        folder.display()
    );
}

fn percent(share: f64) -> String {
    format!("{:+.3}%", 100.0 * share)
}

fn plural(count: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        grouped(count),
        if count == 1 { "" } else { "s" }
    )
}
