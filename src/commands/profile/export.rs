//! The exact profile for other tools.

use hps_lab::VERSION;
use hps_lab::host::{shell_word, shell_words};
use hps_profile::symbolized::{Header, SymbolizedProfile};
use hps_profilers::views::{Frames, MOST_FRAMES, symbolized};

use super::exact::Shown;
use crate::cli::FrameKind;
use crate::export::{self, Export};

/// Bytes that a file may have.
const MOST_BYTES: u64 = 50_000_000;
/// Least frames of all stacks together. A file that is too large with so few frames has another reason.
const LEAST_FRAMES: usize = 10_000;

/// Writes the files.
pub(super) fn write(shown: &Shown<'_>, exports: &[Export]) -> anyhow::Result<()> {
    if exports.is_empty() {
        return Ok(());
    }
    export::write(&profile(shown, MOST_FRAMES), exports)?;
    exports.iter().try_for_each(|export| shorten(shown, export))
}

/// Rewrites a file that is too large, with shorter stacks.
fn shorten(shown: &Shown<'_>, export: &Export) -> anyhow::Result<()> {
    let path = export.path().display();
    let mut frames = MOST_FRAMES;
    loop {
        let bytes = std::fs::metadata(export.path()).map_or(0, |file| file.len());
        if bytes <= MOST_BYTES || frames <= LEAST_FRAMES {
            return Ok(());
        }
        say!(
            "hps: --export: {path}: {} MB are more than {}; writing it again with shorter stacks",
            bytes / 1_000_000,
            MOST_BYTES / 1_000_000
        );
        // The limit is a tenth below the proportional one, since the parts of a file do not all shrink with its stacks.
        let fewer = frames as u128 * u128::from(MOST_BYTES) / u128::from(bytes) * 9 / 10;
        frames = (fewer as usize).max(LEAST_FRAMES);
        export::write(&profile(shown, frames), std::slice::from_ref(export))?;
    }
}

/// The profile with names, with so many frames in all stacks together.
fn profile(shown: &Shown<'_>, most_frames: usize) -> SymbolizedProfile {
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
    symbolized(
        header,
        (&shown.truth.exact, most_frames),
        shown.symbols,
        shown.map,
        &shown.truth.ran.process.os.thread_names(),
        shown.truth.timeline.as_ref(),
        match shown.args.frames {
            FrameKind::Interpreted => Frames::Interpreted,
            FrameKind::Nested | FrameKind::Native => Frames::Nested,
        },
    )
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
    format!("{command} {}", shell_words(&shown.args.subject.command))
}
