//! The interface between the functional machine and what compiles hot code of guests for the host.
//!
//! The machine counts how often each block of threaded code (`hps_sim_core::machine`) is entered, and asks its translator to
//! compile the code there. Code that a translator has compiled is derived state: it belongs to one address space, is never
//! saved, and goes with the decoded code that it was made from.

use crate::hart::Hart;
use crate::inst::Inst;
use crate::memory::Memory;

/// Compiles code of one address space, and runs it.
///
/// Compiled code executes exactly what [`execute`](crate::exec::execute) would. Where it stops, registers and memory are
/// precise.
pub trait Translator: Send {
    /// A translator with the settings of this one and without code, for another address space.
    fn fresh(&self) -> Box<dyn Translator>;

    /// How often a block is entered before the machine asks for its code to be compiled.
    fn threshold(&self) -> u32;

    /// Instructions of a run before anything is compiled: a short run would not get back what compiling takes.
    fn begins_after(&self) -> u64;

    /// The most instructions that [`run`](Self::run) executes beyond its fuel.
    fn most_beyond(&self) -> u64;

    /// Whether there is compiled code that begins at this address.
    fn has(&self, pc: u64) -> bool;

    /// Compiles code that begins at `pc`. `false` if there is nothing to compile.
    fn compile(&mut self, pc: u64, code: &mut dyn Code) -> bool;

    /// Runs the compiled code that begins at `pc`, and all compiled code that follows it, until about `fuel` instructions
    /// are executed. Returns the rest of the fuel, which may be negative then, and where execution goes on. `None` if
    /// there is no such code.
    fn run(&mut self, pc: u64, hart: &mut Hart, mem: &mut Memory, fuel: i64)
    -> Option<(i64, Left)>;

    /// Throws all compiled code away, since the guest's code has changed.
    fn clear(&mut self);
}

/// Code of a guest, as a translator reads it.
pub trait Code {
    /// The instruction at this address; `None` if none can be fetched there.
    fn at(&mut self, pc: u64) -> Option<Inst>;

    /// Whether a jump or a taken branch to this address has been executed.
    fn was_target(&self, pc: u64) -> bool;
}

/// Where compiled code was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The next instruction.
    pub pc: u64,
    /// The machine must execute that instruction itself.
    pub at_seldom: bool,
}

/// Addresses in the host of the parts of guest memory that compiled code accesses by itself.
///
/// An access of `N` bytes to an address `a` below [`Memory::WINDOW`] that is a multiple of `N` is to the bytes at
/// `bytes + a`, if the byte at `pages + a / 4096` has the bit [`READABLE`](MemoryParts::READABLE), or
/// [`WRITABLE`](MemoryParts::WRITABLE) for a store. All other accesses are left to the machine.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy, Debug)]
pub struct MemoryParts {
    /// First byte of the window.
    pub bytes: *mut u8,
    /// Byte of the first page.
    pub pages: *const u8,
}

#[cfg(not(target_family = "wasm"))]
impl MemoryParts {
    /// Bit of a page that may be read.
    pub const READABLE: u8 = crate::memory::bits::R;
    /// Bit of a page that may be written without notice.
    pub const WRITABLE: u8 = crate::memory::bits::FAST_W;

    /// The addresses of a memory, valid while it is neither moved nor changed by others.
    pub fn of(memory: &mut Memory) -> MemoryParts {
        let view = memory.view();
        MemoryParts {
            bytes: std::ptr::from_mut(view.bytes).cast(),
            pages: std::ptr::from_ref(view.pages).cast(),
        }
    }
}
