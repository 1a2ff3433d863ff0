//! Ends of runs, in words.

use hps_isa::trap::{Trap, TrapCause};
use hps_sim_core::machine::Stop;
use hps_system::os::StopReason;
use hps_system::process::Process;
use hps_system::symbols::Symbols;

use crate::program::Expected;

/// Why results of a run do not count: the program did not end with the right exit code, or printed
/// something else than it must.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndError {
    /// Another exit code than 0.
    #[error("the program ended with exit code {0}")]
    Exit(i32),
    /// Another exit code than the one that the program must end with.
    #[error("the program ended with exit code {code} and must end with {expected}")]
    OtherExit {
        /// The exit code.
        code: i32,
        /// The exit code that the program must end with.
        expected: i32,
    },
    /// The run reached its limit of instructions.
    #[error("the program was stopped at its instruction limit")]
    Limit,
    /// The operating system layer stopped the program, at a limit of time or output for instance.
    #[error("{0}")]
    Stopped(String),
    /// The program faulted and had no handler for it.
    #[error("the program faulted: {0}")]
    Fault(Trap),
    /// The output is not the expected one.
    #[error("the program printed something else than it should")]
    Output,
}

impl EndError {
    /// Checks that a program ended as expected: with the exit code asked for, or with exit code 0 and the right output.
    pub(crate) fn unless_as_expected(
        stop: Stop,
        process: &Process,
        expected: Option<&Expected>,
    ) -> Result<(), EndError> {
        if let (Some(&Expected::ExitCode(expected)), Stop::Exit(code)) = (expected, stop) {
            return match code == expected {
                true => Ok(()),
                false => Err(EndError::OtherExit { code, expected }),
            };
        }
        if let (Some(Expected::Instructions(_)), Stop::Limit) = (expected, stop) {
            return Ok(());
        }
        EndError::unless_success(stop, process)?;
        match expected {
            Some(expected) if !expected.is(process.os.captured_stdout()) => Err(EndError::Output),
            _ => Ok(()),
        }
    }

    /// Checks that a program ended with exit code 0.
    ///
    /// # Errors
    /// The way in which the program ended instead.
    pub fn unless_success(stop: Stop, process: &Process) -> Result<(), EndError> {
        match stop {
            Stop::Exit(0) => Ok(()),
            stop => Err(EndError::of(stop, process)),
        }
    }

    /// The end of a program as an error, for a run that any end of the program spoils: exit code 0 is an error too.
    #[must_use]
    pub fn of(stop: Stop, process: &Process) -> EndError {
        match stop {
            Stop::Exit(code) => EndError::Exit(code),
            Stop::Limit => EndError::Limit,
            Stop::Fault(trap) => match stop_reason(&trap, process) {
                Some(reason) => EndError::Stopped(reason.to_string()),
                None => EndError::Fault(trap),
            },
        }
    }
}

/// Why the operating system layer stopped a program; `None` if the program faulted itself.
#[must_use]
pub fn stop_reason<'a>(trap: &Trap, process: &'a Process) -> Option<&'a StopReason> {
    let reason = process.os.stop_reason();
    reason.filter(|_| trap.cause == TrapCause::Stopped)
}

/// Why a program ended without an exit code of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Faulted {
    /// The operating system layer stopped the program, at a limit of time or output for instance.
    #[error("{0}")]
    Stopped(String),
    /// The program faulted and had no handler for it.
    #[error("the program faulted: {trap}, in {place}")]
    At {
        /// The fault.
        trap: Trap,
        /// Place of the fault: see [`place`].
        place: String,
    },
}

impl Faulted {
    /// The exit code that a run ended with; 0 for one that stopped at its limit of instructions.
    ///
    /// # Errors
    /// The fault that ended the run, or why the operating system layer stopped it.
    pub fn or_exit_code(stop: Stop, process: &Process) -> Result<i32, Faulted> {
        let Stop::Fault(trap) = stop else {
            return Ok(stop.exit_code(process.image.isa));
        };
        Err(match stop_reason(&trap, process) {
            Some(reason) => Faulted::Stopped(reason.to_string()),
            None => Faulted::At {
                trap,
                place: place(&process.symbols(), trap.pc),
            },
        })
    }
}

/// Place of an address: function and offset, `libc.so.6!` in front if another object than the program holds it, or the
/// address outside of all functions. The source line follows in brackets if the object has line tables.
#[must_use]
pub fn place(symbols: &Symbols, pc: u64) -> String {
    let text = match symbols.function_at(pc) {
        Some(f) => format!("{}+{:#x}", f.name, pc - f.addr),
        None => format!("{pc:#x}"),
    };
    let mut text = symbols.with_object(pc, &text);
    if let Some(line) = symbols.source_line(pc) {
        text.push_str(&format!(" ({line})"));
    }
    text
}
