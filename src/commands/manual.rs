//! `hps dev completions` and `hps dev man`: what shells and `man` know of the command, made from its own description.

use std::path::Path;

use anyhow::Context;
use clap_complete::Shell;

use crate::cli::help::description;
use crate::text::print;

/// Prints a shell's completions.
pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut description(), "hps", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// Writes a man page for each command into a folder.
pub fn man(folder: &Path) -> anyhow::Result<u8> {
    let written = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(description(), folder)
    };
    written().with_context(|| format!("{}: cannot be written", folder.display()))?;
    Ok(0)
}
