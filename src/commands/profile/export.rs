//! The exact profile for other tools.

use hps_isa::editor::NoEditor;
use hps_lab::host::{shell_word, shell_words};
use hps_lab::{Provenance, Truth, VERSION};
use hps_profile::symbolized::{Header, SymbolizedProfile};
use hps_profilers::views::{Frames, MOST_FRAMES, Named, symbolized};

use super::exact::Shown;
use crate::cli::profile::Followed;
use crate::cli::{FrameKind, ProfileArgs};
use crate::export::{self, Export};

/// Bytes that a file may have.
const MOST_BYTES: u64 = 50_000_000;
/// Least frames of all stacks together. A file that is too large with so few frames has another reason.
const LEAST_FRAMES: usize = 10_000;

/// Writes the files.
pub(super) fn write(shown: &Shown<'_>, exports: &[Export]) -> anyhow::Result<()> {
    let named = Named {
        exact: &shown.truth.exact,
        symbols: shown.symbols,
        map: shown.map,
        process: None,
    };
    write_programs((shown.args, shown.truth), &[named], exports)
}

/// Writes the files, of these programs of a run.
pub(super) fn write_programs(
    run: (&ProfileArgs, &Truth<NoEditor>),
    programs: &[Named<'_>],
    exports: &[Export],
) -> anyhow::Result<()> {
    if exports.is_empty() {
        return Ok(());
    }
    export::write(&profile(run, programs, MOST_FRAMES), exports)?;
    exports
        .iter()
        .try_for_each(|export| shorten(run, programs, export))
}

/// Rewrites a file that is too large, with shorter stacks.
fn shorten(
    run: (&ProfileArgs, &Truth<NoEditor>),
    programs: &[Named<'_>],
    export: &Export,
) -> anyhow::Result<()> {
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
        export::write(
            &profile(run, programs, frames),
            std::slice::from_ref(export),
        )?;
    }
}

/// The profile with names, with so many frames in all stacks together.
fn profile(
    (args, truth): (&ProfileArgs, &Truth<NoEditor>),
    programs: &[Named<'_>],
    most_frames: usize,
) -> SymbolizedProfile {
    let provenance = &truth.ran.provenance;
    let machine = provenance.machine.as_ref();
    let header = Header {
        program: provenance.program.clone(),
        program_hash: provenance.program_hash.clone(),
        version: VERSION.to_string(),
        machine: machine.map(|m| m.config.name.clone()).unwrap_or_default(),
        core: machine
            .map(|m| m.core.name().to_string())
            .unwrap_or_default(),
        command: command(args, provenance),
        clock_mhz: machine.map(|m| f64::from(m.config.clock_mhz)),
    };
    symbolized(
        header,
        (programs, most_frames),
        &truth.ran.process.os.thread_names(),
        truth.timeline.as_ref(),
        match args.frames {
            FrameKind::Interpreted => Frames::Interpreted,
            FrameKind::Nested | FrameKind::Native => Frames::Nested,
        },
    )
}

/// The command that makes the profile again.
fn command(args: &ProfileArgs, provenance: &Provenance) -> String {
    let machine = provenance.machine.as_ref();
    let mut command = format!("hps profile --isa {}", provenance.isa);
    if let Some(machine) = machine {
        command += &format!(
            " --machine {} --core {}",
            shell_word(&machine.config.name),
            machine.core.name()
        );
    }
    match args.process {
        Some(Followed::One(number)) => command += &format!(" --process {number}"),
        Some(Followed::All) => command += " --process all",
        None => {}
    }
    if let Some(limit) = args.max_instructions {
        command += &format!(" --max-instructions {limit}");
    }
    format!("{command} {}", shell_words(&args.subject.command))
}
