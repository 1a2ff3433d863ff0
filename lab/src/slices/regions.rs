//! Files of chosen slices, in the format of SimPoint: `PREFIX.simpoints` has a line for each chosen slice with its number and
//! its cluster, and `PREFIX.weights` a line with its weight and its cluster.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::choice::{Choice, Chosen};

/// Why files of chosen slices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegionsError {
    /// A file of the host.
    #[error("{}: {cause}", path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// The host's error.
        cause: std::io::Error,
    },
    /// A line that cannot be read.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The mistake in it.
        problem: String,
    },
}

fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// The two files of a prefix.
#[must_use]
pub fn files_of(prefix: &Path) -> [PathBuf; 2] {
    [
        with_ending(prefix, ".simpoints"),
        with_ending(prefix, ".weights"),
    ]
}

impl Choice {
    /// Writes both files.
    ///
    /// # Errors
    /// [`RegionsError::Host`].
    pub fn write(&self, prefix: &Path) -> Result<(), RegionsError> {
        let (mut slices, mut weights) = (String::new(), String::new());
        for (label, one) in self.chosen.iter().enumerate() {
            // Writing into a String cannot fail.
            let _ = writeln!(slices, "{} {label}", one.slice);
            let _ = writeln!(weights, "{} {label}", one.weight);
        }
        for (path, text) in files_of(prefix).into_iter().zip([slices, weights]) {
            std::fs::write(&path, text).map_err(|cause| RegionsError::Host { path, cause })?;
        }
        Ok(())
    }

    /// Reads both files: slices of a run of so many slices and instructions.
    ///
    /// # Errors
    /// [`RegionsError`]; a slice behind the end of the run, or two of one label, is one of a line.
    pub fn read(prefix: &Path, slices: u64, instructions: u64) -> Result<Choice, RegionsError> {
        let [of_slices, of_weights] = files_of(prefix);
        let numbers: Vec<(usize, u64, u64)> = lines(&of_slices)?;
        let weights: Vec<(usize, f64, u64)> = lines(&of_weights)?;
        let mut chosen = Vec::new();
        for (line, slice, label) in numbers {
            let wrong = |problem: String| RegionsError::Line {
                path: of_slices.clone(),
                line,
                problem,
            };
            if slice >= slices {
                return Err(wrong(format!(
                    "slice {slice} lies behind the end of the run, which has {slices}: the file is of another run or of other \
                     slices"
                )));
            }
            let mut found = weights.iter().filter(|(_, _, of)| *of == label);
            let (Some(&(_, weight, _)), None) = (found.next(), found.next()) else {
                let file = of_weights.display();
                return Err(wrong(format!(
                    "{file} has not one weight for label {label}"
                )));
            };
            if !(weight > 0.0 && weight <= 1.0) {
                return Err(wrong(format!(
                    "the weight {weight} of label {label} is no share"
                )));
            }
            chosen.push(Chosen {
                slice,
                weight,
                cluster: label,
            });
        }
        chosen.sort_unstable_by_key(|one| one.slice);
        let sum: f64 = chosen.iter().map(|one| one.weight).sum();
        if chosen.is_empty() || chosen.windows(2).any(|two| two[0].slice == two[1].slice) {
            return Err(RegionsError::Line {
                path: of_slices,
                line: 1,
                problem: "the file names no slice, or one twice".to_owned(),
            });
        }
        for one in &mut chosen {
            // Files of other tools leave out rare clusters.
            one.weight /= sum;
        }
        Ok(Choice {
            method: None,
            chosen,
            slices,
            instructions,
        })
    }
}

/// Lines of two numbers, with their places.
fn lines<A: std::str::FromStr>(path: &Path) -> Result<Vec<(usize, A, u64)>, RegionsError> {
    let text = std::fs::read_to_string(path).map_err(|cause| RegionsError::Host {
        path: path.to_owned(),
        cause,
    })?;
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let mut words = line.split_whitespace();
            let numbers = || Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?));
            let parsed = { numbers }();
            parsed
                .map(|(first, second)| (number, first, second))
                .ok_or_else(|| RegionsError::Line {
                    path: path.to_owned(),
                    line: number,
                    problem: "write a number and a label".to_owned(),
                })
        })
        .collect()
}
