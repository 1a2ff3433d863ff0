//! The programs of a leaderboard.

use std::path::Path;

use anyhow::bail;
use hps_experiments::{InputSize, Program, SweepSpec, load_programs};

use super::args::LeaderboardArgs;
use crate::cli::Size;
use crate::cli::groups::names_and_paths;
use crate::program::{own_programs, suite_programs};
use hps_lab::DEFAULT_ISA;

/// Loads what the options name; the programs of each instruction set by themselves.
pub fn by_isa(args: &LeaderboardArgs) -> anyhow::Result<Vec<Vec<Program>>> {
    let (names, own) = names_and_paths(args.programs.clone());
    if own.is_empty() && !args.arguments.is_empty() {
        bail!("arguments behind `--` are for a program of your own: name it by its path");
    }
    let mut isas = args.isa.clone();
    if isas.is_empty() {
        isas.push(DEFAULT_ISA);
    }
    let mut programs = Vec::new();
    let here = Path::new(".");
    if let Some(folder) = &args.suite {
        if !own.is_empty() {
            bail!(
                "--suite names programs of the suite, and {} is one of your own",
                own[0]
            );
        }
        programs.extend(suite_programs(&names, folder.as_deref(), &isas, args.size)?);
    } else if own.is_empty() || !names.is_empty() {
        let spec = SweepSpec {
            programs: names,
            isas,
            size: match args.size {
                Size::Small => InputSize::Small,
                Size::Large => InputSize::Large,
            },
            address_seeds: args.address_seed.clone(),
            ..SweepSpec::default()
        };
        programs.extend(load_programs(&spec, here)?);
    }
    if !own.is_empty() {
        let spec = SweepSpec {
            own_programs: own_programs(
                &own,
                &args.arguments,
                (args.root.as_deref(), args.stdin.as_deref()),
            )?,
            address_seeds: args.address_seed.clone(),
            ..SweepSpec::default()
        };
        programs.extend(load_programs(&spec, here)?);
    }
    let mut groups: Vec<Vec<Program>> = Vec::new();
    for mut program in programs {
        args.time.apply(&mut program);
        let isa = program.image.isa;
        match groups.iter_mut().find(|g| g[0].image.isa == isa) {
            Some(group) => group.push(program),
            None => groups.push(vec![program]),
        }
    }
    Ok(groups)
}
