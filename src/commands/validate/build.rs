//! Builds a program of the project twice from the same sources: natively and instrumented, and for
//! RISC-V or Alpha with the same inlining, so that every call of the one is a call of the other.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use hps_lab::work_folder::WorkFolder;
use hps_shim::preload::STAND_IN;
use hps_system::image::{Isa, ProgramImage};
use hps_workloads::sources::{self, C_OPTIONS, COMPILER_OPTIONS, CPP_OPTIONS};
use sha2::{Digest, Sha256};

use crate::host;

/// Names of lines, beside [`COMPILER_OPTIONS`].
const LINES: &str = "-g1";
/// Options that keep calls alike in both builds. They turn off inlining, clones, merged functions and tail calls, and
/// the removal of calls of functions without effect (instrumented functions always have one).
const SAME_CALLS: &[&str] = &[
    "-fno-inline",
    "-fno-partial-inlining",
    "-fno-ipa-cp",
    "-fno-ipa-sra",
    "-fno-ipa-icf",
    "-fno-ipa-pure-const",
    "-fno-ipa-modref",
    "-fno-optimize-sibling-calls",
];

/// Programs built with the bit-manipulation extensions, as in `workloads/build.sh`. Without the extensions the compiler
/// would call functions of its own library.
const BITMANIP: &[&str] = &["bwt", "chess", "netsimplex", "objstore", "minicc"];

/// The runtime ends a process with the bare system call. Natively it ends through the C library, so
/// that the tag library can say that the thread is over.
const NATIVE_END: &str = "\
#include <dlfcn.h>

void __wrap_rt_sys_exit(long code);
void __wrap_rt_sys_exit(long code)
{
    void (*end)(int) = (void (*)(int))dlsym(RTLD_NEXT, \"exit\");
    end((int)code);
}
";

/// A compiler for C, one for C++, and what they are asked for.
struct Target<'a> {
    isa: &'a str,
    cc: &'a str,
    cxx: &'a str,
    compile: &'a [&'a str],
    link: &'a [&'a str],
    libraries: &'a [&'a str],
    /// A source of ours that is linked too, and the flags that it is compiled with.
    beside: Option<(&'a str, &'a [&'a str])>,
}

/// A program for the simulator, as it is and instrumented.
pub struct SimulatedBuild {
    /// Without hooks.
    pub plain: Arc<ProgramImage>,
    /// The file of that.
    pub plain_file: PathBuf,
    /// The program with the hooks of the native form, which write tags into memory.
    pub instrumented: Arc<ProgramImage>,
}

/// The compilers of this host.
pub struct Compilers {
    cc: String,
    cxx: String,
    folder: PathBuf,
}

impl Compilers {
    /// The host's compilers (`CC` and `CXX` name others); what they make is kept in `folder`.
    pub fn new(folder: &Path) -> Self {
        let named = |variable, default: &str| {
            std::env::var(variable).unwrap_or_else(|_| default.to_owned())
        };
        Compilers {
            cc: named("CC", "cc"),
            cxx: named("CXX", "c++"),
            folder: folder.to_path_buf(),
        }
    }

    /// The executable of a program for this host, with hooks at its functions or without.
    pub fn native(&self, name: &str, has_hooks: bool) -> anyhow::Result<PathBuf> {
        ensure!(
            cfg!(target_arch = "x86_64"),
            "the programs that come with the project have a native form for x86-64 only; give a pair \
             of your own with --native and --simulated"
        );
        let mut compile = vec!["-march=x86-64-v2", "-fPIE", "-fvisibility=hidden"];
        if has_hooks {
            compile.push("-finstrument-functions");
        }
        self.build(
            name,
            &Target {
                isa: "x86_64",
                cc: &self.cc,
                cxx: &self.cxx,
                compile: &compile,
                // Dynamic, so that a library can be preloaded; the hooks of the C library, which do
                // nothing, stand in where none is.
                link: &[
                    "-nostdlib",
                    "-pie",
                    "-Wl,--gc-sections",
                    "-Wl,-z,noexecstack",
                    "-Wl,--wrap=rt_sys_exit",
                ],
                libraries: &["-lgcc", "-lc"],
                beside: Some((
                    NATIVE_END,
                    &["-std=gnu11", "-D_GNU_SOURCE", "-fno-instrument-functions"],
                )),
            },
        )
    }

    /// A file with the contents of an executable, which this host can run.
    pub fn kept(&self, name: &str, isa: Isa, contents: &[u8]) -> anyhow::Result<PathBuf> {
        let file = self.folder.join(format!("{name}.{}", isa.name()));
        let said = || {
            format!(
                "{}: cannot be written; choose another folder with --out",
                file.display()
            )
        };
        std::fs::create_dir_all(&self.folder).with_context(said)?;
        std::fs::write(&file, contents).with_context(said)?;
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, may_run).with_context(said)?;
        Ok(file)
    }

    /// The simulated executables with the same inlining, if the host has a cross compiler.
    pub fn simulated(&self, name: &str, isa: Isa) -> anyhow::Result<Option<SimulatedBuild>> {
        let cc = host::cross_compiler_name(isa);
        let cxx = cc.replace("-gcc", "-g++");
        if host::find(&[&cc]).is_none() || host::find(&[&cxx]).is_none() {
            return Ok(None);
        }
        let file = |instrumented| self.simulated_file(name, isa, (&cc, &cxx), instrumented);
        let (plain_file, instrumented) = (file(false)?, file(true)?);
        Ok(Some(SimulatedBuild {
            plain: Arc::new(ProgramImage::load(&plain_file)?),
            plain_file,
            instrumented: Arc::new(ProgramImage::load(&instrumented)?),
        }))
    }

    fn simulated_file(
        &self,
        name: &str,
        isa: Isa,
        (cc, cxx): (&str, &str),
        instrumented: bool,
    ) -> anyhow::Result<PathBuf> {
        // The flags of `workloads/build.sh`.
        let (mut compile, pages) = match (isa, BITMANIP.contains(&name)) {
            (Isa::Riscv64, true) => (vec!["-march=rv64gc_zba_zbb_zbs", "-mabi=lp64d"], "4096"),
            (Isa::Riscv64, false) => (vec!["-march=rv64gc", "-mabi=lp64d"], "4096"),
            (Isa::Alpha, true) => (vec!["-mcpu=ev67", "-mieee"], "8192"),
            (Isa::Alpha, false) => (vec!["-mcpu=ev6", "-mieee"], "8192"),
        };
        let pages = format!("-Wl,-z,max-page-size={pages}");
        compile.push("-fno-pic");
        if instrumented {
            compile.push("-finstrument-functions");
        }
        let hooks: &[&str] = &["-std=gnu11", "-fno-instrument-functions"];
        self.build(
            name,
            &Target {
                isa: isa.name(),
                cc,
                cxx,
                compile: &compile,
                link: &[
                    "-static",
                    "-nostdlib",
                    "-no-pie",
                    "-Wl,--gc-sections",
                    "-Wl,-z,noexecstack",
                    &pages,
                ],
                libraries: &["-lgcc"],
                beside: instrumented.then_some((STAND_IN, hooks)),
            },
        )
    }

    /// Builds a program, unless the same sources were built in the same way before.
    fn build(&self, name: &str, target: &Target<'_>) -> anyhow::Result<PathBuf> {
        let own = sources::of_program(name)
            .with_context(|| format!("{name}: no sources travel with hps"))?;
        let mut hash = Sha256::new();
        for (path, text) in own.iter().chain(sources::runtime()) {
            hash.update(path);
            hash.update(text);
        }
        for part in [
            COMPILER_OPTIONS,
            &[LINES],
            C_OPTIONS,
            CPP_OPTIONS,
            SAME_CALLS,
            target.compile,
            target.link,
        ] {
            hash.update(part.join(" "));
        }
        if let Some((text, flags)) = target.beside {
            hash.update(text);
            hash.update(flags.join(" "));
        }
        hash.update(target.cc);
        let hash: String = hash.finalize()[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let made = self.folder.join(format!("{name}.{}.{hash}", target.isa));
        if made.is_file() {
            return Ok(made);
        }
        let said = |what: &str| format!("{}: {what}", self.folder.display());
        std::fs::create_dir_all(&self.folder)
            .with_context(|| said("the folder cannot be made; choose another with --out"))?;
        let work = WorkFolder::below(&self.folder, "build")
            .with_context(|| said("nothing can be written there; choose another with --out"))?;
        sources::write(sources::runtime(), work.path())?;
        sources::write(own, work.path())?;
        let linked =
            link(&work, own, target).with_context(|| format!("{name} ({})", target.isa))?;
        std::fs::rename(linked, &made)?;
        Ok(made)
    }
}

/// Compiles what stands in the folder, and links it.
fn link(work: &WorkFolder, own: &[(&str, &str)], target: &Target<'_>) -> anyhow::Result<PathBuf> {
    let mut objects = Vec::new();
    let mut compile = |compiler: &str, flags: &[&str], source: &str| {
        let object = format!("{}.o", source.replace('/', "_"));
        let mut command = Command::new(compiler);
        command
            .current_dir(work.path())
            .args(COMPILER_OPTIONS)
            .arg(LINES)
            .args(SAME_CALLS)
            .args(target.compile)
            .args(flags)
            .args(["-c", source, "-o", &object]);
        objects.push(object);
        run(command)
    };
    let is_cpp = own.iter().any(|(path, _)| path.ends_with(".cpp"));
    for (path, _) in sources::runtime().iter().chain(own) {
        if path.ends_with(".cpp") {
            if is_cpp {
                compile(target.cxx, CPP_OPTIONS, path)?;
            }
        } else if path.ends_with("string.c") {
            let flags = [C_OPTIONS, &["-fno-tree-loop-distribute-patterns"]].concat();
            compile(target.cc, &flags, path)?;
        } else if path.ends_with(".c") || path.starts_with(&format!("runtime/{}/", target.isa)) {
            compile(target.cc, C_OPTIONS, path)?;
        }
    }
    if let Some((text, flags)) = target.beside {
        std::fs::write(work.path().join("beside.c"), text)?;
        compile(target.cc, flags, "beside.c")?;
    }
    let mut command = Command::new(target.cc);
    command
        .current_dir(work.path())
        .args(target.link)
        .args(["-o", "program"])
        .args(&objects)
        .args(target.libraries);
    run(command)?;
    Ok(work.path().join("program"))
}

fn run(mut command: Command) -> anyhow::Result<()> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| {
        format!(
            "the compiler `{compiler}` cannot be run; install one (Debian: build-essential) or name \
             others in the environment variables CC and CXX"
        )
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{compiler}` refuses it:\n{said}");
    }
    Ok(())
}
