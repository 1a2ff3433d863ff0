//! Programs: those that come with the project, those of the suite, and files.

use std::path::Path;
use std::sync::Arc;

#[cfg(not(target_family = "wasm"))]
use hps_isa::asm::nearest;
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::os::{Output, Stdin};
use hps_system::process::{DEFAULT_PATH, FirstProgram, Process, ProcessConfig};
#[cfg(not(target_family = "wasm"))]
use hps_workloads::suite::Built;
use hps_workloads::{Size, Workload, sha256_hex};
use serde_json::json;

use crate::end::EndError;
use crate::error::LabError;
use crate::lab::Lab;
use crate::region::Region;
#[cfg(not(target_family = "wasm"))]
use crate::root;

/// The instruction set of a program that comes with the project, if none is asked for.
pub const DEFAULT_ISA: Isa = Isa::Riscv64;

/// A program with its input, and what it must print.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the program in results.
    pub name: String,
    /// The program.
    pub image: Arc<ProgramImage>,
    /// Name of the program's input in results.
    pub input: String,
    /// Configuration of the program's process.
    pub process: ProcessConfig,
    /// Output or exit code that the program must end with. `None`: exit code 0, and any output.
    pub expected: Option<Expected>,
    /// Region of the program that counts; `None`: all of it.
    pub region: Option<Region>,
    /// SHA-256 of all files in the program's root folder, if that folder is the program's own: results are then the
    /// same wherever the folder lies. `None`: the folder is known by its lock file or its path ([`Program::root_hash`]).
    pub root_contents: Option<String>,
    /// Functional runs compile none of the program's code. Results are the same.
    pub is_interpreted: bool,
}

/// Ends that a program must come to for its results to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// End with exit code 0 and print this text on standard output.
    Text(&'static str),
    /// End with exit code 0 and print a text with this SHA-256, hexadecimal in small letters.
    Sha256(String),
    /// End with this exit code; it may print anything.
    ExitCode(i32),
    /// Run this many instructions, and be stopped there.
    Instructions(u64),
}

impl Expected {
    /// Whether the program may print `output`.
    #[must_use]
    pub fn is(&self, output: &[u8]) -> bool {
        match self {
            Expected::Text(text) => output == text.as_bytes(),
            Expected::Sha256(digest) => sha256_hex(output) == *digest,
            Expected::ExitCode(_) | Expected::Instructions(_) => true,
        }
    }
}

impl Program {
    /// The program of a file, or the one of that name that comes with the project. A file wins over a
    /// name only if the name has a path in it. An instruction set chooses between the images of a name
    /// ([`DEFAULT_ISA`] if none is given); of a file it must be the one.
    ///
    /// The program has no arguments but its name, and nothing is known of what it must print.
    ///
    /// # Errors
    /// There is no such program, it has no image for the instruction set, it is for another one, or the
    /// file is no program.
    pub fn find(name: &str, isa: impl Into<Option<Isa>>) -> Result<Program, LabError> {
        let image = find_image(name, isa.into())?;
        Ok(Program::of_image(name, image))
    }

    /// The program of a name in the root folder of a configuration, whose first argument it is: a path as the program sees
    /// it, or a name that is looked for in the folders of its `PATH`. A program that is found by a name gets the `PATH`
    /// that found it. `None` if the root has no such file.
    ///
    /// # Errors
    /// The file is no program that can run, or one for another instruction set.
    pub fn under_root(
        mut process: ProcessConfig,
        isa: impl Into<Option<Isa>>,
    ) -> Result<Option<Program>, LabError> {
        let Some(found) = FirstProgram::find(&process)? else {
            return Ok(None);
        };
        let name = process.args[0].clone();
        let image = of_isa(&name, found.image, isa.into())?;
        if !name.contains('/') && !process.env.iter().any(|(name, _)| name == "PATH") {
            let path = ("PATH".to_string(), DEFAULT_PATH.to_string());
            process.env.push(path);
        }
        process.args = found.args;
        process.file_name = Some(found.file_name);
        Ok(Some(Program::of_image(&name, image).with(process)))
    }

    /// The program with other surroundings, at the addresses that they give it.
    #[must_use]
    pub fn with(self, process: ProcessConfig) -> Program {
        Program {
            image: process.placed(&self.image),
            process,
            ..self
        }
    }

    /// Error for a name that neither a folder of `PATH` under the root of a configuration nor the project has, with the
    /// most similar name of a file there. `None`: the configuration has no root, or the name is a path.
    #[cfg(not(target_family = "wasm"))]
    #[must_use]
    pub fn not_on_path(process: &ProcessConfig) -> Option<LabError> {
        let (root, name) = (process.root.as_ref()?, process.args.first()?);
        if name.contains('/') {
            return None;
        }
        let folders = process.env.iter().find(|(name, _)| name == "PATH");
        let folders = folders.map_or(DEFAULT_PATH, |(_, value)| value);
        let names = root::names(root, folders);
        let near = nearest(name, names.iter().map(String::as_str));
        Some(LabError::NotOnPath {
            name: name.clone(),
            root: root.clone(),
            folders: folders.to_string(),
            near: near.map(str::to_string),
        })
    }

    /// A program of an image that is in memory, without arguments but its name.
    #[must_use]
    pub fn of_image(name: &str, image: Arc<ProgramImage>) -> Program {
        Program {
            name: name.to_string(),
            image,
            input: String::new(),
            process: ProcessConfig {
                args: vec![name.to_string()],
                ..ProcessConfig::default()
            },
            expected: None,
            region: None,
            root_contents: None,
            is_interpreted: false,
        }
    }

    /// A program that comes with the project with an input of a size. Its output is captured, and must be the expected
    /// one if that is known.
    ///
    /// # Errors
    /// The program has no image for the instruction set.
    pub fn workload(workload: &Workload, isa: Isa, size: Size) -> Result<Program, LabError> {
        let args = [workload.name].into_iter().chain(workload.args(size));
        Ok(Program {
            name: workload.name.to_string(),
            image: load_workload(workload, isa)?,
            input: size.arg().to_string(),
            process: ProcessConfig {
                args: args.map(str::to_string).collect(),
                stdout: Output::Capture,
                ..ProcessConfig::default()
            },
            expected: Some(Expected::Text(workload.expected(size))),
            region: None,
            root_contents: None,
            is_interpreted: false,
        })
    }

    /// A program of the suite that is built. It may read its files and change nothing; what it prints
    /// is captured, and must be what the manifest says. `input` names its input in results.
    ///
    /// # Errors
    /// The image or the standard input of the program cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub fn built(built: &Built, input: &str) -> Result<Program, LabError> {
        let stdin = match &built.stdin {
            Some(file) => {
                Stdin::Bytes(std::fs::read(file).map_err(|source| LabError::Unreadable {
                    file: file.clone(),
                    source,
                })?)
            }
            None => Stdin::Empty,
        };
        Ok(Program {
            name: built.name.clone(),
            image: Arc::new(ProgramImage::load(&built.image)?),
            input: input.to_string(),
            process: ProcessConfig {
                args: [vec![built.name.clone()], built.args.clone()].concat(),
                root: Some(built.root.clone()),
                stdin,
                stdout: Output::Capture,
                ..ProcessConfig::default()
            },
            expected: Some(Expected::Sha256(built.expected_stdout_sha256.clone())),
            region: None,
            root_contents: Some(root::contents(&built.root)?),
            is_interpreted: false,
        })
    }

    /// Name and instruction set of the program, for messages.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.image.isa)
    }

    /// SHA-256, in hexadecimal digits, of what names the content of its root folder: its lock file, or all that lies in the
    /// folder of a program of the suite. `None`: the program has no root, or its root has no lock file.
    #[must_use]
    pub fn root_hash(&self) -> Option<String> {
        #[cfg(not(target_family = "wasm"))]
        if self.root_contents.is_none() {
            return root::lock_digest(self.process.root.as_deref()?);
        }
        self.root_contents.clone()
    }

    /// Everything that determines what the program does, for the ids of results.
    #[must_use]
    pub fn determined_by(&self) -> serde_json::Value {
        let process = &self.process;
        let stdin = match &process.stdin {
            Stdin::Bytes(bytes) => Some(sha256_hex(bytes)),
            _ => None,
        };
        let mut all = json!({
            "image": self.image.hash,
            "args": process.args,
            "env": process.env,
            "root": match self.root_hash() {
                Some(hash) => json!(hash),
                None => json!(process.root),
            },
            "stdin": stdin,
            "seed": process.seed,
        });
        if let Some(seed) = process.address_seed {
            all["address_seed"] = json!(seed);
        }
        if let Some(region) = &self.region {
            all["region"] = json!(format!("{region:?}"));
        }
        if let Some(Expected::Instructions(count)) = self.expected {
            all["instructions"] = json!(count);
        }
        all
    }

    /// Instructions after which a run of the program is stopped.
    #[must_use]
    pub fn limit(&self) -> u64 {
        match self.expected {
            Some(Expected::Instructions(count)) => count,
            _ => u64::MAX,
        }
    }

    /// A process where the program begins to count.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load), and that the region is not reached.
    pub fn start(&self) -> Result<Process, LabError> {
        let process = self.load()?;
        match &self.region {
            None => Ok(process),
            Some(region) => region.reach(process, self.is_interpreted),
        }
    }

    /// A process at the beginning of the program.
    ///
    /// # Errors
    /// The program does not fit into memory, or its configuration cannot be used.
    pub fn load(&self) -> Result<Process, LabError> {
        Ok(Process::new(Arc::clone(&self.image), &self.process)?)
    }

    /// The program with the names of all code that its process runs: the image of a dynamic program gets the symbols of
    /// its loader and its libraries, which a functional run of at most so many instructions finds. Each run of the program
    /// has them at the same addresses.
    ///
    /// # Errors
    /// The program does not fit into memory, or its configuration cannot be used.
    pub fn with_objects(mut self, most: u64) -> Result<Program, LabError> {
        if self.image.interpreter.is_none() {
            return Ok(self);
        }
        let mut silent = self.clone();
        silent.process.stdout = Output::Discard;
        silent.process.stderr = Output::Discard;
        let process = Lab::of(&silent).limit(most).run()?.process;
        if let Some(symbols) = process.symbols_of(1) {
            // Where the run has placed the program, unless its process executes another one.
            let image = match process.image.hash == self.image.hash {
                true => &process.image,
                false => &self.image,
            };
            self.image = Arc::new(image.with_symbols(symbols));
        }
        Ok(self)
    }

    /// Checks that the program ended as it must: with exit code 0 and the expected output, or with the expected exit
    /// code.
    ///
    /// # Errors
    /// The way in which the program ended instead, or that it printed something else.
    pub fn check_end(&self, stop: Stop, process: &Process) -> Result<(), EndError> {
        EndError::unless_as_expected(stop, process, self.expected.as_ref())
    }
}

fn find_image(name: &str, isa: Option<Isa>) -> Result<Arc<ProgramImage>, LabError> {
    let is_path = name.contains('/');
    if !is_path && let Some(workload) = hps_workloads::find(name) {
        return load_workload(workload, isa.unwrap_or(DEFAULT_ISA));
    }
    if !is_path && !Path::new(name).exists() {
        let known: Vec<_> = hps_workloads::all().iter().map(|w| w.name).collect();
        return Err(LabError::UnknownProgram {
            name: name.to_string(),
            known: known.join(", "),
        });
    }
    let image = ProgramImage::load(Path::new(name))?;
    of_isa(name, Arc::new(image), isa)
}

/// The image, if it is for the instruction set that was asked for.
fn of_isa(
    name: &str,
    image: Arc<ProgramImage>,
    isa: Option<Isa>,
) -> Result<Arc<ProgramImage>, LabError> {
    match isa {
        Some(wanted) if wanted != image.isa => Err(LabError::WrongIsa {
            name: name.to_string(),
            found: image.isa,
            wanted,
        }),
        _ => Ok(image),
    }
}

fn load_workload(workload: &Workload, isa: Isa) -> Result<Arc<ProgramImage>, LabError> {
    let bytes = image_of(workload, isa)?;
    Ok(Arc::new(ProgramImage::parse(bytes, workload.name)?))
}

/// The bytes of a program that comes with the project.
///
/// # Errors
/// The program has no image for the instruction set.
pub fn image_of(workload: &Workload, isa: Isa) -> Result<&'static [u8], LabError> {
    workload.image(isa.name()).ok_or_else(|| LabError::NoImage {
        name: workload.name.to_string(),
        isa,
    })
}
