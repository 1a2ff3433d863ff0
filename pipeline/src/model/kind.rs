//! Properties of a class of instructions that dispatch asks for, as bits.

use hps_isa::inst::{ALL_CLASSES, OpClass};

/// Takes a place in the load queue.
pub const LOADS: u8 = 1 << 0;
/// Takes a place in the store queue.
pub const STORES: u8 = 1 << 1;
/// Executes alone: everything older has committed and left the store queue.
pub const SERIALIZES: u8 = 1 << 2;
/// Fetch may not go straight on behind it; also what is no instruction (yet).
pub const TURNS_FETCH: u8 = 1 << 3;

/// Floating-point arithmetic.
pub const FLOAT: u8 = 1 << 4;

/// A control transfer, which the branch unit predicts.
pub const TRANSFERS: u8 = 1 << 5;

/// An atomic access. Where several contexts share memory it executes alone, and takes effect at once.
pub const ATOMIC: u8 = 1 << 6;
/// Orders accesses. Where several contexts share memory, older stores have left the store queue before.
pub const ORDERS: u8 = 1 << 7;

/// The kinds for which dispatch asks more than whether there is room in the window.
pub const LIMITED: u8 = LOADS | STORES | SERIALIZES | FLOAT;

/// The limited kinds of a machine with or without a floating-point queue, and with or without other contexts that
/// share its memory.
pub const fn limited(fp_queue: bool, has_peers: bool) -> u8 {
    let without_company = if fp_queue { LIMITED } else { LIMITED & !FLOAT };
    if has_peers {
        without_company | ORDERS
    } else {
        without_company
    }
}

/// The kinds that execute alone, where nothing can take them back.
pub const fn alone(has_peers: bool) -> u8 {
    if has_peers {
        SERIALIZES | ATOMIC
    } else {
        SERIALIZES
    }
}

/// The kinds that dispatch looks at once more when they have executed: atomic accesses take effect at once where others
/// see memory, and addresses may have operations of their own.
pub const fn watched(has_peers: bool, separate_addresses: bool) -> u8 {
    let atomic = if has_peers { ATOMIC } else { 0 };
    let memory = if separate_addresses {
        LOADS | STORES
    } else {
        0
    };
    atomic | memory
}

const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < OpClass::COUNT {
        table[i] = match ALL_CLASSES[i] {
            OpClass::Load => LOADS,
            OpClass::Store => STORES,
            OpClass::Atomic => LOADS | STORES | ATOMIC,
            OpClass::Fence => ORDERS,
            OpClass::Syscall | OpClass::FenceI | OpClass::DiseDrain | OpClass::Csr => SERIALIZES,
            OpClass::FpAdd
            | OpClass::FpMul
            | OpClass::FpFma
            | OpClass::FpDiv
            | OpClass::FpSqrt
            | OpClass::FpCvt => FLOAT,
            OpClass::Illegal | OpClass::DiseReturn => TURNS_FETCH,
            class if class.is_control() => TURNS_FETCH | TRANSFERS,
            _ => 0,
        };
        i += 1;
    }
    table
};

/// The bits of a class.
#[inline(always)]
pub const fn of(class: OpClass) -> u8 {
    TABLE[class as u8 as usize]
}
