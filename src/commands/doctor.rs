//! `hps doctor`: what this host has, and what the lab can do with it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use hps_isa::memory::Memory;
use hps_system::image::Isa;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::groups::JsonArgs;
use crate::document::{Described, Format};
use crate::host;
use crate::text::wrapped;

/// Format of the document.
const FORMAT: Format = Format::new("hps-doctor", 1);

/// The format of the document.
pub fn described() -> Described {
    FORMAT.described::<Host>(&["doctor"])
}

/// What a host has, and what the lab can do with it.
#[derive(Serialize, JsonSchema)]
struct Host {
    /// Version of the lab.
    version: &'static str,
    /// Whether the lab can run here.
    can_run: bool,
    /// Properties of the host.
    findings: Vec<Finding>,
}

/// A property of the host and its state.
#[derive(Serialize, JsonSchema)]
struct Finding {
    /// The property.
    what: &'static str,
    /// State of the property.
    state: State,
    /// What there is, or what is missing and how to get it.
    detail: String,
}

/// State of a property.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The facility is present.
    Ok,
    /// The host has a limitation that the user may know; there is nothing to do.
    Note,
    /// An optional facility is missing.
    Missing,
    /// A facility is missing that the lab cannot work without.
    Failed,
}

/// Runs the command; the result is the exit code: 0 unless the lab cannot work here.
pub fn doctor(json: &JsonArgs) -> anyhow::Result<u8> {
    let mut findings = vec![
        host_system(),
        processors(),
        memory_reserve(),
        overcommit(),
        disk(),
        qemu(Isa::Riscv64),
        cross_compiler(Isa::Riscv64),
        qemu(Isa::Alpha),
        cross_compiler(Isa::Alpha),
        terminal(),
    ];
    findings.extend(Isa::ALL.map(instruction_set));
    findings.extend(native());
    let host = Host {
        version: env!("CARGO_PKG_VERSION"),
        can_run: !findings.iter().any(|f| f.state == State::Failed),
        findings,
    };
    json.print_text(&host.text())?;
    json.write(&FORMAT.of(&host))?;
    Ok(u8::from(!host.can_run))
}

impl Host {
    fn text(&self) -> String {
        let mut out = format!("hps {}\n\n", self.version);
        for finding in &self.findings {
            let state = match finding.state {
                State::Ok => "ok",
                State::Note => "note",
                State::Missing => "missing",
                State::Failed => "FAILED",
            };
            out += &format!(
                "{state:<8} {:<18} {}\n",
                finding.what,
                wrapped(&finding.detail, 76, 28)
            );
        }
        out + match self.can_run {
            true => "\nThe lab can run here.\n",
            false => "\nThe lab cannot run here until what FAILED is repaired.\n",
        }
    }
}

fn host_system() -> Finding {
    let detail = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    let state = if cfg!(target_pointer_width = "64") {
        State::Ok
    } else {
        State::Failed
    };
    Finding {
        what: "host",
        state,
        detail,
    }
}

fn processors() -> Finding {
    let what = "processors";
    match std::thread::available_parallelism() {
        Ok(n) => Finding {
            what,
            state: State::Ok,
            detail: format!("{n}: a sweep uses all of them (--jobs)"),
        },
        Err(e) => Finding {
            what,
            state: State::Note,
            detail: format!("their number is unknown ({e}); give --jobs"),
        },
    }
}

/// The instruction set that guest programs may be built for.
fn instruction_set(isa: Isa) -> Finding {
    let (what, detail) = match isa {
        Isa::Riscv64 => ("RISC-V", hps_isa::riscv::extensions::isa_string()),
        Isa::Alpha => (
            "Alpha",
            "EV6 with byte and word accesses (BWX), square roots and moves (FIX), counts (CIX) and media (MVI); no VAX \
             floating point"
                .to_string(),
        ),
    };
    Finding {
        what,
        state: State::Ok,
        detail,
    }
}

/// Reserves a guest's memory and frees it again.
fn memory_reserve() -> Finding {
    let what = "guest memory";
    match Memory::new(Memory::DEFAULT_LIMIT_BYTES) {
        Ok(_) => {
            let detail = format!(
                "{} GiB of address space can be reserved",
                Memory::WINDOW >> 30
            );
            Finding {
                what,
                state: State::Ok,
                detail,
            }
        }
        Err(error) => Finding {
            what,
            state: State::Failed,
            detail: error.to_string(),
        },
    }
}

fn overcommit() -> Finding {
    let what = "overcommit";
    let Ok(text) = std::fs::read_to_string("/proc/sys/vm/overcommit_memory") else {
        let detail = "the host does not say (no /proc/sys/vm/overcommit_memory)".to_string();
        return Finding {
            what,
            state: State::Note,
            detail,
        };
    };
    match text.trim() {
        mode @ ("0" | "1") => Finding {
            what,
            state: State::Ok,
            detail: format!("vm.overcommit_memory is {mode}"),
        },
        mode => {
            let detail = format!(
                "vm.overcommit_memory is {mode}: the host may refuse the reserve of address space of further guests; \
                 allow it with `sysctl vm.overcommit_memory=0`"
            );
            Finding {
                what,
                state: State::Note,
                detail,
            }
        }
    }
}

/// Finds the free space of the working folder. Results and pictures of a sweep take some MiB.
fn disk() -> Finding {
    const ENOUGH_MIB: u64 = 200;
    let what = "disk space";
    match rustix::fs::statvfs(Path::new(".")) {
        Ok(stat) => {
            let mib = stat.f_bavail.saturating_mul(stat.f_frsize) >> 20;
            if mib >= ENOUGH_MIB {
                return Finding {
                    what,
                    state: State::Ok,
                    detail: format!("{mib} MiB free in the current folder"),
                };
            }
            let detail = format!(
                "{mib} MiB free in the current folder: a sweep may not fit; use --out elsewhere"
            );
            Finding {
                what,
                state: State::Missing,
                detail,
            }
        }
        Err(e) => Finding {
            what,
            state: State::Note,
            detail: format!("the current folder cannot be asked: {e}"),
        },
    }
}

fn tool(what: &'static str, found: Option<PathBuf>, without: String) -> Finding {
    match found {
        Some(path) => {
            let version =
                host::version(&path).unwrap_or_else(|| "its version is unknown".to_string());
            Finding {
                what,
                state: State::Ok,
                detail: format!("{}: {version}", path.display()),
            }
        }
        None => Finding {
            what,
            state: State::Missing,
            detail: without,
        },
    }
}

fn qemu(isa: Isa) -> Finding {
    let name = host::qemu_name(isa);
    let without = format!(
        "no {name}: `hps dev bench --isa {isa}` prints speeds without ratios, tests against QEMU fail. Debian package: \
         qemu-user"
    );
    let what = match isa {
        Isa::Riscv64 => "QEMU",
        Isa::Alpha => "QEMU for Alpha",
    };
    tool(what, host::qemu(isa), without)
}

fn cross_compiler(isa: Isa) -> Finding {
    let (what, package) = match isa {
        Isa::Riscv64 => ("cross compiler", "riscv64"),
        Isa::Alpha => ("Alpha compiler", "alpha"),
    };
    let name = host::cross_compiler_name(isa);
    let without = format!(
        "no {name}: the programs that come with the project run, but cannot be rebuilt, nor own ones built here. \
         Debian packages: gcc-{package}-linux-gnu g++-{package}-linux-gnu"
    );
    tool(what, host::find(&[&name]), without)
}

/// The host's facilities for an observer of `hps shim`.
fn native() -> Vec<Finding> {
    let machine = match hps_shim::machine::Machine::find() {
        Ok(machine) => machine,
        Err(e) => {
            return vec![Finding {
                what: "SHIM",
                state: State::Missing,
                detail: e.to_string(),
            }];
        }
    };
    let found = machine.findings().into_iter();
    let finding = |f: hps_shim::machine::Finding| Finding {
        what: f.what,
        state: if f.available {
            State::Ok
        } else {
            State::Missing
        },
        detail: f.detail,
    };
    found.map(finding).collect()
}

fn terminal() -> Finding {
    let detail = if std::io::stderr().is_terminal() {
        "standard error is a terminal: long work shows a progress bar"
    } else {
        "standard error is no terminal: long work says each ten seconds how far it is"
    };
    Finding {
        what: "terminal",
        state: State::Note,
        detail: detail.to_string(),
    }
}
