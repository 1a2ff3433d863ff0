//! A sweep of one program: how accurate HPS is at two sampling frequencies, and what it costs.
//!
//! `cargo run --release --example sweep`
#![allow(clippy::print_stdout)] // The table is what this program is for.

use std::path::Path;
use std::sync::Mutex;

use hps_experiments::{Plan, Store, SweepSpec, run};

fn main() -> anyhow::Result<()> {
    let definition = r#"(
        programs: ["parse"],
        profiles: [method, call_pair],
        bursts: [1],
        one_in: [100, 1000],
        timing: All,
        core: Instruction,
    )"#;
    let spec = SweepSpec::from_ron(definition, "examples/sweep.rs")?;
    let plan = Plan::new(&spec, Path::new("."))?;
    // Finished points stay in the store: a sweep that is stopped goes on where it stopped.
    let folder = tempfile::tempdir()?;
    let store = Mutex::new(Store::open(&folder.path().join("results.jsonl"))?);
    let rows = run(&plan, &store, &())?;
    print!("{}", hps_plots::summary_table(&rows));
    Ok(())
}
