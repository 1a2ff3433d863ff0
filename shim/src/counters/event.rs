//! Names of events, as perf's users know them.

use std::str::FromStr;

use perf_event_open_sys::bindings as sys;

use crate::error::ShimError;
use crate::region::COUNTERS;

/// An event that can be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The name as it was asked for.
    pub name: String,
    /// Quantity that is counted.
    pub kind: EventKind,
    /// Whether kernel and hypervisor are left out (perf's `:u`).
    pub user_only: bool,
}

/// Quantity that an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// One of perf's generic hardware events (`PERF_COUNT_HW_*`).
    Hardware(u64),
    /// One of perf's software events (`PERF_COUNT_SW_*`).
    Software(u64),
    /// One of perf's events of caches (`PERF_TYPE_HW_CACHE`).
    Cache(u64),
    /// A processor's own event (`PERF_TYPE_RAW`).
    Raw(u64),
    /// A counter of the observed thread's slot in the region.
    Region(usize),
}

pub(super) const HARDWARE: [(&str, u32); 10] = [
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

/// A cache, what is done to it, and what comes of that, as the kernel joins them.
const fn cache(cache: u32, does: u32, comes: u32) -> u32 {
    cache | does << 8 | comes << 16
}

/// Events of caches: loads, and those that miss.
const CACHES: [(&str, u32); 8] = {
    const LOADS: u32 = sys::PERF_COUNT_HW_CACHE_OP_READ;
    const ALL: u32 = sys::PERF_COUNT_HW_CACHE_RESULT_ACCESS;
    const MISSES: u32 = sys::PERF_COUNT_HW_CACHE_RESULT_MISS;
    const L1D: u32 = sys::PERF_COUNT_HW_CACHE_L1D;
    const L1I: u32 = sys::PERF_COUNT_HW_CACHE_L1I;
    const LAST: u32 = sys::PERF_COUNT_HW_CACHE_LL;
    [
        ("L1-dcache-loads", cache(L1D, LOADS, ALL)),
        ("L1-dcache-load-misses", cache(L1D, LOADS, MISSES)),
        ("L1-icache-loads", cache(L1I, LOADS, ALL)),
        ("L1-icache-load-misses", cache(L1I, LOADS, MISSES)),
        ("LLC-loads", cache(LAST, LOADS, ALL)),
        ("LLC-load-misses", cache(LAST, LOADS, MISSES)),
        (
            "dTLB-load-misses",
            cache(sys::PERF_COUNT_HW_CACHE_DTLB, LOADS, MISSES),
        ),
        (
            "iTLB-load-misses",
            cache(sys::PERF_COUNT_HW_CACHE_ITLB, LOADS, MISSES),
        ),
    ]
};

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
    let all = HARDWARE.iter().chain(&CACHES).chain(&SOFTWARE);
    let names = all.map(|(name, _)| *name);
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
            .or_else(|| find(&CACHES).map(EventKind::Cache))
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
        use EventKind::{Cache, Hardware, Raw};
        matches!(self.kind, Hardware(_) | Cache(_) | Raw(_))
    }

    /// Instructions that retired.
    #[must_use]
    pub fn instructions() -> Self {
        Self {
            name: "instructions".to_owned(),
            kind: EventKind::Hardware(sys::PERF_COUNT_HW_INSTRUCTIONS.into()),
            user_only: false,
        }
    }

    /// Name of the event without `:u`.
    #[must_use]
    pub fn base(&self) -> &str {
        self.name.strip_suffix(":u").unwrap_or(&self.name)
    }
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
        assert_eq!(
            event("L1-dcache-load-misses"),
            Some(EventKind::Cache(0x1_0000))
        );
        assert_eq!(
            event("dTLB-load-misses:u"),
            Some(EventKind::Cache(0x1_0003))
        );
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
}
