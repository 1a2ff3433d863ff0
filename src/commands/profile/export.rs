//! The exact profile in the formats that other tools open.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hps_lab::VERSION;
use hps_profile::formats::{self, Format};
use hps_profile::symbolized::Header;
use hps_profilers::views::symbolized;

use super::exact::Shown;

/// A file to be written.
pub(super) struct Export {
    format: Format,
    path: PathBuf,
}

impl Export {
    /// What `FORMAT:FILE` or `FILE` asks for.
    pub fn parse(text: &str) -> anyhow::Result<Export> {
        let named = text
            .split_once(':')
            .and_then(|(name, file)| Some((Format::from_name(name)?, Path::new(file))));
        let found = named.or_else(|| Some((Format::from_path(Path::new(text))?, Path::new(text))));
        match found {
            Some((format, path)) => Ok(Export {
                format,
                path: path.to_path_buf(),
            }),
            None => {
                let all = Format::ALL.map(|f| format!("{} (*{})", f.name(), f.extension()));
                bail!(
                    "--export {text}: its end names no format; write FORMAT:FILE, where FORMAT is one of {}",
                    all.join(", ")
                )
            }
        }
    }
}

/// Writes the files.
pub(super) fn write(shown: &Shown<'_>, exports: &[Export]) -> anyhow::Result<()> {
    if exports.is_empty() {
        return Ok(());
    }
    let provenance = &shown.truth.ran.provenance;
    let machine = provenance.machine.as_ref();
    let header = Header {
        program: provenance.program.clone(),
        program_hash: provenance.program_hash.clone(),
        version: VERSION.to_string(),
        machine: machine.map(|m| m.config.name.clone()).unwrap_or_default(),
        core: machine
            .map(|m| m.core.name().to_string())
            .unwrap_or_default(),
        command: command(shown),
        clock_mhz: machine.map(|m| f64::from(m.config.clock_mhz)),
    };
    let profile = symbolized(
        header,
        &shown.truth.exact,
        shown.image,
        shown.map,
        shown.truth.timeline.as_ref(),
    );
    for Export { format, path } in exports {
        let written = || {
            let mut out = BufWriter::new(std::fs::File::create(path)?);
            formats::write(&profile, *format, &mut out)?;
            out.flush()
        };
        written().with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(())
}

/// The command that makes the profile again.
fn command(shown: &Shown<'_>) -> String {
    let provenance = &shown.truth.ran.provenance;
    let machine = provenance.machine.as_ref();
    let mut command = format!("hps profile --isa {}", provenance.isa);
    if let Some(machine) = machine {
        command += &format!(
            " --machine {} --core {}",
            machine.config.name,
            machine.core.name()
        );
    }
    if let Some(limit) = shown.args.max_instructions {
        command += &format!(" --max-instructions {limit}");
    }
    for word in &shown.args.command {
        command += &format!(" {word}");
    }
    command
}
