//! Surroundings of a program, as a user asks for them: files, environment, streams, limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hps_system::os::{EPOCH_SECONDS, Output, Owner, Stdin, ThreadRules};
use hps_system::process::ProcessConfig;

/// The files that a program sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// No files at all.
    #[default]
    None,
    /// The working folder of the host as `/`, read-only; no files if the working folder was removed or is the host's
    /// `/proc`.
    WorkingFolder,
    /// A folder of the host as `/`.
    Under {
        /// The folder.
        root: PathBuf,
        /// The program may change files in it.
        writable: bool,
    },
}

/// Limits of a run of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// The most memory that the program can have mapped, in bytes.
    pub memory_bytes: u64,
    /// The most that the program may write to streams and files together, in bytes.
    pub output_bytes: Option<u64>,
    /// The most by which the program may make files longer, all together, in bytes.
    pub file_bytes: Option<u64>,
    /// The most time of the host that the run may take.
    pub time: Option<Duration>,
    /// The most files that the program may have open.
    pub open_files: u64,
}

impl Default for GuestLimits {
    fn default() -> Self {
        GuestLimits::of(&ProcessConfig::default())
    }
}

impl GuestLimits {
    /// The limits in the configuration of a process.
    #[must_use]
    pub fn of(process: &ProcessConfig) -> Self {
        GuestLimits {
            memory_bytes: process.memory_limit_bytes,
            output_bytes: process.output_limit_bytes,
            file_bytes: process.file_limit_bytes,
            time: process.time_limit,
            open_files: process.open_files_limit,
        }
    }

    /// Puts the limits into the configuration of a process.
    pub fn apply(&self, process: &mut ProcessConfig) {
        process.memory_limit_bytes = self.memory_bytes;
        process.output_limit_bytes = self.output_bytes;
        process.file_limit_bytes = self.file_bytes;
        process.time_limit = self.time;
        process.open_files_limit = self.open_files;
    }
}

/// Surroundings of a program, but for its arguments. The default: no files, no environment, seed 0, empty input,
/// discarded output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestOptions {
    /// The files that the program sees.
    pub files: Files,
    /// The program works on a copy of its root folder, which stays as it is. The copy is in a new folder in this one, and is
    /// removed in the end unless [`Linux::keep_scratch`](hps_system::os::Linux::keep_scratch) keeps it.
    pub scratch: Option<PathBuf>,
    /// The folder that the program starts in, as the program sees it. `None`: the host's working folder
    /// if it lies under the root, else `/`.
    pub cwd: Option<String>,
    /// The environment, as name and value.
    pub env: Vec<(String, String)>,
    /// Seed of all randomness that the program can see.
    pub seed: u64,
    /// Seed by which addresses are drawn. `None`: they are fixed.
    pub address_seed: Option<u64>,
    /// User and group of the program, whose all files are.
    pub owner: Owner,
    /// The date on which the run begins, in seconds since 1970. `None`: a fixed one.
    pub start_seconds: Option<u64>,
    /// Rules by which the program's threads share the processor.
    pub threads: ThreadRules,
    /// Limits of the run.
    pub limits: GuestLimits,
    /// Standard input.
    pub stdin: Stdin,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
}

impl GuestOptions {
    /// The configuration of a process. `args` are its arguments, the program's name first.
    #[must_use]
    pub fn process_config(&self, args: Vec<String>) -> ProcessConfig {
        let (root, writable) = self.root();
        let cwd = self.cwd.clone().or_else(|| folder_below(root.as_ref()?));
        let mut process = ProcessConfig {
            args,
            env: self.env.clone(),
            cwd: cwd.unwrap_or_else(|| "/".to_string()),
            root,
            writable: writable || self.scratch.is_some(),
            scratch: self.scratch.clone(),
            seed: self.seed,
            address_seed: self.address_seed,
            owner: self.owner,
            start_seconds: self.start_seconds.unwrap_or(EPOCH_SECONDS),
            threads: self.threads,
            stdin: self.stdin.clone(),
            stdout: self.stdout,
            stderr: self.stderr,
            ..ProcessConfig::default()
        };
        self.limits.apply(&mut process);
        process
    }

    fn root(&self) -> (Option<PathBuf>, bool) {
        match &self.files {
            Files::None => (None, false),
            Files::Under { root, writable } => (Some(root.clone()), *writable),
            // A folder that was removed cannot be read, and the host's /proc is never shown.
            Files::WorkingFolder => {
                let here = std::env::current_dir().ok();
                let shown = here.filter(|here| here.is_dir() && !here.starts_with("/proc"));
                (shown, false)
            }
        }
    }
}

/// The working folder as a program sees it, if it lies under the program's root.
fn folder_below(root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let here = std::env::current_dir().ok()?;
    let below = here.strip_prefix(&root).ok()?.to_str()?;
    Some(format!("/{below}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_that_of_a_process() {
        assert_eq!(
            GuestOptions::default().process_config(Vec::new()),
            ProcessConfig::default()
        );
    }

    #[test]
    fn a_program_starts_in_the_working_folder_if_it_sees_it() {
        let here = std::env::current_dir().expect("a working folder");
        let start = |files| {
            let options = GuestOptions {
                files,
                ..GuestOptions::default()
            };
            options.process_config(Vec::new()).cwd
        };
        let root = |root: &str| Files::Under {
            root: root.into(),
            writable: false,
        };
        assert_eq!(start(Files::WorkingFolder), "/");
        assert_eq!(start(root("/")), here.to_str().expect("a name in UTF-8"));
        assert_eq!(start(root("/proc")), "/");
    }
}
