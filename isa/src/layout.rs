//! Layout of a guest's address space.
//!
//! Everything is below [`Memory::LIMIT`](crate::memory::Memory::LIMIT) (2^39), so the 2 KiB below 2^64,
//! which profile handlers address as negative offsets from register zero, are never mapped.
//!
//! ```text
//! 0x0_0000_0000  never mapped up to LOWEST, so that null pointers fault
//! 0x0_0000_1000  images linked at a fixed address (RISC-V 0x1_0000), then their heap (brk)
//! 0x0_8000_0000  PIE_BASE: position-independent images, then their heap (brk)
//! 0x1_2000_0000  images for Alpha; the data of OSF/1 at 0x1_4000_0000; then their heap (brk)
//! 0x2_0000_0000  HANDLER_BASE: reserved for profile handlers; the guest can neither map nor unmap here
//! 0x2_4000_0000  MMAP_FLOOR: mmap, handed out from the top down
//! 0x3_f000_0000  MMAP_TOP; below it the loader of a dynamic program
//! 0x3_f400_0000  OBSERVER_BASE: code and memory of observers, up to OBSERVER_END
//! 0x3_f800_0000  TRAMPOLINE: one page, the return from signal handlers
//! 0x3_f801_0000  VDSO: a page of data and the code of the kernel for dynamic programs
//! 0x3_ff7f_f000  the stack, 8 MiB, growing down from STACK_TOP
//! 0x3_ffff_f000  STACK_TOP
//! 0x4_0000_0000  the end of the window of memory's fast path; nothing is mapped up to HIGH
//! 0x4_0001_0000  HIGH: images linked there and their heap (brk); mmap of what does not fit below MMAP_TOP, and
//!                of any fixed address
//! 0x80_0000_0000 the end
//! ```
//!
//! A seed moves position-independent images and heaps up, and the upper ends of `mmap` and of the stack down
//! (`placement.rs`).

/// The lowest address that can be mapped.
pub const LOWEST: u64 = 0x1000;
/// Lowest address of position-independent images.
pub const PIE_BASE: u64 = 0x0_8000_0000;
/// Images that are linked below, and their heaps, end here.
pub const IMAGE_TOP: u64 = HANDLER_BASE;
/// Start of the region reserved for the handlers of profilers and their data.
pub const HANDLER_BASE: u64 = 0x2_0000_0000;
/// End of the region reserved for handlers.
pub const HANDLER_END: u64 = 0x2_4000_0000;
/// The lowest address that mmap chooses.
pub const MMAP_FLOOR: u64 = HANDLER_END;
/// mmap chooses addresses below this one.
pub const MMAP_TOP: u64 = 0x3_f000_0000;
/// Above the stack images can be linked, and mmap chooses addresses for what does not fit below.
pub const HIGH: u64 = crate::memory::Memory::HIGH;
/// Start of the region for observers: threads that a laboratory puts beside those of the program.
pub const OBSERVER_BASE: u64 = 0x3_f400_0000;
/// End of the region for observers.
pub const OBSERVER_END: u64 = 0x3_f600_0000;
/// The page that holds the return from signal handlers.
pub const TRAMPOLINE: u64 = 0x3_f800_0000;
/// The page of data in front of the vDSO, unless addresses are drawn by a seed.
pub const VDSO: u64 = 0x3_f801_0000;
/// The most that the vDSO takes with its page of data.
pub const VDSO_BYTES: u64 = 0x1_0000;
/// Name of the code of the page at [`TRAMPOLINE`], which no symbol of a program names.
pub const SIGNAL_RETURN: &str = "[signal return]";

/// An address lies in the page that holds the return from signal handlers.
#[must_use]
pub const fn is_signal_return(addr: u64) -> bool {
    addr.wrapping_sub(TRAMPOLINE) < crate::memory::PAGE_SIZE
}

/// The first address above the stack.
pub const STACK_TOP: u64 = 0x3_ffff_f000;
/// Size of the stack.
pub const STACK_BYTES: u64 = 8 << 20;
/// Arguments and environment may take this much of the stack, as under Linux.
pub const MAX_ARGUMENT_BYTES: u64 = STACK_BYTES / 4;

/// Handlers and their data may lie here.
#[inline]
#[must_use]
pub const fn is_for_handlers(addr: u64) -> bool {
    addr.wrapping_sub(HANDLER_BASE) < HANDLER_END - HANDLER_BASE
}

/// Address of a program's signals to observers, in a page of its own.
pub const SIGNALS: u64 = OBSERVER_BASE + 0x1000;

/// Address of a program's tag stack. Its ring of calls follows, up to [`CALLS_END`].
pub const TAG_STACK: u64 = OBSERVER_BASE + 0x20_0000;
/// End of the memory that a program writes for observers of calls.
pub const CALLS_END: u64 = OBSERVER_BASE + 0x80_0000;

/// A program, or its operating system, writes there what observers read: signals, calls, and the program's own memory.
#[inline]
#[must_use]
pub const fn is_signal(addr: u64) -> bool {
    addr.wrapping_sub(SIGNALS) < 0x1000
        || addr.wrapping_sub(TAG_STACK) < CALLS_END - TAG_STACK
        || !is_for_observers(addr)
}

/// Observers and their memory may lie here.
#[inline]
#[must_use]
pub const fn is_for_observers(addr: u64) -> bool {
    addr.wrapping_sub(OBSERVER_BASE) < OBSERVER_END - OBSERVER_BASE
}

/// An image may be linked for this range.
#[must_use]
pub const fn is_image_range(start: u64, end: u64) -> bool {
    start <= end
        && (start >= LOWEST && end <= IMAGE_TOP
            || start >= HIGH && end <= crate::memory::Memory::LIMIT)
}

/// A loader of dynamic programs may be placed in this range.
#[must_use]
pub const fn is_loader_range(start: u64, end: u64) -> bool {
    start <= end && start >= MMAP_FLOOR && end <= MMAP_TOP
}

/// The guest itself may map, unmap and protect this range.
#[must_use]
pub const fn is_guest_range(addr: u64, len: u64) -> bool {
    match addr.checked_add(len) {
        Some(end) => {
            addr >= LOWEST
                && end <= crate::memory::Memory::LIMIT
                && (end <= HANDLER_BASE || addr >= HANDLER_END)
        }
        None => false,
    }
}
