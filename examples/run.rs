//! Runs a program of the project on a simulated machine and prints where the cycles went.
//!
//! `cargo run --release --example run`
#![allow(clippy::print_stdout)] // The numbers are what this program is for.

use hps_lab::{Isa, Lab, LabError};
use hps_pipeline::core::Cause;

fn main() -> Result<(), LabError> {
    let ran = Lab::program("lz", Isa::Riscv64)?
        .args(["small"])
        .on("hps-4wide")?
        .limit(1_000_000)
        .run()?;

    let (cycles, committed) = (ran.cycles(), ran.instructions());
    println!(
        "{committed} instructions in {cycles} cycles, {:.3} a cycle",
        committed as f64 / cycles as f64
    );
    // Every commit slot of every cycle has one owner, so the shares sum to 1.
    let stack = &ran.timing.cpi;
    for cause in Cause::ALL {
        let share = stack.get(cause) as f64 / stack.total() as f64;
        if share >= 0.01 {
            println!("{:>5.1}% {}", 100.0 * share, cause.name());
        }
    }
    Ok(())
}
