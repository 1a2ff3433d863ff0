//! The programs that an evaluation is made with: those of the project, those of the suite, or one of the
//! user's own.

use std::path::Path;

use anyhow::bail;
use hps_experiments::{InputSize, Program, SweepSpec, load_programs};
use hps_lab::DEFAULT_ISA;
use hps_workloads::suite::{self, SuiteError};

use crate::cli::{ReproduceArgs, Size};
use crate::program::{own_programs, suite_programs};

/// Refuses options that go with other programs than those that are named.
pub fn check(args: &ReproduceArgs) -> anyhow::Result<()> {
    let (names, paths) = args.programs.names_and_paths();
    if paths.is_empty() && !args.arguments.is_empty() {
        bail!("arguments behind `--` are for a program of your own: name it with --program");
    }
    if paths.is_empty() && (args.root.is_some() || args.stdin.is_some()) {
        bail!("--root and --stdin are for a program of your own: name it with --program FILE");
    }
    if paths.len() > 1 || !(paths.is_empty() || names.is_empty()) {
        bail!("--program: an evaluation is made with one program of your own, and no others");
    }
    if !paths.is_empty()
        && (!args.isa.is_empty() || args.size != Size::Small || args.suite.is_some())
    {
        bail!("--isa, --size and --suite are for programs that come with the project");
    }
    Ok(())
}

/// Loads what the options name; each of its runs is limited as they say.
pub fn programs(args: &ReproduceArgs) -> anyhow::Result<Vec<Program>> {
    let mut programs = named(args)?;
    for program in &mut programs {
        args.time.apply(program);
    }
    Ok(programs)
}

fn named(args: &ReproduceArgs) -> anyhow::Result<Vec<Program>> {
    let here = Path::new(".");
    let (names, paths) = args.programs.names_and_paths();
    if !paths.is_empty() {
        let spec = SweepSpec {
            own_programs: own_programs(
                &paths,
                &args.arguments,
                (args.root.as_deref(), args.stdin.as_deref()),
            )?,
            ..SweepSpec::default()
        };
        return Ok(load_programs(&spec, here)?);
    }
    let mut isas = args.isa.clone();
    if isas.is_empty() {
        isas.push(DEFAULT_ISA);
    }
    if let Some(folder) = &args.suite {
        let names = evaluated(names)?;
        return suite_programs(&names, folder.as_deref(), &isas, args.size);
    }
    let mut programs = Vec::new();
    for isa in isas {
        let spec = SweepSpec {
            programs: names.clone(),
            isas: vec![isa],
            size: match args.size {
                Size::Small => InputSize::Small,
                Size::Large => InputSize::Large,
            },
            ..SweepSpec::default()
        };
        programs.extend(load_programs(&spec, here)?);
    }
    Ok(programs)
}

/// The names, or without any those of the programs of the suite that stand for SPECint2000's.
fn evaluated(names: Vec<String>) -> Result<Vec<String>, SuiteError> {
    if !names.is_empty() {
        return Ok(names);
    }
    let specs = suite::all()?.iter().filter(|p| !p.stands_for.is_empty());
    Ok(specs.map(|p| p.name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_have_the_programs_that_stand_for_specs_unless_others_are_named() {
        let specs = [
            "bzip2",
            "gzip",
            "phalanx",
            "box2d",
            "lua",
            "awk",
            "tinyscheme",
            "tcc",
            "lemon",
            "tree-sitter",
            "arachne-pnr",
            "sqlite",
        ];
        assert_eq!(evaluated(Vec::new()).expect("the manifest"), specs);
        let named = vec!["hash-join".to_string()];
        assert_eq!(evaluated(named.clone()).expect("the manifest"), named);
    }
}
