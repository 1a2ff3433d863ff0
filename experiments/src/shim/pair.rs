//! The paper's producer and consumer (section 5.1, Figures 8 to 10): a program that does nothing but write a word, and an
//! observer that does nothing but read it.

use std::sync::Arc;

use hps_isa::asm::program::assemble;
use hps_lab::observer::{Observer, Placement, Signals, TAG, Throttle};
use hps_lab::{Isa, Lab, LabError, Program};
use hps_pipeline::config::MachineConfig;
use hps_system::image::ProgramImage;

/// Turns of empty loops between two writes, and between two reads.
pub const WAITS: [u64; 5] = [0, 10, 30, 100, 1000];

/// Cost of the consumer to the producer.
pub struct Pair {
    /// Cycles with the consumer over cycles without, less one.
    pub overhead: f64,
    /// Added cycles for each write.
    pub added_cycles: f64,
    /// Cycles from one read to the next.
    pub read_period: f64,
    /// Lines that the observer's core lost to writes of the program's, a thousand cycles.
    pub invalidations: f64,
    /// Cycles from one write to the next, with the consumer.
    pub write_period: f64,
}

/// How often a producer writes: some hundred thousand cycles long.
fn writes(wait: u64) -> u64 {
    (100_000 / (wait + 4)).max(200)
}

/// A producer: so many writes with a wait behind each.
pub fn program(isa: Isa, wait: u64) -> Result<Program, LabError> {
    let assembled = assemble(isa, &text(isa, writes(wait), wait));
    let assembled = assembled.map_err(|error| LabError::Observer(error.to_string()))?;
    let image = ProgramImage::parse(&assembled.file, "producer")?;
    Ok(Program::of_image("producer", Arc::new(image)))
}

fn text(isa: Isa, writes: u64, wait: u64) -> String {
    let (setup, store, count, exit) = match isa {
        Isa::Riscv64 => (
            format!("li s0, {TAG}\nli s1, {writes}\n"),
            "sd s1, 0(s0)\n",
            "addi s1, s1, -1\nbnez s1, write\n",
            "li a0, 0\nli a7, 94\necall\n",
        ),
        Isa::Alpha => (
            format!("li s0, {TAG}\nli s1, {writes}\n"),
            "stq s1, 0(s0)\n",
            "subq s1, 1, s1\nbne s1, write\n",
            "li a0, 0\nli v0, 1\ncall_pal 0x83\n",
        ),
    };
    let spin = match (isa, wait) {
        (_, 0) => String::new(),
        (Isa::Riscv64, wait) => format!("li s2, {wait}\nspin: addi s2, s2, -1\nbnez s2, spin\n"),
        (Isa::Alpha, wait) => format!("li s2, {wait}\nspin: subq s2, 1, s2\nbne s2, spin\n"),
    };
    format!(".globl _start\n_start: {setup}write: {store}{spin}{count}{exit}")
}

/// Runs a producer alone and beside a consumer.
///
/// # Errors
/// [`LabError`]: a run fails.
pub fn pair(
    isa: Isa,
    machine: &MachineConfig,
    placement: Placement,
    (producer_wait, consumer_wait): (u64, u64),
) -> Result<Pair, LabError> {
    let (program, writes) = (program(isa, producer_wait)?, writes(producer_wait));
    let lab = || Lab::of(&program).on_machine(machine);
    let alone = lab().unobserved(placement)?;
    let consumer = Observer {
        placement,
        signals: Signals::Tag,
        throttle: match consumer_wait {
            0 => Throttle::None,
            turns => Throttle::Spin(turns),
        },
    };
    let both = lab().observe(&consumer, |_, _, _| {})?;
    let lost = both.observer_memory().coherence.invalidation_events;
    let cycles = both.cycles as f64;
    Ok(Pair {
        overhead: cycles / alone.cycles as f64 - 1.0,
        added_cycles: (cycles - alone.cycles as f64) / writes as f64,
        read_period: both.period(),
        invalidations: 1000.0 * lost as f64 / cycles,
        write_period: cycles / writes as f64,
    })
}
