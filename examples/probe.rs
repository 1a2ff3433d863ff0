//! A probe of about twenty lines: which functions a program calls most.
//!
//! `cargo run --release --example probe`
#![allow(clippy::print_stdout)] // The numbers are what this program is for.

use std::collections::HashMap;

use hps_isa::inst::Inst;
use hps_isa::probe::Probe;
use hps_lab::{Isa, Lab, LabError};

/// Calls by the address that they go to.
#[derive(Default)]
struct Calls(HashMap<u64, u64>);

impl Probe for Calls {
    // A hook that no constant asks for costs the machine nothing.
    const WANTS_CONTROL: bool = true;

    fn control(&mut self, _pc: u64, inst: &Inst, target: u64, _taken: bool) {
        if inst.class.is_call() {
            *self.0.entry(target).or_default() += 1;
        }
    }
}

fn main() -> Result<(), LabError> {
    let ran = Lab::program("chess", Isa::Riscv64)?
        .args(["small"])
        .watched_by(Calls::default())
        .limit(2_000_000)
        .run_here()?;

    let mut ranking: Vec<(u64, u64)> = ran.probe.0.into_iter().collect();
    ranking.sort_by_key(|&(target, count)| (std::cmp::Reverse(count), target));
    for (target, count) in ranking.into_iter().take(8) {
        let function = ran.process.image.symbols.function_at(target);
        println!("{count:>8} {}", function.map_or("?", |f| f.name.as_str()));
    }
    Ok(())
}
