//! Checkpoints of `hps run`: the folder that they are kept in, and the command that a checkpoint goes on with.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use clap::Parser as _;
use hps_lab::checkpoint::{CheckpointFile, Checkpoints};
use hps_lab::input;
use hps_system::os::Stdin;
use serde_json::{Value, json};

use crate::cli::{Cli, Command, RunArgs, first_given};

/// What a command puts into its checkpoints, so that another one can go on without saying it again.
fn about() -> anyhow::Result<Value> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    Ok(json!({ "words": words, "folder": std::env::current_dir()? }))
}

/// The options of the run that a checkpoint is of, with those that this command gives anew. `None`: the command names the
/// program itself.
pub fn resumed(args: &RunArgs) -> anyhow::Result<Option<RunArgs>> {
    let Some(path) = &args.checkpoint.from_checkpoint else {
        return Ok(None);
    };
    if !args.command.is_empty() {
        return Ok(None);
    }
    let about = CheckpointFile::open(path)?.header.about;
    let (Some(words), Some(folder)) = (about["words"].as_array(), about["folder"].as_str()) else {
        bail!(
            "{}: the checkpoint does not say its command; give the program and its options behind --from-checkpoint",
            path.display()
        );
    };
    let here = std::env::current_dir()?;
    ensure!(
        here == Path::new(folder),
        "--from-checkpoint {}: the run was started in {folder}; go there, or give the program and its options",
        path.display()
    );
    let words = words.iter().filter_map(Value::as_str);
    let mut run = parsed(std::iter::once("hps").chain(words))?;
    let path_word = path.to_string_lossy();
    let mut plain = parsed(["hps", "run", "--from-checkpoint", &path_word].into_iter())?;
    for of in [&mut run, &mut plain] {
        of.stats |= args.stats;
        of.json = args.json.clone();
        of.max_instructions = args.max_instructions.or(of.max_instructions);
        let every = args.checkpoint.checkpoint_every.is_some();
        if every {
            of.checkpoint = args.checkpoint.clone();
        }
        of.checkpoint.from_checkpoint = Some(path.clone());
    }
    ensure!(
        format!("{plain:?}") == format!("{args:?}"),
        "--from-checkpoint {}: without a program, only --stats, --json, --max-instructions, --checkpoint-every and \
         --checkpoints go with it: all else is that of the run",
        path.display()
    );
    Ok(Some(run))
}

fn parsed<'a>(words: impl Iterator<Item = &'a str>) -> anyhow::Result<RunArgs> {
    match Cli::try_parse_from(words)?.command {
        Command::Run(args) => Ok(args),
        _ => bail!("the checkpoint is of another command than hps run"),
    }
}

/// The checkpoints that a run keeps and begins from, if there are any.
pub fn of(args: &RunArgs) -> anyhow::Result<Option<Checkpoints>> {
    let of = &args.checkpoint;
    let from = of.from_checkpoint.as_deref().map(CheckpointFile::open);
    let from = from.transpose()?;
    let about = match &from {
        Some(from) => from.header.about.clone(),
        None => about()?,
    };
    Ok(match (&of.checkpoints, of.checkpoint_every, from) {
        (Some(folder), Some(every), from) => {
            let kept = Checkpoints::in_folder(folder, every, about)?;
            let kept = match of.checkpoint_check {
                true => kept.checked(),
                false => kept,
            };
            Some(match from {
                Some(from) => kept.from(from),
                None => kept,
            })
        }
        (_, _, Some(from)) => Some(Checkpoints::after(from)?),
        _ => None,
    })
}

/// Refuses options whose results no checkpoint keeps.
pub fn check(args: &RunArgs) -> anyhow::Result<()> {
    let of = &args.checkpoint;
    if of.checkpoint_every.is_none() && of.from_checkpoint.is_none() {
        return Ok(());
    }
    let lacks = [
        (args.trace.is_some(), "--trace"),
        (args.sample, "--sample"),
        (args.by_function, "--by-function"),
    ];
    match first_given(&lacks) {
        Some(option) => {
            bail!("{option} does not go with checkpoints: they do not keep what it has gathered")
        }
        None => Ok(()),
    }
}

/// The input of a program whose run is kept: all of the standard input of the command, which could not be read again.
pub fn stdin(args: &RunArgs) -> anyhow::Result<Stdin> {
    use std::io::IsTerminal;
    if args.checkpoint.from_checkpoint.is_some() {
        // The checkpoint has it.
        return Ok(Stdin::Empty);
    }
    if std::io::stdin().is_terminal() {
        let option = match args.gdb {
            Some(_) => "--gdb",
            None => "--checkpoint-every",
        };
        bail!(
            "{option}: input from a terminal cannot be read again; redirect standard input (< /dev/null)"
        );
    }
    let bytes = input::read_host(args.guest.time.limit);
    Ok(Stdin::Bytes(
        bytes.context("standard input cannot be read")?,
    ))
}
