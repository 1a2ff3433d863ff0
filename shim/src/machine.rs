//! Capabilities of this machine for an observer, found out and not guessed.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::affinity;
use crate::counters::pmu::{Host, Leaf10};
use crate::counters::{Event, PerfEvent, Pmu, Reach, Target, USER_ACCESS, Way, paranoid};
use crate::error::ShimError;
use crate::placement::{Placement, Seat};

/// Capabilities that were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The performance monitoring units of cores that the kernel shows: several if there are cores of several kinds.
    pub pmus: Vec<Pmu>,
    /// Why hardware events cannot be opened; `None` if they can.
    pub hardware_refused: Option<String>,
    /// Whether a thread can read its own hardware counters without a system call.
    #[serde(default)]
    pub user_reads: bool,
    /// Why software events cannot be opened; `None` if they can.
    pub software_refused: Option<String>,
    /// `kernel.perf_event_paranoid`, if there is one.
    pub paranoid: Option<i32>,
    /// Whether this process has a capability that lifts it (`CAP_PERFMON`, `CAP_SYS_ADMIN`).
    pub is_capable: bool,
}

/// How often counters are read to say how long that takes.
const READINGS: usize = 1000;

/// One finding, in words, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Capability that was looked for.
    pub what: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// Description, or what is missing and how to get it.
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

/// Cores of Arm's own, by their number (`CPU part` of implementer 0x41).
const ARM_CORES: [(&str, &str); 8] = [
    ("0xd03", "Cortex-A53"),
    ("0xd07", "Cortex-A57"),
    ("0xd08", "Cortex-A72"),
    ("0xd0b", "Cortex-A76"),
    ("0xd0c", "Neoverse-N1"),
    ("0xd40", "Neoverse-V1"),
    ("0xd49", "Neoverse-N2"),
    ("0xd4f", "Neoverse-V2"),
];

/// The processor's name: the kernel's, of an Arm core what its numbers stand for, of a RISC-V core its microarchitecture; or
/// else the instruction set's.
fn processor_name(info: &str) -> String {
    let of_arm = || {
        let (implementer, part) = (
            cpuinfo(info, "CPU implementer")?,
            cpuinfo(info, "CPU part")?,
        );
        let known = ARM_CORES.iter().find(|(number, _)| *number == part);
        Some(match known.filter(|_| implementer == "0x41") {
            Some((_, name)) => format!("Arm {name}"),
            None => format!("implementer {implementer}, part {part}"),
        })
    };
    cpuinfo(info, "model name")
        .or_else(of_arm)
        .or_else(|| cpuinfo(info, "uarch"))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
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

/// Whether effective capabilities, as `/proc/self/status` has them, let a process count everything.
fn is_capable(status: &str) -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    let held = cpuinfo(status, "CapEff").and_then(|held| u64::from_str_radix(&held, 16).ok());
    held.is_some_and(|held| held & (1 << CAP_SYS_ADMIN | 1 << CAP_PERFMON) != 0)
}

/// Whether an event of the own thread is read in user space; or else why it cannot be counted.
fn user_reads(event: &str) -> Result<bool, String> {
    let opened = event.parse::<Event>().and_then(|event| {
        let mut opened = PerfEvent::open(&event, Target::OwnThread)?;
        opened.read()?;
        Ok(opened.user_readable())
    });
    opened.map_err(|error| error.to_string())
}

impl Machine {
    /// Looks at the machine. Opens and closes two events to see whether they can be had.
    ///
    /// # Errors
    /// [`ShimError::System`] if the kernel does not even say which CPUs may be used, [`ShimError::NoStamps`] without a
    /// time stamp counter that can be read in order.
    pub fn find() -> Result<Self, ShimError> {
        let allowed = affinity::allowed()?;
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let flags = cpuinfo(&info, "flags").unwrap_or_default();
        let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
        if !has_stamps(std::env::consts::ARCH, &flags) {
            return Err(ShimError::NoStamps);
        }
        let stable_clock =
            cfg!(not(target_arch = "x86_64")) || (has("constant_tsc") && has("nonstop_tsc"));
        let hardware = user_reads("cycles:u");
        Ok(Self {
            processor: processor_name(&info),
            cores: cores(&allowed),
            allowed,
            virtualized: has("hypervisor") || Path::new("/sys/hypervisor/type").exists(),
            stable_clock,
            pmus: Pmu::all(&Host, Leaf10::of_host()),
            user_reads: hardware.as_ref().is_ok_and(|reads| *reads),
            hardware_refused: hardware.err(),
            software_refused: user_reads("task-clock:u").err(),
            paranoid: paranoid(),
            is_capable: is_capable(&fs::read_to_string("/proc/self/status").unwrap_or_default()),
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
            self.ipc(),
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
        let names: Vec<&str> = self.pmus.iter().map(|pmu| pmu.name.as_str()).collect();
        let detail = match &self.hardware_refused {
            None if names.is_empty() => "hardware events can be counted".to_owned(),
            None => format!("hardware events can be counted ({})", names.join(", ")),
            Some(why) => {
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
        let level = self.paranoid.unwrap_or_default();
        let whole = "whole CPUs, which SMT placement needs for hardware events, with `sysctl \
                     kernel.perf_event_paranoid=0` or CAP_PERFMON";
        let reach = Reach::of(self.paranoid, self.is_capable);
        let detail = match reach {
            Reach::NoPerf => {
                "no kernel.perf_event_paranoid: the kernel has no perf events".to_owned()
            }
            Reach::Cpus if level > 0 => {
                format!(
                    "{level}, which a capability of this process lifts: whole CPUs may be counted"
                )
            }
            Reach::Cpus => format!("{level}: whole CPUs may be counted"),
            Reach::Own => format!("{level}: own programs may be counted; {whole}"),
            Reach::User => {
                format!("{level}: own programs may be counted in user space (:u); {whole}")
            }
            Reach::Nothing => format!(
                "{level}: every event is refused without CAP_PERFMON; own programs may be counted in user space (:u) \
                 with `sysctl kernel.perf_event_paranoid=2`; {whole}"
            ),
        };
        let available = reach >= Reach::User;
        Finding {
            what: "SHIM: paranoid",
            available,
            detail,
        }
    }
}

impl Machine {
    /// Whether the program's instructions per cycle can be sampled without an interrupt of the program.
    fn ipc(&self) -> Finding {
        let pair = self.cores.iter().find(|core| core.len() > 1);
        let core = pair.or(self.cores.first()).map_or(&[][..], Vec::as_slice);
        let placement = Placement {
            seat: if pair.is_some() { Seat::Smt } else { Seat::Cmp },
            observer: core.last().copied().unwrap_or_default(),
            program: core.first().copied().into_iter().collect(),
        };
        let event = Event::instructions();
        let way = |at_tags| Way::of(&event, &self.pmus, &placement, at_tags, false);
        let whole = Reach::of(self.paranoid, self.is_capable) >= Reach::Cpus;
        let (available, detail) = match (&self.hardware_refused, way(false)) {
            (Some(_), _) => (false, "no IPC: there are no hardware events".to_owned()),
            (None, Ok(_)) if whole => (
                true,
                "instructions are read at each sample, without an interrupt (--placement smt --event \
                 instructions,cycles)"
                    .to_owned(),
            ),
            (None, _) if self.user_reads && matches!(way(true), Ok(Way::AtTags(_))) => (
                true,
                "the program's threads read their counters with each tag that they write: two reads of a counter and a \
                 branch a tag (--event instructions:u,cycles:u)"
                    .to_owned(),
            ),
            (None, way) => {
                let why = match way {
                    Ok(_) => "whole CPUs may not be counted".to_owned(),
                    Err(ShimError::Interrupts { why, .. }) => why.to_owned(),
                    Err(error) => error.to_string(),
                };
                let remedy = match std::fs::metadata(USER_ACCESS) {
                    Ok(_) => "`sysctl kernel.perf_user_access=1` lets the program's threads read their own; ",
                    Err(_) => "",
                };
                let detail = format!(
                    "no IPC without interrupts: {why}; {remedy}with --allow-interrupts each sample is an interrupt of the \
                     program"
                );
                (false, detail)
            }
        };
        let cycles = available.then(cycles_of_reading).flatten();
        let every = cycles.map(|n| format!("; two counters are read in {n} cycles here"));
        Finding {
            what: "SHIM: IPC",
            available,
            detail: detail + &every.unwrap_or_default(),
        }
    }
}

/// Cycles in which this thread reads its instructions and its cycles, the median of many times: samples cannot follow each
/// other sooner. `None` where it cannot read them without a system call.
fn cycles_of_reading() -> Option<u64> {
    let own = |name: &str| {
        let event: Event = name.parse().ok()?;
        PerfEvent::open(&event, Target::OwnThread).ok()
    };
    let (mut instructions, mut cycles) = (own("instructions:u")?, own("cycles:u")?);
    if !instructions.user_readable() || !cycles.user_readable() {
        return None;
    }
    let mut at = Vec::new();
    for _ in 0..READINGS {
        instructions.read().ok()?;
        at.push(cycles.read().ok()?);
    }
    let mut apart: Vec<u64> = at.windows(2).map(|two| two[1] - two[0]).collect();
    apart.sort_unstable();
    apart.get(apart.len() / 2).copied()
}

/// Whether time stamps can be read behind what stands in front of them.
fn has_stamps(architecture: &str, flags: &str) -> bool {
    architecture != "x86_64" || flags.split_whitespace().any(|flag| flag == "rdtscp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_by_what_the_kernel_says_of_them() {
        let arm = |implementer, part| {
            format!("processor\t: 0\nCPU implementer\t: {implementer}\nCPU part\t: {part}\n")
        };
        assert_eq!(processor_name("model name\t: Some CPU\n"), "Some CPU");
        assert_eq!(processor_name(&arm("0x41", "0xd07")), "Arm Cortex-A57");
        assert_eq!(
            processor_name(&arm("0x61", "0xd07")),
            "implementer 0x61, part 0xd07"
        );
        assert_eq!(processor_name("uarch\t: sifive,u74-mc\n"), "sifive,u74-mc");
        assert_eq!(processor_name("hart: 0\n"), std::env::consts::ARCH);
    }

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
            pmus: Vec::new(),
            hardware_refused: Some("none".to_owned()),
            user_reads: false,
            software_refused: None,
            paranoid: Some(2),
            is_capable: false,
        };
        let findings = bare.findings();
        let missing: Vec<_> = findings.iter().filter(|f| !f.available).collect();
        assert_eq!(missing.len(), 5, "{missing:?}");
        assert!(findings[0].detail.contains("taskset"));
        assert!(findings[5].detail.contains("CAP_PERFMON"));
    }

    #[test]
    fn a_processor_without_rdtscp_is_refused() {
        assert!(has_stamps("x86_64", "fpu tsc rdtscp constant_tsc"));
        assert!(!has_stamps("x86_64", "fpu tsc rdtscpx constant_tsc"));
        assert!(has_stamps("aarch64", ""));
    }

    #[test]
    fn capabilities_are_read_from_their_mask() {
        assert!(is_capable("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        assert!(is_capable("CapEff:\t0000004000000000"));
        assert!(is_capable("CapEff:\t0000000000200000"));
        assert!(!is_capable("CapEff:\t0000000000100000"));
        assert!(!is_capable("CapPrm:\tffffffffffffffff"));
    }
}
