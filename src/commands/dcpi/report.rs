//! `hps dcpi report`: what samples of a database tell.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use hps_dcpi::analysis::{Analyst, Procedure, Summary};
use hps_dcpi::report as said;
use hps_dcpi::samples::Event;
use hps_lab::VERSION;
use hps_profile::symbolized::{Column, Header};
use hps_profilers::Key;
use hps_profilers::views::{FunctionMap, symbolized_weights};
use hps_system::cfg::Code;
use hps_system::symbols::Function;

use super::args::{ReportArgs, SetArgs, View};
use super::collect::machine_of;
use super::results;
use super::sets::{Set, comparable, contents, labels, only, sets};
use crate::text::print;

/// Lines that are listed.
const TOP: usize = 20;

/// Reports what the options ask for.
pub(super) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    if !args.export.is_empty() {
        return export(args);
    }
    refuse_others(args)?;
    let text = match args.view {
        View::Prof if args.by_image => counted(args, |set, events| {
            vec![said::by_image(set.name(), &set.stored.samples, events)]
        })?,
        View::Prof => counted(args, Set::by_procedure)?,
        View::Annotate => counted(args, |set, events| {
            said::by_line(set.image(), set.name(), &set.stored.samples, events)
        })?,
        View::Calc => said::calc(&named(args)?),
        View::Summary => said::summary(&summary(args)?),
        View::Stats => stats(args)?,
        View::Diff => difference(args)?,
        View::Cfg => return cfg(args),
        View::Page => return super::page::page(args),
    };
    args.json.print_text(&text)?;
    Ok(0)
}

/// Refuses options that another view has.
fn refuse_others(args: &ReportArgs) -> anyhow::Result<()> {
    let of_one = [View::Calc, View::Summary, View::Cfg];
    let given: [(&str, bool, &[View]); 5] = [
        ("--json", args.json.json.is_some(), &[View::Prof]),
        ("--by-image", args.by_image, &[View::Prof]),
        ("--out", args.out.is_some(), &[View::Cfg, View::Page]),
        ("PROCEDURE", args.procedure.is_some(), &of_one),
        (
            "a second --db",
            args.set.db.len() > 1,
            &[View::Stats, View::Diff],
        ),
    ];
    for (option, is_given, views) in given {
        if is_given && !views.contains(&args.view) {
            let values = views.iter().filter_map(View::to_possible_value);
            let names: Vec<String> = values.map(|v| v.get_name().to_string()).collect();
            bail!("{option} goes with --as {}", names.join(" and --as "));
        }
    }
    Ok(())
}

/// The events that any of these sets has.
pub(super) fn events(sets: &[Set]) -> Vec<Event> {
    let has = |event: &Event| sets.iter().any(|s| s.stored.samples.of(*event).is_some());
    Event::ALL.into_iter().filter(has).collect()
}

/// A table of samples, the most first.
fn counted(
    args: &ReportArgs,
    lines_of: impl Fn(&Set, &[Event]) -> Vec<said::Line>,
) -> anyhow::Result<String> {
    let sets = sets(&args.set)?;
    let events = events(&sets);
    let mut lines: Vec<_> = sets.iter().flat_map(|set| lines_of(set, &events)).collect();
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    if args.view == View::Prof {
        let samples = results::samples(&lines, &events);
        args.json.write(&samples.document(VERSION))?;
    }
    Ok(said::prof(&lines, &events, args.top.unwrap_or(TOP)))
}

/// Analyzes procedures of a set.
pub(super) fn procedures(
    set: &Set,
    wanted: impl Fn(&Function) -> bool,
) -> anyhow::Result<Vec<Procedure>> {
    let Some(image) = set.image() else {
        return Ok(Vec::new());
    };
    let machine = machine_of(&set.stored.header)?;
    let code = Code::new(image);
    let analyst = Analyst::new(&code, &machine)?;
    let functions = code.functions().iter().filter(|f| wanted(f));
    let analyzed = functions.map(|f| analyst.procedure(f, &set.stored.samples));
    Ok(analyzed.collect())
}

/// Analyzes the procedures of a set that have samples of cycles.
pub(super) fn sampled_procedures(set: &Set) -> anyhow::Result<Vec<Procedure>> {
    procedures(set, |f| set.cycles_within(f.addr..f.addr + f.size) > 0)
}

/// The procedure that is named.
fn named(args: &ReportArgs) -> anyhow::Result<Procedure> {
    let name = args.procedure.as_deref();
    let name = name.context("name a procedure; `hps dcpi report` lists them")?;
    let sets = comparable(&args.set)?;
    let all = || sets.iter().filter_map(|set| Some((set, set.image()?)));
    let mut found: Vec<(&Set, &Function)> = all()
        .filter_map(|(set, image)| Some((set, image.symbols.function_named(name)?)))
        .collect();
    // Stubs and local functions of several objects share names: those without samples are not asked for.
    if found.len() > 1 {
        let is_sampled =
            |(set, f): &(&Set, &Function)| set.cycles_within(f.addr..f.addr + f.size) > 0;
        let sampled: Vec<_> = found.iter().copied().filter(is_sampled).collect();
        found = if sampled.is_empty() { found } else { sampled };
    }
    match found[..] {
        [(set, function)] => procedures(set, |f| f.addr == function.addr)?
            .pop()
            .with_context(|| format!("{name}: it has no code")),
        [] => {
            let functions = all().flat_map(|(_, image)| image.symbols.functions());
            let similar = functions.map(|f| f.name.as_str());
            let similar: Vec<&str> = similar.filter(|f| f.contains(name)).take(8).collect();
            let names: Vec<&str> = sets.iter().map(Set::name).collect();
            bail!(
                "{name}: {} has no such procedure{}{}",
                names.join(", "),
                if similar.is_empty() {
                    "; `hps dcpi report` lists them"
                } else {
                    "; there are "
                },
                similar.join(", ")
            )
        }
        _ => bail!(
            "{name}: several objects have this procedure: choose with --program among {}",
            labels(found.iter().map(|(set, _)| *set))
        ),
    }
}

/// Cycles by cause, of the procedure that is named or of all.
fn summary(args: &ReportArgs) -> anyhow::Result<Summary> {
    if args.procedure.is_some() {
        return Ok(Summary::of(&named(args)?));
    }
    let mut summary = Summary::default();
    for set in &comparable(&args.set)? {
        for procedure in sampled_procedures(set)? {
            summary.add(&Summary::of(&procedure));
        }
    }
    Ok(summary)
}

/// Samples of cycles by object and procedure of some epochs of a database.
fn procedures_of(folder: &Path, epochs: &[u32]) -> anyhow::Result<BTreeMap<String, u64>> {
    let args = SetArgs {
        db: vec![folder.to_path_buf()],
        epoch: epochs.to_vec(),
        program: None,
    };
    let mut sum = BTreeMap::new();
    for set in sets(&args)? {
        let object = set.name().rsplit('/').next().unwrap_or_default();
        for line in set.by_procedure(&[Event::Cycles]) {
            let procedure = format!("{object}!{}", line.procedure);
            *sum.entry(procedure).or_insert(0) += line.counts[0];
        }
    }
    Ok(sum)
}

/// Variation of samples over sets.
fn stats(args: &ReportArgs) -> anyhow::Result<String> {
    let mut found = Vec::new();
    match &args.set.db[..] {
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
    let top = args.top.unwrap_or(TOP);
    Ok(said::stats(&found, args.least, top))
}

/// The difference of two databases.
fn difference(args: &ReportArgs) -> anyhow::Result<String> {
    let [before, after] = &args.set.db[..] else {
        bail!("--as diff: name two databases, the one before first: --db DIR --db DIR");
    };
    let (before, after) = (procedures_of(before, &[])?, procedures_of(after, &[])?);
    Ok(said::difference(&before, &after, args.top.unwrap_or(TOP)))
}

/// The graph of a procedure.
fn cfg(args: &ReportArgs) -> anyhow::Result<u8> {
    let procedure = named(args)?;
    let is_picture = (args.out.as_ref()).is_some_and(|p| p.extension().is_some_and(|e| e == "svg"));
    let text = match is_picture {
        true => said::drawing(&procedure),
        false => said::dot(&procedure),
    };
    match &args.out {
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("{}: cannot be written", path.display()))?,
        None => print(&text)?,
    }
    Ok(0)
}

/// Samples in the formats of other tools.
fn export(args: &ReportArgs) -> anyhow::Result<u8> {
    let exports = crate::export::parse_all(&args.export)?;
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
        command: format!("hps dcpi report --event {} --export", args.event.name()),
        clock_mhz: Some(f64::from(machine_of(stored)?.clock_mhz)),
    };
    let column = Column::new(format!("{}_samples", args.event.name()), "count");
    let Some(image) = set.image() else {
        bail!(
            "{}: code outside of all objects has no names to export",
            set.name()
        );
    };
    let map = FunctionMap::named(&image.symbols);
    let weights = counts
        .by_pc
        .iter()
        .map(|(pc, n)| (Key::of_program(*pc), *n));
    let profile = symbolized_weights(header, column, weights, &image.symbols, &map);
    crate::export::write(&profile, &exports)?;
    Ok(0)
}
