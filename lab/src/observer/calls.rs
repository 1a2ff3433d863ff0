//! Calls and calling contexts as observers of call graphs find them, each beside what was.

use std::collections::VecDeque;

use hps_isa::editor::DecodeEditor;
use hps_isa::memory::Memory;
use hps_pipeline::core::{Chip, CyclesProbe};

use super::area::{
    CALLS, COUNT, ELEMENT_BYTES, LIMIT, ORPHANS, RING, RING_SAMPLES, STACK, TOP, place_bytes,
    sample_bytes,
};
use super::run::{memory, word};
use super::stack::{Active, Function};
use super::watch::Watch;
use super::{Reads, Sample, Signals};

/// The bits of a tag that are an address.
const ADDRESS: u64 = (1 << 48) - 1;

/// A call as an observer found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedCall {
    /// Caller: its tag (the function that was called or jumped to last), or a call site ([`Signals::CallPairs`]).
    pub caller: u64,
    /// Target of the call.
    pub callee: u64,
    /// True if the callee was called by the caller while both were read. Always true for calls out of rings, which are
    /// not written while they are read.
    pub is_one: bool,
}

/// A sample with its calling context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedContext {
    /// Stamps and counters; its tag is the innermost one.
    pub sample: Sample,
    /// Tags, the innermost first; 0 stands behind that with which the program began.
    pub tags: Vec<u64>,
    /// Number of calls under way, as the stack's top says.
    pub depth: u64,
    /// True if all these calls were under way while they were read.
    pub is_one: bool,
    /// The cycles in which the parts of the sample were read.
    pub reads: Reads,
}

/// One result of an observer of calls.
#[derive(Debug)]
pub enum SeenCall<'a> {
    /// A call.
    Call(ObservedCall),
    /// A context.
    Context(&'a ObservedContext),
}

/// The ring of samples of an observer of calls, as far as it has been read.
pub(super) struct CallLog {
    signals: Signals,
    pub taken: u64,
    stamps_are_short: bool,
    /// Place at which the call ring is full, and number of calls that the observer has found since that place moved.
    limit: u64,
    since: u64,
    /// Samples whose truth is not known yet: their words, and when they were read.
    waiting: VecDeque<(Vec<u64>, Reads)>,
}

impl CallLog {
    pub fn new(signals: Signals, stamps_are_short: bool) -> CallLog {
        CallLog {
            signals,
            taken: 0,
            stamps_are_short,
            limit: 0,
            since: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Takes all new samples, and gives those away whose truth is known: all of them, if the program has ended.
    pub fn empty<E: DecodeEditor>(
        &mut self,
        chip: &mut Chip<E, CyclesProbe>,
        has_ended: bool,
        see: &mut dyn FnMut(SeenCall<'_>),
    ) -> Result<(), String> {
        let bytes = sample_bytes(self.signals);
        let count = word(memory(chip.process_mut())?, COUNT)?;
        if count - self.taken > RING_SAMPLES {
            let more = count - self.taken;
            return Err(format!("{more} samples in one stretch of the run"));
        }
        if place_bytes(self.signals).is_some() {
            let limit = word(memory(chip.process_mut())?, LIMIT)?;
            self.since = match limit == self.limit {
                true => self.since + count - self.taken,
                false => 0,
            };
            self.limit = limit;
        }
        while self.taken < count {
            let at = RING + self.taken % RING_SAMPLES * bytes;
            let mem = memory(chip.process_mut())?;
            let words: Result<Vec<u64>, String> =
                (0..bytes / 8).map(|n| word(mem, at + 8 * n)).collect();
            self.taken += 1;
            let watch: &mut Watch = chip.probe_mut().probe_mut();
            let reads = watch.reads.pop_front();
            let reads = reads.ok_or("a sample that nothing has read")?;
            self.waiting.push_back((words?, reads));
        }
        self.give(chip.probe_mut().probe_mut(), has_ended, see);
        if has_ended {
            self.left(memory(chip.process_mut())?, see)?;
        }
        Ok(())
    }

    fn give(&mut self, watch: &mut Watch, has_ended: bool, see: &mut dyn FnMut(SeenCall<'_>)) {
        let Watch {
            stack, reckoning, ..
        } = watch;
        let Some(stack) = stack else { return };
        while let Some((words, reads)) = self.waiting.front() {
            match self.signals {
                Signals::Context { depth, .. } => {
                    if !has_ended && !stack.knows_beyond(reads.walk.1) {
                        break;
                    }
                    let mut context = context(words, depth, reads);
                    if self.stamps_are_short {
                        context.sample = context.sample.with_long_stamps(reads);
                    }
                    let tags = context.tags.iter();
                    let tags: Vec<Function> = tags.map(|tag| stack.functions.at(*tag)).collect();
                    context.is_one =
                        stack.ever(reads.walk.0, reads.walk.1, |calls| is_top_of(calls, &tags));
                    see(SeenCall::Context(&context));
                    reckoning.forget(reads.start);
                }
                _ => {
                    let from_stack = matches!(self.signals, Signals::NewCalls { .. });
                    if from_stack && !has_ended && !stack.knows_beyond(reads.tag) {
                        break;
                    }
                    let (caller, callee) = (words[0] & ADDRESS, words[1] & ADDRESS);
                    let wanted = [stack.functions.at(caller), stack.functions.at(callee)];
                    let is_one = !from_stack
                        || stack.ever(reads.walk.1, reads.tag, |calls| {
                            let is_it = |p: &[Active]| [p[0].runs, p[1].called] == wanted;
                            calls.windows(2).any(is_it)
                        });
                    see(SeenCall::Call(ObservedCall {
                        caller,
                        callee,
                        is_one,
                    }));
                }
            }
            self.waiting.pop_front();
        }
        match self.signals {
            Signals::Context { .. } => {}
            Signals::NewCalls { .. } => reckoning.forget_all(),
            _ => {
                reckoning.forget_all();
                stack.forget_all();
            }
        }
    }

    /// Calls that lie in the ring when the program has ended: as the observer would find them.
    fn left(&self, mem: &mut Memory, see: &mut dyn FnMut(SeenCall<'_>)) -> Result<(), String> {
        let (Signals::CallPairs { bytes } | Signals::CallSequence { bytes }) = self.signals else {
            return Ok(());
        };
        let step = place_bytes(self.signals).unwrap_or(bytes);
        let behind = |place: u64| CALLS + (place + step - CALLS) % bytes;
        let (mut at, end, mut callers) = (behind(word(mem, LIMIT)?), word(mem, TOP)?, Vec::new());
        // The observer may be reading this stretch of the ring: it has found `since` calls of it.
        let mut known = match end == self.limit {
            true => self.since,
            false => 0,
        };
        let mut call = |caller, callee| {
            if known > 0 {
                known -= 1;
                return;
            }
            see(SeenCall::Call(ObservedCall {
                caller,
                callee,
                is_one: true,
            }));
        };
        while at != end {
            let first = word(mem, at)?;
            if step == 16 {
                call(first, word(mem, at + 8)?);
            } else if first & 1 != 0 {
                callers.pop();
            } else if first & !ADDRESS != 0 {
                if let Some(caller) = callers.last_mut() {
                    *caller = first & ADDRESS;
                }
            } else {
                if let Some(caller) = callers.last() {
                    call(*caller, first);
                }
                callers.push(first);
            }
            at = behind(at);
        }
        Ok(())
    }
}

/// Calls in the ring whose caller it does not tell.
pub(super) fn orphans(mem: &mut Memory, signals: Signals) -> Result<u64, String> {
    match signals {
        Signals::CallSequence { .. } => word(mem, ORPHANS),
        _ => Ok(0),
    }
}

fn context(words: &[u64], depth: usize, reads: &Reads) -> ObservedContext {
    let tags: Vec<u64> = words[5..][..depth]
        .iter()
        .map(|tag| tag & ADDRESS)
        .take_while(|tag| *tag != 0)
        .collect();
    ObservedContext {
        sample: Sample {
            start: words[0],
            counters: [words[1], words[2], 0],
            end: words[3],
            thread: 0,
            tag: tags.first().copied().unwrap_or(0),
        },
        depth: (words[4] - STACK) / ELEMENT_BYTES,
        tags,
        is_one: false,
        reads: *reads,
    }
}

/// Whether functions, the innermost first, run in the innermost of all calls, the innermost last.
fn is_top_of(all: &[Active], tags: &[Function]) -> bool {
    let running = all.iter().rev().map(|call| &call.runs);
    tags.len() <= all.len() && tags.iter().eq(running.take(tags.len()))
}
