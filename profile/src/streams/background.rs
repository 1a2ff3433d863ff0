//! The analysis of a trace on a thread of its own.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::HotStreamAnalyzer;

/// References that are handed over at a time. 64 KiB.
const BATCH: usize = 1 << 13;
/// Batches that may wait; with more, the caller waits. With those that are filled and emptied this
/// bounds the memory beside the analyzer's to about a megabyte.
const WAITING: usize = 16;

/// A [`HotStreamAnalyzer`] that works beside the caller, on a thread of its own. References arrive
/// there in the order of the trace, so that the result is the same.
///
/// The thread ends when this is joined, or dropped: then by itself, behind the batches that wait.
#[derive(Debug)]
pub struct BackgroundAnalyzer {
    batch: Vec<u64>,
    batches: SyncSender<Vec<u64>>,
    emptied: Receiver<Vec<u64>>,
    worker: JoinHandle<HotStreamAnalyzer>,
}

impl BackgroundAnalyzer {
    /// Lets an analyzer go on in the background.
    ///
    /// # Errors
    /// When the host gives no thread.
    pub fn new(mut analyzer: HotStreamAnalyzer) -> io::Result<Self> {
        let (batches, incoming) = sync_channel::<Vec<u64>>(WAITING);
        // Room for all that there can be: sending back never waits.
        let (back, emptied) = sync_channel(WAITING + 4);
        let worker = Builder::new().name("data streams".into()).spawn(move || {
            for mut batch in incoming {
                analyzer.push_all(&batch);
                batch.clear();
                // The channel is closed if the caller only waits for the end.
                let _ = back.send(batch);
            }
            analyzer
        })?;
        Ok(Self {
            batch: Vec::with_capacity(BATCH),
            batches,
            emptied,
            worker,
        })
    }

    /// Appends references.
    pub fn push_all(&mut self, mut addresses: &[u64]) {
        while !addresses.is_empty() {
            let room = BATCH - self.batch.len();
            let (now, later) = addresses.split_at(room.min(addresses.len()));
            self.batch.extend_from_slice(now);
            if self.batch.len() == BATCH {
                let empty = self.emptied.try_recv();
                let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BATCH));
                self.send(empty);
            }
            addresses = later;
        }
    }

    /// Waits for the worker; the analyzer that has seen the whole trace.
    ///
    /// # Panics
    /// If the worker did.
    pub fn join(mut self) -> HotStreamAnalyzer {
        self.send(Vec::new());
        drop(self.batches);
        self.worker
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn send(&mut self, empty: Vec<u64>) {
        let full = std::mem::replace(&mut self.batch, empty);
        // Refused only after a panic of the worker, which `join` passes on.
        let _ = self.batches.send(full);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::streams::StreamConfig;

    fn analyzer() -> HotStreamAnalyzer {
        let config = StreamConfig {
            max_grammar_symbols: 1_000,
            ..StreamConfig::default()
        };
        HotStreamAnalyzer::new(config).unwrap()
    }

    #[test]
    fn finds_what_the_caller_would() {
        // More batches than may wait, and a rest.
        let trace: Vec<u64> = (0..(3 * WAITING * BATCH / 2) as u64 + 5)
            .map(|at| at * at % 1_009 % 37)
            .collect();
        let mut here = analyzer();
        here.push_all(&trace);
        let mut there = BackgroundAnalyzer::new(analyzer()).unwrap();
        for part in trace.chunks(3_001) {
            there.push_all(part);
        }
        let (here, there) = (here.finish(), there.join().finish());
        assert!(here.summary.segments > 1 && !here.profile.is_empty());
        assert_eq!(here, there);
    }

    #[test]
    fn the_thread_ends_when_nobody_feeds_it() {
        let mut dropped = BackgroundAnalyzer::new(analyzer()).unwrap();
        dropped.push_all(&[1; 5 * BATCH]);
        let BackgroundAnalyzer {
            worker, batches, ..
        } = dropped;
        drop(batches);
        assert_eq!(worker.join().unwrap().trace_length(), 5 * BATCH as u64);
    }

    #[test]
    fn a_panic_is_passed_on_and_blocks_nobody() {
        let mut failing = BackgroundAnalyzer::new(analyzer()).unwrap();
        let (batches, incoming) = sync_channel(WAITING);
        failing.batches = batches;
        failing.worker = Builder::new()
            .spawn(move || {
                drop(incoming);
                panic!("as an analysis could")
            })
            .unwrap();
        failing.push_all(&vec![1; 2 * WAITING * BATCH]);
        assert!(catch_unwind(AssertUnwindSafe(|| failing.join())).is_err());
    }
}
