//! Profiles in the formats that other tools open.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use hps_profile::formats::{self, Format};
use hps_profile::symbolized::SymbolizedProfile;

use crate::output::ExportArg;

/// A file to be written.
pub struct Export {
    format: Format,
    path: PathBuf,
}

impl Export {
    /// Reads `FORMAT:FILE`, or `FILE` whose ending names the format.
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }
}

/// Reads the values of `--export`.
pub fn parse_all(texts: &[ExportArg]) -> anyhow::Result<Vec<Export>> {
    texts.iter().map(|text| Export::parse(&text.0)).collect()
}

/// Writes the files.
pub fn write(profile: &SymbolizedProfile, exports: &[Export]) -> anyhow::Result<()> {
    for note in profile.notes().iter().filter(|_| !exports.is_empty()) {
        say!("hps: --export: {note}");
    }
    for Export { format, path } in exports {
        let written = || {
            let mut out = BufWriter::new(std::fs::File::create(path)?);
            formats::write(profile, *format, &mut out)?;
            out.flush()
        };
        written().with_context(|| format!("{}: cannot be written", path.display()))?;
        let is_empty = std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
        if *format == Format::LlvmSamples && is_empty {
            bail!(
                "{}: holds no samples, since LLVM's are by source line and the program has no line table for what ran; \
                 compile it with -g",
                path.display()
            );
        }
    }
    Ok(())
}
