//! The traces of some points, taken in on a thread of its own.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use crate::stream::StreamRecorder;

/// References that are handed over at a time. 64 KiB.
const PARCEL: usize = 1 << 13;
/// Parcels that may wait; with more, the caller waits. With the one that is filled and the one that is
/// emptied this bounds the memory beside the recorders'.
const WAITING: usize = 4;

/// References of one burst that one recorder takes in.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The index of the recorder.
    pub recorder: u32,
    /// Whether the references begin another burst than the recorder's last reference was in.
    pub is_new_burst: bool,
    /// How many there are.
    pub references: u32,
}

/// Parts with their references one behind the other.
#[derive(Debug, Default)]
struct Parcel {
    parts: Vec<Part>,
    addresses: Vec<u64>,
}

/// Recorders that take in references beside the caller. Each gets its own in their order, so that
/// the result is that of the caller's thread. Parcels are used again and again.
///
/// The thread ends when this is joined, or dropped: then by itself, behind the parcels that wait.
#[derive(Debug)]
pub struct PointWorker {
    parcel: Parcel,
    full: SyncSender<Parcel>,
    emptied: Receiver<Parcel>,
    /// Parcels that were never sent.
    unused: usize,
    thread: JoinHandle<Vec<StreamRecorder>>,
}

impl PointWorker {
    /// Lets recorders go on in the background.
    ///
    /// # Errors
    /// When the host gives no thread.
    pub fn new(mut recorders: Vec<StreamRecorder>) -> io::Result<Self> {
        let (full, incoming) = sync_channel::<Parcel>(WAITING);
        // Room for all that there are: sending back never waits.
        let (back, emptied) = sync_channel(WAITING + 2);
        let thread = Builder::new()
            .name("sampled points".into())
            .spawn(move || {
                for mut parcel in incoming {
                    parcel.unpack(&mut recorders);
                    // The channel is closed if the caller only waits for the end.
                    let _ = back.send(parcel);
                }
                recorders
            })?;
        Ok(PointWorker {
            parcel: Parcel::default(),
            full,
            emptied,
            unused: WAITING + 1,
            thread,
        })
    }

    /// Hands references of one burst over.
    pub fn push(&mut self, part: Part, addresses: &[u64]) {
        self.parcel.parts.push(part);
        self.parcel.addresses.extend_from_slice(addresses);
        if self.parcel.addresses.len() >= PARCEL {
            self.send();
        }
    }

    /// Waits for the thread; the recorders in their order.
    ///
    /// # Panics
    /// If the thread did.
    pub fn join(mut self) -> Vec<StreamRecorder> {
        self.send();
        drop(self.full);
        let result = self.thread.join();
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn send(&mut self) {
        let empty = if self.unused > 0 {
            self.unused -= 1;
            Parcel::default()
        } else {
            // Fails only after a panic of the thread, which `join` passes on.
            self.emptied.recv().unwrap_or_default()
        };
        let full = std::mem::replace(&mut self.parcel, empty);
        let _ = self.full.send(full);
    }
}

impl Parcel {
    /// Gives the recorders their parts; nothing is left.
    fn unpack(&mut self, recorders: &mut [StreamRecorder]) {
        let mut rest = &self.addresses[..];
        for part in &self.parts {
            let (addresses, later) = rest.split_at(part.references as usize);
            let recorder = &mut recorders[part.recorder as usize];
            if part.is_new_burst {
                recorder.next_burst();
            }
            recorder.push_all(addresses);
            rest = later;
        }
        self.parts.clear();
        self.addresses.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn part(recorder: u32, references: usize) -> Part {
        Part {
            recorder,
            is_new_burst: references % 2 == 1,
            references: references as u32,
        }
    }

    #[test]
    fn recorders_get_their_parts_in_order() {
        let recorder = || StreamRecorder::new(None).unwrap();
        let mut here = [recorder(), recorder()];
        let mut worker = PointWorker::new(vec![recorder(), recorder()]).unwrap();
        let trace: Vec<u64> = (0..5 * PARCEL as u64).map(|at| at * at % 1_009).collect();
        for (at, addresses) in trace.chunks(77).enumerate() {
            let mut parcel = Parcel::default();
            let part = part(at as u32 % 2, addresses.len());
            parcel.parts.push(part);
            parcel.addresses.extend_from_slice(addresses);
            parcel.unpack(&mut here);
            worker.push(part, addresses);
        }
        let seen = |r: &StreamRecorder| (r.digest(), r.references(), r.bursts());
        let there = worker.join();
        assert!(here[1].bursts() > 100);
        assert_eq!(
            here.iter().map(seen).collect::<Vec<_>>(),
            there.iter().map(seen).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_panic_is_passed_on_and_blocks_nobody() {
        let mut worker = PointWorker::new(Vec::new()).unwrap();
        for _ in 0..4 * WAITING {
            // There is no such recorder.
            worker.push(part(7, PARCEL), &[1; PARCEL]);
        }
        assert!(catch_unwind(AssertUnwindSafe(|| worker.join())).is_err());
    }
}
