//! Limits of each run of a sweep, so that no program that never ends or floods its output holds one up.

use std::time::Duration;

use hps_lab::GuestLimits;
use serde::{Deserialize, Serialize};

/// Limits of each run. A point whose run reaches one fails, and its row says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Bytes that a program may write to streams and files, in MiB.
    pub output_mib: u64,
    /// Bytes by which a program may make files longer, in MiB.
    pub file_mib: u64,
    /// Time of the host that a run may take, in seconds.
    pub time_s: u64,
    /// Files that a program may have open.
    pub open_files: u64,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            output_mib: 256,
            file_mib: 1024,
            time_s: 2 * 3600,
            open_files: 1024,
        }
    }
}

impl RunLimits {
    /// The first impossible value, with what is allowed; `None` if there is none.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        const MOST_MIB: u64 = 1 << 40;
        if self.output_mib > MOST_MIB || self.file_mib > MOST_MIB {
            Some("output_mib and file_mib are at most 2^40")
        } else if self.time_s == 0 {
            Some("time_s is at least 1")
        } else if !(3..=1 << 20).contains(&self.open_files) {
            Some("open_files is from 3, the standard streams, to 2^20")
        } else {
            None
        }
    }

    /// The limits of a program, whose memory is limited to `memory_bytes`.
    pub(crate) fn of_guest(&self, memory_bytes: u64) -> GuestLimits {
        GuestLimits {
            memory_bytes,
            output_bytes: Some(self.output_mib << 20),
            file_bytes: Some(self.file_mib << 20),
            time: Some(Duration::from_secs(self.time_s)),
            open_files: self.open_files,
        }
    }
}
