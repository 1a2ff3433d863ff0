//! Compares a program's whole run, and its shadows, with what the program counts itself when it is compiled with
//! `-finstrument-functions`: how often each function is called.
//!
//! `cargo run --release -p hps-shadow-native --example instrumented -- [--sample N] PROG ARGS`

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

use hps_shadow::policy::Policy;
use hps_shadow_native::{Mode, Profiles, Request, View, library, overhead::rewind};
use hps_shim::preload::{self, CALLS_VARIABLE, Variant};
use hps_shim::symbols::{ProcessMaps, Symbolizer};

type Counts = BTreeMap<String, u64>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut sample = 1_000_000;
    if command.first().is_some_and(|word| word == "--sample") {
        sample = command
            .get(1)
            .and_then(|n| n.to_str())
            .ok_or("--sample N")?
            .parse()?;
        command.drain(..2);
    }
    let folder = std::env::temp_dir().join(format!("instrumented-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;

    let file = folder.join("calls");
    preload::create_calls_file(&file)?;
    Command::new(command.first().ok_or("name a program")?)
        .args(&command[1..])
        .env("LD_PRELOAD", preload::build(&folder, Variant::Calls)?)
        .env(CALLS_VARIABLE, &file)
        .stdout(Stdio::null())
        .status()?;
    let counted = preload::read_calls_file(&file)?;
    let mut symbols = Symbolizer::new(ProcessMaps::parse(&counted.maps));
    let mut exact = Counts::new();
    for ((_, callee), count) in counted.calls {
        *exact
            .entry(symbols.resolve(callee).to_string())
            .or_default() += count;
    }

    let policy = Policy::paper().compiled();
    let mut request = Request {
        command,
        mode: Mode::Whole,
        load: 1.0,
        most_overhead: None,
        by_turn: false,
        all_values: false,
        view: View::default(),
        sample,
        period: Duration::from_millis(4),
        policy: &policy,
        longest: Duration::from_secs(60),
        is_quiet: true,
    };
    let library = library::build(&folder)?;
    rewind();
    let mut whole = request.run(&library)?;
    let (profiles, _) = whole.whole.as_ref().ok_or("the library did not run")?;
    let seen = called(profiles, &mut whole.symbols);
    let equal = exact
        .iter()
        .filter(|(name, count)| seen.get(*name) == Some(count))
        .count();
    println!(
        "{} functions called {} times; the whole run has {equal} of them with the same count",
        exact.len(),
        exact.values().sum::<u64>()
    );
    for (name, count) in exact
        .iter()
        .filter(|(name, count)| seen.get(*name) != Some(count))
        .take(10)
    {
        println!(
            "  {name}: {count} times, not {}",
            seen.get(name).unwrap_or(&0)
        );
    }

    request.mode = Mode::Sample;
    rewind();
    let mut sampled = request.run(&library)?;
    let mut found = called(&sampled.profiles, &mut sampled.symbols);
    found.retain(|name, _| exact.contains_key(name));
    println!(
        "{} shadows: overlap of calls {:.1}%",
        sampled.shadows.len(),
        100.0 * overlap(&exact, &found)
    );
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Calls by callee.
fn called(profiles: &Profiles, symbols: &mut Symbolizer) -> Counts {
    let mut counts = Counts::new();
    for ((_, target), count) in &profiles.calls {
        *counts
            .entry(symbols.resolve(*target).to_string())
            .or_default() += count;
    }
    counts
}

/// The sum of the smaller shares.
fn overlap(one: &Counts, other: &Counts) -> f64 {
    let (ones, others) = (
        one.values().sum::<u64>() as f64,
        other.values().sum::<u64>() as f64,
    );
    let share = |name: &String| other.get(name).map_or(0.0, |count| *count as f64 / others);
    one.iter()
        .map(|(name, count)| (*count as f64 / ones).min(share(name)))
        .sum()
}
