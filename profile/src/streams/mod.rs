//! Hot data streams of a trace of data addresses, in bounded memory.
//!
//! A data stream is a sequence of addresses that the grammar of the trace ([`Sequitur`]) has a
//! rule for. Its **heat** is its length times its **cold uses**: occurrences in the derivation of
//! the trace that lie in no longer hot stream (Chilimbi and Hirzel, "Dynamic Hot Data Stream
//! Prefetching for General-Purpose Programs", PLDI 2002, section 2.4). Rules are judged parents
//! first; the start rule is never reported. Occurrences counted in two streams' heat never share
//! a reference, so that all heats together are at most the length of the trace.
//!
//! **One segment or many.** When a grammar reaches its limit, the segment of the trace ends: rules
//! that could be hot by a lower threshold become candidates, and the grammar starts afresh.
//! Candidates keep the tree structure: each knows the candidates inside it. Which of them are hot
//! is decided only at the end, over all segments, so that a parent that turns out cold gives its
//! uses to its children. With one segment the result is exactly that of the published algorithm:
//! a rule below the threshold with *all* of its uses cannot be hot. With several segments a stream
//! misses at most the heat that it had in segments where it stayed below the lowered threshold,
//! in sum `hot_fraction / segment_divisor` of the trace: a tenth of what makes it hot. Two
//! approximations remain: a stream that is parsed differently in two segments passes on its uses
//! by one parse, and what spans the end of a segment is not seen.
//!
//! **Sampled traces.** A sampled trace goes through the same analysis with a terminator after each
//! burst, and a trace sampled at frequency 1 without terminators gives the exhaustive profile,
//! weight for weight. Members are compared by their exact sequence. That is strict on purpose, and
//! why data streams are the hardest of the three profiles: a burst cuts streams at its two ends,
//! starts in another phase of a loop, and has fewer repetitions for Sequitur to double rules on.
//! [`StreamConfig::fold_repetitions`] takes the last of the three away.

mod background;
mod candidates;
mod config;
mod segment;
mod state;
#[cfg(test)]
mod tests;
mod unique;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use background::BackgroundAnalyzer;
pub use config::{EqualRules, StreamConfig, StreamConfigError};

use crate::key::DataStream;
use crate::profile::Profile;
use crate::sequitur::Sequitur;
use candidates::Candidates;
use segment::FinishedSegment;
use unique::UniqueCounter;

/// The hot data streams of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamProfile {
    /// Each hot stream with its heat, in references.
    pub profile: Profile<DataStream>,
    /// Summary of the trace and of the analysis.
    pub summary: StreamSummary,
}

/// A trace and its analysis in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamSummary {
    /// References in the trace.
    pub trace_length: u64,
    /// Distinct addresses in the trace.
    pub unique_addresses: u64,
    /// Whether `unique_addresses` is exact; else it is an estimate with a standard error of 0.8%.
    pub unique_is_exact: bool,
    /// Least heat of a hot stream, in references.
    pub hot_threshold: u64,
    /// The share of the trace that lies in hot streams, 0 to 1.
    pub coverage: f64,
    /// Segments that the trace was cut into to bound memory; 1 means an exact analysis.
    pub segments: u64,
    /// Candidates that were given up because there were too many of them.
    pub dropped_candidates: u64,
}

/// Collects a trace and finds its hot data streams; see the [module](self).
#[derive(Debug, Clone)]
pub struct HotStreamAnalyzer {
    config: StreamConfig,
    /// The segment that is being read.
    sequitur: Sequitur,
    segment_length: u64,
    /// The last references, not in the grammar yet.
    recent: Vec<u64>,
    /// How many of them are in front of each terminator.
    terminators: Vec<u32>,
    finished: Segments,
}

/// Data kept of finished segments.
#[derive(Debug, Clone)]
struct Segments {
    candidates: Candidates,
    unique: UniqueCounter,
    trace_length: u64,
    count: u64,
}

/// References that are taken into the grammar at a time: enough to make up for the cache misses at
/// first where many analyzers take turns.
const RECENT: usize = 1024;

impl HotStreamAnalyzer {
    /// An analyzer of an empty trace.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(config: StreamConfig) -> Result<Self, StreamConfigError> {
        config.validate()?;
        Ok(Self {
            sequitur: Sequitur::new(),
            segment_length: 0,
            recent: Vec::new(),
            terminators: Vec::new(),
            finished: Segments {
                candidates: Candidates::default(),
                unique: UniqueCounter::new(config.max_exact_unique as usize),
                trace_length: 0,
                count: 0,
            },
            config,
        })
    }

    /// Appends a reference to `address`.
    #[inline]
    pub fn push(&mut self, address: u64) {
        self.recent.push(address);
        if self.recent.len() >= RECENT {
            self.take_recent();
        }
    }

    /// Appends references; faster than as many calls of [`Self::push`].
    pub fn push_all(&mut self, addresses: &[u64]) {
        if self.recent.len() + addresses.len() < RECENT {
            self.recent.extend_from_slice(addresses);
        } else {
            self.take_recent();
            self.take(addresses);
        }
    }

    /// Ends a burst: no stream spans it.
    pub fn push_terminator(&mut self) {
        self.terminators.push(self.recent.len() as u32);
        if self.terminators.len() >= RECENT {
            self.take_recent();
        }
    }

    /// The settings.
    pub fn config(&self) -> &StreamConfig {
        &self.config
    }

    /// References so far.
    pub fn trace_length(&self) -> u64 {
        self.finished.trace_length + self.segment_length + self.recent.len() as u64
    }

    /// Bytes that the grammar holds now, by far the largest part.
    pub fn memory_bytes(&self) -> usize {
        self.sequitur.memory_bytes()
    }

    /// The hot data streams of the trace. An empty trace has none, and a coverage of 0.
    pub fn finish(mut self) -> StreamProfile {
        self.take_recent();
        self.end_segment();
        let Segments {
            candidates,
            unique,
            trace_length,
            count,
        } = self.finished;
        let hot_threshold = self.config.hot_fraction.ceil_of(trace_length).max(1);
        let profile: Profile<DataStream> = candidates
            .hot(hot_threshold)
            .into_iter()
            .map(|(addresses, heat)| {
                let member = if self.config.fold_repetitions {
                    repeated_part(addresses)
                } else {
                    addresses
                };
                (DataStream(member.into()), heat)
            })
            .collect();
        let summary = StreamSummary {
            trace_length,
            unique_addresses: unique.count(),
            unique_is_exact: unique.is_exact(),
            hot_threshold,
            coverage: profile.total() as f64 / trace_length.max(1) as f64,
            segments: count,
            dropped_candidates: candidates.dropped(),
        };
        StreamProfile { profile, summary }
    }

    fn take_recent(&mut self) {
        let mut recent = std::mem::take(&mut self.recent);
        let mut terminators = std::mem::take(&mut self.terminators);
        let mut taken = 0;
        for end in terminators.drain(..) {
            self.take(&recent[taken..end as usize]);
            taken = end as usize;
            self.sequitur.push_terminator();
        }
        self.take(&recent[taken..]);
        recent.clear();
        (self.recent, self.terminators) = (recent, terminators);
    }

    fn take(&mut self, mut addresses: &[u64]) {
        let limit = self.config.max_grammar_symbols as usize;
        while !addresses.is_empty() {
            let taken = self.sequitur.push_all(addresses, limit);
            self.segment_length += taken as u64;
            if self.sequitur.symbols() >= limit {
                self.end_segment();
            }
            addresses = &addresses[taken..];
        }
    }

    fn end_segment(&mut self) {
        if self.segment_length > 0 {
            let finished = segment::finish(&mut self.sequitur, &self.config, self.segment_length);
            self.finished.add(finished, &self.config);
            self.segment_length = 0;
        }
    }
}

impl Segments {
    /// Segments come in the order of the trace.
    fn add(&mut self, segment: FinishedSegment, config: &StreamConfig) {
        for &address in &segment.distinct {
            self.unique.insert(address);
        }
        self.candidates
            .merge(segment.streams, config.max_candidates as usize);
        self.trace_length += segment.length;
        self.count += 1;
    }
}

/// The shortest sequence of which `addresses` is a whole number of repetitions.
fn repeated_part(addresses: &[u64]) -> &[u64] {
    // The borders of all prefixes, as in Knuth, Morris and Pratt.
    let mut borders = vec![0usize; addresses.len()];
    for at in 1..addresses.len() {
        let mut border = borders[at - 1];
        while border > 0 && addresses[border] != addresses[at] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(addresses[border] == addresses[at]);
    }
    let period = addresses.len() - borders.last().copied().unwrap_or(0);
    if period > 0 && addresses.len().is_multiple_of(period) {
        &addresses[..period]
    } else {
        addresses
    }
}
