//! Calls under way in each cycle.
//!
//! A call is under way from its commit to the commit of its return. Productions write their records of it into memory a
//! few instructions earlier, so that a reader may know of calls that have yet to commit. Questions about a time are
//! therefore answered with the state behind it, too.

use std::collections::VecDeque;
use std::sync::Arc;

use hps_isa::inst::OpClass;
use hps_pipeline::core::Commit;
use hps_system::image::ProgramImage;
use rustc_hash::FxHashMap;

/// A function, by its place in the list of symbols; [`ELSEWHERE`] for code without one.
pub type Function = usize;

/// Code that belongs to no function.
pub const ELSEWHERE: Function = usize::MAX;

/// The functions of a program, by address.
#[derive(Clone, Debug)]
pub struct Functions {
    image: Arc<ProgramImage>,
    known: FxHashMap<u64, Function>,
}

impl Functions {
    pub fn new(image: Arc<ProgramImage>) -> Functions {
        Functions {
            image,
            known: FxHashMap::default(),
        }
    }

    /// The function at an address.
    pub fn at(&mut self, addr: u64) -> Function {
        let image = &self.image;
        *self
            .known
            .entry(addr)
            .or_insert_with(|| image.symbols.function_index(addr).unwrap_or(ELSEWHERE))
    }
}

/// A call that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Active {
    /// The function that was called.
    pub called: Function,
    /// The function that runs: the called one, or the target of the last tail call out of it.
    pub runs: Function,
}

impl Active {
    fn of(function: Function) -> Active {
        Active {
            called: function,
            runs: function,
        }
    }
}

/// A call, with the address and the stack pointer of the return that ends it.
#[derive(Clone, Copy, Debug)]
struct Frame {
    active: Active,
    returns_to: u64,
    stack_pointer: u64,
}

/// A change of the calls under way: a call begins, calls end, or a tail call replaces a call's function.
#[derive(Clone, Debug)]
enum Change {
    Begins(Function),
    /// The calls that end, the innermost last.
    End(Vec<Active>),
    /// The function that jumps, and the target.
    Jumps(Function, Function),
}

/// The calls under way, now and since the earliest cycle that can be asked about.
#[derive(Clone, Debug)]
pub struct CallStack {
    /// The function that runs outside of all calls.
    bottom: Function,
    frames: Vec<Frame>,
    /// Calls under way before the first change in `changes`.
    earlier: Vec<Active>,
    changes: VecDeque<(u64, Change)>,
    pub functions: Functions,
}

impl CallStack {
    /// The calls under way when the program begins at `entry`: none.
    pub fn new(mut functions: Functions, entry: u64) -> CallStack {
        let bottom = functions.at(entry);
        CallStack {
            bottom,
            frames: Vec::new(),
            earlier: vec![Active::of(bottom)],
            changes: VecDeque::new(),
            functions,
        }
    }

    /// Number of calls under way.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The second innermost function and the innermost one. The beginning of the program is around all calls, and
    /// [`ELSEWHERE`] around the beginning.
    pub fn innermost(&self) -> (Function, Function) {
        let function = |from_top: usize| match self.frames.len().checked_sub(from_top) {
            Some(at) => self.frames[at].active.runs,
            None if from_top == self.frames.len() + 1 => self.bottom,
            None => ELSEWHERE,
        };
        (function(2), function(1))
    }

    /// Notes a taken call, return or jump that commits. Gives whether calls under way have changed.
    pub fn commit(&mut self, commit: &Commit) -> bool {
        let change = match commit.class {
            OpClass::Call | OpClass::CallIndirect => {
                let function = self.functions.at(commit.target);
                self.frames.push(Frame {
                    active: Active::of(function),
                    returns_to: commit.pc + u64::from(commit.length),
                    stack_pointer: commit.stack_pointer,
                });
                Change::Begins(function)
            }
            OpClass::Jump | OpClass::JumpIndirect => {
                let to = self.functions.at(commit.target);
                let running = match self.frames.last_mut() {
                    Some(frame) => &mut frame.active.runs,
                    None => &mut self.bottom,
                };
                let from = std::mem::replace(running, to);
                if from == to {
                    return false;
                }
                Change::Jumps(from, to)
            }
            OpClass::Return => {
                let ends = |frame: &Frame| frame.stack_pointer <= commit.stack_pointer;
                let first = match self.frames.last() {
                    Some(last) if last.returns_to == commit.target => self.frames.len() - 1,
                    // The return goes elsewhere: `longjmp` or a signal's end. Frames above that of the target have
                    // ended.
                    _ => {
                        let stays = self.frames.iter().rposition(|frame| !ends(frame));
                        stays.map_or(0, |last| last + 1)
                    }
                };
                if first == self.frames.len() {
                    return false;
                }
                Change::End(self.frames.drain(first..).map(|f| f.active).collect())
            }
            _ => return false,
        };
        self.changes.push_back((commit.cycle, change));
        true
    }

    /// Whether the state behind this cycle is known.
    pub fn knows_beyond(&self, cycle: u64) -> bool {
        self.changes.back().is_some_and(|(of, _)| *of > cycle)
    }

    /// Forgets changes before a cycle. Questions may only be about later ones.
    pub fn forget(&mut self, cycle: u64) {
        while let Some((of, _)) = self.changes.front()
            && *of < cycle
        {
            if let Some((_, change)) = self.changes.pop_front() {
                apply(&mut self.earlier, &change);
            }
        }
    }

    /// Forgets all changes.
    pub fn forget_all(&mut self) {
        self.forget(u64::MAX);
    }

    /// Whether `is_such` holds for the calls under way, the innermost last, in any state from cycle `from` to the first
    /// one behind cycle `to`.
    pub fn ever(&mut self, from: u64, to: u64, mut is_such: impl FnMut(&[Active]) -> bool) -> bool {
        self.forget(from);
        let mut applied = 0;
        let mut found = is_such(&self.earlier);
        while !found && applied < self.changes.len() {
            let (cycle, change) = &self.changes[applied];
            apply(&mut self.earlier, change);
            applied += 1;
            found = is_such(&self.earlier);
            if *cycle > to {
                break;
            }
        }
        for (_, change) in self.changes.range(..applied).rev() {
            undo(&mut self.earlier, change);
        }
        found
    }
}

fn apply(calls: &mut Vec<Active>, change: &Change) {
    match change {
        Change::Begins(function) => calls.push(Active::of(*function)),
        Change::End(ended) => calls.truncate(calls.len() - ended.len()),
        Change::Jumps(_, to) => jump(calls, *to),
    }
}

fn undo(calls: &mut Vec<Active>, change: &Change) {
    match change {
        Change::Begins(_) => calls.truncate(calls.len() - 1),
        Change::End(ended) => calls.extend(ended),
        Change::Jumps(from, _) => jump(calls, *from),
    }
}

fn jump(calls: &mut [Active], to: Function) {
    if let Some(last) = calls.last_mut() {
        last.runs = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hps_isa::asm::program::assemble;
    use hps_isa::ids::DisePc;
    use hps_isa::isa::Isa;
    use hps_pipeline::core::{ContextId, EventSet, Origin};

    /// Four functions of four bytes each, from the beginning on.
    fn stack() -> (CallStack, u64) {
        let text =
            ".globl a\n.globl b\n.globl c\n.globl d\n_start: a: nop\nb: nop\nc: nop\nd: nop\n";
        let assembled = assemble(Isa::Alpha, text).expect("it is assembled");
        let image = ProgramImage::parse(&assembled.file, "four").expect("it is an executable");
        let entry = image.entry;
        (
            CallStack::new(Functions::new(Arc::new(image)), entry),
            entry,
        )
    }

    fn commit(class: OpClass, cycle: u64, (pc, target): (u64, u64), stack_pointer: u64) -> Commit {
        Commit {
            context: ContextId::FIRST,
            thread: 1,
            program: 1,
            cycle,
            position: cycle,
            pc,
            disepc: DisePc::NONE,
            origin: Origin::Program,
            class,
            length: 4,
            dispatch_cycle: cycle,
            events: EventSet::NONE,
            addr: 0,
            target,
            stack_pointer,
            taken: true,
        }
    }

    #[test]
    fn states_between_two_cycles_and_behind_them_are_found() {
        let (mut stack, a) = stack();
        let mut of = |addr| stack.functions.at(addr);
        let [fa, fb, fc, fd] = [of(a), of(a + 4), of(a + 8), of(a + 12)];
        assert!(fa != fb && fb != fc && fc != fd);
        stack.commit(&commit(OpClass::Call, 10, (a, a + 4), 64));
        stack.commit(&commit(OpClass::Call, 20, (a + 4, a + 8), 48));
        stack.commit(&commit(OpClass::Jump, 25, (a + 8, a + 12), 0));
        stack.commit(&commit(OpClass::Return, 30, (a + 12, a + 8), 48));
        let was = |stack: &mut CallStack, from, to, wanted: &[Function]| {
            stack.ever(from, to, |calls| {
                calls.iter().map(|c| c.runs).eq(wanted.iter().copied())
            })
        };
        assert!(was(&mut stack, 10, 15, &[fa]));
        assert!(was(&mut stack, 10, 15, &[fa, fb]));
        assert!(was(&mut stack, 11, 15, &[fa, fb, fc]), "the state behind");
        assert!(!was(&mut stack, 11, 15, &[fa, fb, fd]));
        assert!(!was(&mut stack, 11, 15, &[fa]));
        assert!(was(&mut stack, 21, 24, &[fa, fb, fd]), "the tail call");
        let tail = Active {
            called: fc,
            runs: fd,
        };
        assert!(stack.ever(22, 24, |calls| calls.last() == Some(&tail)));
        assert!(was(&mut stack, 28, 40, &[fa, fb]));
        assert_eq!((stack.depth(), stack.innermost()), (1, (fa, fb)));
        assert!(stack.knows_beyond(29) && !stack.knows_beyond(30));
    }

    #[test]
    fn a_return_past_several_calls_ends_them_and_one_of_a_signal_handler_none() {
        let (mut stack, a) = stack();
        let [fa, fb, fc] = [a, a + 4, a + 8].map(|addr| stack.functions.at(addr));
        for (at, target, stack_pointer) in [(1, a + 4, 640), (2, a + 8, 480), (3, a + 12, 320)] {
            stack.commit(&commit(OpClass::Call, at, (a, target), stack_pointer));
        }
        assert!(!stack.commit(&commit(OpClass::Return, 4, (a + 12, 77), 160)));
        assert_eq!(stack.depth(), 3);
        assert!(stack.commit(&commit(OpClass::Return, 5, (a + 12, 77), 480)));
        assert_eq!(stack.innermost(), (fa, fb));
        assert_ne!(fb, fc);
    }
}
