//! The programs that an evaluation is made with: those of the project, or one of the user's own.

use std::path::Path;

use anyhow::{Context, bail};
use hps_experiments::{InputSize, OwnProgram, Program, SweepSpec, load_programs};

use crate::cli::{ReproduceArgs, Size};
use crate::program::DEFAULT_ISA;

/// Loads what the options name.
pub fn programs(args: &ReproduceArgs) -> anyhow::Result<Vec<Program>> {
    let here = Path::new(".");
    if let Some(program) = &args.program {
        let absolute = |path: &Path| -> anyhow::Result<String> {
            let path = std::path::absolute(path)
                .with_context(|| format!("{}: cannot be found", path.display()))?;
            Ok(path.to_string_lossy().into_owned())
        };
        let spec = SweepSpec {
            own_programs: vec![OwnProgram {
                path: absolute(program)?,
                args: args.arguments.clone(),
                root: args.root.as_deref().map(absolute).transpose()?,
            }],
            ..SweepSpec::default()
        };
        return Ok(load_programs(&spec, here)?);
    }
    if !args.arguments.is_empty() {
        bail!("arguments behind `--` are for a program of your own: name it with --program");
    }
    let mut isas = args.isa.clone();
    if isas.is_empty() {
        isas.push(DEFAULT_ISA);
    }
    let mut programs = Vec::new();
    for isa in isas {
        let spec = SweepSpec {
            programs: args.programs.clone(),
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
