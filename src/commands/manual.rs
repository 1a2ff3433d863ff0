//! `hps completions` and `hps man`: what shells and `man` know of the command, made from its own description.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::text::print;

/// Prints a shell's completions.
pub fn completions(shell: Shell) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hps", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// Writes a man page for each command into a folder.
pub fn man(folder: &Path) -> anyhow::Result<u8> {
    let written = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Cli::command(), folder)
    };
    written().with_context(|| format!("{}: cannot be written", folder.display()))?;
    Ok(0)
}
