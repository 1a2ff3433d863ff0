//! The programs of a leaderboard.

use std::path::Path;

use anyhow::{Context, bail};
use hps_experiments::{InputSize, OwnProgram, Program, SweepSpec, load_programs};

use super::args::LeaderboardArgs;
use crate::cli::Size;
use hps_lab::DEFAULT_ISA;

/// Loads what the options name; the programs of each instruction set by themselves.
pub fn by_isa(args: &LeaderboardArgs) -> anyhow::Result<Vec<Vec<Program>>> {
    let (own, names): (Vec<&String>, Vec<&String>) =
        args.programs.iter().partition(|p| p.contains('/'));
    if own.is_empty() && !args.arguments.is_empty() {
        bail!("arguments behind `--` are for a program of your own: name it by its path");
    }
    let mut isas = args.isa.clone();
    if isas.is_empty() {
        isas.push(DEFAULT_ISA);
    }
    let mut programs = Vec::new();
    let here = Path::new(".");
    if own.is_empty() || !names.is_empty() {
        let spec = SweepSpec {
            programs: names.into_iter().cloned().collect(),
            isas,
            size: match args.size {
                Size::Small => InputSize::Small,
                Size::Large => InputSize::Large,
            },
            ..SweepSpec::default()
        };
        programs.extend(load_programs(&spec, here)?);
    }
    if !own.is_empty() {
        let own_program = |path: &String| -> anyhow::Result<OwnProgram> {
            Ok(OwnProgram {
                path: absolute(Path::new(path))?,
                called: Some(path.clone()),
                args: args.arguments.clone(),
                root: args.root.as_deref().map(absolute).transpose()?,
                stdin: args.stdin.as_deref().map(absolute).transpose()?,
                ..OwnProgram::default()
            })
        };
        let spec = SweepSpec {
            own_programs: own.into_iter().map(own_program).collect::<Result<_, _>>()?,
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

fn absolute(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path)
        .with_context(|| format!("{}: cannot be found", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}
