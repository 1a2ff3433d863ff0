//! What this machine has for an observer, found out and not guessed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::counters::{Event, PerfEvent, Target};
use crate::error::ShimError;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor.
    pub processor: String,
    /// CPUs that this process may use.
    pub allowed: Vec<usize>,
    /// Allowed CPUs grouped by core: threads of one core are SMT siblings.
    pub cores: Vec<Vec<usize>>,
    /// Whether a hypervisor runs below, as the processor says.
    pub virtualized: bool,
    /// Whether the time stamp counter runs at one rate, always.
    pub stable_clock: bool,
    /// The folder of the performance monitoring unit, if the kernel shows one.
    pub pmu: Option<PathBuf>,
    /// Why hardware events cannot be opened; `None` if they can.
    pub hardware_refused: Option<String>,
    /// Why software events cannot be opened; `None` if they can.
    pub software_refused: Option<String>,
    /// `kernel.perf_event_paranoid`, if there is one.
    pub paranoid: Option<i32>,
}

/// One finding, in words, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What it is, or what is missing and how to get it.
    pub detail: String,
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The value of the first line `key : value` of `/proc/cpuinfo`.
fn cpuinfo(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

fn cores(allowed: &[usize]) -> Vec<Vec<usize>> {
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for &cpu in allowed {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let siblings = word(Path::new(&file))
            .and_then(|text| affinity::parse_list(&text))
            .unwrap_or_else(|| vec![cpu]);
        match cores.iter_mut().find(|core| siblings.contains(&core[0])) {
            Some(core) => core.push(cpu),
            None => cores.push(vec![cpu]),
        }
    }
    cores
}

fn pmu() -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/bus/event_source/devices").ok()?;
    let mut found: Vec<PathBuf> = devices
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == "cpu" || name == "cpu_core" || name.starts_with("armv8_pmu")
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

fn refused(event: &str) -> Option<String> {
    let event: Event = match event.parse() {
        Ok(event) => event,
        Err(error) => return Some(error.to_string()),
    };
    let opened = PerfEvent::open(&event, Target::OwnThread).and_then(|mut e| e.read());
    opened.err().map(|error| error.to_string())
}

impl Machine {
    /// Looks at the machine. Opens and closes two events to see whether they can be had.
    ///
    /// # Errors
    /// [`ShimError::System`] if the kernel does not even say which CPUs may be used.
    pub fn find() -> Result<Self, ShimError> {
        let allowed = affinity::allowed()?;
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo(&info, "flags").unwrap_or_default();
        let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
        let stable_clock = cfg!(target_arch = "aarch64")
            || (has("constant_tsc") && has("nonstop_tsc") && has("rdtscp"));
        let processor = cpuinfo(&info, "model name");
        Ok(Self {
            processor: processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: cores(&allowed),
            allowed,
            virtualized: has("hypervisor") || Path::new("/sys/hypervisor/type").exists(),
            stable_clock,
            pmu: pmu(),
            hardware_refused: refused("cycles:u"),
            software_refused: refused("task-clock:u"),
            paranoid: word(Path::new("/proc/sys/kernel/perf_event_paranoid"))
                .and_then(|text| text.parse().ok()),
        })
    }

    /// Whether some core shows two threads or more that may be used.
    #[must_use]
    pub fn has_smt(&self) -> bool {
        self.cores.iter().any(|core| core.len() > 1)
    }

    /// Everything in plain words: what there is, what is missing and how to get it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        vec![
            self.cpus(),
            self.smt(),
            self.clock(),
            self.hardware(),
            self.software(),
            self.level(),
        ]
    }

    fn cpus(&self) -> Finding {
        let list = affinity::listed(&self.allowed);
        let below = if self.virtualized {
            ", under a hypervisor: times include what it takes away"
        } else {
            ""
        };
        let available = self.allowed.len() > 1;
        let detail = if available {
            format!(
                "{}: CPUs {list} on {} cores{below}; an observer takes one of them",
                self.processor,
                self.cores.len()
            )
        } else {
            format!(
                "only CPU {list} may be used: an observer and a program need one each; allow more \
                 (`taskset`, the container's cpuset)"
            )
        };
        Finding {
            what: "SHIM: CPUs",
            available,
            detail,
        }
    }

    fn smt(&self) -> Finding {
        let available = self.has_smt();
        let detail = if available {
            let pair = self.cores.iter().find(|core| core.len() > 1);
            let pair = affinity::listed(pair.map_or(&[], Vec::as_slice));
            format!("hardware threads share cores (such as {pair}): --placement smt works")
        } else {
            "no hardware threads that share a core can be seen: the observer runs on another core \
             (CMP); SMT may be off in the firmware, or hidden by a hypervisor"
                .to_owned()
        };
        Finding {
            what: "SHIM: SMT",
            available,
            detail,
        }
    }

    fn clock(&self) -> Finding {
        let detail = if self.stable_clock {
            "the time stamp counter runs at one rate, always".to_owned()
        } else {
            "the processor does not say that its time stamp counter runs at one rate: periods in \
             cycles may change with the frequency"
                .to_owned()
        };
        Finding {
            what: "SHIM: clock",
            available: self.stable_clock,
            detail,
        }
    }

    fn hardware(&self) -> Finding {
        let detail = match (&self.hardware_refused, &self.pmu) {
            (None, Some(pmu)) => format!("hardware events can be counted ({})", pmu.display()),
            (None, None) => "hardware events can be counted".to_owned(),
            (Some(why), _) => {
                format!("no hardware events: {why}. Tags, time stamps and soft:N work without")
            }
        };
        Finding {
            what: "SHIM: PMU",
            available: self.hardware_refused.is_none(),
            detail,
        }
    }

    fn software(&self) -> Finding {
        let detail = match &self.software_refused {
            None => "task-clock, page-faults, context-switches, … can be counted".to_owned(),
            Some(why) => format!("no software events of the kernel: {why}"),
        };
        Finding {
            what: "SHIM: perf",
            available: self.software_refused.is_none(),
            detail,
        }
    }

    fn level(&self) -> Finding {
        let (available, detail) = match self.paranoid {
            None => (
                false,
                "no kernel.perf_event_paranoid: the kernel has no perf events".to_owned(),
            ),
            Some(level @ ..=0) => (true, format!("{level}: whole CPUs may be counted")),
            Some(level) => (
                level <= 2,
                format!(
                    "{level}: own programs may be counted{}; whole CPUs, which SMT placement needs \
                     for hardware events, with `sysctl kernel.perf_event_paranoid=0` or CAP_PERFMON",
                    if level >= 2 {
                        " in user space (:u)"
                    } else {
                        ""
                    }
                ),
            ),
        };
        Finding {
            what: "SHIM: paranoid",
            available,
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let machine = Machine::find().unwrap();
        assert!(!machine.allowed.is_empty());
        assert_eq!(
            machine.cores.iter().map(Vec::len).sum::<usize>(),
            machine.allowed.len()
        );
        for finding in machine.findings() {
            assert!(!finding.detail.is_empty(), "{}", finding.what);
        }
    }

    #[test]
    fn what_is_missing_comes_with_its_remedy() {
        let bare = Machine {
            processor: "x".to_owned(),
            allowed: vec![3],
            cores: vec![vec![3]],
            virtualized: true,
            stable_clock: false,
            pmu: None,
            hardware_refused: Some("none".to_owned()),
            software_refused: None,
            paranoid: Some(2),
        };
        let findings = bare.findings();
        let missing: Vec<_> = findings.iter().filter(|f| !f.available).collect();
        assert_eq!(missing.len(), 4, "{missing:?}");
        assert!(findings[0].detail.contains("taskset"));
        assert!(findings[5].detail.contains("CAP_PERFMON"));
    }
}
