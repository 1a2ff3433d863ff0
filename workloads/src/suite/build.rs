//! Builds a program in a folder of its own and moves what came of it into its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::SuiteError;
use super::fetch::Archives;
use super::inputs;
use super::manifest::{Input, Run, SuiteProgram};
use super::store::{self, Built, Record};
use super::tools::Target;
use crate::Size;
use crate::work_folder::WorkFolder;

/// The driver with which a program is linked so that its output cannot depend on the clock.
pub(super) const CLOCK: &str = "clock.c";

/// The functions that it replaces.
const CLOCK_FUNCTIONS: [&str; 8] = [
    "time",
    "clock",
    "times",
    "gettimeofday",
    "clock_gettime",
    "getrusage",
    "nanosleep",
    "usleep",
];

/// Outcome of an order to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The program was built now.
    Fresh,
    /// The program was there already.
    Kept,
}

/// Fetches and builds programs of the suite in one folder. Builds may run side by side.
#[derive(Debug)]
pub struct Builder {
    folder: PathBuf,
    archives: Archives,
}

impl Builder {
    /// A builder in that folder, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or has blanks in its path.
    pub fn new(folder: &Path) -> Result<Builder, SuiteError> {
        fs::create_dir_all(folder).map_err(SuiteError::at(folder))?;
        let folder = fs::canonicalize(folder).map_err(SuiteError::at(folder))?;
        // Compilers' options are words.
        if folder.to_string_lossy().contains(char::is_whitespace) {
            return Err(SuiteError::Blank { folder });
        }
        Ok(Builder {
            archives: Archives::new(folder.join("sources")),
            folder,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sees to it that a program's sources are there, each with its pinned checksum.
    ///
    /// # Errors
    ///
    /// A source cannot be fetched, or is not what was pinned.
    pub fn fetch(&self, program: &SuiteProgram) -> Result<(), SuiteError> {
        let get = |source| self.archives.get(source).map(drop);
        program.sources.iter().try_for_each(get)
    }

    /// Whether a program is there, built from this manifest by this machine's compiler.
    pub fn is_built(&self, program: &SuiteProgram, isa: &str) -> bool {
        let current = || -> Result<bool, SuiteError> {
            let target = Target::of(isa)?;
            let of = store::place(&self.folder, program, isa);
            let record = store::record(&of);
            Ok(of.join(&program.name).is_file()
                && record.is_some_and(|r| r.key == store::key(program, target))
                && store::record(&of).map(|r| r.compiler) == target.compiler_version().ok())
        };
        current().unwrap_or(false)
    }

    /// Builds a program for an instruction set, unless it is there.
    ///
    /// # Errors
    ///
    /// A tool (with its Debian package) or a source is missing, or the build failed: how.
    pub fn build(&self, program: &SuiteProgram, isa: &str) -> Result<Made, SuiteError> {
        let target = Target::of(isa)?;
        if self.is_built(program, isa) {
            return Ok(Made::Kept);
        }
        target.check(program)?;
        self.fetch(program)?;
        let works = self.folder.join("work");
        fs::create_dir_all(&works).map_err(SuiteError::at(&works))?;
        let work = WorkFolder::below(&works, &format!("{}-{isa}", program.name))
            .map_err(SuiteError::at(&works))?;
        for source in &program.sources {
            self.archives.unpack(source, work.path())?;
        }
        let made = work.path().join("made");
        let image = made.join(&program.name);
        write_drivers(program, &work.path().join("drivers"))?;
        fs::create_dir_all(&made).map_err(SuiteError::at(&made))?;
        self.compile(program, target, work.path(), &image)?;
        for size in Size::ALL {
            let root = made.join(size.arg());
            write_files(program, program.run(size), work.path(), &root)?;
        }
        let bytes = fs::read(&image).map_err(SuiteError::at(&image))?;
        let record = Record {
            key: store::key(program, target),
            compiler: target.compiler_version()?,
            image_sha256: super::sha256_hex(&bytes),
        };
        store::write_json(&made.join("record.json"), &record)?;
        self.put_in_place(program, isa, &made)?;
        Ok(Made::Fresh)
    }

    /// A run of a program, if it is built.
    pub fn built(&self, program: &SuiteProgram, isa: &'static str, size: Size) -> Option<Built> {
        store::built_one(&self.folder, program, isa, size)
    }

    fn put_in_place(
        &self,
        program: &SuiteProgram,
        isa: &str,
        made: &Path,
    ) -> Result<(), SuiteError> {
        let to = store::place(&self.folder, program, isa);
        if to.exists() {
            fs::remove_dir_all(&to).map_err(SuiteError::at(&to))?;
        }
        let parent = self.folder.join(isa);
        fs::create_dir_all(&parent).map_err(SuiteError::at(&parent))?;
        fs::rename(made, &to).map_err(SuiteError::at(&to))
    }

    /// Runs the build's lines; what they say goes to a log.
    fn compile(
        &self,
        program: &SuiteProgram,
        target: &Target,
        work: &Path,
        image: &Path,
    ) -> Result<(), SuiteError> {
        let logs = self.folder.join("logs");
        fs::create_dir_all(&logs).map_err(SuiteError::at(&logs))?;
        let log = logs.join(format!("{}-{}.log", program.name, target.isa));
        let file = fs::File::create(&log).map_err(SuiteError::at(&log))?;
        let again = file.try_clone().map_err(SuiteError::at(&log))?;
        // Neither the folder's name nor that of the user shows in the image.
        let flags = format!("{} -ffile-prefix-map={}=.", target.flags, work.display());
        let drivers = work.join("drivers");
        let wraps = CLOCK_FUNCTIONS.map(|name| format!("-Wl,--wrap={name}"));
        // C, also in the midst of a link of C++.
        let clock = drivers.join(CLOCK);
        let clock = format!("{} -x c {} -x none", wraps.join(" "), clock.display());
        let status = Command::new("sh")
            .args(["-eu", "-c", &program.build])
            .current_dir(work)
            .env("CC", target.cc())
            .env("CXX", target.cxx())
            .env("HOST", target.triple)
            .env("ISA", target.isa)
            .env("QEMU", target.qemu())
            .env("CFLAGS", flags)
            .env("CLOCK", clock)
            .env("DRIVERS", drivers)
            .env("OUT", image)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(again)
            .status()
            .map_err(SuiteError::at(Path::new("sh")))?;
        if status.success() && image.is_file() {
            return Ok(());
        }
        let said = fs::read(&log).unwrap_or_default();
        Err(SuiteError::Failed {
            what: format!("the build of {} for {}", program.name, target.isa),
            last_line: telling_line(&String::from_utf8_lossy(&said)),
            log,
        })
    }
}

/// The first line that speaks of an error, or else the last.
fn telling_line(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        ["rror", "undefined reference"]
            .iter()
            .any(|word| line.contains(word))
    };
    let error = lines.clone().find(tells);
    error
        .or_else(|| lines.next_back())
        .unwrap_or("nothing was said")
        .to_string()
}

fn write_drivers(program: &SuiteProgram, folder: &Path) -> Result<(), SuiteError> {
    fs::create_dir_all(folder).map_err(SuiteError::at(folder))?;
    for name in program.drivers.iter().map(String::as_str).chain([CLOCK]) {
        let file = folder.join(name);
        let text = inputs::driver(name).unwrap_or_default();
        fs::write(&file, text).map_err(SuiteError::at(&file))?;
    }
    Ok(())
}

/// Writes the files that a run finds.
fn write_files(
    program: &SuiteProgram,
    run: &Run,
    work: &Path,
    root: &Path,
) -> Result<(), SuiteError> {
    fs::create_dir_all(root).map_err(SuiteError::at(root))?;
    for (name, input) in &run.files {
        let file = root.join(name);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(SuiteError::at(parent))?;
        }
        let bytes = match input {
            Input::Literal(text) => text.clone().into_bytes(),
            Input::Driver(driver) => inputs::driver(driver).unwrap_or_default().into(),
            Input::Copy(from) => {
                copy(&work.join(from), &file)?;
                continue;
            }
            Input::Text { bytes } => inputs::text(*bytes),
            Input::Netlist { cells } => inputs::netlist(&program.name, *cells),
        };
        fs::write(&file, bytes).map_err(SuiteError::at(&file))?;
    }
    Ok(())
}

/// Copies a file or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), SuiteError> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop).map_err(SuiteError::at(from));
    }
    fs::create_dir_all(to).map_err(SuiteError::at(to))?;
    for entry in fs::read_dir(from).map_err(SuiteError::at(from))? {
        let entry = entry.map_err(SuiteError::at(from))?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
