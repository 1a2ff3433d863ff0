//! `hps dcpi report --as page`.

use anyhow::Context;
use hps_dcpi::analysis::Summary;
use hps_dcpi::report::{Page, by_procedure};

use super::args::ReportArgs;
use super::report::{events, with_procedures};
use super::sets::only;

/// Procedures that are shown by instruction.
const TOP: usize = 10;

/// Writes what the tools know of a set of samples on a page.
pub(super) fn page(args: &ReportArgs) -> anyhow::Result<u8> {
    let set = only(&args.set)?;
    let sets = std::slice::from_ref(&set);
    let events = events(sets);
    let stored = &set.stored.header;
    let mut lines = by_procedure(set.image(), set.name(), &set.stored.samples, &events);
    lines.sort_by(|a, b| b.counts.cmp(&a.counts));
    let source = [
        format!(
            "On {}, {}, hps {}.",
            stored.machine_name, stored.isa, stored.version
        ),
        format!("Program {} (SHA-256 {}).", stored.image, stored.image_hash),
        format!("Database {}.", args.set.db[0].display()),
    ];
    let html = with_procedures(
        &set,
        |_| true,
        |mut procedures| {
            let mut whole = Summary::default();
            for procedure in &procedures {
                whole.add(&Summary::of(procedure));
            }
            procedures.sort_by_key(|p| std::cmp::Reverse(p.samples));
            procedures.truncate(args.top.unwrap_or(TOP));
            procedures.retain(|p| p.samples > 0);
            Ok(Page {
                title: &format!("DCPI: {}", stored.image),
                source: &source,
                lines: &lines,
                events: &events,
                whole: Some(&whole),
                procedures: &procedures,
            }
            .html())
        },
    )?;
    let out = args.out.as_deref().context("a page needs a file")?;
    let shown = out.display();
    std::fs::write(out, html).with_context(|| {
        format!("{shown}: cannot be written; name a file in a folder that exists")
    })?;
    say!("hps: {shown}");
    Ok(0)
}
