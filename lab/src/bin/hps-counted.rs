//! The command that `hps dev bench --counts --counted-by` has counted: the first instructions of a program that comes with
//! the project, in one loop. The loops and nothing else are in it, so that it is built sooner than `hps`, which counts
//! itself where nothing is said.
//!
//! `hps-counted PROGRAM ISA SIZE MACHINE LOOP INSTRUCTIONS`

use std::error::Error;

use hps_lab::counted::CountedLoop;
use hps_lab::{Isa, Program};
use hps_pipeline::config::MachineConfig;
use hps_workloads::Size;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    if cfg!(debug_assertions) {
        return Err("counts of a debug build say nothing; build with --release".into());
    }
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [program, isa, size, machine, name, instructions] = &all[..] else {
        return Err("usage: hps-counted PROGRAM ISA SIZE MACHINE LOOP INSTRUCTIONS".into());
    };
    let workload = hps_workloads::find(program).ok_or("no such program")?;
    let isa = Isa::ALL.into_iter().find(|one| one.name() == isa);
    let isa = isa.ok_or("no such instruction set")?;
    let size = Size::ALL.into_iter().find(|one| one.arg() == size);
    let program = Program::workload(workload, isa, size.ok_or("no such size")?)?;
    let counted = CountedLoop::ALL.into_iter().find(|one| one.name() == name);
    let counted = counted.ok_or("no such loop")?;
    counted.run(
        &program,
        &MachineConfig::load(machine)?,
        instructions.parse()?,
    )
}
