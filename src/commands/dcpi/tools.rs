//! The tools on a database.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use hps_dcpi::analysis::{Analyst, Procedure, Summary};
use hps_dcpi::report;
use hps_dcpi::samples::Event;
use hps_lab::VERSION;
use hps_profile::symbolized::{Column, Header};
use hps_profilers::Key;
use hps_profilers::views::{FunctionMap, symbolized_weights};
use hps_sim_core::cfg::Code;
use hps_sim_core::symbols::Function;

use super::args::{CalcArgs, CfgArgs, DiffArgs, ExportArgs, ProfArgs, SetArgs, StatsArgs};
use super::collect::machine_of;
use super::sets::{Set, contents, only, sets};
use crate::text::print;

/// The events that any of these sets has.
pub(super) fn events(sets: &[Set]) -> Vec<Event> {
    let has = |event: &Event| sets.iter().any(|s| s.stored.samples.of(*event).is_some());
    Event::ALL.into_iter().filter(has).collect()
}

/// Samples by procedure or image.
pub(super) fn prof(args: &ProfArgs) -> anyhow::Result<u8> {
    let sets = sets(&args.set)?;
    let events = events(&sets);
    let mut lines = Vec::new();
    for set in &sets {
        let samples = &set.stored.samples;
        if args.by_image {
            lines.push(report::by_image(set.name(), samples, &events));
        } else {
            lines.extend(report::by_procedure(
                set.image(),
                set.name(),
                samples,
                &events,
            ));
        }
    }
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    print(&report::prof(&lines, &events, args.top))?;
    Ok(0)
}

/// Samples by source line.
pub(super) fn annotate(args: &ProfArgs) -> anyhow::Result<u8> {
    let sets = sets(&args.set)?;
    let events = events(&sets);
    let mut lines = Vec::new();
    for set in &sets {
        let samples = &set.stored.samples;
        lines.extend(report::by_line(set.image(), set.name(), samples, &events));
    }
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    print(&report::prof(&lines, &events, args.top))?;
    Ok(0)
}

/// Analyzes procedures of the only set and gives them to a function.
pub(super) fn with_procedures<T>(
    set: &Set,
    wanted: impl Fn(&Function) -> bool,
    then: impl FnOnce(Vec<Procedure>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let machine = machine_of(&set.stored.header)?;
    let code = Code::new(set.image());
    let analyst = Analyst::new(&code, &machine)?;
    let functions = code.functions().iter().filter(|f| wanted(f));
    then(
        functions
            .map(|f| analyst.procedure(f, &set.stored.samples))
            .collect(),
    )
}

/// The procedure of a name.
fn one(set: &SetArgs, name: &str) -> anyhow::Result<Procedure> {
    let set = only(set)?;
    let Some(function) = set.image().symbols.function_named(name) else {
        let all = set.image().symbols.functions().iter();
        let mut similar: Vec<&str> = all
            .map(|f| f.name.as_str())
            .filter(|f| f.contains(name))
            .collect();
        similar.truncate(8);
        bail!(
            "{name}: {} has no such procedure{}{}",
            set.name(),
            if similar.is_empty() {
                "; `hps dcpi prof` lists them"
            } else {
                "; there are "
            },
            similar.join(", ")
        );
    };
    let addr = function.addr;
    with_procedures(
        &set,
        |f| f.addr == addr,
        |mut found| {
            found
                .pop()
                .with_context(|| format!("{name}: it has no code"))
        },
    )
}

/// A procedure by instruction, or where cycles go.
pub(super) fn calc(args: &CalcArgs) -> anyhow::Result<u8> {
    let text = match (&args.procedure, args.summary) {
        (Some(name), false) => report::calc(&one(&args.set, name)?),
        (Some(name), true) => report::summary(&Summary::of(&one(&args.set, name)?)),
        (None, _) => {
            let set = only(&args.set)?;
            with_procedures(
                &set,
                |_| true,
                |all| {
                    let mut summary = Summary::default();
                    all.iter().for_each(|p| summary.add(&Summary::of(p)));
                    Ok(report::summary(&summary))
                },
            )?
        }
    };
    print(&text)?;
    Ok(0)
}

/// Samples of cycles by procedure of some epochs of a database.
fn procedures_of(folder: &Path, epochs: &[u32]) -> anyhow::Result<BTreeMap<String, u64>> {
    let args = SetArgs {
        db: folder.to_path_buf(),
        epoch: epochs.to_vec(),
        image: None,
    };
    let mut sum = BTreeMap::new();
    for set in sets(&args)? {
        for (procedure, count) in set.by_procedure() {
            *sum.entry(procedure).or_insert(0) += count;
        }
    }
    Ok(sum)
}

/// How samples vary over sets.
pub(super) fn stats(args: &StatsArgs) -> anyhow::Result<u8> {
    let mut found = Vec::new();
    match &args.databases[..] {
        [one] => {
            for epoch in hps_dcpi::database::Database::open(one)?.epochs()? {
                if !contents(one, &[epoch])?.images.is_empty() {
                    found.push(procedures_of(one, &[epoch])?);
                }
            }
        }
        several => {
            for folder in several {
                found.push(procedures_of(folder, &[])?);
            }
        }
    }
    if found.len() < 2 {
        bail!("statistics need two sets: collect with --new-epoch, or name several databases");
    }
    print(&report::stats(&found, args.least, args.top))?;
    Ok(0)
}

/// The difference of two databases.
pub(super) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    let before = procedures_of(&args.before, &[])?;
    let after = procedures_of(&args.after, &[])?;
    print(&report::difference(&before, &after, args.top))?;
    Ok(0)
}

/// The graph of a procedure.
pub(super) fn cfg(args: &CfgArgs) -> anyhow::Result<u8> {
    let procedure = one(&args.set, &args.procedure)?;
    let is_picture = (args.out.as_ref()).is_some_and(|p| p.extension().is_some_and(|e| e == "svg"));
    let text = match is_picture {
        true => report::drawing(&procedure),
        false => report::dot(&procedure),
    };
    match &args.out {
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("{}: cannot be written", path.display()))?,
        None => print(&text)?,
    }
    Ok(0)
}

/// Samples in the formats of other tools.
pub(super) fn export(args: &ExportArgs) -> anyhow::Result<u8> {
    let exports = crate::export::parse_all(&args.files)?;
    let set = only(&args.set)?;
    let Some(counts) = set.stored.samples.of(args.event) else {
        bail!("--event {}: it was not sampled", args.event.name());
    };
    let stored = &set.stored.header;
    let header = Header {
        program: stored.image.clone(),
        program_hash: stored.image_hash.clone(),
        version: VERSION.to_string(),
        machine: stored.machine_name.clone(),
        core: "cycle".to_string(),
        command: format!("hps dcpi export --event {}", args.event.name()),
        clock_mhz: Some(f64::from(machine_of(stored)?.clock_mhz)),
    };
    let column = Column::new(format!("{}_samples", args.event.name()), "count");
    let map = FunctionMap::named(set.image());
    let weights = counts
        .by_pc
        .iter()
        .map(|(pc, n)| (Key::of_program(*pc), *n));
    let profile = symbolized_weights(header, column, weights, set.image(), &map);
    crate::export::write(&profile, &exports)?;
    Ok(0)
}
