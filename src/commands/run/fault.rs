//! Messages about a guest that faulted.

use hps_dise::ProductionSet;
use hps_isa::layout;
use hps_isa::riscv::missing_extension;
use hps_isa::trap::{Trap, TrapCause};
use hps_lab::{place, stop_reason};
use hps_sim_core::machine::Stop;
use hps_system::image::{Isa, ProgramImage};
use hps_system::process::Process;

/// Says on standard error how a run ended, unless by the program's own exit: at a limit, or by a fault.
pub fn say_end(
    stop: Stop,
    process: &Process,
    instructions: u64,
    productions: Option<&ProductionSet>,
) {
    match stop {
        Stop::Exit(_) => {}
        Stop::Limit => say!("hps: stopped after {instructions} instructions, as asked"),
        Stop::Fault(trap) => say!("hps: {}", describe(&trap, process, productions)),
    }
}

/// Cause, place and instruction of a fault, for standard error.
fn describe(trap: &Trap, process: &Process, productions: Option<&ProductionSet>) -> String {
    let mut text = format!(
        "{}: {}\n  at pc {:#x}",
        process.image.name,
        cause(trap, process),
        trap.pc
    );
    let symbols = process.symbols();
    match handler(trap.pc, productions) {
        Some(handler) => text += &format!(" in {handler}"),
        None if symbols.object_at(trap.pc).is_some() => {
            text += &format!(" in {}", place(&symbols, trap.pc));
        }
        None => text += ", outside of all functions of the program",
    }
    if trap.encoding != 0 {
        text += &format!(
            "\n  instruction {}: {}",
            encoding(trap.encoding, process.image.isa),
            disassembly(trap, process.image.isa)
        );
    }
    if trap.cause == TrapCause::IllegalInstruction
        && let Some(lacking) = &process.image.lacking
    {
        text += &format!(
            "\n  the program is built for extensions that are missing here ({}); build it with -march={}, or see hps doctor \
             for all that there is",
            lacking.extensions.join(", "),
            lacking.march
        );
    } else if trap.cause == TrapCause::IllegalInstruction
        && process.image.isa == Isa::Riscv64
        && let Some(extension) = missing_extension(trap.encoding)
    {
        text += &format!(
            "\n  it is one of {extension}, which is missing here: build with -march=rv64gc, to which _zba_zbb_zbs_zfh \
             and others may be added"
        );
    }
    if let Some(advice) = advice(trap, &process.image) {
        text += &format!("\n  {advice}");
    }
    if let Some(number) = process.thread.hart.disepc.production() {
        let name = productions.and_then(|set| set.tables().productions.get(usize::from(number)));
        let name = name.map_or_else(
            || format!("number {number}"),
            |production| production.name.clone(),
        );
        text += &format!(
            "\n  at position {} of the replacement of production {name}",
            process.thread.hart.disepc.index()
        );
    }
    text
}

/// Advice to the user about a fault whose cause is known.
fn advice(trap: &Trap, image: &ProgramImage) -> Option<&'static str> {
    let function = image.symbols.function_at(trap.pc)?;
    match trap.cause {
        // Debian's linker for Alpha replaces loads of addresses of thread-local variables wrongly in some
        // programs: libc's start then reads at a small offset from zero. The program fails so everywhere.
        TrapCause::LoadFault { addr }
            if image.isa == Isa::Alpha
                && addr < layout::LOWEST
                && function.name.contains("ctype_init") =>
        {
            Some("the linker has relaxed this program wrongly: link it again with -Wl,--no-relax")
        }
        _ => None,
    }
}

/// Cause of the fault; for a program that the operating system layer stopped, the layer's reason.
pub fn cause(trap: &Trap, process: &Process) -> String {
    match stop_reason(trap, process) {
        Some(reason) => reason.to_string(),
        None => trap.cause.to_string(),
    }
}

/// The faulting instruction as text.
pub fn disassembly(trap: &Trap, isa: Isa) -> String {
    isa.disassemble(&isa.decode(trap.encoding), trap.pc)
}

/// An encoding with as many digits as it has.
pub fn encoding(word: u32, isa: Isa) -> String {
    if isa == Isa::Alpha || word & 3 == 3 {
        format!("{word:#010x}")
    } else {
        format!("{:#06x}", word & 0xffff)
    }
}

fn handler(pc: u64, productions: Option<&ProductionSet>) -> Option<String> {
    if !(layout::HANDLER_BASE..layout::HANDLER_END).contains(&pc) {
        return None;
    }
    let inside = |h: &&hps_dise::Handler| h.address <= pc && pc < h.address + h.size;
    let handler = productions?.handlers().iter().find(inside)?;
    Some(format!(
        "handler {}+{:#x} of the productions",
        handler.name,
        pc - handler.address
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_have_their_own_length() {
        assert_eq!(encoding(0x0000_0013, Isa::Riscv64), "0x00000013");
        assert_eq!(encoding(0xdead_9002, Isa::Riscv64), "0x9002");
        assert_eq!(encoding(0x47ff_041c, Isa::Alpha), "0x47ff041c");
    }
}
