//! Data references: the exhaustive trace, and the parts of it that each point samples.

use hps_profile::{BackgroundAnalyzer, StreamConfig, StreamConfigError};

use crate::stream::StreamRecorder;

/// References that are taken in together. 32 KiB.
const BATCH: usize = 1 << 12;

/// Collects references and hands each point the parts that it samples.
///
/// A reference costs no more than a store. What a point samples is known from where in the batch its
/// sampling was switched on and off.
#[derive(Debug)]
pub struct References {
    batch: Vec<u64>,
    total: u64,
    exhaustive: StreamRecorder,
    /// The analysis of the exhaustive trace, if it has a thread of its own.
    background: Option<BackgroundAnalyzer>,
    points: Vec<PointTrace>,
}

#[derive(Debug)]
struct PointTrace {
    recorder: StreamRecorder,
    /// Where in the batch the burst that is going on begins.
    start: Option<usize>,
    /// A burst has ended since the last reference.
    ended: bool,
}

/// The traces of a whole run.
#[derive(Debug)]
pub struct Traces {
    /// References of the program.
    pub total: u64,
    /// All of them.
    pub exhaustive: StreamRecorder,
    /// Those of each point.
    pub points: Vec<StreamRecorder>,
}

impl References {
    /// For a number of points, of which those in `mask` sample from the beginning.
    pub fn new(
        points: usize,
        mask: u64,
        streams: Option<&StreamConfig>,
    ) -> Result<Self, StreamConfigError> {
        let trace = |point: usize| {
            Ok(PointTrace {
                recorder: StreamRecorder::new(streams)?,
                start: (mask >> point & 1 != 0).then_some(0),
                ended: false,
            })
        };
        Ok(References {
            batch: Vec::with_capacity(BATCH),
            total: 0,
            exhaustive: StreamRecorder::new(streams)?,
            background: None,
            points: (0..points).map(trace).collect::<Result<_, _>>()?,
        })
    }

    /// The traces of points from index `from` on are not analyzed.
    pub fn drop_analyses(&mut self, from: usize) {
        for point in self.points.iter_mut().skip(from) {
            *point.recorder.analyzer_mut() = None;
        }
    }

    /// Gives the analysis of the exhaustive trace, if there is one, a thread of its own. Without a
    /// thread it stays on this one.
    pub fn analyze_in_background(&mut self) {
        let analyzer = self.exhaustive.analyzer_mut();
        self.background = analyzer
            .clone()
            .and_then(|analyzer| BackgroundAnalyzer::new(analyzer).ok());
        if self.background.is_some() {
            *analyzer = None;
        }
    }

    /// Takes a reference in.
    #[inline]
    pub fn push(&mut self, address: u64) {
        self.batch.push(address);
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }

    /// The sampling of these points has just been switched on or off.
    pub fn toggle(&mut self, mut changed: u64) {
        while changed != 0 {
            let point = &mut self.points[changed.trailing_zeros() as usize];
            match point.start.take() {
                None => point.start = Some(self.batch.len()),
                Some(start) => {
                    point.take(&self.batch[start..]);
                    point.ended = true;
                }
            }
            changed &= changed - 1;
        }
    }

    /// The traces.
    pub fn finish(mut self) -> Traces {
        self.flush();
        if let Some(background) = self.background {
            *self.exhaustive.analyzer_mut() = Some(background.join());
        }
        Traces {
            total: self.total,
            exhaustive: self.exhaustive,
            points: self.points.into_iter().map(|p| p.recorder).collect(),
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        self.total += self.batch.len() as u64;
        self.exhaustive.push_all(&self.batch);
        if let Some(background) = &mut self.background {
            background.push_all(&self.batch);
        }
        for point in &mut self.points {
            if let Some(start) = &mut point.start {
                let start = std::mem::take(start);
                point.take(&self.batch[start..]);
            }
        }
        self.batch.clear();
    }
}

impl PointTrace {
    /// Takes references of one burst in.
    fn take(&mut self, addresses: &[u64]) {
        if addresses.is_empty() {
            return;
        }
        if std::mem::take(&mut self.ended) {
            self.recorder.next_burst();
        }
        self.recorder.push_all(addresses);
    }
}
