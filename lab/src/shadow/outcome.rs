//! Results of a run with shadows.

use std::collections::BTreeMap;

use hps_shadow::divergence::Divergence;
use hps_shadow::policy::Action;
use hps_shadow::profiles::Profiles;
use hps_sim_core::machine::Stop;
use hps_system::process::Process;

/// Why a shadow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The shadow has executed its instructions.
    Sample,
    /// In front of this system call.
    Call(&'static str),
    /// The program ended in the shadow.
    Exit,
    /// The shadow faulted, or could not go on.
    Fault,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Sample => f.write_str("sample complete"),
            End::Call(name) => write!(f, "in front of {name}"),
            End::Exit => f.write_str("end of the program"),
            End::Fault => f.write_str("fault"),
        }
    }
}

/// Results of a run with shadows.
pub struct ShadowOutcome<'a> {
    /// Profiles of the shadows.
    pub profiles: Profiles<'a>,
    /// Why the parent ended.
    pub stop: Stop,
    /// The parent as it ended.
    pub process: Process,
    /// Instructions of the parent.
    pub instructions: u64,
    /// Time of the parent without shadows, in nanoseconds.
    pub native_ns: f64,
    /// Time charged for signals, forks and faults, in nanoseconds.
    pub charged_ns: f64,
    /// Signals.
    pub signals: u64,
    /// Shadows.
    pub shadows: u64,
    /// The average number of live shadows at signals.
    pub average_live: f64,
    /// Instructions that shadows executed.
    pub covered: u64,
    /// Page faults of the parent that copied a page which a live shadow shared.
    pub copied_pages: u64,
    /// Page faults of the parent on pages that no shadow shared any more.
    pub reused_pages: u64,
    /// Pages that shadows wrote.
    pub shadow_pages: u64,
    /// Pages of the parent that it had written when it ended: page faults without shadows.
    pub resident_pages: u64,
    /// Why shadows ended, and how many did.
    pub ends: BTreeMap<End, u64>,
    /// System calls of shadows by name and what became of them.
    pub calls: BTreeMap<(&'static str, Action), u64>,
    /// Shadows that did something else than the parent then did.
    pub divergences: Vec<Divergence>,
    /// Transfers of control of shadows.
    pub transfers: u64,
    /// Transfers after divergences.
    pub diverged_transfers: u64,
}

impl ShadowOutcome<'_> {
    /// Charged time as a share of the time without shadows.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        self.charged_ns / self.native_ns.max(f64::MIN_POSITIVE)
    }

    /// Instructions of shadows by instructions of the parent.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.instructions.max(1) as f64
    }

    /// Page faults of the parent that shadows caused.
    #[must_use]
    pub fn added_faults(&self) -> u64 {
        self.copied_pages + self.reused_pages
    }
}
