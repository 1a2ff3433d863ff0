//! Threaded code: the program as chains of micro-operations, for functional runs at speed.
//!
//! A block is a straight run of guest instructions translated once into an array of
//! [`MicroOp`]s. Each names the handler that executes it, a function generated from the
//! instruction table for its operation alone, and each handler ends by calling the next one
//! (threaded code; Bell, CACM 1973). Conditional branches are side exits: a block goes on behind
//! them. Exits with a known target are linked to the block there the first time they are taken;
//! indirect jumps look their target up in a small direct-mapped table.
//!
//! # Contracts
//!
//! - **Stack.** An optimizing compiler turns the calls between handlers into jumps. Nothing relies
//!   on it: fuel bounds how many handlers follow each other before they all return, so that the
//!   stack stays small in any build ([`FUEL`]).
//! - **Counting.** An exit subtracts from the fuel how many instructions of its block were executed.
//!   A block is entered with at least [`MAX_BLOCK`] instructions to go, so it never runs past a
//!   limit; the last few instructions before a limit are for the plain loop.
//! - **Exceptions.** What a handler cannot do alone (a system call, a CSR, an access that is refused
//!   by [`View`](crate::memory::View)) it leaves undone and returns, with the state precise: the machine
//!   executes that instruction in the plain way and comes back behind it.
//! - **Hot code.** With a translator, a micro-operation in front of each block counts its entries, and stops where there is
//!   compiled code or the translator is to be asked for it ([`Stop::Entry`]).
//! - **Code changes.** Blocks live as long as the decoded pages they were made from; whoever clears
//!   the [`CodeCache`](crate::code::CodeCache) clears them ([`Threaded::clear`]). Code can change only
//!   in instructions that end blocks: system calls and FENCE.I. (A store changes it only for those who
//!   execute a FENCE.I afterwards, as the architecture says; blocks read ahead of execution.)

mod fused;
mod handlers;
mod op;
mod translate;
mod variants;

use rustc_hash::FxHashMap;

use self::handlers::{enter, handler};
pub(crate) use self::op::{Handler, MicroOp};
use self::translate::translate;
use crate::code::CodeCache;
use crate::editor::DecodeEditor;
use crate::hart::Hart;
use crate::inst::Inst;
use crate::memory::Memory;
use crate::probe::Probe;
use crate::translator::Translator;

/// The most guest instructions in a block.
pub const MAX_BLOCK: u64 = 32;
/// The most instructions executed in one go: it bounds the stack of a build without tail calls to
/// twice `FUEL + MAX_BLOCK` frames of handlers, a few hundred kilobytes.
pub const FUEL: u64 = 1024;
/// Number of micro-operations (32 MiB) beyond which all blocks are dropped and translated again when they are
/// needed. Blocks overlap, so that a program of any size could otherwise fill many times its own.
const MAX_OPS: usize = 1 << 20;
/// Entries of the table of indirect targets, indexed by halfwords: Alpha uses half of them.
const TARGETS: usize = 8192;

/// Where an indirect jump to `pc` goes on.
#[derive(Clone, Copy)]
struct Target {
    pc: u64,
    at: *const MicroOp,
}

/// No instruction lies at an odd address.
const NO_TARGET: Target = Target {
    pc: u64::MAX,
    at: std::ptr::null(),
};

/// State that handlers need besides the machine's.
pub(crate) struct Context {
    /// Where execution stopped: the micro-operation that would be next.
    at: *const MicroOp,
    /// The effective address of the last reference that the probe did not take quickly.
    addr: u64,
    /// The probe of the run in progress; its type is that for which the handlers were made.
    probe: *mut (),
    targets: [Target; TARGETS],
}

#[inline(always)]
const fn target_index(pc: u64) -> usize {
    (pc >> 1) as usize % TARGETS
}

impl Context {
    /// Stops at `at`.
    #[inline(always)]
    pub(crate) fn stop(&mut self, at: *const MicroOp) {
        self.at = at;
    }

    /// The code at the target of an indirect jump, if it is at hand.
    #[inline(always)]
    pub(crate) fn target(&self, pc: u64) -> Option<*const MicroOp> {
        let target = &self.targets[target_index(pc)];
        (target.pc == pc).then_some(target.at)
    }

    /// The probe of this run.
    ///
    /// # Safety
    /// `P` is the type with which the run was started.
    #[inline(always)]
    pub(crate) unsafe fn probe<P: Probe>(&mut self) -> &mut P {
        // SAFETY: `Threaded::run` has set it to a live `&mut P`, which nothing else uses meanwhile.
        unsafe { &mut *self.probe.cast::<P>() }
    }
}

/// Where [`Threaded::run`] begins.
#[derive(Clone, Copy)]
pub enum From {
    /// At this address.
    Pc(u64),
    /// At this address, also if there is compiled code.
    Inside(u64),
    /// Behind the instruction at which it stopped, which has been executed since then and has not
    /// transferred control.
    Behind,
}

/// Why [`Threaded::run`] came back.
#[derive(Clone, Copy)]
pub enum Stop {
    /// The fuel is used up; execution goes on at this address.
    Fuel(u64),
    /// The machine must execute this instruction. `done` instructions of its block were executed
    /// before it that are not subtracted from the fuel yet.
    Instruction {
        /// The instruction.
        inst: Inst,
        /// Address of the instruction.
        pc: u64,
        /// Instructions of its block that were executed and are not subtracted.
        done: u64,
    },
    /// No instruction can be fetched at this address, where execution goes on.
    Nowhere(u64),
    /// The block at this address, where execution goes on, is compiled or hot.
    Entry(u64),
}

/// All blocks of one address space.
pub struct Threaded {
    context: Box<Context>,
    blocks: FxHashMap<u64, *mut [MicroOp]>,
    /// Micro-operations in them.
    ops: usize,
    /// The handler set for which the blocks were made.
    made_for: usize,
    /// The compiler of hot code, if there is one.
    pub translator: Option<Box<dyn Translator>>,
}

// SAFETY: the pointers are to blocks that `self` owns; the probe's is null outside of `run`.
unsafe impl Send for Threaded {}

impl Default for Threaded {
    /// No blocks.
    fn default() -> Self {
        Threaded {
            context: Box::new(Context {
                at: std::ptr::null(),
                addr: 0,
                probe: std::ptr::null_mut(),
                targets: [NO_TARGET; TARGETS],
            }),
            blocks: FxHashMap::default(),
            ops: 0,
            made_for: 0,
            translator: None,
        }
    }
}

impl Threaded {
    /// Blocks of another address space, compiled as those here are.
    pub fn fresh(&self) -> Self {
        let mut fresh = Threaded::default();
        fresh.translator = self
            .translator
            .as_ref()
            .map(|translator| translator.fresh());
        fresh
    }

    /// Throws all blocks and compiled code away.
    pub fn clear(&mut self) {
        self.clear_blocks();
        if let Some(translator) = &mut self.translator {
            translator.clear();
        }
    }

    fn clear_blocks(&mut self) {
        self.context.targets.fill(NO_TARGET);
        self.ops = 0;
        for (_, block) in self.blocks.drain() {
            // SAFETY: the pointer is from `Box::into_raw`, and nothing that points into the block
            // is left: the other blocks go with it and the table of targets is empty.
            drop(unsafe { Box::from_raw(block) });
        }
    }

    /// Makes sure that all blocks are made for probes of type `P`, and that there is room for more.
    fn make_ready<P: Probe>(&mut self) {
        // Two types may share the address if their code is the same, which is all that matters.
        let handlers = handler::<P> as *const () as usize;
        if self.made_for != handlers || self.ops > MAX_OPS {
            self.made_for = handlers;
            self.clear_blocks();
        }
    }

    /// Whether a block begins here.
    pub fn has_block(&self, pc: u64) -> bool {
        self.blocks.contains_key(&pc)
    }

    /// Lets `left` more entries of the block at `pc` pass.
    pub fn count_entries(&mut self, pc: u64, left: i64) {
        if let Some(&block) = self.blocks.get(&pc) {
            // SAFETY: the block is live, no handler is running, and a block has at least one micro-operation.
            let first = unsafe { &mut *block.cast::<MicroOp>() };
            if first.is_entry() {
                first.inst.imm = left;
            }
        }
    }

    /// The block that begins at `pc`, made if absent; none if nothing can be fetched there.
    fn block<P: Probe, E: DecodeEditor>(
        &mut self,
        pc: u64,
        code: &mut CodeCache,
        mem: &Memory,
        editor: &E,
    ) -> Option<*const MicroOp> {
        if let Some(&block) = self.blocks.get(&pc) {
            return Some(block.cast());
        }
        let mut ops = translate::<P, E>(pc, code, mem, editor)?;
        if let (false, Some(translator)) = (P::ENABLED, &self.translator) {
            let is_compiled = translator.has(pc);
            let left = if is_compiled {
                0
            } else {
                translator.threshold()
            };
            ops.insert(0, MicroOp::entry(enter, pc, i64::from(left)));
        }
        let mut ops = ops.into_boxed_slice();
        for op in &mut ops {
            if op.is_link() {
                op.set_link(op);
            }
        }
        self.ops += ops.len();
        let block = Box::into_raw(ops);
        self.blocks.insert(pc, block);
        Some(block.cast())
    }

    /// Executes instructions from `from` on, about `fuel` of them (at most [`FUEL`]), and at most
    /// [`MAX_BLOCK`] more. Returns what is left of the fuel, which is then negative, and why it stopped.
    #[allow(clippy::too_many_arguments)] // the parts of a machine
    pub fn run<P: Probe, E: DecodeEditor>(
        &mut self,
        from: From,
        mut fuel: i64,
        hart: &mut Hart,
        mem: &mut Memory,
        code: &mut CodeCache,
        editor: &E,
        probe: &mut P,
    ) -> (i64, Stop) {
        let mut at = match from {
            From::Pc(pc) | From::Inside(pc) => {
                self.make_ready::<P>();
                let Some(at) = self.block::<P, E>(pc, code, mem, editor) else {
                    return (fuel, Stop::Nowhere(pc));
                };
                self.context.targets[target_index(pc)] = Target { pc, at };
                // SAFETY: the block is live.
                let is_entry = unsafe { (*at).is_entry() };
                if is_entry && matches!(from, From::Inside(_)) {
                    // SAFETY: behind the entry of a block there is more.
                    unsafe { at.add(1) }
                } else {
                    at
                }
            }
            // SAFETY: the last stop was at an instruction that can continue with the next one, so there is
            // a micro-operation behind it.
            From::Behind => unsafe { self.context.at.add(1) },
        };
        loop {
            let view = mem.view();
            let context = &mut *self.context;
            context.probe = std::ptr::from_mut(probe).cast();
            // SAFETY: `at` is in a live block (they live until `clear`), made for `P`.
            fuel = unsafe { ((*at).handler)(at, hart, view.bytes, context, view.pages, fuel) };
            context.probe = std::ptr::null_mut();
            // SAFETY: handlers stop at live micro-operations.
            let op = unsafe { &*context.at };
            let (is_link, pc) = (op.is_link(), op.pc());
            if is_link {
                let link = context.at.cast_mut();
                let Some(to) = self.block::<P, E>(pc, code, mem, editor) else {
                    return (fuel, Stop::Nowhere(pc));
                };
                // SAFETY: the link is in a live block, and no handler is running.
                unsafe { (*link).set_link(to) };
                at = to;
            }
            if fuel < 0 {
                return (fuel, Stop::Fuel(pc));
            }
            if op.is_entry() {
                return (fuel, Stop::Entry(pc));
            }
            if !is_link {
                let (inst, done) = (op.inst, u64::from(op.done));
                return (fuel, Stop::Instruction { inst, pc, done });
            }
        }
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.clear();
    }
}
