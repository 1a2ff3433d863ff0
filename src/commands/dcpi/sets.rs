//! Samples of a database with the programs that they are of.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use hps_dcpi::database::{Contents, Database, Stored};
use hps_dcpi::samples::Event;
use hps_lab::{Program, VERSION};
use hps_sim_core::image::{Isa, ProgramImage};

use super::args::SetArgs;

/// Samples with their program.
pub(super) struct Set {
    pub stored: Stored,
    pub program: Program,
}

impl Set {
    pub fn image(&self) -> &ProgramImage {
        &self.program.image
    }

    pub fn name(&self) -> &str {
        &self.stored.header.image
    }

    /// Samples of cycles by procedure.
    pub fn by_procedure(&self) -> BTreeMap<String, u64> {
        let lines = hps_dcpi::report::by_procedure(
            self.image(),
            self.name(),
            &self.stored.samples,
            &[Event::Cycles],
        );
        lines
            .into_iter()
            .map(|l| (l.procedure, l.counts[0]))
            .collect()
    }
}

/// The contents of some epochs. Damaged files are told.
pub(super) fn contents(folder: &Path, epochs: &[u32]) -> anyhow::Result<Contents> {
    let contents = Database::open(folder)?.read(epochs)?;
    for (path, damage) in &contents.damaged {
        say!("hps: {}: passed over: {damage}", path.display());
    }
    Ok(contents)
}

/// All samples that the options name, each with its program.
pub(super) fn sets(args: &SetArgs) -> anyhow::Result<Vec<Set>> {
    let mut found = Vec::new();
    let mut names = Vec::new();
    for stored in contents(&args.db[0], &args.epoch)?.images {
        let header = &stored.header;
        names.push(header.image.clone());
        let is_wanted = args.program.as_ref().is_none_or(|wanted| {
            header.image == *wanted || header.image_hash.starts_with(wanted.as_str())
        });
        if is_wanted {
            found.push(Set {
                program: program(&stored)?,
                stored,
            });
        }
    }
    if found.is_empty() {
        names.dedup();
        match &args.program {
            Some(wanted) if !names.is_empty() => bail!(
                "--program {wanted}: the database has samples of {}",
                names.join(", ")
            ),
            _ => bail!("{}: no samples are there", args.db[0].display()),
        }
    }
    Ok(found)
}

/// The one set that the options name.
pub(super) fn only(args: &SetArgs) -> anyhow::Result<Set> {
    let mut found = sets(args)?;
    if found.len() > 1 {
        let names: Vec<String> = found
            .iter()
            .map(|s| {
                format!(
                    "{} ({})",
                    s.name(),
                    &s.stored.header.image_hash[..12.min(s.stored.header.image_hash.len())]
                )
            })
            .collect();
        bail!(
            "samples of several programs or periods are there: choose with --program or --epoch among {}",
            names.join(", ")
        );
    }
    found.pop().context("no samples are there")
}

/// The program that samples are of, if it is still the same.
fn program(stored: &Stored) -> anyhow::Result<Program> {
    let header = &stored.header;
    if header.version != VERSION {
        say!(
            "hps: the samples of {} were made by version {}; this is {VERSION}",
            header.image,
            header.version
        );
    }
    let program = Program::find(&header.image, Isa::from_name(&header.isa))?;
    if program.image.hash != header.image_hash {
        bail!(
            "{}: it is not the program of the database any more: its file has changed; collect again",
            header.image
        );
    }
    Ok(program)
}
