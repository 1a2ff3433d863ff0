//! Guest faults as values.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::said;
use crate::said::Said;

/// Why an instruction could not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrapCause {
    /// The bytes at the program counter are no instruction of the ISA.
    IllegalInstruction,
    /// The program counter points where nothing executable is mapped.
    FetchFault,
    /// The program counter is not aligned to the instruction size.
    FetchMisaligned,
    /// A read of memory that is not mapped or not readable.
    LoadFault {
        /// The first byte refused.
        addr: u64,
    },
    /// A write to memory that is not mapped or not writable.
    StoreFault {
        /// The first byte refused.
        addr: u64,
    },
    /// An access to a page of a file's mapping that lies behind the end of the file.
    BehindFile {
        /// The first byte refused.
        addr: u64,
    },
    /// An atomic access that is not naturally aligned.
    MisalignedAtomic {
        /// The address of the access.
        addr: u64,
    },
    /// An access that must be naturally aligned and is not, and that the operating system was asked
    /// not to complete.
    Misaligned {
        /// The address of the access.
        addr: u64,
    },
    /// A breakpoint instruction.
    Breakpoint,
    /// An arithmetic exception that is not disabled.
    Arithmetic {
        /// The exceptions, as in Alpha's exception summary: bit 1 invalid, 2 division by zero, 3
        /// overflow, 4 underflow, 5 inexact, 6 integer overflow.
        exceptions: u8,
    },
    /// A trap that the program raises by its code (Alpha's `gentrap`).
    Raised {
        /// The code.
        code: i64,
    },
    /// The operating system layer stopped the program for good (`Linux::stop_reason` says why).
    Stopped,
}

/// A guest fault: what, where, and the bytes of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Cause of the trap.
    pub cause: TrapCause,
    /// The instruction at fault.
    pub pc: u64,
    /// Encoding of the instruction (0 where it could not be read).
    pub encoding: u32,
}

impl TrapCause {
    /// Cause of the trap in words.
    #[must_use]
    pub fn said(&self) -> Said {
        match *self {
            TrapCause::IllegalInstruction => said!("illegal instruction"),
            TrapCause::FetchFault => said!("jump to memory that is not executable"),
            TrapCause::FetchMisaligned => said!("jump to a misaligned address"),
            TrapCause::LoadFault { addr } => said!(
                "read of {address}, which is not readable",
                address = hex(addr)
            ),
            TrapCause::StoreFault { addr } => said!(
                "write to {address}, which is not writable",
                address = hex(addr)
            ),
            TrapCause::BehindFile { addr } => said!(
                "access to {address}, which lies behind the end of the file that is mapped there",
                address = hex(addr)
            ),
            TrapCause::MisalignedAtomic { addr } => said!(
                "atomic access to {address}, which is not aligned",
                address = hex(addr)
            ),
            TrapCause::Misaligned { addr } => {
                said!(
                    "access to {address}, which is not aligned",
                    address = hex(addr)
                )
            }
            TrapCause::Breakpoint => said!("breakpoint"),
            TrapCause::Arithmetic { exceptions } => {
                const NAMES: [&str; 6] = [
                    "invalid operation",
                    "division by zero",
                    "overflow",
                    "underflow",
                    "inexact result",
                    "integer overflow",
                ];
                let raised = (1..)
                    .zip(NAMES)
                    .filter(|(bit, _)| exceptions >> bit & 1 != 0);
                let names: Vec<&str> = raised.map(|(_, name)| name).collect();
                said!("arithmetic exception: {names}", names = names.join(" "))
            }
            TrapCause::Raised { code } => said!("trap with code {code}", code = code),
            TrapCause::Stopped => said!("stopped in a system call"),
        }
    }
}

fn hex(address: u64) -> String {
    format!("{address:#x}")
}

impl fmt::Display for TrapCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said())
    }
}

impl Trap {
    /// The operating system layer stops the program before the instruction at `pc`.
    #[must_use]
    pub fn stopped(pc: u64) -> Trap {
        Trap {
            cause: TrapCause::Stopped,
            pc,
            encoding: 0,
        }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at pc {:#x} (encoding {:#010x})",
            self.cause, self.pc, self.encoding
        )
    }
}

impl std::error::Error for Trap {}
