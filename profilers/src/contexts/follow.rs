//! Follows returns and indirect jumps: to the caller, out of nested calls, and to other stacks.
//!
//! A return that goes where its call says, at the stack pointer of the call, ends the call. All others are told
//! apart by where they go and by the memory that the stack pointer is in.

use std::collections::BTreeMap;

use super::stack::{Frame, Kind, NOWHERE, Stack};
use super::{ContextTree, Entered, NodeId};
use hps_isa::layout;
use serde::{Deserialize, Serialize};

/// Stacks that are kept while they do not run.
const MAX_PARKED: usize = 1 << 16;

/// The stacks that do not run, by the highest stack pointer of each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Parked {
    stacks: BTreeMap<u64, (u64, Stack)>,
    /// How often execution went from one stack to another.
    pub switches: u64,
}

hps_isa::save_values!(Parked);

impl Parked {
    /// The stack whose memory a stack pointer would lie in.
    fn below(&self, stack_pointer: u64) -> Option<(u64, &Stack)> {
        let (&base, (_, stack)) = self.stacks.range(stack_pointer..).next()?;
        Some((base, stack))
    }

    fn take(&mut self, base: u64) -> Option<Stack> {
        self.stacks.remove(&base).map(|(_, stack)| stack)
    }

    /// Keeps a stack until it runs again.
    fn park(&mut self, stack: Stack) {
        self.switches += 1;
        let now = self.switches;
        // A stack that was parked before this one began, and lies within it, has ended: its memory is this one's.
        let ended = self.stacks.range(..=stack.base).rev();
        let ended = ended.take_while(|&(&base, _)| stack.holds(base));
        let ended: Vec<u64> = ended
            .filter(|(_, (parked, _))| *parked <= stack.began)
            .map(|(&base, _)| base)
            .collect();
        for base in ended {
            self.stacks.remove(&base);
        }
        if self.stacks.len() < MAX_PARKED {
            self.stacks.insert(stack.base, (now, stack));
        }
    }
}

impl ContextTree {
    /// Whether a handler of a signal returns by code at this address, which ends the signal.
    fn ends_signals(&self, target: u64) -> bool {
        layout::is_signal_return(target) || self.functions.begins_function(target)
    }

    /// A return that is not that of the innermost call.
    #[cold]
    #[inline(never)]
    pub(super) fn return_elsewhere(&mut self, target: u64, sp: u64) {
        if self.stack.is_beyond() {
            self.stack.return_beyond();
            return;
        }
        match self.stack.last().copied() {
            Some(last) if last.is_signal() => {
                if last.returns_to == target {
                    // The handler has put a call in front of what it interrupted.
                    self.end_innermost();
                } else if self.ends_signals(target) || !self.leaves_handler(target, sp) {
                    self.end_handler();
                }
            }
            _ if layout::TRAMPOLINE == target => self.end_handler(),
            _ if self.resume(target, sp) => {}
            Some(last) if last.returns_to == target => self.return_at(sp, last),
            _ if self.functions.begins_function(target) => self.enter_or_begin(target, sp),
            _ => self.go_to(target, sp),
        }
        self.stack.note(sp);
    }

    /// A handler returns to code that was not its caller: a jump out of the handler, or a switch of stacks.
    fn leaves_handler(&mut self, target: u64, sp: u64) -> bool {
        if self.resume(target, sp) {
            return true;
        }
        let around = self.stack.around(sp);
        if let Some(around) = around {
            self.end_frames_from(around);
        }
        around.is_some()
    }

    /// The handler of the innermost signal has returned: what ends the signal comes next.
    fn end_handler(&mut self) {
        if let Some(at) = self.stack.innermost_signal() {
            self.end_frames_from(at + 1);
            self.stack.frame_mut(at).kind = Kind::EndingSignal;
        }
    }

    /// A return to the caller at another stack pointer than that of the call.
    fn return_at(&mut self, sp: u64, last: Frame) {
        if sp > last.stack_pointer
            && let Some(around) = self.stack.around(sp)
        {
            // Several calls of a function by itself return at once.
            self.end_frames_from(around);
            return;
        }
        if !self.stack.is_near(sp) {
            self.stack.relocate(self.stack.depth() - 1, sp);
        }
        self.end_innermost();
    }

    /// A system call that ends signals has loaded registers without a signal (`setcontext` on Alpha).
    pub(super) fn load_context(&mut self, pc: u64, sp: u64) {
        if self.resume(pc, sp) {
        } else if self.functions.begins_function(pc) {
            self.enter_or_begin(pc, sp);
        } else {
            self.go_to(pc, sp);
        }
        self.stack.note(sp);
    }

    /// A jump or return to the beginning of a function: a tail call, or on another stack a coroutine begins.
    fn enter_or_begin(&mut self, function: u64, sp: u64) {
        if self.stack.is_near(sp) {
            self.enter(function);
            return;
        }
        let stack = Stack::new(self.stack.root, sp, self.parked.switches);
        self.switch_to(stack);
        self.open(
            Entered::Stack,
            function,
            Frame {
                node: NodeId::ROOT,
                returns_to: NOWHERE,
                stack_pointer: sp,
                kind: Kind::Call,
            },
        );
    }

    /// Goes into the middle of a function that is under way: out of nested calls, or on another stack.
    fn go_to(&mut self, target: u64, sp: u64) {
        if let Some(around) = self.stack.around(sp) {
            self.end_frames_from(around);
        } else if let Some(base) = self.parked_at(sp) {
            self.resume_at(base, sp);
        } else if let Some(around) = self.stack.nearest_around(sp) {
            self.end_frames_from(around);
        } else if let Some(at) = self.stack.suspended_anywhere(target) {
            self.stack.relocate(at, sp);
            self.end_frames_from(at);
        } else {
            let stack = Stack::new(self.stack.root, sp, self.parked.switches);
            self.switch_to(stack);
        }
    }

    /// The stack that does not run and holds this stack pointer.
    fn parked_at(&self, sp: u64) -> Option<u64> {
        let (base, stack) = self.parked.below(sp)?;
        stack.holds(sp).then_some(base)
    }

    /// Goes on with another stack, inside nested calls.
    fn resume_at(&mut self, base: u64, sp: u64) {
        if let Some(stack) = self.parked.take(base) {
            self.switch_to(stack);
            if let Some(around) = self.stack.around(sp) {
                self.end_frames_from(around);
            }
        }
    }

    /// Goes on with the stack whose innermost call returns so, if there is one.
    fn resume(&mut self, target: u64, sp: u64) -> bool {
        let Some((base, stack)) = self.parked.below(sp) else {
            return false;
        };
        let Some(at) = stack.suspended(target, sp) else {
            return false;
        };
        if let Some(stack) = self.parked.take(base) {
            self.switch_to(stack);
            self.end_frames_from(at);
        }
        true
    }

    fn switch_to(&mut self, stack: Stack) {
        let before = std::mem::replace(&mut self.stack, stack);
        self.parked.park(before);
        self.here = self.stack.here();
    }

    /// An indirect jump: within the function, into another one, out of nested calls, or to another stack.
    #[inline]
    pub(super) fn jump_indirect(&mut self, pc: u64, target: u64, sp: u64) {
        match self.stack.last() {
            Some(last) if last.stack_pointer == sp => self.jump(pc, target),
            _ => self.jump_elsewhere(pc, target, sp),
        }
    }

    fn jump_elsewhere(&mut self, pc: u64, target: u64, sp: u64) {
        if self.resume(target, sp) {
            self.stack.note(sp);
            return;
        }
        let last = self.stack.last().copied();
        if let Some(function) = self.functions.tail_called(pc, target) {
            self.enter_or_begin(function, sp);
        } else if let Some(last) = last {
            if last.is_signal() && last.returns_to == target {
                self.end_innermost();
            } else if !last.is_signal() && sp > last.stack_pointer {
                self.go_to(target, sp);
            } else if !self.stack.reaches(sp)
                && let Some(base) = self.parked_at(sp)
            {
                self.resume_at(base, sp);
            }
        }
        self.stack.note(sp);
    }
}
