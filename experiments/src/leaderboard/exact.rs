//! The exact counts of calls, back-edges and data streams, from one functional run.

use std::sync::OnceLock;

use hps_lab::Program;
use hps_productions::{CollectedProfile, GridProbe, MethodMap, PointProfiles};
use hps_profile::{DataStream, Fraction, Profile, StreamConfig, accuracy, error_without_cut};

use crate::timed::watched;

/// A program and its exact counts, which are made when they are first asked for.
pub(super) struct Exact<'a> {
    program: &'a Program,
    with_streams: bool,
    counts: OnceLock<Result<Counts, String>>,
}

struct Counts {
    profiles: PointProfiles,
    methods: MethodMap,
    streams: Option<Profile<DataStream>>,
}

/// How far a collected profile is from the exact counts of its kind.
pub(super) struct Comparison {
    /// `1 - overlap` of the whole profiles.
    pub error: f64,
    /// Overlap of the members that make up 90% of each profile, shares within the cut set.
    pub renormalized: f64,
    /// Events or references collected.
    pub samples: u64,
    /// Events that found no room.
    pub lost: u64,
}

impl<'a> Exact<'a> {
    pub fn new(program: &'a Program, with_streams: bool) -> Self {
        Exact {
            program,
            with_streams,
            counts: OnceLock::new(),
        }
    }

    fn counts(&self) -> Result<&Counts, String> {
        let counts = self.counts.get_or_init(|| {
            let streams = StreamConfig::default();
            let streams = self.with_streams.then_some(&streams);
            let probe = GridProbe::with_memory(&[], streams).map_err(|e| e.to_string())?;
            let mut result = watched(self.program, probe)?.0.finish();
            let recorder = result.exhaustive.stream.take();
            Ok(Counts {
                methods: result.method_map(&self.program.image.symbols),
                streams: recorder.and_then(|r| r.finish()).map(|s| s.profile),
                profiles: result.exhaustive,
            })
        });
        counts.as_ref().map_err(Clone::clone)
    }

    /// Holds a collected profile against the exact one of its kind.
    ///
    /// # Errors
    /// How the program ended, if not well; a profile without what is to be compared.
    pub fn compare(&self, collected: CollectedProfile) -> Result<Comparison, String> {
        let counts = self.counts()?;
        match collected {
            CollectedProfile::Nothing => Err("nothing was collected".to_string()),
            CollectedProfile::Method { addresses, lost } => {
                let entry = |address| counts.methods.entry(address);
                let exact = counts.profiles.addresses.methods(entry);
                let sampled = addresses.methods(entry);
                Ok(compare(&sampled, &exact, addresses.total(), lost))
            }
            CollectedProfile::CallPair { call_pairs, lost } => {
                let exact = &counts.profiles.call_pairs;
                Ok(compare(&call_pairs, exact, call_pairs.total(), lost))
            }
            CollectedProfile::DataStream(recorder) => {
                let references = recorder.references();
                let streams = recorder.finish().zip(counts.streams.as_ref());
                let (sampled, exact) = streams.ok_or("streams were not analyzed")?;
                Ok(compare(&sampled.profile, exact, references, 0))
            }
        }
    }
}

fn compare<K: Ord + std::hash::Hash + Clone>(
    sampled: &Profile<K>,
    exact: &Profile<K>,
    samples: u64,
    lost: u64,
) -> Comparison {
    Comparison {
        error: error_without_cut(sampled, exact),
        renormalized: accuracy(sampled, exact, Fraction::NINETY_PERCENT).renormalized,
        samples,
        lost,
    }
}
