//! Probes: passive observers of the retired stream, of cycles and of squashes.
//!
//! A machine is generic over its probe. Every hook has an empty default and is guarded by a
//! constant, so that what a probe does not ask for costs nothing, and a probe has no way to
//! change the machine.

use serde::{Deserialize, Serialize};

use crate::hart::Hart;
use crate::ids::DisePc;
use crate::inst::{Inst, OpClass};
use crate::memory::ReadOnly;

/// One retired instruction.
#[derive(Clone, Copy, Debug)]
pub struct Retired<'a> {
    /// Address of the instruction (of the trigger, inside an expansion).
    pub pc: u64,
    /// Where in an expansion it stands.
    pub disepc: DisePc,
    /// The static instruction.
    pub inst: &'a Inst,
    /// Whether the instruction belongs to the program: not inserted by an expansion and not part of a handler.
    pub is_program: bool,
    /// Effective address of a memory instruction, else 0.
    pub addr: u64,
    /// Address of the instruction executed next by a control transfer, else 0.
    pub target: u64,
    /// A control transfer that was taken.
    pub taken: bool,
}

/// A passive observer. `WANTS_*` constants switch hooks on at compile time.
pub trait Probe {
    /// `false` if the machine may skip every call.
    const ENABLED: bool = true;
    /// [`Probe::retired`] wants every instruction.
    const WANTS_RETIRED: bool = false;
    /// [`Probe::memory`] wants the program's memory references.
    const WANTS_MEMORY: bool = false;
    /// [`Probe::control`] wants the program's control transfers.
    const WANTS_CONTROL: bool = false;
    /// [`Probe::value`] wants what the program's instructions compute.
    const WANTS_VALUES: bool = false;
    /// [`Probe::wrong_path`] wants to look around behind some of the program's conditional branches.
    const WANTS_WRONG_PATHS: bool = false;
    /// Whether the probe tells programs apart, so that a program that it watches may have child processes.
    const KNOWS_PROGRAMS: bool = false;
    /// [`Probe::stops_before`] wants to be asked. A functional run of such a probe wants `WANTS_RETIRED`, too.
    const CAN_STOP: bool = false;

    /// Whether the functional machine stops in front of an instruction of the program, as at a limit.
    #[inline]
    fn stops_before(&mut self, pc: u64, inst: &Inst) -> bool {
        let _ = (pc, inst);
        false
    }

    /// Whether [`Probe::stops_before`] has stopped the machine.
    #[inline]
    fn has_stopped(&self) -> bool {
        false
    }

    /// Every retired instruction, in order.
    #[inline]
    fn retired(&mut self, event: &Retired<'_>) {
        let _ = event;
    }

    /// The work of [`Probe::memory`] for a reference of this class, if it takes no more than a few instructions and no
    /// call: true if the work is done, false if [`Probe::memory`] has to be asked. Fast machines ask here first, since
    /// a call costs them the saving of registers.
    #[inline(always)]
    fn memory_quickly(&mut self, class: OpClass, addr: u64) -> bool {
        let _ = (class, addr);
        false
    }

    /// A load, store or atomic of the program and its effective address, in order.
    #[inline]
    fn memory(&mut self, pc: u64, inst: &Inst, addr: u64) {
        let _ = (pc, inst, addr);
    }

    /// The value that an instruction of the program has written to its destination register. Instructions without one,
    /// and those that execute alone or inside an expansion, are not told.
    #[inline]
    fn value(&mut self, pc: u64, inst: &Inst, value: u64) {
        let _ = (pc, inst, value);
    }

    /// A branch, jump, call or return of the program: `taken`, and `target`, the address of the
    /// instruction executed next.
    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        let _ = (pc, inst, target, taken);
    }

    /// [`Probe::control`] for a conditional branch, which fast machines ask here: they know the class, and
    /// such branches are most transfers. True if [`Probe::wrong_path`] is to be called behind it.
    #[inline(always)]
    fn branch(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) -> bool {
        self.control(pc, inst, target, taken);
        self.wants_wrong_path()
    }

    /// Whether [`Probe::wrong_path`] is to be called behind the conditional branch that
    /// [`Probe::control`] was told of last.
    #[inline]
    fn wants_wrong_path(&self) -> bool {
        false
    }

    /// Registers and memory behind a conditional branch, to follow where it did not go. Of memory there
    /// is what aligned loads from readable pages give; stores to it are accepted and forgotten.
    fn wrong_path(&mut self, hart: &Hart, memory: &mut ReadOnly<'_>) {
        let _ = (hart, memory);
    }
}

/// No probe.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct NoProbe;

impl Probe for NoProbe {
    const ENABLED: bool = false;
}

/// The items of [`Probe`] for a type that holds another probe: every constant and every hook is that of the
/// probe inside.
///
/// `forward_probe_hooks!(P; |this| this.0)` stands in an `impl<P: Probe> Probe for …`. Whoever adds a hook to
/// [`Probe`] adds it here, and all types that hold a probe forward it.
#[macro_export]
macro_rules! forward_probe_hooks {
    ($probe:ty; |$this:ident| $inner:expr) => {
        const ENABLED: bool = <$probe as $crate::probe::Probe>::ENABLED;
        const WANTS_RETIRED: bool = <$probe as $crate::probe::Probe>::WANTS_RETIRED;
        const WANTS_MEMORY: bool = <$probe as $crate::probe::Probe>::WANTS_MEMORY;
        const WANTS_CONTROL: bool = <$probe as $crate::probe::Probe>::WANTS_CONTROL;
        const WANTS_VALUES: bool = <$probe as $crate::probe::Probe>::WANTS_VALUES;
        const WANTS_WRONG_PATHS: bool = <$probe as $crate::probe::Probe>::WANTS_WRONG_PATHS;
        const KNOWS_PROGRAMS: bool = <$probe as $crate::probe::Probe>::KNOWS_PROGRAMS;
        const CAN_STOP: bool = <$probe as $crate::probe::Probe>::CAN_STOP;

        #[inline]
        fn stops_before(&mut self, pc: u64, inst: &$crate::inst::Inst) -> bool {
            let $this = self;
            $inner.stops_before(pc, inst)
        }
        #[inline]
        fn has_stopped(&self) -> bool {
            let $this = self;
            $inner.has_stopped()
        }

        #[inline]
        fn retired(&mut self, event: &$crate::probe::Retired<'_>) {
            let $this = self;
            $inner.retired(event);
        }
        #[inline(always)]
        fn memory_quickly(&mut self, class: $crate::inst::OpClass, addr: u64) -> bool {
            let $this = self;
            $inner.memory_quickly(class, addr)
        }
        #[inline]
        fn memory(&mut self, pc: u64, inst: &$crate::inst::Inst, addr: u64) {
            let $this = self;
            $inner.memory(pc, inst, addr);
        }
        #[inline]
        fn value(&mut self, pc: u64, inst: &$crate::inst::Inst, value: u64) {
            let $this = self;
            $inner.value(pc, inst, value);
        }
        #[inline]
        fn control(&mut self, pc: u64, inst: &$crate::inst::Inst, target: u64, taken: bool) {
            let $this = self;
            $inner.control(pc, inst, target, taken);
        }
        #[inline(always)]
        fn branch(&mut self, pc: u64, inst: &$crate::inst::Inst, target: u64, taken: bool) -> bool {
            let $this = self;
            $inner.branch(pc, inst, target, taken)
        }
        #[inline]
        fn wants_wrong_path(&self) -> bool {
            let $this = self;
            $inner.wants_wrong_path()
        }
        fn wrong_path(
            &mut self,
            hart: &$crate::hart::Hart,
            memory: &mut $crate::memory::ReadOnly<'_>,
        ) {
            let $this = self;
            $inner.wrong_path(hart, memory);
        }
    };
}

/// Two probes: each is told what it asks for, the first one first.
impl<A: Probe, B: Probe> Probe for (A, B) {
    const ENABLED: bool = A::ENABLED || B::ENABLED;
    const WANTS_RETIRED: bool = A::WANTS_RETIRED || B::WANTS_RETIRED;
    const WANTS_MEMORY: bool = A::WANTS_MEMORY || B::WANTS_MEMORY;
    const WANTS_CONTROL: bool = A::WANTS_CONTROL || B::WANTS_CONTROL;
    const WANTS_VALUES: bool = A::WANTS_VALUES || B::WANTS_VALUES;
    const WANTS_WRONG_PATHS: bool = A::WANTS_WRONG_PATHS || B::WANTS_WRONG_PATHS;
    const KNOWS_PROGRAMS: bool = A::KNOWS_PROGRAMS && B::KNOWS_PROGRAMS;
    const CAN_STOP: bool = A::CAN_STOP || B::CAN_STOP;

    #[inline]
    fn stops_before(&mut self, pc: u64, inst: &Inst) -> bool {
        A::CAN_STOP && self.0.stops_before(pc, inst) || B::CAN_STOP && self.1.stops_before(pc, inst)
    }
    #[inline]
    fn has_stopped(&self) -> bool {
        self.0.has_stopped() || self.1.has_stopped()
    }
    #[inline]
    fn retired(&mut self, event: &Retired<'_>) {
        if A::WANTS_RETIRED {
            self.0.retired(event);
        }
        if B::WANTS_RETIRED {
            self.1.retired(event);
        }
    }
    /// Only one of the two may be done with a reference: if both want it, both are asked in [`Probe::memory`].
    #[inline(always)]
    fn memory_quickly(&mut self, class: OpClass, addr: u64) -> bool {
        match (A::WANTS_MEMORY, B::WANTS_MEMORY) {
            (true, false) => self.0.memory_quickly(class, addr),
            (false, true) => self.1.memory_quickly(class, addr),
            _ => false,
        }
    }
    #[inline]
    fn memory(&mut self, pc: u64, inst: &Inst, addr: u64) {
        if A::WANTS_MEMORY {
            self.0.memory(pc, inst, addr);
        }
        if B::WANTS_MEMORY {
            self.1.memory(pc, inst, addr);
        }
    }
    #[inline]
    fn value(&mut self, pc: u64, inst: &Inst, value: u64) {
        if A::WANTS_VALUES {
            self.0.value(pc, inst, value);
        }
        if B::WANTS_VALUES {
            self.1.value(pc, inst, value);
        }
    }
    #[inline]
    fn control(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) {
        if A::WANTS_CONTROL {
            self.0.control(pc, inst, target, taken);
        }
        if B::WANTS_CONTROL {
            self.1.control(pc, inst, target, taken);
        }
    }
    #[inline(always)]
    fn branch(&mut self, pc: u64, inst: &Inst, target: u64, taken: bool) -> bool {
        let first = A::WANTS_CONTROL && self.0.branch(pc, inst, target, taken);
        let second = B::WANTS_CONTROL && self.1.branch(pc, inst, target, taken);
        first || second
    }
    #[inline]
    fn wants_wrong_path(&self) -> bool {
        A::WANTS_WRONG_PATHS && self.0.wants_wrong_path()
            || B::WANTS_WRONG_PATHS && self.1.wants_wrong_path()
    }
    fn wrong_path(&mut self, hart: &Hart, memory: &mut ReadOnly<'_>) {
        if A::WANTS_WRONG_PATHS && self.0.wants_wrong_path() {
            self.0.wrong_path(hart, memory);
        }
        if B::WANTS_WRONG_PATHS && self.1.wants_wrong_path() {
            self.1.wrong_path(hart, memory);
        }
    }
}

impl<P: Probe> Probe for &mut P {
    forward_probe_hooks!(P; |this| (**this));
}
