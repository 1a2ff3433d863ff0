//! State that all processes of a run have in common, beside the family and the open files.

use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

use hps_isa::random::Random;

use super::StopReason;
use super::limits::{FileLimit, TimeLimit};
use super::listing::Listings;
use super::refusals::Refusals;
use super::sockets::Network;
use super::streams::Streams;
use super::time::NANOS_PER_SECOND;
use super::warnings::Warnings;
use crate::process::ProcessConfig;

/// State of a run. The process whose turn it is has it; it [goes on](super::Linux::hand_over) with the turn; the
/// others have one that says nothing.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub streams: Streams,
    #[serde(with = "crate::checkpoint::kept")]
    pub network: Arc<Mutex<Network>>,
    pub listings: Listings,
    pub refusals: Refusals,
    pub random: Random,
    /// Draws the addresses of each program that begins; `None`: they are fixed.
    pub addresses: Option<Random>,
    pub warnings: Warnings,
    /// The most that may be put out, and what is left of it, in bytes.
    pub output_limit: Option<u64>,
    pub output_left: Option<u64>,
    pub file_limit: Option<FileLimit>,
    pub time_limit: Option<TimeLimit>,
    /// Reason for which the run can never go on.
    #[serde(skip)]
    pub stop: Option<StopReason>,
}

impl Run {
    pub(super) fn new(config: &ProcessConfig) -> Run {
        Run {
            streams: Streams::new(config.stdin.clone(), config.stdout, config.stderr),
            network: Arc::default(),
            listings: Listings::default(),
            refusals: Refusals::default(),
            random: Random::new(config.seed),
            addresses: config.address_seed.map(Random::new),
            warnings: Warnings::default(),
            output_limit: config.output_limit_bytes,
            output_left: config.output_limit_bytes,
            file_limit: config.file_limit_bytes.map(FileLimit::new),
            time_limit: config.time_limit.map(TimeLimit::new),
            stop: None,
        }
    }

    /// A run of its own with other streams. Sockets are not copied, and time begins anew.
    pub(super) fn over(&self, streams: Streams) -> Run {
        Run {
            streams,
            network: Arc::default(),
            listings: self.listings.clone(),
            refusals: self.refusals.clone(),
            random: self.random.clone(),
            addresses: self.addresses.clone(),
            warnings: self.warnings.copy(),
            output_limit: self.output_limit,
            output_left: self.output_left,
            file_limit: self.file_limit,
            time_limit: self.time_limit.map(TimeLimit::anew),
            stop: self.stop.clone(),
        }
    }
}

/// Simulated time, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Time {
    /// The time at the current call.
    pub now_ns: u64,
    /// The date at its beginning, since 1970.
    pub start_ns: u64,
    /// Time that the program has spent waiting.
    pub idle_ns: u64,
}

impl Time {
    pub(super) fn new(config: &ProcessConfig) -> Time {
        Time {
            now_ns: 0,
            start_ns: config.start_seconds.saturating_mul(NANOS_PER_SECOND),
            idle_ns: 0,
        }
    }
}
