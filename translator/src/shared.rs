//! State that compiled code shares with the translator.

use hps_isa::exec::{self, Outcome};
use hps_isa::hart::Hart;
use hps_isa::inst::Inst;
use hps_isa::memory::Memory;

/// Entries of the table of targets of indirect jumps, indexed by halfwords.
pub(crate) const TARGETS: usize = 4096;

/// A unit to which an indirect jump leads.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Target {
    /// The address of the guest; odd where there is no target.
    pub(crate) pc: u64,
    pub(crate) code: *const u8,
}

pub(crate) const NO_TARGET: Target = Target {
    pc: u64::MAX,
    code: std::ptr::null(),
};

/// Where control goes that leads to an address of the guest.
#[repr(C)]
pub(crate) struct Cell {
    /// The unit there, or what leaves compiled code.
    pub(crate) code: *const u8,
    pub(crate) pc: u64,
}

/// State of a run of compiled code.
#[repr(C)]
pub(crate) struct Shared {
    pub(crate) hart: *mut Hart,
    pub(crate) mem: *mut Memory,
    /// The address at which compiled code was left.
    pub(crate) pc: u64,
    /// Not zero: the machine must execute the instruction there.
    pub(crate) at_seldom: u64,
    pub(crate) targets: [Target; TARGETS],
}

/// Executes one instruction. Not zero if it does not go on with the next one; nothing has changed then.
///
/// # Safety
/// `shared` is of the run in progress, and `inst` points to an instruction that is not a system call or the like.
pub(crate) unsafe extern "C" fn execute(shared: *mut Shared, inst: *const Inst, pc: u64) -> u64 {
    // SAFETY: the run has set both to what it borrows exclusively, and compiled code holds no references.
    let (hart, mem, inst) = unsafe { (&mut *(*shared).hart, &mut *(*shared).mem, &*inst) };
    u64::from(exec::execute_seldom(hart, mem, inst, pc) != Outcome::Next)
}
