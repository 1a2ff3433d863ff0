//! Names of events, as perf's users know them.

use std::path::Path;
use std::str::FromStr;

use perf_event_open_sys::bindings as sys;

use crate::error::ShimError;
use crate::region::COUNTERS;

/// An event that can be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The name as it was asked for.
    pub name: String,
    /// What it counts.
    pub kind: EventKind,
    /// Whether kernel and hypervisor are left out (perf's `:u`).
    pub user_only: bool,
}

/// What an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// One of perf's generic hardware events (`PERF_COUNT_HW_*`).
    Hardware(u64),
    /// One of perf's software events (`PERF_COUNT_SW_*`).
    Software(u64),
    /// A processor's own event (`PERF_TYPE_RAW`).
    Raw(u64),
    /// A counter of the observed thread's slot in the region.
    Region(usize),
}

const HARDWARE: [(&str, u32); 10] = [
    ("cycles", sys::PERF_COUNT_HW_CPU_CYCLES),
    ("instructions", sys::PERF_COUNT_HW_INSTRUCTIONS),
    ("cache-references", sys::PERF_COUNT_HW_CACHE_REFERENCES),
    ("cache-misses", sys::PERF_COUNT_HW_CACHE_MISSES),
    ("branches", sys::PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    ("branch-misses", sys::PERF_COUNT_HW_BRANCH_MISSES),
    ("bus-cycles", sys::PERF_COUNT_HW_BUS_CYCLES),
    (
        "stalled-cycles-frontend",
        sys::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
    ),
    (
        "stalled-cycles-backend",
        sys::PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
    ),
    ("ref-cycles", sys::PERF_COUNT_HW_REF_CPU_CYCLES),
];

const SOFTWARE: [(&str, u32); 7] = [
    ("cpu-clock", sys::PERF_COUNT_SW_CPU_CLOCK),
    ("task-clock", sys::PERF_COUNT_SW_TASK_CLOCK),
    ("page-faults", sys::PERF_COUNT_SW_PAGE_FAULTS),
    ("context-switches", sys::PERF_COUNT_SW_CONTEXT_SWITCHES),
    ("cpu-migrations", sys::PERF_COUNT_SW_CPU_MIGRATIONS),
    ("minor-faults", sys::PERF_COUNT_SW_PAGE_FAULTS_MIN),
    ("major-faults", sys::PERF_COUNT_SW_PAGE_FAULTS_MAJ),
];

fn known() -> String {
    let names = HARDWARE.iter().chain(&SOFTWARE).map(|(name, _)| *name);
    format!("known are {}", names.collect::<Vec<_>>().join(", "))
}

impl FromStr for Event {
    type Err = ShimError;

    fn from_str(text: &str) -> Result<Self, ShimError> {
        let (base, user_only) = match text.strip_suffix(":u") {
            Some(base) => (base, true),
            None => (text, false),
        };
        let find = |table: &[(&str, u32)]| {
            let found = table.iter().find(|(name, _)| *name == base);
            found.map(|(_, config)| u64::from(*config))
        };
        let raw = || {
            let digits = base.strip_prefix('r')?;
            u64::from_str_radix(digits, 16).ok()
        };
        let region = || {
            let index: usize = base.strip_prefix("soft:")?.parse().ok()?;
            (index < COUNTERS).then_some(index)
        };
        let kind = find(&HARDWARE)
            .map(EventKind::Hardware)
            .or_else(|| find(&SOFTWARE).map(EventKind::Software))
            .or_else(|| region().map(EventKind::Region))
            .or_else(|| raw().map(EventKind::Raw));
        let Some(kind) = kind else {
            return Err(ShimError::UnknownEvent {
                name: text.to_owned(),
                known: known(),
            });
        };
        Ok(Self {
            name: text.to_owned(),
            kind,
            user_only,
        })
    }
}

impl Event {
    /// Whether it needs a performance monitoring unit.
    #[must_use]
    pub fn needs_pmu(&self) -> bool {
        matches!(self.kind, EventKind::Hardware(_) | EventKind::Raw(_))
    }

    /// The event over all threads of a core: a raw event with the PMU's `any` bit. `None` where the
    /// PMU has no such bit or no encoding of the event.
    ///
    /// `pmu` is the PMU's folder, `/sys/bus/event_source/devices/cpu`.
    #[must_use]
    pub fn core_wide(&self, pmu: &Path) -> Option<Self> {
        let any = format_shift(&std::fs::read_to_string(pmu.join("format/any")).ok()?)?;
        let base = match self.kind {
            EventKind::Raw(config) => config,
            EventKind::Hardware(_) => {
                let plain = self.name.trim_end_matches(":u");
                // perf's name of the generic event in this folder.
                let file = if plain == "cycles" {
                    "cpu-cycles"
                } else {
                    plain
                };
                let text = std::fs::read_to_string(pmu.join("events").join(file)).ok()?;
                encoding(&text, pmu)?
            }
            _ => return None,
        };
        Some(Self {
            name: format!("{} (core)", self.name),
            kind: EventKind::Raw(base | 1 << any),
            user_only: self.user_only,
        })
    }
}

/// The lowest bit of a field: `config:8-15` begins at 8.
fn format_shift(text: &str) -> Option<u32> {
    let bits = text.trim().strip_prefix("config:")?;
    bits.split(['-', ',']).next()?.parse().ok()
}

/// A `config` of `event=0xc0,umask=0x01`, its fields placed as the PMU's `format` folder says.
fn encoding(text: &str, pmu: &Path) -> Option<u64> {
    let mut config = 0;
    for term in text.trim().split(',') {
        let (field, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => value.parse().ok()?,
        };
        let format = std::fs::read_to_string(pmu.join("format").join(field)).ok()?;
        config |= value.checked_shl(format_shift(&format)?)?;
    }
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_perfs() {
        let event = |text: &str| text.parse::<Event>().map(|e| e.kind).ok();
        assert_eq!(event("cycles"), Some(EventKind::Hardware(0)));
        assert_eq!(event("instructions:u"), Some(EventKind::Hardware(1)));
        assert_eq!(event("task-clock"), Some(EventKind::Software(1)));
        assert_eq!(event("r01c0"), Some(EventKind::Raw(0x1c0)));
        assert_eq!(event("soft:7"), Some(EventKind::Region(7)));
        for bad in ["", "cylces", "r", "rxyz", "soft:8", ":u"] {
            assert_eq!(event(bad), None, "{bad}");
        }
        assert!("instructions:u".parse::<Event>().unwrap().user_only);
        let said = "cylces".parse::<Event>().unwrap_err().to_string();
        assert!(
            said.contains("`cylces`") && said.contains("instructions"),
            "{said}"
        );
    }

    #[test]
    fn core_wide_events_are_put_together_from_the_pmus_folder() {
        let folder = tempfile::tempdir().unwrap();
        let pmu = folder.path();
        std::fs::create_dir_all(pmu.join("format")).unwrap();
        std::fs::create_dir_all(pmu.join("events")).unwrap();
        let event: Event = "instructions".parse().unwrap();
        assert_eq!(event.core_wide(pmu), None);
        for (file, text) in [
            ("format/event", "config:0-7\n"),
            ("format/umask", "config:8-15\n"),
            ("format/any", "config:21\n"),
            ("events/instructions", "event=0xc0,umask=0x1\n"),
        ] {
            std::fs::write(pmu.join(file), text).unwrap();
        }
        let core = event.core_wide(pmu).unwrap();
        assert_eq!(core.kind, EventKind::Raw(0x20_01c0));
        let software: Event = "task-clock".parse().unwrap();
        assert_eq!(software.core_wide(pmu), None);
    }
}
