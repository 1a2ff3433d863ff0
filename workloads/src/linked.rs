//! Compiles the programs that come with the project with Debian's cross compilers, and links their objects in any order.
//!
//! Options are those of `build.sh`, so that the first order gives the code of the committed images. Others differ in
//! nothing but the places of functions and data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clang::{ClangError, at, run};
use crate::suite::find_tool;
use crate::work_folder::WorkFolder;
use crate::{BITMANIP, sources};

/// Why a program cannot be linked again.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// No sources travel with the library.
    #[error(
        "{0} is none of the programs that come with the project, whose sources the lab has: its objects cannot be linked in \
         another order"
    )]
    NoSource(String),
    /// There are compilers for [`ISAS`](crate::ISAS) alone.
    #[error("there is no compiler for {0}")]
    UnknownIsa(String),
    /// A command is missing, cannot be started, or has failed.
    #[error(transparent)]
    Tool(#[from] ClangError),
}

/// A cross compiler.
#[derive(Clone, Debug)]
pub struct CrossCompiler {
    isa: &'static str,
    c: PathBuf,
    cpp: PathBuf,
    version: String,
}

/// The object files of a program, in the order of `build.sh`. They go with it.
#[derive(Debug)]
pub struct CrossObjects {
    folder: WorkFolder,
    files: Vec<String>,
}

impl CrossCompiler {
    /// Looks for the commands.
    ///
    /// # Errors
    /// [`ClangError::MissingTool`] names the package of the first that is not there; [`LinkError::UnknownIsa`].
    pub fn find(isa: &str) -> Result<CrossCompiler, LinkError> {
        let (isa, tools) = match isa {
            "riscv64" => ("riscv64", RISCV64),
            "alpha" => ("alpha", ALPHA),
            _ => return Err(LinkError::UnknownIsa(isa.to_string())),
        };
        let need =
            |(tool, package)| find_tool(tool).ok_or(ClangError::MissingTool { tool, package });
        let [c, cpp] = tools.map(need);
        let (c, cpp) = (c?, cpp?);
        let output = Command::new(&c).arg("--version").output().map_err(at(&c))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().next().unwrap_or_default().to_string();
        Ok(CrossCompiler {
            isa,
            c,
            cpp,
            version,
        })
    }

    /// Version that the compiler states.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a program of the project.
    ///
    /// # Errors
    /// There is no such program, a file cannot be written, or the compiler has failed.
    pub fn compile(&self, program: &str) -> Result<CrossObjects, LinkError> {
        let own =
            sources::of_program(program).ok_or_else(|| LinkError::NoSource(program.to_string()))?;
        let folder = WorkFolder::new("objects").map_err(at(Path::new("a temporary folder")))?;
        for all in [own, sources::runtime()] {
            sources::write(all, folder.path()).map_err(at(folder.path()))?;
        }
        let is_cpp = own.iter().any(|(path, _)| path.ends_with(".cpp"));
        let start = format!("runtime/{}/", self.isa);
        let mut files = Vec::new();
        for (path, _) in sources::runtime().iter().chain(own) {
            let (compiler, language) = match path.rsplit_once('.') {
                Some((_, "S")) if path.starts_with(&start) => (&self.c, sources::C_OPTIONS),
                Some((_, "c")) => (&self.c, sources::C_OPTIONS),
                Some((_, "cpp")) if is_cpp => (&self.cpp, sources::CPP_OPTIONS),
                _ => continue,
            };
            let object = format!("{}.o", path.rsplit('/').next().unwrap_or(path));
            let mut command = Command::new(compiler);
            command.current_dir(folder.path());
            command.args(sources::COMPILER_OPTIONS);
            command
                .args(["-fno-pic", "-g1", "-w"])
                .args(self.machine(program));
            command.args(language);
            if path.ends_with("string.c") {
                command.arg("-fno-tree-loop-distribute-patterns");
            }
            command.args(["-c", path, "-o", &object]);
            run(&mut command, &format!("the compilation of {path}"))?;
            files.push(object);
        }
        files.sort();
        Ok(CrossObjects { folder, files })
    }

    /// Links a program; `order` says which object comes first, second, and so on.
    ///
    /// # Errors
    /// The linker has failed.
    pub fn link(
        &self,
        program: &str,
        objects: &CrossObjects,
        order: &[usize],
    ) -> Result<Vec<u8>, LinkError> {
        let mut command = Command::new(&self.c);
        command.current_dir(objects.folder.path());
        command.args(self.machine(program)).args(LINK);
        command.arg(format!("-Wl,-z,max-page-size={}", self.page_bytes()));
        command.args(["-o", "program"]);
        command.args(order.iter().filter_map(|&at| objects.files.get(at)));
        command.arg("-lgcc");
        run(&mut command, "the link")?;
        let program = objects.folder.path().join("program");
        Ok(fs::read(&program).map_err(at(&program))?)
    }

    /// Options for the machine that a program is compiled for.
    fn machine(&self, program: &str) -> &'static [&'static str] {
        match (self.isa, BITMANIP.contains(&program)) {
            ("alpha", true) => &["-mcpu=ev67", "-mieee"],
            ("alpha", false) => &["-mcpu=ev6", "-mieee"],
            (_, true) => &["-march=rv64gc_zba_zbb_zbs", "-mabi=lp64d"],
            (_, false) => &["-march=rv64gc", "-mabi=lp64d"],
        }
    }

    fn page_bytes(&self) -> u32 {
        if self.isa == "alpha" { 8192 } else { 4096 }
    }
}

impl CrossObjects {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files.len()
    }
}

/// Commands and their Debian packages.
type Tools = [(&'static str, &'static str); 2];
const RISCV64: Tools = [
    ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    ("riscv64-linux-gnu-g++", "g++-riscv64-linux-gnu"),
];
const ALPHA: Tools = [
    ("alpha-linux-gnu-gcc", "gcc-alpha-linux-gnu"),
    ("alpha-linux-gnu-g++", "g++-alpha-linux-gnu"),
];

const LINK: &[&str] = &[
    "-static",
    "-nostdlib",
    "-no-pie",
    "-Wl,--build-id=none",
    "-Wl,--gc-sections",
    "-Wl,-z,noexecstack",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_sources_is_refused() {
        let compiler = CrossCompiler {
            isa: "riscv64",
            c: PathBuf::new(),
            cpp: PathBuf::new(),
            version: String::new(),
        };
        let error = compiler.compile("gcc").expect_err("no sources");
        assert!(error.to_string().starts_with("gcc is none of the programs"));
        assert!(matches!(
            CrossCompiler::find("x86_64"),
            Err(LinkError::UnknownIsa(_))
        ));
    }
}
