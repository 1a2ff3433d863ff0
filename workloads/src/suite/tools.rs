//! Tools that the host must have: compilers, archivers, package tools.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::SuiteError;
use super::manifest::{Language, SuiteProgram};

/// How programs are compiled for an instruction set.
pub(super) struct Target {
    /// The instruction set, one of [`crate::ISAS`].
    pub isa: &'static str,
    /// The start of the cross tools' names.
    pub triple: &'static str,
    /// Options of every compilation and link.
    pub flags: &'static str,
    /// Debian's packages with the compiler for C.
    c_packages: &'static str,
    /// And for C++.
    cxx_packages: &'static str,
}

static TARGETS: [Target; 2] = [
    Target {
        isa: "riscv64",
        triple: "riscv64-linux-gnu",
        flags: "-O2 -g1 -static",
        c_packages: "Debian's packages gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross",
        cxx_packages: "Debian's package g++-riscv64-linux-gnu",
    },
    Target {
        isa: "alpha",
        triple: "alpha-linux-gnu",
        // Linker relaxation would leave a static program without its thread-local data.
        flags: "-O2 -g1 -static -mcpu=ev6 -mieee -Wl,--no-relax",
        c_packages: "Debian's packages gcc-alpha-linux-gnu and libc6.1-dev-alpha-cross",
        cxx_packages: "Debian's package g++-alpha-linux-gnu",
    },
];

impl Target {
    /// The target of that name.
    pub fn of(isa: &str) -> Result<&'static Target, SuiteError> {
        let found = TARGETS.iter().find(|target| target.isa == isa);
        found.ok_or_else(|| SuiteError::UnknownIsa(isa.to_string()))
    }

    /// The C compiler.
    pub fn cc(&self) -> String {
        format!("{}-gcc", self.triple)
    }

    /// The C++ compiler.
    pub fn cxx(&self) -> String {
        format!("{}-g++", self.triple)
    }

    /// Version that the compiler states. Another version builds anew.
    pub fn compiler_version(&self) -> Result<String, SuiteError> {
        let compiler = need(&self.cc(), self.c_packages)?;
        let output = Command::new(&compiler)
            .arg("--version")
            .output()
            .map_err(SuiteError::at(&compiler))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().next().unwrap_or_default().to_string())
    }

    /// Everything that the build of a program calls.
    pub fn check(&self, program: &SuiteProgram) -> Result<(), SuiteError> {
        need(&self.cc(), self.c_packages)?;
        if program.language == Language::Cxx {
            need(&self.cxx(), self.cxx_packages)?;
        }
        need(&self.qemu(), "Debian's package qemu-user")?;
        for tool in &program.tools {
            need(&tool.command, &format!("Debian's package {}", tool.package))?;
        }
        Ok(())
    }

    /// QEMU's user mode, which runs what is built.
    pub fn qemu(&self) -> String {
        format!("qemu-{}", self.isa)
    }
}

/// The path of a command, or an error that says what to install.
pub(super) fn need(command: &str, packages: &str) -> Result<PathBuf, SuiteError> {
    find_tool(command).ok_or_else(|| SuiteError::MissingTool {
        tool: command.to_string(),
        packages: packages.to_string(),
    })
}

/// A command on the search path.
pub fn find_tool(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(command))
        .find(|file| {
            std::fs::metadata(file)
                .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        })
}
