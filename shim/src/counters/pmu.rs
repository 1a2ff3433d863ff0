//! Descriptions of performance monitoring units by kernel and processor: files below `/sys`, and a CPUID leaf.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::HARDWARE;
use crate::affinity::parse_list;

/// Where the kernel shows its PMUs.
const DEVICES: &str = "/sys/bus/event_source/devices";

/// Text files of the kernel: the host's, or recorded ones of another machine.
pub trait Files {
    /// The text of a file, without white space around it.
    fn read(&self, path: &str) -> Option<String>;
    /// Names in a folder, in order.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// The files of this machine.
#[derive(Debug, Clone, Copy)]
pub struct Host;

impl Files for Host {
    fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Counters of an Intel processor by CPUID leaf 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leaf10 {
    /// EAX: its low byte is the version of architectural performance monitoring.
    pub eax: u32,
    /// EDX: bit 15 says that events cannot be counted for all threads of a core ("AnyThread").
    pub edx: u32,
}

impl Leaf10 {
    /// Whether events can be counted for all threads of a core.
    #[must_use]
    pub fn has_any_thread(self) -> bool {
        self.eax & 0xff >= 3 && self.edx >> 15 & 1 == 0
    }

    /// This processor's; `None` on others than Intel's.
    #[must_use]
    pub fn of_host() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use core::arch::x86_64::__cpuid;
            let first = __cpuid(0);
            // "GenuineIntel" in EBX, EDX, ECX.
            let intel =
                (first.ebx, first.edx, first.ecx) == (0x756e_6547, 0x4965_6e69, 0x6c65_746e);
            (intel && first.eax >= 10).then(|| {
                let leaf = __cpuid(10);
                Self {
                    eax: leaf.eax,
                    edx: leaf.edx,
                }
            })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }
}

/// The performance monitoring unit of some or all cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pmu {
    /// The kernel's name: `cpu`, `cpu_core`, `cpu_atom`, `armv8_pmuv3_0`, `armv8_cortex_a57`, …
    pub name: String,
    /// Number of the unit: the type of its own events.
    pub type_number: u32,
    /// CPUs that it counts on; empty for all.
    pub cpus: Vec<usize>,
    /// The bit of an event's `config` that counts for all threads of a core; `None` if it cannot.
    pub any_bit: Option<u32>,
    /// Encodings of perf's generic events.
    pub encodings: BTreeMap<String, u64>,
}

impl Pmu {
    /// The PMUs of cores, by name.
    #[must_use]
    pub fn all(files: &impl Files, leaf: Option<Leaf10>) -> Vec<Self> {
        let names = files.names(DEVICES).into_iter();
        names
            .filter(|name| is_of_cores(name))
            .filter_map(|name| Self::read(files, name, leaf))
            .collect()
    }

    fn read(files: &impl Files, name: String, leaf: Option<Leaf10>) -> Option<Self> {
        let folder = format!("{DEVICES}/{name}");
        let type_number = files.read(&format!("{folder}/type"))?.parse().ok()?;
        let cpus = files.read(&format!("{folder}/cpus"));
        let cpus = cpus.and_then(|list| parse_list(&list)).unwrap_or_default();
        let any = || format_shift(&files.read(&format!("{folder}/format/any"))?);
        let encodings = HARDWARE.iter().filter_map(|(event, _)| {
            let file = match *event {
                "cycles" => "cpu-cycles",
                "branches" => "branch-instructions",
                name => name,
            };
            let text = files.read(&format!("{folder}/events/{file}"))?;
            Some(((*event).to_owned(), encoding(&text, &folder, files)?))
        });
        Some(Self {
            type_number,
            cpus,
            any_bit: leaf
                .filter(|leaf| leaf.has_any_thread())
                .and_then(|_| any()),
            encodings: encodings.collect(),
            name,
        })
    }

    /// Whether it counts on a CPU.
    #[must_use]
    pub fn counts_on(&self, cpu: usize) -> bool {
        self.cpus.is_empty() || self.cpus.contains(&cpu)
    }
}

/// Whether a PMU with this name counts what cores do: others count memory controllers, devices, energy.
fn is_of_cores(name: &str) -> bool {
    let arm =
        name.starts_with("armv7_") || name.starts_with("armv8_") || name.starts_with("armv9_");
    let apple = name.starts_with("apple_") && name.ends_with("_pmu");
    matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower") || arm || apple
}

/// The lowest bit of a field: `config:8-15` begins at 8.
fn format_shift(text: &str) -> Option<u32> {
    let bits = text.strip_prefix("config:")?;
    bits.split(['-', ',']).next()?.parse().ok()
}

/// A `config` of `event=0xc0,umask=0x01`, its fields placed as the PMU's `format` folder says.
fn encoding(text: &str, folder: &str, files: &impl Files) -> Option<u64> {
    let mut config = 0;
    for term in text.split(',') {
        let (field, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        let format = files.read(&format!("{folder}/format/{field}"))?;
        config |= value.checked_shl(format_shift(&format)?)?;
    }
    Some(config)
}
