//! Sampled data references: a trace in bursts.

use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_profile::{HotStreamAnalyzer, StreamConfig, StreamConfigError, StreamProfile};

/// The order-sensitive digest of a sequence of references and terminators. Equal traces have equal
/// digests, on any machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceDigest(u64);

impl TraceDigest {
    /// Odd, so that each step is a bijection of the state; 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    /// No address: guest addresses end far below.
    const TERMINATOR: u64 = u64::MAX;

    #[inline]
    fn push(&mut self, symbol: u64) {
        self.0 = (self.0.rotate_left(23) ^ symbol)
            .wrapping_add(1)
            .wrapping_mul(Self::FACTOR);
    }

    /// The digest as a number.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// Takes data references in, burst by burst, and hands them to the analysis of hot data streams.
///
/// Bursts are separated by unique terminators, so that no stream spans two of them. A terminator is
/// put in front of the first reference of a later burst; bursts without references leave none.
#[derive(Clone, Debug)]
pub struct StreamRecorder {
    analyzer: Option<HotStreamAnalyzer>,
    digest: TraceDigest,
    references: u64,
    terminators: u64,
}

impl SaveState for StreamRecorder {
    fn save_to(&self, to: &mut Vec<u8>) {
        let StreamRecorder {
            analyzer,
            digest,
            references,
            terminators,
        } = self;
        save_value(&(digest.0, references, terminators, analyzer), to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        let analyzer: Option<HotStreamAnalyzer>;
        (self.digest.0, self.references, self.terminators, analyzer) = from.value()?;
        let [was, is] = [&analyzer, &self.analyzer]
            .map(|analyzer| analyzer.as_ref().map(HotStreamAnalyzer::config));
        if was != is {
            return Err(StateError::OtherShape("data streams have other settings"));
        }
        self.analyzer = analyzer;
        Ok(())
    }
}

impl StreamRecorder {
    /// A recorder; without a configuration it keeps numbers and the digest only.
    ///
    /// # Errors
    /// When a setting is out of its range.
    pub fn new(config: Option<&StreamConfig>) -> Result<Self, StreamConfigError> {
        let analyzer = config
            .map(|config| HotStreamAnalyzer::new(config.clone()))
            .transpose()?;
        Ok(StreamRecorder {
            analyzer,
            digest: TraceDigest::default(),
            references: 0,
            terminators: 0,
        })
    }

    /// Appends a reference.
    #[inline]
    pub fn push(&mut self, address: u64) {
        self.references += 1;
        self.digest.push(address);
        if let Some(analyzer) = &mut self.analyzer {
            analyzer.push(address);
        }
    }

    /// Appends references of one burst; faster than as many calls of [`Self::push`].
    pub fn push_all(&mut self, addresses: &[u64]) {
        self.references += addresses.len() as u64;
        let mut digest = self.digest;
        for &address in addresses {
            digest.push(address);
        }
        self.digest = digest;
        if let Some(analyzer) = &mut self.analyzer {
            analyzer.push_all(addresses);
        }
    }

    /// The analyzer, so that something else can feed it.
    pub(crate) fn analyzer_mut(&mut self) -> &mut Option<HotStreamAnalyzer> {
        &mut self.analyzer
    }

    /// The next reference belongs to another burst than the last one, if there was one.
    pub fn next_burst(&mut self) {
        if self.references == 0 {
            return;
        }
        self.terminators += 1;
        self.digest.push(TraceDigest::TERMINATOR);
        if let Some(analyzer) = &mut self.analyzer {
            analyzer.push_terminator();
        }
    }

    /// References so far.
    #[must_use]
    pub fn references(&self) -> u64 {
        self.references
    }

    /// Bursts with references so far.
    #[must_use]
    pub fn bursts(&self) -> u64 {
        if self.references == 0 {
            0
        } else {
            self.terminators + 1
        }
    }

    /// The digest of the trace so far.
    #[must_use]
    pub fn digest(&self) -> TraceDigest {
        self.digest
    }

    /// The hot data streams, or nothing if the recorder was made without a configuration.
    #[must_use]
    pub fn finish(self) -> Option<StreamProfile> {
        self.analyzer.map(HotStreamAnalyzer::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(trace: &[Option<u64>]) -> StreamRecorder {
        let mut recorder = StreamRecorder::new(Some(&StreamConfig::default())).unwrap();
        for symbol in trace {
            match symbol {
                Some(address) => recorder.push(*address),
                None => recorder.next_burst(),
            }
        }
        recorder
    }

    #[test]
    fn the_digest_sees_order_and_bursts() {
        let digests = [
            recorded(&[Some(1), Some(2)]).digest(),
            recorded(&[Some(2), Some(1)]).digest(),
            recorded(&[Some(1), None, Some(2)]).digest(),
            recorded(&[Some(1)]).digest(),
            recorded(&[Some(0)]).digest(),
            recorded(&[]).digest(),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn a_leading_terminator_is_none() {
        let recorder = recorded(&[None, Some(1), None, Some(2)]);
        assert_eq!((recorder.references(), recorder.bursts()), (2, 2));
        assert_eq!(
            recorder.digest(),
            recorded(&[Some(1), None, Some(2)]).digest()
        );
        assert_eq!(recorded(&[None]).bursts(), 0);
    }

    #[test]
    fn streams_do_not_span_bursts() {
        let whole: Vec<_> = (0..50).flat_map(|_| [Some(8), Some(16)]).collect();
        let cut: Vec<_> = (0..50)
            .flat_map(|_| [Some(8), None, Some(16), None])
            .collect();
        assert!(!recorded(&whole).finish().unwrap().profile.is_empty());
        assert!(recorded(&cut).finish().unwrap().profile.is_empty());
        assert!(StreamRecorder::new(None).unwrap().finish().is_none());
    }
}
