//! Compiles the programs that come with the project with clang and a profile, for 64-bit RISC-V.
//!
//! Options are those of `build.sh`, with full debug information for profiling. The programs link with no library, so
//! that clang and LLVM's linker are all that is needed (Debian's packages `clang` and `lld`); no cross compiler and no
//! C library is.
//!
//! Functions lie in sections of their own, which the linker can put into any order: the same objects give executables
//! that differ in nothing but the places of their functions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite::find_tool;
use crate::work_folder::WorkFolder;
use crate::{BITMANIP, sources};

/// Options of every compilation beside [`sources::COMPILER_OPTIONS`]: the target, and debug information for profiles.
const COMMON: &[&str] = &[
    "--target=riscv64-linux-gnu",
    "-mabi=lp64d",
    "-g",
    "-gdwarf-4",
    "-fdebug-info-for-profiling",
    "-w",
    "-fno-pic",
    // The temporary folder would be a part of the executable.
    "-fdebug-compilation-dir=.",
];
const LINK: &[&str] = &[
    "--target=riscv64-linux-gnu",
    "-fuse-ld=lld",
    "-static",
    "-nostdlib",
    "-Wl,--build-id=none",
    "-Wl,-z,noexecstack",
    "-Wl,-z,max-page-size=4096",
];
/// Without a C library, clang mangles C++'s `main`.
const CPP_MAIN: &str = "-Wl,--defsym=main=_Z4mainiPPc";

/// The version of clang whose raw format of counters is known.
const KNOWN_MAJOR: &str = "14";

/// Why a program could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum ClangError {
    /// A command is not there.
    #[error("{tool} is not on the search path; install Debian's package {package}")]
    MissingTool {
        /// The command.
        tool: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// A clang of another version.
    #[error("clang {KNOWN_MAJOR} is needed, whose format of counters is known; found {found}")]
    Version {
        /// Version that the found clang states.
        found: String,
    },
    /// No sources travel with the library.
    #[error("{0} is none of the programs that come with the project")]
    UnknownProgram(String),
    /// A file cannot be read or written, or a command cannot be started.
    #[error("{at}: {source}")]
    Io {
        /// Where.
        at: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A command has failed.
    #[error("{what} failed: {said}")]
    Failed {
        /// Action of the command.
        what: String,
        /// The first line of what it said.
        said: String,
    },
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> ClangError {
    let at = path.to_path_buf();
    |source| ClangError::Io { at, source }
}

/// Use of profiles in a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiled<'a> {
    /// No profile.
    No,
    /// A profile of samples (`-fprofile-sample-use`).
    BySamples(&'a Path),
    /// Code that counts is inserted (`-fprofile-instr-generate`). What describes a function has the address of its
    /// counters where LLVM has the distance to them.
    Instrumented,
    /// Counts of an instrumented run (`-fprofile-instr-use`).
    ByCounters(&'a Path),
}

impl Profiled<'_> {
    fn options(self) -> Vec<String> {
        match self {
            Profiled::No => Vec::new(),
            Profiled::BySamples(file) => vec![format!("-fprofile-sample-use={}", file.display())],
            // Names are compressed by default, and are read from the memory of the run.
            Profiled::Instrumented => [
                "-fprofile-instr-generate",
                "-mllvm",
                "-enable-name-compression=false",
            ]
            .map(str::to_string)
            .into(),
            Profiled::ByCounters(file) => vec![format!("-fprofile-instr-use={}", file.display())],
        }
    }
}

/// clang and LLVM's tools.
#[derive(Clone, Debug)]
pub struct Clang {
    clang: PathBuf,
    profdata: PathBuf,
    version: String,
}

/// The object files of a program. They go with it.
#[derive(Debug)]
pub struct Objects {
    folder: WorkFolder,
    files: Vec<PathBuf>,
    is_cpp: bool,
    instrumented: bool,
}

impl Clang {
    /// Looks for the commands.
    ///
    /// # Errors
    /// [`ClangError::MissingTool`] names the package of the first that is not there; [`ClangError::Version`].
    pub fn find() -> Result<Clang, ClangError> {
        let need = |tool, package| find_tool(tool).ok_or(ClangError::MissingTool { tool, package });
        let clang = need("clang", "clang")?;
        need("ld.lld", "lld")?;
        let profdata = need("llvm-profdata", "llvm")?;
        let output = Command::new(&clang).arg("--version").output();
        let output = output.map_err(at(&clang))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_string();
        if major(&version) != Some(KNOWN_MAJOR) {
            return Err(ClangError::Version { found: version });
        }
        Ok(Clang {
            version,
            clang,
            profdata,
        })
    }

    /// Version that clang states.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a program of the project.
    ///
    /// # Errors
    /// There is no such program, a file cannot be written, or clang has failed.
    pub fn compile(&self, program: &str, profiled: Profiled<'_>) -> Result<Objects, ClangError> {
        let own = sources::of_program(program)
            .ok_or_else(|| ClangError::UnknownProgram(program.to_string()))?;
        let folder = WorkFolder::new("objects").map_err(at(Path::new("a temporary folder")))?;
        for all in [own, sources::runtime()] {
            sources::write(all, folder.path()).map_err(at(folder.path()))?;
        }
        let is_cpp = own.iter().any(|(path, _)| path.ends_with(".cpp"));
        let march = match BITMANIP.contains(&program) {
            true => "-march=rv64gc_zba_zbb_zbs",
            false => "-march=rv64gc",
        };
        let mut files = Vec::new();
        for (path, _) in sources::runtime().iter().chain(own) {
            let language = match path.rsplit_once('.') {
                Some((_, "S")) if path.starts_with("runtime/riscv64/") => sources::C_OPTIONS,
                Some((_, "c")) => sources::C_OPTIONS,
                Some((_, "cpp")) if is_cpp => sources::CPP_OPTIONS,
                _ => continue,
            };
            let clang = |how: &str, from: &str, to: &str| {
                let mut command = Command::new(&self.clang);
                command.current_dir(folder.path());
                command
                    .args(sources::COMPILER_OPTIONS)
                    .args(COMMON)
                    .arg(march);
                command.args(language).args(profiled.options());
                command.args([how, from, "-o", to]);
                run(&mut command, &format!("the compilation of {path}"))
            };
            let object = format!("{}.o", path.replace('/', "-"));
            if profiled == Profiled::Instrumented && !path.ends_with(".S") {
                let assembly = format!("{object}.s");
                clang("-S", path, &assembly)?;
                let file = folder.path().join(&assembly);
                let text = fs::read(&file).map_err(at(&file))?;
                fs::write(&file, absolute_counters(&text)).map_err(at(&file))?;
                clang("-c", &assembly, &object)?;
            } else {
                clang("-c", path, &object)?;
            }
            files.push(PathBuf::from(object));
        }
        Ok(Objects {
            folder,
            files,
            is_cpp,
            instrumented: profiled == Profiled::Instrumented,
        })
    }

    /// Links a program. Its functions come in the order of the sources, or in one that the number determines.
    ///
    /// # Errors
    /// The linker has failed.
    pub fn link(&self, objects: &Objects, order: Option<u32>) -> Result<Vec<u8>, ClangError> {
        let mut command = Command::new(&self.clang);
        command.current_dir(objects.folder.path()).args(LINK);
        // Nothing refers to counters but the code that counts.
        if !objects.instrumented {
            command.arg("-Wl,--gc-sections");
        }
        if objects.is_cpp {
            command.arg(CPP_MAIN);
        }
        if let Some(order) = order {
            command.arg(format!("-Wl,--shuffle-sections=.text*={order}"));
        }
        command.args(["-o", "program"]).args(&objects.files);
        run(&mut command, "the link")?;
        let program = objects.folder.path().join("program");
        fs::read(&program).map_err(at(&program))
    }

    /// Turns counters as an instrumented run has left them into what [`Profiled::ByCounters`] takes.
    ///
    /// # Errors
    /// `llvm-profdata` has failed.
    pub fn index(&self, raw: &Path, indexed: &Path) -> Result<(), ClangError> {
        let mut command = Command::new(&self.profdata);
        command.arg("merge").arg(raw).arg("-o").arg(indexed);
        run(&mut command, "llvm-profdata merge")
    }
}

/// The assembly of an instrumented file with the addresses of counters instead of distances to them: clang 14 writes
/// distances between sections, for which its RISC-V assembler has no relocation.
fn absolute_counters(assembly: &[u8]) -> Vec<u8> {
    const COUNTERS: &[u8] = b"__profc_";
    // Labels of functions that several files may have are no local ones.
    const DISTANCES: [&[u8]; 2] = [b"-.L__profd_", b"-__profd_"];
    let find = |line: &[u8], what: &[u8]| line.windows(what.len()).position(|w| w == what);
    let lines = assembly.split_inclusive(|&byte| byte == b'\n');
    let lines = lines.flat_map(|line| {
        let distance = DISTANCES.iter().find_map(|what| find(line, what));
        match distance {
            Some(at) if line.starts_with(b"\t.quad\t") && find(&line[..at], COUNTERS).is_some() => {
                [&line[..at], b"\n"]
            }
            _ => [line, b""],
        }
    });
    lines.collect::<Vec<_>>().concat()
}

/// The number in front of the first point of a version: `14` of `Debian clang version 14.0.6`.
fn major(version: &str) -> Option<&str> {
    let (_, number) = version.split_once("version ")?;
    number.split('.').next()
}

pub(crate) fn run(command: &mut Command, what: &str) -> Result<(), ClangError> {
    let program = PathBuf::from(command.get_program());
    let output = command.env("LC_ALL", "C").output().map_err(at(&program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let tells = |line: &&str| line.contains("rror");
    let line = said.lines().find(tells).or_else(|| said.lines().next());
    Err(ClangError::Failed {
        what: what.to_string(),
        said: line.unwrap_or("it said nothing").to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_to_counters_become_addresses() {
        let of = |text: &str| String::from_utf8(absolute_counters(text.as_bytes()));
        let local = "\t.quad\t.L__profc_f-.L__profd_f\n\tret\n";
        assert_eq!(of(local).as_deref(), Ok("\t.quad\t.L__profc_f\n\tret\n"));
        // Of an inline function of C++.
        let shared = "\t.quad\t__profc__Z1fv-.L__profd__Z1fv\n";
        assert_eq!(of(shared).as_deref(), Ok("\t.quad\t__profc__Z1fv\n"));
        let other = "\t.quad\t.La-.L__profd_f\n";
        assert_eq!(of(other).as_deref(), Ok(other));
    }

    #[test]
    fn the_major_version_stands_behind_its_word() {
        assert_eq!(major("Debian clang version 14.0.6"), Some("14"));
        assert_eq!(major("clang version 19.1.7 (3+b1)"), Some("19"));
        assert_eq!(major("something else"), None);
    }

    #[test]
    fn an_unknown_program_is_refused() {
        let clang = Clang {
            clang: PathBuf::new(),
            profdata: PathBuf::new(),
            version: String::new(),
        };
        let error = clang.compile("gcc", Profiled::No).expect_err("no sources");
        assert!(matches!(error, ClangError::UnknownProgram(name) if name == "gcc"));
    }
}
