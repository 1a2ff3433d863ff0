//! `hps cluster slurm`: a run's plan and the batch scripts that do it.

use anyhow::bail;
use clap::Parser;
use hps_experiments::cluster::Slurm;
use hps_lab::host;

use super::args::SlurmArgs;
use super::parts::time;
use crate::cli::help::description;
use crate::cli::{Cli, Command, PartArgs, old};
use crate::commands::{leaderboard, reproduce, sweep};
use crate::text;

/// Plans the run and writes the scripts.
pub fn slurm(args: &SlurmArgs) -> anyhow::Result<u8> {
    if !(args.hours > 0.0 && args.slack >= 1.0) {
        bail!("--hours must be positive, and --slack at least 1");
    }
    let mut words = match &args.run[..] {
        [spec] if spec != "sweep" && spec != "leaderboard" => vec!["sweep".into(), spec.clone()],
        words => words.to_vec(),
    };
    let line = [&["hps".to_string()][..], &words].concat();
    let renewed = old::renew(&description(), line.into_iter().map(Into::into).collect());
    if let Some(hint) = renewed.hint() {
        say!("hps: hint: {hint}");
    }
    let mut command = Cli::try_parse_from(&renewed.words)?.command;
    words = (renewed.words.into_iter().skip(1))
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let folder = match &mut command {
        Command::Sweep(run) => {
            run.parts = PartArgs::planning();
            run.out = args.out.clone().unwrap_or_else(|| run.out.clone());
            run.out.to_path_buf()
        }
        Command::Reproduce(run) => {
            run.parts = PartArgs::planning();
            run.out = args.out.clone().or_else(|| run.out.clone());
            run.folder()
        }
        Command::Leaderboard(run) => {
            run.parts = PartArgs::planning();
            run.out = args.out.clone().unwrap_or_else(|| run.out.clone());
            run.out.to_path_buf()
        }
        _ => bail!("only sweep, reproduce and leaderboard can be done in parts"),
    };
    match &command {
        Command::Sweep(run) => sweep::sweep(run)?,
        Command::Reproduce(run) => reproduce::reproduce(run)?,
        Command::Leaderboard(run) => leaderboard::leaderboard(run)?,
        _ => 2,
    };
    remove_out(&mut words);
    let folder = std::path::absolute(folder)?;
    let slurm = Slurm {
        hps: std::env::current_exe()?,
        here: std::env::current_dir()?,
        again: again(args, &folder.to_string_lossy(), &words),
        run: words,
        folder,
        rounds: args.again,
        parts: args.parts.map(|n| n as usize),
        hours: args.hours,
        chunk: args.chunk.or_else(largest_array).unwrap_or(1000) as usize,
        at_once: args.at_once,
        cpus: args.cpus,
        slack: args.slack,
        scratch: args.copy.clone(),
        options: args.sbatch.clone(),
    };
    let (needs, submit) = slurm.write()?;
    text::print(&format!(
        "parts    {}, each up to {} and {} MiB\nsubmit   sh {}\n",
        needs.parts,
        time(60.0 * needs.minutes as f64),
        needs.memory_mib,
        host::path_word(&submit)
    ))?;
    Ok(0)
}

/// The most tasks that an array of this host's cluster can have, if there is a cluster: their numbers are 1 and more,
/// and less than MaxArraySize.
fn largest_array() -> Option<u32> {
    let output = std::process::Command::new("scontrol")
        .args(["show", "config"])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("MaxArraySize"))?;
    let size: u32 = line.split_once('=')?.1.trim().parse().ok()?;
    size.checked_sub(1).filter(|&tasks| tasks > 0)
}

/// Takes the folder for results out of a command's words: the scripts name it.
fn remove_out(words: &mut Vec<String>) {
    let end = words.iter().position(|w| w == "--").unwrap_or(words.len());
    if let Some(at) = words[..end].iter().position(|w| w == "--out") {
        words.drain(at..(at + 2).min(end));
    } else if let Some(at) = words[..end].iter().position(|w| w.starts_with("--out=")) {
        words.remove(at);
    }
}

/// The words that plan what is left, and write the scripts for it.
fn again(args: &SlurmArgs, folder: &str, words: &[String]) -> Vec<String> {
    let mut again = vec!["cluster".to_string(), "slurm".to_string()];
    let mut option = |name: &str, value: String| again.push(format!("--{name}={value}"));
    option("out", folder.to_string());
    if let Some(parts) = args.parts {
        option("parts", parts.to_string());
    }
    option("hours", args.hours.to_string());
    if let Some(chunk) = args.chunk {
        option("chunk", chunk.to_string());
    }
    if let Some(at_once) = args.at_once {
        option("at-once", at_once.to_string());
    }
    option("cpus", args.cpus.to_string());
    option("slack", args.slack.to_string());
    option("again", args.again.to_string());
    if let Some(copy) = &args.copy {
        option("copy", copy.display().to_string());
    }
    for other in &args.sbatch {
        option("sbatch", other.clone());
    }
    again.push("--".to_string());
    again.extend(words.iter().cloned());
    again
}
