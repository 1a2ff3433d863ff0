//! Calling contexts: who called whom, exactly, from the stream of committed instructions.
//!
//! A call makes a frame with its return address and the stack pointer there. A return to that address at that stack
//! pointer ends it. A return to elsewhere (`longjmp`), and an indirect jump that finds the stack above a frame (the
//! landing pad of an exception), end all frames that the stack pointer has left. A jump to the entry of another
//! function is a tail call: the frame stays and its function changes. (Conditional branches never enter a function: no
//! compiler lets them.)
//!
//! Execution that goes elsewhere than the last instruction says has been interrupted by a signal: a frame opens that
//! returns to the interrupted address. It ends when execution is there again, or goes elsewhere behind the return of
//! the handler.
//!
//! Each thread has frames of its own, below the root, and so has each stack that a program makes itself. A return or
//! indirect jump to the entry of a function at a stack pointer far from that of the innermost call begins a stack; one
//! that goes where the innermost call of another stack returns, at the stack pointer of that call, goes on with that
//! stack. Where the innermost call returns at a stack pointer far away, its stack has been copied. Contexts are
//! approximate where a program switches stacks without a call, return or indirect jump, or jumps between two stacks
//! into the middle of functions that neither call nor were seen to be left there.

use hps_isa::ids::DisePc;
use hps_isa::inst::OpClass;
use hps_pipeline::core::{Commit, Origin};
use hps_system::interpreted::PathId;
use hps_system::symbols::{CodeWatch, Entries};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use children::Children;
use follow::Parked;
use stack::{Frame, Kind, Stack};

mod children;
mod follow;
mod interpreted;
mod stack;
mod units;

pub use units::ContextUnits;
pub(crate) use units::{Code, Place, UnitCounter};

/// A calling context, as a place in a [`ContextTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(u32);

hps_isa::save_values!(NodeId);

impl NodeId {
    /// The context in which the program begins.
    pub const ROOT: NodeId = NodeId(0);

    /// The node of a number, for tests that make none.
    #[cfg(test)]
    pub(crate) fn of_test(number: u32) -> NodeId {
        NodeId(number)
    }

    /// Index in [`ContextTree::nodes`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a context was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Entered {
    /// The program begins in it.
    Begin,
    /// The thread with this number begins in it; the program's first thread begins with the program.
    Thread(u32),
    /// By a call at this address.
    Call(u64),
    /// By a signal that interrupted execution at this address.
    Signal(u64),
    /// By a jump to a stack of its own: a coroutine begins in it.
    Stack,
    /// By an interpreter that executes the place of this number
    /// ([`Names::place`](hps_system::interpreted::Names::place)).
    Interpreted(u32),
}

impl Entered {
    /// The address at which execution left the context around it, if it did.
    #[must_use]
    pub fn site(self) -> Option<u64> {
        match self {
            Entered::Begin | Entered::Thread(_) | Entered::Stack | Entered::Interpreted(_) => None,
            Entered::Call(site) | Entered::Signal(site) => Some(site),
        }
    }
}

/// A calling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The context around it; of the root, itself.
    pub parent: NodeId,
    /// How it was entered.
    pub entered: Entered,
    /// The address at which its function was entered; 0 of an interpreted one.
    pub entry: u64,
    /// How often.
    pub calls: u64,
}

/// Stands for an unknown next instruction, since no instruction lies at this address.
const ANYTHING: u64 = u64::MAX;

/// Contexts that are told apart. Deeper ones belong to the context in which the limit was met.
const MAX_NODES: usize = 1 << 22;

/// All calling contexts of a run, and the one where execution is.
#[derive(Clone, Debug)]
pub struct ContextTree {
    nodes: Vec<Node>,
    children: Children,
    /// The stack that runs.
    stack: Stack,
    functions: Entries,
    watch: Option<CodeWatch>,
    /// Entries of all handlers that signals have entered.
    handlers: FxHashSet<u64>,
    here: NodeId,
    /// Where execution continues behind the last instruction, or [`ANYTHING`].
    expected: u64,
    /// The stack pointer that the last system call has loaded with all registers; 0 if it has not.
    loaded: u64,
    /// The thread that `stack`, `here` and `expected` are of; 0: none yet.
    thread: u32,
    first_thread: u32,
    /// Contexts of all other threads.
    others: FxHashMap<u32, (Stack, NodeId, u64)>,
    /// Stacks of coroutines that wait. They may go on in any thread.
    parked: Parked,
    /// Contexts by the context of a loop before a turn of its interpreter, and the paths of the turn.
    interpreted: FxHashMap<(NodeId, PathId, PathId), NodeId>,
}

hps_isa::save_state! {
    ContextTree {
        nodes, children, stack, functions: skip, watch: skip, handlers, here, expected, loaded,
        thread, first_thread, others, parked, interpreted,
    }
}

impl ContextTree {
    /// A tree with its root alone. `functions` tell tail calls from jumps, and so do those of code that `watch` tells of.
    #[must_use]
    pub fn new(functions: Entries, watch: Option<CodeWatch>) -> Self {
        ContextTree {
            nodes: vec![Node {
                parent: NodeId::ROOT,
                entered: Entered::Begin,
                entry: 0,
                calls: 1,
            }],
            children: Children::new(),
            stack: Stack::new(NodeId::ROOT, 0, 0),
            functions,
            watch,
            handlers: FxHashSet::default(),
            here: NodeId::ROOT,
            expected: ANYTHING,
            loaded: 0,
            thread: 0,
            first_thread: 0,
            others: FxHashMap::default(),
            parked: Parked::default(),
            interpreted: FxHashMap::default(),
        }
    }

    /// All contexts; each lies behind the one around it.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of the program's first thread; 0 if nothing has run.
    #[must_use]
    pub fn first_thread(&self) -> u32 {
        self.first_thread
    }

    /// The ids of all contexts, in the order of [`ContextTree::nodes`].
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
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

    /// Walks over all contexts, depth first. `see` is told of each twice: when it is entered (`true`) and when it is left.
    pub(crate) fn visit(&self, mut see: impl FnMut(NodeId, bool)) {
        let (mut at, mut next) = (NodeId::ROOT, Some(NodeId::ROOT));
        loop {
            if let Some(inner) = next {
                at = inner;
                see(at, true);
                next = self.children.newest_child(at);
            } else {
                see(at, false);
                if at == NodeId::ROOT {
                    return;
                }
                next = self.children.older_sibling(at);
                at = self.nodes[at.index()].parent;
            }
        }
    }

    /// The child of a context that is entered so; made if it is new.
    fn child(&mut self, parent: NodeId, entered: Entered, entry: u64) -> NodeId {
        match self.children.find(&self.nodes, parent, entered, entry) {
            Some(node) => {
                self.nodes[node.index()].calls += 1;
                node
            }
            None => self.add(parent, entered, entry),
        }
    }

    /// A new context; the one around it if there are as many as are told apart.
    fn add(&mut self, parent: NodeId, entered: Entered, entry: u64) -> NodeId {
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
        self.children.add(&self.nodes);
        node
    }

    /// Opens a frame in a context entered so.
    #[inline]
    fn open(&mut self, entered: Entered, entry: u64, frame: Frame) {
        if !self.stack.has_room() {
            return;
        }
        let node = self.child(self.here, entered, entry);
        self.stack.push(Frame { node, ..frame });
        self.here = node;
    }

    /// Ends all frames from this one on.
    fn end_frames_from(&mut self, first: usize) {
        self.stack.truncate(first);
        self.here = self.stack.here();
    }

    #[inline(always)]
    fn end_innermost(&mut self) {
        self.stack.pop();
        self.here = self.stack.here();
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

    /// Switches to a thread.
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
            self.first_thread = thread;
            return;
        }
        let (stack, here, expected) = self.others.remove(&thread).unwrap_or_else(|| {
            // A thread begins once: there is no such context yet.
            let root = self.add(NodeId::ROOT, Entered::Thread(thread), 0);
            let stack = Stack::new(root, 0, self.parked.switches);
            (stack, root, ANYTHING)
        });
        let stack = std::mem::replace(&mut self.stack, stack);
        let here = std::mem::replace(&mut self.here, here);
        let expected = std::mem::replace(&mut self.expected, expected);
        self.others.insert(before, (stack, here, expected));
    }

    #[inline(never)]
    fn arrive_elsewhere(&mut self, commit: &Commit) {
        if commit.origin == Origin::Handler {
            return;
        }
        match std::mem::replace(&mut self.expected, commit.pc) {
            ANYTHING => {
                let root = self.native(self.stack.root);
                let root = &mut self.nodes[root.index()];
                if root.entry == 0 {
                    root.entry = commit.pc;
                }
            }
            expected => self.arrive_unexpectedly(expected, commit.pc),
        }
    }

    /// A signal was delivered, or one has ended.
    fn arrive_unexpectedly(&mut self, expected: u64, pc: u64) {
        let loaded = std::mem::take(&mut self.loaded);
        let mut interrupted = expected;
        if let Some(at) = self.stack.signal_at(pc) {
            self.end_frames_from(at);
            return;
        }
        if let Some(last) = self.stack.last().copied()
            && last.kind == Kind::EndingSignal
        {
            self.end_innermost();
            if !self.handlers.contains(&pc) && !self.functions.begins_function(pc) {
                // The handler has changed where execution goes on.
                return;
            }
            // The next signal was waiting.
            interrupted = last.returns_to;
        }
        if loaded != 0 && interrupted == expected {
            self.load_context(pc, loaded);
            return;
        }
        self.handlers.insert(pc);
        self.open(
            Entered::Signal(interrupted),
            pc,
            Frame {
                node: NodeId::ROOT,
                returns_to: interrupted,
                stack_pointer: self.stack.stack_pointer,
                kind: Kind::Signal,
            },
        );
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
            // Of instructions that are not taken, system calls alone tell the stack pointer.
            self.loaded = commit.stack_pointer;
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
        if self.watch.as_ref().is_some_and(CodeWatch::is_changed) {
            self.renew();
        }
        let behind = commit.pc.wrapping_add(u64::from(commit.length));
        let (target, sp) = (commit.target, commit.stack_pointer);
        self.expected = target;
        match commit.class {
            OpClass::Call | OpClass::CallIndirect => {
                self.stack.note(sp);
                self.open(
                    Entered::Call(commit.pc),
                    target,
                    Frame {
                        node: NodeId::ROOT,
                        returns_to: behind,
                        stack_pointer: sp,
                        kind: Kind::Call,
                    },
                );
            }
            OpClass::Return => match self.stack.last() {
                Some(last)
                    if last.returns_to == target
                        && last.stack_pointer == sp
                        && !self.stack.is_beyond() =>
                {
                    self.end_innermost();
                    self.stack.note(sp);
                }
                _ => self.return_elsewhere(target, sp),
            },
            OpClass::JumpIndirect => self.jump_indirect(commit.pc, target, sp),
            OpClass::Jump => self.jump(commit.pc, target),
            _ => {}
        }
    }

    /// Takes the entries of code that the program has mapped.
    #[cold]
    #[inline(never)]
    fn renew(&mut self) {
        if let Some(symbols) = self.watch.as_mut().and_then(CodeWatch::news) {
            self.functions = self.functions.renewed(&symbols);
        }
    }

    /// A jump is a tail call if it enters another function.
    #[inline]
    fn jump(&mut self, pc: u64, target: u64) {
        if let Some(function) = self.functions.entered(pc, target) {
            self.enter(function);
        }
    }

    /// The innermost frame goes on with another function.
    fn enter(&mut self, function: u64) {
        let here = self.native(self.here);
        let Node {
            parent,
            entered,
            entry,
            ..
        } = self.nodes[here.index()];
        if function == entry || self.stack.is_beyond() || self.stack.last().is_none() {
            return;
        }
        let node = self.child(parent, entered, function);
        if let Some(last) = self.stack.last_mut() {
            last.node = node;
        }
        self.here = node;
    }
}
