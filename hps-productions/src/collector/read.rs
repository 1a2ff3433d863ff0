//! Reading of the profiles that handlers leave in guest memory.

use hps_isa::inst::reg;
use hps_isa::state::{SaveState, Saved, StateError, save_value};
use hps_profile::{CallPair, Profile, StreamConfig, StreamConfigError};
use hps_system::symbols::Entries;

use super::Collector;
use crate::counts::AddressCounts;
use crate::point::SamplePoint;
use crate::stream::StreamRecorder;

/// `dr5`: the next free entry of the data stream buffer.
pub const BUFFER_POINTER: u8 = reg::DISE + 5;

/// Where the number of the burst begins in an entry of the buffer.
const BURST_SHIFT: u32 = 48;

/// Words of guest memory, little-endian.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|chunk| {
        chunk
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte))
    })
}

/// `jump_mark` of `tail_calls.dise` and `tail_call_pairs.dise`: an indirect jump went there.
const JUMP_MARK: u64 = 1 << 62;

/// The address without its mark; `None` if an indirect jump went there and no function begins there.
fn unmarked(address: u64, entries: Option<&Entries>) -> Option<u64> {
    let plain = address & !JUMP_MARK;
    let begins = entries.is_some_and(|entries| entries.begins_function(plain));
    (plain == address || begins).then_some(plain)
}

/// The hot method table: in front of it the events without room, then slots of `address | 1` and
/// count. `entries` say which targets of indirect jumps are entries of methods.
pub fn methods(bytes: &[u8], entries: Option<&Entries>) -> (AddressCounts, u64) {
    let table: Vec<u64> = words(bytes).collect();
    let lost = table.get(1).copied().unwrap_or(0);
    let slots = table.chunks_exact(2).skip(1).filter(|slot| slot[0] != 0);
    let counts = slots.filter_map(|slot| Some((unmarked(slot[0] & !1, entries)?, slot[1])));
    (counts.collect(), lost)
}

/// The call pair table: in front of it the calls without room, then slots of call site, target,
/// count and padding. `entries` as in [`methods`].
pub fn call_pairs(bytes: &[u8], entries: Option<&Entries>) -> (Profile<CallPair>, u64) {
    let table: Vec<u64> = words(bytes).collect();
    let lost = table.get(2).copied().unwrap_or(0);
    let slots = table.chunks_exact(4).skip(1).filter(|slot| slot[0] != 0);
    (
        slots
            .filter_map(|slot| {
                let target = unmarked(slot[1], entries)?;
                let site = slot[0];
                Some((CallPair { site, target }, slot[2]))
            })
            .collect(),
        lost,
    )
}

/// Turns buffers of references into a trace.
///
/// Burst numbers are kept modulo 2^16: two references that lie exactly a multiple of 65,536 bursts
/// apart, with none in between, would count as one burst.
#[derive(Clone, Debug)]
pub struct Accumulator {
    recorder: StreamRecorder,
    last_burst: Option<u64>,
    /// With a sparsity of 0 every event is sampled, and the trace is one burst.
    contiguous: bool,
}

hps_isa::save_state! { Accumulator { recorder, last_burst, contiguous: same } }

impl Accumulator {
    /// An empty trace.
    pub fn new(
        config: Option<&StreamConfig>,
        point: SamplePoint,
    ) -> Result<Self, StreamConfigError> {
        Ok(Accumulator {
            recorder: StreamRecorder::new(config)?,
            last_burst: None,
            contiguous: point.sparsity == 0,
        })
    }

    /// Appends the entries of a buffer.
    pub fn take(&mut self, bytes: &[u8]) {
        for entry in words(bytes) {
            let burst = entry >> BURST_SHIFT;
            if self.last_burst.is_some_and(|last| last != burst) && !self.contiguous {
                self.recorder.next_burst();
            }
            self.last_burst = Some(burst);
            self.recorder.push(entry & ((1 << BURST_SHIFT) - 1));
        }
    }

    /// The trace.
    pub fn into_recorder(self) -> StreamRecorder {
        self.recorder
    }
}

/// The sampling point, which may change during a run, and the data that were drained.
impl SaveState for Collector {
    fn save_to(&self, to: &mut Vec<u8>) {
        let Collector {
            scheme: _,
            kinds: _,
            point,
            dise: _,
            streams: _,
            sets: _,
            tail_calls: _,
            tables: _,
            accumulator: _,
        } = self;
        save_value(point, to);
        self.lock().save_to(to);
    }

    fn restore_from(&mut self, from: &mut Saved<'_>) -> Result<(), StateError> {
        self.point = from.value()?;
        self.lock().restore_from(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn tables_are_read_as_the_handlers_write_them() {
        let (addresses, lost) = methods(
            &bytes(&[0, 5, 0x1001, 3, 0, 0, 0x2003, 1, JUMP_MARK | 0x3001, 4]),
            None,
        );
        assert_eq!(
            (addresses.sorted(), lost),
            (vec![(0x1000, 3), (0x2002, 1)], 5)
        );
        let (pairs, lost) = call_pairs(&bytes(&[0, 0, 7, 0, 0x10, 0x20, 2, 0, 0, 0, 0, 0]), None);
        assert_eq!(
            (
                pairs.weight(&CallPair {
                    site: 0x10,
                    target: 0x20
                }),
                pairs.len(),
                lost
            ),
            (2, 1, 7)
        );
        assert!(methods(&[], None).0.is_empty());
    }

    #[test]
    fn bursts_are_told_apart_by_their_numbers() {
        let trace = bytes(&[0x10, 0x18, 1 << 48 | 0x20, 3 << 48 | 0x28, 3 << 48 | 0x30]);
        let recorded = |point| {
            let mut accumulator = Accumulator::new(None, point).unwrap();
            accumulator.take(&trace[..24]);
            accumulator.take(&trace[24..]);
            accumulator.into_recorder()
        };
        let sampled = recorded(SamplePoint {
            burst: 2,
            sparsity: 2,
        });
        assert_eq!((sampled.references(), sampled.bursts()), (5, 3));
        let whole = recorded(SamplePoint {
            burst: 2,
            sparsity: 0,
        });
        assert_eq!((whole.references(), whole.bursts()), (5, 1));
    }
}
