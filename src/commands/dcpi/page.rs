//! `hps dcpi report --as page`.

use anyhow::Context;
use hps_dcpi::analysis::Summary;
use hps_dcpi::report::{Line, Page};

use super::args::ReportArgs;
use super::report::{events, sampled_procedures};
use super::sets::{Set, comparable};

/// Procedures that are shown by instruction.
const TOP: usize = 10;

/// Writes what the tools know of a set of samples on a page.
pub(super) fn page(args: &ReportArgs) -> anyhow::Result<u8> {
    let sets = comparable(&args.set)?;
    let events = events(&sets);
    let mut lines: Vec<Line> = sets
        .iter()
        .flat_map(|set| set.by_procedure(&events))
        .collect();
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    let first = &sets[0].stored.header;
    let mut source = vec![format!(
        "On {}, {}, hps {}.",
        first.machine_name, first.isa, first.version
    )];
    for header in sets.iter().map(|set| &set.stored.header) {
        source.push(match header.image_hash.is_empty() {
            true => "Code outside of all objects.".to_string(),
            false => format!("{} (SHA-256 {}).", header.image, header.image_hash),
        });
    }
    source.push(format!("Database {}.", args.set.db[0].display()));
    let mut procedures = Vec::new();
    for set in &sets {
        procedures.extend(sampled_procedures(set)?);
    }
    let mut whole = Summary::default();
    for procedure in &procedures {
        whole.add(&Summary::of(procedure));
    }
    procedures.sort_by_key(|p| std::cmp::Reverse(p.samples));
    procedures.truncate(args.top.unwrap_or(TOP));
    let names: Vec<&str> = sets
        .iter()
        .filter(|set| set.image.is_some())
        .map(Set::name)
        .collect();
    let html = Page {
        title: &format!("DCPI: {}", names.join(", ")),
        source: &source,
        lines: &lines,
        events: &events,
        whole: Some(&whole),
        procedures: &procedures,
    }
    .html();
    let out = args.out.as_deref().context("a page needs a file")?;
    let shown = out.display();
    std::fs::write(out, html).with_context(|| {
        format!("{shown}: cannot be written; name a file in a folder that exists")
    })?;
    say!("hps: {shown}");
    Ok(0)
}
