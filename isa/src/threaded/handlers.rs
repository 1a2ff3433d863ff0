//! The handlers of threaded code: for every operation one function that executes it and goes on to
//! the next micro-operation (see [`crate::threaded`]).
//!
//! Straight operations run the same function as [`execute`](crate::exec::execute); what they cannot finish
//! on a [`View`] of memory, they leave to the machine. Control transfers are written out here,
//! because their targets are links.

use std::marker::PhantomData;

use super::variants::*;
use super::{Context, Handler, MicroOp};
use crate::alpha::exec as alpha;
use crate::exec::Outcome;
use crate::hart::Hart;
use crate::inst::{Inst, Op, OpClass, reg};
use crate::memory::{Bytes, Pages, ReadOnly, View};
use crate::probe::{NoProbe, Probe};
use crate::riscv::exec::{
    atomic, bits, control, csr, dise, fp_convert, fp_double, fp_half, fp_more, fp_single, int, mem,
    muldiv, wide,
};
use crate::riscv::table::for_each_op;

/// The arguments of a handler by the names that all of them use, and its result.
macro_rules! handlers {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident<$($kind:ident: $bound:path),*>
       ($at:ident, $hart:ident, $bytes:ident, $context:ident, $pages:ident, $fuel:ident) $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// See [`Handler`].
        $visibility unsafe fn $name<$($kind: $bound),*>(
            $at: *const MicroOp,
            $hart: &mut Hart,
            $bytes: &mut Bytes,
            $context: &mut Context,
            $pages: &Pages,
            $fuel: i64,
        ) -> i64 $body
    )*};
}

macro_rules! define_handlers {
    ($($variant:ident $mnemonic:literal $format:ident $match:literal $mask:literal $class:ident
       $function:path, $doc:literal;)*) => {
        /// The handler of each operation that continues with the next instruction, where no probe wants to know of
        /// it, indexed by operation. Control transfers can only stop here.
        static UNOBSERVED: [Handler; Op::ALL.len()] = [$({
            handlers! {
                /// This operation.
                fn run<>(at, hart, bytes, context, pages, fuel) {
                    // SAFETY: the caller's promise is the one that is asked for.
                    unsafe {
                        straight::<NoProbe>(Op::$variant, OpClass::$class, $function, at, hart, bytes, context, pages, fuel)
                    }
                }
            }
            run
        }),*];

        /// The handlers of memory references that a probe of type `P` is told of.
        struct References<P>(PhantomData<P>);

        impl<P: Probe> References<P> {
            /// Indexed by operation. Any other operation is left to the machine here.
            const HANDLERS: &[Handler; Op::ALL.len()] = &[$({
                handlers! {
                    /// This operation.
                    fn run<P: Probe>(at, hart, bytes, context, pages, fuel) {
                        // SAFETY: the caller's promise is the one that is asked for.
                        unsafe {
                            straight::<P>(Op::$variant, OpClass::$class, $function, at, hart, bytes, context, pages, fuel)
                        }
                    }
                }
                if OpClass::$class.is_memory() { run::<P> as Handler } else { unlinked }
            }),*];
        }
    };
}

for_each_op!(define_handlers);

/// The handler of an instruction in runs with probes of type `P`.
///
/// A handler is compiled for each type of probe only if it tells the probe something.
pub(super) fn handler<P: Probe>(inst: &Inst) -> Handler {
    if P::WANTS_MEMORY && inst.class.is_memory() {
        References::<P>::HANDLERS[inst.op as usize]
    } else if P::WANTS_CONTROL && inst.class.is_control() {
        transfer::<P>(inst).unwrap_or(unlinked)
    } else {
        unobserved(inst)
    }
}

/// The handler of an instruction that no probe is told of.
#[inline(never)]
fn unobserved(inst: &Inst) -> Handler {
    transfer::<NoProbe>(inst)
        .or_else(|| common_case(inst))
        .unwrap_or_else(|| UNOBSERVED[inst.op as usize])
}

/// The handler of a control transfer.
fn transfer<P: Probe>(inst: &Inst) -> Option<Handler> {
    Some(match inst.op {
        Op::Jal => jal::<P>,
        Op::Jalr if inst.rd == reg::SINK => jalr::<P, RiscvJump, Forgets>,
        Op::Jalr => jalr::<P, RiscvJump, Links>,
        Op::Beq => branch::<P, Eq>,
        Op::Bne => branch::<P, Ne>,
        Op::Blt => branch::<P, Lt>,
        Op::Bge => branch::<P, Ge>,
        Op::Bltu => branch::<P, Ltu>,
        Op::Bgeu => branch::<P, Geu>,
        Op::AlphaBr | Op::AlphaBsr => jal::<P>,
        Op::AlphaJmp | Op::AlphaJsr | Op::AlphaRet | Op::AlphaJsrCoroutine => {
            if inst.rd == reg::SINK {
                jalr::<P, AlphaJump, Forgets>
            } else {
                jalr::<P, AlphaJump, Links>
            }
        }
        Op::AlphaBlbc => branch::<P, Even>,
        Op::AlphaBlbs => branch::<P, Odd>,
        Op::AlphaBeq => branch::<P, Zero>,
        Op::AlphaBne => branch::<P, NotZero>,
        Op::AlphaBlt => branch::<P, Negative>,
        Op::AlphaBle | Op::AlphaFble => branch::<P, NotPositive>,
        Op::AlphaBge => branch::<P, NotNegative>,
        Op::AlphaBgt | Op::AlphaFbgt => branch::<P, Positive>,
        Op::AlphaFbeq => branch::<P, FpZero>,
        Op::AlphaFbne => branch::<P, FpNotZero>,
        Op::AlphaFblt => branch::<P, FpNegative>,
        Op::AlphaFbge => branch::<P, FpNotNegative>,
        _ => return None,
    })
}

/// The handler of a floating-point operation that has a common case.
fn common_case(inst: &Inst) -> Option<Handler> {
    let to_nearest_even = matches!(inst.imm, 0 | 7);
    Some(match inst.op {
        Op::FaddD if to_nearest_even => common::<FaddD>,
        Op::FsubD if to_nearest_even => common::<FsubD>,
        Op::FmulD if to_nearest_even => common::<FmulD>,
        Op::FdivD if to_nearest_even => common::<FdivD>,
        Op::FsqrtD if to_nearest_even => common::<FsqrtD>,
        Op::AlphaAdds if alpha::fp::is_plain(inst) => common::<AlphaAdds>,
        Op::AlphaSubs if alpha::fp::is_plain(inst) => common::<AlphaSubs>,
        Op::AlphaMuls if alpha::fp::is_plain(inst) => common::<AlphaMuls>,
        Op::AlphaDivs if alpha::fp::is_plain(inst) => common::<AlphaDivs>,
        Op::AlphaSqrts if alpha::fp::is_plain(inst) => common::<AlphaSqrts>,
        Op::AlphaAddt if alpha::fp::is_plain(inst) => common::<AlphaAddt>,
        Op::AlphaSubt if alpha::fp::is_plain(inst) => common::<AlphaSubt>,
        Op::AlphaMult if alpha::fp::is_plain(inst) => common::<AlphaMult>,
        Op::AlphaDivt if alpha::fp::is_plain(inst) => common::<AlphaDivt>,
        Op::AlphaSqrtt if alpha::fp::is_plain(inst) => common::<AlphaSqrtt>,
        Op::AlphaCvtts if alpha::fp::is_plain(inst) => common::<AlphaCvtts>,
        Op::AlphaCvtqs if alpha::fp::is_plain(inst) => common::<AlphaCvtqs>,
        Op::AlphaCvtqt if alpha::fp::is_plain(inst) => common::<AlphaCvtqt>,
        Op::AlphaCvttq if alpha::fp::is_chopped(inst) => common::<AlphaCvttq>,
        Op::AlphaCvtst => common::<AlphaCvtst>,
        Op::AlphaCmptun => common::<AlphaCmptun>,
        Op::AlphaCmpteq => common::<AlphaCmpteq>,
        Op::AlphaCmptlt => common::<AlphaCmptlt>,
        Op::AlphaCmptle => common::<AlphaCmptle>,
        _ => return None,
    })
}

/// Goes on behind the conditional branch at `at`, which has been executed. Behind it lies its link, and
/// behind that the block goes on.
///
/// # Safety
/// See [`Handler`].
#[inline(always)]
pub(super) unsafe fn turn<P: Probe>(
    at: *const MicroOp,
    taken: bool,
    hart: &mut Hart,
    bytes: &mut Bytes,
    context: &mut Context,
    pages: &Pages,
    fuel: i64,
) -> i64 {
    // SAFETY: the caller's promise is the one that is asked for, and the translator puts a link and at least
    // one more micro-operation behind a branch.
    unsafe {
        match (P::WANTS_CONTROL, taken) {
            (true, true) => report_branch::<P, true>(at, hart, bytes, context, pages, fuel),
            (true, false) => report_branch::<P, false>(at, hart, bytes, context, pages, fuel),
            (false, true) => leave(at.add(1), hart, bytes, context, pages, fuel),
            (false, false) => go(at.add(2), hart, bytes, context, pages, fuel),
        }
    }
}

/// Reports the conditional branch at `at`, which went this way, to the probe, and continues behind it. This is a
/// function beside the handlers, since they would all have to save registers for the call; the way is a constant,
/// since the compiler then removes what the other way needs.
///
/// # Safety
/// See [`Handler`].
#[inline(never)]
unsafe fn report_branch<P: Probe, const TAKEN: bool>(
    at: *const MicroOp,
    hart: &mut Hart,
    bytes: &mut Bytes,
    context: &mut Context,
    pages: &Pages,
    fuel: i64,
) -> i64 {
    // SAFETY: the caller promises a live micro-operation, and handlers for the type of the probe.
    let (branch, probe) = unsafe { (&*at, context.probe::<P>()) };
    let pc = branch.pc();
    let target = if TAKEN {
        branch.inst.direct_target(pc)
    } else {
        pc.wrapping_add(u64::from(branch.inst.len))
    };
    let follows = probe.branch(pc, &branch.inst, target, TAKEN);
    if P::WANTS_WRONG_PATHS && follows {
        probe.wrong_path(hart, &mut ReadOnly { bytes, pages });
    }
    // SAFETY: see `turn`.
    unsafe {
        if TAKEN {
            leave(at.add(1), hart, bytes, context, pages, fuel)
        } else {
            go(at.add(2), hart, bytes, context, pages, fuel)
        }
    }
}

/// Executes an operation that goes on with the next instruction, or leaves it undone and stops.
///
/// # Safety
/// See [`Handler`].
#[allow(clippy::too_many_arguments)] // inlined into handlers, whose arguments these are
#[inline(always)]
unsafe fn straight<'a, P: Probe>(
    operation: Op,
    class: OpClass,
    function: impl FnOnce(&mut Hart, &mut View<'a>, &Inst, u64) -> Outcome,
    at: *const MicroOp,
    hart: &mut Hart,
    bytes: &'a mut Bytes,
    context: &mut Context,
    pages: &'a Pages,
    fuel: i64,
) -> i64 {
    // SAFETY: the caller promises a live micro-operation; nothing writes to it while handlers run.
    let op = unsafe { &*at };
    let reports = P::WANTS_MEMORY && class.is_memory();
    let addr = if reports {
        operation.data_address(hart.r[op.inst.rs1 as usize], op.inst.imm)
    } else {
        0
    };
    let mut view = View { bytes, pages };
    // CSRs read counters that only the machine knows.
    if class == OpClass::Csr || function(hart, &mut view, &op.inst, op.pc()) != Outcome::Next {
        context.stop(at);
        return fuel;
    }
    // SAFETY: the caller promises handlers for the type of the probe.
    if reports && !unsafe { context.probe::<P>() }.memory_quickly(class, addr) {
        context.addr = addr;
        // SAFETY: the caller's promise is the one that is asked for.
        return unsafe { report::<P>(at, hart, view.bytes, context, pages, fuel) };
    }
    // SAFETY: only the last micro-operation of a block has none behind it, and that one is an
    // exit or can only stop.
    unsafe { go(at.add(1), hart, view.bytes, context, pages, fuel) }
}

handlers! {
    /// Goes on at `at`.
    #[inline(always)]
    pub(super) fn go<>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation, which names its own handler.
        unsafe { ((*at).handler)(at, hart, bytes, context, pages, fuel) }
    }

    /// Reports the reference at `at`, which has been made, to the probe, and continues behind it. In the handlers,
    /// saving registers for the call would slow down references that need no call.
    #[inline(never)]
    fn report<P: Probe>(at, hart, bytes, context, pages, fuel) {
        let addr = context.addr;
        // SAFETY: the caller promises a live micro-operation, and handlers for the type of the probe.
        unsafe {
            let op = &*at;
            context.probe::<P>().memory(op.pc(), &op.inst, addr);
            go(at.add(1), hart, bytes, context, pages, fuel)
        }
    }

    /// Leaves the block through the link at `at`.
    #[inline(always)]
    pub(super) fn leave<>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live link; it holds the address of itself or of the live
        // block to which `Threaded` linked it.
        let (to, done) = unsafe { ((*at).link(), (*at).done) };
        let fuel = fuel - i64::from(done);
        if fuel < 0 {
            context.stop(to);
            return fuel;
        }
        // SAFETY: `to` is a live block or a link that leads to itself, by the promise of the caller.
        unsafe { go(to, hart, bytes, context, pages, fuel) }
    }

    /// The place in front of a block. Stops once as many entries have passed as were to be counted.
    pub(super) fn enter<>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation; nothing refers to it while handlers run.
        let left = unsafe { &mut (*at.cast_mut()).inst.imm };
        if *left <= 0 {
            context.stop(at);
            return fuel;
        }
        *left -= 1;
        // SAFETY: a block follows.
        unsafe { go(at.add(1), hart, bytes, context, pages, fuel) }
    }

    /// A link that leads nowhere yet.
    pub(crate) fn unlinked<>(at, _hart, _bytes, context, _pages, fuel) {
        context.stop(at);
        fuel
    }

    /// The end of a block whose code goes on elsewhere: the link is behind it.
    pub(crate) fn jump<>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the translator puts a link behind it.
        unsafe { leave(at.add(1), hart, bytes, context, pages, fuel) }
    }

    /// A direct jump or call inside a block: the next micro-operation is at its target.
    fn jal<P: Probe>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation.
        let op = unsafe { &*at };
        hart.r[op.inst.rd as usize] = op.pc().wrapping_add(u64::from(op.inst.len));
        if P::WANTS_CONTROL {
            // SAFETY: the caller promises handlers for the type of the probe.
            let probe = unsafe { context.probe::<P>() };
            probe.control(op.pc(), &op.inst, op.inst.direct_target(op.pc()), true);
        }
        // SAFETY: a jump is never the last micro-operation of its block.
        unsafe { go(at.add(1), hart, bytes, context, pages, fuel) }
    }

    /// An indirect jump. One whose target is not in the table is left to the machine.
    fn jalr<P: Probe, J: JumpTarget, L: Link>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation.
        let op = unsafe { &*at };
        let target = J::target(hart, &op.inst);
        let Some(to) = context.target(target) else {
            context.stop(at);
            return fuel;
        };
        if L::LINKS {
            hart.r[op.inst.rd as usize] = op.pc().wrapping_add(u64::from(op.inst.len));
        }
        if P::WANTS_CONTROL {
            // SAFETY: the caller promises handlers for the type of the probe.
            let probe = unsafe { context.probe::<P>() };
            probe.control(op.pc(), &op.inst, target, true);
        }
        let fuel = fuel - i64::from(op.done) - 1;
        if fuel < 0 {
            context.stop(to);
            return fuel;
        }
        // SAFETY: the table holds only starts of live blocks.
        unsafe { go(to, hart, bytes, context, pages, fuel) }
    }

    /// A conditional branch.
    fn branch<P: Probe, C: Condition>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation.
        let taken = C::holds(hart, unsafe { &(*at).inst });
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { turn::<P>(at, taken, hart, bytes, context, pages, fuel) }
    }
}

handlers! {
    /// A floating-point operation with a common case, in which there is mostly nothing to do but the
    /// host's operation; else the full one follows. (In one handler, the registers that a call of the slow
    /// path would need saved make the fast path slow.)
    fn common<C: Common>(at, hart, bytes, context, pages, fuel) {
        // SAFETY: the caller promises a live micro-operation.
        let inst = unsafe { &(*at).inst };
        if let Some(value) = C::compute(hart, inst) {
            hart.r[inst.rd as usize] = value;
            // SAFETY: this is never the last micro-operation of its block.
            return unsafe { go(at.add(1), hart, bytes, context, pages, fuel) };
        }
        let full = UNOBSERVED[C::OP as usize];
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { full(at, hart, bytes, context, pages, fuel) }
    }
}
