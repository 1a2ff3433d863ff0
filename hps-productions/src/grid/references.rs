//! Data references: the exhaustive trace, and the parts of it that each point samples.

use hps_profile::{BackgroundAnalyzer, StreamConfig, StreamConfigError};

use super::worker::{Part, PointWorker};
use crate::point::SamplePoint;
use crate::stream::StreamRecorder;

/// References that are taken in together. 32 KiB.
const BATCH: usize = 1 << 12;

/// Collects references and hands each point the parts that it samples.
///
/// A reference costs no more than a store. What a point samples is known from where in the batch its
/// sampling was switched on and off.
#[derive(Debug)]
pub struct References {
    /// The first `taken` of them are references, never all.
    batch: Box<[u64; BATCH]>,
    taken: usize,
    total: u64,
    exhaustive: StreamRecorder,
    /// The analysis of the exhaustive trace, if it has a thread of its own.
    background: Option<BackgroundAnalyzer>,
    points: Vec<PointTrace>,
    /// Each takes in the traces of some points on a thread of its own.
    workers: Vec<PointWorker>,
}

#[derive(Debug)]
struct PointTrace {
    recorder: Recorder,
    /// Where in the batch the burst that is going on begins.
    start: Option<usize>,
    /// A burst has ended since the last reference.
    ended: bool,
}

/// Where the references of a point go.
#[derive(Debug)]
enum Recorder {
    Here(Box<StreamRecorder>),
    /// To a worker, by its index, and there to the recorder of this index.
    There {
        worker: usize,
        at: u32,
    },
}

/// The traces of a whole run.
#[derive(Debug)]
pub struct Traces {
    /// References of the program.
    pub total: u64,
    /// All of them.
    pub exhaustive: StreamRecorder,
    /// References of each point.
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
                recorder: Recorder::Here(Box::new(StreamRecorder::new(streams)?)),
                start: (mask >> point & 1 != 0).then_some(0),
                ended: false,
            })
        };
        Ok(References {
            batch: Box::new([0; BATCH]),
            taken: 0,
            total: 0,
            exhaustive: StreamRecorder::new(streams)?,
            background: None,
            points: (0..points).map(trace).collect::<Result<_, _>>()?,
            workers: Vec::new(),
        })
    }

    /// The traces of points from index `from` on are not analyzed.
    pub fn drop_analyses(&mut self, from: usize) {
        for point in self.points.iter_mut().skip(from) {
            if let Recorder::Here(recorder) = &mut point.recorder {
                *recorder.analyzer_mut() = None;
            }
        }
    }

    /// The exhaustive trace is not analyzed.
    pub fn drop_exhaustive_analysis(&mut self) {
        *self.exhaustive.analyzer_mut() = None;
    }

    /// Spreads the analyses over this many threads, the caller's among them: the second one is for
    /// the exhaustive trace, and further ones share the points. What finds no thread stays on this
    /// one, and so does all that is not analyzed.
    pub fn spread(&mut self, threads: usize, points: &[SamplePoint]) {
        let analyzer = self.exhaustive.analyzer_mut();
        if threads < 2 || analyzer.is_none() || self.background.is_some() {
            return;
        }
        self.background = analyzer
            .clone()
            .and_then(|analyzer| BackgroundAnalyzer::new(analyzer).ok());
        if self.background.is_none() {
            return;
        }
        *analyzer = None;
        for indices in shares(points, threads - 2) {
            let recorders: Vec<_> = indices
                .iter()
                .filter_map(|&i| match &self.points[i].recorder {
                    Recorder::Here(recorder) => Some((**recorder).clone()),
                    Recorder::There { .. } => None,
                })
                .collect();
            let Ok(worker) = PointWorker::new(recorders) else {
                return;
            };
            for (at, &point) in indices.iter().enumerate() {
                self.points[point].recorder = Recorder::There {
                    worker: self.workers.len(),
                    at: at as u32,
                };
            }
            self.workers.push(worker);
        }
    }

    /// Takes a reference in.
    #[inline]
    pub fn push(&mut self, address: u64) {
        if !self.push_quickly(address) {
            self.batch[self.taken] = address;
            self.taken += 1;
            self.flush();
        }
    }

    /// Takes a reference in if that fills no batch. Says whether it did.
    #[inline(always)]
    pub fn push_quickly(&mut self, address: u64) -> bool {
        let room = self.taken < BATCH - 1;
        if room {
            self.batch[self.taken] = address;
            self.taken += 1;
        }
        room
    }

    /// References taken in and not handed on yet.
    #[inline]
    pub fn waiting(&self) -> &[u64] {
        &self.batch[..self.taken]
    }

    /// The sampling of these points has just been switched on or off.
    pub fn toggle(&mut self, mut changed: u64) {
        while changed != 0 {
            let point = &mut self.points[changed.trailing_zeros() as usize];
            match point.start.take() {
                None => point.start = Some(self.taken),
                Some(start) => {
                    point.take(&self.batch[start..self.taken], &mut self.workers);
                    point.ended = true;
                }
            }
            changed &= changed - 1;
        }
    }

    /// The traces. Waits for all threads.
    pub fn finish(mut self) -> Traces {
        self.flush();
        // Workers with the least left to do first.
        let mut there: Vec<Vec<Option<StreamRecorder>>> = self
            .workers
            .into_iter()
            .map(|worker| worker.join().into_iter().map(Some).collect())
            .collect();
        if let Some(background) = self.background {
            *self.exhaustive.analyzer_mut() = Some(background.join());
        }
        let points = self
            .points
            .into_iter()
            .filter_map(|point| match point.recorder {
                Recorder::Here(recorder) => Some(*recorder),
                Recorder::There { worker, at } => there[worker][at as usize].take(),
            });
        Traces {
            total: self.total,
            exhaustive: self.exhaustive,
            points: points.collect(),
        }
    }

    #[inline(never)]
    fn flush(&mut self) {
        let batch = &self.batch[..self.taken];
        self.total += batch.len() as u64;
        self.exhaustive.push_all(batch);
        if let Some(background) = &mut self.background {
            background.push_all(batch);
        }
        for point in &mut self.points {
            if let Some(start) = &mut point.start {
                let start = std::mem::take(start);
                point.take(&batch[start..], &mut self.workers);
            }
        }
        self.taken = 0;
    }
}

impl PointTrace {
    /// Takes references of one burst in.
    fn take(&mut self, addresses: &[u64], workers: &mut [PointWorker]) {
        if addresses.is_empty() {
            return;
        }
        let is_new_burst = std::mem::take(&mut self.ended);
        match &mut self.recorder {
            Recorder::Here(recorder) => {
                if is_new_burst {
                    recorder.next_burst();
                }
                recorder.push_all(addresses);
            }
            Recorder::There { worker, at } => {
                let part = Part {
                    recorder: *at,
                    is_new_burst,
                    references: addresses.len() as u32,
                };
                workers[*worker].push(part, addresses);
            }
        }
    }
}

/// The points by index, in at most `count` groups that sample about as many references each.
fn shares(points: &[SamplePoint], count: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points[b].frequency().total_cmp(&points[a].frequency()));
    let mut groups: Vec<(f64, Vec<usize>)> = vec![(0.0, Vec::new()); count.min(points.len())];
    for point in order {
        let lightest = groups.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((frequency, group)) = lightest {
            *frequency += points[point].frequency();
            group.push(point);
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_about_equal_and_hold_every_point_once() {
        let points = SamplePoint::paper_grid();
        for count in [0, 1, 2, 3, 20, 30] {
            let groups = shares(&points, count);
            assert_eq!(groups.len(), count.min(20));
            let mut all: Vec<usize> = groups.concat();
            all.sort_unstable();
            assert_eq!(
                all,
                (0..if count == 0 { 0 } else { 20 }).collect::<Vec<_>>()
            );
            let sum = |group: &Vec<usize>| group.iter().map(|&i| points[i].frequency()).sum();
            let sums: Vec<f64> = groups.iter().map(sum).collect();
            if count == 2 {
                assert!((sums[0] - sums[1]).abs() < 0.002, "{sums:?}");
            }
        }
    }
}
