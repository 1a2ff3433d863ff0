//! Calling contexts: who called whom, exactly, from the stream of committed instructions.
//!
//! A call makes a frame with its return address and the stack pointer there. A return to that address ends it. A
//! return to elsewhere (`longjmp`), and an indirect jump that finds the stack above a frame (the landing pad of an
//! exception), end all frames that the stack pointer has left. A jump to the entry of another function is a tail
//! call: the frame stays and its function changes. (Conditional branches never enter a function: no compiler lets
//! them.) Execution that goes elsewhere than the last instruction says (a
//! signal is delivered, or its handler has returned) opens a frame that returns to the interrupted address, or
//! ends it. Each thread has frames of its own, below the root.

use hps_pipeline::core::{Commit, Origin};
use hps_sim_core::ids::DisePc;
use hps_sim_core::inst::OpClass;
use hps_sim_core::symbols::Entries;
use rustc_hash::FxHashMap;

/// A calling context, as a place in a [`ContextTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The context in which the program begins.
    pub const ROOT: NodeId = NodeId(0);

    /// Its place in [`ContextTree::nodes`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a context was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entered {
    /// The program begins in it.
    Begin,
    /// By a call at this address.
    Call(u64),
    /// By a signal that interrupted execution at this address.
    Signal(u64),
}

/// A calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The context around it; of the root, itself.
    pub parent: NodeId,
    /// How it was entered.
    pub entered: Entered,
    /// The address at which its function was entered.
    pub entry: u64,
    /// How often.
    pub calls: u64,
}

/// An open frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: NodeId,
    /// Execution goes on there when it ends.
    returns_to: u64,
    /// The stack pointer at the call; none of a frame that a signal has opened.
    stack_pointer: Option<u64>,
}

/// Stands for an unknown next instruction, since no instruction lies at this address.
const ANYTHING: u64 = u64::MAX;

/// Frames that are kept open; a program that recurses deeper loses its outermost contexts' returns.
const MAX_DEPTH: usize = 1 << 16;
/// Contexts that are told apart. Deeper ones belong to the context in which the limit was met.
const MAX_NODES: usize = 1 << 22;

/// All calling contexts of a run, and the one where execution is.
#[derive(Clone, Debug)]
pub struct ContextTree {
    nodes: Vec<Node>,
    children: FxHashMap<(NodeId, Entered, u64), NodeId>,
    frames: Vec<Frame>,
    functions: Entries,
    here: NodeId,
    /// Where execution continues behind the last instruction, or [`ANYTHING`].
    expected: u64,
    has_begun: bool,
    /// The thread that `frames`, `here` and `expected` are of; 0: none yet.
    thread: u32,
    /// Those of all other threads.
    others: FxHashMap<u32, (Vec<Frame>, NodeId, u64)>,
}

impl ContextTree {
    /// A tree with its root alone. `functions` tell tail calls from jumps.
    #[must_use]
    pub fn new(functions: Entries) -> Self {
        ContextTree {
            nodes: vec![Node {
                parent: NodeId::ROOT,
                entered: Entered::Begin,
                entry: 0,
                calls: 1,
            }],
            children: FxHashMap::default(),
            frames: Vec::new(),
            functions,
            here: NodeId::ROOT,
            expected: ANYTHING,
            has_begun: false,
            thread: 0,
            others: FxHashMap::default(),
        }
    }

    /// All contexts; each lies behind the one around it.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The context in which execution is.
    #[inline]
    #[must_use]
    pub fn here(&self) -> NodeId {
        self.here
    }

    /// The contexts around a context, the innermost first, itself included.
    pub fn path(&self, node: NodeId) -> impl Iterator<Item = &Node> {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let at = next?;
            let node = &self.nodes[at.index()];
            next = (at != NodeId::ROOT).then_some(node.parent);
            Some(node)
        })
    }

    /// The child of a context that is entered so; made if it is new.
    fn child(&mut self, parent: NodeId, entered: Entered, entry: u64) -> NodeId {
        if let Some(&node) = self.children.get(&(parent, entered, entry)) {
            self.nodes[node.index()].calls += 1;
            return node;
        }
        if self.nodes.len() >= MAX_NODES {
            return parent;
        }
        let node = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            parent,
            entered,
            entry,
            calls: 1,
        });
        self.children.insert((parent, entered, entry), node);
        node
    }

    fn open(&mut self, entered: Entered, entry: u64, frame: (u64, Option<u64>)) {
        if self.frames.len() >= MAX_DEPTH {
            return;
        }
        let node = self.child(self.here, entered, entry);
        let (returns_to, stack_pointer) = frame;
        self.frames.push(Frame {
            node,
            returns_to,
            stack_pointer,
        });
        self.here = node;
    }

    /// Ends all frames from this one on.
    fn end_frames_from(&mut self, first: usize) {
        self.frames.truncate(first);
        self.here = self.frames.last().map_or(NodeId::ROOT, |f| f.node);
    }

    /// Execution has come to this instruction, which is about to commit. May be told twice.
    #[inline(always)]
    pub fn arrive(&mut self, commit: &Commit) {
        if commit.thread != self.thread {
            self.take_turn(commit.thread);
        }
        if commit.pc != self.expected {
            self.arrive_elsewhere(commit);
        }
    }

    /// The thread of the last commit; 0: none yet.
    pub(crate) fn thread(&self) -> u32 {
        self.thread
    }

    /// What comes next is of a thread.
    pub(crate) fn turn_to(&mut self, thread: u32) {
        if thread != self.thread {
            self.take_turn(thread);
        }
    }

    /// Another thread goes on where it was, or begins.
    #[cold]
    #[inline(never)]
    fn take_turn(&mut self, thread: u32) {
        let before = std::mem::replace(&mut self.thread, thread);
        if before == 0 {
            return;
        }
        let fresh = (Vec::new(), NodeId::ROOT, ANYTHING);
        let (frames, here, expected) = self.others.remove(&thread).unwrap_or(fresh);
        let frames = std::mem::replace(&mut self.frames, frames);
        let here = std::mem::replace(&mut self.here, here);
        let expected = std::mem::replace(&mut self.expected, expected);
        self.others.insert(before, (frames, here, expected));
    }

    #[inline(never)]
    fn arrive_elsewhere(&mut self, commit: &Commit) {
        if commit.origin == Origin::Handler {
            return;
        }
        match std::mem::replace(&mut self.expected, commit.pc) {
            ANYTHING if !self.has_begun => {
                self.has_begun = true;
                self.nodes[0].entry = commit.pc;
            }
            ANYTHING => {}
            expected => self.arrive_unexpectedly(expected, commit.pc),
        }
    }

    /// A signal was delivered, or a handler of one has returned.
    fn arrive_unexpectedly(&mut self, expected: u64, pc: u64) {
        let is_end = |f: &Frame| f.stack_pointer.is_none() && f.returns_to == pc;
        match self.frames.iter().rposition(is_end) {
            Some(at) => self.end_frames_from(at),
            None => self.open(Entered::Signal(expected), pc, (expected, None)),
        }
    }

    /// Execution was interrupted at an instruction, which has trapped.
    pub(crate) fn interrupted(&mut self, pc: u64) {
        self.expected = pc;
    }

    /// The instruction has committed.
    #[inline(always)]
    pub fn leave(&mut self, commit: &Commit) {
        if commit.origin == Origin::Program && !commit.taken && commit.disepc == DisePc::NONE {
            self.expected = commit.pc.wrapping_add(u64::from(commit.length));
        } else {
            self.leave_elsewhere(commit);
        }
    }

    #[inline(never)]
    fn leave_elsewhere(&mut self, commit: &Commit) {
        if commit.origin == Origin::Handler {
            return;
        }
        if !commit.taken {
            self.expected = ANYTHING;
            return;
        }
        let behind = commit.pc.wrapping_add(u64::from(commit.length));
        let (target, sp) = (commit.target, commit.stack_pointer);
        self.expected = target;
        match commit.class {
            OpClass::Call | OpClass::CallIndirect => {
                self.open(Entered::Call(commit.pc), target, (behind, Some(sp)));
            }
            OpClass::Return => self.return_to(target, sp),
            OpClass::JumpIndirect => self.jump(commit.pc, target, Some(sp)),
            OpClass::Jump => self.jump(commit.pc, target, None),
            _ => {}
        }
    }

    /// A return: of the innermost frame, or past it.
    #[inline]
    fn return_to(&mut self, target: u64, sp: u64) {
        match self.frames.last() {
            Some(last) if last.returns_to == target => {
                let last = self.frames.len() - 1;
                self.end_frames_from(last);
            }
            Some(_) => self.unwind(|f| f.stack_pointer.is_none_or(|of| of <= sp)),
            None => {}
        }
    }

    /// Ends the innermost frames that have been left.
    fn unwind(&mut self, is_left: impl Fn(&Frame) -> bool) {
        let stays = self.frames.iter().rposition(|f| !is_left(f));
        self.end_frames_from(stays.map_or(0, |at| at + 1));
    }

    /// A jump is a tail call if it enters another function, and an unwinding if the stack lies above a frame.
    #[inline]
    fn jump(&mut self, pc: u64, target: u64, sp: Option<u64>) {
        if let (Some(sp), Some(last)) = (sp, self.frames.last())
            && last.stack_pointer.is_some_and(|of| of < sp)
        {
            self.unwind(|f| f.stack_pointer.is_some_and(|of| of <= sp));
            return;
        }
        let Node {
            parent,
            entered,
            entry,
            ..
        } = self.nodes[self.here.index()];
        let Some(function) = self.functions.entered(pc, target) else {
            return;
        };
        if let Some(frame) = self.frames.last().copied()
            && function != entry
        {
            let node = self.child(parent, entered, function);
            if let Some(last) = self.frames.last_mut() {
                *last = Frame { node, ..frame };
            }
            self.here = node;
        }
    }
}
