//! The exact profile for other tools.

use hps_lab::VERSION;
use hps_lab::host::{shell_word, shell_words};
use hps_profile::symbolized::Header;
use hps_profilers::views::symbolized;

use super::exact::Shown;
use crate::export::{self, Export};

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
        &shown.truth.ran.process.os.thread_names(),
        shown.truth.timeline.as_ref(),
    );
    export::write(&profile, exports)
}

/// The command that makes the profile again.
fn command(shown: &Shown<'_>) -> String {
    let provenance = &shown.truth.ran.provenance;
    let machine = provenance.machine.as_ref();
    let mut command = format!("hps profile --isa {}", provenance.isa);
    if let Some(machine) = machine {
        command += &format!(
            " --machine {} --core {}",
            shell_word(&machine.config.name),
            machine.core.name()
        );
    }
    if let Some(limit) = shown.args.max_instructions {
        command += &format!(" --max-instructions {limit}");
    }
    format!("{command} {}", shell_words(&shown.args.command))
}
