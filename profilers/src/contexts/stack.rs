//! A stack of open calls, and where a stack pointer lies on it.

use serde::{Deserialize, Serialize};

use super::NodeId;

/// Stack pointers as near as this are of one function: a call and its tail calls.
const NEAR: u64 = 512;
/// Stack pointers farther apart than this are of different stacks.
const FAR: u64 = 1 << 20;
/// Frames of one stack that are kept open. Calls below them are counted alone.
const MAX_DEPTH: usize = 1 << 22;

/// No code returns to this address.
pub(super) const NOWHERE: u64 = u64::MAX;

/// Reason for which a frame is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A call, or the beginning of a coroutine.
    Call,
    /// A signal, whose handler runs.
    Signal,
    /// A signal, whose handler has returned to the code that ends it.
    EndingSignal,
}

/// An open frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Frame {
    pub node: NodeId,
    /// Execution goes on there when it ends.
    pub returns_to: u64,
    /// The stack pointer at the call; of a signal, the last one that is known of the code that it interrupted.
    pub stack_pointer: u64,
    pub kind: Kind,
}

impl Frame {
    pub fn is_signal(&self) -> bool {
        self.kind != Kind::Call
    }

    /// Whether this frame lies in other memory than one that it has opened at a stack pointer.
    fn is_apart_from(&self, inner: u64) -> bool {
        self.is_signal() || inner > self.stack_pointer || self.stack_pointer - inner > FAR
    }
}

/// A stack of a thread or of a coroutine. Its frames lie in one or more *segments* of memory: a handler runs on an
/// alternate stack, a runtime calls its scheduler on another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stack {
    /// The context around its first call.
    pub root: NodeId,
    frames: Vec<Frame>,
    /// The first frame of each segment but the first.
    starts: Vec<usize>,
    /// Calls deeper than [`MAX_DEPTH`].
    beyond: u64,
    /// The highest stack pointer of the first segment.
    pub base: u64,
    /// The last stack pointer that is known; 0: none yet.
    pub stack_pointer: u64,
    /// When it began, as a number of switches between stacks.
    pub began: u64,
}

hps_isa::save_values!(Stack);

impl Stack {
    /// A stack without frames, for what begins at this stack pointer.
    pub fn new(root: NodeId, stack_pointer: u64, began: u64) -> Stack {
        Stack {
            root,
            frames: Vec::new(),
            starts: Vec::new(),
            beyond: 0,
            base: stack_pointer,
            stack_pointer,
            began,
        }
    }

    /// The context of the innermost call.
    #[inline(always)]
    pub fn here(&self) -> NodeId {
        self.frames.last().map_or(self.root, |f| f.node)
    }

    #[inline(always)]
    pub fn last(&self) -> Option<&Frame> {
        self.frames.last()
    }

    #[inline(always)]
    pub fn last_mut(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    /// Whether the innermost call lies so deep that it has no frame.
    #[inline(always)]
    pub fn is_beyond(&self) -> bool {
        self.beyond > 0
    }

    /// The innermost call without a frame has returned.
    pub fn return_beyond(&mut self) {
        self.beyond -= 1;
    }

    /// Whether another call has a frame; counts it if not.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let has_room = self.frames.len() < MAX_DEPTH;
        self.beyond += u64::from(!has_room);
        has_room
    }

    #[inline]
    pub fn push(&mut self, frame: Frame) {
        if let Some(outer) = self.frames.last()
            && outer.is_apart_from(frame.stack_pointer)
        {
            self.starts.push(self.frames.len());
        }
        self.frames.push(frame);
    }

    /// Ends all frames from this one on.
    #[inline]
    pub fn truncate(&mut self, first: usize) {
        self.frames.truncate(first);
        self.beyond = 0;
        while self.starts.last().is_some_and(|&start| start >= first) {
            self.starts.pop();
        }
    }

    /// Ends the innermost frame.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.truncate(self.frames.len().saturating_sub(1));
    }

    /// Notes a stack pointer of code that runs on this stack.
    #[inline(always)]
    pub fn note(&mut self, stack_pointer: u64) {
        self.stack_pointer = stack_pointer;
        if self.frames.is_empty() {
            self.base = self.base.max(stack_pointer);
        }
    }

    /// The place of the innermost signal that has not ended.
    pub fn innermost_signal(&self) -> Option<usize> {
        let place = match self.frames.last() {
            Some(last) if last.is_signal() => self.frames.len(),
            _ => {
                let starts = self.starts.iter().rev();
                *starts
                    .clone()
                    .find(|&&at| self.frames[at - 1].is_signal())?
            }
        };
        Some(place - 1)
    }

    /// The place of the innermost signal that interrupted execution at an address.
    pub fn signal_at(&self, pc: u64) -> Option<usize> {
        let mut tops = self.segments().map(|(_, end)| end - 1);
        tops.find(|&at| {
            let frame = &self.frames[at];
            frame.is_signal() && frame.returns_to == pc
        })
    }

    /// How many frames are open.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Whether a stack pointer can be that of the innermost function with all that it keeps on the stack.
    pub fn reaches(&self, stack_pointer: u64) -> bool {
        let last = self.frames.last().map_or(self.base, |f| f.stack_pointer);
        stack_pointer <= last && last - stack_pointer <= FAR
    }

    /// The place of the frame whose function has an address in its part of the stack.
    pub fn holder(&self, addr: u64) -> Option<usize> {
        self.segments().find_map(|(start, end)| {
            let frames = &self.frames[start..end];
            let at = frames.iter().rposition(|f| f.stack_pointer > addr)?;
            (frames[at].stack_pointer - addr <= FAR).then_some(start + at)
        })
    }

    /// A frame by its place.
    pub fn frame_mut(&mut self, at: usize) -> &mut Frame {
        &mut self.frames[at]
    }

    /// Whether this stack pointer is that of the innermost function.
    pub fn is_near(&self, stack_pointer: u64) -> bool {
        let here = match self.frames.last() {
            Some(last) if last.kind == Kind::Call => last.stack_pointer,
            Some(_) => return true,
            None => self.stack_pointer,
        };
        here == 0 || here.abs_diff(stack_pointer) <= NEAR
    }

    /// First and last place of each segment, the innermost first; the last is the one behind it.
    fn segments(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let ends = std::iter::once(self.frames.len()).chain(self.starts.iter().rev().copied());
        let starts = self.starts.iter().rev().copied().chain([0]);
        starts.zip(ends).filter(|(start, end)| start < end)
    }

    /// How many frames are around the code at a stack pointer, if it lies between frames of this stack.
    pub fn around(&self, stack_pointer: u64) -> Option<usize> {
        let sp = stack_pointer;
        for (start, end) in self.segments() {
            let segment = &self.frames[start..end];
            if segment[segment.len() - 1].stack_pointer > sp {
                continue;
            }
            let outer = segment.iter().rposition(|f| f.stack_pointer > sp);
            if let Some(outer) = outer {
                return Some(start + outer + 1);
            }
            if segment[0].stack_pointer == sp || start == 0 && sp <= self.base {
                return Some(start);
            }
        }
        None
    }

    /// How many frames are around the code at a stack pointer that lies a little below those of a segment: in the
    /// function that the innermost call of the segment has entered, and a signal has interrupted.
    pub fn nearest_around(&self, stack_pointer: u64) -> Option<usize> {
        let gaps = self.segments().filter_map(|(_, end)| {
            let last = &self.frames[end - 1];
            let gap = last.stack_pointer.checked_sub(stack_pointer)?;
            (gap <= FAR).then_some((gap, end - usize::from(last.is_signal())))
        });
        gaps.min_by_key(|&(gap, _)| gap).map(|(_, stay)| stay)
    }

    /// The place of the call that ends a segment, returns to this address, and does so at this stack pointer.
    pub fn suspended(&self, target: u64, stack_pointer: u64) -> Option<usize> {
        let found = self.suspended_anywhere(target)?;
        (self.frames[found].stack_pointer == stack_pointer).then_some(found)
    }

    /// The place of the innermost call that ends a segment and returns to this address.
    pub fn suspended_anywhere(&self, target: u64) -> Option<usize> {
        let mut tops = self.segments().map(|(_, end)| end - 1);
        tops.find(|&at| self.frames[at].returns_to == target)
    }

    /// The memory of the segment that ends with this frame has been copied to elsewhere: a stack has grown. The frame
    /// lies at this stack pointer now.
    pub fn relocate(&mut self, last: usize, stack_pointer: u64) {
        let start = self.starts.iter().rfind(|&&start| start <= last);
        let start = start.copied().unwrap_or(0);
        let by = stack_pointer.wrapping_sub(self.frames[last].stack_pointer);
        for frame in &mut self.frames[start..=last] {
            frame.stack_pointer = frame.stack_pointer.wrapping_add(by);
        }
        if start == 0 {
            self.base = self.base.wrapping_add(by);
        }
    }

    /// Whether a stack pointer lies in the memory that the first segment is known to use.
    pub fn holds(&self, stack_pointer: u64) -> bool {
        let end = self.starts.first().copied().unwrap_or(self.frames.len());
        let lowest = match end.checked_sub(1) {
            Some(last) => self.frames[last].stack_pointer,
            None => self.stack_pointer,
        };
        (lowest..=self.base).contains(&stack_pointer)
    }
}
