//! `hps shim`: observe programs on the machine itself.

mod annotate;
pub mod args;
mod calls;
mod examples;
mod found_calls;
mod measure;
mod observe;
pub mod results;
mod shown;
mod simulate;

use hps_shim::placement::{Seat, Wish};

use args::{PlaceArgs, ShimCommand};

use crate::document::Described;

/// Runs the command; the result is the exit code.
pub fn shim(command: &ShimCommand) -> anyhow::Result<u8> {
    match command {
        ShimCommand::Run(args) => observe::run(args),
        ShimCommand::Attach(args) => observe::attach(args),
        ShimCommand::Analyze(args) => observe::analyze(args),
        ShimCommand::Overhead(args) => measure::overhead(args),
        ShimCommand::Microbench(args) => measure::microbench(args),
        ShimCommand::Simulate(args) => simulate::simulate(args),
    }
}

fn wish(place: &PlaceArgs) -> Wish {
    Wish {
        seat: place.placement.map(|seat| match seat {
            args::Seat::Cmp => Seat::Cmp,
            args::Seat::Smt => Seat::Smt,
        }),
        observer: place.observer_cpu,
        program: place
            .program_cpus
            .as_ref()
            .map_or(Vec::new(), |cpus| cpus.0.clone()),
    }
}

/// Parts per million of a tolerance in per cent.
fn tolerance_ppm(percent: f64) -> anyhow::Result<u32> {
    if !(0.0..=100.0).contains(&percent) {
        anyhow::bail!("--tolerance {percent} is not between 0 and 100 per cent");
    }
    Ok((percent * 10_000.0).round() as u32)
}

/// What the commands write as JSON.
pub fn all_described() -> Vec<Described> {
    let [result, analysis] = observe::described();
    vec![result, analysis, measure::described()]
}
